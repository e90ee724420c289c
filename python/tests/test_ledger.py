"""The ledger from Python: charges before data is read, one report a round, refusals."""

import numpy as np
import pytest
import sotto

MECHANISM = sotto.Mechanism("two-point", epsilon=1)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "client.ledger"


def test_a_round_is_charged_once_and_sends_the_same_report(path):
    with sotto.Ledger(path, sotto.Limits(5, 10)) as ledger:
        first = MECHANISM.perturb(np.zeros(5), ledger=ledger, round=1)
        ledger.delivered(first)
        again = MECHANISM.perturb(np.ones(5), ledger=ledger, round=1)
        assert first.to_bytes() == again.to_bytes()
        assert ledger.spent().rounds == 1
    with sotto.Ledger(path) as ledger:
        assert ledger.spent().limits == sotto.Limits(5, 10)
        third = MECHANISM.perturb(np.ones(5), ledger=ledger, round=1)
        assert third.to_bytes() == first.to_bytes()


def test_beyond_a_limit_nothing_is_computed(path, monkeypatch):
    with sotto.Ledger(path, {"epsilon_per_round": 5, "epsilon": 10}) as ledger:
        for round in (1, 2):
            MECHANISM.perturb(np.zeros(5), ledger=ledger, round=round)

        def read(x):
            raise AssertionError("the data was read")

        monkeypatch.setattr("sotto._mechanism.values_of", read)
        with pytest.raises(sotto.BudgetExceeded, match="lifetime epsilon: the limit is 10"):
            MECHANISM.perturb(np.zeros(5), ledger=ledger, round=3)
        with pytest.raises(sotto.PrivacyError, match="refused"):
            MECHANISM.perturb(np.zeros(6), ledger=ledger, round=4)
        assert ledger.spent().rounds == 2


def test_an_account_that_nobody_opened_allows_nothing(path):
    with sotto.Ledger(path) as ledger:
        assert ledger.spent() is None
        with pytest.raises(sotto.BudgetExceeded):
            MECHANISM.perturb(np.zeros(5), ledger=ledger, round=1)


def test_a_round_of_another_mechanism_is_refused(path):
    with sotto.Ledger(path, sotto.Limits.unlimited()) as ledger:
        MECHANISM.perturb(np.zeros(5), ledger=ledger, round=1)
        with pytest.raises(sotto.PrivacyError):
            sotto.Mechanism("two-point", epsilon=2).perturb(np.zeros(5), ledger=ledger, round=1)


def test_accounts_of_one_file(path):
    with sotto.Ledger(path) as ledger:
        anna = ledger.account(client="anna", limits=sotto.Limits(5, 5))
        bert = ledger.account(client="bert", limits=sotto.Limits(5, 5))
        MECHANISM.perturb(np.zeros(5), ledger=anna, round=1)
        assert (anna.spent().rounds, bert.spent().rounds) == (1, 0)


def test_misuse(path):
    with sotto.Ledger(path, sotto.Limits(5, 5)) as ledger:
        with pytest.raises(ValueError, match="round"):
            MECHANISM.perturb(np.zeros(5), ledger=ledger)
        with pytest.raises(ValueError, match="not private"):
            MECHANISM.perturb(np.zeros(5), ledger=ledger, round=1, seed=1)
        with pytest.raises(ValueError):
            ledger.set_limits(sotto.Limits(-1, 5))
    with pytest.raises(ValueError, match="closed"):
        ledger.spent()


def test_a_damaged_file_is_refused(path):
    with sotto.Ledger(path, sotto.Limits(5, 5)) as ledger:
        MECHANISM.perturb(np.zeros(5), ledger=ledger, round=1)
    path.write_bytes(b"garbage" * 100)
    with pytest.raises(ValueError):
        sotto.Ledger(path)


def test_the_program_sees_what_python_spent(path, program):
    import json
    with sotto.Ledger(path, sotto.Limits(5, 8), client="anna", dataset="set") as ledger:
        MECHANISM.perturb(np.zeros(5), ledger=ledger, round=1)
        spent = ledger.spent()
    told = json.loads(program("ledger", "show", path, "--json").stdout)
    account = told["accounts"][0]
    assert (account["client"], account["epsilon"]) == ("anna", spent.epsilon)
    assert program("ledger", "verify", path).returncode == 0
