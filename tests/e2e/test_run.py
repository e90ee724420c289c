"""Whole runs: same bits on any number of threads, reports, user data, refusals."""

import json
import os
import shutil
import subprocess
import unittest
from pathlib import Path

from sotto_program import EMBEDDED, PROGRAM, ROOT, SottoTest

SHORT = ["--set", "federation.rounds=2", "--set", "federation.k=6", "--set", "train.epochs=1"]


class Runs(SottoTest):
    def run_short(self, name, *more):
        out = self.folder / name
        result = self.json("run", EMBEDDED, *SHORT, "--out", out, *more)
        return out, result

    def test_the_model_is_bit_identical_on_1_2_and_3_threads(self):
        models = []
        for threads in (1, 2, 3):
            out, result = self.run_short(f"t{threads}", "--threads", threads)
            models.append((out / "model.pt").read_bytes())
            self.assertEqual(result["threads"], threads)
        self.assertEqual(models[0], models[1])
        self.assertEqual(models[0], models[2])
        other, _ = self.run_short("seed", "--seed", 5)
        self.assertNotEqual(models[0], (other / "model.pt").read_bytes())

    def test_files_and_json_agree(self):
        out, result = self.run_short("r")
        record = json.loads((out / "run.json").read_text())
        lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual(record["final"], result["final"])
        self.assertEqual(lines, result["rounds"])
        self.assertEqual(result["privacy"]["mechanism"], "none")
        self.assertIsNone(result["privacy"]["claims"][0]["epsilon"])

    def test_report_of_two_runs(self):
        first, _ = self.run_short("a")
        second, _ = self.run_short("b", "--seed", 2)
        page = self.folder / "both.html"
        self.ok("report", first, second, "--out", page)
        text = page.read_text()
        self.assertIn("<svg", text)
        for outside in ("src=\"http", "href=\"http", "url(http", "<script"):
            self.assertNotIn(outside, text)

    def test_a_run_is_not_overwritten_by_accident(self):
        out, _ = self.run_short("r")
        before = (out / "model.pt").read_bytes()
        self.fails(2, ["already holds a run", "--resume", "--replace"], "run", EMBEDDED, "--out", out)
        self.fails(2, ["recipe that differs"], "run", EMBEDDED, *SHORT, "--set", "train.lr=0.2",
                   "--out", out, "--resume")
        self.assertEqual((out / "model.pt").read_bytes(), before)

    def test_a_folder_that_cannot_be_made_is_said_before_anything_is_loaded(self):
        (self.folder / "file").write_text("")
        self.fails(1, ["file is not a folder"], "run", EMBEDDED, "--set", "data.name=nothing-here",
                   "--out", self.folder / "file" / "run")

    def test_a_users_csv_trains(self):
        rows = ["a,b,label"]
        rows += [f"{i % 7 / 7},{1 if i % 2 else -1},{'yes' if i % 2 else 'no'}" for i in range(400)]
        table = self.folder / "t.csv"
        table.write_text("\n".join(rows) + "\n")
        result = self.json("run", EMBEDDED, "--set", f"data.name={table}", "--set", "model.name=linear",
                           "--set", "federation.clients=10", "--set", "federation.fraction=1.0",
                           "--set", "federation.rounds=5", "--out", self.folder / "csv")
        self.assertGreater(result["final"]["accuracy"], 0.95)

    def test_a_data_set_that_is_not_there_says_how_to_get_it(self):
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder)}
        environment.pop("SOTTO_DATA", None)
        self.fails(1, ["mnist", "sotto data fetch mnist"], "run", ROOT / "recipes" / "srr-mnist.toml",
                   "--out", self.folder / "m", env=environment)

    def test_a_program_without_its_module_says_so_before_the_first_round(self):
        alone = Path(shutil.copy(PROGRAM, self.folder / "sotto"))
        done = subprocess.run([alone, "run", EMBEDDED, "--out", self.folder / "r"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the trainer on LibTorch is missing", done.stderr)
        self.assertFalse((self.folder / "r" / "metrics.jsonl").exists())


@unittest.skipUnless(os.environ.get("SOTTO_DATA"), "SOTTO_DATA is not set: no real data sets")
class RealData(SottoTest):
    # What makes a recipe's round small, beside few clients; those of LDPFL and of local learning
    # train a network for every client and have their tests on the embedded data.
    SMALL = {
        "cldp-dpsgd": [], "cldp-fmnist": ["federation.rounds=15"],
        "cldp-hybrid": ["federation.k=8"], "cldp-smc": [],
        "client-level-mnist": ["shuffle.min_batch=1", "federation.rounds=2", "statistics.rounds=1"],
        "ldp-fed-fmnist": [],
        "ldp-fl-mnist": ["shuffle.split=100"], "srr-cifar": [], "srr-cifar-table": [],
        "srr-medical": [], "srr-mnist": [],
    }

    def test_every_recipe_is_planned(self):
        for recipe in sorted((ROOT / "recipes").glob("*.toml")):
            if recipe.stem == "ldpfl-svhn":
                continue  # the shape of this set is learnt from its files
            with self.subTest(recipe=recipe.name):
                plan = self.json("account", recipe)
                self.assertGreater(len(plan["claims"]), 0)

    def test_recipes_run_a_small_round(self):
        for name, more in self.SMALL.items():
            with self.subTest(recipe=name):
                settings = ["federation.clients=1000", "federation.k=2", "federation.rounds=1",
                            "train.epochs=1", *more]
                arguments = [word for s in settings for word in ("--set", s)]
                result = self.json("run", ROOT / "recipes" / f"{name}.toml", *arguments,
                                   "--out", self.folder / name)
                self.assertGreaterEqual(result["final"]["accuracy"], 0.05)
