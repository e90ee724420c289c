"""Accounting and audits say what the command line says."""

import json

import numpy as np
import pytest
import sotto
from sotto import account


def test_composition_is_the_programs(program):
    told = json.loads(program("account", "compose", "--epsilon0", 0.5, "--count", 100, "--delta",
                              1e-6, "--json").stdout)
    bounds = {bound.name: bound for bound in account.compose(0.5, 100, 1e-6)}
    for bound in told["bounds"]:
        assert bounds[bound["name"]].epsilon == bound["epsilon"], bound["name"]


def test_shuffling_with_a_mechanism_is_no_worse_than_without():
    mechanism = sotto.Mechanism("two-point", epsilon=1)
    known = account.best(account.shuffle(mechanism=mechanism, clients=1000))
    generic = account.best(account.shuffle(1, clients=1000))
    assert 0.01 < known.epsilon <= generic.epsilon < 1


def test_plans_meet_their_target_and_the_next_value_misses_it():
    found = account.plan(2, epsilon0=0.5, rounds=20)
    assert found.possible and found.price.epsilon <= 2
    assert found.next == found.value - 1 and found.next_price.epsilon > 2
    local = account.plan(2, rounds=20, local=True)
    assert account.best(account.compose(local.value, 20, 1e-6)).epsilon <= 2


def test_loss_of_a_mechanism():
    loss = account.loss(sotto.Mechanism("two-point", epsilon=1))
    assert loss.epsilon(0.0) >= 1
    assert loss.times(4).then(loss).epsilon(1e-6) <= 5 * (1 + 1e-6)
    assert loss.sampled(0.1).epsilon(0.0) < 0.3


def test_claims_tell_a_weight_from_a_client():
    claims = account.claims(sotto.Mechanism("two-point", epsilon=1), size=1000, rounds=10)
    assert claims[0].epsilon <= 1.001
    assert max(claim.epsilon for claim in claims) >= 9_999
    assert any(claim.vacuous for claim in claims)


def test_recipes_are_accounted_for_before_any_training(program, tmp_path):
    recipe = {"data": {"name": "embedded"}, "model": {"name": "linear"},
              "federation": {"clients": 50, "rounds": 3},
              "privacy": {"mechanism": "two-point", "epsilon": 1, "radius": 0.1}}
    claims, record = account.recipe(recipe, settings={"federation.rounds": 5})
    from sotto._recipes import to_toml
    (tmp_path / "recipe.toml").write_text(to_toml(recipe))
    done = program("account", tmp_path / "recipe.toml", "--set", "federation.rounds=5", "--json")
    told = json.loads(done.stdout)
    assert record["claims"] == told["claims"]
    assert [claim.scope for claim in claims] == [claim["scope"] for claim in told["claims"]]
    assert all(claim.status == "proven" for claim in claims if claim.source == "sotto")
    with pytest.raises(ValueError, match="did you mean"):
        account.recipe({"data": {"nam": "embedded"}})


@pytest.mark.parametrize("call", [
    lambda: account.compose(-1, 10), lambda: account.compose(1, 0),
    lambda: account.compose(1, 10, delta=0), lambda: account.compose(float("nan"), 10),
    lambda: account.shuffle(clients=10), lambda: account.shuffle(1, clients=0),
    lambda: account.plan(1), lambda: account.plan(1, epsilon0=1, rounds=1, clients=1),
    lambda: account.plan(1, rounds=0, clients=5)])
def test_impossible_questions(call):
    with pytest.raises(ValueError):
        call()


def test_certificates_that_are_none(tmp_path):
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(ValueError):
        account.certificate(tmp_path / "bad.json")


# --- audits

def test_an_audit_of_a_function_finds_what_is_wrong():
    rng = np.random.default_rng(3)

    def leaks(x):  # one time in a hundred the input itself
        return x if rng.random() < 0.01 else rng.choice([-1.0, 1.0])

    def leaks_at_times(x):
        return 3.0 * x if rng.random() < 0.01 else rng.choice([-1.0, 1.0])

    found = sotto.audit(leaks_at_times, claim=1.0, inputs=(-1, 1), trials=20_000)
    assert found.violated and found.epsilon_lower > 1 and found.events
    assert not sotto.audit(leaks, claim=1.0, trials=4_000).violated


def test_an_audit_of_a_mechanism_as_a_function():
    mechanism = sotto.Mechanism("two-point", epsilon=2)
    found = sotto.audit(lambda rows: mechanism.perturb(rows).decode(), claim=2.0, inputs=(-1, 1),
                        batched=True, trials=40_000)
    assert not found.violated and 1.7 < found.epsilon_lower <= 2
    assert sotto.audit(mechanism, trials=40_000).epsilon_lower > 1.7
    assert sotto.audit(mechanism, trials=40_000, claim=1.0).violated


def test_an_audit_of_vectors():
    rng = np.random.default_rng(4)
    found = sotto.audit(lambda rows: rows + rng.laplace(0, 0.2, rows.shape), claim=1.0,
                        inputs=([0, 1], [1, 0]), batched=True, trials=10_000)
    assert found.violated


def test_what_the_function_raises_comes_out():
    with pytest.raises(ZeroDivisionError):
        sotto.audit(lambda x: 1 / 0, claim=1.0)
    with pytest.raises(ValueError, match="one row for each"):
        sotto.audit(lambda rows: rows[:3], claim=1.0, batched=True)
    with pytest.raises(ValueError, match="trials"):
        sotto.audit(lambda x: x, claim=1.0, trials=1)
