"""Single questions of `sotto account`: values known from elsewhere, refusals, pictures, plans."""

import json
import xml.etree.ElementTree

from sotto_program import SottoTest, sotto

WITHIN = 0.005


class Account(SottoTest):
    def ask(self, *words):
        """The answer, and its bounds by name."""
        answer = self.json("account", *words)
        return answer, {bound["name"]: bound for bound in answer["bounds"]}

    def near(self, found, known):
        self.assertIsNotNone(found)
        self.assertLessEqual(abs(found - known), WITHIN * known, (found, known))

    def unusable(self, parts, *words):
        return self.fails(2, parts, "account", *words)


class Shuffle(Account):
    def test_the_table_of_reference_values(self):
        rows = [  # epsilon0, clients, closed form, numerical, exact binary; delta 1e-6
            (0.5, 1000, 0.2473, 0.0627, 0.0569),
            (1, 432, 0.6737, 0.2333, 0.2034),
            (1, 1000, 0.4876, 0.1487, 0.1266),
            (1, 100000, 0.0604, 0.0124, 0.0101),
            (2, 974, 0.9498, 0.4029, 0.3288),
            (4, 432, None, 3.997, 3.997),
            (4, 6454, 1.1008, 0.5247, 0.4110),
            (4, 10000, 0.9581, 0.4108, 0.3146),
        ]
        for epsilon0, clients, closed, generic, exact in rows:
            with self.subTest(epsilon0=epsilon0, clients=clients):
                answer, bounds = self.ask("shuffle", "--epsilon0", epsilon0, "--clients", clients,
                                          "--delta", "1e-6")
                if closed is None:
                    self.assertIsNone(bounds["closed-form"]["epsilon"])
                    self.assertFalse(bounds["closed-form"]["valid"])
                    self.assertIn("is above", bounds["closed-form"]["reason"])
                else:
                    self.near(bounds["closed-form"]["epsilon"], closed)
                # The table has four digits.
                self.assertAlmostEqual(bounds["generic"]["epsilon"], generic,
                                       delta=WITHIN * generic + 5e-5)
                self.assertAlmostEqual(bounds["exact-binary"]["epsilon"], exact,
                                       delta=WITHIN * exact + 5e-5)
                self.assertFalse(bounds["exact-binary"]["upper"])
                self.assertEqual(answer["best_epsilon"],
                                 min(b["epsilon"] for b in answer["bounds"]
                                     if b["valid"] and b["upper"]))
                self.assertEqual(bounds[answer["best"]]["epsilon"], answer["best_epsilon"])

    def test_weights_shuffled_one_by_one_compose(self):
        known = [(1, 100, 183), (1, 1000, 32.9), (1, 10**4, 7.76), (1, 10**5, 2.11),
                 (5, 100, 4.79e4)]
        for epsilon0, clients, exact in known:
            with self.subTest(epsilon0=epsilon0, clients=clients):
                answer, bounds = self.ask("shuffle", "--epsilon0", epsilon0, "--clients", clients,
                                          "--weights", 20490, "--split", 1)
                self.near(bounds["exact-binary"]["epsilon"], exact)
                self.assertGreater(answer["best_epsilon"], bounds["exact-binary"]["epsilon"])
                # The same batches, counted.
                counted, _ = self.ask("shuffle", "--epsilon0", epsilon0, "--clients", clients,
                                      "--count", 20490)
                self.assertEqual(counted["best_epsilon"], answer["best_epsilon"])

    def test_keys_and_the_question_repeated(self):
        answer, _ = self.ask("shuffle", "--epsilon0", "0.1", "--clients", "1e4", "--weights", 10,
                             "--split", 4, "--rounds", 3, "--sampling", "0.5")
        self.assertEqual(set(answer), {"question", "bounds", "best", "best_epsilon"})
        for bound in answer["bounds"]:
            self.assertEqual(set(bound), {"name", "epsilon", "delta", "valid", "reason", "theorem",
                                          "assumption", "upper"})
            self.assertEqual(bound["valid"], bound["epsilon"] is not None)
            self.assertEqual(bound["valid"], bound["reason"] == "")
            self.assertTrue(bound["theorem"] and bound["assumption"])
        question = answer["question"]
        self.assertEqual((question["clients"], question["weights"], question["split"],
                          question["rounds"], question["sampling"], question["delta"]),
                         (10000, 10, 4, 3, 0.5, 1e-6))
        self.assertAlmostEqual(question["chunk_epsilon"], 0.4)

    def test_a_short_last_chunk_lies_between_its_neighbours(self):
        def exact(weights):
            return self.ask("shuffle", "--epsilon0", "0.5", "--clients", 1000, "--weights", weights,
                            "--split", 4)[1]["exact-binary"]["epsilon"]

        self.assertTrue(exact(8) < exact(10) < exact(12))

    def test_a_mechanism_is_known_better_than_its_epsilon(self):
        generic, _ = self.ask("shuffle", "--epsilon0", 3, "--clients", 60000, "--rounds", 100)
        self.near(generic["best_epsilon"], 1.015)
        # A sampler whose arithmetic would cost more than delta is refused.
        words = ["--epsilon", 3, "--dimension", 8340, "--clients", 60000, "--rounds", 100]
        done = sotto("account", "shuffle", "--mechanism", "privunit", *words, "--json")
        if done.returncode == 0 and json.loads(done.stdout)["best"]:
            answer = json.loads(done.stdout)
            self.assertEqual(answer["question"]["mechanism"]["parameters"]["epsilon"], 3)
            self.assertEqual(answer["best"], "background")
            self.near(answer["best_epsilon"], 0.885)
        value, _ = self.ask("shuffle", "--mechanism", "two-point", "--epsilon", 1, "--clients", 1000,
                            "--weights", 6, "--split", 2)
        self.assertAlmostEqual(value["question"]["chunk_epsilon"], 2, places=6)

    def test_sampling_and_more_clients_help_rounds_cost(self):
        base = ["shuffle", "--epsilon0", 1, "--clients", 1000, "--rounds", 10]
        best = self.ask(*base)[0]["best_epsilon"]
        self.assertLess(self.ask(*base, "--sampling", 0.1)[0]["best_epsilon"], best)
        self.assertLess(self.ask(*base[:-3], 2000, "--rounds", 10)[0]["best_epsilon"], best)
        self.assertGreater(self.ask(*base[:-1], 20)[0]["best_epsilon"], best)

    def test_the_table_for_people(self):
        text = self.ok("account", "shuffle", "--epsilon0", 1, "--clients", 432)
        self.assertRegex(text, r"generic +0\.2332\d{8,} +1e-06 +best")
        self.assertRegex(text, r"erlingsson +- +- +refused: epsilon0 = 1 is above 1/2")
        self.assertIn("variation ratio", text)
        self.assertIn("vacuous", self.ok("account", "shuffle", "--epsilon0", 5, "--clients", 100,
                                         "--weights", 20490, "--split", 1))

    def test_bad_input(self):
        self.unusable(["--clients", "required"], "shuffle", "--epsilon0", 1)
        self.unusable(["--epsilon0", "--mechanism"], "shuffle", "--clients", 10)
        for wrong in ["0", "-1", "nan", "inf", "1e9", "x"]:
            self.unusable(["--epsilon0", "(0, 1000]"], "shuffle", f"--epsilon0={wrong}",
                          "--clients", 10)
        for wrong in ["0", "1.5", "2e9"]:
            self.unusable(["--clients", "a whole number in [1, 1000000000]"], "shuffle",
                          "--epsilon0", 1, "--clients", wrong)
        base = ["shuffle", "--epsilon0", 1, "--clients", 10]
        self.unusable(["--delta", "(0, 0.5]"], *base, "--delta", 0)
        self.unusable(["--sampling", "(0, 1]"], *base, "--sampling", 2)
        self.unusable(["--weights and --split"], *base, "--weights", 5)
        self.unusable(["at most 5"], *base, "--weights", 5, "--split", 6)
        self.unusable(["--count and --weights"], *base, "--weights", 5, "--split", 1, "--count", 2)
        self.unusable(["--dimension needs --mechanism"], *base, "--dimension", 2)
        self.unusable(["at most 1e+15"], *base, "--count", 1e9, "--rounds", 1e9)
        self.unusable(["did you mean '--clients'"], *base, "--client", 2)
        mechanism = ["shuffle", "--clients", 10, "--mechanism"]
        self.unusable(["--epsilon"], *mechanism, "two-point", "--epsilon0", 1)
        self.unusable(["did you mean 'two-point'"], *mechanism, "two-pint", "--epsilon", 1)
        self.unusable(["epsilon"], *mechanism, "two-point")
        self.unusable(["--dimension"], *mechanism, "privunit", "--epsilon", 1, "--weights", 5,
                      "--split", 1)
        self.fails(1, ["no amplification is proven"], "account", *mechanism, "none")


