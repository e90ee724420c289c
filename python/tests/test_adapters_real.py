"""The adapters against the real packages, where they are installed; skipped elsewhere."""

import types

import numpy as np
import pytest
import sotto

MECHANISM = sotto.Mechanism("two-point", epsilon=1, range=(0, 0.1))


@pytest.fixture
def ledger(tmp_path):
    with sotto.Ledger(tmp_path / "l", sotto.Limits.unlimited()) as opened:
        yield opened


def one_size(values):
    return len(np.unique(np.abs(values).round(5))) == 1


def test_flower_functions(ledger):
    flwr = pytest.importorskip("flwr.common", reason="Flower (flwr) is not installed")
    if not hasattr(flwr, "ArrayRecord"):
        pytest.skip("this version of Flower has no messages of arrays")
    from flwr.client import ClientApp
    from sotto.flower import LocalPrivacyMod

    app = ClientApp(mods=[LocalPrivacyMod(MECHANISM, ledger)])

    @app.train()
    def train(msg, context):
        arrays = [np.asarray(value + 0.03, value.dtype)
                  for value in msg.content["arrays"].to_numpy_ndarrays()]
        content = flwr.RecordDict({
            "arrays": flwr.ArrayRecord(arrays),
            "metrics": flwr.MetricRecord({"num-examples": 40, "loss": 0.3})})
        return flwr.Message(content, reply_to=msg)

    start = [np.zeros((2, 3), np.float32), np.array(1.0)]
    asked = flwr.Message(flwr.RecordDict({
        "arrays": flwr.ArrayRecord(start), "config": flwr.ConfigRecord({"server-round": 2})}),
        dst_node_id=1, message_type="train")
    reply = app(asked, None)
    sent = reply.content["arrays"].to_numpy_ndarrays()
    assert [(a.shape, a.dtype) for a in sent] == [(a.shape, a.dtype) for a in start]
    assert one_size(np.concatenate([(a - b).ravel() for a, b in zip(sent, start)]))
    assert dict(reply.content.metric_records["metrics"]) == {"num-examples": 1}
    assert ledger.charge(MECHANISM, 7, 2) == "bound"


def test_flower_fit_results(ledger):
    flwr = pytest.importorskip("flwr.common", reason="Flower (flwr) is not installed")
    from sotto import flower

    kind = flower._from_fitres.__name__[len("fitres_to_"):]
    to_instructions = getattr(flower._compat, f"fitins_to_{kind}")
    start = [np.zeros((2, 3), np.float32)]
    content = to_instructions(flwr.FitIns(flwr.ndarrays_to_parameters(start), {}), keep_input=True)
    asked = types.SimpleNamespace(content=content, metadata=types.SimpleNamespace(
        message_type="train", group_id="1"))

    def client(msg, ctxt):
        result = flwr.FitRes(flwr.Status(flwr.Code.OK, "trained"),
                             flwr.ndarrays_to_parameters([start[0] + 0.03]), 40, {"loss": 0.3})
        return types.SimpleNamespace(content=flower._from_fitres(result, keep_input=True),
                                     has_error=lambda: False)

    reply = flower.LocalPrivacyMod(MECHANISM, ledger)(asked, None, client)
    result = flower._to_fitres(reply.content, keep_input=True)
    assert one_size(flwr.parameters_to_ndarrays(result.parameters)[0])
    assert (result.num_examples, dict(result.metrics), result.status.message) == (1, {}, "")


def test_pfl_statistics(ledger):
    pytest.importorskip("pfl", reason="pfl-research (pfl) is not installed")
    from pfl.context import UserContext
    from pfl.metrics import Metrics
    from pfl.postprocessor.base import Postprocessor
    from pfl.stats import MappedVectorStatistics
    from sotto.pfl import LocalMechanism

    processor = LocalMechanism(MECHANISM, ledger, limits=sotto.Limits.unlimited())
    assert isinstance(processor, Postprocessor)
    private = MappedVectorStatistics({"w": np.full((2, 2), 40.0, np.float32),
                                      "b": np.zeros(3, np.float32)}, weight=20.0)
    user = UserContext(num_datapoints=20, seed=1, user_id="anna")
    sent, metrics = processor.postprocess_one_user(stats=private, user_context=user)
    assert isinstance(metrics, Metrics) and sent.weight == 1
    assert list(sent.keys()) == ["w", "b"] and sent["w"].shape == (2, 2)
    assert one_size(np.concatenate([sent["w"].ravel(), sent["b"].ravel()]))
    assert ledger.account(client="anna").spent().rounds == 1
    total, _ = processor.postprocess_server(
        stats=sent + sent, aggregate_metrics=Metrics(),
        central_context=types.SimpleNamespace(current_central_iteration=0))
    assert total.weight == 2
