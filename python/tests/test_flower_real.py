"""The Flower mod in the real framework: messages, its simulation, and processes on loopback.

Skipped, visibly, where Flower (flwr), or for the simulation Ray, is not installed.
"""

import contextlib
import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import types
from pathlib import Path

import numpy as np
import pytest
import sotto

pytest.importorskip("flwr", reason="Flower (flwr) is not installed")
from flwr import common as flwr  # noqa: E402

HERE = Path(__file__).resolve().parent
EXAMPLE = HERE.parents[1] / "examples" / "flower"
MECHANISM = sotto.Mechanism("two-point", epsilon=1, range=(0, 0.1))

if not hasattr(flwr, "ArrayRecord"):
    pytest.skip("this version of Flower has no messages of arrays", allow_module_level=True)


@pytest.fixture
def ledger(tmp_path):
    with sotto.Ledger(tmp_path / "l", sotto.Limits(1000, 1500)) as opened:
        yield opened


@pytest.fixture(autouse=True)
def identity(monkeypatch):
    """Recent versions take a message's sender from the process that makes it."""
    with contextlib.suppress(ImportError):
        from flwr.supercore.task_identity import TaskIdentity

        for name in ("task_id", "run_id", "node_id"):
            monkeypatch.setattr(TaskIdentity, f"_{name}", 5, raising=False)


def environment(tmp_path, **more):
    package = str(Path(sotto.__file__).resolve().parents[1])
    programs = str(Path(sys.executable).parent)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([package, str(EXAMPLE)]),
            "PATH": os.pathsep.join([programs, os.environ["PATH"]]),
            "FLWR_HOME": str(tmp_path / "flwr"), "FLWR_TELEMETRY_ENABLED": "0",
            "PYTHONDONTWRITEBYTECODE": "1", "RAY_USAGE_STATS_ENABLED": "0", **more}


def two_points(values):
    values = np.abs(values)
    return len(np.unique(values.round(5))) == 1 and np.all(values > 0.1)


def context(partition=0):
    from flwr.app import Context

    return Context(run_id=5, node_id=71, node_config={"partition-id": partition},
                   state=flwr.RecordDict(), run_config={})


def test_messages(ledger):
    from flwr.clientapp import ClientApp
    from sotto.flower import LocalPrivacyMod

    app = ClientApp(mods=[LocalPrivacyMod(MECHANISM, ledger)])

    @app.train()
    def train(msg, ctxt):
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
    sent = []
    for partition in range(20):
        reply = app(asked, context(partition))
        arrays = reply.content["arrays"].to_numpy_ndarrays()
        assert [(a.shape, a.dtype) for a in arrays] == [(a.shape, a.dtype) for a in start]
        assert dict(reply.content.metric_records["metrics"]) == {"num-examples": 1}
        sent.append(np.concatenate([(a - b).ravel() for a, b in zip(arrays, start)]))
        account = ledger.account(client=f"client/partition-id={partition}", task="task/5/train")
        assert account.charge(MECHANISM, 7, 2) == "bound"
    assert two_points(np.concatenate(sent)) and len({values.tobytes() for values in sent}) > 10


