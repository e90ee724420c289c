"""`sotto account RECIPE`: the plan of a recipe, without training and without data."""

import json
import math
import os
import time
import unittest

from sotto_program import EMBEDDED, ROOT, SottoTest, sotto

MNIST = str(ROOT / "recipes" / "srr-mnist.toml")
SRR = ["--set", "privacy.mechanism=srr", "--set", "privacy.epsilon=5"]
NO_DATA = {**os.environ, "SOTTO_DATA": "/no/such/folder"}


class AccountRecipe(SottoTest):
    def test_the_worked_example_in_numbers(self):
        plan = self.json("account", MNIST, *SRR, env=NO_DATA)
        self.assertTrue(plan["planned"])
        self.assertEqual(plan["weights"], 20490)
        self.assertEqual(plan["rounds"], 10)
        claims = plan["claims"]
        for claim in claims:
            self.assertEqual(set(claim), {"scope", "epsilon", "delta", "theorem", "assumption",
                                          "source", "vacuous", "unit", "period", "view",
                                          "colluders", "status"})
        by_scope = {}
        for claim in claims:
            by_scope.setdefault(claim["scope"], []).append(claim)
        self.assertAlmostEqual(by_scope["one weight, one round"][0]["epsilon"], 5, delta=0.01)
        one_round = by_scope["client, one round"]
        self.assertAlmostEqual(one_round[0]["epsilon"], 102450, delta=50)
        self.assertAlmostEqual(one_round[1]["epsilon"], 1.016e5, delta=500)
        self.assertTrue(all(c["vacuous"] for c in by_scope["client, whole training"]))
        self.assertEqual(by_scope["as published, client"][0]["epsilon"], 5)

    def test_people_read_a_table_and_a_sentence(self):
        text = self.ok("account", MNIST, *SRR, env=NO_DATA)
        self.assertIn("(vacuous)", text)
        self.assertIn("promised nothing of worth", text)
        good = self.ok("account", MNIST, "--set", "privacy.mechanism=two-point",
                       "--set", "privacy.epsilon=0.001", "--set", "federation.rounds=1",
                       "--set", "federation.clients=60000", "--set", "shuffle.mode=shuffler",
                       "--set", "shuffle.split=1", env=NO_DATA)
        self.assertIn("A client is promised epsilon", good)
        self.assertIn("after the shuffler", good)
        self.assertIn("does not work with the server", good)
        self.assertIn("promised nothing", self.ok("account", EMBEDDED))

    def test_what_is_sent_has_its_noise_beside_it(self):
        plan = self.json("account", MNIST, "--set", "privacy.mechanism=two-point",
                         "--set", "privacy.epsilon=1", "--set", "privacy.radius=0.1", env=NO_DATA)
        sent = plan["sent"]
        self.assertEqual(sum(row["weights"] for row in sent), 20490)
        self.assertEqual(sent[0]["tensor"], "0.weight")
        spread = 0.1 * (math.e + 1) / (math.e - 1)  # at the centre, both answers are as likely
        for row in sent:
            self.assertEqual((row["rounds"], row["radius"]), (10, 0.1))
            self.assertAlmostEqual(row["noise"], spread, delta=1e-4)
            self.assertAlmostEqual(row["noise_of_mean"], spread / 10, delta=1e-5)
        # LDP-Fed's budget leaves each layer its own noise: 2 / (alpha 10^rho) for a step.
        layers = self.json("account", str(ROOT / "recipes" / "cldp-fmnist.toml"))["sent"]
        noise = {row["tensor"]: row["noise"] for row in layers}
        self.assertLess(noise["0.weight"], noise["4.weight"])
        self.assertLess(noise["4.weight"], noise["9.weight"])
        self.assertIn("noise of a weight", self.ok("account", EMBEDDED, *SRR))
        self.assertEqual(self.json("account", MNIST)["sent"], [])

    def test_a_shuffler_lowers_the_epsilon_and_more_rounds_raise_it(self):
        def shuffled(*settings):
            more = [part for setting in settings for part in ("--set", setting)]
            plan = self.json("account", MNIST, "--set", "privacy.mechanism=two-point",
                             "--set", "privacy.epsilon=0.5", "--set", "shuffle.mode=shuffler",
                             "--set", "shuffle.split=1", "--set", "federation.clients=10000", *more)
            (claim,) = [c for c in plan["claims"]
                        if c["scope"] == "client, whole training, after the shuffler"]
            local = min(c["epsilon"] for c in plan["claims"]
                        if c["scope"] == "client, whole training")
            self.assertLess(claim["epsilon"], local)
            return claim["epsilon"]

        base = shuffled()
        self.assertGreater(shuffled("federation.rounds=20"), base)
        self.assertGreater(shuffled("federation.k=1000"), base)
        self.assertLess(shuffled("ledger.rounds=5"), base)
        self.assertLess(shuffled("account.delta=1e-4"), base)

    def test_what_holds_in_the_smallest_batches_that_clients_accept(self):
        # When a batch is closed the server decides; how small it may be, what clients sign.
        settings = [part for setting in ("privacy.mechanism=two-point", "privacy.epsilon=0.5",
                                         "shuffle.mode=shuffler", "shuffle.split=1",
                                         "federation.clients=10000", "federation.fraction=1.0")
                    for part in ("--set", setting)]

        def plan(minimum):
            return self.json("account", MNIST, *settings, "--set", f"shuffle.min_batch={minimum}")

        claims = plan(1)["claims"]
        best = {scope: min(c["epsilon"] for c in claims if c["scope"] == scope)
                for scope in ("client, whole training", "client, whole training, after the shuffler")}
        alone, some = plan(1)["at_min_batch"], plan(1000)["at_min_batch"]
        self.assertEqual((alone["min_batch"], some["min_batch"]), (1, 1000))
        self.assertEqual(alone["epsilon"], best["client, whole training"])
        self.assertLess(some["epsilon"], alone["epsilon"])
        self.assertGreater(some["epsilon"], best["client, whole training, after the shuffler"])
        self.assertIsNone(plan(10000)["at_min_batch"])
        self.assertIsNone(self.json("account", MNIST, *SRR)["at_min_batch"])
        said = self.ok("account", MNIST, *settings, "--set", "shuffle.min_batch=1000")
        self.assertIn("A server may close batches early. Clients accept shuffle.min_batch = 1,000",
                      said)
        self.assertNotIn("close batches early", self.ok("account", MNIST, *settings, "--set",
                                                        "shuffle.min_batch=10000"))

    def test_large_federations_answer_in_seconds(self):
        start = time.monotonic()
        self.json("account", str(ROOT / "recipes" / "srr-medical.toml"),
                  "--set", "privacy.mechanism=two-point", "--set", "privacy.epsilon=0.01",
                  "--set", "shuffle.mode=shuffler", "--set", "shuffle.split=1",
                  "--set", "federation.rounds=1000", env=NO_DATA)
        self.assertLess(time.monotonic() - start, 4)

    def test_plot(self):
        picture = self.folder / "rounds.svg"
        plan = self.json("account", MNIST, *SRR, "--set", "shuffle.mode=shuffler", "--plot", picture)
        self.assertEqual(plan["plot"], str(picture))
        text = picture.read_text()
        self.assertIn("<svg", text)
        self.assertIn("after the shuffler", text)

    def test_a_users_own_data_is_read_for_its_shape(self):
        table = self.folder / "t.csv"
        table.write_text("a,b,label\n" + "".join(f"{i},{-i},{i % 2}\n" for i in range(40)))
        plan = self.json("account", EMBEDDED, "--set", f"data.name={table}", "--set",
                         "model.name=linear", "--set", "federation.clients=10")
        self.assertEqual(plan["weights"], 2 * 2 + 2)
        self.assertEqual(plan["clients"], 10)

    def test_mistakes(self):
        self.fails(2, ["a recipe or a question is needed", "compose"], "account")
        self.fails(1, ["no-such.toml"], "account", "no-such.toml")
        self.fails(1, ["did you mean 'compose'"], "account", "compse")
        self.fails(2, ["shuffle.spilt", "shuffle.split"], "account", EMBEDDED, "--set",
                   "shuffle.spilt=1")
        self.fails(2, ["needs shuffle.mode"], "account", EMBEDDED, "--set", "shuffle.split=1")
        self.fails(2, ["nothing would ever be released"], "account", EMBEDDED, "--set",
                   "shuffle.mode=shuffler", "--set", "shuffle.min_batch=31")
        self.fails(2, ["ledger.keep"], "account", EMBEDDED, "--set", "ledger.keep=false", "--set",
                   "ledger.epsilon=1")
        self.fails(2, ["--sett"], "account", EMBEDDED, "--sett", "a=b")
        self.assertEqual(json.loads(self.ok("account", EMBEDDED, "--json"))["mechanism"], "none")
        self.assertEqual(sotto("account", "--help").returncode, 0)


if __name__ == "__main__":
    unittest.main()
