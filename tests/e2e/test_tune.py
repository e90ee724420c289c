"""sotto tune srr: the setting that was computed independently, inputs of every kind, bad usage."""

import struct

from sotto_program import SottoTest

PAPER = ["tune", "srr", "--epsilon", "5", "--range", "0,0.075", "--precision", "4"]


class Tune(SottoTest):
    def test_it_beats_the_papers_setting_as_known(self):
        found = self.json(*PAPER)
        self.assertEqual(found["groups"], 2)
        self.assertAlmostEqual(found["step"], 1000, delta=100)
        self.assertLess(found["rmse"], 0.296 * 0.075)
        self.assertEqual((found["paper"]["groups"], found["paper"]["step"]), (10, 20))
        self.assertAlmostEqual(found["paper"]["rmse"], 0.709 * 0.075, delta=1e-4)
        self.assertAlmostEqual(found["paper"]["edge_mean"], 0.43, delta=0.005)
        self.assertAlmostEqual(found["ratio"], found["paper"]["mse"] / found["mse"])
        self.assertTrue(found["l1_within_radius"])
        self.assertLessEqual(found["exact_epsilon"], 5)
        for key in ["epsilon", "precision", "centre", "radius", "mse", "optimal"]:
            self.assertIn(key, found)

    def test_inputs_change_the_error(self):
        values = self.folder / "w.npy"
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"
        header += " " * (63 - (10 + len(header)) % 64) + "\n"
        values.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                           header.encode() + struct.pack("<3f", -0.001, 0.0, 0.001))
        kinds = ["worst", "uniform", "normal:0.02", str(values)]
        errors = [self.json(*PAPER, "--input", kind)["mse"] for kind in kinds]
        self.assertEqual(errors, sorted(errors, reverse=True))

    def test_bad_usage_names_what_is_valid(self):
        def fails(parts, *words):
            self.fails(2, parts, "tune", "srr", *words)

        fails(["[1e-09, 1000]"], "--epsilon", "0", "--range", "0,1")
        fails(["[0, 9]"], "--epsilon", "1", "--range", "0,1", "--precision", "15")
        fails(["normal:S"], "--epsilon", "1", "--range", "0,1", "--input", "normal:0")
        fails(["uniform"], "--epsilon", "1", "--range", "0,1", "--input", "unifrom")
        fails(["--epsilon"], "--range", "0,1")
        self.fails(1, ["nothing.npy"], *PAPER, "--input", self.folder / "nothing.npy")
        self.assertIn("Example", self.ok("tune", "srr", "--help"))
