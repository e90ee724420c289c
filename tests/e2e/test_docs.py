"""The examples of the documentation are run: every ```sh block of README.md and docs/."""

import os
import re
import shutil
import subprocess

from sotto_program import PROGRAM, ROOT, SottoTest

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(text, language):
    return re.findall(r"^```" + language + r"\n(.*?)^```", text, re.M | re.S)


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
                with self.subTest(page=page.name, script=script):
                    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], text=True,
                                          cwd=self.folder, env=environment, capture_output=True)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    count += 1
            shutil.rmtree(self.folder / "runs", ignore_errors=True)
        self.assertGreaterEqual(count, 5)

    def test_every_recipe_key_is_documented(self):
        page = (ROOT / "docs" / "recipes.md").read_text()
        keys = re.findall(r"^([a-z]+\.[a-z_]+) ", self.ok("run", "--keys"), re.M)
        self.assertGreater(len(keys), 20)
        for key in keys:
            self.assertIn(f"`{key}`", page)

    def test_tests_that_the_threat_model_names_are_there(self):
        missing, found = [], 0
        cases = "".join(path.read_text() for path in (ROOT / "tests").rglob("*.cpp"))
        page = (ROOT / "docs" / "threat-model.md").read_text()
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
        for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
            for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
                self.assertTrue((page.parent / target).exists(), f"{page.name}: {target}")

