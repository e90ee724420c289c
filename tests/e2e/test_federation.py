"""Server, shuffler and clients as processes: the same model as in one process, whoever dies."""

import json

from federation import Federation
from sotto_program import SottoTest

# Small enough for seconds, with a mechanism, several chunks a report and every client in every round.
RECIPE = """
[data]
name = "embedded"
[model]
name = "linear"
[train]
lr = 0.1
epochs = 1
[federation]
clients = 3
fraction = 1.0
rounds = 3
[privacy]
mechanism = "two-point"
epsilon = 4.0
radius = 0.2
[shuffle]
mode = "shuffler"
split = 3000
min_batch = 2
"""


class FederationTest(SottoTest):
    def setUp(self):
        super().setUp()
        self.recipe = self.folder / "recipe.toml"
        self.recipe.write_text(RECIPE)

    def simulated(self, *settings):
        out = self.folder / "simulated"
        more = [part for setting in settings for part in ("--set", setting)]
        self.ok("run", self.recipe, "--out", out, *more)
        return (out / "model.pt").read_bytes()

    def model(self, federation):
        return (federation.out / "model.pt").read_bytes()

    def metrics(self, federation):
        lines = (federation.out / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def test_processes_give_the_model_of_the_simulation(self):
        federation = Federation(self, self.recipe)
        federation.start_all(3)
        federation.wait_all()
        self.assertEqual(self.model(federation), self.simulated(), federation.story())
        self.assertEqual([m["reports"] for m in self.metrics(federation)], [3, 3, 3])
        self.assertIn("3 reports handed in", federation.text("client-0"))
        record = json.loads((federation.out / "run.json").read_text())
        self.assertEqual(record["privacy"]["shuffle"], "shuffler")

    def test_without_a_shuffler_the_claims_say_so(self):
        settings = ["shuffle.mode=none", "shuffle.min_batch=1"]
        federation = Federation(self, self.recipe, settings, shuffled=False)
        federation.start_all(3)
        federation.wait_all()
        self.assertEqual(self.model(federation), self.simulated(*settings), federation.story())
        record = json.loads((federation.out / "run.json").read_text())
        self.assertEqual(record["privacy"]["shuffle"], "none")

    def test_features_are_centred_as_in_the_simulation(self):
        settings = ["data.features=gabor", "model.name=linear", "bound.payload=gradient",
                    "privacy.mechanism=privunit", "privacy.epsilon=4", "statistics.mean=private",
                    "statistics.epsilon=9"]
        federation = Federation(self, self.recipe, settings)
        federation.start_all(3)
        federation.wait_all()
        self.assertEqual(self.model(federation), self.simulated(*settings), federation.story())
        record = json.loads((federation.out / "run.json").read_text())
        self.assertEqual([turn["rounds"] for turn in record["privacy"]["turns"]], [1, 2])

    def test_several_messages_of_a_round_are_batches_of_their_own(self):
        settings = ["privacy.messages=2", "shuffle.split=0", "shuffle.min_batch=3"]
        federation = Federation(self, self.recipe, settings)
        federation.start_all(3)
        federation.wait_all()
        self.assertEqual(self.model(federation), self.simulated(*settings), federation.story())
        record = json.loads((federation.out / "run.json").read_text())
        turn, = record["privacy"]["turns"]
        self.assertEqual([len(each) for each in turn["variants"]], [2])
        check = self.json("account", "check", federation.out / "certificate.json")
        self.assertTrue(check["holds"])

    def test_adaptive_ranges_and_budgets_by_turns(self):
        # Ranges travel with the task; clients with different budgets are batches of their own.
        settings = ["bound.range=adaptive", "shuffle.min_batch=1", "federation.clients=4",
                    "privacy.client_budgets=[3.0, 5.0]"]
        federation = Federation(self, self.recipe, settings)
        federation.start_all(4)
        federation.wait_all()
        self.assertEqual(self.model(federation), self.simulated(*settings), federation.story())

    def test_everybody_is_killed_once(self):
        federation = Federation(self, self.recipe, ["federation.rounds=6"])
        federation.start_all(3)
        for number, role in enumerate(["client-1", "shuffler", "server"], start=1):
            federation.wait_for(lambda: federation.rounds_done() >= number, f"round {number}")
            federation.kill(role)
            if role == "server":
                federation.start_server()
            elif role == "shuffler":
                federation.start_shuffler()
            else:
                federation.start_client(1)
        federation.wait_all()
        self.assertEqual(self.model(federation), self.simulated("federation.rounds=6"),
                         federation.story())
        self.assertEqual([m["reports"] for m in self.metrics(federation)], [3] * 6)
        for index in range(3):
            ledger = self.folder / f"client-{index}.sqlite"
            self.ok("ledger", "verify", ledger)
            account = self.json("ledger", "show", ledger)["accounts"][0]
            self.assertEqual(account["rounds"], 6, "each round is charged once")

    def test_a_client_that_vanishes_does_not_stop_a_round(self):
        federation = Federation(self, self.recipe, round_seconds=20)
        federation.start_all(3)
        federation.wait_for(lambda: federation.rounds_done() >= 1, "round 1")
        federation.kill("client-2")
        federation.wait_all()
        reports = [m["reports"] for m in self.metrics(federation)]
        self.assertEqual(reports[0], 3)
        self.assertEqual(reports[-1], 2, federation.story())

    def test_a_batch_that_is_too_small_is_not_passed_on(self):
        federation = Federation(self, self.recipe, ["federation.rounds=1"], round_seconds=15,
                                min_batch=3)
        federation.start_server()
        # A client that finds nobody waits longer each time, and could miss the only round.
        federation.wait_for(lambda: "server on" in federation.text("server"), "the server's start")
        federation.start_shuffler()
        federation.start_client(0)
        federation.start_client(1)
        federation.wait_all()
        self.assertEqual([m["released"] for m in self.metrics(federation)], [0])
        self.assertIn("too few reports; nothing is released", federation.text("server"))

    def test_a_client_without_budget_declines(self):
        federation = Federation(self, self.recipe, round_seconds=30)
        federation.start_server()
        federation.start_shuffler()
        federation.start_client(0)
        federation.start_client(1)
        federation.start_client(2, limits=("--epsilon", "0.5"))
        federation.wait_all()
        self.assertEqual([m["reports"] for m in self.metrics(federation)], [2, 2, 2])
        self.assertIn("0 reports handed in, 3 rounds declined", federation.text("client-2"))

    def test_noise_is_the_clients_own_unless_all_rehearse(self):
        federation = Federation(self, self.recipe, ["federation.rounds=1"], rehearsal=False)
        federation.start_all(3)
        federation.wait_all()
        self.assertNotEqual(self.model(federation), self.simulated("federation.rounds=1"))
        rehearsal = Federation(self, self.recipe, ["federation.rounds=1"])
        rehearsal.out = self.folder / "rehearsal"
        rehearsal.start_server()
        rehearsal.rehearsal = []
        rehearsal.start_client(0)
        rehearsal.wait("client-0", code=1)
        self.assertIn("the server rehearses", rehearsal.text("client-0"))

    def test_what_is_wrong_is_said(self):
        self.fails(2, ["--identity FOLDER", "--plain"], "server", self.recipe,
                   "--out", self.folder / "x")
        self.fails(2, ["anonymous", "knows that it was picked"], "server", self.recipe, "--plain",
                   "--out", self.folder / "x", "--set", "federation.selection=anonymous",
                   "--listen", "127.0.0.1:0")
        self.fails(2, ["how much may this client spend"], "client", "--name", "a", "--data",
                   "embedded", "--ledger", self.folder / "a.sqlite", "--plain")
        self.fails(1, ["127.0.0.1:1"], "client", "--name", "a", "--data", "embedded", "--plain",
                   "--server", "127.0.0.1:1", "--patience", "0.5", "--unlimited",
                   "--ledger", self.folder / "a.sqlite")
