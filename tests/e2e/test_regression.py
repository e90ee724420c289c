"""The benchmarks, briefly: what has become twice as slow fails here.

Every figure is a ratio within one run, and the limits are twice the bars of docs/research/performance.md, or half of them where
more is better: other work on the machine slows both sides of a ratio alike, or nearly so.
"""

import unittest

from sotto_program import SottoTest

# Times the floor of drawing the random bytes and copying the weights.
MECHANISMS = {"two-point": 5, "srr": 6, "grr": 6, "optimal": 9, "piecewise": 7, "laplace": 9, "em": 13,
              "ldp-sgd": 12, "privunit": 10}


class Speed(SottoTest):
    def test_mechanisms_stay_near_their_floor(self):
        chosen = [word for name in MECHANISMS for word in ("--mechanism", name)]
        rows = self.json("bench", "mechanisms", *chosen, "--weights", 200000, "--seconds", 0.1)
        if rows[0]["level"] not in ("avx2", "avx512"):
            self.skipTest(f"the limits are for AVX2 and above, not for {rows[0]['level']}")
        self.assertEqual({row["mechanism"] for row in rows}, set(MECHANISMS))
        for row in rows:
            self.assertLess(row["ratio"], MECHANISMS[row["mechanism"]], row["setting"])

    def test_the_native_engine_beats_the_plain_loop(self):
        row = self.json("bench", "train", "--model", "srr-mnist", "--batch", 10, "--samples", 300,
                        "--threads", 1, "--turns", 1)["train"][0]
        self.assertGreater(row["one_thread_ratio"], 1.25)
        self.assertLess(row["private_cost"], 3.0)


if __name__ == "__main__":
    unittest.main()
