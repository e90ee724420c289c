"""Runs with limits and a ledger on disk: refusals, the end of a budget, kill -9 and --resume."""

import json
import random
import shutil
import sqlite3
import subprocess
import time

from sotto_program import EMBEDDED, PROGRAM, SottoTest

SHORT = ["run", EMBEDDED, "--set", "train.epochs=1"]


class Budget(SottoTest):
    def charges(self, file):
        """(client, round) of every charge in the ledger's log."""
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as database:
            bodies = [body.split("\t") for (body,) in database.execute("SELECT body FROM log")]
        return [(fields[1], fields[4]) for fields in bodies if fields[0] == "charge"]

    def test_who_has_no_budget_drops_out_and_the_run_ends_when_nobody_has(self):
        out = self.folder / "r"
        result = self.json(*SHORT, "--set", "federation.clients=6", "--set", "federation.fraction=1",
                           "--set", "ledger.rounds=[2,3]", "--out", out)
        self.assertEqual(result["stopped"], "budget")
        self.assertEqual([r["refused"] for r in result["rounds"]], [0, 0, 3])
        self.assertEqual([r["reports"] for r in result["rounds"]], [6, 6, 3])
        self.assertEqual(result["privacy"]["rounds"], 3)
        self.assertFalse(result["privacy"]["planned"])
        self.assertTrue((out / "ledger.sqlite").exists())
        self.assertEqual(result["ledger"], json.loads((out / "run.json").read_text())["ledger"])
        self.assertIn("finished early: budget", self.report(out))

    def report(self, out):
        self.ok("report", out)
        return (out / "report.html").read_text()

    def test_the_reason_is_named(self):
        done = subprocess.run([PROGRAM, *SHORT, "--set", "privacy.mechanism=two-point", "--set",
                               "privacy.epsilon=1", "--set", "federation.k=2", "--set",
                               "ledger.epsilon_per_round=8", "--out", self.folder / "r", "--json"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["rounds"], [])
        self.assertIn("no client has the budget for round 1", done.stderr)
        self.assertIn("refused", done.stderr)

    def test_one_ledger_serves_several_trainings(self):
        ledger = self.folder / "clients.sqlite"
        same = ["--set", "federation.clients=4", "--set", "federation.fraction=1", "--set",
                "ledger.rounds=3", "--set", "federation.rounds=2", "--ledger", ledger]
        first = self.json(*SHORT, *same, "--out", self.folder / "a")
        self.assertEqual(first["stopped"], "rounds")
        second = self.json(*SHORT, *same, "--set", "train.lr=0.05", "--out", self.folder / "b")
        self.assertEqual(second["stopped"], "budget")
        self.assertEqual(len(second["rounds"]), 1)
        # The same training again finds its charges and pays nothing.
        again = self.json(*SHORT, *same, "--out", self.folder / "c")
        self.assertEqual(again["stopped"], "rounds")
        self.assertFalse((self.folder / "a" / "ledger.sqlite").exists())

    def test_replace_starts_over_with_an_empty_ledger(self):
        out = self.folder / "r"
        arguments = [*SHORT, "--set", "federation.clients=4", "--set", "federation.fraction=1",
                     "--set", "ledger.rounds=1", "--out", out]
        self.assertEqual(len(self.json(*arguments)["rounds"]), 1)
        self.assertEqual(len(self.json(*arguments, "--replace", "--set", "train.lr=0.05")["rounds"]), 1)

    def test_killed_and_resumed_pays_once_and_ends_in_the_same_bits(self):
        arguments = [*SHORT, "--set", "federation.rounds=6", "--set", "federation.k=4", "--set",
                     "ledger.rounds=[9,1]", "--set", "output.checkpoint_every=2", "--json"]
        whole = self.folder / "whole"
        start = time.monotonic()
        self.ok(*arguments, "--out", whole)
        length = time.monotonic() - start
        random.seed(4)
        for number in range(4):
            out = self.folder / f"run{number}"
            resume = []
            for _ in range(3):
                process = subprocess.Popen([PROGRAM, *arguments, "--out", out, *resume],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(random.uniform(0.1, 0.9) * length)
                process.kill()
                process.wait()
                if (out / "run.json").exists():
                    resume = ["--resume"]
                else:
                    shutil.rmtree(out, ignore_errors=True)
            self.ok(*arguments, "--out", out, *resume)
            self.assertEqual((out / "model.pt").read_bytes(), (whole / "model.pt").read_bytes())
            paid = self.charges(out / "ledger.sqlite")
            self.assertEqual(len(paid), len(set(paid)))
            self.assertEqual(sorted(paid), sorted(self.charges(whole / "ledger.sqlite")))
