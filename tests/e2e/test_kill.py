"""kill -9 at random moments, then --resume: the same model, bit for bit, as an undisturbed run."""

import json
import os
import random
import subprocess
import time

from sotto_program import EMBEDDED, PROGRAM, SottoTest

KILLS = int(os.environ.get("SOTTO_KILLS", "12"))
ARGUMENTS = ["run", EMBEDDED, "--set", "federation.rounds=8", "--set", "federation.k=4",
             "--set", "train.epochs=1", "--json"]


class Kill(SottoTest):
    def test_resumes_to_the_same_bits(self):
        whole = self.folder / "whole"
        start = time.monotonic()
        self.ok(*ARGUMENTS, "--out", whole)
        length = time.monotonic() - start
        expected = (whole / "model.pt").read_bytes()
        random.seed(1)
        kills = 0
        run = 0
        while kills < KILLS:
            run += 1
            out = self.folder / f"run{run}"
            resume = []
            while True:
                process = subprocess.Popen([PROGRAM, *ARGUMENTS, "--out", out, *resume],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                try:
                    _, error = process.communicate(timeout=random.uniform(0.05, 0.9) * length)
                    self.assertEqual(process.returncode, 0, error)
                    break
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.communicate()
                    kills += 1
                self.check_nothing_half_written(out)
                resume = ["--resume"] if (out / "run.json").exists() else []
                if kills >= KILLS:
                    self.ok(*ARGUMENTS, "--out", out, *resume)
                    break
            self.assertEqual((out / "model.pt").read_bytes(), expected, f"after {kills} kills")
            rounds = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
            self.assertEqual([r["round"] for r in rounds], list(range(1, 9)))
        print(f"{kills} kills over {run} runs")

    def check_nothing_half_written(self, out):
        record = out / "run.json"
        if record.exists():
            self.assertIn(json.loads(record.read_text())["status"], ("running", "finished"))
        metrics = out / "metrics.jsonl"
        if metrics.exists():
            for line in metrics.read_text().splitlines():
                json.loads(line)
