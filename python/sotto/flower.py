"""A Flower client mod: what a client answers passes a mechanism and is charged, or is an error.

    app = ClientApp(mods=[LocalPrivacyMod(mechanism, ledger)])

Both ways to write a client are known: functions that answer messages (`@app.train()`, an
ArrayRecord in and one out) and a `client_fn` (fit instructions in, a fit result out). The reply is
built anew from names that the server knows and the perturbed values: the number of examples becomes
1, integer arrays are the server's own, metrics are dropped or protected (`ProtectedMetrics`).

Every node has an account of its own in the ledger. The mod may be pickled into other processes, as
Flower's simulation does, and be made anew for every message, as a SuperNode does: what was spent is
in the ledger file.

Where nothing can be sent the server gets one constant text, whatever the reason was: an error's own
text may quote what the client was working on. It goes to the log of this machine ("sotto.flower").
"""

from __future__ import annotations

import logging
import math
import os
from typing import (Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple,
                    Union)

import numpy as np

from . import _flower_messages as messages
from ._core import PrivacyError
from ._flat import check, check_arrays, perturb_all, report_all
from ._ledger import Ledger, Limits
from ._mechanism import Mechanism, Tensor

__all__ = ["LocalPrivacyMod", "ProtectedMetrics"]

NOTHING_SENT = "sotto: nothing is sent; the reason is in the client's own log"
_log = logging.getLogger("sotto.flower")
_only_node: Dict[Tuple[int, str, str, str], int] = {}  # of an account that is for one node


class ProtectedMetrics:
    """Numbers of a client that travel as one report: `bounds` maps names to the least and the
    greatest value, and every number costs the mechanism's epsilon.

    Decoded values are unbiased and may be far outside of their bounds. `clip` puts them back, which
    is for strategies that need a bit (adaptive clipping) or a loss above zero (q-FedAvg). A number
    that the client's reply lacks counts as the middle of its bounds.
    """

    def __init__(self, mechanism: Mechanism, bounds: Mapping[str, Tuple[float, float]], *,
                 clip: bool = False) -> None:
        if mechanism.kind != "value":
            raise ValueError(f"ProtectedMetrics: {mechanism.name} takes a {mechanism.kind}; valid: "
                             "a value mechanism")
        if not bounds:
            raise ValueError("ProtectedMetrics: no metric is named")
        for name, (low, high) in bounds.items():
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise ValueError(f"ProtectedMetrics: '{name}' in [{low}, {high}]; valid: two "
                                 "numbers, the smaller one first")
        self.mechanism = mechanism
        self.bounds = {name: (float(low), float(high)) for name, (low, high) in bounds.items()}
        self.clip = clip
        self._tensors = [Tensor(name, (1,), ((low + high) / 2, (high - low) / 2))
                         for name, (low, high) in self.bounds.items()]

    def charge(self, account: Ledger, round: int) -> None:
        account._charge(self.mechanism._made_for(len(self._tensors), self._tensors), round)

    def perturb(self, found: Mapping[str, Any], account: Ledger, round: int) -> Dict[str, float]:
        """Of the numbers that were found; any other one of the client's stays with it."""
        values = np.array([_number(found, name) for name in self.bounds])
        report = self.mechanism.perturb(values, ledger=account, round=round, tensors=self._tensors)
        decoded = [float(value) for value in report.decode()]
        if self.clip:
            decoded = [min(max(value, low), high)
                       for value, (low, high) in zip(decoded, self.bounds.values())]
        return dict(zip(self.bounds, decoded))


class _Private(NamedTuple):
    """What the client's own code made of a message to train."""

    parts: List[np.ndarray]  # of the arrays that a report covers
    metrics: Mapping[str, Any]
    kept: List[int]  # places of arrays that are the server's own all the same


