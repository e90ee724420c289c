"""Every accuracy that README.md and docs/ repeat against the one place that owns it.

A figure is owned by one line. Where it is repeated, comments that a reader of the page does not see tie the lines:

    | MNIST, epsilon 1 | 96.72 ± 0.04 % <!-- owns client-mnist-1 --> |      docs/research/results.md
    96.72 ± 0.04 % on MNIST <!-- repeats client-mnist-1 -->                 anywhere else

- `among NAME` repeats the figure of NAME on a line that has figures of its own beside it.
- The headline of the owner, its first figure with a deviation or else its first, must be on the repeating line; a
  deviation that is given too must be the owner's.
- A line that repeats and owns nothing has no figure that none of its owners has, no difference in points that
  two of its figures do not have, and no epsilon (an integer of five digits or more, or three decimals) that is neither
  theirs nor a number of clients.
- On pages that own no figures (all but OWNERS), every accuracy with two decimals has to be marked. What programs print
  (text blocks) has to stand in a page of OWNERS, line for line.
"""

import re
import subprocess
import sys
import unittest
from collections import namedtuple
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
# Pages that own what they print: results, and those of one task whose runs stand beside their commands.
OWNERS = [DOCS / "research" / name for name in
          ("results.md", "ldpfl.md", "baselines.md", "performance.md")] + [DOCS / "start" / "first-guarantee.md"] + [
              DOCS / "guides" / name for name in ("cluster.md", "data.md")]
CLIENTS = {"60,000", "50,000", "12,000", "30,000", "25,000"}  # clients, or samples of one

# "96.72 ± 0.04 %", and "98.22" in "98.22, 98.53 and 98.06 %".
NUMBER = r"\d{1,2}\.\d{2}"
FIGURE = re.compile(rf"(?<![\d.,+-])({NUMBER})(?: ± (\d+\.\d+))?"
                    rf"(?=(?:(?:, |; | and | to ){NUMBER}(?: ± \d+\.\d+)?)* %)")
POINTS = re.compile(rf"(?<![\d.])(\d{{1,2}}\.\d{{1,2}}) points")
INTEGER = re.compile(r"(?<![\d.,])(?:\d{2,3}|\d,\d{3})(?:,\d{3})+(?!,?\d)")
EPSILON = re.compile(r"(?<![\d.,])\d+\.\d{3,}(?!\d)")
MARK = re.compile(r"<!-- (owns|repeats|among) ([^>]*?) -->")

Line = namedtuple("Line", "place text owns repeats among")


def read(page):
    """The lines of a page, and which of them a program printed."""
    fenced = False
    for number, text in enumerate(page.read_text().splitlines(), 1):
        if text.startswith("```"):
            fenced = not fenced
            continue
        marks = {"owns": [], "repeats": [], "among": []}
        for kind, names in MARK.findall(text):
            marks[kind] += names.split()
        yield Line(f"{page.relative_to(ROOT)}:{number}", MARK.sub("", text), **marks), fenced


def pages():
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def headline(text):
    figures = FIGURE.findall(text)
    with_deviation = [figure for figure in figures if figure[1]]
    return (with_deviation or figures or [None])[0]


class Figures(unittest.TestCase):
    def setUp(self):
        self.lines = [(page, line, fenced) for page in pages() for line, fenced in read(page)]
        self.owners = {}
        for _, line, _ in self.lines:
            for name in line.owns:
                self.assertNotIn(name, self.owners, f"{line.place}: {name} has two owners")
                self.assertIsNotNone(headline(line.text), f"{line.place}: {name} owns no figure")
                self.owners[name] = line

    def test_what_is_repeated_is_what_its_owner_says(self):
        count = 0
        for _, line, _ in self.lines:
            figures = FIGURE.findall(line.text)
            for name in line.repeats + line.among:
                self.assertIn(name, self.owners, f"{line.place}: nothing owns {name}")
                mean, deviation = headline(self.owners[name].text)
                there = [figure for figure in figures if figure[0] == mean]
                self.assertTrue(there, f"{line.place}: {name} is {mean} % at {self.owners[name].place}")
                for _, given in there:
                    self.assertIn(given, ("", deviation), f"{line.place}: the deviation of {name}")
                count += 1
            if not line.repeats:
                continue
            self.assertEqual(line.owns + line.among, [], f"{line.place}: write among, where a line has its own")
            theirs = " ".join(self.owners[name].text for name in line.repeats)
            means = {mean for mean, _ in FIGURE.findall(theirs)}
            for mean, _ in figures:
                self.assertIn(mean, means, f"{line.place}: no owner has {mean} %")
            values = [float(mean) for mean, _ in figures]
            for lost in POINTS.findall(line.text):  # of means before they were rounded
                self.assertTrue(any(abs(abs(a - b) - float(lost)) < 0.0101 for a in values for b in values),
                                f"{line.place}: no two figures are {lost} points apart")
            for number in set(INTEGER.findall(line.text) + EPSILON.findall(line.text)) - CLIENTS:
                self.assertIn(number, theirs, f"{line.place}: no owner has {number}")
        self.assertGreater(count, 60)

    def test_every_owner_is_repeated(self):
        repeated = {name for _, line, _ in self.lines for name in line.repeats + line.among}
        repeated |= set(re.findall(r'"([a-z0-9.-]+)"', (DOCS / "picture.py").read_text()))
        # A page that owns no other figures has to mark its own.
        alone = {name for page, line, _ in self.lines if page not in OWNERS for name in line.owns}
        self.assertEqual(sorted(set(self.owners) - repeated - alone), [])

    def test_other_pages_mark_every_accuracy(self):
        printed = {line.text for page, line, fenced in self.lines if fenced and page in OWNERS}
        for page, line, fenced in self.lines:
            if page in OWNERS or not FIGURE.search(line.text):
                continue
            if fenced:
                self.assertIn(line.text, printed, f"{line.place}: no page that owns figures prints this")
            else:
                self.assertTrue(line.repeats + line.among + line.owns, f"{line.place}: whose figure is this?\n{line.text}")

    def test_the_picture_is_that_of_the_figures(self):
        done = subprocess.run([sys.executable, "-B", DOCS / "picture.py", "--check"], text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