class Compose(Account):
    def test_reference_values(self):
        for epsilon0, count, known in [(0.1, 1000, 19.345), (1, 1000, 591.1), (1, 20490, 10068),
                                       (5, 20490, 1.016e5)]:
            with self.subTest(epsilon0=epsilon0, count=count):
                answer, bounds = self.ask("compose", "--epsilon0", epsilon0, "--count", count,
                                          "--delta", "1e-6")
                self.near(bounds["optimal"]["epsilon"], known)
                self.near(bounds["loss-distribution"]["epsilon"], known)
                self.assertGreaterEqual(bounds["sequential"]["epsilon"], epsilon0 * count)
                for name in ["sequential", "advanced", "renyi"]:
                    self.assertGreaterEqual(bounds[name]["epsilon"], answer["best_epsilon"])

    def test_rounds_multiply(self):
        one, _ = self.ask("compose", "--epsilon0", 0.1, "--count", 1000)
        ten, _ = self.ask("compose", "--epsilon0", 0.1, "--count", 100, "--rounds", 10)
        self.assertEqual(one["best_epsilon"], ten["best_epsilon"])
        self.assertEqual(one["bounds"], ten["bounds"])

    def test_mixed_releases(self):
        answer, bounds = self.ask("compose", "--release", "0.1x400", "--release", "0.1x600")
        self.near(answer["best_epsilon"], 19.345)
        self.assertEqual(len(answer["question"]["releases"]), 2)
        mixed, bounds = self.ask("compose", "--epsilon0", 0.1, "--count", 1000, "--release", 2,
                                 "--gaussian", "0.5x10")
        self.assertGreater(mixed["best_epsilon"], answer["best_epsilon"] + 2)
        self.assertIsNone(bounds["sequential"]["epsilon"])
        self.assertIn("Gaussian", bounds["sequential"]["reason"])
        # delta(epsilon) of Gaussian noise with ratio 1 has a closed form, solved elsewhere.
        noise, _ = self.ask("compose", "--gaussian", 1, "--delta", "1e-5")
        self.near(noise["best_epsilon"], 4.3772)

    def test_bad_input(self):
        self.unusable(["nothing is released"], "compose")
        self.unusable(["--count needs --epsilon0"], "compose", "--count", 3)
        for wrong in ["0", "x", "1x", "1x0", "1x1.5", "-1x2", "1xx2"]:
            self.unusable(["--release", "0.5x1000"], "compose", f"--release={wrong}")
        self.unusable(["--gaussian"], "compose", "--gaussian", "nan")
        self.unusable(["at most 1e+15"], "compose", "--epsilon0", 1, "--count", 1e9, "--rounds", 1e9)
        self.assertIn("Example", self.ok("account", "compose", "--help"))