class LocalPrivacyMod:
    """`payload` is "delta", the difference to the parameters received, or "weights".

    `account` says whose account pays: "partition-id" or another key of the node's own config,
    "node-id" (the SuperLink's number: a node that it takes for a new one has an unspent account),
    a function of Flower's context, or None for the ledger's own account where one node uses the
    file. Accounts that are not open get `limits` or else those of the ledger's own account.

    `metrics` protects numbers of a reply to training, `evaluate` those of a reply to an evaluation:
    "refuse" answers with an error, "skip" with a weight and no metric, without running the client.
    `initial` are public arrays for servers that ask a client for initial parameters.

    Integers are not reported: the server gets its own back. `keep` names patterns of further arrays
    of which that is true ("*.running_var", or places in the lists of a `client_fn`).

    `packed` sends the report's own bytes; the server's side is `sotto.flower_server`. With
    `on_failure="report"` a client that fails sends a report on what it received, so that not even
    its failure is told; "refuse" tells that it failed. `weight_key` is the name under which a
    strategy looks for a reply's weight. Rounds are the messages' own (group id, or `server-round`
    of the config) plus `first_round`; a message that comes twice in a run gets the same report.
    """

    def __init__(self, mechanism: Mechanism, ledger: Ledger, *, payload: str = "delta",
                 account: Union[str, Callable[[Any], str], None] = "partition-id",
                 limits: Optional[Limits] = None, metrics: Optional[ProtectedMetrics] = None,
                 evaluate: Union[str, ProtectedMetrics] = "refuse",
                 initial: Optional[Sequence[np.ndarray]] = None, packed: bool = False,
                 keep: Sequence[str] = (), on_failure: str = "refuse", first_round: int = 0,
                 weight_key: str = "num-examples", allow_unprotected: bool = False) -> None:
        check(mechanism, ledger, "LocalPrivacyMod")
        if payload not in ("delta", "weights"):
            raise ValueError(f"payload '{payload}'; valid: delta, weights")
        if on_failure not in ("refuse", "report"):
            raise ValueError(f"on_failure '{on_failure}'; valid: refuse, report")
        if not isinstance(evaluate, ProtectedMetrics) and evaluate not in ("refuse", "skip"):
            raise ValueError(f"evaluate '{evaluate}'; valid: refuse, skip, ProtectedMetrics(...)")
        for protected in (metrics, evaluate):
            if isinstance(protected, ProtectedMetrics) and weight_key in protected.bounds:
                raise ValueError(f"'{weight_key}' is the weight of a reply, which is 1 for all")
        self.mechanism = mechanism
        self.ledger = ledger
        self.payload = payload
        self.account = account
        self.limits = limits
        self.metrics = metrics
        self.evaluate = evaluate
        self.initial = None if initial is None else [np.array(array) for array in initial]
        self.packed = packed
        self.keep = tuple(keep)
        self.on_failure = on_failure
        self.first_round = first_round
        self.weight_key = weight_key
        self.allow_unprotected = allow_unprotected

    def __call__(self, msg: Any, ctxt: Any, call_next: Callable[[Any, Any], Any]) -> Any:
        try:
            return self._reply(msg, ctxt, call_next)
        except Exception:
            _log.exception("nothing is sent")
        # Raised out here, as an error that is raised while another one is handled refers to it.
        raise PrivacyError(NOTHING_SENT)

    def _reply(self, msg: Any, ctxt: Any, call_next: Callable[[Any, Any], Any]) -> Any:
        kind = msg.metadata.message_type.split(".")[0]  # "train.x" where an app has several
        if kind == "train":
            return self._train(msg, ctxt, call_next)
        if kind == "evaluate" and self.evaluate == "skip":
            return messages.evaluate_reply(msg, {}, self.weight_key)
        if kind == "evaluate" and isinstance(self.evaluate, ProtectedMetrics):
            return self._evaluate(msg, ctxt, call_next, self.evaluate)
        if kind == "get_parameters" and self.initial is not None:
            return messages.parameters_reply(msg, self.initial)
        if self.allow_unprotected:
            return call_next(msg, ctxt)
        told = {"evaluate": "evaluate=ProtectedMetrics(...) protects its metrics, "
                            "evaluate=\"skip\" answers without any",
                "get_parameters": "initial=[...] answers with public arrays"}
        raise PrivacyError(f"a message of type '{msg.metadata.message_type}' would be answered "
                           f"without protection ({told.get(kind, 'there is none for it')}; "
                           "allow_unprotected=True lets it pass)")

    def _train(self, msg: Any, ctxt: Any, call_next: Callable[[Any, Any], Any]) -> Any:
        round = self._round(msg)
        asked = messages.received(msg.content, self.keep)
        if self.packed and not asked.record:
            raise PrivacyError("packed reports need messages of arrays, and this is a fit "
                               "instruction of a strategy of an older kind")
        start = asked.parts()
        check_arrays(start)
        account = self._account(msg, ctxt)
        numbers = account.account(task=account.task + "/metrics")
        # Paid for before the client reads its data; what perturb() does later finds these charges.
        account.charge(self.mechanism, sum(array.size for array in start), round)
        if self.metrics is not None:
            self.metrics.charge(numbers, round)
        found = self._of_client(lambda: self._trained(asked, _answer(msg, ctxt, call_next)),
                                _Private(start, {}, []))
        metrics: Dict[str, float] = {}
        if self.metrics is not None:
            metrics = self.metrics.perturb(found.metrics, numbers, round)
        delta = self.payload == "delta"
        if self.packed:
            report = report_all(found.parts, self.mechanism, account, round, start, delta=delta)
            data = np.frombuffer(report.to_bytes(), np.uint8)
            return messages.record_reply(msg, asked.record,
                                         {messages.PACKED: messages.flwr.Array(data)}, metrics,
                                         self.weight_key)
        sent = perturb_all(found.parts, self.mechanism, account, round, start, delta=delta)
        return messages.arrays_reply(msg, asked, asked.with_parts(sent, found.kept), metrics,
                                     self.weight_key)

    def _trained(self, asked: messages.Received, reply: Any) -> _Private:
        """The client's covered arrays. Averages of integers arrive as floats: where the client has
        integers, the server's own values stand in for them and stay what they are."""
        values, metrics = messages.trained(reply.content, asked)
        if len(values) != len(asked.values):
            raise PrivacyError(f"the reply has {len(values)} arrays, and {len(asked.values)} were "
                               "received")
        integers = [i for i in asked.covered if values[i].dtype.kind in "iub"]
        parts = [asked.values[i] if i in integers else values[i] for i in asked.covered]
        if len(parts) == len(integers):
            raise PrivacyError("all arrays of the reply are integers: there is nothing to protect")
        check_arrays(parts, asked.parts())
        # With "report" nothing may distinguish this reply from one after a failure.
        return _Private(parts, metrics, integers if self.on_failure == "refuse" else [])

    def _evaluate(self, msg: Any, ctxt: Any, call_next: Callable[[Any, Any], Any],
                  protected: ProtectedMetrics) -> Any:
        round = self._round(msg)
        account = self._account(msg, ctxt)
        protected.charge(account, round)
        found = self._of_client(
            lambda: messages.metrics_of(_answer(msg, ctxt, call_next).content), {})
        return messages.evaluate_reply(msg, protected.perturb(found, account, round),
                                       self.weight_key)

    def _of_client(self, private: Callable[[], Any], otherwise: Any) -> Any:
        try:
            return private()
        except Exception:
            if self.on_failure == "refuse":
                raise
            _log.exception("the client failed; the report that is sent is on nothing of its own")
            return otherwise

    def _account(self, msg: Any, ctxt: Any) -> Ledger:
        """Of the node, with a task of the run and the kind of message: another run or function
        pays for itself, and never gets a report that was drawn for something else."""
        task = f"{self.ledger.task}/{ctxt.run_id}/{msg.metadata.message_type}"
        name = self._name(ctxt)
        client = self.ledger.client if name is None else f"{self.ledger.client}/{name}"
        account = self.ledger.account(client=client, task=task, limits=self.limits)
        if self.limits is None and account.spent() is None:
            own = self.ledger.spent()
            if own is not None:
                account.set_limits(own.limits)
        return account

    def _name(self, ctxt: Any) -> Optional[str]:
        if callable(self.account):
            return str(self.account(ctxt))
        if self.account == "node-id":
            return f"node-id={ctxt.node_id}"
        if self.account is not None:
            if self.account not in ctxt.node_config:
                raise PrivacyError(
                    f"the node's config has no '{self.account}', so whose account pays is unknown; "
                    f"start the SuperNode with --node-config '{self.account}=0' (a number of its "
                    "own), or give LocalPrivacyMod another `account`")
            return f"{self.account}={ctxt.node_config[self.account]}"
        key = (os.getpid(), os.path.abspath(self.ledger.path), self.ledger.client,
               self.ledger.dataset)
        if _only_node.setdefault(key, ctxt.node_id) != ctxt.node_id:
            raise PrivacyError("account=None is for a ledger that one node uses, and here is "
                               "another node: each would get the other's reports")
        return None

    def _round(self, msg: Any) -> int:
        found = msg.metadata.group_id
        if not found:
            for record in messages.configs_of(msg.content):
                found = record.get("server-round", found)
        try:
            return self.first_round + int(found)
        except (TypeError, ValueError):
            raise PrivacyError(f"the message's group id '{found}' is no round number, nor has its "
                               "config a 'server-round', and a ledger charges by round") from None


def _answer(msg: Any, ctxt: Any, call_next: Callable[[Any, Any], Any]) -> Any:
    reply = call_next(msg, ctxt)
    if reply.has_error():
        raise PrivacyError(f"the client's own reply is an error: {reply.error}")
    return reply


def _number(found: Mapping[str, Any], name: str) -> float:
    try:
        return float(found[name])
    except (KeyError, TypeError, ValueError):
        _log.warning("the client's reply has no number called '%s'", name)
        return math.nan
