"""Audits of vector mechanisms by adversaries that craft gradients, on the embedded data."""

import json
import unittest

from sotto_program import SottoTest, sotto

ADVERSARIES = ["benign", "label-flip", "gradient-flip", "collusion", "dummy"]
LINEAR = ["--data", "embedded", "--model", "linear", "--train-rounds", "100", "--trials", "300",
          "--measurements", "2"]


class Adversaries(SottoTest):
    def test_each_one_measures_no_more_than_the_exact_epsilon(self):
        for adversary in ADVERSARIES:
            more = ["--malicious-rounds", "30"] if adversary == "collusion" else []
            found = self.json("audit", "ldp-sgd", "--epsilon", 4, "--adversary", adversary, *LINEAR,
                              *more)
            self.assertEqual(found["adversary"], adversary)
            self.assertEqual(found["dimension"], 7850)
            self.assertEqual((found["trials"], found["learning_trials"]), (720, 120))
            self.assertEqual(found["verdict"], "consistent")
            self.assertLessEqual(found["epsilon_lower"], found["exact_epsilon"])
            for key in ("confidence", "claim", "fpr", "fnr", "accuracy", "raw", "two_sided",
                        "pooled", "seconds", "mean", "other_distinguisher"):
                self.assertIn(key, found)

    def test_a_dummy_is_the_worst_pair(self):
        found = self.json("audit", "ldp-sgd", "--epsilon", 4, "--adversary", "dummy",
                          "--dimension", 500)
        self.assertEqual(found["measurements"], 10)
        self.assertEqual((found["trials"], found["learning_trials"]), (12000, 2000))
        self.assertGreater(found["epsilon_lower"], 3.6)
        self.assertAlmostEqual(found["mean"]["pooled"], 3.6, delta=0.3)

    def test_a_network_on_libtorch(self):
        found = self.json("audit", "privunit", "--epsilon", 8, "--adversary", "gradient-flip",
                          "--data", "embedded", "--trials", 100, "--measurements", 1)
        self.assertEqual(found["dimension"], 20490)
        self.assertEqual(found["model"], "srr-mnist")

    def test_the_result_depends_on_the_seed_alone(self):
        def counts(*more):
            found = self.json("audit", "ldp-sgd", "--epsilon", 1, "--adversary", "benign", *LINEAR,
                              *more)
            del found["seconds"]
            return found
        self.assertEqual(counts("--threads", 1), counts("--threads", 3))
        self.assertNotEqual(counts()["fpr"], counts("--seed", 9)["fpr"])

    def test_a_claim_below_the_truth_is_refuted_early(self):
        done = sotto("audit", "ldp-sgd", "--epsilon", 4, "--claim", 2, "--adversary", "dummy",
                     "--dimension", 50, "--trials", 200000, "--measurements", 1, "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["verdict"], "violated")
        self.assertTrue(found["stopped_early"])
        self.assertLess(found["trials"], 200000)
        self.assertGreater(found["epsilon_lower"], 2)

    def test_a_gaussian_shows_its_tail(self):
        found = self.json("audit", "gaussian", "--epsilon", 2, "--delta", 0.001, "--adversary",
                          "dummy", "--dimension", 20, "--trials", 4000)
        self.assertGreater(found["epsilon_lower"], found["other_distinguisher"]["epsilon_lower"])
        self.assertLessEqual(found["epsilon_lower"], found["exact_epsilon"])
        self.assertGreater(abs(found["threshold"]), 0.3)

    def test_all_trials_are_made_where_they_are_asked_for(self):
        done = sotto("audit", "ldp-sgd", "--epsilon", 4, "--claim", 2, "--adversary", "dummy",
                     "--dimension", 50, "--trials", 50000, "--measurements", 1, "--all-trials",
                     "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertFalse(json.loads(done.stdout)["stopped_early"])

    def test_the_picture_and_the_text(self):
        plot = self.folder / "cosines.svg"
        text = self.ok("audit", "ldp-sgd", "--epsilon", 4, "--adversary", "dummy", "--trials", 500,
                       "--plot", plot)
        self.assertIn("consistent with the claimed 4", text)
        self.assertIn("cosine", text)
        self.assertIn("it was g2", plot.read_text())

    def test_what_is_wrong_is_said(self):
        base = ["audit", "ldp-sgd", "--epsilon", 4]
        self.fails(2, ["dumy", "did you mean 'dummy'"], *base, "--adversary", "dumy")
        self.fails(2, ["benign", "--data"], *base, "--adversary", "benign")
        self.fails(2, ["cosin", "'cosine'"], *base, "--adversary", "dummy", "--distinguisher",
                   "cosin")
        self.fails(2, ["--data", "--adversary"], *base, "--data", "embedded")
        self.fails(2, ["--dimension"], *base, "--adversary", "benign", "--data", "embedded",
                   "--dimension", 5)
        self.fails(2, ["two-point", "vector"], "audit", "two-point", "--epsilon", 1, "--adversary",
                   "dummy")
        dummy = [*base, "--adversary", "dummy"]
        self.fails(2, ["(0.75, 1)"], *dummy, "--confidence", 0.5)
        self.fails(2, ["100 to 10^12"], *dummy, "--trials", 0)
        self.fails(2, ["at least 0"], *dummy, "--claim", "nan")
        self.fails(2, ["--train-rounds", "--data"], *dummy, "--train-rounds", 5)
        self.fails(2, ["--malicious-rounds", "collusion"], *dummy, "--malicious-rounds", 5)
        self.fails(2, ["--range"], *dummy, "--range", "0,1")


class Experiments(SottoTest):
    def test_dummies_of_every_norm(self):
        out = self.folder / "out"
        found = self.json("reproduce", "measure-norm", "--quick", "--out", out)
        self.assertEqual(found["format"], "sotto.audit-study.v1")
        self.assertEqual(len(found["rows"]), 24)
        for name in ("results.json", "results.csv", "figure.svg", "report.html"):
            self.assertTrue((out / name).is_file(), name)
        four = [row for row in found["rows"] if row["label"] == "epsilon 4"]
        self.assertLess(four[0]["accuracy"], four[-1]["accuracy"])


if __name__ == "__main__":
    unittest.main()
