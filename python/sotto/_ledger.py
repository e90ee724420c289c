"""What a client has spent, and the refusal to spend more."""

from __future__ import annotations

import math
import os
import threading
from dataclasses import astuple, dataclass
from typing import Any, Dict, Optional, Tuple, Union

from . import _core
from ._mechanism import Mechanism, Report


@dataclass(frozen=True)
class Limits:
    """What a client allows, by the exact epsilon of whole reports; nothing is allowed beyond."""

    epsilon_per_round: float
    epsilon: float  # lifetime, over all tasks
    delta: float = 0.0
    rounds: Optional[int] = None  # any number

    @staticmethod
    def unlimited() -> "Limits":
        """Whatever is asked for, for simulations that only want to know what it costs."""
        return Limits(math.inf, math.inf, 1.0)


@dataclass(frozen=True)
class Spent:
    rounds: int
    epsilon: float  # the smaller one of two filters, at the limit's delta, rounded up
    epsilon_sum: float
    delta_sum: float
    renyi_sum: float
    limits: Limits


class Ledger:
    """The account of a client and its data in a ledger file.

    >>> import sotto, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "client.ledger")
    >>> mechanism = sotto.Mechanism("two-point", epsilon=1)
    >>> with sotto.Ledger(path, sotto.Limits(epsilon_per_round=2, epsilon=4)) as ledger:
    ...     report = mechanism.perturb([0.1, 0.2], ledger=ledger, round=1)
    ...     again = mechanism.perturb([0.1, 0.2], ledger=ledger, round=1)
    ...     same = report.to_bytes() == again.to_bytes()
    ...     (same, ledger.spent().rounds)
    (True, 1)
    >>> with sotto.Ledger(path) as ledger:
    ...     mechanism.perturb([0.0] * 3, ledger=ledger, round=2)
    Traceback (most recent call last):
        ...
    sotto.BudgetExceeded: ...epsilon...
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"],
                 limits: Union[Limits, Dict[str, Any], None] = None, *, client: str = "client",
                 dataset: str = "data", task: str = "task") -> None:
        self.path = os.fspath(path)
        self.client, self.dataset, self.task = client, dataset, task
        self._open = _core.OpenLedger(self.path)
        if limits is not None:
            self.set_limits(limits)

    def account(self, *, client: Optional[str] = None, dataset: Optional[str] = None,
                task: Optional[str] = None,
                limits: Union[Limits, Dict[str, Any], None] = None) -> "Ledger":
        """Another account of the same file, for a simulation of many clients."""
        other = Ledger.__new__(Ledger)
        other.path, other._open = self.path, self._open
        other.client = self.client if client is None else client
        other.dataset = self.dataset if dataset is None else dataset
        other.task = self.task if task is None else task
        if limits is not None:
            other.set_limits(limits)
        return other

    def set_limits(self, limits: Union[Limits, Dict[str, Any]]) -> None:
        """Opens the account, or changes what it allows; the same limits again change nothing."""
        if not isinstance(limits, Limits):
            limits = Limits(**limits)
        spent = self.spent()
        if spent is None or spent.limits != limits:
            self._open.set_limits(self.client, self.dataset, *astuple(limits))

    def spent(self) -> Optional[Spent]:
        """None where the account was never opened: it allows nothing."""
        found = self._open.spent(self.client, self.dataset)
        if found is None:
            return None
        found["limits"] = Limits(*found["limits"])
        return Spent(**found)

    def charge(self, mechanism: Mechanism, size: int, round: int) -> str:
        """Pays for a report of `size` values before any data is read; BudgetExceeded if refused.

        The state of the round is returned: "charged", or "bound" and "delivered" where its report
        was drawn before. Mechanism.perturb does this by itself and finds the charge again.
        """
        return self._charge(mechanism._made_for(size), round).state

    def delivered(self, report: Report) -> None:
        """Notes that the receiver has confirmed a report."""
        if report._charge is None:
            raise ValueError("this report was not drawn with a ledger")
        self._open.delivered(report._charge)

    def __reduce__(self) -> Any:
        """Another process opens the file again: what is pickled is its name, never its content."""
        return (_reopened, (os.path.abspath(self.path), self.client, self.dataset, self.task))

    @property
    def head(self) -> Tuple[int, str]:
        """Entries and hash: enough to notice later that entries were lost."""
        return self._open.head()

    def close(self) -> None:
        """Closes the file, for all accounts that came of this ledger."""
        self._open.close()
        for key in [key for key, opened in _reopened_files.items() if opened is self._open]:
            del _reopened_files[key]

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # --- for Mechanism.perturb

    def _charge(self, made: Any, round: int) -> Any:
        return self._open.charge(self.client, self.dataset, self.task, round, made)

    def _bind(self, charge: Any, report: bytes) -> None:
        self._open.bind(charge, report)

    def _report(self, charge: Any) -> bytes:
        return self._open.report(charge)


# Files that were opened for unpickled ledgers, by process: frameworks that unpickle one for every
# message would open the file, and check its chain, as often.
_reopened_files: Dict[Tuple[int, str], Any] = {}
_reopening = threading.Lock()


def _reopened(path: str, client: str, dataset: str, task: str) -> Ledger:
    with _reopening:
        key = (os.getpid(), path)
        if key not in _reopened_files:
            _reopened_files[key] = _core.OpenLedger(path)
        ledger = Ledger.__new__(Ledger)
        ledger.path, ledger._open = path, _reopened_files[key]
    ledger.client, ledger.dataset, ledger.task = client, dataset, task
    return ledger
