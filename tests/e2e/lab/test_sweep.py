"""Grids of runs: the same bits as single runs, kill -9 and go on, failures named, files sound."""

import csv
import json
import os
import random
import signal
import subprocess
import time

from sotto_program import EMBEDDED, PROGRAM, SottoTest, sotto

SMALL = ["--set", "federation.rounds=4", "--set", "federation.k=4", "--set", "train.epochs=1"]
NOISE = ["--set", "privacy.mechanism=srr", "--set", "privacy.radius=0.15"]
GRID = ["--vary", "privacy.epsilon=2,5", "--vary", "federation.seed=1,2"]
NAMES = ["epsilon=2_seed=1", "epsilon=2_seed=2", "epsilon=5_seed=1", "epsilon=5_seed=2"]


class Sweep(SottoTest):
    def test_every_run_is_the_same_as_sotto_run_and_the_table_is_of_its_runs(self):
        out = self.folder / "s"
        result = self.json("sweep", EMBEDDED, *SMALL, *NOISE, *GRID, "--out", out)
        self.assertTrue(result["complete"])
        self.assertEqual(sorted(p.name for p in out.iterdir() if p.is_dir()), NAMES)
        alone = self.folder / "alone"
        self.ok("run", EMBEDDED, *SMALL, *NOISE, "--set", "privacy.epsilon=5", "--seed", 2, "--out", alone)
        self.assertEqual((alone / "model.pt").read_bytes(),
                         (out / "epsilon=5_seed=2" / "model.pt").read_bytes())
        accuracies = [json.loads((out / name / "run.json").read_text())["final"]["accuracy"]
                      for name in NAMES[2:]]
        found = result["configurations"][1]
        self.assertEqual(found["label"], "epsilon = 5")
        self.assertEqual(found["seeds"], 2)
        self.assertAlmostEqual(found["accuracy"], sum(accuracies) / 2, places=12)
        self.assertAlmostEqual(found["deviation"], abs(accuracies[0] - accuracies[1]) / 2 ** 0.5, places=12)
        self.assertTrue(found["claims"]["client"]["vacuous"])
        rows = list(csv.DictReader((out / "results.csv").read_text().splitlines()))
        self.assertEqual([r["privacy.epsilon"] for r in rows], ["2", "5"])
        self.assertEqual(float(rows[1]["accuracy"]), found["accuracy"])
        page = (out / "report.html").read_text()
        for part in ("Accuracy by round", "Accuracy by privacy.epsilon", "epsilon = 5", "vacuous"):
            self.assertIn(part, page)
        for outside in ('src="http', 'href="http', "url(http", "<script"):
            self.assertNotIn(outside, page)
        for picture in ("figure.svg", "curves.svg"):
            self.assertTrue((out / picture).read_text().startswith("<svg"))
        self.assertFalse((out / "logs").exists())

        stamps = {name: (out / name / "run.json").stat().st_mtime_ns for name in NAMES}
        text = self.ok("sweep", EMBEDDED, *SMALL, *NOISE, *GRID, "--out", out)
        self.assertEqual(text.count("here already"), 4)
        self.assertEqual(stamps, {n: (out / n / "run.json").stat().st_mtime_ns for n in NAMES})

    def test_a_wider_grid_keeps_what_is_there(self):
        out = self.folder / "s"
        self.ok("sweep", EMBEDDED, *SMALL, "--vary", "train.lr=0.1", "--out", out)
        text = self.ok("sweep", EMBEDDED, *SMALL, "--vary", "train.lr=0.1,0.05", "--out", out)
        self.assertEqual(text.count("here already"), 1)
        self.fails(2, ["fewer", "--out"], "sweep", EMBEDDED, *SMALL, "--set", "federation.rounds=2",
                   "--vary", "train.lr=0.1", "--out", out)

    def test_killed_at_any_moment_it_goes_on_to_the_same_bits(self):
        arguments = ["sweep", EMBEDDED, *SMALL, *NOISE, *GRID, "--out"]
        whole = self.folder / "whole"
        start = time.monotonic()
        self.ok(*arguments, whole)
        length = time.monotonic() - start
        out = self.folder / "killed"
        random.seed(3)
        for kill in range(6):
            process = subprocess.Popen([PROGRAM, *map(str, arguments), str(out)],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(random.uniform(0.1, 0.5) * length)
            process.send_signal(signal.SIGKILL)
            process.wait()
            for record in out.glob("*/run.json"):
                self.assertIn(json.loads(record.read_text())["status"], ("running", "finished"))
        self.ok(*arguments, out)
        for name in NAMES:
            self.assertEqual((out / name / "model.pt").read_bytes(),
                             (whole / name / "model.pt").read_bytes(), name)

    def test_children_do_not_outlive_a_killed_sweep(self):
        out = self.folder / "s"
        process = subprocess.Popen(
            [PROGRAM, "sweep", EMBEDDED, "--set", "federation.rounds=1000", "--vary", "train.lr=0.1",
             "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        record = out / "lr=0.1" / "run.json"
        deadline = time.monotonic() + 60
        while not record.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertTrue(record.exists())
        process.kill()
        process.wait()
        time.sleep(1)
        alive = []
        for entry in os.listdir("/proc"):
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    if str(out).encode() in file.read():
                        alive.append(entry)
            except OSError:
                continue
        self.assertEqual(alive, [])

    def test_a_second_sweep_in_the_same_folder_is_refused(self):
        out = self.folder / "s"
        arguments = [PROGRAM, "sweep", EMBEDDED, "--set", "federation.rounds=1000", "--vary",
                     "train.lr=0.1", "--out", str(out)]
        first = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 60
            while not (out / "lr=0.1").exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            self.fails(2, ["another sotto is at work"], *arguments[1:])
        finally:
            first.kill()
            first.wait()

    def test_a_failing_run_loses_no_other(self):
        out = self.folder / "s"
        done = sotto("sweep", EMBEDDED, *SMALL, "--vary", "federation.clients=100,999999", "--out", out)
        self.assertEqual(done.returncode, 1)
        self.assertIn("1 of 2 runs failed", done.stderr)
        self.assertIn("clients=999999: ", done.stderr)
        self.assertIn("999999", done.stderr.split("clients=999999: ")[1])
        result = json.loads((out / "results.json").read_text())
        self.assertFalse(result["complete"])
        self.assertIsNotNone(result["configurations"][0]["accuracy"])
        self.assertIsNone(result["configurations"][1]["accuracy"])
        self.assertTrue((out / "logs" / "clients=999999.txt").exists())

    def test_lists_are_values(self):
        result = self.json("sweep", EMBEDDED, *SMALL, "--set", "data.deviation=[0.3]", "--vary",
                           "data.mean=[0.1],[0.2]", "--out", self.folder / "s")
        self.assertEqual([c["varied"]["data.mean"] for c in result["configurations"]], ["[0.1]", "[0.2]"])

    def test_mistakes_are_named_before_anything_runs(self):
        out = self.folder / "s"

        def wrong(parts, *arguments):
            self.fails(2, parts, "sweep", EMBEDDED, "--out", out, *arguments)
            self.assertFalse(any(out.glob("*/run.json")))

        wrong(["privacy.epsilom", "did you mean 'privacy.epsilon'"], "--vary", "privacy.epsilom=1")
        wrong(["train.lr", "(0, 1000]"], "--vary", "train.lr=0.1,-1")
        wrong(["given twice"], "--vary", "train.lr=0.1", "--vary", "train.lr=0.2")
        wrong(["--vary"])
