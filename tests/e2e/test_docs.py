"""The documentation against the program: every ```sh block of README.md and docs/ is run, generated pages are those
of this build, links and anchors lead somewhere, and every test that the threat model names is there."""

import os
import re
import shutil
import subprocess
import sys

from sotto_program import PROGRAM, ROOT, SottoTest

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
SOURCES = ["apps", "examples", "experiments", "fuzz", "include", "lab", "models", "proto", "python", "recipes", "src",
           "tests"]


def blocks(text, language):
    return re.findall(r"^```" + language + r"\n(.*?)^```", text, re.M | re.S)


def anchors(page):
    """What a link to a heading of this page may name, by the rule of GitHub's renderer."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S), re.M):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        number = 0
        while (slug if number == 0 else f"{slug}-{number}") in found:
            number += 1
        found.add(slug if number == 0 else f"{slug}-{number}")
    return found


class Docs(SottoTest):
    def test_every_example_runs(self):
        shutil.copytree(ROOT / "recipes", self.folder / "recipes")
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "sotto").symlink_to(PROGRAM)
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
        count = 0
        for page in PAGES:
            for script in blocks(page.read_text(), "sh"):
                with self.subTest(page=str(page.relative_to(ROOT)), script=script):
                    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], text=True,
                                          cwd=self.folder, env=environment, capture_output=True)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    count += 1
            shutil.rmtree(self.folder / "runs", ignore_errors=True)
        self.assertGreaterEqual(count, 60)

    def test_generated_pages_are_those_of_this_program(self):
        done = subprocess.run([sys.executable, "-B", DOCS / "generate", "--check", PROGRAM], text=True,
                              capture_output=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_recipe_key_is_documented(self):
        page = (DOCS / "reference" / "recipe-keys.md").read_text()
        keys = re.findall(r"^([a-z]+\.[a-z_]+) ", self.ok("run", "--keys"), re.M)
        self.assertGreater(len(keys), 20)
        for key in keys:
            self.assertIn(f"`{key}`", page)

    def test_tests_that_the_threat_model_names_are_there(self):
        missing, found = [], 0
        cases = "".join(path.read_text() for path in (ROOT / "tests").rglob("*.cpp"))
        page = (DOCS / "reference" / "threat-model.md").read_text()
        for row in re.findall(r"^\|.*\|([^|]*)\|$", page, re.M):
            for name in re.findall(r"`([^`]+)`", row):
                if re.fullmatch(r"[A-Z]\w+\.[A-Z]\w+", name):
                    case = re.escape(name).replace(r"\.", r",\s*")
                    there = re.search(rf"\bTEST(_F|_P)?\(\s*{case}\)", cases)
                elif re.fullmatch(r"test_\w+\.test_\w+", name):
                    file, case = name.split(".")
                    there = any(f"def {case}(" in path.read_text()
                                for path in (ROOT / "tests").glob(f"*/{file}.py"))
                elif name.startswith("model."):
                    there = (ROOT / "models" / f"{name[6:]}.pml").exists()
                elif name == "fuzz" or name.startswith("tests/"):
                    there = (ROOT / name).is_dir()
                else:
                    continue  # of the other tables
                found += 1
                if not there:
                    missing.append(name)
        self.assertEqual(missing, [])
        self.assertGreater(found, 60)

    def test_links_lead_somewhere(self):
        count = 0
        for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
            for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)]*))?\)", page.read_text()):
                there = page.parent / target if target else page
                self.assertTrue(there.exists(), f"{page}: {target}")
                if anchor:
                    self.assertIn(anchor, anchors(there), f"{page}: {target}")
                count += 1
        self.assertGreater(count, 150)

    def test_pages_that_sources_and_messages_name_are_there(self):
        count = 0
        for folder in SOURCES:
            for file in (ROOT / folder).rglob("*"):
                if file.suffix in (".cpp", ".h", ".py", ".toml", ".def", ".proto", ".pml", ".txt", ".cu", ".cuh"):
                    for page in re.findall(r"\bdocs/[\w/-]+\.md\b", file.read_text(errors="replace")):
                        self.assertTrue((ROOT / page).exists(), f"{file}: {page}")
                        count += 1
        self.assertGreater(count, 15)

    def test_the_map_lists_every_page(self):
        listed = re.findall(r"\]\(([^)#:]+\.md)\)", (DOCS / "README.md").read_text())
        pages = [str(page.relative_to(DOCS)) for page in PAGES[1:] if page != DOCS / "README.md"]
        self.assertEqual(sorted(set(pages) - set(listed)), [])

