"""sotto audit --shuffled, and the reproductions that need no data: measure-shuffle, refutations."""

import csv
import unittest

from sotto_program import SottoTest

BATCH = ("audit", "--shuffled", "two-point", "--epsilon", "1", "--clients", "432",
         "--trials", "400000")


class Shuffled(SottoTest):
    def test_audited_below_exact_below_proven(self):
        found = self.json(*BATCH, "--delta", "1e-6")
        self.assertEqual(found["verdict"], "consistent")
        self.assertEqual(found["clients"], 432)
        self.assertEqual(found["trials"], 400000)
        self.assertEqual(found["classes"], 2)
        proven = found["proven"]
        self.assertGreater(found["epsilon_lower"], 0.01)
        self.assertLessEqual(found["epsilon_lower"], proven["exact-binary"])
        self.assertLessEqual(proven["exact-binary"], proven["generic"])
        self.assertAlmostEqual(proven["exact-binary"], 0.2034, delta=0.0002)
        self.assertAlmostEqual(proven["generic"], 0.2333, delta=0.0002)
        self.assertAlmostEqual(found["seed_statistic_exact"], 0.041, delta=0.001)
        for key in ("confidence", "claim", "fpr", "fnr", "accuracy", "raw", "two_sided", "pooled",
                    "seconds", "delta"):
            self.assertIn(key, found)

    def test_threads_do_not_matter(self):
        found = [self.json(*BATCH, "--threads", n) for n in ("1", "2")]
        for one in found:
            del one["seconds"]
        self.assertEqual(found[0], found[1])

    def test_a_claim_that_is_too_small_is_violated(self):
        self.fails(1, [], "audit", "--shuffled", "two-point", "--epsilon", "4", "--clients", "20",
                   "--claim", "1", "--trials", "200000")

    def test_both_distinguishers_where_reports_are_not_binary(self):
        found = self.json("audit", "--shuffled", "grr", "--epsilon", "4", "--precision", "1",
                          "--clients", "100", "--trials", "100000")
        self.assertEqual([one["distinguisher"] for one in found["distinguishers"]],
                         ["frequency", "likelihood"])
        self.assertEqual(found["verdict"], "consistent")
        for name in ("ldp-sgd", "privunit"):
            found = self.json("audit", "--shuffled", name, "--epsilon", "2", "--norm", "1",
                              "--dimension", "50", "--clients", "100", "--trials", "40000")
            self.assertEqual(found["verdict"], "consistent")

    def test_wrong_usage(self):
        self.fails(2, ["2 to 100,000,000 clients"], "audit", "--shuffled", "two-point",
                   "--epsilon", "1", "--clients", "1")
        self.fails(2, ["frequency", "did you mean"], *BATCH, "--distinguisher", "frequenzy")
        self.fails(2, ["--precision"], "audit", "--shuffled", "em", "--epsilon", "1",
                   "--precision", "10")
        self.fails(2, ["--bits"], "audit", "--shuffled", "rappor", "--epsilon", "1", "--bits",
                   "40")


class Measured(SottoTest):
    def test_table_3(self):
        out = self.folder / "r"
        result = self.json("reproduce", "measure-shuffle", "--quick", "--out", out)
        self.assertEqual(len(result["rows"]), 6)
        for row in result["rows"]:
            self.assertLessEqual(row["epsilon_lower"], row["exact_binary"])
            self.assertLessEqual(row["exact_binary"], row["numerical"])
            self.assertLessEqual(row["numerical"], row["closed_form"])
            self.assertAlmostEqual(row["closed_form"], row["paper_theoretical"], delta=0.012)
            # What the paper measured lies below what can be shown in the same batch.
            self.assertGreater(row["epsilon_lower"], row["seed_statistic_exact"])
        for name in ("results.json", "results.csv", "figure.svg"):
            self.assertTrue((out / name).exists())

    def test_refutations(self):
        out = self.folder / "r"
        result = self.json("reproduce", "refutations", "--quick", "--out", out)
        self.assertTrue(result["as_expected"])
        rows = {row["name"]: row for row in result["rows"]}
        self.assertGreaterEqual(len(rows), 9)
        for row in rows.values():
            self.assertEqual(row["verdict"], "violated")
            self.assertGreater(row["epsilon_lower"], row["claim"])
            self.assertEqual(row["remedy"]["verdict"], "consistent")
        self.assertAlmostEqual(rows["ldpfl-2"]["exact"], 34885, delta=1)
        self.assertTrue(rows["grr-raw"]["exact_infinite"])
        self.assertIsNone(rows["grr-raw"]["exact"])
        with open(out / "results.csv", newline="", encoding="utf-8") as file:
            table = list(csv.DictReader(file))
        self.assertEqual([line["name"] for line in table], list(rows))
        self.assertEqual({line["verdict"] for line in table}, {"violated"})
        self.assertIn("<svg", (out / "figure.svg").read_text(encoding="utf-8"))
        text = self.ok("reproduce", "refutations", "--quick", "--out", out, "--markdown")
        self.assertIn("| ldpfl-2 |", text)


if __name__ == "__main__":
    unittest.main()
