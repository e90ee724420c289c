"""A client in plain PyTorch: what it sends of its model has passed a mechanism, all of it.

>>> import copy, os, tempfile, torch, sotto
>>> from sotto.torch import private_update, mean_state
>>> model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
>>> start = copy.deepcopy(model.state_dict())
>>> _ = model(torch.randn(8, 4))  # local training would stand here
>>> mechanism = sotto.Mechanism("two-point", epsilon=1, range=(0, 0.1))
>>> path = os.path.join(tempfile.mkdtemp(), "client.ledger")
>>> with sotto.Ledger(path, sotto.Limits(epsilon_per_round=50, epsilon=100)) as ledger:
...     update = private_update(model, start, mechanism, ledger, round=1)
>>> sorted(update.state_dict()) == sorted(start)
True
>>> isinstance(update.to_bytes(), bytes)
True
"""

from __future__ import annotations

import fnmatch
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

import numpy as np
import torch

from ._core import PrivacyError
from ._ledger import Ledger
from ._mechanism import Mechanism, Report, Tensor

State = Mapping[str, torch.Tensor]

# Batch norm counts its batches, which tells how much data there is: never sent. The server's own
# count stays, and no arithmetic of the model depends on it unless momentum is None.
_KEPT = "num_batches_tracked"


class PrivateUpdate:
    """What a client may send: a report, and where each of its values belongs."""

    def __init__(self, report: Report, tensors: List[Tensor], global_state: State,
                 payload: str) -> None:
        self.report = report
        self.tensors = tensors
        self.payload = payload
        self._global = global_state

    def to_bytes(self) -> bytes:
        return self.report.to_bytes()

    def state_dict(self) -> Dict[str, torch.Tensor]:
        """The client's model as the server sees it, for frameworks that average state_dicts."""
        return _state_of(self.report.decode(), self)


def private_update(model: torch.nn.Module, global_state: State, mechanism: Mechanism,
                   ledger: Ledger, *, round: int, payload: str = "delta",
                   ranges: Optional[Mapping[str, Tuple[float, float]]] = None,
                   threads: int = 1) -> PrivateUpdate:
    """One report of everything in the model: parameters and buffers.

    `payload` is "delta", the difference to `global_state`, or "weights". `ranges` maps patterns of
    names ("*.bias") to centre and radius, where they differ from the mechanism's. The report is
    charged to the ledger first; a round that was charged before sends the same report again.

    Nothing is sent (PrivacyError) of a model with a tensor that is neither parameter nor buffer, is
    not in `global_state`, has another shape there, or is not of floating point.
    """
    if not isinstance(ledger, Ledger):
        raise PrivacyError("private_update: there is no ledger, so nothing may be sent; for a "
                           "simulation open one with Limits.unlimited()")
    if payload not in ("delta", "weights"):
        raise ValueError(f"payload '{payload}'; valid: delta, weights")
    if mechanism.kind == "bits":
        raise ValueError(f"{mechanism.name} takes bits, not weights; valid: value and vector "
                         "mechanisms")
    state = model.state_dict()
    tensors = protected_tensors(model, state, global_state, mechanism.range, ranges or {})
    parts = []
    for tensor in tensors:
        value = state[tensor.name].detach().to("cpu", torch.float64)
        if payload == "delta":
            value = value - global_state[tensor.name].detach().to("cpu", torch.float64)
        parts.append(value.numpy().ravel())
    report = mechanism.perturb(np.concatenate(parts), ledger=ledger, round=round, threads=threads,
                               tensors=tensors)
    return PrivateUpdate(report, tensors, global_state, payload)


def mean_state(updates: Iterable[PrivateUpdate], mechanism: Mechanism) -> Dict[str, torch.Tensor]:
    """The server's side: the model that the mean of a round's updates leads to."""
    updates = list(updates)
    if not updates:
        raise ValueError("mean_state: there is no update")
    return _state_of(mechanism.decode(update.report for update in updates), updates[0])


def protected_tensors(model: torch.nn.Module, state: Mapping[str, Any], global_state: State,
                      default: Tuple[float, float],
                      ranges: Mapping[str, Tuple[float, float]]) -> List[Tensor]:
    """Every tensor that a report covers, or PrivacyError where one cannot be covered."""
    roles = _roles(model)
    unknown = [name for name in global_state if name not in state]
    if unknown:
        raise PrivacyError(f"tensor '{unknown[0]}' of the global state is not in the model: nothing "
                           "is sent")
    unused = set(ranges)
    tensors: List[Tensor] = []
    for name, value in state.items():
        if name not in roles or not isinstance(value, torch.Tensor):
            raise PrivacyError(f"'{name}' is neither a parameter nor a buffer: nothing is sent")
        if name not in global_state:
            raise PrivacyError(f"tensor '{name}' is not in the global state: nothing is sent")
        if tuple(value.shape) != tuple(global_state[name].shape):
            raise PrivacyError(f"tensor '{name}' has shape {tuple(value.shape)}, and "
                               f"{tuple(global_state[name].shape)} in the global state: nothing is "
                               "sent")
        if not value.is_floating_point():
            if roles[name] == "buffer" and name.split(".")[-1] == _KEPT:
                continue
            raise PrivacyError(f"tensor '{name}' of {value.dtype} cannot be protected: nothing is "
                               "sent")
        if value.layout != torch.strided or global_state[name].layout != torch.strided:
            raise PrivacyError(f"tensor '{name}' of layout {value.layout} cannot be protected: "
                               "nothing is sent")
        if value.numel() == 0:
            continue
        matching = [pattern for pattern in ranges if fnmatch.fnmatchcase(name, pattern)]
        unused -= set(matching)
        chosen = ranges[matching[0]] if matching else default
        tensors.append(Tensor(name, tuple(value.shape), (float(chosen[0]), float(chosen[1])),
                              roles[name] == "buffer"))
    if unused:
        raise ValueError(f"ranges: no tensor is called '{sorted(unused)[0]}'; valid: "
                         f"{', '.join(tensor.name for tensor in tensors)}")
    if not tensors:
        raise ValueError("the model has no tensor to send")
    return tensors


def _roles(model: torch.nn.Module) -> Dict[str, str]:
    """Names of a state_dict, of shared tensors all of them, with what they are."""
    roles: Dict[str, str] = {}
    for prefix, module in model.named_modules(remove_duplicate=False):
        for members, role in ((module._parameters, "parameter"), (module._buffers, "buffer")):
            for name, value in members.items():
                if value is not None:
                    roles[f"{prefix}.{name}" if prefix else name] = role
    return roles


def _state_of(values: np.ndarray, update: PrivateUpdate) -> Dict[str, torch.Tensor]:
    state = {name: value.detach().clone() for name, value in update._global.items()}
    first = 0
    for tensor in update.tensors:
        old = state[tensor.name]
        part = torch.from_numpy(np.array(values[first:first + tensor.size], dtype=np.float64))
        part = part.reshape(tensor.shape).to(old.device)
        if update.payload == "delta":
            part = old.to(torch.float64) + part
        state[tensor.name] = part.to(old.dtype)
        first += tensor.size
    return state
