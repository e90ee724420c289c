"""A Flower client mod: the reply to every training message passes a mechanism.

    app = ClientApp(client_fn=client_fn, mods=[LocalPrivacyMod(mechanism, ledger)])

Besides the parameters a reply holds what else tells about the data: the number of examples becomes
1, and metrics are dropped. Other messages (evaluation, queries) are answered from private data
without any protection, so the mod refuses them unless it is told otherwise.
"""

from __future__ import annotations

from typing import Any, Callable

from flwr.common import ndarrays_to_parameters, parameters_to_ndarrays
from flwr.common.constant import MessageType

from ._core import PrivacyError
from ._flat import check, perturb_all
from ._ledger import Ledger
from ._mechanism import Mechanism

try:
    from flwr.common import recorddict_compat as _compat

    _to_fitins, _to_fitres = _compat.recorddict_to_fitins, _compat.recorddict_to_fitres
    _from_fitres = _compat.fitres_to_recorddict
except ImportError:  # Flower before 1.17 calls it a record set
    from flwr.common import recordset_compat as _compat

    _to_fitins, _to_fitres = _compat.recordset_to_fitins, _compat.recordset_to_fitres
    _from_fitres = _compat.fitres_to_recordset


class LocalPrivacyMod:
    """`payload` is "delta", the difference to the parameters received, or "weights".

    The round is the message's group id, which the server numbers; `first_round` is added to it. A
    client that is asked twice in a round sends the same report again.
    """

    def __init__(self, mechanism: Mechanism, ledger: Ledger, *, payload: str = "delta",
                 first_round: int = 0, allow_unprotected: bool = False) -> None:
        check(mechanism, ledger, "LocalPrivacyMod")
        if payload not in ("delta", "weights"):
            raise ValueError(f"payload '{payload}'; valid: delta, weights")
        self.mechanism = mechanism
        self.ledger = ledger
        self.payload = payload
        self.first_round = first_round
        self.allow_unprotected = allow_unprotected

    def __call__(self, msg: Any, ctxt: Any, call_next: Callable[[Any, Any], Any]) -> Any:
        if msg.metadata.message_type != MessageType.TRAIN:
            if self.allow_unprotected:
                return call_next(msg, ctxt)
            raise PrivacyError(f"a message of type '{msg.metadata.message_type}' would be answered "
                               "without protection: nothing is sent (allow_unprotected=True lets "
                               "it pass)")
        received = parameters_to_ndarrays(_to_fitins(msg.content, keep_input=True).parameters)
        round = self._round(msg)
        # Before the client reads its data; what perturb() does later finds this charge.
        self.ledger.charge(self.mechanism, sum(array.size for array in received), round)
        reply = call_next(msg, ctxt)
        if reply.has_error():
            return reply
        try:
            result = _to_fitres(reply.content, keep_input=True)
        except (KeyError, ValueError, TypeError) as error:
            raise PrivacyError("the reply is not a fit result, so what it holds is unknown: "
                               "nothing is sent") from error
        sent = perturb_all(parameters_to_ndarrays(result.parameters), self.mechanism, self.ledger,
                           round, received if self.payload == "delta" else None)
        result.parameters = ndarrays_to_parameters(sent)
        result.num_examples = 1
        result.metrics = {}
        reply.content = _from_fitres(result, keep_input=True)
        return reply

    def _round(self, msg: Any) -> int:
        try:
            return self.first_round + int(msg.metadata.group_id)
        except (TypeError, ValueError):
            raise PrivacyError(f"the message's group id '{msg.metadata.group_id}' is no round "
                               "number, and a ledger charges by round: nothing is sent") from None
