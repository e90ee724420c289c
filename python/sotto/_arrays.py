"""Arrays of any library, seen as NumPy arrays, and back.

A PyTorch tensor is recognised by what it can do, so PyTorch is never imported here. What a caller
gave (library, type, device, shape) is remembered as a Form; results are returned in it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Tuple

import numpy as np


def is_tensor(x: Any) -> bool:
    """Whether `x` is a PyTorch tensor, without importing PyTorch."""
    if isinstance(x, np.ndarray):
        return False
    return hasattr(x, "detach") and hasattr(x, "device") and hasattr(x, "numpy")


class Form(NamedTuple):
    """Of an array: shape and type, and the device and class where it was a tensor."""

    shape: Tuple[int, ...]
    dtype: Any
    tensor: Any = None  # an empty tensor of the same library, type and device

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def wide(self) -> bool:
        """Whether results are float64."""
        return self.dtype == np.float64

    def dress(self, values: np.ndarray, shape: Tuple[int, ...] | None = None) -> Any:
        """`values` in this form; integers come back as float32."""
        values = values.reshape(self.shape if shape is None else shape)
        if np.issubdtype(self.dtype, np.floating):
            values = values.astype(self.dtype, copy=False)
        if self.tensor is None:
            return values
        import torch  # there: the caller has a tensor

        kind = self.tensor.dtype if self.tensor.is_floating_point() else torch.float32
        return torch.from_numpy(values).to(device=self.tensor.device, dtype=kind)


def form_of(x: Any) -> Form:
    """What `x` looks like, from its outside alone: no value is read."""
    if is_tensor(x):
        names = {"torch.float16": np.float16, "torch.float64": np.float64}
        kind = names.get(str(x.dtype), np.float32 if x.is_floating_point() else np.int64)
        return Form(tuple(x.shape), np.dtype(kind), x.detach().new_empty(0))
    array = np.asarray(x)
    return Form(array.shape, array.dtype)


def values_of(x: Any) -> np.ndarray:
    """`x` as float32 or float64 in C order; without a copy where it is that already."""
    if is_tensor(x):
        x = x.detach()
        if str(x.dtype) == "torch.bfloat16":
            x = x.float()
        x = x.cpu().numpy()
    array = np.asarray(x)
    if array.dtype == np.float32 and array.flags.c_contiguous:
        return array
    if array.dtype.kind not in "fiub":
        raise ValueError(f"an array of {array.dtype}; valid: floats or integers")
    kind = np.float64 if array.dtype.itemsize > 4 or array.dtype == np.int32 else np.float32
    if array.dtype == np.float16:
        kind = np.float32
    return np.ascontiguousarray(array, dtype=kind)
