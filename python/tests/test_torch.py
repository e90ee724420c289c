"""A client in plain PyTorch: everything in a model is protected, or nothing is sent."""

import copy

import numpy as np
import pytest
import sotto

torch = pytest.importorskip("torch")
from sotto.torch import mean_state, private_update  # noqa: E402


def network():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2),
                               torch.nn.Flatten(), torch.nn.Linear(2 * 4, 3))


@pytest.fixture
def ledger(tmp_path):
    with sotto.Ledger(tmp_path / "l", sotto.Limits.unlimited()) as opened:
        yield opened


def trained(model):
    model.train()
    for _ in range(3):
        model(5.0 + torch.randn(4, 1, 4, 4))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.01
    return model


def test_parameters_and_buffers_are_protected(ledger):
    start = network().state_dict()
    model = trained(network())
    mechanism = sotto.Mechanism("two-point", epsilon=1, range=(0, 0.1))
    update = private_update(model, start, mechanism, ledger, round=1)
    names = [tensor.name for tensor in update.tensors]
    assert "1.running_mean" in names and "1.running_var" in names
    assert "1.num_batches_tracked" not in names
    sent = update.state_dict()
    # Two points far outside the range: no value of the client can be told from them alone.
    for name in names:
        change = (sent[name].double() - start[name].double()).numpy()
        assert len(np.unique(np.abs(change).round(5))) == 1, name
    assert sent["1.num_batches_tracked"] == start["1.num_batches_tracked"]
    assert sum(tensor.size for tensor in update.tensors) == update.report.guarantee.units


def test_ranges_by_name(ledger):
    start = network().state_dict()
    mechanism = sotto.Mechanism("srr", epsilon=5, range=(0, 0.1), precision=3)
    update = private_update(trained(network()), start, mechanism, ledger, round=1,
                            payload="weights", ranges={"1.running_*": (0.5, 8.0)})
    by_name = {tensor.name: tensor.range for tensor in update.tensors}
    assert by_name["1.running_var"] == (0.5, 8.0) and by_name["3.bias"] == (0.0, 0.1)
    with pytest.raises(ValueError, match="no tensor is called"):
        private_update(network(), start, mechanism, ledger, round=2, ranges={"x": (0, 1)})


def test_the_mean_of_many_clients_is_near(tmp_path, ledger):
    start = network().state_dict()
    model = copy.deepcopy(network())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.05
    mechanism = sotto.Mechanism("two-point", epsilon=5, range=(0, 0.1))
    updates = [private_update(model, start, mechanism,
                              ledger.account(client=str(i), limits=sotto.Limits.unlimited()),
                              round=1) for i in range(200)]
    mean = mean_state(updates, mechanism)
    change = (mean["3.weight"] - start["3.weight"]).numpy()
    # A deviation of 0.1 / sqrt(200); six of them.
    assert np.all(np.abs(change - 0.05) < 6 * 0.1 / np.sqrt(200))


def with_extra_state():
    class Extra(torch.nn.Linear):
        def get_extra_state(self):
            return torch.ones(2)

        def set_extra_state(self, state):
            pass

    return Extra(2, 2)


def with_counter():
    model = torch.nn.Linear(2, 2)
    model.register_buffer("seen", torch.zeros(1, dtype=torch.int64))
    return model


@pytest.mark.parametrize("make, change, said", [
    (with_extra_state, lambda s: s, "neither a parameter nor a buffer"),
    (with_counter, lambda s: s, "cannot be protected"),
    (network, lambda s: {k: v for k, v in s.items() if k != "3.bias"}, "not in the global state"),
    (network, lambda s: {**s, "more": torch.zeros(1)}, "not in the model"),
    (network, lambda s: {**s, "3.bias": torch.zeros(4)}, "has shape"),
])
def test_an_unknown_tensor_stops_everything(ledger, make, change, said):
    model = make()
    mechanism = sotto.Mechanism("two-point", epsilon=1)
    with pytest.raises(sotto.PrivacyError, match=said):
        private_update(model, change(dict(model.state_dict())), mechanism, ledger, round=1)
    assert ledger.spent().rounds == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_every_type_of_floats(ledger, dtype):
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)).to(dtype)
    start = copy.deepcopy(model.state_dict())
    mechanism = sotto.Mechanism("two-point", epsilon=1, range=(0, 0.1))
    sent = private_update(model, start, mechanism, ledger, round=1).state_dict()
    for name, value in start.items():
        assert sent[name].dtype == value.dtype and sent[name].shape == value.shape, name
        assert value.dtype == torch.int64 or not torch.equal(sent[name], value), name


class Odd(torch.nn.Module):
    """Tensors of every form: without elements, of no dimension, not in one piece, of no numbers."""

    def __init__(self):
        super().__init__()
        self.empty = torch.nn.Parameter(torch.zeros(0, 3))
        self.scalar = torch.nn.Parameter(torch.tensor(0.5))
        self.turned = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3).t())
        self.register_buffer("bad", torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0]))
        self.register_buffer("absent", None)
        self.register_buffer("passing", torch.ones(2), persistent=False)


def test_tensors_of_every_form(ledger):
    model = Odd()
    start = copy.deepcopy(model.state_dict())
    mechanism = sotto.Mechanism("srr", epsilon=50, range=(0, 10), precision=2)
    update = private_update(model, {name: torch.zeros_like(value) for name, value in start.items()},
                            mechanism, ledger, round=1)
    assert [tensor.name for tensor in update.tensors] == ["scalar", "turned", "bad"]
    sent = update.state_dict()
    assert sent["scalar"].shape == () and sent["empty"].shape == (0, 3)
    # At epsilon 50 a report says nearly what it was drawn from: every value is in its place.
    assert torch.allclose(sent["turned"], start["turned"], atol=0.02)
    assert torch.allclose(sent["scalar"], start["scalar"], atol=0.02)
    assert torch.all(torch.isfinite(sent["bad"]))  # what is no number has become the centre
    assert torch.allclose(sent["bad"], torch.zeros(4), atol=0.02)


def test_other_things_in_a_state_stop_everything(ledger):
    mechanism = sotto.Mechanism("two-point", epsilon=1)
    complex_model = torch.nn.Linear(2, 2)
    complex_model.register_buffer("phase", torch.zeros(2, dtype=torch.complex64))
    flag = torch.nn.Linear(2, 2)
    flag.register_buffer("mask", torch.zeros(2, dtype=torch.bool))
    sparse = torch.nn.Linear(2, 2)
    sparse.register_buffer("few", torch.eye(2).to_sparse())
    for model in (complex_model, flag, sparse):
        with pytest.raises(sotto.PrivacyError, match="cannot be protected"):
            private_update(model, copy.deepcopy(model.state_dict()), mechanism, ledger, round=1)
    assert ledger.spent().rounds == 0


def test_without_a_ledger_nothing_is_sent():
    model = network()
    with pytest.raises(sotto.PrivacyError, match="no ledger"):
        private_update(model, model.state_dict(), sotto.Mechanism("two-point", epsilon=1), None,
                       round=1)


def test_shared_tensors_are_known(ledger):
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    model[1].weight = model[0].weight
    update = private_update(model, copy.deepcopy(model.state_dict()),
                            sotto.Mechanism("privunit", epsilon=4, norm=1), ledger, round=1)
    assert len(update.tensors) == 4
