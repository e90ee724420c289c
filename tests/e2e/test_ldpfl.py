"""LDPFL's pipeline: from records to bits to a model, with the exact epsilon beside the claimed one."""

import json
import math
import random
import subprocess
import time

from sotto_program import PROGRAM, ROOT, SottoTest, sotto

RECIPE = str(ROOT / "recipes" / "ldpfl-embedded.toml")
SMALL = ["--set", "federation.rounds=2", "--set", "encode.features=5"]


class Ldpfl(SottoTest):
    def claims(self, record):
        return {claim["scope"]: claim for claim in record["privacy"]["claims"]}

    def test_learns_and_tells_the_exact_epsilon(self):
        out = self.folder / "run"
        record = self.json("run", RECIPE, "--out", out)
        self.assertGreater(record["final"]["accuracy"], 0.5)
        encode = record["privacy"]["encode"]
        self.assertEqual(record["privacy"]["mechanism"], "ldpfl-2")
        self.assertEqual(encode["bits"], 100)
        self.assertEqual(encode["features"], 10)
        self.assertEqual(encode["claimed_epsilon"], 0.5)
        self.assertGreater(encode["exact_epsilon"], 340)
        self.assertIsNone(encode["label_epsilon"])
        self.assertEqual(encode["records_per_client"], 3000)
        self.assertGreater(encode["local_accuracy"], 0.5)
        seconds = record["timings"]
        self.assertGreater(seconds["encode_seconds"], 0)
        parts = seconds["encode_seconds"] + seconds["train_seconds"]
        self.assertGreater(seconds["total_seconds"], parts)
        claims = self.claims(record)
        self.assertEqual(claims["as published, one record"]["epsilon"], 0.5)
        self.assertEqual(claims["record, features alone"]["epsilon"], encode["exact_epsilon"])
        for scope in ("record, label alone", "record, whole training", "client, whole training"):
            self.assertIsNone(claims[scope]["epsilon"], scope)
        self.assertEqual(json.loads((out / "run.json").read_text())["privacy"], record["privacy"])
        self.ok("report", out)
        page = (out / "report.html").read_text()
        for text in ("as published, one record", "record, label alone", "No privacy",
                     "Theorem 2", "not proven"):
            self.assertIn(text, page)

    def test_a_promise_that_holds(self):
        settings = ["--set", "encode.mechanism=ldpfl-exact", "--set", "encode.epsilon=3",
                    "--set", "encode.label_epsilon=2", "--set", "encode.data=embedded",
                    "--set", "encode.epochs=1"]
        planned = self.json("account", RECIPE, *settings)
        record = self.claims({"privacy": planned})["record, whole training"]
        self.assertLessEqual(record["epsilon"], 5)
        self.assertGreater(record["epsilon"], 4.99)
        self.assertEqual(record["assumption"], "-")
        self.assertIn("A single record is promised epsilon 5 ", self.ok("account", RECIPE, *settings))
        done = self.json("run", RECIPE, *settings, *SMALL, "--out", self.folder / "run")
        self.assertEqual(done["privacy"]["encode"]["trained_on"], "embedded")
        self.assertLessEqual(self.claims(done)["record, whole training"]["epsilon"], 5)
        # The same without a public encoder: a record decides how all others are encoded.
        settings[-3] = "encode.data="
        own = self.claims({"privacy": self.json("account", RECIPE, *settings)})
        self.assertGreater(own["record, whole training"]["epsilon"], 3000 * 4.99)
        self.assertLessEqual(own["record, encoder held fixed"]["epsilon"], 5)

    def test_published_settings_have_the_known_exact_epsilon(self):
        recipe = ROOT / "recipes" / "ldpfl-mnist.toml"
        for mechanism, low, high in (("ldpfl-1", 0.90, 0.92), ("ldpfl-2", 34800, 34900),
                                     ("rr-bits", 0.499, 0.5)):
            plan = self.json("account", recipe, "--set", f"encode.mechanism={mechanism}")
            epsilon = self.claims({"privacy": plan})["record, features alone"]["epsilon"]
            self.assertTrue(low <= epsilon <= high, (mechanism, epsilon))

    def test_every_recipe_can_be_planned(self):
        for name in ("mnist", "fmnist", "cifar", "exact-mnist", "embedded"):
            plan = self.json("account", ROOT / "recipes" / f"ldpfl-{name}.toml")
            self.assertTrue(math.isfinite(plan["claims"][0]["epsilon"]), name)
        # Its data must be there to be planned: the recipe itself is read.
        self.fails(1, ["extra_32x32.mat"], "account", ROOT / "recipes" / "ldpfl-svhn.toml",
                   cwd=self.folder)

    def test_mistakes_are_usage_errors(self):
        self.fails(2, ["encode.mechanism", "did you mean"], "run", RECIPE,
                   "--set", "encode.mechanim=none")
        self.fails(2, ["encode.features = 9999", "has 10 here"], "run", RECIPE,
                   "--set", "encode.features=9999", "--out", self.folder / "a")
        self.fails(2, ["encode.label_epsilon is missing"], "run", RECIPE,
                   "--set", "encode.mechanism=ldpfl-exact", "--out", self.folder / "a")
        self.assertFalse((self.folder / "a").exists())

    def test_killed_and_resumed_it_ends_in_the_same_bits(self):
        arguments = ["run", RECIPE, *SMALL, "--set", "federation.rounds=6", "--json"]
        whole = self.folder / "whole"
        start = time.monotonic()
        self.ok(*arguments, "--out", whole)
        length = time.monotonic() - start
        expected = (whole / "model.pt").read_bytes()
        one_thread = self.folder / "one"
        self.ok(*arguments, "--threads", "1", "--out", one_thread)
        self.assertEqual((one_thread / "model.pt").read_bytes(), expected)
        random.seed(2)
        out = self.folder / "killed"
        for _ in range(5):
            resume = ["--resume"] if (out / "run.json").exists() else []
            process = subprocess.Popen([PROGRAM, *arguments, "--out", str(out), *resume],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(timeout=random.uniform(0.3, 0.95) * length)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        resume = ["--resume"] if (out / "run.json").exists() else []
        self.ok(*arguments, "--out", out, *resume)
        self.assertEqual((out / "model.pt").read_bytes(), expected)
        # Another mechanism is another run.
        done = sotto(*arguments, "--out", out, "--resume", "--set", "encode.mechanism=rr-bits")
        self.assertNotEqual(done.returncode, 0)
