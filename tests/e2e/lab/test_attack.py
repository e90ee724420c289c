"""sotto attack: what averaging reveals, membership, their files, and wrong use."""

import json
import math

from sotto_program import EMBEDDED, SottoTest

WEIGHTS = ["attack", "weight-inference"]
# A small network that learns its few samples by heart.
MEMORY = [
    "attack", "membership", EMBEDDED, "--set", "model.name=mlp(32)", "--set", "federation.clients=2",
    "--set", "federation.fraction=1", "--set", "federation.rounds=3", "--set", "train.epochs=15",
    "--reports", "2", "--fpr", "0.01",
]
FEW = ["--population", "120", "--runs", "8"]
TWO_POINT = ["--set", "privacy.mechanism=two-point", "--set", "privacy.epsilon=1",
             "--set", "privacy.radius=0.2"]


class WeightInference(SottoTest):
    def test_the_check_value(self):
        found = self.json(*WEIGHTS, "--mechanism", "two-point", "--epsilon", "1,2,5",
                          "--repetitions", "100")
        self.assertEqual([row["parameters"]["epsilon"] for row in found["rows"]], [1, 2, 5])
        for row in found["rows"]:
            upper = 1 / math.tanh(row["parameters"]["epsilon"] / 2)
            theory = math.sqrt(2 / math.pi) * math.sqrt((upper**2 - 0.04) / 50_000) / 2
            self.assertAlmostEqual(row["theory"], theory, delta=1e-6 * theory)
            self.assertAlmostEqual(row["error"], theory, delta=4 * row["standard_error"])
            self.assertAlmostEqual(row["client_epsilon"] / row["parameters"]["epsilon"], 50)
            for key in ("mechanism", "clients", "deviation", "rounds", "error_to_weight",
                        "theory_to_weight", "corrected", "confidence", "theory_confidence", "bias",
                        "report_deviation", "exact_epsilon", "seconds", "by_round"):
                self.assertIn(key, row)
        errors = [row["error"] for row in found["rows"]]
        self.assertEqual(errors, sorted(errors, reverse=True))

    def test_every_value_mechanism_gives_in(self):
        found = self.json(*WEIGHTS, "--epsilon", "3", "--clients", "200", "--rounds", "2,50",
                          "--repetitions", "20")
        by_name = {}
        for row in found["rows"]:
            by_name.setdefault(row["mechanism"], []).append(row)
        self.assertGreaterEqual(len(by_name), 9)
        self.assertIsNone(by_name["none"][0]["exact_epsilon"])
        for name, (few, many) in by_name.items():
            if name != "none":
                self.assertLess(many["corrected"], few["corrected"], name)

    def test_the_same_on_any_number_of_threads_and_written_whole(self):
        small = [*WEIGHTS, "--mechanism", "srr:groups=10,step=20", "--epsilon", "5",
                 "--range", "0,0.075", "--weight", "0.015", "--clients", "50", "--rounds", "5",
                 "--repetitions", "10", "--sigma", "0.01"]

        def rows(*more):
            found = self.json(*small, *more)["rows"]
            for row in found:
                del row["seconds"]
            return found

        out = self.folder / "out"
        self.assertEqual(rows("--threads", "1"), rows("--threads", "3", "--out", out))
        for name in ("error.svg", "confidence.svg"):
            self.assertIn("<svg", (out / name).read_text())
        self.assertEqual(json.loads((out / "results.json").read_text())["attack"],
                         "weight-inference")

    def test_wrong_use_is_named(self):
        self.fails(2, ["did you mean 'two-point'"], *WEIGHTS, "--mechanism", "two-pont")
        self.fails(2, ["KEY=VALUE"], *WEIGHTS, "--mechanism", "srr:groups")
        self.fails(2, ["must be a number"], *WEIGHTS, "--mechanism", "srr:groups=many")
        self.fails(2, ["value mechanisms"], *WEIGHTS, "--mechanism", "privunit")
        self.fails(2, ["inside the range"], *WEIGHTS, "--weight", "2")
        self.fails(2, ["radius"], *WEIGHTS, "--range", "0,-1")
        self.fails(2, ["--tensor", "recipe"], *WEIGHTS, "--tensor", "1.weight")
        self.fails(2, ["--mechanism"], *WEIGHTS, EMBEDDED, "--mechanism", "two-point")
        self.assertIn("Example", self.ok(*WEIGHTS, "--help"))


class InARun(SottoTest):
    SMALL = [EMBEDDED, "--set", "model.name=mlp(8)", "--set", "federation.clients=20",
             "--set", "federation.fraction=1", "--set", "train.epochs=1"]

    def test_watches_without_changing_the_run(self):
        out = self.folder / "watched"
        found = self.json(*WEIGHTS, *self.SMALL, *TWO_POINT, "--rounds", "4", "--tensor", "1.weight",
                          "--weights", "300", "--out", out)
        plain = self.json("run", *self.SMALL, *TWO_POINT, "--set", "federation.rounds=4", "--out",
                          self.folder / "run")
        self.assertEqual(found["accuracy"], plain["final"]["accuracy"])
        self.assertEqual([row["round"] for row in found["rounds"]], [1, 2, 3, 4])
        for row in found["rounds"]:
            self.assertEqual(row["reports"], 20)
            self.assertAlmostEqual(row["error"] / row["theory"], 1, delta=0.25)
        self.assertLess(found["rounds"][-1]["error"], found["rounds"][0]["error"])
        self.assertIsNone(found["rounds"][0]["confidence"])
        self.assertIn("<svg", (out / "error.svg").read_text())
        self.assertIn("drift", self.ok(*WEIGHTS, *self.SMALL, *TWO_POINT, "--rounds", "1"))

    def test_wrong_use_is_named(self):
        self.fails(2, ["did you mean '1.weight'"], *WEIGHTS, *self.SMALL, *TWO_POINT, "--tensor",
                   "1.wieght")
        self.fails(2, ["nothing to infer"], *WEIGHTS, *self.SMALL)
        self.fails(2, ["--clients", "recipe"], *WEIGHTS, *self.SMALL, *TWO_POINT, "--clients", "5")
        self.fails(2, ["--rounds"], *WEIGHTS, *self.SMALL, *TWO_POINT, "--rounds", "1,2")


