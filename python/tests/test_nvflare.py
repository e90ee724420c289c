"""The NVFlare filter in the real package, and its simulator; skipped where not installed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sotto

pytest.importorskip("nvflare", reason="NVFlare (nvflare) is not installed")
from nvflare.apis.dxo import DXO, DataKind, MetaKey, from_shareable  # noqa: E402
from nvflare.apis.event_type import EventType  # noqa: E402
from nvflare.apis.fl_constant import FLContextKey, ReturnCode  # noqa: E402
from nvflare.apis.fl_context import FLContext  # noqa: E402
from nvflare.apis.shareable import make_reply  # noqa: E402
from nvflare.app_common.app_constant import AppConstants  # noqa: E402
from sotto.nvflare import LocalPrivacyFilter  # noqa: E402

HERE = Path(__file__).resolve().parent


def received():
    return {"w": np.ones((2, 3), np.float32), "ids": np.arange(3),
            "norm.num_batches_tracked": np.array(7.0)}


def trained(kind=DataKind.WEIGHTS):
    named = {"w": received()["w"] + np.float32(0.03), "ids": np.arange(3) + 5,
             "norm.num_batches_tracked": np.array(99)}
    if kind == DataKind.WEIGHT_DIFF:
        named["w"] = named["w"] - received()["w"]
    return named


def made(tmp_path, **options):
    return LocalPrivacyFilter(**{
        "mechanism": "two-point", "parameters": {"epsilon": 1}, "range": [0, 0.1],
        "ledger": tmp_path / "ledger", "epsilon_per_round": 100, "epsilon": 1000, **options})


def context(task="t1", site="anna", data=None):
    found = FLContext()
    found.set_prop(FLContextKey.TASK_ID, task, private=True, sticky=False)
    found.get_identity_name = lambda default="": site
    found.get_job_id = lambda default="": "job"
    task_data = DXO(DataKind.WEIGHTS, received() if data is None else data).to_shareable()
    task_data.set_header(AppConstants.CURRENT_ROUND, 4)
    found.set_prop(FLContextKey.TASK_DATA, task_data, private=True, sticky=False)
    return found


def asked(tmp_path, result, found=None, **options):
    chosen = made(tmp_path, **options)
    found = found or context()
    chosen.handle_event(EventType.BEFORE_TASK_EXECUTION, found)
    # Clients change weights where they are.
    from_shareable(found.get_prop(FLContextKey.TASK_DATA)).data["ids"] += 3
    return chosen.process(result, found)


def two_points(values):
    values = np.abs(values)
    return len(np.unique(values.round(5))) == 1 and np.all(values > 0.1)


@pytest.mark.parametrize("kind", [DataKind.WEIGHTS, DataKind.WEIGHT_DIFF])
def test_results_are_protected(tmp_path, kind):
    private = DXO(kind, trained(kind), meta={MetaKey.NUM_STEPS_CURRENT_ROUND: 40,
                                             MetaKey.INITIAL_METRICS: {"accuracy": 0.9}})
    result = private.to_shareable()
    result.set_header("note", "anna")
    reply = asked(tmp_path, result)
    assert reply.get_header("note") is None and reply.get_header(AppConstants.CURRENT_ROUND) == 4
    sent = from_shareable(reply)
    assert sent.data_kind == kind and sent.meta == {MetaKey.NUM_STEPS_CURRENT_ROUND: 1}
    whole = kind == DataKind.WEIGHTS
    assert two_points(sent.data["w"] - (received()["w"] if whole else 0))
    assert sent.data["w"].dtype == np.float32
    assert sent.data["ids"].tolist() == ([0, 1, 2] if whole else [0, 0, 0])
    assert sent.data["norm.num_batches_tracked"] == (7 if whole else 0)
    again = from_shareable(asked(tmp_path, private.to_shareable()))
    assert np.array_equal(again.data["w"], sent.data["w"])  # the same task
    for found in (context("t2"), context(site="bert")):
        asked(tmp_path, private.to_shareable(), found)
    with sotto.Ledger(tmp_path / "ledger") as ledger:
        assert ledger.account(client="anna").spent().rounds == 2
        assert ledger.account(client="bert").spent().rounds == 1


@pytest.mark.parametrize("result, options, said", [
    (make_reply(ReturnCode.EXECUTION_EXCEPTION), {}, "failed"),
    (DXO(DataKind.METRICS, {"accuracy": 0.9}).to_shareable(), {}, "METRICS"),
    (DXO(DataKind.WEIGHT_DIFF, trained()).to_shareable(), {"payload": "weights"}, "payload"),
    (DXO(DataKind.WEIGHTS, {**trained(), "more": np.ones(1)}).to_shareable(), {}, "other names"),
    (DXO(DataKind.WEIGHTS, {**trained(), "w": np.ones(6)}).to_shareable(), {}, "shapes"),
    (DXO(DataKind.WEIGHTS, {**trained(), "w": np.ones((2, 3), int)}).to_shareable(), {}, "int64"),
    (DXO(DataKind.WEIGHTS, trained()).to_shareable(), {"epsilon": 5}, "epsilon"),
])
def test_what_is_refused(tmp_path, result, options, said):
    with pytest.raises(sotto.PrivacyError, match=said):
        asked(tmp_path, result, **options)


def test_tasks_without_weights_are_refused(tmp_path):
    chosen = made(tmp_path)
    result = DXO(DataKind.WEIGHTS, trained()).to_shareable()
    with pytest.raises(sotto.PrivacyError, match="without weights"):
        chosen.process(result, context())
    found = context()
    found.set_prop(FLContextKey.TASK_DATA, make_reply(ReturnCode.OK), private=True, sticky=False)
    chosen.handle_event(EventType.BEFORE_TASK_EXECUTION, found)
    with pytest.raises(sotto.PrivacyError, match="without weights"):
        chosen.process(result, found)
    with pytest.raises(ValueError, match="valid: delta, weights"):
        made(tmp_path, payload="gradient")


def test_results_that_it_did_not_make_are_emptied(tmp_path):
    """Of tasks that the job does not name for it, and of filters that come after it."""
    chosen, found = made(tmp_path), context()
    chosen.handle_event(EventType.BEFORE_TASK_EXECUTION, found)
    result = DXO(DataKind.WEIGHTS, trained()).to_shareable()
    result.set_header("note", "anna")
    protected = chosen.process(result, found)

    def after(result):
        found.set_prop(FLContextKey.TASK_RESULT, result, private=True, sticky=False)
        made(tmp_path).handle_event(EventType.AFTER_TASK_RESULT_FILTER, found)
        return result

    assert "w" in from_shareable(after(protected)).data
    for other in (result, type(protected)(protected)):
        emptied = after(other)
        assert emptied.get_return_code() == ReturnCode.TASK_RESULT_FILTER_ERROR
        assert "DXO" not in emptied and emptied.get_header("note") is None


JOB = '''
import os
from nvflare.app_common.np.recipes.fedavg import NumpyFedAvgRecipe
from nvflare.recipe import SimEnv
from sotto.nvflare import LocalPrivacyFilter

recipe = NumpyFedAvgRecipe(name="quiet", model=[[1.0, 1.0, 1.0]], min_clients=2, num_rounds=2,
                           train_script="client.py")
recipe.add_client_output_filter(LocalPrivacyFilter(
    mechanism="two-point", parameters={"epsilon": 1.0}, range=[0.0, 0.1], ledger="LEDGER",
    epsilon_per_round=10.0, epsilon=100.0), tasks=TASKS)
run = recipe.execute(SimEnv(num_clients=2, workspace_root=os.getcwd() + "/workspace"))
print(run.get_result())
'''
CLIENT = '''
import nvflare.client as flare

flare.init()
while flare.is_running():
    model = flare.receive()
    model.params = {name: value + 0.03 for name, value in model.params.items()}
    flare.send(flare.FLModel(params=model.params, metrics={"accuracy": 0.9},
                             meta={"NUM_STEPS_CURRENT_ROUND": 40}))
'''


def simulated(tmp_path, tasks):
    job = JOB.replace("LEDGER", str(tmp_path / "ledger")).replace("TASKS", repr(tasks))
    (tmp_path / "job.py").write_text(job, encoding="utf-8")
    (tmp_path / "client.py").write_text(CLIENT, encoding="utf-8")
    package = str(Path(sotto.__file__).resolve().parents[1])
    done = subprocess.run([sys.executable, "job.py"], cwd=tmp_path, capture_output=True, text=True,
                          timeout=600, env={**os.environ, "PYTHONPATH": package,
                                            "HOME": str(tmp_path)})
    assert done.returncode in (0, 1), done.stdout + done.stderr
    models = [np.load(path) for path in (tmp_path / "workspace").rglob("server.npy")]
    return done.stdout + done.stderr, models


def test_simulator(tmp_path):
    told, models = simulated(tmp_path, ["train"])
    for site in ("site-1", "site-2"):
        with sotto.Ledger(tmp_path / "ledger") as ledger:
            spent = ledger.account(client=site).spent()
        assert spent is not None, told
        assert spent.rounds == 2 and 5.9 < spent.epsilon_sum < 6.1, told
    assert "0.9" not in re.findall(r"validation metric (\S+)", told)
    assert models, told
    # Two rounds of the mean of two reports, each by 0.2164 up or down: a multiple of 0.2164.
    step = 0.1 / np.tanh(0.5)
    for model in models:
        assert np.allclose((model - 1) / step, np.round((model - 1) / step), atol=1e-4)
        assert np.all(np.abs(model - 1) < 2.1 * step)


def test_simulator_with_a_filter_at_no_task(tmp_path):
    """The server gets nothing, rather than everything."""
    told, models = simulated(tmp_path, ["*"])
    assert "passed no LocalPrivacyFilter" in told and "validation metric 0.9" not in told
    assert all(np.array_equal(model, [[1, 1, 1]]) for model in models), told
