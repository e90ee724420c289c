"""The pfl-research adapter: against stand-ins, and the real package where it is installed."""

import pickle
import types
from abc import ABC
from dataclasses import dataclass

import numpy as np
import pytest
import sotto
from standins import forget, fresh, hide, module

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


class LocalPrivacyMechanism(ABC):
    pass


class Saveable(ABC):
    pass


class CheckpointNotFoundError(Exception):
    pass


@pytest.fixture
def pfl(monkeypatch):
    hide(monkeypatch, "pfl")
    module(monkeypatch, "pfl")
    module(monkeypatch, "pfl.metrics", Metrics=dict)
    module(monkeypatch, "pfl.common_types", Saveable=Saveable)
    module(monkeypatch, "pfl.exception", CheckpointNotFoundError=CheckpointNotFoundError)
    module(monkeypatch, "pfl.privacy")
    module(monkeypatch, "pfl.privacy.privacy_mechanism",
           LocalPrivacyMechanism=LocalPrivacyMechanism)
    yield fresh(monkeypatch, "sotto.pfl")
    forget("sotto.pfl")


def flat(statistics):
    return np.concatenate([np.ravel(value) for value in statistics.values])


def private():
    return Statistics([np.full((2, 2), 40.0, np.float32), np.zeros(3, np.float32)], 20.0)


def two_points(values):
    values = np.abs(values)
    return len(np.unique(values.round(5))) == 1 and np.all(values > 0.1)


def test_statistics_are_protected(pfl, ledger):
    processor = pfl.LocalMechanism(MECHANISM, ledger, limits=sotto.Limits(10, 15))
    ask = processor.postprocess_one_user
    sent, metrics = ask(stats=private(), user_context=User())
    assert sent.weight == 1 and metrics == {}
    assert [value.shape for value in sent.values] == [(2, 2), (3,)]
    assert two_points(flat(sent))
    ask(stats=private(), user_context=User("bert"))
    ask(stats=private(), user_context=User())
    assert ledger.account(client="anna").spent().rounds == 2
    assert ledger.account(client="bert").spent().rounds == 1
    with pytest.raises(sotto.BudgetExceeded):
        ask(stats=private(), user_context=User())


def test_every_report_is_drawn_and_paid_for(pfl, ledger, tmp_path):
    """Within an iteration, after a restore, in another process, for other algorithms."""
    processor = pfl.LocalMechanism(MECHANISM, ledger, limits=sotto.Limits(10, 1500))
    wide = [np.zeros(40, np.float32)]
    makers = [lambda: processor, lambda: processor,
              lambda: pfl.LocalMechanism(MECHANISM, ledger),
              lambda: pickle.loads(pickle.dumps(processor))]
    cheap = sotto.Mechanism("two-point", epsilon=0.1, range=(0, 0.1))
    processor.mechanism = cheap
    drawn = set()
    for made in makers:
        again = made()
        again.mechanism = cheap
        sent, _ = again.postprocess_one_user(stats=Statistics(wide), user_context=User())
        drawn.add(flat(sent).tobytes())
    assert len(drawn) == 4  # two equal ones of 40 fair coins: once in 10^11 times
    assert ledger.account(client="anna").spent().rounds == 4


def test_a_restore_beside_an_older_ledger_is_an_error(pfl, tmp_path):
    processor = {}
    for name in ("old", "new"):
        opened = sotto.Ledger(tmp_path / name, sotto.Limits(10, 1500))
        processor[name] = pfl.LocalMechanism(MECHANISM, opened, limits=sotto.Limits(10, 1500))
    with pytest.raises(CheckpointNotFoundError):
        processor["new"].load(str(tmp_path))
    processor["new"].postprocess_one_user(stats=private(), user_context=User())
    processor["new"].save(str(tmp_path))
    processor["new"].load(str(tmp_path))
    processor["new"].postprocess_one_user(stats=private(), user_context=User())
    processor["new"].load(str(tmp_path))  # further than the checkpoint: all that was spent is there
    with pytest.raises(sotto.PrivacyError, match="missing"):
        processor["old"].load(str(tmp_path))


def test_statistics_of_nobody_are_paid_by_the_ledgers_own_account(pfl, ledger):
    processor = pfl.LocalMechanism(MECHANISM, ledger, limits=sotto.Limits(10, 1500))
    sent, _ = processor.privatize(private(), seed=3)
    assert two_points(flat(sent)) and ledger.spent().rounds == 1


def test_what_is_refused(pfl, ledger):
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


# --- the real package

