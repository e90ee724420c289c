"""Whether the compiled core and the NumPy that is there agree on what an array is.

NumPy 2 changed the layout of its types. A core that pybind11 before 2.12 made (Debian 12 has 2.10)
gives NumPy 2 arrays whose elements all lie in the same place: every weight decodes to the first one,
and nothing fails. So the package refuses to be imported.
"""

from __future__ import annotations

import numpy as np

from . import _core


def check_layout(array: np.ndarray) -> None:
    if array.strides[-1] != array.dtype.itemsize:
        raise ImportError(
            f"this build of sotto cannot work with NumPy {np.__version__}: it was compiled with "
            "pybind11 before 2.12, which knows NumPy 1 alone. Install 'numpy<2' beside it, or "
            "build sotto with pybind11 2.12 or later")


if int(np.__version__.split(".")[0]) >= 2:
    _made = _core.Made("two-point", {"epsilon": 1.0}, [_core.Tensor("x", [2], False, 0.0, 1.0)])
    check_layout(_made.decode64(_made.perturb(np.zeros(2), None, 1, 0)))
