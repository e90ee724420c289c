"""The adapters against small stand-ins with the documented interfaces of Flower and pfl-research."""

import enum
import importlib
import sys
import types
from dataclasses import dataclass, field

import numpy as np
import pytest
import sotto

MECHANISM = sotto.Mechanism("two-point", epsilon=1, range=(0, 0.1))


@pytest.fixture
def ledger(tmp_path):
    with sotto.Ledger(tmp_path / "l", sotto.Limits(1000, 1500)) as opened:
        yield opened


def module(monkeypatch, name, **members):
    made = types.ModuleType(name)
    made.__dict__.update(members)
    monkeypatch.setitem(sys.modules, name, made)
    parent, _, child = name.rpartition(".")
    if parent:
        monkeypatch.setattr(sys.modules[parent], child, made, raising=False)
    return made


def fresh(monkeypatch, name):
    monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module(name)


# --- Flower

class Code(enum.Enum):
    OK = 0
    FIT_NOT_IMPLEMENTED = 3


@dataclass
class Status:
    code: Code = Code.OK
    message: str = "40 examples"


@dataclass
class FitRes:
    parameters: object
    status: Status = field(default_factory=Status)
    num_examples: int = 40
    metrics: dict = field(default_factory=lambda: {"accuracy": 0.9})


class Array:
    def __init__(self, values):
        assert isinstance(values, np.ndarray)
        self._values = values

    def numpy(self):
        return self._values.copy()


class ArrayRecord(dict):
    pass


class MetricRecord(dict):
    pass


class ConfigRecord(dict):
    pass


class RecordDict(dict):
    """Records by name, and views of one kind: what a message holds."""

    def _of(self, kind):
        return {name: record for name, record in self.items() if isinstance(record, kind)}

    array_records = property(lambda self: self._of(ArrayRecord))
    metric_records = property(lambda self: self._of(MetricRecord))
    config_records = property(lambda self: self._of(ConfigRecord))


@dataclass
class Message:
    content: object
    metadata: object = None
    error: object = None

    def has_error(self):
        return self.error is not None


def message(kind="train", content=None, group="3"):
    return Message(content, types.SimpleNamespace(message_type=kind, group_id=group))


class Fit(ArrayRecord):
    """A fit instruction or result on its way: the conversions below know it."""

    def __init__(self, result):
        super().__init__()
        self.result = result


def wrapped(result, name="fitins.parameters"):
    return RecordDict({name: Fit(result)})


@pytest.fixture(params=["flwr.common.recorddict", "flwr.compat.common.recorddict",
                        "flwr.common.recordset"])
def flower(request, monkeypatch):
    def to_fitins(content, keep_input):
        assert keep_input
        return content["fitins.parameters"].result

    def to_fitres(content, keep_input):
        assert keep_input
        return content["fitres.parameters"].result

    module(monkeypatch, "flwr")
    module(monkeypatch, "flwr.common", ndarrays_to_parameters=list, parameters_to_ndarrays=list,
           Array=Array, ArrayRecord=ArrayRecord, MetricRecord=MetricRecord, RecordDict=RecordDict)
    module(monkeypatch, "flwr.compat")
    module(monkeypatch, "flwr.compat.common")
    kind = request.param.rpartition(".")[2]
    module(monkeypatch, f"{request.param}_compat", **{
        f"{kind}_to_fitins": to_fitins, f"{kind}_to_fitres": to_fitres,
        f"fitres_to_{kind}": lambda result, keep_input: wrapped(result, "fitres.parameters")})
    yield fresh(monkeypatch, "sotto.flower")
    sys.modules.pop("sotto.flower", None)


def received():
    return [np.zeros((2, 3), np.float32), np.ones(4, np.float64)]


def client(arrays, **options):
    return lambda msg, ctxt: Message(wrapped(FitRes(arrays, **options), "fitres.parameters"))


def fit_message(**options):
    return message(content=wrapped(FitRes(received())), **options)


def steps_of(arrays):
    return np.concatenate([(a - b).ravel() for a, b in zip(arrays, received())])


def test_flower_fit_results_are_protected(flower, ledger):
    mod = flower.LocalPrivacyMod(MECHANISM, ledger)
    private = [array + 0.03 for array in received()]
    reply = mod(fit_message(), None, client(private)).content["fitres.parameters"].result
    assert [a.dtype for a in reply.parameters] == [np.float32, np.float64]
    assert [a.shape for a in reply.parameters] == [(2, 3), (4,)]
    # Two points, and nothing else.
    assert len(np.unique(np.abs(steps_of(reply.parameters)).round(5))) == 1
    assert (reply.num_examples, reply.metrics, reply.status.message) == (1, {}, "")
    assert ledger.spent().rounds == 1
    again = mod(fit_message(), None, client(received())).content["fitres.parameters"].result
    assert all(np.array_equal(a, b) for a, b in zip(reply.parameters, again.parameters))