def test_packed_replies_of_a_strategy(ledger):
    """What the strategy makes of reports is what the mechanism decodes them to."""
    from flwr.clientapp import ClientApp
    from flwr.serverapp.strategy import FedAvg
    from sotto.flower import LocalPrivacyMod
    from sotto.flower_server import PackedStrategy

    class Grid:
        def get_node_ids(self):
            return [11, 12, 13]

    app = ClientApp(mods=[LocalPrivacyMod(MECHANISM, ledger, packed=True)])

    @app.train()
    def train(msg, ctxt):
        return flwr.Message(flwr.RecordDict({
            "arrays": flwr.ArrayRecord({name: flwr.Array(np.asarray(array.numpy() + 1))
                                        for name, array in msg.content["arrays"].items()}),
            "metrics": flwr.MetricRecord({"num-examples": 40})}), reply_to=msg)

    strategy = PackedStrategy(FedAvg(), MECHANISM)
    start = {"w": np.full((2, 3), 5, np.float32), "ids": np.arange(4)}
    asked = strategy.configure_train(
        1, flwr.ArrayRecord({name: flwr.Array(value) for name, value in start.items()}),
        flwr.ConfigRecord(), Grid())
    replies, decoded = [], []
    for message in asked:
        reply = app(message, context(message.metadata.dst_node_id))
        data = reply.content["arrays"]["sotto.report"].numpy().tobytes()
        decoded.append(MECHANISM.read(data, 6).decode())
        replies.append(reply)
    arrays, _ = strategy.aggregate_train(1, replies)
    assert np.allclose(arrays["w"].numpy().ravel(), 5 + np.mean(decoded, axis=0), atol=1e-6)
    assert arrays["w"].numpy().dtype == np.float32
    assert arrays["ids"].numpy().tolist() == [0, 1, 2, 3]
    assert arrays["ids"].numpy().dtype == start["ids"].dtype
    # A report of another round, arrays that are not packed, and foreign bytes are left out.
    for wrong in (MECHANISM.perturb(np.zeros(6), round=2).to_bytes(), b"foreign", None):
        asked = strategy.configure_train(1, arrays, flwr.ConfigRecord(), Grid())
        values = np.zeros(6) if wrong is None else np.frombuffer(wrong, np.uint8)
        name = "w" if wrong is None else "sotto.report"
        reply = flwr.Message(flwr.RecordDict({
            "arrays": flwr.ArrayRecord({name: flwr.Array(values)}),
            "metrics": flwr.MetricRecord({"num-examples": 1})}), reply_to=asked[0])
        assert strategy.aggregate_train(1, [reply]) == (None, None)


def test_fit_results(ledger):
    from sotto import _flower_messages as messages
    from sotto.flower import LocalPrivacyMod

    to_instructions = getattr(messages.compat, f"fitins_to_{messages.KIND}")
    start = [np.zeros((2, 3), np.float32)]
    content = to_instructions(flwr.FitIns(flwr.ndarrays_to_parameters(start), {}), keep_input=True)
    asked = flwr.Message(content, dst_node_id=1, message_type="train", group_id="1")

    def client(msg, ctxt):
        result = flwr.FitRes(flwr.Status(flwr.Code.OK, "trained"),
                             flwr.ndarrays_to_parameters([start[0] + 0.03]), 40, {"loss": 0.3})
        return types.SimpleNamespace(content=messages.from_fitres(result, keep_input=True),
                                     has_error=lambda: False)

    reply = LocalPrivacyMod(MECHANISM, ledger)(asked, context(), client)
    result = messages.to_fitres(reply.content, keep_input=True)
    assert two_points(flwr.parameters_to_ndarrays(result.parameters)[0])
    assert (result.num_examples, dict(result.metrics), result.status.message) == (1, {}, "")


def simulated(kind, tmp_path):
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Flower's simulation needs Ray, which is not installed")
    done = subprocess.run([sys.executable, str(HERE / "flower_simulation.py"), kind,
                           str(tmp_path / "ledger")], capture_output=True, text=True, timeout=600,
                          env=environment(tmp_path), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.rstrip("\n").rpartition("\n")[2]), done.stdout + done.stderr


def rounds_of(path, node):
    with sotto.Ledger(path) as ledger:
        spent = ledger.account(client=f"client/partition-id={node}").spent()
        return spent.rounds, spent.epsilon_sum


def test_simulation_of_functions(tmp_path):
    seen, log = simulated("messages", tmp_path)
    assert len(seen["weights"]) == 8  # four nodes, two rounds
    assert two_points(np.array(seen["weights"][:4]))
    assert len({json.dumps(weights) for weights in seen["weights"]}) >= 6
    assert all(arrays == [7, [0, 1, 2, 3]] for arrays in seen["arrays"])
    for metrics in seen["metrics"]:  # enough for q-FedAvg, and nothing beside
        assert metrics.keys() == {"num-examples", "train_loss"}
        assert metrics["num-examples"] == 1 and metrics["train_loss"] in (0.1, 2)
    # The node that failed says so in both rounds, and its secret is in the client's log alone.
    assert len(seen["errors"]) == 2
    for reason in seen["errors"]:
        assert "nothing is sent" in reason and "diagnosis" not in reason
        assert "ValueError" not in reason
    assert "diagnosis" in log
    assert all(found.keys() == {"train_loss"} for found in seen["evaluated"])
    for node in range(4):  # 10 weights and two metrics, paid for by the failing one, too
        rounds, epsilon = rounds_of(tmp_path / "ledger", node)
        assert rounds == 6 and 23.9 < epsilon < 24.1


