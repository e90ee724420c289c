"""Mechanisms on arrays and tensors: shapes, types, randomness, the receiver's side, errors."""

import io
import pickle
import threading
import time

import numpy as np
import pytest
import sotto
from sotto._numpy import check_layout

SRR = dict(epsilon=5, range=(0, 0.075), precision=4, groups=2, step=1000)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (2, 3, 4), (1, 1000)])
def test_shape_and_type_come_back(dtype, shape, rng):
    x = rng.uniform(-0.1, 0.1, shape).astype(dtype)
    decoded = sotto.Mechanism("srr", **SRR).perturb(x).decode()
    assert decoded.shape == shape and decoded.dtype == dtype
    assert np.all(np.abs(decoded.astype(float)) <= 0.0751)


def test_any_layout_gives_what_the_copy_gives(rng):
    x = rng.uniform(-0.1, 0.1, (40, 30)).astype(np.float32)
    mechanism = sotto.Mechanism("srr", **SRR)
    with pytest.warns(UserWarning, match="NOT private"):
        for view in (x.T, x[::2, ::3], np.asfortranarray(x)):
            got = mechanism.perturb(view, seed=3).symbols
            assert np.array_equal(got, mechanism.perturb(view.copy(order="C"), seed=3).symbols)


def test_same_bits_as_the_program(program, tmp_path, rng):
    x = rng.uniform(-0.1, 0.1, 5000).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    done = program("perturb", "--mechanism", "srr", "--epsilon", 5, "--range", "0,0.075",
                   "--precision", 4, "--groups", 2, "--step", 1000, "--seed", 9, "--symbols",
                   tmp_path / "x.npy")
    symbols = np.load(io.BytesIO(done.stdout))
    with pytest.warns(UserWarning, match="NOT private"):
        assert np.array_equal(sotto.Mechanism("srr", **SRR).perturb(x, seed=9).symbols, symbols)
        wide = sotto.Mechanism("srr", **SRR).perturb(x.astype(np.float64), seed=9, threads=2)
    assert np.array_equal(wide.symbols, symbols)


def test_fresh_randomness_without_a_seed():
    mechanism = sotto.Mechanism("two-point", epsilon=1)
    x = np.zeros(256)
    assert mechanism.perturb(x).to_bytes() != mechanism.perturb(x).to_bytes()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_the_centre(bad):
    mechanism = sotto.Mechanism("srr", **SRR)
    with pytest.warns(UserWarning, match="NOT private"):
        bad_report = mechanism.perturb(np.full(64, bad), seed=1)
        assert np.array_equal(bad_report.symbols, mechanism.perturb(np.zeros(64), seed=1).symbols)


def test_mean_of_reports_is_near_and_moments_are_right():
    mechanism = sotto.Mechanism("two-point", epsilon=2)
    x = np.array([-0.8, 0.0, 0.4])
    moments = mechanism.moments(x)
    # The float nearest to -0.8 is off by 1e-8.
    np.testing.assert_allclose(moments.mean, x, atol=1e-7)
    mean = mechanism.decode(mechanism.perturb(x) for _ in range(20_000))
    # Six deviations: a false alarm in 3e8 runs.
    assert np.all(np.abs(mean - x) < 6 * np.sqrt(moments.variance / 20_000))


def test_log_prob_is_a_distribution():
    mechanism = sotto.Mechanism("two-point", epsilon=1)
    total = sum(np.exp(mechanism.log_prob(np.array([s]), [0.3])) for s in (0, 1))
    assert total == pytest.approx(1)
    ratio = mechanism.log_prob(np.array([1]), [1.0]) - mechanism.log_prob(np.array([1]), [-1.0])
    assert ratio == pytest.approx(1) and ratio <= 1 + 1e-12


@pytest.mark.parametrize("name, parameters", [
    ("ldp-sgd", dict(epsilon=2, norm=1)), ("privunit", dict(epsilon=4, norm=1)),
    ("gaussian", dict(epsilon=1, delta=1e-5, norm=1))])
def test_vector_mechanisms(name, parameters, rng):
    mechanism = sotto.Mechanism(name, **parameters)
    x = rng.normal(size=(5, 20)).astype(np.float32)
    report = mechanism.perturb(x)
    assert report.decode().shape == (5, 20)
    assert report.guarantee.unit in ("vector", "report")
    with pytest.raises(ValueError, match="size"):
        mechanism.guarantee()


