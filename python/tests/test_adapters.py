"""The adapters against small stand-ins with the documented interfaces of Flower and pfl-research."""

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

@dataclass
class FitRes:
    parameters: object
    num_examples: int = 40
    metrics: dict = field(default_factory=lambda: {"accuracy": 0.9})
    status: str = "OK"


@dataclass
class Message:
    content: object
    metadata: object = None
    error: bool = False

    def has_error(self):
        return self.error


def message(kind="train", content=None, group="3"):
    return Message(content, types.SimpleNamespace(message_type=kind, group_id=group))


@pytest.fixture(params=["recorddict", "recordset"])
def flower(request, monkeypatch):
    def to_fit(content, keep_input):
        return content["fit"]

    same = dict(ndarrays_to_parameters=list, parameters_to_ndarrays=list)
    module(monkeypatch, "flwr")
    module(monkeypatch, "flwr.common", **same)
    module(monkeypatch, "flwr.common.constant",
           MessageType=types.SimpleNamespace(TRAIN="train", EVALUATE="evaluate"))
    kind = request.param
    module(monkeypatch, f"flwr.common.{kind}_compat", **{
        f"{kind}_to_fitins": to_fit, f"{kind}_to_fitres": to_fit,
        f"fitres_to_{kind}": lambda result, keep_input: {"fit": result}})
    yield fresh(monkeypatch, "sotto.flower")
    sys.modules.pop("sotto.flower", None)


def received():
    return [np.zeros((2, 3), np.float32), np.ones(4, np.float64)]


def client(arrays):
    return lambda msg, ctxt: Message({"fit": FitRes(arrays)})


def train_message(**options):
    return message(content={"fit": FitRes(received())}, **options)


def test_flower_replies_are_protected(flower, ledger):
    mod = flower.LocalPrivacyMod(MECHANISM, ledger)
    private = [array + 0.03 for array in received()]
    reply = mod(train_message(), None, client(private)).content["fit"]
    assert [a.dtype for a in reply.parameters] == [np.float32, np.float64]
    assert [a.shape for a in reply.parameters] == [(2, 3), (4,)]
    steps = np.concatenate([(a - b).ravel() for a, b in zip(reply.parameters, received())])
    assert len(np.unique(np.abs(steps).round(5))) == 1  # two points, and nothing else
    assert (reply.num_examples, reply.metrics) == (1, {})
    assert ledger.spent().rounds == 1
    again = mod(train_message(), None, client(received())).content["fit"]
    assert all(np.array_equal(a, b) for a, b in zip(reply.parameters, again.parameters))


def test_flower_charges_before_the_client_works(flower, tmp_path):
    with sotto.Ledger(tmp_path / "poor", sotto.Limits(1, 1)) as poor:
        mod = flower.LocalPrivacyMod(MECHANISM, poor)
        worked = []
        with pytest.raises(sotto.BudgetExceeded):
            mod(train_message(), None, lambda m, c: worked.append(1))
        assert not worked


def test_flower_refuses_what_it_does_not_know(flower, ledger):
    mod = flower.LocalPrivacyMod(MECHANISM, ledger)
    with pytest.raises(sotto.PrivacyError, match="evaluate"):
        mod(message("evaluate"), None, client(received()))
    with pytest.raises(sotto.PrivacyError, match="not a fit result"):
        mod(train_message(), None, lambda m, c: Message({"arrays": received()}))
    with pytest.raises(sotto.PrivacyError, match="int64"):
        mod(train_message(), None, client([np.zeros((2, 3), np.int64), np.ones(4)]))
    with pytest.raises(sotto.PrivacyError, match="shapes"):
        mod(train_message(), None, client([np.zeros(10)]))
    with pytest.raises(sotto.PrivacyError, match="round"):
        mod(train_message(group="x"), None, client(received()))
    with pytest.raises(sotto.PrivacyError, match="no ledger"):
        flower.LocalPrivacyMod(MECHANISM, None)
    failed = mod(train_message(), None, lambda m, c: Message(None, error=True))
    assert failed.has_error()
    allowed = flower.LocalPrivacyMod(MECHANISM, ledger, allow_unprotected=True)
    assert allowed(message("evaluate"), None, lambda m, c: "answer") == "answer"


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