class Plot(Account):
    def lines(self, file):
        tree = xml.etree.ElementTree.parse(file)
        names = [text.text for text in tree.iter() if text.get("class") == "name"]
        self.assertLess(file.stat().st_size, 100_000)
        return names

    def test_a_line_for_each_bound(self):
        file = self.folder / "shuffle.svg"
        answer = self.json("account", "shuffle", "--epsilon0", "0.5", "--clients", 5000, "--plot",
                           file)
        self.assertEqual(answer["plot"], str(file))
        self.assertEqual(self.lines(file), [b["name"] for b in answer["bounds"]])
        file = self.folder / "compose.svg"
        text = self.ok("account", "compose", "--epsilon0", "0.1", "--count", 100, "--plot", file)
        self.assertIn(f"plot: {file}", text)
        self.assertIn("optimal", self.lines(file))

    def test_a_bound_that_is_refused_everywhere_has_none(self):
        file = self.folder / "shuffle.svg"
        self.ok("account", "shuffle", "--epsilon0", 1, "--clients", 500, "--plot", file)
        self.assertNotIn("erlingsson", self.lines(file))
        self.assertIn("generic", self.lines(file))

    def test_bad_files(self):
        words = ["shuffle", "--epsilon0", 1, "--clients", 500, "--plot"]
        self.unusable([".svg"], *words, self.folder / "a.png")
        self.fails(1, ["/proc/nothing"], "account", *words, "/proc/nothing/a.svg")


