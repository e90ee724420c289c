"""A member with a valid certificate that does not keep to the protocol, against real processes:
whatever it sends is refused in the words that the documentation states, and changes no model."""

import json
import os
import subprocess

from federation import Federation
from sotto_program import SottoTest
from test_federation import RECIPE

HOSTILE = os.environ["SOTTO_HOSTILE_CLIENT"]

# What must come back for a request that is not honest, at server and shuffler alike.
AT_THE_GATE = {
    "honest": "FAILED_PRECONDITION: report: of another contract than the server collects",
    "replayed": "FAILED_PRECONDITION: duplicate: this very request was here before",
    "behind": "UNAVAILABLE: behind: request ",
    "beyond-all-numbers": "INVALID_ARGUMENT: malformed: a request has a number up to 2^62",
    "far-ahead": "FAILED_PRECONDITION: report: of another contract than the server collects",
    "for-another-recipient": "FAILED_PRECONDITION: bad-signature: ",
    "for-another-method": "FAILED_PRECONDITION: bad-signature: ",
    "changed": "FAILED_PRECONDITION: bad-signature: ",
    "in-anothers-name": "FAILED_PRECONDITION: other-sender: ",
    "unsigned": "INVALID_ARGUMENT: malformed: ",
}
# Of a member that gets past the gate, with chunks that are each as they should be.
REPORTS = {
    "other-chunks": "INVALID_ARGUMENT: report: its chunks are not those that its header names",
    "no-digest": "INVALID_ARGUMENT: report: a signed header without the digest of its chunks",
    "too-long": "INVALID_ARGUMENT: report: chunk {} is not one that the round asks for",
    "too-short": "INVALID_ARGUMENT: report: ends before its last chunk",
}
# Without a shuffler: a report is one chunk, and the server opens it at once.
DIRECT = RECIPE[:RECIPE.index("[shuffle]")]


