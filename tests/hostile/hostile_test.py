"""What all hostile tests share: the program, a folder, shufflers and clients as real processes."""

import pathlib
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from federation import Federation, free_port  # noqa: E402,F401
from sotto_program import PROGRAM, SottoTest  # noqa: E402


def recipe(clients, *, shuffled=False):
    """Small enough for seconds, every client in every round; behind a shuffler all of them in a batch."""
    return f"""
[data]
name = "embedded"
[model]
name = "linear"
[federation]
clients = {clients}
fraction = 1.0
rounds = 2
[privacy]
mechanism = "two-point"
epsilon = 4.0
radius = 0.2
""" + (f"""
[shuffle]
mode = "shuffler"
split = 3000
min_batch = {clients}
""" if shuffled else "")


class HostileTest(SottoTest):
    """A test with a folder of its own (self.folder) and processes that end with it."""

    def start(self, *arguments):
        """`sotto ARGUMENTS` in the background; its output goes to a file that `said` reads."""
        log = self.folder / f"process-{time.monotonic_ns()}.log"
        with open(log, "wb") as stream:
            process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=stream,
                                       stderr=subprocess.STDOUT)
        process.log = log
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def said(self, process):
        return process.log.read_text(errors="replace")

    def start_shuffler(self, server, *more, port=None, state="spool"):
        """A real shuffler that dials `server`; returns the process and its address."""
        address = f"127.0.0.1:{port or free_port()}"
        process = self.start("shuffler", "--state", self.folder / state, "--listen", address,
                             "--server", server, "--plain", *more)
        self.wait_until(lambda: self.listens(address), "the shuffler listens", process)
        return process, address

    @staticmethod
    def listens(address):
        host, port = address.rsplit(":", 1)
        try:
            socket.create_connection((host, int(port)), 0.2).close()
        except OSError:
            return False
        return True

    def wait_until(self, condition, what, *processes, seconds=30):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                self.fail(f"{what}: does not happen\n" + "\n".join(map(self.said, processes)))
            time.sleep(0.02)
