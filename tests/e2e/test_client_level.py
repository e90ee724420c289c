"""A guarantee for clients of one sample each: the native engine, fixed features, the shuffler."""

from sotto_program import ROOT, SottoTest

RECIPE = str(ROOT / "recipes" / "client-level-embedded.toml")
SHORT = ["--set", "federation.rounds=2", "--set", "federation.clients=600",
         "--set", "shuffle.min_batch=600", "--set", "federation.evaluate_every=2"]


class ClientLevel(SottoTest):
    def test_it_learns_and_the_certificate_holds(self):
        out = self.folder / "run"
        result = self.json("run", RECIPE, "--out", out)
        self.assertGreater(result["final"]["accuracy"], 0.85)
        self.assertEqual(result["versions"]["trainer"], "native, CPU")
        claims = {claim["scope"]: claim for claim in result["privacy"]["claims"]}
        shuffled = [claim for scope, claim in claims.items() if "whole training" in scope]
        self.assertTrue(any(0 < claim["epsilon"] < 10 for claim in shuffled if claim["epsilon"]))
        check = self.json("account", "check", out / "certificate.json")
        self.assertTrue(check["holds"])

    def test_threads_change_nothing(self):
        models = []
        for threads in (1, 3):
            out = self.folder / str(threads)
            self.json("run", RECIPE, *SHORT, "--threads", threads, "--out", out)
            models.append((out / "model.pt").read_bytes())
        self.assertEqual(models[0], models[1])

    def test_a_run_goes_on_where_it_was(self):
        whole, parts = self.folder / "whole", self.folder / "parts"
        settings = [*SHORT, "--set", "server.decay=none", "--set", "output.checkpoint_every=1"]
        self.json("run", RECIPE, *settings, "--out", whole)
        self.json("run", RECIPE, *settings, "--set", "federation.rounds=1", "--out", parts)
        self.json("run", RECIPE, *settings, "--resume", "--out", parts)
        self.assertEqual((whole / "model.pt").read_bytes(), (parts / "model.pt").read_bytes())

    def test_once_costs_a_client_one_report(self):
        out = self.folder / "once"
        result = self.json("run", RECIPE, *SHORT, "--set", "federation.selection=once", "--set",
                           "shuffle.mode=none", "--set", "shuffle.min_batch=1", "--out", out)
        self.assertEqual([each["reports"] for each in result["rounds"]], [300, 300])
        self.assertEqual(result["privacy"]["rounds"], 1)
        training = [claim for claim in result["privacy"]["claims"]
                    if claim["scope"] == "client, whole training"]
        self.assertTrue(all(abs(claim["epsilon"] - 4) < 1e-6 for claim in training
                            if claim["source"] == "sotto"), training)
        self.assertTrue(training)

    def test_features_are_centred_on_a_private_mean(self):
        centred = [*SHORT, "--set", "federation.rounds=4", "--set", "statistics.mean=private",
                   "--set", "statistics.rounds=2", "--set", "statistics.epsilon=3"]
        models = []
        for threads in (1, 3):
            out = self.folder / str(threads)
            result = self.json("run", RECIPE, *centred, "--threads", threads, "--out", out)
            models.append((out / "model.pt").read_bytes())
        self.assertEqual(models[0], models[1])
        check = self.json("account", "check", out / "certificate.json")
        self.assertTrue(check["holds"])
        planned = self.json("account", RECIPE, *centred)
        self.assertEqual(planned["claims"], result["privacy"]["claims"])
        turns = result["privacy"]["turns"]
        self.assertEqual([turn["rounds"] for turn in turns], [2, 2])
        self.assertEqual([each["weights"] for each in result["privacy"]["mechanisms"]],
                         [833, 8340])
        shown = self.ok("account", RECIPE, *centred)
        self.assertIn("mean of its features", shown)
        self.assertIn("8,340 weights", shown)
        self.fails(2, ["statistics.public", "what the clients hold"], "run", RECIPE, "--set",
                   "statistics.mean=public", "--set", "statistics.public=embedded")

    def test_what_does_not_go_together_is_refused(self):
        self.fails(2, ["data.resize", "features"], "run", RECIPE, "--set", "data.resize=[1, 32, 32]")
        self.fails(2, ["bound.normalize", "privunit"], "run", RECIPE, "--set",
                   "privacy.mechanism=two-point", "--set", "privacy.epsilon=1")
        self.fails(2, ["data.features", "gabor"], "run", RECIPE, "--set", "data.features=gabr")

    def test_the_cap_can_be_planned(self):
        plan = ["account", "plan", "--target-epsilon", 1, "--mechanism", "privunit", "--dimension",
                100, "--clients", 2000, "--rounds", 3, "--choose-cap"]
        result = self.json(*plan)
        self.assertTrue(result["possible"])
        best, preset = result["best"], result["preset"]
        self.assertLessEqual(best["squared_error"], preset["squared_error"])
        self.assertLess(best["cap"], preset["cap"])
        self.assertLessEqual(best["client_epsilon"], 1)
        self.assertIn("privacy.cap", self.ok(*plan))
        self.fails(2, ["--cap", "--epsilon"], *plan, "--cap", 0.1)

    def test_a_whole_training_can_be_planned(self):
        plan = ["account", "plan", "--target-epsilon", 1, "--mechanism", "privunit", "--dimension",
                100, "--clients", 60000]
        result = self.json(*plan)
        self.assertEqual([row["rounds"] for row in result["rows"]], [100, 200, 400, 1000, 3000])
        signals = [row["signal"] for row in result["rows"]]
        self.assertEqual(signals, sorted(signals))
        self.assertTrue(all(0.99 < row["epsilon"] <= 1 for row in result["rows"]), result)
        self.assertTrue(all(row["noise_epsilon"] < row["epsilon"] for row in result["rows"]))
        rows = self.json(*plan, "--over-rounds", "20,40")["rows"]
        both = self.json(*plan, "--over-rounds", "20", "--messages", 2)["rows"]
        self.assertEqual(both[0]["epsilon0"], rows[1]["epsilon0"])
        self.assertEqual(both[0]["signal"], rows[1]["signal"])
        found = self.json(*plan, "--rounds", 20, "--signal", signals[0])["rows"][0]
        self.assertEqual((found["rounds"], found["messages"]), (20, 5))
        shown = self.ok(*plan, "--over-rounds", "20", "--messages", 2)
        for words in ("signal left", "messages = 2", "federation.rounds = 20", "against noise"):
            self.assertIn(words, shown)
        crowd = self.json(*plan[:-2], "--rounds", 20, "--over-clients", "1000,60000")["rows"]
        self.assertEqual([row["clients"] for row in crowd], [1000, 60000])
        self.assertEqual(crowd[1], rows[0])
        self.assertLess(crowd[0]["worth"], crowd[1]["worth"])
        early = self.json(*plan, "--over-rounds", "20", "--statistics-share", 0.3,
                          "--statistics-dimension", 50)
        self.assertEqual(early["statistics"]["dimension"], 50)
        self.assertLess(early["rows"][0]["signal"], rows[0]["signal"])
        self.assertLessEqual(early["rows"][0]["epsilon"], 1)

    def test_a_plan_is_a_recipe_that_keeps_its_target(self):
        shown = self.ok("account", "plan", "--target-epsilon", 1, "--mechanism", "privunit", "--dimension", 8340,
                        "--clients", 2000, "--over-rounds", "5", "--statistics-share", 0.2, "--statistics-dimension", 833,
                        "--statistics-rounds", 2)
        printed = shown.split("as a recipe:\n")[1]
        recipe = self.folder / "planned.toml"
        recipe.write_text('data = { name = "embedded", partition = "iid", features = "gabor" }\nmodel.name = "linear"\n'
                          'federation.clients = 2000\n' + printed)
        planned = self.json("account", recipe)
        claims = [claim["epsilon"] for claim in planned["claims"]
                  if (claim["unit"], claim["period"], claim["view"]) == ("client", "training", "shuffler")
                  and claim["colluders"] == "none"]
        self.assertEqual(len(claims), 1, planned["claims"])
        self.assertLessEqual(claims[0], 1.0)
        self.assertGreater(claims[0], 0.95)

    def test_what_a_plan_cannot_be_is_said(self):
        plan = ["account", "plan", "--target-epsilon", 1, "--clients", 500]
        privunit = [*plan, "--mechanism", "privunit", "--dimension", 50]
        self.fails(2, ["--cap", "chooses"], *privunit, "--cap", 0.1)
        self.fails(2, ["--messages", "no --epsilon"], *privunit, "--epsilon", 1, "--messages", 2)
        self.fails(2, ["--messages", "privunit"], *plan, "--epsilon0", 1, "--messages", 2)
        self.fails(2, ["--signal", "--rounds and --messages"], *privunit, "--rounds", 3,
                   "--messages", 2, "--signal", 0.1)
        self.fails(2, ["--statistics-dimension"], *privunit, "--statistics-share", 0.1)
        self.fails(2, ["--over-rounds 0.5"], *privunit, "--over-rounds", "0.5")
        self.fails(2, ["--over-clients", "--rounds"], *plan[:4], *privunit[6:], "--over-clients",
                   "10,20")
        self.fails(2, ["--local"], *privunit[:4], *privunit[6:], "--local", "--messages", 2)
        self.fails(1, ["impossible", "of the central model's signal"], *privunit, "--rounds", 2,
                   "--signal", 0.8)


if __name__ == "__main__":
    import unittest
    unittest.main()
