"""The seeds' baselines through the program: DP-SGD, secure aggregation, Hybrid, learning alone."""

import unittest

from sotto_program import EMBEDDED, ROOT, SottoTest

SHORT = ["--set", "federation.rounds=2", "--set", "federation.k=6", "--set", "train.epochs=1"]
PRIVATE = ["--set", "train.clip=1", "--set", "train.noise=2", "--set", "account.delta=1e-5"]
SECURE = ["--set", "aggregate.secure=true"]


def claim(result, scope):
    found = [c for c in result["privacy"]["claims"] if c["scope"] == scope]
    return found[0] if found else None


class Baselines(SottoTest):
    def run_short(self, name, *more):
        out = self.folder / name
        return out, self.json("run", EMBEDDED, *SHORT, "--out", out, *more)

    def test_secure_aggregation_trains_the_same_model(self):
        plain, _ = self.run_short("plain")
        secure, result = self.run_short("secure", *SECURE)
        self.assertEqual((plain / "model.pt").read_bytes(), (secure / "model.pt").read_bytes())
        self.assertIsNone(claim(result, "secure aggregation, one round")["epsilon"])

    def test_vanishing_clients_and_resume(self):
        more = [*SECURE, "--set", "aggregate.dropout=0.2", "--set", "aggregate.threshold=0.5"]
        whole, first = self.run_short("whole", *more, "--set", "federation.rounds=4")
        parts, _ = self.run_short("parts", *more)
        second = self.json("run", EMBEDDED, *SHORT, *more, "--set", "federation.rounds=4",
                           "--out", parts, "--resume")
        self.assertEqual((whole / "model.pt").read_bytes(), (parts / "model.pt").read_bytes())
        reports = [r["reports"] for r in first["rounds"]]
        self.assertEqual(reports, [r["reports"] for r in second["rounds"]])
        self.assertLess(min(reports), 6)

    def test_dpsgd_promises_records_and_no_client(self):
        _, result = self.run_short("dpsgd", *PRIVATE)
        record = claim(result, "one record, whole training")
        self.assertEqual(record["delta"], 1e-5)
        self.assertLess(record["epsilon"], 10)
        self.assertIsNone(claim(result, "client, whole training")["epsilon"])
        # The plan, before training, is for a client in every round: not less.
        plan = self.json("account", EMBEDDED, *SHORT, *PRIVATE)
        planned = [c for c in plan["claims"] if c["scope"] == "one record, whole training"][0]
        self.assertGreaterEqual(planned["epsilon"], record["epsilon"])

    def test_dpsgd_is_reproducible_on_any_number_of_threads(self):
        one, _ = self.run_short("one", *PRIVATE, "--threads", 1)
        three, _ = self.run_short("three", *PRIVATE, "--threads", 3)
        self.assertEqual((one / "model.pt").read_bytes(), (three / "model.pt").read_bytes())

    def test_batch_norm_is_refused(self):
        self.fails(2, ["layer 1 ", "ldp-fed-nobn"], "run", EMBEDDED, *SHORT, *PRIVATE,
                   "--set", "model.name=ldp-fed", "--out", self.folder / "bn")

    def test_hybrid(self):
        more = [*PRIVATE, *SECURE, "--set", "aggregate.honest=4", "--set", "train.momentum=0",
                "--set", "train.batch_size=1000"]
        _, result = self.run_short("hybrid", *more)
        server = claim(result, "one record, whole training, the server's view")
        alone = claim(result, "one record, whole training")
        self.assertLess(server["epsilon"], alone["epsilon"])
        _, steps = self.run_short("steps", *more, "--set", "train.batch_size=10")
        self.assertEqual(claim(steps, "as published, one record, the server's view")["source"],
                         "Truex et al. 2019")

    def test_learning_alone(self):
        out = self.folder / "alone"
        alone = ["--set", "federation.mode=local", "--set", "federation.fraction=1",
                 "--set", "federation.clients=10", "--set", "train.epochs=1"]
        self.json("run", EMBEDDED, *alone, "--set", "federation.rounds=1", "--out", out)
        result = self.json("run", EMBEDDED, *alone, "--set", "federation.rounds=2", "--out", out,
                           "--resume")
        whole = self.json("run", EMBEDDED, *alone, "--set", "federation.rounds=2",
                          "--out", self.folder / "whole")
        self.assertEqual(result["final"]["accuracy"], whole["final"]["accuracy"])
        last = result["rounds"][-1]
        self.assertLessEqual(last["lowest_accuracy"], last["accuracy"])
        self.assertGreaterEqual(last["highest_accuracy"], last["accuracy"])
        self.assertEqual(claim(result, "client, whole training")["epsilon"], 0)
        self.assertFalse((out / "model.pt").exists())
        self.ok("report", out, "--out", self.folder / "alone.html")

    def test_recipes_are_valid(self):
        for name in ("local", "smc"):
            self.ok("account", ROOT / "recipes" / f"cldp-{name}.toml")


if __name__ == "__main__":
    unittest.main()