def test_bits_of_features_have_a_dimension_of_their_own():
    mechanism = sotto.Mechanism("rr-bits", epsilon=1, whole=2, fraction=3)
    assert mechanism.perturb(np.zeros((4, 5))).decode().shape == (4, 5, 6)


def test_every_mechanism_can_be_verified_by_its_own_list():
    names = [info.name for info in sotto.mechanisms()]
    assert {"two-point", "srr", "grr", "privunit", "oue"} <= set(names)
    for info in sotto.mechanisms():
        for parameter in info.parameters:
            assert parameter.valid and parameter.meaning


def test_messages_travel():
    mechanism = sotto.Mechanism("srr", **SRR)
    report = mechanism.perturb(np.zeros((3, 4), dtype=np.float32), round=8)
    message = report.to_bytes()
    again = mechanism.read(message, (3, 4))
    assert again.round == 8
    assert np.array_equal(again.decode(), report.decode())
    for bad in (b"", message[:-1], message + b"x", b"\xff" * 64):
        with pytest.raises(ValueError):
            mechanism.read(bad, (3, 4))
    other = sotto.Mechanism("srr", **{**SRR, "epsilon": 4})
    with pytest.raises(ValueError, match="a report of srr"):
        other.read(message, (3, 4))


def test_only_perturb_makes_reports():
    with pytest.raises(TypeError, match="perturb"):
        sotto.Report(b"raw", None, None)
    symbols = sotto.Mechanism("srr", **SRR).perturb(np.zeros(4)).symbols
    with pytest.raises(ValueError):
        symbols[0] = 1


@pytest.mark.parametrize("arguments, flags", [
    (dict(name="srrr", epsilon=1), ["srrr", "--epsilon", 1]),
    (dict(name="srr", epsilon=-1), ["srr", "--epsilon", -1]),
    (dict(name="two-point", epsilon=1, delta=0.1), ["two-point", "--epsilon", 1, "--delta", 0.1]),
    (dict(name="two-point"), ["two-point"]),
    (dict(name="two-point", epsilon=1, range=(0, -1)),
     ["two-point", "--epsilon", 1, "--range", "0,-1"]),
])
def test_errors_have_the_words_of_the_program(program, arguments, flags):
    with pytest.raises(ValueError) as raised:
        sotto.Mechanism(**arguments)
    done = program("verify", *flags)
    assert done.returncode == 2
    assert str(raised.value) in done.stderr.decode()


def test_wrong_arrays():
    mechanism = sotto.Mechanism("srr", **SRR)
    for bad in (np.zeros(0), np.array(["a"]), np.zeros(3, dtype=complex)):
        with pytest.raises(ValueError):
            mechanism.perturb(bad)


def test_mechanisms_can_be_pickled():
    mechanism = pickle.loads(pickle.dumps(sotto.Mechanism("srr", **SRR)))
    assert mechanism.id(10) == sotto.Mechanism("srr", **SRR).id(10)


def test_the_interpreter_is_free_while_the_core_works():
    mechanism = sotto.Mechanism("laplace", epsilon=1)
    x = np.zeros(4_000_000, dtype=np.float32)
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    mechanism.perturb(x)
    end = time.perf_counter()
    stop.set()
    thread.join()
    inside = sum(start < t < end for t in ticks)
    # With the interpreter held, at most the tick of the moment of entry falls inside.
    assert inside >= 3 or end - start < 0.02


