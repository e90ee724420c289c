"""Flower's messages, whatever its version calls their parts: what `sotto.flower` reads and builds.

Messages come in two forms: records of arrays by name (`@app.train()`), and instructions and results
of older clients (`client_fn`), whose arrays have an order but no names.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Sequence, Tuple

import numpy as np
from flwr import common as flwr
from flwr.common import ndarrays_to_parameters, parameters_to_ndarrays

from ._core import PrivacyError
from ._flat import Received, received_arrays

try:
    try:
        from flwr.common import recorddict_compat as compat
    except ImportError:  # where later versions keep what older clients need
        from flwr.compat.common import recorddict_compat as compat
    KIND = "recorddict"
    to_fitins, to_fitres = compat.recorddict_to_fitins, compat.recorddict_to_fitres
    from_fitres = compat.fitres_to_recorddict
except (ImportError, AttributeError):  # Flower before 1.17 calls it a record set
    from flwr.common import recordset_compat as compat

    KIND = "recordset"
    to_fitins, to_fitres = compat.recordset_to_fitins, compat.recordset_to_fitres
    from_fitres = compat.fitres_to_recordset

PACKED = "sotto.report"  # the one array of a packed reply: the bytes of a report


class Trained(NamedTuple):
    """What the client's own code answered: private."""

    values: List[np.ndarray]  # in the order in which the server's were received
    metrics: Mapping[str, Any]


def is_instruction(content: Any, kind: str) -> bool:
    """Whether it is a fit or evaluate instruction (`kind` "fitins", "evaluateins")."""
    return f"{kind}.parameters" in arrays_of(content)


def received(content: Any, keep: Sequence[str]) -> Received:
    if is_instruction(content, "fitins"):
        arrays = parameters_to_ndarrays(to_fitins(content, keep_input=True).parameters)
        return received_arrays("", {str(i): array for i, array in enumerate(arrays)}, keep)
    name, record = only_arrays(content, "the message")
    return received_arrays(name, {key: record[key].numpy() for key in record}, keep)


def trained(content: Any, asked: Received) -> Trained:
    """The arrays of a client's answer by the server's names, and its metrics."""
    if not asked.record:
        try:
            result = to_fitres(content, keep_input=True)
        except (KeyError, ValueError, TypeError) as error:
            raise PrivacyError("the reply is not a fit result, so what it holds is unknown") \
                from error
        if result.status.code.value != 0:
            raise PrivacyError("the fit result says that it failed")
        return Trained(parameters_to_ndarrays(result.parameters), result.metrics)
    _, record = only_arrays(content, "the reply")
    if set(record) != set(asked.names):
        raise PrivacyError("the reply's arrays have other names than those that were received")
    return Trained([record[key].numpy() for key in asked.names], metrics_of(content))


def metrics_of(content: Any) -> Dict[str, Any]:
    """All metrics of a reply to a message, of results of older clients too."""
    new = hasattr(content, "metric_records")  # before 1.17 the names have another "s"
    found: Dict[str, Any] = {}
    for record in getattr(content, "metric_records" if new else "metrics_records", {}).values():
        found.update(record)
    for name, record in getattr(content, "config_records" if new else "configs_records",
                                {}).items():
        if name.endswith("res.metrics"):  # a result's metrics may be texts, so they are in a config
            found.update(record)
    return found


def configs_of(content: Any) -> List[Any]:
    name = "config_records" if hasattr(content, "config_records") else "configs_records"
    return list(getattr(content, name, {}).values())


def reply(msg: Any, content: Any) -> Any:
    """A message of our own making: nothing that the client set in its reply is in it."""
    try:
        return flwr.Message(content, reply_to=msg)
    except TypeError:  # Flower before 1.17
        return msg.create_reply(content)


def arrays_reply(msg: Any, asked: Received, values: Sequence[np.ndarray],
                 metrics: Mapping[str, Any], weight_key: str) -> Any:
    if not asked.record:
        result = flwr.FitRes(flwr.Status(flwr.Code.OK, ""), ndarrays_to_parameters(list(values)),
                             1, dict(metrics))
        return reply(msg, from_fitres(result, keep_input=True))
    named = {key: flwr.Array(np.asarray(value)) for key, value in zip(asked.names, values)}
    return record_reply(msg, asked.record, named, metrics, weight_key)


def record_reply(msg: Any, record: str, named: Mapping[str, Any], metrics: Mapping[str, Any],
                 weight_key: str) -> Any:
    return reply(msg, flwr.RecordDict({
        record: flwr.ArrayRecord(dict(named)),
        "metrics": flwr.MetricRecord({**metrics, weight_key: 1})}))


def evaluate_reply(msg: Any, metrics: Mapping[str, Any], weight_key: str) -> Any:
    if not is_instruction(msg.content, "evaluateins"):
        return reply(msg, flwr.RecordDict(
            {"metrics": flwr.MetricRecord({**metrics, weight_key: 1})}))
    rest = {name: value for name, value in metrics.items() if name != "loss"}
    result = flwr.EvaluateRes(flwr.Status(flwr.Code.OK, ""), metrics.get("loss", float("nan")), 1,
                              rest)
    return reply(msg, getattr(compat, f"evaluateres_to_{KIND}")(result))


def parameters_reply(msg: Any, arrays: Sequence[np.ndarray]) -> Any:
    result = flwr.GetParametersRes(flwr.Status(flwr.Code.OK, ""),
                                   ndarrays_to_parameters(list(arrays)))
    return reply(msg, getattr(compat, f"getparametersres_to_{KIND}")(result, keep_input=True))


def arrays_of(content: Any) -> Any:
    """Records of arrays by name; Flower before 1.17 calls them parameters."""
    for name in ("array_records", "parameters_records"):
        if hasattr(content, name):
            return getattr(content, name)
    raise PrivacyError("a message without records of arrays is unknown")


def only_arrays(content: Any, whose: str) -> Tuple[str, Any]:
    records = list(arrays_of(content).items())
    if len(records) != 1:
        raise PrivacyError(f"{whose} holds {len(records)} records of arrays, and exactly one can "
                           "be protected")
    return records[0]
