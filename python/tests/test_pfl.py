"""The pfl-research adapter: against stand-ins, and against the real package where it is installed."""

import importlib
import pickle
import sys
import types
from abc import ABC
from dataclasses import dataclass

import numpy as np
import pytest
import sotto
from standins import fresh, module

MECHANISM = sotto.Mechanism("two-point", epsilon=1, range=(0, 0.1))


@pytest.fixture
def ledger(tmp_path):
    with sotto.Ledger(tmp_path / "l", sotto.Limits(1000, 1500)) as opened:
        yield opened


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