class HostileTest(SottoTest):
    def setUp(self):
        super().setUp()
        self.recipe = self.folder / "recipe.toml"

    def make_keys(self, name, clients):
        keys = self.folder / name
        self.ok("keys", "init", keys, "--clients", clients, "--recipe", self.recipe,
                "--epsilon-per-round", "1e6", "--epsilon", "1e6")
        return keys

    def simulated(self):
        out = self.folder / "simulated"
        self.ok("run", self.recipe, "--out", out)
        return (out / "model.pt").read_bytes()

    def hostile(self, case, who, server, target):
        done = subprocess.run([HOSTILE, case, str(who), server, target], capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, 0, f"{case}: {done.stdout}{done.stderr}")
        return done.stdout.strip()

    def refused(self, cases, *where):
        for case, answer in cases.items():
            with self.subTest(case):
                self.assertEqual(self.hostile(case, *where)[:len(answer)], answer)

    def events(self, name, event):
        log = self.folder / f"{name}.jsonl"
        lines = log.read_text().splitlines() if log.exists() else []
        return [e for e in map(json.loads, lines) if e["event"] == event]

    def log(self, name):
        return "--log", self.folder / f"{name}.jsonl"

    def wait_for_reports(self, federation, role, count):
        federation.wait_for(lambda: len(self.events(role, "report-accepted")) >= count,
                            f"{count} reports at the {role}")

    def test_at_a_server(self):
        self.recipe.write_text(DIRECT.replace("rounds = 3", "rounds = 2"))
        keys = self.make_keys("keys", 5)
        other = self.make_keys("other", 1)
        federation = Federation(self, self.recipe, shuffled=False, keys=keys, round_seconds=600)
        federation.start_server(*self.log("server"))
        federation.wait_for(lambda: self.events("server", "started"), "the start")
        # The third client is the hostile one, and the round waits for it.
        federation.start_client(0)
        federation.start_client(1)
        self.wait_for_reports(federation, "server", 2)
        server = f"127.0.0.1:{federation.server_port}"
        member = (keys / "client-3", server, server)
        self.refused(AT_THE_GATE, *member)
        self.refused({case: answer.format(1) for case, answer in REPORTS.items()}, *member)
        self.refused({
            "garbage": "INVALID_ARGUMENT: sealed chunk: changed on its way, or not sealed for",
            "changed-byte": "INVALID_ARGUMENT: sealed chunk: changed on its way",
            "of-another-round": "INVALID_ARGUMENT: sealed chunk: of another round",
            "of-another-training": "INVALID_ARGUMENT: sealed chunk: of another training",
            "sealed-garbage": "INVALID_ARGUMENT: envelope: shorter than its header",
            "header-of-another-round": "FAILED_PRECONDITION: round 2 is not open",
        }, *member)
        # A second report of a client that was heard: it is told so, and nothing is counted.
        self.assertEqual(self.hostile("honest", keys / "client-1", server, server), "OK: known")
        # Somebody else's certificate: the handshake ends it.
        self.assertTrue(self.hostile("honest", other / "client-1", server, server)
                        .startswith("UNAVAILABLE: "))
        # A member that is none any more, with its old list of revoked ones.
        old = (keys / "client-5" / "crl.pem").read_bytes()
        self.ok("keys", "revoke", keys, "client-5")
        (keys / "client-5" / "crl.pem").write_bytes(old)
        self.assertTrue(self.hostile("honest", keys / "client-5", server, server)
                        .startswith("FAILED_PRECONDITION: revoked: "))
        # A member without a place in the recipe.
        self.assertIn("all 3 clients of the recipe are here",
                      self.hostile("honest", keys / "client-4", server, server))
        self.assertEqual(len(self.events("server", "report-accepted")), 2)
        federation.start_client(2)
        federation.wait_all()
        self.assertEqual((federation.out / "model.pt").read_bytes(), self.simulated(),
                         federation.story())

    def test_at_a_shuffler(self):
        self.recipe.write_text(RECIPE.replace("rounds = 3", "rounds = 2"))
        keys = self.make_keys("keys", 4)
        federation = Federation(self, self.recipe, keys=keys, round_seconds=600)
        federation.start_server()
        federation.start_shuffler(*self.log("shuffler"))
        federation.start_client(0)
        federation.start_client(1)
        self.wait_for_reports(federation, "shuffler", 2)
        server = f"127.0.0.1:{federation.server_port}"
        shuffler = f"127.0.0.1:{federation.shuffler_port}"
        member = (keys / "client-3", server, shuffler)
        self.refused(AT_THE_GATE, *member)
        self.refused({case: answer.format(3) for case, answer in REPORTS.items()}, *member)
        self.refused({
            "changed-byte":
                "INVALID_ARGUMENT: report: its chunks are not those that its header names",
            "twice-in-one-place":
                "INVALID_ARGUMENT: report: chunk 1 is not one that the round asks for",
            "header-of-another-round":
                "UNAVAILABLE: the server has not announced this round yet",
            "no-ticket": "FAILED_PRECONDITION: report: its sender was not asked for one in this",
            "forged-ticket": "FAILED_PRECONDITION: report: its sender was not asked for one in",
        }, *member)
        self.assertEqual(self.hostile("garbage", keys / "client-1", server, shuffler), "OK: known")
        # Past the shuffler to the server's own door.
        self.assertTrue(self.hostile("honest", keys / "client-3", server, server).startswith(
            "FAILED_PRECONDITION: reports of this federation go to its shuffler"))
        self.assertEqual(len(self.events("shuffler", "report-accepted")), 2)
        federation.start_client(2)
        federation.wait_all()
        self.assertEqual((federation.out / "model.pt").read_bytes(), self.simulated(),
                         federation.story())

    def test_sealed_garbage_behind_a_shuffler_is_left_out(self):
        """The shuffler cannot read it and the server cannot tell whose it was: the model is that of
        the others, as if the hostile ones had declined."""
        self.recipe.write_text(RECIPE)
        models = {}
        for case in ("hostile", "declines"):
            settings = ["federation.clients=5", "federation.rounds=1"]
            federation = Federation(self, self.recipe, settings, round_seconds=600)
            federation.folder = self.folder / case
            federation.folder.mkdir()
            federation.out = federation.folder / "fed"
            federation.start_server()
            federation.start_shuffler(*self.log(f"shuffler-{case}"))
            for index in range(3):
                federation.start_client(index)
            if case == "declines":
                federation.start_client(3, limits=("--epsilon", "0.5"))
                federation.start_client(4, limits=("--epsilon", "0.5"))
            else:
                self.wait_for_reports(federation, f"shuffler-{case}", 3)
                where = (f"127.0.0.1:{federation.server_port}",
                         f"127.0.0.1:{federation.shuffler_port}")
                for name, chunks in (("client-3", "garbage"), ("client-4", "of-another-round")):
                    self.assertEqual(self.hostile(chunks, name, *where), "OK:",
                                     "the shuffler cannot read it")
            federation.wait_all()
            models[case] = (federation.out / "model.pt").read_bytes()
            line = json.loads((federation.out / "metrics.jsonl").read_text().splitlines()[0])
            self.assertEqual(line["reports"], 3, federation.story())
        self.assertEqual(models["hostile"], models["declines"])

    def test_a_round_that_garbage_voids_counts_as_seen(self):
        """Two members send garbage, so that less than the minimum is left: nothing is released, but
        the server has opened the others' reports, and its certificate says so."""
        self.recipe.write_text(RECIPE)
        settings = ["federation.clients=5", "federation.rounds=1", "shuffle.min_batch=4"]
        federation = Federation(self, self.recipe, settings, round_seconds=600)
        federation.start_server()
        federation.start_shuffler(*self.log("shuffler"))
        for index in range(3):
            federation.start_client(index)
        self.wait_for_reports(federation, "shuffler", 3)
        where = (f"127.0.0.1:{federation.server_port}", f"127.0.0.1:{federation.shuffler_port}")
        for name in ("client-3", "client-4"):
            self.assertEqual(self.hostile("garbage", name, *where), "OK:")
        federation.wait_all()
        line = json.loads((federation.out / "metrics.jsonl").read_text().splitlines()[0])
        self.assertEqual(line["released"], 0, federation.story())
        self.assertIn("what was opened counts as seen", federation.text("server"))
        file = federation.out / "certificate.json"
        exposure = json.loads(file.read_text())["exposure"]
        self.assertEqual(exposure["turns"][0]["batches"], [{"clients": 3, "rounds": 1}])
        claims = self.json("account", "check", file)["claims"]
        (shuffled,) = [c for c in claims if c["scope"] == "client, whole training, after the shuffler"]
        self.assertGreater(shuffled["epsilon"], 1)

    def test_a_flood_of_calls_is_turned_away_and_the_others_are_served(self):
        self.recipe.write_text(DIRECT.replace("rounds = 3", "rounds = 1"))
        keys = self.make_keys("keys", 4)
        federation = Federation(self, self.recipe, shuffled=False, keys=keys, round_seconds=600)
        federation.start_server(*self.log("server"))
        federation.wait_for(lambda: self.events("server", "started"), "the start")
        server = f"127.0.0.1:{federation.server_port}"
        flood = subprocess.Popen([HOSTILE, "flood", keys / "client-4", server, server, "40"],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(flood.kill)
        self.assertEqual(flood.stdout.readline(), "open\n")
        federation.start_client(0)
        federation.start_client(1)
        self.wait_for_reports(federation, "server", 2)
        answers = flood.communicate("\n", timeout=120)[0].splitlines()
        busy = [a for a in answers if a.startswith("RESOURCE_EXHAUSTED: busy: this client has 2")]
        self.assertGreaterEqual(len(busy), 30, answers)
        federation.start_client(2)
        federation.wait_all()
        self.assertEqual((federation.out / "model.pt").read_bytes(), self.simulated(),
                         federation.story())
