"""Mechanisms as a user meets them: listed, verified, benchmarked, and perturbing arrays.

Written from the list that the program itself prints, so that a new mechanism is tested when it is
registered. Parts that need NumPy are skipped, visibly, where it is not installed.
"""

import functools
import io
import json
import math
import os
import re
import subprocess
import sys
import unittest

from sotto_program import PROGRAM, ROOT, SottoTest, sotto

try:
    import numpy
except ImportError:
    numpy = None

#: Given to every mechanism that takes a parameter of this name and has no default for it.
USUAL = {"epsilon": 2, "precision": 2, "groups": 4, "step": 10, "norm": 1, "delta": 1e-5,
         "coefficient": 10, "alpha": 0.02}
#: Mechanisms whose published claim does not hold.
BROKEN = {"ldpfl-1", "ldpfl-2"}
PARAGRAPHS = ["Input", "Output", "Guarantee", "Bias and variance", "Cost", "Reference"]


@functools.lru_cache
def listed():
    done = sotto("mechanisms", "--json")
    return json.loads(done.stdout)["mechanisms"]


def flags_of(mechanism):
    """--epsilon 2 ..., for the parameters that must be given (em: alpha where epsilon need not)."""
    flags = []
    for parameter in mechanism["parameters"]:
        if parameter["required"]:
            flags += ["--" + parameter["name"], str(USUAL[parameter["name"]])]
    if mechanism["name"] != "none" and not flags:
        optional = [p["name"] for p in mechanism["parameters"] if p["preset"] is None]
        name = "epsilon" if "epsilon" in optional else optional[0]
        flags = ["--" + name, str(USUAL[name])]
    return flags


def manual(*page):
    return ROOT.joinpath("docs", *page).read_text()


class Listing(SottoTest):
    def test_every_mechanism_is_listed_with_all_it_promises(self):
        found = listed()
        self.assertLessEqual({"two-point", "none"}, {m["name"] for m in found})
        text = self.ok("mechanisms")
        for mechanism in found:
            self.assertIn(mechanism["name"], text)
            for key in ["kind", "summary", "input", "output", "guarantee", "bias", "reference"]:
                self.assertTrue(mechanism[key], (mechanism["name"], key))
            self.assertIn(mechanism["unbiased"], [True, False])
            for parameter in mechanism["parameters"]:
                self.assertTrue(parameter["meaning"])

    def test_one_with_its_parameters(self):
        text = self.ok("mechanisms", "two-point")
        for part in ["--epsilon", "[1e-09, 1000]", "required", "LDP-FL"]:
            self.assertIn(part, text)
        self.assertEqual(self.json("mechanisms", "two-point")["name"], "two-point")
        self.fails(2, ["unknown mechanism 'two-piont'", "did you mean 'two-point'"],
                   "mechanisms", "two-piont")

    def test_help_has_examples(self):
        for words in [["mechanisms"], ["verify"], ["perturb"], ["bench"], ["bench", "mechanisms"]]:
            self.assertIn("Example", self.ok(*words, "--help"), words)


