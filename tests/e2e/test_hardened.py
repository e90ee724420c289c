"""What users run is built to stop where it is attacked, and leaves no picture of its secrets."""

import gzip
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import time
import unittest
import zipfile

from sotto_program import PROGRAM, SottoTest, sotto

HARDENED = os.environ.get("SOTTO_HARDENED", "ON").upper() in ("ON", "1", "TRUE", "YES")
OPTIMISED = os.environ.get("SOTTO_BUILD_TYPE", "Release") == "Release"


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *arguments, PROGRAM], capture_output=True, text=True,
                          check=True).stdout


@unittest.skipUnless(HARDENED, "built with SOTTO_HARDENED=OFF")
class BinaryTest(unittest.TestCase):
    def test_it_has_no_fixed_address(self):
        self.assertRegex(readelf("-h"), r"Type:\s+DYN")

    def test_its_tables_are_read_only_after_linking(self):
        self.assertIn("GNU_RELRO", readelf("-l"))
        self.assertRegex(readelf("-d"), r"BIND_NOW|FLAGS.*\bNOW\b")

    def test_its_stack_is_not_executable(self):
        stack = re.search(r"GNU_STACK.*", readelf("-l")).group()
        self.assertNotRegex(stack, r"\bRWE\b")

    def test_it_guards_stacks_and_indices(self):
        symbols = readelf("--dyn-syms")
        self.assertIn("__stack_chk_fail", symbols)
        self.assertIn("__glibcxx_assert_fail", symbols)

    def test_no_library_is_looked_for_in_the_current_folder(self):
        """An empty or relative element of the RUNPATH: somebody else's folder would bring its own code."""
        built = [path for path in pathlib.Path(PROGRAM).parent.iterdir()
                 if path.is_file() and (path.suffix == ".so" or os.access(path, os.X_OK))]
        self.assertIn(pathlib.Path(PROGRAM).name, [path.name for path in built])
        for path in built:
            said = subprocess.run(["readelf", "-W", "-d", path], capture_output=True, text=True).stdout
            for elements in re.findall(r"\((?:RUNPATH|RPATH)\)\s+Library \w+: \[(.*)\]", said):
                for element in elements.split(":"):
                    self.assertTrue(element.startswith(("/", "$ORIGIN")), f"{path}: '{elements}'")

    @unittest.skipUnless(OPTIMISED, "_FORTIFY_SOURCE needs an optimizing compiler")
    def test_its_c_library_calls_are_fortified(self):
        self.assertRegex(readelf("--dyn-syms"), r"__(mem|str|read|vsn?printf|fprintf|snprintf)\w*_chk")


class CoreTest(SottoTest):
    def dies(self, number, *arguments):
        """A role is killed like one that crashed, where core files are allowed."""
        def allow():
            hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
            resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], cwd=self.folder, preexec_fn=allow,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        limits = pathlib.Path(f"/proc/{process.pid}/limits")
        end = time.monotonic() + 20
        pattern = r"Max core file size +0 +0 "
        while not re.search(pattern, limits.read_text()) and time.monotonic() < end:
            time.sleep(0.02)
        self.assertRegex(limits.read_text(), pattern)
        # Not dumpable: what shows its memory belongs to root now.
        self.assertEqual(pathlib.Path(f"/proc/{process.pid}/environ").stat().st_uid, 0)
        process.send_signal(number)
        self.assertEqual(process.wait(20), -number)
        self.assertEqual(list(self.folder.rglob("core*")), [])

    def test_roles_with_secrets_leave_no_core(self):
        recipe = self.folder / "recipe.toml"
        recipe.write_text('[data]\nname = "embedded"\n[model]\nname = "linear"\n'
                          '[privacy]\nmechanism = "two-point"\nepsilon = 1.0\nradius = 0.2\n')
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            nobody = f"127.0.0.1:{silent.getsockname()[1]}"
            self.dies(signal.SIGSEGV, "server", recipe, "--out", "out", "--plain",
                      "--listen", "127.0.0.1:0")
            self.dies(signal.SIGABRT, "shuffler", "--state", "spool", "--plain",
                      "--listen", "127.0.0.1:0", "--server", nobody)
            self.dies(signal.SIGSEGV, "client", "--data", "embedded", "--plain", "--name", "ada",
                      "--unlimited", "--ledger", "ledger.sqlite", "--server", nobody)