class Plan(Account):
    def edge(self, *words):
        """The answer meets the target and the next value misses it."""
        plan = self.json("account", "plan", *words)
        target = plan["question"]["target_epsilon"]
        self.assertTrue(plan["possible"])
        self.assertLessEqual(plan["epsilon"], target)
        self.assertGreater(plan["next_epsilon"], target)
        self.assertTrue(plan["theorem"] and plan["assumption"])
        self.assertIsNone(plan["reachable"])
        self.assertIsNone(plan["question"][plan["question"]["solve"]])
        return plan

    def test_every_number_can_be_open(self):
        base = ["--target-epsilon", 2, "--delta", "1e-6", "--weights", 100]
        plan = self.edge(*base, "--split", 4, "--rounds", 10, "--clients", 10000)
        self.assertEqual(plan["question"]["solve"], "epsilon0")
        for value, meets in [(plan["value"], True), (plan["next"], False)]:
            answer, _ = self.ask("shuffle", "--epsilon0", value, "--weights", 100, "--split", 4,
                                 "--rounds", 10, "--clients", 10000)
            self.assertEqual(answer["best_epsilon"] <= 2, meets)
        base += ["--epsilon0", "0.1"]
        plan = self.edge(*base, "--rounds", 10, "--clients", 1000)
        self.assertEqual(plan["next"], plan["value"] + 1)
        plan = self.edge(*base, "--split", 4, "--clients", 10000)
        self.assertEqual(plan["next"], plan["value"] + 1)
        for value, meets in [(plan["value"], True), (plan["next"], False)]:
            answer, _ = self.ask("shuffle", "--epsilon0", "0.1", "--weights", 100, "--split", 4,
                                 "--rounds", value, "--clients", 10000)
            self.assertEqual(answer["best_epsilon"] <= 2, meets)
        plan = self.edge(*base, "--split", 4, "--rounds", 10, "--solve", "clients")
        self.assertEqual(plan["next"], plan["value"] - 1)

    def test_without_a_shuffler(self):
        plan = self.edge("--target-epsilon", 8, "--local", "--weights", 20490, "--rounds", 10)
        for value, meets in [(plan["value"], True), (plan["next"], False)]:
            answer, _ = self.ask("compose", "--epsilon0", value, "--count", 20490, "--rounds", 10)
            self.assertEqual(answer["best_epsilon"] <= 8, meets)
        self.edge("--target-epsilon", 50, "--local", "--epsilon0", "0.1")

    def test_with_a_mechanism(self):
        plan = self.edge("--target-epsilon", 1, "--mechanism", "two-point", "--clients", 60000,
                         "--rounds", 100)
        self.assertGreater(plan["value"], 2.9)
        plan = self.edge("--target-epsilon", 1, "--mechanism", "two-point", "--epsilon", 2,
                         "--clients", 5000)
        self.assertEqual(plan["question"]["solve"], "rounds")

    def test_what_is_impossible_says_what_is_reachable(self):
        words = ["plan", "--target-epsilon", 8, "--epsilon0", 5, "--weights", 20490, "--split", 1,
                 "--clients", 100]
        error = self.fails(1, ["impossible", "even rounds 1 costs epsilon 5", "vacuous"],
                           "account", *words)
        self.assertIn("epsilon 8", error)
        done = sotto("account", *words, "--json")
        self.assertEqual(done.returncode, 1)
        plan = json.loads(done.stdout)
        self.assertFalse(plan["possible"])
        self.assertIsNone(plan["value"])
        self.assertEqual(plan["reachable"]["value"], 1)
        self.assertGreater(plan["reachable"]["epsilon"], 4e4)

    def test_for_people(self):
        text = self.ok("account", "plan", "--target-epsilon", 8, "--clients", 60000, "--rounds", 100)
        self.assertIn("largest epsilon0: ", text)
        self.assertIn("misses it", text)
        self.assertIn("variation ratio", text)

    def test_bad_input(self):
        self.unusable(["--target-epsilon", "required"], "plan", "--epsilon0", 1)
        base = ["plan", "--target-epsilon", 8]
        self.unusable(["more than one number is open", "--epsilon0", "--rounds", "--clients"], *base)
        self.unusable(["everything is given"], *base, "--epsilon0", 1, "--rounds", 1, "--clients", 9)
        self.unusable(["did you mean 'rounds'", "clients"], *base, "--solve", "round")
        self.unusable(["--rounds is given"], *base, "--rounds", 1, "--solve", "rounds")
        self.unusable(["also needed: --epsilon0, --clients"], *base, "--solve", "rounds")
        self.unusable(["--weights above 1"], *base, "--solve", "split")
        self.unusable(["--clients does not matter with --local"], *base, "--local", "--clients", 3)
        self.unusable(["does not go with --local"], *base, "--local", "--solve", "clients")
        self.unusable(["at most 1"], *base, "--split", 2, "--epsilon0", 1, "--rounds", 1)
        self.unusable(["(0, 1000000]"], "plan", "--target-epsilon", 0)
        self.unusable(["no parameter epsilon"], *base, "--mechanism", "none", "--clients", 5,
                      "--rounds", 1)
