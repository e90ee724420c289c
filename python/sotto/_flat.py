"""Lists of arrays as one report: what adapters of frameworks share."""

from __future__ import annotations

import fnmatch
from typing import Any, Collection, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ._core import PrivacyError
from ._ledger import Ledger
from ._mechanism import Mechanism, Report

# Buffers of integers by their usual names: averages of them arrive as floats. Batch norm's counter
# tells how much data there is.
_INTEGERS = ("num_batches_tracked", "position_ids")


class Received(NamedTuple):
    """A copy of the server's arrays, from before the client could change the message.

    Some are not covered by a report (integers, and names of `keep`): the server gets its own values
    back. Which ones follows from what the server sent, from nothing of the client's.
    """

    record: str  # what the framework calls all of them; empty where it has no name
    names: Tuple[str, ...]
    values: List[np.ndarray]
    covered: List[int]  # places of the arrays that a report covers

    def parts(self) -> List[np.ndarray]:
        return [self.values[i] for i in self.covered]

    def with_parts(self, parts: Sequence[np.ndarray], kept: Collection[int] = ()) \
            -> List[np.ndarray]:
        """All arrays, the covered ones replaced, but for those that are `kept` as well."""
        values = list(self.values)
        for i, part in zip(self.covered, parts):
            if i not in kept:
                values[i] = part
        return values


def received_arrays(record: str, named: Mapping[str, np.ndarray],
                    keep: Sequence[str] = ()) -> Received:
    """A copy of the server's arrays by name; `keep` are patterns of names that no report covers."""
    values = [np.array(value) for value in named.values()]
    covered = [i for i, (name, value) in enumerate(zip(named, values))
               if value.dtype.kind not in "iub" and name.split(".")[-1] not in _INTEGERS
               and not any(fnmatch.fnmatchcase(name, pattern) for pattern in keep)]
    return Received(record, tuple(named), values, covered)


def check(mechanism: Mechanism, ledger: Any, who: str) -> None:
    """At construction: an adapter without a budget must not come to be."""
    if not isinstance(ledger, Ledger):
        raise PrivacyError(f"{who}: there is no ledger, so nothing may be sent; for a simulation "
                           "open one with Limits.unlimited()")
    if mechanism.kind == "bits":
        raise ValueError(f"{who}: {mechanism.name} takes bits, not weights; valid: value and "
                         "vector mechanisms")


def check_arrays(arrays: Sequence[np.ndarray],
                 received: Optional[Sequence[np.ndarray]] = None) -> None:
    """That they can be one report, with the shapes of those that were `received`."""
    for i, array in enumerate(arrays):
        if array.dtype.kind != "f":
            raise PrivacyError(f"array {i} of {array.dtype} cannot be protected: nothing is sent")
    if not sum(array.size for array in arrays):
        raise PrivacyError("there is no value to protect: nothing is sent")
    if received is not None and [a.shape for a in arrays] != [b.shape for b in received]:
        raise PrivacyError("the arrays have other shapes than those that were received: nothing is "
                           "sent")


def report_all(arrays: Sequence[np.ndarray], mechanism: Mechanism, ledger: Ledger, round: int,
               received: Optional[Sequence[np.ndarray]] = None, delta: bool = False) -> Report:
    """All arrays as one report; with `delta`, of their differences to those that were received."""
    check_arrays(arrays, received)
    values = flat(arrays)
    if delta and received is not None:
        values = values - flat(received)
    return mechanism.perturb(values, ledger=ledger, round=round)


def perturb_all(arrays: Sequence[np.ndarray], mechanism: Mechanism, ledger: Ledger, round: int,
                received: Optional[Sequence[np.ndarray]] = None,
                delta: bool = False) -> List[np.ndarray]:
    """All arrays as one report, decoded; of the types of those that were `received`."""
    report = report_all(arrays, mechanism, ledger, round, received, delta)
    start = received if delta else None
    return arrays_like(arrays if received is None else received, report.decode(), start)


def arrays_like(arrays: Sequence[np.ndarray], decoded: np.ndarray,
                start: Optional[Sequence[np.ndarray]] = None) -> List[np.ndarray]:
    """What was decoded, added to `start` where it is a difference, in the form of `arrays`."""
    if start is not None:
        decoded = decoded + flat(start)
    ends = np.cumsum([array.size for array in arrays])
    return [part.reshape(array.shape).astype(array.dtype)
            for part, array in zip(np.split(decoded, ends[:-1]), arrays)]


def flat(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([array.astype(np.float64).ravel() for array in arrays])
