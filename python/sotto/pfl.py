"""A pfl-research postprocessor: every user's statistics pass a mechanism.

    SimulatedBackend(..., postprocessors=[LocalMechanism(mechanism, ledger)])

Each user has an account of its own in the ledger. A user's weight tells how much data there is, so
statistics are averaged over it first and every user counts as one. It has to be the last of the
postprocessors. What the simulation measures besides, a user's metrics and its number of data points,
is added up by the backend and never passes a postprocessor: it is not protected.
"""

from __future__ import annotations

from typing import Any, Tuple

import numpy as np
from pfl.metrics import Metrics
from pfl.postprocessor.base import Postprocessor

from ._arrays import form_of, values_of
from ._core import PrivacyError
from ._flat import check, perturb_all
from ._ledger import Ledger, Limits
from ._mechanism import Mechanism


class LocalMechanism(Postprocessor):
    """`limits` are those of each user; None takes the limits that the accounts have already."""

    def __init__(self, mechanism: Mechanism, ledger: Ledger, *,
                 limits: "Limits | None" = None) -> None:
        check(mechanism, ledger, "LocalMechanism")
        self.mechanism = mechanism
        self.ledger = ledger
        self.limits = limits
        self._round = 1

    def postprocess_one_user(self, *, stats: Any, user_context: Any) -> Tuple[Any, Metrics]:
        if user_context.user_id is None:
            raise PrivacyError("a user without an id has no account: nothing is sent")
        account = self.ledger.account(client=str(user_context.user_id), limits=self.limits)
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
                            self._round)
        private = [form.dress(np.ascontiguousarray(part)) for form, part in zip(forms, drawn)]
        return stats.from_weights(metadata, private), Metrics()

    def postprocess_server(self, *, stats: Any, central_context: Any,
                           aggregate_metrics: Any) -> Tuple[Any, Metrics]:
        self._round = central_context.current_central_iteration + 2
        return stats, Metrics()
