"""Runs the sotto program for the end-to-end tests."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["SOTTO"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
EMBEDDED = str(ROOT / "recipes" / "embedded.toml")


def sotto(*arguments, **options):
    """The finished process: returncode, stdout, stderr."""
    return subprocess.run(
        [PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=600, **options
    )


class SottoTest(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sotto-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def ok(self, *arguments, **options):
        done = sotto(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def json(self, *arguments, **options):
        return json.loads(self.ok(*arguments, "--json", **options))

    def fails(self, code, parts, *arguments, **options):
        done = sotto(*arguments, **options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)
        return done.stderr
