"""sotto reproduce: the list, quick experiments, resume, missing data, Markdown; and the demo."""

import json
import os
import re
import time
import unittest

from sotto_program import SottoTest, sotto


class List(SottoTest):
    def test_lists_the_experiments_of_the_papers(self):
        entries = {e["name"]: e for e in self.json("reproduce", "--list")["experiments"]}
        for name in ("srr-mnist", "srr-params", "srr-epsilon", "srr-clients", "srr-mechanisms",
                     "srr-cifar", "srr-medical", "srr-latency", "ldp-fl-mnist", "ldp-fl-fmnist",
                     "cldp-fmnist", "cldp-cycles", "cldp-personal", "cldp-baselines", "ldpfl-mnist",
                     "ldpfl-fmnist", "ldpfl-cifar", "ldpfl-alpha", "ldpfl-noniid", "ldpfl-alone",
                     "ldpfl-table1", "client-level"):
            self.assertIn(name, entries)
        self.assertEqual(entries["srr-mnist"]["family"], "srr-fl")
        self.assertIn("srr-mnist", self.ok("reproduce", "--list"))

    def test_wrong_use_is_named(self):
        self.fails(2, ["did you mean 'srr-mnist'"], "reproduce", "srr-mnits")
        self.fails(2, ["--list"], "reproduce")
        self.fails(2, ["--all"], "reproduce", "srr-mnist", "--all")

    def test_missing_data_is_a_failure_where_named(self):
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder)}
        environment.pop("SOTTO_DATA", None)
        self.fails(1, ["mnist", "not here", "sotto data fetch"], "reproduce", "srr-mechanisms",
                   "--quick", "--out", self.folder / "r", env=environment)
        self.assertFalse((self.folder / "r").exists())


class Latency(SottoTest):
    def test_measures_without_data(self):
        out = self.folder / "r"
        result = self.json("reproduce", "srr-latency", "--quick", "--out", out)
        self.assertTrue(result["quick"])
        rows = {row["weights"]: row for row in result["rows"]}
        self.assertEqual(sorted(rows), [20490, 2169770, 5611878])
        self.assertEqual(rows[20490]["paper_seconds"], 0.698)
        for row in rows.values():
            self.assertGreater(row["perturb_seconds"], 0)
            self.assertLess(row["perturb_seconds"], row["paper_seconds"] / 10)
        for name in ("results.json", "results.csv", "figure.svg"):
            self.assertTrue((out / name).exists())
        self.assertIn("| MNIST model | 20,490 |",
                      self.ok("reproduce", "srr-latency", "--quick", "--out", out, "--markdown"))


class Several(SottoTest):
    def test_each_has_its_folder_and_one_that_fails_does_not_stop_the_rest(self):
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder)}
        environment.pop("SOTTO_DATA", None)
        out = self.folder / "all"
        done = sotto("reproduce", "srr-mechanisms", "srr-latency", "--quick", "--out", out,
                     env=environment)
        self.assertEqual(done.returncode, 1)
        self.assertIn("srr-mechanisms: not run: data not here", done.stderr)
        self.assertTrue((out / "srr-latency-quick" / "results.json").exists())
        self.assertFalse((out / "srr-mechanisms-quick").exists())
        # The end of the output is what became of each.
        lines = done.stdout.splitlines()
        self.assertRegex(lines[-2], r"^srr-mechanisms +not run: data not here ")
        self.assertRegex(lines[-1], r"^srr-latency +done .*srr-latency-quick$")


