"""Runs and sweeps over the ranks of an MPI job, and very many clients."""

import json
import os
import resource
import shutil
import signal
import subprocess
import time
import unittest

from sotto_program import EMBEDDED, PROGRAM, ROOT, SottoTest

# The program's own clean-up must be over long before; a slow machine has all the time it wants.
LONGEST = 120
SMALL = [
    "--set", "federation.clients=30", "--set", "federation.fraction=0.4",
    "--set", "federation.rounds=3", "--set", "train.epochs=1",
    "--set", "privacy.mechanism=two-point", "--set", "privacy.epsilon=1", "--set", "privacy.radius=1",
]
LINEAR = str(ROOT / "recipes" / "client-level-embedded.toml")


def with_mpi():
    libraries = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True).stdout
    return shutil.which("mpirun") is not None and "libmpi" in libraries


def command(ranks, *arguments):
    return ["mpirun", "--oversubscribe", "--allow-run-as-root", "--bind-to", "none",
            "-n", str(ranks), PROGRAM, *map(str, arguments)]


def mpi(ranks, *arguments):
    return subprocess.run(command(ranks, *arguments), capture_output=True, text=True, timeout=300)


def children(pid):
    """The processes below this one that are our program."""
    found = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(pid)],
                           capture_output=True, text=True).stdout
    return [int(line.split()[0]) for line in found.splitlines() if PROGRAM in line]