class HostileFilesTest(SottoTest):
    """Files that would take all memory or all time: refused with a sentence, in little of both."""

    def refused(self, parts, *arguments, code=1):
        def little():
            resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
        started = time.monotonic()
        done = sotto(*arguments, preexec_fn=little)
        self.assertLess(time.monotonic() - started, 240)
        self.assertEqual(done.returncode, code, done.stderr[:1000])
        for part in parts:
            self.assertIn(part, done.stderr)
        self.assertLess(len(done.stderr), 1000)

    def test_bombs(self):
        bomb = self.folder / "bomb.csv"
        with gzip.open(bomb, "wb", 9) as out:
            for _ in range(20):
                out.write(bytes(1 << 24))
        self.assertLess(bomb.stat().st_size, 1 << 20)
        self.refused(["bomb.csv", "more than the limit of 268435456 bytes"], "data", "show", bomb)
        archive = self.folder / "bomb.npz"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
            with out.open("x.npy", "w", force_zip64=True) as entry:
                for _ in range(20):
                    entry.write(bytes(1 << 24))
        self.refused(["bomb.npz", "more than the limit of 268435456 bytes"], "data", "show", archive)

    def test_pipes_and_devices(self):
        pipe = self.folder / "pipe.csv"
        os.mkfifo(pipe)
        self.refused(["pipe.csv", "not a regular file"], "data", "show", pipe)
        link = self.folder / "zero.csv"
        link.symlink_to("/dev/zero")
        self.refused(["zero.csv", "not a regular file"], "data", "show", link)

    def test_deep_json(self):
        for name, text in (("certificate.json", "[" * 1_000_000),
                           ("closed.json", "[" * 1_000_000 + "]" * 1_000_000),
                           ("object.json", '{"a":' * 1_000_000)):
            path = self.folder / name
            path.write_text(text)
            self.refused([name], "account", "check", path)
            self.refused([name], "data", "show", path)

    def test_numbers_of_a_recipe(self):
        recipe = self.folder / "recipe.toml"
        base = ('[data]\nname = "embedded"\n{}[model]\nname = "{}"\n[privacy]\n'
                'mechanism = "two-point"\nepsilon = 1.0\nradius = 0.2\n')
        for data, model, part in (
                ("", "mlp(60000,60000)", "valid: at most 268435456"),
                ("", "mlp(" + ",".join(["9"] * 100_000) + ")", "with 1 to 64 layer sizes"),
                ("resize = [3,20000,20000]\n", "linear", "each in [1, 8192]"),
                ("resize = [3,8192,8192]\n", "linear", "valid: at most")):
            recipe.write_text(base.format(data, model))
            with self.subTest(part):
                self.refused([part], "run", recipe, "--out", self.folder / "run", code=2)


class ResumeTest(SottoTest):
    def test_a_resumed_run_has_no_fewer_rounds(self):
        recipe = self.folder / "recipe.toml"
        recipe.write_text('[data]\nname = "embedded"\n[model]\nname = "linear"\n[federation]\n'
                          'clients = 2\nfraction = 1.0\nrounds = 3\n'
                          '[privacy]\nmechanism = "two-point"\nepsilon = 1.0\nradius = 0.2\n')
        out = self.folder / "run"
        self.ok("run", recipe, "--out", out)
        self.fails(2, ["has done 3 rounds, and federation.rounds = 2"], "run", recipe, "--out", out,
                   "--resume", "--set", "federation.rounds=2")
        self.ok("run", recipe, "--out", out, "--resume", "--set", "federation.rounds=4")