@unittest.skipUnless(os.environ.get("SOTTO_DATA"), "SOTTO_DATA is not set: no real data sets")
class Quick(SottoTest):
    def test_a_quick_experiment_is_marked_kept_and_gone_on_with(self):
        out = self.folder / "r"
        result = self.json("reproduce", "srr-mechanisms", "--quick", "--out", out)
        self.assertTrue(result["quick"])
        found = {c["label"]: c for c in result["configurations"]}
        self.assertEqual(found["MNIST, noise-free"]["paper"], {"low": 0.979, "high": 0.979})
        self.assertGreater(found["MNIST, noise-free"]["accuracy"], 0.5)
        self.assertTrue(found["MNIST, SRR, epsilon 5"]["claims"]["client"]["vacuous"])
        self.assertIn("quick", (out / "figure.svg").read_text())
        self.assertIn("Quick", (out / "report.html").read_text())
        before = (out / "results.csv").read_text()
        (out / "results.json").unlink()
        text = self.ok("reproduce", "srr-mechanisms", "--quick", "--out", out)
        self.assertIn("QUICK", text)
        self.assertNotIn("finished ", text)
        self.assertEqual((out / "results.csv").read_text(), before)
        rows = self.ok("reproduce", "srr-mechanisms", "--quick", "--out", out, "--markdown")
        self.assertIn("| MNIST, noise-free | 97.9 % |", rows)
        self.assertIn("`sotto reproduce srr-mechanisms --quick`", rows)

    def test_points_of_experiments_that_were_not_run_are_named(self):
        (self.folder / "srr-mnist").mkdir()
        (self.folder / "srr-mnist" / "results.json").write_text('{"configurations": 3}')
        done = sotto("reproduce", "client-level", "--quick", "--seeds", "1",
                     "--out", self.folder / "r", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("srr-mnist", "ldp-fl-mnist", "ldpfl-mnist"):
            self.assertIn(f"run `sotto reproduce {name}` first", done.stderr)
        self.assertTrue((self.folder / "r" / "figure.svg").exists())

    def test_only_repeats_the_rows_that_are_asked_for(self):
        result = self.json("reproduce", "ldp-fl-mnist", "--quick", "--only", "noise-free",
                           "--seeds", "1", "--out", self.folder / "r")
        self.assertEqual([c["label"] for c in result["configurations"]], ["noise-free"])
        self.assertFalse(result["complete"])
        # A label in full asks for its rows alone: it is a part of "GRR, debiased" too.
        rows = self.json("reproduce", "srr-mnist", "--quick", "--only", "GRR",
                         "--seeds", "1", "--out", self.folder / "grr")["configurations"]
        self.assertEqual({c["series"] for c in rows}, {"GRR"})
        self.fails(2, ["no row with 'nothing'"], "reproduce", "ldp-fl-mnist", "--quick",
                   "--only", "nothing", "--out", self.folder / "r")

    def test_show_tells_what_is_there_and_starts_nothing(self):
        made = self.json("reproduce", "ldp-fl-mnist", "--quick", "--only", "noise-free",
                         "--seeds", "1", "--out", self.folder / "r")["configurations"][0]
        run = self.folder / "r" / "noise-free_seed=1" / "run.json"
        # A run that was made on another device is the same run.
        run.write_text(run.read_text().replace('"device": "cpu"', '"device": "cuda"'))
        shown = self.json("reproduce", "ldp-fl-mnist", "--quick", "--seeds", "1", "--show",
                          "--out", self.folder / "r")
        self.assertFalse(shown["complete"])
        first, *others = shown["configurations"]
        self.assertEqual((first["accuracy"], first["not_run"]), (made["accuracy"], 0))
        self.assertEqual({(c["accuracy"], c["not_run"]) for c in others}, {(None, 1)})
        runs = [p.name for p in (self.folder / "r").iterdir() if "seed=" in p.name]
        self.assertEqual(runs, ["noise-free_seed=1"])
        self.assertIn("not run", self.ok("reproduce", "ldp-fl-mnist", "--quick", "--seeds", "1",
                                         "--show", "--out", self.folder / "r"))
        self.fails(1, ["there is no such folder"], "reproduce", "ldp-fl-mnist", "--show",
                   "--out", self.folder / "other")
        self.assertFalse((self.folder / "other").exists())
        self.fails(2, ["srr-latency measures anew"], "reproduce", "srr-latency", "--show",
                   "--out", self.folder / "other")


class Demo(SottoTest):
    def test_demo_shows_what_privacy_costs_in_under_90_seconds(self):
        start = time.monotonic()
        text = self.ok("demo", "--out", self.folder / "demo")
        self.assertLess(time.monotonic() - start, 90)
        self.assertIn("report.html", text)
        promises = re.findall("  (none|vacuous|holds)$", text, re.M)
        self.assertEqual(promises, ["none", "vacuous", "vacuous", "vacuous", "holds"])
        result = json.loads((self.folder / "demo" / "results.json").read_text())
        accuracy = {c["label"]: c["accuracy"] for c in result["configurations"]}
        client = {c["label"]: c["claims"]["client"] for c in result["configurations"]}
        self.assertGreater(accuracy["noise-free"], 0.96)
        self.assertLess(client["whole gradient, shuffled"]["epsilon"], 2)
        self.assertGreater(accuracy["whole gradient, shuffled"], 0.85)
        certificate = self.folder / "demo" / "client-level" / "certificate.json"
        self.assertTrue(self.json("account", "check", certificate)["holds"])
        self.assertGreater(accuracy["SRR, tuned"], accuracy["SRR, the paper's setting"])
        self.assertIn("<svg", (self.folder / "demo" / "report.html").read_text())
