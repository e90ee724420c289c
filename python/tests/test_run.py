"""Runs from Python give what the program gives."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sotto
from sotto import _train

with_torch = pytest.mark.skipif(not _train.has_torch, reason="built without LibTorch")
RECIPE = {"data": {"name": "embedded", "partition": "iid"}, "model": {"name": "linear"},
          "federation": {"clients": 300, "rounds": 3, "seed": 4},
          "bound": {"payload": "gradient", "normalize": True}, "server": {"lr": 4},
          "privacy": {"mechanism": "privunit", "epsilon": 4, "norm": 1},
          "shuffle": {"mode": "shuffler", "min_batch": 300}}


@with_torch
def test_rounds_are_arrays_and_the_model_is_the_programs(program, tmp_path):
    seen = []
    result = sotto.run(RECIPE, on_round=seen.append, out=tmp_path / "python")
    assert result.rounds.tolist() == [1, 2, 3] and len(seen) == 3
    assert result.accuracy.shape == (3,) and np.all(result.accuracy > 0)
    assert result.stopped == "rounds"
    from sotto._recipes import to_toml
    (tmp_path / "recipe.toml").write_text(to_toml(RECIPE))
    done = program("run", tmp_path / "recipe.toml", "--out", tmp_path / "program", "--json",
                   cwd=tmp_path)
    told = json.loads(done.stdout)
    assert [r["accuracy"] for r in told["rounds"]] == result.accuracy.tolist()
    claims = [(claim["scope"], claim["epsilon"]) for claim in told["privacy"]["claims"]]
    assert claims == [(claim.scope, claim.epsilon) for claim in result.claims]
    assert result.client_claim.epsilon == min(
        c.epsilon for c in result.claims
        if (c.status, c.unit, c.period) == ("proven", "client", "training"))
    checked = sotto.account.certificate(tmp_path / "python" / "certificate.json")
    assert checked.holds and checked.claims == result.claims


def test_the_model_is_a_state_dict():
    result = sotto.run(RECIPE, settings={"federation.rounds": 1, "shuffle.mode": "none"})
    shapes = {name: value.shape for name, value in result.model.items()}
    assert sorted(shapes.values()) == [(10,), (10, 784)]
    assert result.out is None


def test_networks_of_libtorch():
    if not _train.has_torch:
        with pytest.raises(ValueError, match="without LibTorch"):
            sotto.run({"data": {"name": "embedded"}, "model": {"name": "srr-mnist"}})
        pytest.skip("built without LibTorch")
    pytest.importorskip("torch")  # the same library in one process
    result = sotto.run({"data": {"name": "embedded"}, "model": {"name": "srr-mnist"},
                        "federation": {"clients": 50, "k": 2, "rounds": 1}})
    assert sum(value.size for value in result.model.values()) == 20_490


def test_errors(tmp_path):
    with pytest.raises(ValueError, match="did you mean 'federation.rounds'"):
        sotto.run({**RECIPE, "federation": {"round": 3}})
    with pytest.raises(FileNotFoundError):
        sotto.run(tmp_path / "none.toml")
    with pytest.raises(ValueError, match="section"):
        sotto.run({"data": "embedded"})
    with pytest.raises(ValueError, match="ledger"):
        sotto.run({**RECIPE, "ledger": {"rounds": [1]}})


def test_what_a_callback_raises_ends_the_run():
    def stop(metrics):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sotto.run(RECIPE, on_round=stop)


@with_torch
def test_a_ledger_with_limits_stops_a_run(tmp_path):
    result = sotto.run({**RECIPE, "ledger": {"rounds": [2]}}, out=tmp_path / "run")
    assert result.stopped == "budget" and len(result.rounds) == 2
    with sotto.Ledger(tmp_path / "run" / "ledger.sqlite") as ledger:
        assert ledger.head[0] > 0


def test_data():
    split = sotto.load_data("embedded", seed=2)
    assert split.train.x.dtype == np.uint8 and len(split.train) == 12_000
    assert set(np.unique(split.test.y)) == set(range(10))
    other = sotto.load_data("embedded", seed=3)
    assert not np.array_equal(other.train.x, split.train.x)
    with pytest.raises((ValueError, FileNotFoundError), match="mnits|no such"):
        sotto.load_data("mnits")


def test_the_tutorial_runs(tmp_path):
    example = Path(__file__).resolve().parents[2] / "examples" / "python" / "client_level.py"
    package = Path(sotto.__file__).resolve().parents[1]
    done = subprocess.run([sys.executable, "-B", example, "--rounds", "1", "--out", "figure.png"],
                          cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(package)},
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "for every client epsilon 0." in done.stdout
    assert "consistent" in done.stdout
