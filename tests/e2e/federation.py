"""Starts the roles of a federation as real processes on loopback."""

import pathlib
import signal
import socket
import subprocess
import time

from sotto_program import PROGRAM


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Federation:
    """One server, perhaps a shuffler, and clients; each can be killed and started again."""

    def __init__(self, test, recipe, settings=(), shuffled=True, keys=None,
                 rehearsal=True, round_seconds=60, min_batch=2):
        self.test = test
        self.folder = pathlib.Path(test.folder)
        self.recipe = recipe
        self.settings = [part for setting in settings for part in ("--set", setting)]
        self.keys = keys  # folder of an authority, whose clients are client-1, client-2, ...
        self.rehearsal = ["--rehearsal"] if rehearsal else []
        self.round_seconds = round_seconds
        self.min_batch = min_batch
        self.server_port = free_port()
        self.shuffler_port = free_port() if shuffled else None
        self.out = self.folder / "fed"
        self.processes = {}
        self.logs = {}
        test.addCleanup(self.stop)

    def security(self, name):
        if self.keys is None:
            return ["--plain"]
        return ["--identity", self.keys / name]

    def start(self, role, *arguments, **options):
        log = self.folder / f"{role}-{len(self.logs)}.log"
        self.logs.setdefault(role, []).append(log)
        with open(log, "wb") as stream:
            self.processes[role] = subprocess.Popen(
                [PROGRAM, *map(str, arguments)], stdout=stream, stderr=subprocess.STDOUT,
                **options)

    def start_server(self, *more, **options):
        self.start("server", "server", self.recipe, *self.settings, "--out", self.out,
                   "--listen", f"127.0.0.1:{self.server_port}",
                   "--round-seconds", self.round_seconds, *self.security("server"),
                   *self.rehearsal, *more, **options)

    def start_shuffler(self, *more, **options):
        self.start("shuffler", "shuffler", "--state", self.folder / "spool",
                   "--listen", f"127.0.0.1:{self.shuffler_port}",
                   "--server", f"127.0.0.1:{self.server_port}",
                   "--min-batch", self.min_batch, *self.security("shuffler"), *more, **options)

    def start_client(self, index, *more, limits=("--unlimited",), data="embedded"):
        name = f"client-{index}"
        shuffler = ["--shuffler", f"127.0.0.1:{self.shuffler_port}"] if self.shuffler_port else []
        who = (["--name", name, *limits, "--plain"] if self.keys is None
               else self.security(f"client-{index + 1}"))
        self.start(name, "client", "--data", data, "--share", index,
                   "--server", f"127.0.0.1:{self.server_port}", *shuffler,
                   "--ledger", self.folder / f"{name}.sqlite", *who, *self.rehearsal, *more)

    def start_all(self, clients):
        self.start_server()
        if self.shuffler_port:
            self.start_shuffler()
        for index in range(clients):
            self.start_client(index)

    def kill(self, role):
        process = self.processes.pop(role)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def text(self, role):
        return "\n".join(log.read_text(errors="replace") for log in self.logs.get(role, []))

    def story(self):
        return "\n".join(f"--- {role}\n{self.text(role)}" for role in self.logs)

    def wait(self, role, code=0, seconds=120):
        """The role ends by itself."""
        try:
            got = self.processes[role].wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.test.fail(f"{role} does not end\n{self.story()}")
        self.test.assertEqual(got, code, self.story())

    def wait_all(self):
        for role in sorted(self.processes, key=lambda name: name != "server"):
            self.wait(role)

    def wait_for(self, condition, what, seconds=90):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                self.test.fail(f"{what} does not happen\n{self.story()}")
            time.sleep(0.02)

    def rounds_done(self):
        metrics = self.out / "metrics.jsonl"
        return len(metrics.read_text().splitlines()) if metrics.exists() else 0

    def stop(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
            process.wait()