def arrays_message(group="", config=None, extra=None):
    named = {"w": Array(received()[0]), "b": Array(received()[1]),
             "norm.num_batches_tracked": Array(np.array(7))}
    return message(group=group, content=RecordDict(
        {"arrays": ArrayRecord(named), "config": ConfigRecord(config or {"server-round": 4}),
         **(extra or {})}))


def function(**changes):
    """A client's own function: it changes every array, and tells more than it should."""

    def train(msg, ctxt):
        named = {name: Array(np.asarray(value.numpy() + 0.03, value.numpy().dtype))
                 for name, value in msg.content["arrays"].items()}
        named["norm.num_batches_tracked"] = Array(np.array(99))
        named.update(changes)
        return Message(RecordDict({
            "mine": ArrayRecord({name: value for name, value in named.items() if value}),
            "metrics": MetricRecord({"num-examples": 40, "loss": 0.3}),
            "note": ConfigRecord({"name": "anna"})}))

    return train


def test_flower_messages_of_arrays_are_protected(flower, ledger):
    reply = flower.LocalPrivacyMod(MECHANISM, ledger)(arrays_message(), None, function()).content
    # Built anew: the server's names, the weight 1, and nothing that the client added.
    assert reply.keys() == {"arrays", "metrics"}
    assert reply.metric_records == {"metrics": {"num-examples": 1}}
    sent = {name: value.numpy() for name, value in reply["arrays"].items()}
    assert list(sent) == ["w", "b", "norm.num_batches_tracked"]
    assert sent["norm.num_batches_tracked"] == 7  # the server's own
    assert len(np.unique(np.abs(steps_of([sent["w"], sent["b"]])).round(5))) == 1
    assert (sent["w"].dtype, sent["b"].dtype) == (np.float32, np.float64)
    assert ledger.charge(MECHANISM, 10, 4) == "bound"  # round 4, ten values


def test_flower_rounds(flower, ledger):
    mod = flower.LocalPrivacyMod(MECHANISM, ledger, first_round=10)
    mod(arrays_message(group="2"), None, function())
    assert ledger.charge(MECHANISM, 10, 12) == "bound"
    mod(arrays_message(), None, function())
    assert ledger.charge(MECHANISM, 10, 14) == "bound"
    with pytest.raises(sotto.PrivacyError, match="server-round"):
        mod(arrays_message(config={"lr": 0.1}), None, function())


def test_flower_charges_before_the_client_works(flower, tmp_path):
    with sotto.Ledger(tmp_path / "poor", sotto.Limits(1, 1)) as poor:
        mod = flower.LocalPrivacyMod(MECHANISM, poor)
        worked = []
        for asked in (fit_message(), arrays_message()):
            with pytest.raises(sotto.BudgetExceeded):
                mod(asked, None, lambda m, c: worked.append(1))
        assert not worked


@pytest.mark.parametrize("asked, answer, said", [
    (message("evaluate"), client(received()), "evaluate"),
    (message("query.mine"), client(received()), "query.mine"),
    (fit_message(), lambda m, c: Message(RecordDict(arrays=ArrayRecord())), "not a fit result"),
    (fit_message(), client([np.zeros((2, 3), np.int64), np.ones(4)]), "int64"),
    (fit_message(), client([np.zeros(10)]), "shapes"),
    (fit_message(), client(received(), status=Status(Code.FIT_NOT_IMPLEMENTED)), "failed"),
    (fit_message(group="x"), client(received()), "round"),
    (fit_message(), lambda m, c: Message(None, error="secret"), "own log"),
    (fit_message(), lambda m, c: 1 / 0, "own log"),
    (message(content=object()), function(), "unknown"),
    (arrays_message(extra={"more": ArrayRecord()}), function(), "holds 2 records"),
    (arrays_message(), function(w=None), "other names"),
    (arrays_message(), function(more=Array(np.ones(1))), "other names"),
    (arrays_message(), function(w=Array(np.ones(5))), "shapes"),
    (arrays_message(), function(w=Array(np.ones((2, 3), np.int8))), "int8"),
])
def test_flower_refuses_what_it_does_not_know(flower, ledger, asked, answer, said):
    for payload in ("delta", "weights"):
        mod = flower.LocalPrivacyMod(MECHANISM, ledger, payload=payload)
        with pytest.raises(sotto.PrivacyError, match=said) as raised:
            mod(asked, None, answer)
        assert "secret" not in str(raised.value) and "division" not in str(raised.value)


