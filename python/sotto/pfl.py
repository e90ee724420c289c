"""A pfl-research local privacy mechanism: every user's statistics pass a mechanism.

    mechanism = LocalMechanism(sotto.Mechanism(...), ledger, limits=sotto.Limits(...))
    SimulatedBackend(..., postprocessors=[mechanism])
    RestoreTrainingCallback([model, mechanism], "checkpoints")

Each user has an account of its own in the ledger. A user's weight tells how much data there is, so
statistics are averaged over it first and every user counts as one. It has to be the last of the
postprocessors. What the simulation measures besides, a user's metrics and its number of data
points, is added up by the backend and never passes a postprocessor: it is not protected.

Every call is a report of its own, and charged: a user that is drawn twice in an iteration,
iterations that are run again after a restore, other algorithms over the same ledger. A report that
was drawn for one of them is never returned for another.
"""

from __future__ import annotations

import itertools
import json
import os
import secrets
from typing import Any, Dict, Iterator, Optional, Tuple

import numpy as np
from pfl.common_types import Saveable
from pfl.exception import CheckpointNotFoundError
from pfl.metrics import Metrics
from pfl.privacy.privacy_mechanism import LocalPrivacyMechanism

from ._arrays import form_of, values_of
from ._core import PrivacyError
from ._flat import check, perturb_all
from ._ledger import Ledger, Limits
from ._mechanism import Mechanism

_CHECKPOINT = "sotto_ledger_head.json"


class LocalMechanism(LocalPrivacyMechanism, Saveable):
    """`limits` are those of each user; None takes the limits that the accounts have already.

    What was spent is in the ledger file and needs no checkpoint. A checkpoint of this class says
    how far the ledger had come: restoring one beside an older copy of the ledger, in which that
    spending is missing, is an error.
    """

    def __init__(self, mechanism: Mechanism, ledger: Ledger, *,
                 limits: Optional[Limits] = None) -> None:
        check(mechanism, ledger, "LocalMechanism")
        self.mechanism = mechanism
        self.ledger = ledger
        self.limits = limits
        self._begin()

    def _begin(self) -> None:
        """A name for the reports of this object in this process: no other one ever has it."""
        self._name, self._process = secrets.token_hex(8), os.getpid()
        self._calls: Iterator[int] = itertools.count(1)

    def postprocess_one_user(self, *, stats: Any, user_context: Any) -> Tuple[Any, Metrics]:
        if user_context.user_id is None:
            raise PrivacyError("a user without an id has no account: nothing is sent")
        return self._protected(stats, self.ledger.account(client=str(user_context.user_id),
                                                          limits=self.limits)), Metrics()

    def privatize(self, statistics: Any, name_formatting_fn: Any = None,
                  seed: Optional[int] = None) -> Tuple[Any, Metrics]:
        """Statistics of a user that is not named: the ledger's own account pays. `seed` is of no
        use: a report that somebody can draw again is not private."""
        return self._protected(statistics, self.ledger), Metrics()

    def save(self, dir_path: str) -> None:
        entries, digest = self.ledger.head
        path = os.path.join(dir_path, _CHECKPOINT)
        with open(path + ".part", "w", encoding="utf-8") as file:
            json.dump({"entries": entries, "hash": digest}, file)
        os.replace(path + ".part", path)

    def load(self, dir_path: str) -> None:
        try:
            with open(os.path.join(dir_path, _CHECKPOINT), encoding="utf-8") as file:
                saved = json.load(file)
        except FileNotFoundError:
            raise CheckpointNotFoundError(dir_path) from None
        entries, digest = self.ledger.head
        if entries < saved["entries"] or (entries == saved["entries"] and digest != saved["hash"]):
            raise PrivacyError(f"the ledger {self.ledger.path} has {entries} entries, and had "
                               f"{saved['entries']} at the checkpoint, or others: what was spent "
                               "is missing from it")

    def __getstate__(self) -> Dict[str, Any]:
        return {"mechanism": self.mechanism, "ledger": self.ledger, "limits": self.limits}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def _protected(self, stats: Any, account: Ledger) -> Any:
        if self._process != os.getpid():
            self._begin()
        round = next(self._calls)
        account = account.account(task=f"{self.ledger.task}/{self._name}")
        try:
            if stats.weight != 1:
                stats.reweight(1)
            metadata, weights = stats.get_weights()
        except (AttributeError, NotImplementedError, ZeroDivisionError) as error:
            raise PrivacyError(f"statistics of {type(stats).__name__} cannot be protected: nothing "
                               "is sent") from error
        if len(metadata) != 1:
            raise PrivacyError("the statistics hold more than a weight beside their tensors: "
                               "nothing is sent")
        forms = [form_of(tensor) for tensor in weights]
        for form in forms:
            if form.dtype.kind != "f":
                raise PrivacyError(f"statistics of {form.dtype} cannot be protected: nothing is "
                                   "sent")
        drawn = perturb_all([values_of(tensor) for tensor in weights], self.mechanism, account,
                            round)
        private = [form.dress(np.ascontiguousarray(part)) for form, part in zip(forms, drawn)]
        return stats.from_weights(metadata, private)