class Documentation(SottoTest):
    def test_every_mechanism_has_its_section(self):
        text = manual("reference", "mechanisms.md")
        for mechanism in listed():
            name = mechanism["name"]
            with self.subTest(mechanism=name):
                sections = re.findall(r"^## `" + re.escape(name) + r"`\n(.*?)(?=^## |\Z)", text,
                                      re.M | re.S)
                self.assertEqual(len(sections), 1, f"reference/mechanisms.md: one section ## `{name}`")
                heads = re.findall(r"^\*\*([A-Z][^*]*)\.\*\* \S", sections[0], re.M)
                self.assertEqual(heads, PARAGRAPHS)

    @unittest.skipIf(numpy is None, "NumPy is not installed")
    def test_the_python_example_runs(self):
        examples = re.findall(r"^```python\n(.*?)^```", manual("guides", "perturb.md"), re.M | re.S)
        self.assertTrue(examples)
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "sotto").symlink_to(PROGRAM)
        environment = {**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
        for example in examples:
            done = subprocess.run([sys.executable, "-c", example], env=environment, text=True,
                                  cwd=self.folder, capture_output=True)
            self.assertEqual(done.returncode, 0, done.stderr)


class Verify(SottoTest):
    def test_every_mechanism(self):
        for mechanism in listed():
            name = mechanism["name"]
            with self.subTest(mechanism=name):
                done = sotto("verify", name, *flags_of(mechanism), "--json")
                found = json.loads(done.stdout)
                for key in ["mechanism", "parameters", "claimed_epsilon", "exact_epsilon", "delta",
                            "holds", "worst_case_variance", "max_bias", "sums_to_one", "unit",
                            "statement", "worst", "inputs"]:
                    self.assertIn(key, found)
                for key in ["input", "other_input", "output"]:
                    self.assertIn(key, found["worst"])
                for row in found["inputs"]:
                    self.assertLessEqual({"input", "mean", "bias", "variance"}, set(row))
                self.assertIs(found["sums_to_one"], True)
                self.assertEqual(done.returncode, 1 if name in BROKEN else 0, done.stderr)
                self.assertIs(found["holds"], name not in BROKEN)
                if name == "none":
                    self.assertIsNone(found["exact_epsilon"])
                    self.assertIsNone(found["claimed_epsilon"])
                elif name not in BROKEN:
                    self.assertLessEqual(found["exact_epsilon"], found["claimed_epsilon"])
                    self.assertGreater(found["exact_epsilon"], 0)
                if mechanism["unbiased"] and mechanism["kind"] == "value":
                    self.assertLess(found["max_bias"], 1e-6)
                text = sotto("verify", name, *flags_of(mechanism)).stdout
                self.assertIn("does NOT hold" if name in BROKEN else "claim", text)

    def test_two_point_has_the_known_values(self):
        found = self.json("verify", "two-point", "--epsilon", "1")
        self.assertEqual(found["claimed_epsilon"], 1)
        self.assertAlmostEqual(found["exact_epsilon"], 1, places=12)
        self.assertAlmostEqual(found["worst_case_variance"], 4.683, places=3)
        self.assertLess(found["max_bias"], 1e-12)
        self.assertEqual(len(found["inputs"]), 11)
        self.assertEqual([found["inputs"][i]["input"] for i in (0, 5, 10)], [-1, 0, 1])
        self.assertEqual(len(self.json("verify", "two-point", "--epsilon", "1", "--inputs",
                                       "3")["inputs"]), 3)

    def test_ranges_with_a_negative_centre(self):
        for words in [["--range=-0.1,0.2"], ["--range", "-0.1,0.2"], ["--range", " -0.1 , 0.2"]]:
            found = self.json("verify", "two-point", "--epsilon", "1", *words)
            self.assertEqual(found["range"], {"centre": -0.1, "radius": 0.2})

    def test_plots(self):
        for mechanism in listed():
            with self.subTest(mechanism=mechanism["name"]):
                picture = self.folder / (mechanism["name"] + ".svg")
                sotto("verify", mechanism["name"], *flags_of(mechanism), "--plot", picture)
                text = picture.read_text()
                self.assertTrue(text.startswith("<svg"), text[:50])
                self.assertNotIn("no values yet", text)
                self.assertIn("class=\"axis\"", text)
                self.assertNotIn("nan", text)
        chosen = self.folder / "chosen.svg"
        self.ok("verify", "two-point", "--epsilon", "1", "--plot", chosen, "--at=-0.5,0.25")
        self.assertIn("input -0.5", chosen.read_text())
        self.assertIn("input 0.25", chosen.read_text())
        self.fails(2, ["--at 7", "[-1, 1]"], "verify", "two-point", "--epsilon", "1", "--plot",
                   self.folder / "no.svg", "--at", "7")
        self.fails(2, ["--plot"], "verify", "two-point", "--epsilon", "1", "--at", "0")
        self.fails(1, [], "verify", "two-point", "--epsilon", "1", "--plot", self.folder)
        self.assertFalse((self.folder / "no.svg").exists())


class BadParameters(SottoTest):
    def test_epsilon(self):
        for value in ["0", "-1", "nan", "inf", "-inf", "1e300"]:
            for mechanism in listed():
                if not any(p["name"] == "epsilon" for p in mechanism["parameters"]):
                    continue
                flags = flags_of(mechanism)
                if "--epsilon" in flags:
                    flags[flags.index("--epsilon") + 1] = value
                else:
                    flags += ["--epsilon", value]
                self.fails(2, ["epsilon = ", "valid: a number in "], "verify", mechanism["name"],
                           *flags)
        self.fails(2, ["five"], "verify", "two-point", "--epsilon", "five")
        self.fails(2, ["needs epsilon", "[1e-09, 1000]"], "verify", "two-point")

    def test_ranges(self):
        for text, parts in [("0,0", ["radius 0", "above 0"]), ("0,-1", ["radius -1"]),
                            ("0,nan", ["radius"]), ("inf,1", ["centre inf"]), ("0", ["centre"]),
                            ("a,b", ["centre"]), ("0,1,2", ["centre"]), ("", [])]:
            self.fails(2, ["range", *parts], "verify", "two-point", "--epsilon", "1",
                       "--range=" + text)

    def test_names(self):
        self.fails(2, ["unknown mechanism 'twopoint'", "did you mean 'two-point'", "valid:"],
                   "verify", "twopoint", "--epsilon", "1")
        self.fails(2, ["none takes no 'epsilon'"], "verify", "none", "--epsilon", "1")
        self.fails(2, ["--epsilon"], "verify", "two-point", "--epsilom", "1")
        self.fails(2, ["did you mean 'two-point'"], "perturb", "--mechanism", "to-point",
                   input="")
        self.fails(2, ["--mechanism"], "perturb", input="")

    def test_parameters_outside_their_intervals(self):
        seen = set()
        for mechanism in listed():
            for parameter in mechanism["parameters"]:
                name, high = parameter["name"], parameter["high"]
                if name in seen:
                    continue
                seen.add(name)
                flags = flags_of(mechanism)
                if "--" + name in flags:
                    at = flags.index("--" + name)
                    del flags[at:at + 2]
                with self.subTest(mechanism=mechanism["name"], parameter=name):
                    self.fails(2, [name], "verify", mechanism["name"], *flags, f"--{name}",
                               repr(high * 2 + 1))


@unittest.skipIf(numpy is None, "NumPy is not installed")
class Perturb(SottoTest):
    TWO_POINT = ["perturb", "--mechanism", "two-point", "--epsilon", "1"]

    def perturbed(self, array, *flags, mechanism=None):
        source, target = self.folder / "in.npy", self.folder / "out.npy"
        numpy.save(source, array)
        self.ok(*(mechanism or self.TWO_POINT), *flags, source, target)
        return numpy.load(target)

    def piped(self, data, *flags):
        return subprocess.run([PROGRAM, *self.TWO_POINT, *flags], input=data, capture_output=True)

    def test_shapes_and_types(self):
        shapes = [(), (1,), (7,), (0,), (3, 0, 2), (4, 5), (2, 3, 4), (1,) * 10, (5,)]
        for shape, kind in zip(shapes, ["f4", "f8", "i1", "u1", "i2", "i4", "u4", "i8", "u8"]):
            for turned in [kind, "f4" if kind == "f8" else "f8"]:
                out = self.perturbed(numpy.zeros(shape, turned))
                self.assertEqual(out.shape, shape)
                self.assertEqual(out.dtype, numpy.float64 if turned == "f8" else numpy.float32)
        values = numpy.unique(self.perturbed(numpy.zeros(100, "f8")))
        reach = (math.e + 1) / (math.e - 1)
        numpy.testing.assert_allclose(values, [-reach, reach], rtol=1e-12)

    def test_every_mechanism_perturbs(self):
        for mechanism in listed():
            with self.subTest(mechanism=mechanism["name"]):
                words = ["perturb", "--mechanism", mechanism["name"], *flags_of(mechanism)]
                bits = mechanism["kind"] == "bits"
                if mechanism["name"] in ["rappor", "oue"]:
                    words.append("--rows")
                array = (numpy.arange(40).reshape(4, 10) % 2).astype("u1") if bits else \
                    numpy.linspace(-1, 1, 40, dtype="f4").reshape(4, 10)
                out = self.perturbed(array, mechanism=words)
                self.assertEqual(out.shape[:2], (4, 10))
                self.assertEqual(out.dtype, numpy.uint8 if bits else numpy.float32)
                self.assertTrue(numpy.isfinite(out).all())
                if bits:
                    self.assertLessEqual(set(numpy.unique(out)), {0, 1})
                one = self.perturbed(array, "--seed", "5", "--symbols", mechanism=words)
                two = self.perturbed(array, "--seed", "5", "--symbols", mechanism=words)
                self.assertEqual(one.dtype, numpy.int64)
                numpy.testing.assert_array_equal(one, two)
                empty = self.perturbed(array[:0], mechanism=words)
                self.assertEqual(empty.shape[:2], (0, 10))

    def test_rows_are_reports_of_their_own(self):
        hot = numpy.eye(10, dtype="f4")[numpy.arange(2000) % 10]
        oue = ["perturb", "--mechanism", "oue", "--epsilon", "3"]
        out = self.perturbed(hot, "--rows", mechanism=oue)
        self.assertEqual(out.shape, (2000, 10))
        # The true bit is set with probability 1/2, any other with 1/(1 + e^3) = 0.047.
        self.assertAlmostEqual(out[hot == 1].mean(), 0.5, delta=0.08)
        self.assertAlmostEqual(out[hot == 0].mean(), 0.047, delta=0.012)
        source = self.folder / "in.npy"
        numpy.save(source, hot)
        self.fails(2, ["--rows", "one category"], *oue, source, self.folder / "refused.npy")
        self.assertFalse((self.folder / "refused.npy").exists())
        vectors = numpy.zeros((300, 5), "f8")
        vectors[:, 2] = 1
        sgd = ["perturb", "--mechanism", "ldp-sgd", "--epsilon", "20"]
        mean = self.perturbed(vectors, "--rows", mechanism=sgd).mean(axis=0)
        numpy.testing.assert_allclose(mean, vectors[0], atol=0.7)
        self.assertEqual(self.perturbed(numpy.zeros((0, 5)), "--rows", mechanism=sgd).shape, (0, 5))
        self.assertEqual(self.perturbed(numpy.zeros((5, 0)), "--rows", mechanism=sgd).shape, (5, 0))
        numpy.save(source, numpy.float32(1))
        self.fails(2, ["one dimension or more"], *self.TWO_POINT, "--rows", source, "-")

    def test_both_orders_give_the_same(self):
        array = numpy.linspace(-1, 1, 24).reshape(2, 3, 4)
        rows = self.perturbed(array, mechanism=["perturb", "--mechanism", "none"])
        numpy.testing.assert_allclose(rows, array, atol=1e-6)
        columns = self.perturbed(numpy.asfortranarray(array),
                                 mechanism=["perturb", "--mechanism", "none"])
        numpy.testing.assert_array_equal(columns, rows)

    def test_seed_and_threads(self):
        array = numpy.linspace(-1, 1, 20000).astype("f4")
        one = self.perturbed(array, "--seed", "3")
        numpy.testing.assert_array_equal(one, self.perturbed(array, "--seed", "3"))
        for threads in ["2", "3", "8"]:
            many = self.perturbed(array, "--seed", "3", "--threads", threads)
            numpy.testing.assert_array_equal(one, many)
        self.assertTrue((one != self.perturbed(array, "--seed", "4")).any())
        self.assertTrue((self.perturbed(array) != self.perturbed(array)).any())
        # Unbiased: the mean of 20,000 weights whose mean is 0 is off by 0.07 once in a million.
        self.assertLess(abs(one.mean() - array.mean()), 0.08)

    def test_it_tells_the_epsilon_and_warns_of_seeds(self):
        numpy.save(self.folder / "in.npy", numpy.zeros(1000))
        files = [self.folder / "in.npy", self.folder / "out.npy"]
        told = sotto(*self.TWO_POINT, *files).stderr
        self.assertRegex(told, r"two-point: epsilon (1|0\.9999999999\d*) a weight, "
                               r"(999\.99999999\d*|1000(\.0)?) for this whole report of 1,000 values")
        self.assertEqual(sotto(*self.TWO_POINT, "--quiet", *files).stderr, "")
        self.assertIn("NOT private", sotto(*self.TWO_POINT, "--seed", "1", *files).stderr)
        self.assertIn("NOT private", sotto(*self.TWO_POINT, "--quiet", "--seed", "1", *files).stderr)

    def test_nan_infinity_and_huge_values_are_replaced_in_silence(self):
        array = numpy.array([numpy.nan, numpy.inf, -numpy.inf, 1e300, -1e300, 0.25])
        out = self.perturbed(array, "--range", "10,1")
        self.assertTrue(numpy.isfinite(out).all())
        numpy.save(self.folder / "nan.npy", numpy.full(5, numpy.nan))
        numpy.save(self.folder / "ten.npy", numpy.full(5, 10.0))
        words = [*self.TWO_POINT, "--range", "10,1", "--seed", "9"]
        outputs = []
        for name in ["nan", "ten"]:
            done = sotto(*words, self.folder / f"{name}.npy", self.folder / "o.npy")
            self.assertEqual(done.returncode, 0)
            outputs.append((done.stderr, (self.folder / "o.npy").read_bytes()))
        self.assertEqual(outputs[0], outputs[1])
        # A finite value beyond every float is clipped to the end, not sent to the centre.
        high = self.perturbed(numpy.full(2000, 1e300), "--range", "0,1")
        self.assertGreater(high.mean(), 0.5)

    def test_pipes(self):
        stream = io.BytesIO()
        numpy.save(stream, numpy.zeros((3, 2), "f4"))
        for flags in [[], ["-"], ["-", "-"]]:
            done = self.piped(stream.getvalue(), *flags)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(numpy.load(io.BytesIO(done.stdout)).shape, (3, 2))
        done = self.piped(stream.getvalue(), "-", str(self.folder / "piped.npy"))
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        self.assertEqual(numpy.load(self.folder / "piped.npy").shape, (3, 2))

    def test_symbols_are_in_the_alphabet(self):
        out = self.perturbed(numpy.linspace(-1, 1, 500), "--symbols")
        self.assertEqual(set(numpy.unique(out)), {0, 1})

    def test_damaged_files_leave_nothing_behind(self):
        stream = io.BytesIO()
        numpy.save(stream, numpy.arange(50.0))
        good = stream.getvalue()
        huge = good.replace(b"(50,)", b"(9999999999999999999,)"[:5])
        objects = io.BytesIO()
        numpy.save(objects, numpy.array([{}], dtype=object), allow_pickle=True)
        bad = [good[:n] for n in (0, 5, 9, 40, 128, len(good) - 1)]
        bad += [good + b"x", b"not an array at all", huge, objects.getvalue()]
        target = self.folder / "out.npy"
        for data in bad:
            (self.folder / "in.npy").write_bytes(data)
            text = self.fails(1, ["in.npy"], *self.TWO_POINT, self.folder / "in.npy", target)
            self.assertNotIn("internal", text)
            self.assertFalse(target.exists())
            done = self.piped(data)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertIn(b"standard input", done.stderr)
        self.fails(1, ["nothing.npy"], *self.TWO_POINT, self.folder / "nothing.npy", target)
        self.assertEqual([p.name for p in self.folder.iterdir()], ["in.npy"])
        target.write_bytes(b"kept")
        self.fails(1, [], *self.TWO_POINT, self.folder / "in.npy", target)
        self.assertEqual(target.read_bytes(), b"kept")

    def test_what_cannot_be_written_is_an_error(self):
        numpy.save(self.folder / "in.npy", numpy.zeros(100000))
        self.fails(1, [], *self.TWO_POINT, self.folder / "in.npy", "/dev/null/out.npy")
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, *self.TWO_POINT, str(self.folder / "in.npy"), "-"],
                                  stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)