class Membership(SottoTest):
    def test_noise_free_gives_members_away_and_a_tiny_epsilon_does_not(self):
        out = self.folder / "out"
        found = self.json(*MEMORY, *FEW, "--mechanism", "none", "--mechanism",
                          "two-point:epsilon=0.0001,radius=0.2", "--out", out)
        none, tiny = found["mechanisms"]
        self.assertIsNone(none["client_epsilon"])
        self.assertLess(tiny["client_epsilon"], 50)
        auc = {}
        for mechanism in found["mechanisms"]:
            for finding in mechanism["findings"]:
                auc[mechanism["mechanism"], finding["target"], finding["attack"]] = finding
                self.assertLessEqual(finding["auc_interval"][0], finding["auc"])
                self.assertGreaterEqual(finding["tpr_interval"][1], finding["tpr"])
                self.assertEqual(finding["roc"][0], [0, 0])
                self.assertEqual(finding["roc"][-1], [1, 1])
        for (mechanism, target, attack), finding in auc.items():
            if mechanism == "none" and attack == "likelihood-ratio":
                self.assertGreater(finding["auc"], 0.7, target)
                self.assertGreater(finding["auc_interval"][0], 0.55, target)
            if mechanism != "none":
                self.assertAlmostEqual(finding["auc"], 0.5, delta=0.15)
        self.assertIn(("none", "models", "likelihood-ratio"), auc)
        for name in ("roc.svg", "roc-models.svg", "roc-report.svg", "report.html"):
            self.assertIn("<svg", (out / name).read_text())
        self.ok("report", out, "--out", self.folder / "page.html")
        page = (self.folder / "page.html").read_text()
        for part in ("TPR at 1 % FPR", "AUC", "against the models of several rounds"):
            self.assertTrue(part in page, part)

    def test_the_model_of_a_run(self):
        settings = ["--set", "model.name=linear", "--set", "federation.clients=4", "--set",
                    "federation.fraction=1", "--set", "train.epochs=1"]
        run = self.folder / "run"
        self.ok("run", EMBEDDED, *settings, "--set", "federation.rounds=1", "--out", run)
        attack = ["attack", "membership", EMBEDDED, *settings, "--set", "federation.rounds=1",
                  "--run", run, "--population", "60", "--runs", "6"]
        found = self.json(*attack)
        (mechanism,) = found["mechanisms"]
        self.assertEqual([f["members"] for f in mechanism["findings"]], [30, 30, 30])
        # A linear model of 12,000 samples has nothing to remember them by.
        self.assertAlmostEqual(mechanism["findings"][0]["auc"], 0.5, delta=0.25)
        self.fails(2, ["another recipe"], *attack, "--set", "train.lr=0.2")
        self.fails(2, ["--run"], *attack, "--mechanism", "none")
        self.fails(2, ["--models", "earlier rounds"], *attack, "--models", "3")

    def test_the_same_on_any_number_of_threads(self):
        def findings(threads):
            (mechanism,) = self.json(*MEMORY, "--population", "60", "--runs", "6", "--threads",
                                     threads)["mechanisms"]
            return mechanism["findings"]

        self.assertEqual(findings(1), findings(2))

    def test_wrong_use_is_named(self):
        self.fails(2, ["even"], *MEMORY, "--runs", "7")
        self.fails(2, ["20 to 12000"], *MEMORY, "--population", "13000")
        self.fails(2, ["rounds 1 to 3"], *MEMORY, *FEW, "--round", "4")
        self.fails(2, ["did you mean 'srr'"], *MEMORY, *FEW, "--mechanism", "sr")
        self.fails(2, ["epsilom"], *MEMORY, *FEW, "--mechanism", "two-point:epsilom=1")
        self.assertIn("Example", self.ok("attack", "membership", "--help"))
        self.assertIn("weight-inference", self.ok("attack", "--help"))


class Reproduce(SottoTest):
    def test_the_papers_table(self):
        out = self.folder / "r"
        found = self.json("reproduce", "attack-two-point", "--quick", "--out", out)
        self.assertTrue(found["quick"])
        rows = {row["label"]: row for row in found["rows"]}
        row = rows["two-point, all clients hold w, epsilon = 1"]
        self.assertEqual(row["paper"], 0.0046)
        self.assertAlmostEqual(row["measured"], row["theory"], delta=4 * row["standard_error"])
        for name in ("figure.svg", "figure-2.svg", "figure-5.svg", "results.csv"):
            self.assertTrue((out / name).exists(), name)
        self.assertIn("| two-point, all clients hold w, epsilon = 1 | 0.46 % |",
                      self.ok("reproduce", "attack-two-point", "--quick", "--out", out,
                              "--markdown"))