@unittest.skipUnless(with_mpi(), "no MPI: no mpirun here, or a program without it")
class RanksTest(SottoTest):
    def spread(self, ranks, name, *arguments):
        done = mpi(ranks, "run", *arguments, "--out", self.folder / name, "--json", "--threads", 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_the_model_is_the_same_on_any_number_of_ranks(self):
        one = self.json("run", EMBEDDED, *SMALL, "--out", self.folder / "1", "--threads", 2)
        for ranks in (2, 3, 4):
            several = self.spread(ranks, str(ranks), EMBEDDED, *SMALL)
            self.assertEqual(several["ranks"], ranks)
            self.assertEqual(several["final"], one["final"])
            self.assertEqual(several["privacy"], one["privacy"])
            # The same charges, bound to the same reports, each once.
            self.assertEqual(several["ledger"]["entries"], one["ledger"]["entries"])
            for file in ("model.pt",):
                self.assertEqual((self.folder / str(ranks) / file).read_bytes(),
                                 (self.folder / "1" / file).read_bytes())

    def test_a_lost_rank_ends_the_job_and_resume_goes_on(self):
        arguments = ["run", LINEAR, "--set", "federation.rounds=60", "--set",
                     "output.checkpoint_every=1", "--set", "shuffle.min_batch=1",
                     "--set", "data.features=none", "--set", "federation.k=300", "--threads", "1"]
        whole = self.folder / "whole"
        self.ok(*arguments, "--out", whole)
        out = self.folder / "run"
        job = subprocess.Popen(command(3, *arguments, "--out", out), text=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        checkpoint = out / "checkpoint.sotto"
        end = time.monotonic() + LONGEST
        while not checkpoint.exists() and job.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        ranks = children(job.pid)
        self.assertEqual(len(ranks), 3, job.poll())
        os.kill(max(ranks), signal.SIGKILL)
        _, errors = job.communicate(timeout=LONGEST)
        self.assertNotEqual(job.returncode, 0)
        self.assertIn("a rank was lost", errors)
        self.assertIn("--resume", errors)
        self.assertFalse((out / "model.pt").exists())
        done = mpi(2, *arguments, "--out", out, "--resume")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("resuming after round", done.stderr)
        self.assertEqual((out / "model.pt").read_bytes(), (whole / "model.pt").read_bytes())

    def test_what_cannot_be_spread_is_refused_once_and_by_name(self):
        cases = [
            (["run", EMBEDDED, "--set", "federation.mode=local"], "federation.mode"),
            (["run", EMBEDDED, "--out", "/proc/none", "--resume"], "/proc/none"),
            (["run", EMBEDDED, "--set", "train.lrr=1"], "train.lrr"),
            (["run", EMBEDDED, "--tread", "1"], "--tread"),
            (["account", EMBEDDED], "not spread over ranks"),
        ]
        for arguments, part in cases:
            done = mpi(2, *arguments)
            self.assertIn(done.returncode, (1, 2), done.stderr)
            self.assertEqual(done.stderr.count("sotto: ") + done.stderr.count("sotto run: "), 1,
                             done.stderr)
            self.assertIn(part, done.stderr)

    def test_a_sweep_gives_each_rank_whole_runs(self):
        arguments = ["sweep", EMBEDDED, "--vary", "federation.seed=1,2,3", *SMALL,
                     "--set", "federation.rounds=1"]
        done = mpi(2, *arguments, "--out", self.folder / "spread", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        alone = self.json(*arguments, "--out", self.folder / "alone")
        spread = json.loads(done.stdout)
        self.assertEqual([c["accuracy"] for c in spread["configurations"]],
                         [c["accuracy"] for c in alone["configurations"]])
        self.assertEqual(len(list((self.folder / "spread").glob("*/model.pt"))), 3)
        # A run that fails is named, and takes no other with it.
        wrong = mpi(2, *arguments, "--set", "data.name=/none.csv", "--out", self.folder / "wrong")
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("/none.csv", wrong.stderr)

    def test_the_bench_measures_and_models(self):
        report = self.json("bench", "scale", "--turns", 1, "--rounds", 1)
        self.assertGreater(report["efficiency"], 0)
        self.assertEqual(report["model"][-1]["nodes"], 64)
        self.assertEqual(report["clients"], 12000)
        self.assertGreater(report["link"]["bytes_per_second"], 1e6)


class ManyClientsTest(SottoTest):
    """Rounds cost what their own clients cost, however many others there are."""

    def cpu_seconds(self, clients, rounds):
        """Of a whole run: what others do on the machine meanwhile is not in it."""
        settings = ["data.partition=repeat(1)", f"federation.clients={clients}", "federation.k=200",
                    f"federation.rounds={rounds}", f"federation.evaluate_every={rounds}",
                    f"output.checkpoint_every={rounds}", "shuffle.min_batch=1",
                    "data.features=none", "ledger.keep=true"]
        words = [word for setting in settings for word in ("--set", setting)]
        process = subprocess.Popen(
            [PROGRAM, "run", LINEAR, *words, "--threads", "1",
             "--out", str(self.folder / f"{clients}-{rounds}")], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_utime + usage.ru_stime

    def test_a_round_costs_as_much_among_a_million_as_among_twenty_thousand(self):
        # Nobody is picked twice in either, so that ledgers have as many accounts.
        def of_a_round(clients):
            return (self.cpu_seconds(clients, 32) - self.cpu_seconds(clients, 2)) / 30
        self.assertLess(of_a_round(1_000_000), 2 * of_a_round(20_000) + 0.01)

    def test_a_hundred_thousand_clients_in_less_than_two_gib(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
        process = subprocess.Popen(
            [PROGRAM, "run", EMBEDDED, "--set", "data.partition=repeat(20)",
             "--set", "federation.clients=100000", "--set", "federation.k=100",
             "--set", "federation.rounds=2", "--set", "federation.evaluate_every=2",
             "--out", str(self.folder / "run")],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=limit)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0, process.stderr.read())
        process.stderr.close()
        self.assertLess(usage.ru_maxrss, 2 * 1024 * 1024)  # KiB

    def test_the_recipe_of_a_million_promises_a_small_epsilon(self):
        plan = self.json("account", ROOT / "recipes" / "million.toml")
        whole = [c["epsilon"] for c in plan["claims"]
                 if c["scope"].startswith("client, whole training") and c["epsilon"] is not None]
        self.assertLess(min(whole), 0.2)
        self.assertGreater(min(whole), 0.1)


if __name__ == "__main__":
    unittest.main()