def test_simulation_of_client_fn(tmp_path):
    seen, _ = simulated("lists", tmp_path)
    assert len(seen["weights"]) == 8 and two_points(np.array(seen["weights"][:4]))
    assert all(kept == [7, [0, 1, 2, 3]] for kept in seen["kept"])
    assert seen["results"] == [[1, {}]] * 8
    assert len(seen["losses"]) == 8
    for number, metrics in seen["losses"]:
        assert number == 1 and metrics.keys() == {"train_loss"}
    for node in range(4):
        rounds, epsilon = rounds_of(tmp_path / "ledger", node)
        assert rounds == 4 and 23.9 < epsilon < 24.1


def free_ports(number):
    sockets = [socket.socket() for _ in range(number)]
    try:
        for opened in sockets:
            opened.bind(("127.0.0.1", 0))
        return [opened.getsockname()[1] for opened in sockets]
    finally:
        for opened in sockets:
            opened.close()


@contextlib.contextmanager
def processes(tmp_path, env):
    """Starts processes with logs of their own; all of them, and theirs, end in the end."""
    started = []

    def start(name, *arguments):
        log = open(tmp_path / f"{name}.log", "w", encoding="utf-8")
        started.append((subprocess.Popen([str(a) for a in arguments], stdout=log, stderr=log,
                                         env=env, cwd=tmp_path, start_new_session=True), log))

    try:
        yield start
    finally:
        for process, log in reversed(started):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
            log.close()


def wait_for(port, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.3)
    raise TimeoutError(f"nothing listens on port {port}")


def test_deployment_on_loopback(tmp_path):
    """A SuperLink and two SuperNodes as processes, with the app of examples/flower: its clients
    pack their reports, protect metrics, and run in a process of their own for every message."""
    from importlib.metadata import version

    if tuple(int(part) for part in version("flwr").split(".")[:2]) < (1, 41):
        pytest.skip("the options of this version's SuperLink are not known to this test")
    env = environment(tmp_path, QUIET_LEDGER=str(tmp_path / "ledger"))
    link, *nodes = free_ports(3)
    (tmp_path / "flwr").mkdir()
    (tmp_path / "flwr" / "config.toml").write_text(
        f'[superlink]\ndefault = "here"\n\n[superlink.here]\naddress = "127.0.0.1:{link}"\n'
        "insecure = true\n", encoding="utf-8")

    def logs():
        return "\n".join(f"--- {path.name}\n{path.read_text(encoding='utf-8')}"
                         for path in sorted(tmp_path.glob("*.log")))

    with processes(tmp_path, env) as start:
        start("superlink", "flower-superlink", "--insecure", "--port", link,
              "--disable-runtime-dependency-installation")
        wait_for(link)
        for partition, port in enumerate(nodes):
            start(f"node{partition}", "flower-supernode", "--insecure", "--superlink",
                  f"127.0.0.1:{link}", "--port", port,
                  "--node-config", f"partition-id={partition}")
        run = subprocess.run(["flwr", "run", str(EXAMPLE), "here", "--stream"], env=env,
                             cwd=tmp_path, capture_output=True, text=True, timeout=400)
        told = run.stdout + run.stderr + logs()
        assert run.returncode == 0, told
    found = re.search(r"public accuracy ([0-9.]+)", told)
    assert found, told
    for partition in range(2):  # three rounds: arrays for 4, metrics for 1, an evaluation for 1
        rounds, epsilon = rounds_of(tmp_path / "ledger", partition)
        assert rounds == 9 and 17.9 < epsilon < 18.1, told
