"""Sotto: federated learning in which what leaves a client has passed a mechanism first.

>>> import numpy as np, sotto
>>> mechanism = sotto.Mechanism("srr", epsilon=5, range=(0, 0.075), precision=4, groups=2, step=1000)
>>> report = mechanism.perturb(np.zeros((28, 28), dtype=np.float32))
>>> report.decode().shape
(28, 28)
>>> mechanism.guarantee(size=784).epsilon >= 784 * 4.9
True

Mechanisms take NumPy arrays and PyTorch tensors. What needs PyTorch (`sotto.torch`), Flower
(`sotto.flower`), pfl-research (`sotto.pfl`) or NVFlare (`sotto.nvflare`) is a module of its own,
imported by whoever has them.
"""

from . import _numpy  # first: it refuses a NumPy that the core cannot work with
from . import account
from ._audit import AuditResult, audit
from ._core import BudgetExceeded, PrivacyError
from ._core import version as __version__
from ._data import Data, Split, load_data
from ._facts import (Errors, MechanismInfo, ParameterInfo, Setting, Tuned, Verification, mechanisms,
                     tune, verify)
from ._ledger import Ledger, Limits, Spent
from ._mechanism import Guarantee, Mechanism, Moments, Report, Tensor
from ._run import Round, RunResult, run

__all__ = [
    "AuditResult", "BudgetExceeded", "Data", "Errors", "Guarantee", "Ledger", "Limits", "Mechanism",
    "MechanismInfo", "Moments", "ParameterInfo", "PrivacyError", "Report", "Round", "RunResult",
    "Setting", "Spent", "Split", "Tensor", "Tuned", "Verification", "account", "audit", "load_data",
    "mechanisms", "run", "tune", "verify", "__version__",
]
