"""An NVFlare filter for what a client's tasks result in: weights pass a mechanism and are charged.

    recipe.add_client_output_filter(LocalPrivacyFilter(
        mechanism="two-point", parameters={"epsilon": 1}, range=[0, 0.1], ledger="client.ledger",
        epsilon_per_round=100, epsilon=1000), tasks=["train"])

The result is built anew from the names that the server sent and the perturbed values; headers,
metrics and all else that the client added is dropped, and every client weighs as one step. NVFlare
applies filters to the tasks that are named, letter by letter ("*" is none of them): results of all
other tasks, and results that another filter made after this one, are emptied before they are sent.

Whatever goes wrong, the server gets NVFlare's code for a failed filter and no text; the reason is
in the client's log. A client that fails before the filter is reached says so by NVFlare's own codes.
What a client sends beside the results of tasks (events for the federation, streamed logs) passes no
filter at all: take their components out of the job.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Dict, Optional, Sequence

import numpy as np
from nvflare.apis.dxo import DXO, DataKind, MetaKey, from_shareable
from nvflare.apis.dxo_filter import DXOFilter
from nvflare.apis.event_type import EventType
from nvflare.apis.fl_constant import FLContextKey, ReturnCode
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.app_common.app_constant import AppConstants

from ._core import PrivacyError
from ._flat import Received, check, check_arrays, perturb_all, received_arrays
from ._ledger import Ledger, Limits
from ._mechanism import Mechanism


# Results that a filter of this process made: by their identity, for as long as they exist.
_results: "weakref.WeakValueDictionary[int, Any]" = weakref.WeakValueDictionary()


class LocalPrivacyFilter(DXOFilter):
    """All arguments are those of a job's configuration. `mechanism` is a name, with its
    `parameters` and its `range` (centre and radius); `ledger` is the path of the client's ledger
    file, and the limits are those of each site's account in it. `payload` is "delta", the
    difference to the weights received, or "weights", which needs results of whole weights. `keep`
    lists patterns of names that are not reported: the server's own values, as integers always are.
    """

    def __init__(self, mechanism: str, ledger: str, epsilon_per_round: float, epsilon: float,
                 delta: float = 0.0, parameters: Optional[Dict[str, float]] = None,
                 range: Sequence[float] = (0.0, 1.0), payload: str = "delta",
                 keep: Sequence[str] = ()) -> None:
        super().__init__(supported_data_kinds=[DataKind.WEIGHTS, DataKind.WEIGHT_DIFF],
                         data_kinds_to_filter=None)
        if payload not in ("delta", "weights"):
            raise ValueError(f"payload '{payload}'; valid: delta, weights")
        # Under the names of the arguments: NVFlare writes a job's configuration from them.
        self.mechanism = mechanism
        self.ledger = os.fspath(ledger)
        self.epsilon_per_round, self.epsilon, self.delta = epsilon_per_round, epsilon, delta
        self.parameters = dict(parameters or {})
        self.range = list(range)
        self.payload = payload
        self.keep = list(keep)
        self._sampler = Mechanism(mechanism, range=(self.range[0], self.range[1]),
                                  **self.parameters)
        self._opened: Optional[Ledger] = None
        self._asked: Dict[str, Any] = {}
        self._lock = threading.Lock()

    def handle_event(self, event_type: str, fl_ctx: Any) -> None:
        """Keeps a copy of what the server sent: the client may change it where it lies."""
        if event_type == EventType.AFTER_TASK_RESULT_FILTER:
            self._empty_unprotected(fl_ctx)
        if event_type != EventType.BEFORE_TASK_EXECUTION:
            return
        task = fl_ctx.get_prop(FLContextKey.TASK_DATA)
        try:
            dxo = from_shareable(task)
            if dxo.data_kind != DataKind.WEIGHTS:
                return
            copy = received_arrays(dxo.data_kind, dxo.data, self.keep)
        except Exception:  # what is no set of weights is not remembered, so its result is refused
            return
        with self._lock:
            self._asked = {fl_ctx.get_prop(FLContextKey.TASK_ID):
                           (copy, task.get_header(AppConstants.CURRENT_ROUND))}

    def process(self, shareable: Any, fl_ctx: Any) -> Any:
        task = fl_ctx.get_prop(FLContextKey.TASK_ID)
        with self._lock:
            asked, round = self._asked.pop(task, (None, None))
        if asked is None:
            raise PrivacyError("this task came without weights, so what its result holds is "
                               "unknown: nothing is sent")
        if shareable.get_return_code() != ReturnCode.OK:
            raise PrivacyError(f"the client failed ({shareable.get_return_code()}): nothing is "
                               "sent")
        dxo = from_shareable(shareable)
        account = self._account(fl_ctx, task)
        sent = DXO(dxo.data_kind, self._protected(dxo, asked, account),
                   meta={MetaKey.NUM_STEPS_CURRENT_ROUND: 1})
        result = sent.to_shareable()
        if round is not None:
            result.set_header(AppConstants.CURRENT_ROUND, round)
        _results[id(result)] = result
        return result

    def process_dxo(self, dxo: Any, shareable: Any, fl_ctx: Any) -> Any:
        raise PrivacyError("process() protects whole results: nothing is sent")

    def _empty_unprotected(self, fl_ctx: Any) -> None:
        result = fl_ctx.get_prop(FLContextKey.TASK_RESULT)
        if _results.get(id(result)) is result:
            return
        if isinstance(result, Shareable):  # NVFlare itself refuses others
            result.clear()
            result.update(make_reply(ReturnCode.TASK_RESULT_FILTER_ERROR))
            self.log_error(fl_ctx, "the result of this task passed no LocalPrivacyFilter, or "
                           "another filter after it: nothing of it is sent")

    def _protected(self, dxo: Any, asked: Received, account: Ledger) -> Dict[str, np.ndarray]:
        whole = dxo.data_kind == DataKind.WEIGHTS
        if not whole and (dxo.data_kind != DataKind.WEIGHT_DIFF or self.payload == "weights"):
            raise PrivacyError(f"a result of kind {dxo.data_kind} cannot be protected with payload "
                               f"'{self.payload}': nothing is sent")
        if set(dxo.data) != set(asked.names):
            raise PrivacyError("the result's arrays have other names than those that were "
                               "received: nothing is sent")
        parts = [np.asarray(dxo.data[asked.names[i]]) for i in asked.covered]
        start = asked.parts()
        check_arrays(parts, start)
        drawn = perturb_all(parts, self._sampler, account, 0, start,
                            delta=whole and self.payload == "delta")
        # Where a difference is sent, the server's own value is no difference at all.
        values = asked.values if whole else [np.zeros_like(value) for value in asked.values]
        own = asked._replace(values=values)
        return dict(zip(asked.names, own.with_parts(drawn)))

    def _account(self, fl_ctx: Any, task: str) -> Ledger:
        """Of the site, for this very task: one that is sent again gets the same report."""
        with self._lock:
            if self._opened is None:
                self._opened = Ledger(self.ledger)
                check(self._sampler, self._opened, "LocalPrivacyFilter")
        limits = Limits(self.epsilon_per_round, self.epsilon, self.delta)
        return self._opened.account(client=fl_ctx.get_identity_name(), limits=limits,
                                    task=f"{fl_ctx.get_job_id()}/{task}")
