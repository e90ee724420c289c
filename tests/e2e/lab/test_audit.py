"""sotto audit: mechanisms and other people's programs, good ones and bad ones."""

import json
import pathlib
import sys
import time

from sotto_program import EMBEDDED, SottoTest, sotto

KEYS = ["epsilon_lower", "confidence", "trials", "verdict", "claim", "fpr", "fnr", "accuracy",
        "raw", "two_sided", "pooled", "seconds"]

# Randomized response on -1 and 1 with epsilon 1; the argument is how often it tells its input by a
# value that it has no other use for.
RESPONSE = """
import math, random, sys
leak = float(sys.argv[1]) if len(sys.argv) > 1 else 0
keep = math.exp(1) / (1 + math.exp(1))
for line in sys.stdin:
    x = float(line)
    print(2 * x if random.random() < leak else x if random.random() < keep else -x)
"""


class AuditMechanisms(SottoTest):
    def test_a_sound_one_is_consistent(self):
        found = self.json("audit", "two-point", "--epsilon", "1", "--trials", "200000")
        for key in KEYS:
            self.assertIn(key, found)
        self.assertEqual(found["verdict"], "consistent")
        self.assertGreater(found["epsilon_lower"], 0.95)
        self.assertLessEqual(found["epsilon_lower"], 1)
        self.assertEqual((found["claim"], found["confidence"], found["trials"]), (1, 0.95, 200000))
        self.assertAlmostEqual(found["accuracy"], 0.731, delta=0.01)

    def test_the_seed_decides_and_threads_do_not(self):
        def run(*words):
            found = self.json("audit", "laplace", "--epsilon", "2", "--trials", "50000", *words)
            found.pop("seconds")
            return found

        self.assertEqual(run("--threads", "1"), run("--threads", "3"))
        self.assertNotEqual(run()["fpr"], run("--seed", "2")["fpr"])

    def test_a_false_claim_is_refuted_early(self):
        done = sotto("audit", "ldpfl-2", "--epsilon", "0.5", "--bits", "100", "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["verdict"], "violated")
        self.assertTrue(found["stopped_early"])
        self.assertLess(found["trials"], 100000)
        self.assertGreater(found["epsilon_lower"], 5)
        done = sotto("audit", "srr", "--epsilon", "3", "--claim", "2.5", "--all-trials", "--json")
        found = json.loads(done.stdout)
        self.assertEqual((found["trials"], found["stopped_early"]), (1000000, False))
        self.assertGreater(found["epsilon_lower"], 2.9)
        done = sotto("audit", "srr", "--epsilon", "3", "--claim", "2.5")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("VIOLATED", done.stdout)

    def test_every_mechanism_can_be_audited(self):
        for mechanism in self.json("mechanisms")["mechanisms"]:
            words = ["audit", mechanism["name"], "--trials", "2000", "--claim", "1e6"]
            names = [parameter["name"] for parameter in mechanism["parameters"]]
            words += ["--epsilon", "2"] if "epsilon" in names else []
            words += ["--delta", "1e-5"] if "delta" in names else []
            if mechanism["kind"] == "vector":
                words += ["--dimension", "50"]
            with self.subTest(mechanism=mechanism["name"]):
                self.assertEqual(self.json(*words)["verdict"], "consistent")

    def test_bad_usage(self):
        self.fails(2, ["A mechanism, as in", "--program"], "audit")
        self.fails(2, ["did you mean 'two-point'"], "audit", "twopoint", "--epsilon", "1")
        self.fails(2, ["even number of at least 100"], "audit", "two-point", "--epsilon", "1",
                   "--trials", "7")
        self.fails(2, ["(0.75, 1)"], "audit", "two-point", "--epsilon", "1", "--confidence", "1")
        self.fails(2, ["not both"], "audit", "two-point", "--epsilon", "1", "--program", "cat")

    def test_what_would_be_ignored_is_refused(self):
        plain = ["audit", "two-point", "--epsilon", "1"]
        batch = ["audit", "--shuffled", *plain[1:]]
        program = ["audit", "--program", "cat", "--claim", "1", "--inputs=-1,1"]
        for words, option, form in [
                ([*plain, "--clients", "9"], "--clients", "--shuffled"),
                ([*plain, "--inputs", "1,2"], "--inputs", "--program"),
                ([*plain, "--distinguisher", "cosine"], "--distinguisher", "--adversary"),
                ([*plain, "--dimension", "9"], "--dimension", "vector"),
                ([*plain, "--set", "a=b"], "--set", "a recipe"),
                ([*batch, "--adversary", "dummy"], "--adversary", "--adversary"),
                ([*batch, "--train-rounds", "5"], "--train-rounds", "--adversary"),
                ([*batch, "--all-trials"], "--all-trials", "--program"),
                ([*program, "--epsilon", "1"], "--epsilon", "--shuffled"),
                ([*program, "--shuffled"], "--shuffled", "--shuffled"),
                (["audit", EMBEDDED, "--claim", "1"], "--claim", "a mechanism alone"),
                (["audit", EMBEDDED, "--epsilon", "1"], "--epsilon", "a mechanism alone")]:
            with self.subTest(words=words):
                self.fails(2, [option, form], *words)

    def test_a_recipe_has_the_audited_claim_beside_the_exact_ones(self):
        words = ["audit", EMBEDDED, "--set", "privacy.mechanism=two-point", "--set",
                 "privacy.epsilon=1", "--set", "privacy.radius=0.1", "--trials", "40000"]
        found = self.json(*words, "--out", self.folder / "out")
        self.assertEqual(found["verdict"], "consistent")
        audited = [claim for claim in found["claims"] if claim["scope"].startswith("audited")]
        self.assertEqual(len(audited), 1)
        self.assertEqual(audited[0]["epsilon"], found["epsilon_lower"])
        self.assertGreater(found["epsilon_lower"], 0.9)
        self.assertLess(found["epsilon_lower"], 1)
        self.assertIn("audited, whole training", self.ok(*words))
        self.ok("report", self.folder / "out", "--out", self.folder / "page.html")
        page = (self.folder / "page.html").read_text()
        self.assertIn("audited, whole training", page)
        self.assertIn("at least 0.9", page)
        shuffled = self.json(*words, "--set", "shuffle.mode=shuffler")
        self.assertEqual(shuffled["verdict"], "not audited")
        self.assertIn("--shuffled", self.ok(*words, "--set", "shuffle.mode=shuffler"))

    def test_a_page_for_the_report(self):
        for number, words in enumerate([
                ["two-point", "--epsilon", "1", "--trials", "10000"],
                ["ldp-sgd", "--epsilon", "2", "--adversary", "dummy", "--dimension", "50"],
                ["--shuffled", "two-point", "--epsilon", "1", "--clients", "50", "--trials", "4000"]]):
            self.ok("audit", *words, "--out", self.folder / str(number))
        folders = [self.folder / name for name in "012"]
        self.ok("report", *folders, "--out", self.folder / "page.html")
        page = (self.folder / "page.html").read_text()
        self.assertIn("cosine of report and first gradient", page)
        self.assertIn("Claimed, exact and audited epsilon", page)
        self.assertIn("shuffled batches of 50 clients", page)
        self.assertEqual(len(self.json("report", *folders)["findings"]), 3)
        self.fails(2, ["pages of their own"], "report", folders[0], self.folder)


class AuditPrograms(SottoTest):
    def program(self, text, *words):
        path = self.folder / "program.py"
        path.write_text(text)
        return " ".join([sys.executable, str(path), *words])

    def audit(self, program, *words, claim="1", inputs="-1,1"):
        return sotto("audit", "--program", program, "--claim", claim, f"--inputs={inputs}", *words)

    def refused(self, parts, program, *words):
        done = self.audit(program, "--trials", "2000", *words)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_a_sound_program(self):
        # Its claim is a little above its epsilon of 1: that it is refuted by chance is out of question.
        done = self.audit(self.program(RESPONSE), "--trials", "60000", "--json", claim="1.1")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = json.loads(done.stdout)
        for key in KEYS + ["events", "program", "inputs"]:
            self.assertIn(key, found)
        self.assertEqual(found["verdict"], "consistent")
        self.assertGreater(found["epsilon_lower"], 0.9)

    def test_a_leak_once_in_a_thousand(self):
        # A quarter of them learns it; the rest sees it about a hundred times with either input.
        done = self.audit(self.program(RESPONSE, "0.001"), "--trials", "300000", "--json")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["verdict"], "violated")
        self.assertIn("exactly", found["events"][0]["event"])

    def test_vectors_and_arrays(self):
        text = """
import math, random, sys
keep = math.exp(0.5) / (1 + math.exp(0.5))
for line in sys.stdin:
    print(*(b if random.random() < keep else 1 - b for b in map(int, line.split())), sep=",")
"""
        done = self.audit(self.program(text), "--trials", "40000", "--json", claim="1.2",
                          inputs="0,0;1,1")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(json.loads(done.stdout)["output_values"], 2)
        text = """
import struct, sys
raw = sys.stdin.buffer.read()
sys.stdout.buffer.write(raw)
"""
        done = self.audit(self.program(text), "--format", "npy", "--trials", "20000",
                          inputs="0,0.5;0,1")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("VIOLATED", done.stdout)

    def test_other_languages(self):
        done = self.audit("awk '{ srand(); print $1 }'", "--trials", "2000")
        self.assertEqual(done.returncode, 1)
        self.assertIn("VIOLATED", done.stdout)

    def test_programs_that_die_hang_or_talk_nonsense(self):
        self.refused(["exit code 3", "no good"],
                     self.program("import sys; print('no good', file=sys.stderr); sys.exit(3)"))
        self.refused(["signal 9"], "kill -9 $$")
        self.refused(["exit code 127"], "/no/such/program")
        self.refused(["line 1", "'hello' is not a number"], "sed s/.*/hello/")
        self.refused(["line 2", "2 numbers"], "awk '{ print NR == 2 ? \"1 2\" : 1 }'")
        self.refused(["printed 0 outputs"], "true")
        self.refused(["printed 1 outputs for"], "head -n 1")
        self.refused(["more than one output"], "yes 1")
        self.refused(["more than one output"], "awk '{ print; print }'")
        self.refused(["fixed seed"], "awk 'BEGIN { srand(1) } { print rand() }'")
        self.refused(["program's output"], "cat > /dev/null; echo hello", "--format", "npy")

    def test_a_hung_program_is_killed_with_all_it_started(self):
        mark = self.folder / "pid"
        start = time.monotonic()
        self.refused(["hung", "1 s"], f"sleep 1000 & echo $! > {mark}; wait", "--timeout", "1")
        self.assertLess(time.monotonic() - start, 60)
        pid = int(mark.read_text())
        for _ in range(100):
            try:
                state = pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2]
            except (ProcessLookupError, FileNotFoundError):
                return
            if state == "Z":  # dead; whoever adopted it has yet to notice
                return
            time.sleep(0.05)
        self.fail("the grandchild is still alive")

    def test_a_program_that_does_not_end(self):
        self.refused(["did not end"], "cat; exec >&-; sleep 1000", "--timeout", "1")

    def test_bad_usage(self):
        def fails(parts, *words):
            self.fails(2, parts, "audit", "--program", "cat", *words)

        fails(["--inputs"])
        fails(["not a number", "--inputs=-1,1"], "--inputs", "a,b")
        fails(["has 3 numbers"], "--inputs", "1,2,3")
        fails(["same number of values"], "--inputs", "1,2;3")
        fails(["are the same"], "--inputs", "1,1")
        fails(["did you mean 'text'"], "--inputs", "0,1", "--format", "txt")
        fails(["--claim"], "--inputs", "0,1", "--epsilon", "1")
        fails(["--timeout"], "--inputs", "0,1", "--timeout", "0")