def test_real_statistics(ledger):
    pytest.importorskip("pfl", reason="pfl-research (pfl) is not installed")
    from pfl.common_types import Saveable as RealSaveable
    from pfl.context import UserContext
    from pfl.metrics import Metrics
    from pfl.privacy.privacy_mechanism import LocalPrivacyMechanism
    from pfl.stats import MappedVectorStatistics
    from sotto.pfl import LocalMechanism

    processor = LocalMechanism(MECHANISM, ledger, limits=sotto.Limits.unlimited())
    assert isinstance(processor, LocalPrivacyMechanism) and isinstance(processor, RealSaveable)
    stats = MappedVectorStatistics({"w": np.full((2, 2), 40.0, np.float32),
                                    "b": np.zeros(3, np.float32)}, weight=20.0)
    user = UserContext(num_datapoints=20, seed=1, user_id="anna")
    sent, metrics = processor.postprocess_one_user(stats=stats, user_context=user)
    assert isinstance(metrics, Metrics) and sent.weight == 1
    assert list(sent.keys()) == ["w", "b"] and sent["w"].shape == (2, 2)
    assert two_points(np.concatenate([sent["w"].ravel(), sent["b"].ravel()]))
    assert ledger.account(client="anna").spent().rounds == 1
    total, _ = processor.postprocess_server(
        stats=sent + sent, aggregate_metrics=Metrics(),
        central_context=types.SimpleNamespace(current_central_iteration=0))
    assert total.weight == 2


def test_real_training_with_a_restore(tmp_path):
    """pfl's own loop: a user that is drawn twice in an iteration, another algorithm with the same
    numbers of iterations, and a restart from a checkpoint. Every report is new, and charged."""
    pytest.importorskip("pfl", reason="pfl-research (pfl) is not installed")
    from pfl.aggregate.simulate import SimulatedBackend
    from pfl.algorithm.base import FederatedAlgorithm
    from pfl.callback.restore_training import RestoreTrainingCallback
    from pfl.common_types import Population
    from pfl.context import CentralContext
    from pfl.data.dataset import Dataset
    from pfl.data.federated_dataset import FederatedDataset
    from pfl.hyperparam import AlgorithmHyperParams, ModelHyperParams
    from pfl.internal.ops import numpy_ops
    from pfl.internal.ops.selector import set_framework_module
    from pfl.metrics import Metrics
    from pfl.stats import MappedVectorStatistics
    from sotto.pfl import LocalMechanism

    set_framework_module(numpy_ops)
    users = ["anna", "bert"]
    sums = []

    @dataclass(frozen=True)
    class Settings(AlgorithmHyperParams):
        pass

    class Summing(FederatedAlgorithm):
        def get_next_central_contexts(self, model, iteration, algorithm_params, model_train_params,
                                      model_eval_params=None):
            if iteration == 2:
                return None, model, Metrics()
            return (CentralContext(
                current_central_iteration=iteration, do_evaluation=False, cohort_size=3,
                population=Population.TRAIN, algorithm_params=algorithm_params,
                model_train_params=model_train_params),), model, Metrics()

        def simulate_one_user(self, model, user_dataset, central_context):
            return MappedVectorStatistics({"w": np.zeros(40, np.float32)}, weight=2.0), Metrics()

        def process_aggregated_statistics(self, central_context, aggregate_metrics, model,
                                          statistics):
            assert statistics.weight == 3
            sums.append(statistics["w"].tobytes())
            return model, Metrics()

    def train():
        """What somebody starts again after a crash: all of it is made anew."""
        turns = iter(range(10 ** 6))

        def data():
            return FederatedDataset(lambda user: Dataset(raw_data=(np.zeros(2),), user_id=user),
                                    lambda: users[next(turns) % 3 == 2])

        with sotto.Ledger(tmp_path / "ledger", sotto.Limits(5, 10)) as ledger:
            mechanism = LocalMechanism(
                sotto.Mechanism("two-point", epsilon=0.1, range=(0, 0.1)), ledger,
                limits=sotto.Limits(5, 1000))
            backend = SimulatedBackend(training_data=data(), val_data=data(),
                                       postprocessors=[mechanism])
            for _ in range(2):
                Summing().run(Settings(), backend, object(), ModelHyperParams(), callbacks=[
                    RestoreTrainingCallback([mechanism], str(tmp_path / "checkpoints"))])
            return [ledger.account(client=user).spent().rounds for user in users]

    assert train() == [8, 4]  # two algorithms, two iterations, three users of whom one twice
    assert train() == [16, 8]
    assert len(sums) == 8 and len(set(sums)) == 8
