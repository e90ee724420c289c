"""A Flower client mod: the reply to every training message passes a mechanism.

    app = ClientApp(mods=[LocalPrivacyMod(mechanism, ledger)])

Both ways to write a client are known: functions that answer messages (`@app.train()`, an
ArrayRecord in and one out) and a `client_fn` (fit instructions in, a fit result out). The reply is
built anew from names that the server knows and the perturbed values: the number of examples becomes
1 and everything else, metrics among it, is dropped. Other messages (evaluation, queries) are
answered from private data without any protection, so the mod refuses them unless it is told
otherwise. Nor is the text of a client's error sent, as it may quote what the client was working on:
it goes to the log of this machine.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import Any, Callable, List, Tuple

import numpy as np
from flwr import common as _flwr
from flwr.common import ndarrays_to_parameters, parameters_to_ndarrays

from ._core import PrivacyError
from ._flat import check, perturb_all
from ._ledger import Ledger
from ._mechanism import Mechanism

try:
    try:
        from flwr.common import recorddict_compat as _compat
    except ImportError:  # where later versions keep what older clients need
        from flwr.compat.common import recorddict_compat as _compat
    _to_fitins, _to_fitres = _compat.recorddict_to_fitins, _compat.recorddict_to_fitres
    _from_fitres = _compat.fitres_to_recorddict
except (ImportError, AttributeError):  # Flower before 1.17 calls it a record set
    from flwr.common import recordset_compat as _compat

    _to_fitins, _to_fitres = _compat.recordset_to_fitins, _compat.recordset_to_fitres
    _from_fitres = _compat.fitres_to_recordset

_log = logging.getLogger("sotto.flower")
_COUNTER = "num_batches_tracked"  # tells how much data there is: the server's stays


class LocalPrivacyMod:
    """`payload` is "delta", the difference to the parameters received, or "weights".

    The round is the message's group id or, where it has none, the `server-round` of its config;
    `first_round` is added to it. A client that is asked twice in a round sends the same report
    again, so another run over the same ledger needs another `first_round` or the ledger another
    task. `weight_key` is the name under which a strategy looks for a reply's weight.
    """

    def __init__(self, mechanism: Mechanism, ledger: Ledger, *, payload: str = "delta",
                 first_round: int = 0, weight_key: str = "num-examples",
                 allow_unprotected: bool = False) -> None:
        check(mechanism, ledger, "LocalPrivacyMod")
        if payload not in ("delta", "weights"):
            raise ValueError(f"payload '{payload}'; valid: delta, weights")
        self.mechanism = mechanism
        self.ledger = ledger
        self.payload = payload
        self.first_round = first_round
        self.weight_key = weight_key
        self.allow_unprotected = allow_unprotected

    def __call__(self, msg: Any, ctxt: Any, call_next: Callable[[Any, Any], Any]) -> Any:
        # "train", or "train.x" where an app has several functions.
        if msg.metadata.message_type.split(".")[0] != "train":
            if self.allow_unprotected:
                return call_next(msg, ctxt)
            raise PrivacyError(f"a message of type '{msg.metadata.message_type}' would be answered "
                               "without protection: nothing is sent (allow_unprotected=True lets "
                               "it pass)")
        round = self._round(msg)
        if "fitins.parameters" in _arrays_of(msg.content):
            return self._fit(msg, ctxt, call_next, round)
        return self._train(msg, ctxt, call_next, round)

    def _fit(self, msg: Any, ctxt: Any, call_next: Callable[[Any, Any], Any], round: int) -> Any:
        received = parameters_to_ndarrays(_to_fitins(msg.content, keep_input=True).parameters)
        reply = self._answer(msg, ctxt, call_next, round, received)
        try:
            result = _to_fitres(reply.content, keep_input=True)
        except (KeyError, ValueError, TypeError) as error:
            raise PrivacyError("the reply is not a fit result, so what it holds is unknown: "
                               "nothing is sent") from error
        if result.status.code.value != 0:
            raise PrivacyError("the fit result says that it failed: nothing is sent")
        result.parameters = ndarrays_to_parameters(
            self._perturbed(parameters_to_ndarrays(result.parameters), received, round))
        result.num_examples = 1
        result.metrics = {}
        result.status.message = ""
        reply.content = _from_fitres(result, keep_input=True)
        return reply

    def _train(self, msg: Any, ctxt: Any, call_next: Callable[[Any, Any], Any], round: int) -> Any:
        name, start = _only_arrays(msg.content, "the message")
        values = [start[key].numpy() for key in start]
        counted = [key for key, value in zip(start, values)
                   if key.split(".")[-1] == _COUNTER and value.dtype.kind in "iu"]
        received = [value for key, value in zip(start, values) if key not in counted]
        reply = self._answer(msg, ctxt, call_next, round, received)
        _, trained = _only_arrays(reply.content, "the reply")
        if set(trained) != set(start):
            raise PrivacyError("the reply's arrays have other names than those that were received: "
                               "nothing is sent")
        sent = iter(self._perturbed([trained[key].numpy() for key in start if key not in counted],
                                    received, round))
        record = _flwr.ArrayRecord(OrderedDict(
            (key, start[key] if key in counted else _flwr.Array(next(sent))) for key in start))
        reply.content = _flwr.RecordDict(
            {name: record, "metrics": _flwr.MetricRecord({self.weight_key: 1})})
        return reply

    def _answer(self, msg: Any, ctxt: Any, call_next: Callable[[Any, Any], Any], round: int,
                received: List[np.ndarray]) -> Any:
        """The client's own reply. It is paid for before the client reads its data; what perturb()
        does later finds this charge."""
        self.ledger.charge(self.mechanism, sum(array.size for array in received), round)
        try:
            reply = call_next(msg, ctxt)
        except Exception as error:
            _log.exception("the client failed in round %d", round)
            raise PrivacyError("the client failed; what its error says may tell about its data and "
                               "is in the client's own log: nothing is sent") from error
        if reply.has_error():
            _log.error("the client failed in round %d: %s", round, reply.error)
            raise PrivacyError("the client's reply is an error; what it says may tell about its "
                               "data and is in the client's own log: nothing is sent")
        return reply

    def _perturbed(self, arrays: List[np.ndarray], received: List[np.ndarray],
                   round: int) -> List[np.ndarray]:
        return perturb_all(arrays, self.mechanism, self.ledger, round, received,
                           delta=self.payload == "delta")

    def _round(self, msg: Any) -> int:
        found = msg.metadata.group_id
        if not found:
            for record in getattr(msg.content, "config_records", {}).values():
                found = record.get("server-round", found)
        try:
            return self.first_round + int(found)
        except (TypeError, ValueError):
            raise PrivacyError(f"the message's group id '{found}' is no round number, nor has its "
                               "config a 'server-round', and a ledger charges by round: nothing is "
                               "sent") from None


def _arrays_of(content: Any) -> Any:
    """Records of arrays by name; Flower before 1.17 calls them parameters."""
    for name in ("array_records", "parameters_records"):
        if hasattr(content, name):
            return getattr(content, name)
    raise PrivacyError("a message without records of arrays is unknown: nothing is sent")


def _only_arrays(content: Any, whose: str) -> Tuple[str, Any]:
    records = list(_arrays_of(content).items())
    if len(records) != 1:
        raise PrivacyError(f"{whose} holds {len(records)} records of arrays, and exactly one can be "
                           "protected: nothing is sent")
    return records[0]
