"""The server's side of packed replies: a Flower strategy around any other one.

    strategy = PackedStrategy(FedAvg(), mechanism)
    strategy.start(grid=grid, initial_arrays=ArrayRecord(model.state_dict()), num_rounds=3)

A client whose `LocalPrivacyMod` has `packed=True` sends the bytes of its report instead of arrays
of float32: one bit a weight with `two-point`. Here they are decoded, so the strategy inside sees
replies with arrays as ever. Mechanism, payload and `keep` are those of the clients.
"""

from __future__ import annotations

import logging
from typing import Any, Dict, Iterable, List, Optional, Sequence

import numpy as np
from flwr import common as flwr
from flwr.serverapp.strategy import Strategy

from . import _flower_messages as messages
from ._flat import arrays_like
from ._mechanism import Mechanism

_log = logging.getLogger("sotto.flower")


class PackedStrategy(Strategy):
    """`first_round` is that of the clients' mod. A reply that is no report of this mechanism, round
    and model is left out and logged. Integer arrays of the model come out of a round as they went
    in, where plain averages would make floats of them."""

    def __init__(self, strategy: Strategy, mechanism: Mechanism, *, payload: str = "delta",
                 keep: Sequence[str] = (), first_round: int = 0) -> None:
        if payload not in ("delta", "weights"):
            raise ValueError(f"payload '{payload}'; valid: delta, weights")
        self.strategy = strategy
        self.mechanism = mechanism
        self.payload = payload
        self.keep = tuple(keep)
        self.first_round = first_round
        self._sent: Dict[int, messages.Received] = {}

    def configure_train(self, server_round: int, arrays: Any, config: Any,
                        grid: Any) -> Iterable[Any]:
        asked = list(self.strategy.configure_train(server_round, arrays, config, grid))
        # Most strategies send one record to all: it is copied once.
        copies: Dict[int, messages.Received] = {}
        self._sent = {}
        for message in asked:
            _, record = messages.only_arrays(message.content, "the message")
            if id(record) not in copies:
                copies[id(record)] = messages.received(message.content, self.keep)
            self._sent[message.metadata.dst_node_id] = copies[id(record)]
        return asked

    def aggregate_train(self, server_round: int, replies: Iterable[Any]) -> Any:
        decoded: List[Any] = []
        for reply in replies:
            if reply.has_error() or self._decode(reply, server_round):
                decoded.append(reply)
        arrays, metrics = self.strategy.aggregate_train(server_round, decoded)
        return (None if arrays is None else self._with_integers(arrays)), metrics

    def configure_evaluate(self, server_round: int, arrays: Any, config: Any,
                           grid: Any) -> Iterable[Any]:
        return self.strategy.configure_evaluate(server_round, arrays, config, grid)

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Any]) -> Optional[Any]:
        return self.strategy.aggregate_evaluate(server_round, replies)

    def summary(self) -> None:
        _log.info("reports of %r are decoded for:", self.mechanism)
        self.strategy.summary()

    def _decode(self, reply: Any, server_round: int) -> bool:
        """Puts arrays into the place of the report; False where there is none that can be read."""
        node = reply.metadata.src_node_id
        try:
            asked = self._sent[node]
            name, record = messages.only_arrays(reply.content, "the reply")
            if list(record) != [messages.PACKED]:
                raise ValueError("the reply is not packed: its client's mod needs packed=True")
            start = asked.parts()
            report = self.mechanism.read(record[messages.PACKED].numpy().tobytes(),
                                         sum(part.size for part in start))
            if report.round != self.first_round + server_round:
                raise ValueError(f"a report of round {report.round}")
            delta = start if self.payload == "delta" else None
            parts = arrays_like(start, report.decode(), delta)
        except Exception:
            _log.exception("the reply of node %s is left out", node)
            return False
        values = asked.with_parts(parts)
        reply.content[name] = flwr.ArrayRecord(
            {key: flwr.Array(np.asarray(value)) for key, value in zip(asked.names, values)})
        return True

    def _with_integers(self, arrays: Any) -> Any:
        if not self._sent:
            return arrays
        asked = next(iter(self._sent.values()))
        uncovered = {name: value for i, (name, value) in enumerate(zip(asked.names, asked.values))
                     if i not in asked.covered}
        return flwr.ArrayRecord(
            {key: flwr.Array(uncovered[key]) if key in uncovered else value
             for key, value in arrays.items()})
