"""What the roles show of themselves while they work, how they end when they are asked to, and the
example that starts all of them."""

import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.error
import urllib.request

from federation import Federation, free_port
from sotto_program import PROGRAM, ROOT, SottoTest, sotto
from test_federation import RECIPE

KEYS = {"time", "role", "event", "round", "clients", "reports", "released", "chunks", "accuracy",
        "loss", "epsilon", "delta", "seconds", "kind", "text", "suppressed"}


def fetch(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
        return answer.read().decode()


def value(metrics, name):
    return float(re.search(rf"^{re.escape(name)} (\S+)$", metrics, re.M).group(1))


EXAMPLE = ROOT / "examples" / "federation"


def free_ports(count):
    """The first of so many free ports in a row."""
    for _ in range(1000):
        first = random.randrange(20000, 30000)
        sockets = [socket.socket() for _ in range(count)]
        try:
            for i, one in enumerate(sockets):
                one.bind(("127.0.0.1", first + i))
            return first
        except OSError:
            continue
        finally:
            for one in sockets:
                one.close()
    raise RuntimeError("no free ports")


def limit_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (250, 250))


class OperationTest(SottoTest):
    def setUp(self):
        super().setUp()
        self.recipe = self.folder / "recipe.toml"
        self.recipe.write_text(RECIPE)

    def waits(self, federation, port, path, text):
        """The page, once it has this text."""
        def shown():
            try:
                return text in fetch(port, path)
            except urllib.error.URLError:
                return False
        federation.wait_for(shown, f"{text} on {path}")
        return fetch(port, path)

    def log(self, file):
        return [json.loads(line) for line in file.read_text().splitlines()]

    def test_logs_metrics_and_the_live_page(self):
        federation = Federation(self, self.recipe, ["federation.rounds=2"], round_seconds=10)
        live, metrics, other, own = (free_port() for _ in range(4))
        log = self.folder / "server.log"
        # It lingers after its last round until everybody has been told; one is held back for that.
        federation.start_server("--http", live, "--metrics", f"127.0.0.1:{metrics}",
                                "--log", log, "--linger", 600)
        federation.start("shuffler", "shuffler", "--state", self.folder / "spool", "--plain",
                         "--listen", f"127.0.0.1:{federation.shuffler_port}", "--min-batch", 2,
                         "--server", f"127.0.0.1:{federation.server_port}", "--metrics", other,
                         "--log", "-")
        self.waits(federation, live, "/", "waiting for clients")
        state = json.loads(fetch(live, "/state.json"))
        self.assertTrue(state["rehearsal"])
        self.assertTrue(state["promise"]["vacuous"], "two-point for every weight protects nobody")
        self.assertIsNone(state["seconds_left"])
        self.assertEqual(json.loads(fetch(metrics, "/healthz"))["status"], "ok")
        stream = urllib.request.urlopen(f"http://127.0.0.1:{live}/events", timeout=60)
        federation.start_client(0, "--metrics", own, "--log", self.folder / "client.log")
        federation.start_client(1)
        self.waits(federation, own, "/metrics", 'sotto_info{role="client"')
        federation.start_client(2)
        federation.wait_for(lambda: federation.rounds_done() >= 1, "round 1")
        federation.processes["client-2"].send_signal(signal.SIGSTOP)
        self.waits(federation, other, "/metrics", "\nsotto_batches_total 1\n")

        text = self.waits(federation, metrics, "/metrics", "\nsotto_finished 1\n")
        self.assertEqual(value(text, "sotto_round"), 2)
        self.assertEqual(value(text, "sotto_clients_joined"), 3)
        self.assertGreaterEqual(value(text, "sotto_reports_accepted_total"), 5,
                                federation.story())
        self.assertGreater(value(text, "sotto_accuracy"), 0.05)
        spent = self.json("ledger", "show", self.folder / "client-0.sqlite")["accounts"][0]
        self.assertGreaterEqual(value(text, "sotto_epsilon_spent"), spent["epsilon"])
        self.assertAlmostEqual(value(text, "sotto_epsilon_spent") / spent["epsilon"], 1.0, 6)

        state = json.loads(fetch(live, "/state.json"))
        self.assertEqual([point["round"] for point in state["curve"]], [1, 2])
        seen = ""
        while '"finished":true' not in seen:
            line = stream.readline().decode()
            self.assertTrue(line, "the stream has ended early")
            seen = line if line.startswith("data: ") else seen
        stream.close()
        self.check_in_browser(live)

        federation.processes["client-2"].send_signal(signal.SIGCONT)
        federation.wait_all()
        self.assertEqual(value(text, "sotto_rounds_total"), 2)
        entries = self.log(log)
        for entry in entries + self.log(self.folder / "client.log"):
            self.assertLessEqual(set(entry), KEYS)
        events = [entry["event"] for entry in entries]
        for event in ["started", "client-joined", "round-began", "budget-spent", "batch-passed",
                      "round-ended", "finished"]:
            self.assertIn(event, events)
        self.assertNotIn("accuracy", str(self.log(self.folder / "client.log")))
        shuffler = [line for line in federation.text("shuffler").splitlines() if "{" in line]
        self.assertEqual(json.loads(shuffler[-1])["event"], "finished")

    def check_in_browser(self, port):
        browser = shutil.which("chromium")
        if browser is None:
            print("skipped: the live page in a browser, for want of chromium", flush=True)
            return
        with tempfile.TemporaryDirectory() as profile:
            done = subprocess.run(
                [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                 "--disable-background-networking", f"--user-data-dir={profile}",
                 "--virtual-time-budget=4000", "--dump-dom", f"http://127.0.0.1:{port}/"],
                capture_output=True, text=True, timeout=120)
        page = done.stdout
        self.assertIn('<span id="status" class="chip good">finished</span>', page, done.stderr)
        self.assertIn("2 / 2", page)
        self.assertIn("have joined", page)
        self.assertRegex(page, r"ε ≤ \d")
        self.assertRegex(page, r'<path d="M[^"]+L')
        self.assertIn("<b>round-ended</b>", page)
        self.assertIn("Rehearsal: protects nobody", page)
        self.assertRegex(page, r"Vacuous: ε [\d,.]+ for a client over the whole training")
        self.assertIn("Reports of the round", page)
        self.assertIn("the training is over", page)
        self.assertNotIn("<b>report-refused</b>", page)
        self.assertIn(">nothing more will come<", page, "an event has arrived")

    def test_the_page_shows_what_the_shuffler_holds_and_the_deadline(self):
        federation = Federation(self, self.recipe, ["federation.rounds=1"], round_seconds=300)
        live = free_port()
        federation.start_server("--http", live)
        federation.start_shuffler()
        federation.start_client(0)
        self.waits(federation, live, "/state.json", '"held":1,')
        state = json.loads(fetch(live, "/state.json"))
        self.assertEqual(state["round_reports"], 0, "no batch has come")
        self.assertEqual(state["asked"], 3)
        self.assertTrue(200 < state["seconds_left"] <= 300, state["seconds_left"])
        for index in (1, 2):
            federation.start_client(index)
        federation.wait_all()

    def test_asked_to_stop_all_end_well_and_go_on(self):
        federation = Federation(self, self.recipe, ["federation.rounds=4"])
        federation.start_all(3)
        federation.wait_for(lambda: federation.rounds_done() >= 1, "round 1")
        for role in ["server", "shuffler", "client-0", "client-1", "client-2"]:
            federation.processes[role].send_signal(signal.SIGTERM)
        federation.wait_all()
        self.assertRegex(federation.text("server"), r"stopped after round \d; .* the same command")
        self.assertIn("the same command goes on", federation.text("shuffler"))
        self.assertIn("the same command goes on", federation.text("client-0"))
        self.assertFalse((federation.out / "model.pt").exists())
        log = self.folder / "again.log"
        federation.start_server("--log", log)
        federation.start_shuffler()
        for index in range(3):
            federation.start_client(index)
        federation.wait_all()
        self.ok("run", self.recipe, "--out", self.folder / "simulated",
                "--set", "federation.rounds=4")
        self.assertEqual((federation.out / "model.pt").read_bytes(),
                         (self.folder / "simulated" / "model.pt").read_bytes(), federation.story())
        entries = self.log(log)
        self.assertGreaterEqual(entries[0]["round"], 1)
        self.assertEqual(entries[0]["event"], "resumed")
        ledger = self.json("ledger", "show", self.folder / "client-0.sqlite")["accounts"][0]
        spent = [entry for entry in entries if entry["event"] == "budget-spent"][-1]
        self.assertAlmostEqual(spent["epsilon"] / ledger["epsilon"], 1.0, 6)

    def test_a_client_whose_server_is_away_stops_well(self):
        federation = Federation(self, self.recipe)
        federation.start_client(0)
        federation.wait_for(lambda: "trying again" in federation.text("client-0"), "a try")
        federation.processes["client-0"].send_signal(signal.SIGINT)
        federation.wait("client-0")

    def test_a_second_signal_ends_at_once(self):
        federation = Federation(self, self.recipe)
        federation.start_server("--http", free_port())
        federation.wait_for(lambda: "server on" in federation.text("server"), "the start")
        # Both are there before the program can act on the first.
        process = federation.processes["server"]
        process.send_signal(signal.SIGSTOP)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        self.assertIn(process.wait(timeout=60), (128 + signal.SIGTERM, 128 + signal.SIGINT))

    def test_what_is_wrong_is_said(self):
        common = ["server", self.recipe, "--out", self.folder / "x", "--plain",
                  "--listen", "127.0.0.1:0"]
        self.fails(2, ["'8x' is no address", "HOST:PORT"], *common, "--http", "8x")
        self.fails(1, ["--log", "no/such/file"], *common, "--log", "no/such/file")

    def test_the_example_ends_with_a_model(self):
        environment = dict(os.environ, SOTTO=PROGRAM, PORT=str(free_ports(4)))
        out = self.folder / "example"
        done = subprocess.run([EXAMPLE / "run", out], env=environment, capture_output=True,
                              text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue((out / "server" / "model.pt").exists())
        record = json.loads((out / "server" / "run.json").read_text())
        self.assertEqual(record["status"], "finished")
        self.assertIn("client-1", done.stdout)
        promised = [claim["epsilon"] for claim in record["privacy"]["claims"]
                    if (claim["unit"], claim["period"]) == ("client", "training")]
        self.assertLessEqual(min(promised), 8)
        for index in range(3):
            self.ok("ledger", "verify", out / f"client-{index}.sqlite")

    def test_the_units_are_valid(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("there is no systemd-analyze")
        units = sorted((EXAMPLE / "systemd").glob("*.service"))
        self.assertEqual(len(units), 3)
        for unit in units:
            copy = self.folder / unit.name
            copy.write_text(unit.read_text().replace("/usr/bin/sotto", PROGRAM))
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy],
                                  capture_output=True, text=True, timeout=120)
            complaints = [line for line in done.stderr.splitlines() if unit.name in line]
            self.assertEqual((done.returncode, complaints), (0, []), unit.name + done.stderr)

    def test_the_memory_of_a_round_does_not_grow_with_its_reports(self):
        def measured(reports):
            return self.json("bench", "federation", "--clients", 1, "--weights", 1_000_000,
                             "--turns", 1, "--reports", reports)

        few, many = measured(10), measured(1000)
        kept = 990 * many["report_bytes"]
        self.assertGreater(kept, 120e6)
        self.assertLess(many["bytes_of_rounds"] - few["bytes_of_rounds"], 0.25 * kept)
        # The model is sent as 4 MB of floats; sums, counts and means of it are a few times that.
        self.assertLess(many["bytes_of_rounds"], 25 * 4e6)

    def test_the_bench_measures_all_it_names(self):
        result = self.json("bench", "federation", "--brief")
        for key in ["bytes_per_client", "server_mb_per_second", "bare_mb_per_second", "ratio",
                    "best_ratio", "open_seconds", "add_seconds", "permute_ratio"]:
            self.assertGreater(result[key], 0, key)
        limited = sotto("bench", "federation", "--brief", preexec_fn=limit_descriptors)
        # Only a process that may raise its own limit does it all the same.
        if limited.returncode != 0:
            self.assertEqual(limited.returncode, 2, limited.stderr)
            self.assertIn("clients at most", limited.stderr)