class Bench(SottoTest):
    def test_every_mechanism_in_json(self):
        rows = self.json("bench", "mechanisms", "--weights", "1000", "--weights", "64",
                         "--seconds", "0")
        self.assertEqual({r["mechanism"] for r in rows}, {m["name"] for m in listed()})
        for row in rows:
            for key in ["ns_per_weight", "floor_ns", "ratio"]:
                self.assertGreater(row[key], 0, row)
            self.assertIn(row["weights"], [64, 1000])
            self.assertAlmostEqual(row["ratio"], row["ns_per_weight"] / row["floor_ns"])
            self.assertIn(row["level"], ["scalar", "baseline", "avx2", "avx512"])
            self.assertGreaterEqual(row["random_bytes_per_weight"], 0)

    def test_one_as_a_table(self):
        text = self.ok("bench", "mechanisms", "--mechanism", "two-point", "--weights", "5000",
                       "--seconds", "0")
        self.assertRegex(text, r"two-point +5,000 .*(met|MISSED)")
        self.assertNotIn("none ", text.split("-----")[-1])
        self.fails(2, ["did you mean 'two-point'"], "bench", "mechanisms", "--mechanism", "twopoint")
        self.fails(2, [], "bench", "mechanisms", "--weights", "0")
        self.fails(2, [], "bench", "mechanism")