def test_two_threads_perturb_at_once():
    """Each has its own memory: what both report is what either reports alone."""
    mechanism = sotto.Mechanism("srr", **SRR)
    inputs = [np.full(300_000, value, dtype=np.float32) for value in (-0.07, 0.07)]
    alone = [mechanism._made_for(x.size).perturb(x, 5, 1, 0).symbols for x in inputs]
    together = [None, None]

    def work(i):
        together[i] = [mechanism._made_for(300_000).perturb(inputs[i], 5, 1, 0).symbols
                       for _ in range(20)]

    threads = [threading.Thread(target=work, args=(i,)) for i in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in (0, 1):
        assert all(np.array_equal(got, alone[i]) for got in together[i])


def test_no_copy_where_the_layout_allows():
    from sotto._arrays import values_of
    x = np.zeros((300, 400), dtype=np.float32)
    assert values_of(x) is x
    assert np.shares_memory(values_of(x[10:20]), x)
    assert values_of(x[:, ::2]).flags.c_contiguous and not np.shares_memory(values_of(x.T), x)
    wide = x.astype(np.float64)
    assert values_of(wide) is wide
    report = sotto.Mechanism("srr", **SRR).perturb(x)
    first, second = report.symbols, report.symbols  # the memory of the report itself
    assert first.__array_interface__["data"] == second.__array_interface__["data"]
    assert x.sum() == 0  # and the input stays as it was
    x += 1
    sotto.Mechanism("srr", **SRR).perturb(x)
    assert np.all(x == 1)


def test_memory_does_not_grow_with_the_calls():
    import resource
    mechanism = sotto.Mechanism("two-point", epsilon=1)
    x = np.zeros(2_000_000, dtype=np.float32)
    mechanism.perturb(x)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(50):
        mechanism.perturb(x)
    # One copy for each call would be 400 MB; in kB.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


def test_tensors_share_their_memory():
    torch = pytest.importorskip("torch")
    from sotto._arrays import values_of
    x = torch.zeros(3, 5, requires_grad=True)
    assert values_of(x).__array_interface__["data"][0] == x.data_ptr()


def test_tensors_of_pytorch(rng):
    torch = pytest.importorskip("torch")
    mechanism = sotto.Mechanism("srr", **SRR)
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        x = torch.zeros(3, 5, dtype=dtype, requires_grad=dtype == torch.float32)
        decoded = mechanism.perturb(x).decode()
        assert decoded.dtype == dtype and tuple(decoded.shape) == (3, 5)
    x = torch.tensor(rng.uniform(-0.1, 0.1, (6, 4)).astype(np.float32))
    with pytest.warns(UserWarning, match="NOT private"):
        got = mechanism.perturb(x.t(), seed=2).symbols
        assert np.array_equal(got, mechanism.perturb(x.numpy().T, seed=2).symbols)


def test_importing_the_package_loads_no_tensor_library():
    import subprocess
    import sys
    code = "import sys, sotto; assert 'torch' not in sys.modules; " \
           "assert not any('torch' in line for line in open('/proc/self/maps'))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_tune_is_what_the_program_finds(program):
    import json
    done = program("tune", "srr", "--epsilon", 3, "--range", "0,0.1", "--precision", 3, "--input",
                   "uniform", "--json")
    told = json.loads(done.stdout)
    found = sotto.tune(epsilon=3, range=(0, 0.1), precision=3, inputs="uniform")
    for key in ("groups", "step", "mse", "rmse", "worst_mse", "centre_mse", "edge_mean", "worst_l1",
                "l1_within_radius", "exact_epsilon", "ratio"):
        assert getattr(found, key) == told[key], key
    assert vars(found.paper) == told["paper"] and vars(found.optimal) == told["optimal"]
    coarse = sotto.tune(epsilon=3, range=(0, 0.1), precision=1)
    assert coarse.paper is None and coarse.ratio is None  # 10 groups do not fit on 3 values
    with pytest.raises(ValueError, match="uniform"):
        sotto.tune(epsilon=3, range=(0, 0.1), inputs="unform")


def test_verify_is_what_the_program_finds(program):
    import json
    for name, flags, parameters in (
            ("srr", ["--epsilon", 5, "--range", "0,0.075"], dict(epsilon=5, range=(0, 0.075))),
            ("oue", ["--epsilon", 1], dict(epsilon=1)),
            ("privunit", ["--epsilon", 4, "--dimension", 50],
             dict(epsilon=4, dimension=50))):
        told = json.loads(program("verify", name, *flags, "--json").stdout)
        found = sotto.verify(name, **parameters)
        for key in ("exact_epsilon", "worst_case_variance", "max_bias", "outputs", "holds",
                    "mechanism_id", "worst", "checked_inputs"):
            assert getattr(found, key) == told[key], (name, key)


def test_arrays_of_a_core_that_does_not_know_numpy_are_refused():
    check_layout(sotto.Mechanism("two-point", epsilon=1).perturb(np.zeros(3)).decode())
    with pytest.raises(ImportError, match="pybind11 2.12"):
        check_layout(np.lib.stride_tricks.as_strided(np.zeros(3), strides=(0,)))