def test_flower_lets_pass_what_it_is_told_to(flower, ledger):
    with pytest.raises(sotto.PrivacyError, match="no ledger"):
        flower.LocalPrivacyMod(MECHANISM, None)
    with pytest.raises(ValueError, match="valid: delta, weights"):
        flower.LocalPrivacyMod(MECHANISM, ledger, payload="gradient")
    allowed = flower.LocalPrivacyMod(MECHANISM, ledger, allow_unprotected=True)
    assert allowed(message("evaluate"), None, lambda m, c: "answer") == "answer"
    named = flower.LocalPrivacyMod(MECHANISM, ledger, weight_key="weight")
    reply = named(arrays_message(), None, function()).content
    assert reply["metrics"] == {"weight": 1}


# --- pfl-research

class Statistics:
    def __init__(self, values, weight=1.0):
        self.values, self.weight = values, weight

    def reweight(self, new):
        self.values = [value * (new / self.weight) for value in self.values]
        self.weight = new

    def get_weights(self):
        return np.array([self.weight]), self.values

    def from_weights(self, metadata, weights):
        return Statistics(weights, float(metadata[0]))


@dataclass
class User:
    user_id: object = "anna"


@pytest.fixture
def pfl(monkeypatch):
    module(monkeypatch, "pfl")
    module(monkeypatch, "pfl.metrics", Metrics=dict)
    module(monkeypatch, "pfl.postprocessor")
    module(monkeypatch, "pfl.postprocessor.base", Postprocessor=object)
    yield fresh(monkeypatch, "sotto.pfl")
    sys.modules.pop("sotto.pfl", None)


def test_pfl_statistics_are_protected(pfl, ledger):
    processor = pfl.LocalMechanism(MECHANISM, ledger, limits=sotto.Limits(10, 15))
    private = Statistics([np.full((2, 2), 40.0, np.float32), np.zeros(3, np.float32)], 20.0)
    sent, metrics = processor.postprocess_one_user(stats=private, user_context=User())
    assert sent.weight == 1 and metrics == {}
    assert [value.shape for value in sent.values] == [(2, 2), (3,)]
    flat = np.concatenate([value.ravel() for value in sent.values])
    assert len(np.unique(np.abs(flat).round(5))) == 1
    processor.postprocess_server(
        stats=sent, central_context=types.SimpleNamespace(current_central_iteration=0),
        aggregate_metrics=None)
    other, _ = processor.postprocess_one_user(stats=private, user_context=User("bert"))
    processor.postprocess_one_user(stats=private, user_context=User())
    assert ledger.account(client="anna").spent().rounds == 2
    assert ledger.account(client="bert").spent().rounds == 1
    processor._round = 9
    with pytest.raises(sotto.BudgetExceeded):
        processor.postprocess_one_user(stats=private, user_context=User())


def test_pfl_refuses_what_it_does_not_know(pfl, ledger):
    processor = pfl.LocalMechanism(MECHANISM, ledger, limits=sotto.Limits.unlimited())
    ask = processor.postprocess_one_user
    with pytest.raises(sotto.PrivacyError, match="without an id"):
        ask(stats=Statistics([np.zeros(3)]), user_context=User(None))
    with pytest.raises(sotto.PrivacyError, match="cannot be protected"):
        ask(stats=object(), user_context=User())
    with pytest.raises(sotto.PrivacyError, match="cannot be protected"):
        ask(stats=Statistics([np.zeros(3)], weight=0), user_context=User())
    with pytest.raises(sotto.PrivacyError, match="int64"):
        ask(stats=Statistics([np.zeros(3, np.int64)]), user_context=User())
    with pytest.raises(sotto.PrivacyError, match="no ledger"):
        pfl.LocalMechanism(MECHANISM, None)


@pytest.mark.parametrize("name", ["sotto.flower", "sotto.pfl"])
def test_adapters_need_their_framework_and_nothing_else_does(name):
    if importlib.util.find_spec({"sotto.flower": "flwr", "sotto.pfl": "pfl"}[name]):
        pytest.skip("the framework is installed")
    with pytest.raises(ImportError):
        importlib.import_module(name)
