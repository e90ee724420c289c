"""A client's limits hold for its whole ledger, whatever servers say; files and folders have one
user at a time, and nobody else reads them."""

import json
import os
import shlex
import shutil
import signal
import stat
import subprocess
import time

from federation import Federation
from sotto_program import PROGRAM, ROOT, SottoTest

# One client, whose report of ten weights costs 1.25 a round.
RECIPE = """
[data]
name = "{data}"
shape = [1, 1, 4]
classes = 2
[model]
name = "linear"
[train]
lr = 0.1
epochs = 1
[federation]
clients = 1
fraction = 1.0
rounds = 2
[privacy]
mechanism = "two-point"
epsilon = 0.125
radius = 0.2
[shuffle]
mode = "none"
min_batch = 1
"""
ROUND = 1.25
LIMITS = ("--epsilon", 2 * ROUND)  # two rounds, in a whole life


class LedgerOwnerTest(SottoTest):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "mine.csv"
        lines = [f"{i % 2 + i / 100},{i % 3},{i % 5 / 4},{i % 7 / 6},{i % 2}" for i in range(40)]
        self.data.write_text("\n".join(["a,b,c,d,label", *lines]) + "\n")
        self.recipe = self.folder / "recipe.toml"
        self.recipe.write_text(RECIPE.format(data=self.data))
        self.ledger = self.folder / "mine.sqlite"
        self.runs = 0

    def take_part(self, *settings, data=None, name="ada", keys=None, more=(), ledger=None):
        """One training by a server with these settings, until it ends or the client declines."""
        self.runs += 1
        federation = Federation(self, self.recipe, settings, shuffled=False, rehearsal=False,
                                keys=keys, round_seconds=2)
        federation.out = self.folder / f"fed-{self.runs}"
        federation.start_server("--wait-seconds", 4, "--linger", 1)
        federation.wait_for(lambda: "server on" in federation.text("server"), "the start")
        who = (["--plain", "--name", name, *LIMITS] if keys is None
               else ["--identity", keys / "client-1"])
        federation.start("client", "client", *who, "--data", data or self.data,
                         "--ledger", ledger or self.ledger, "--patience", 3,
                         "--server", f"127.0.0.1:{federation.server_port}", *more,
                         cwd=self.folder)
        client = federation.processes["client"]
        federation.wait_for(lambda: client.poll() is not None
                            or ": refused: lifetime" in federation.text("client"), "the end")
        self.assertIn(client.poll(), (None, 0), federation.story())
        federation.stop()

    def charges(self, ledger=None):
        lines = self.ok("ledger", "export", ledger or self.ledger).splitlines()
        return [e for e in map(json.loads, lines) if e["kind"] == "charge"]

    def spent(self, ledger=None):
        return sum(charge["epsilon"] for charge in self.charges(ledger))

    def test_four_servers_spend_one_budget(self):
        for seed in range(4):
            self.take_part(f"federation.seed={seed}", f"data.test_fraction=0.{seed + 1}")
        self.assertEqual(self.spent(), 2 * ROUND)
        shown = self.json("ledger", "show", self.ledger)
        self.assertEqual(shown["whole"]["epsilon"], 2 * ROUND)
        self.assertEqual(shown["whole"]["remaining"]["epsilon"], 0)
        self.assertIn("whole file: 2 rounds of any, epsilon 2.5 of 2.5, remains 0",
                      self.ok("ledger", "show", self.ledger))

    def test_other_spellings_and_names_open_no_account(self):
        link = self.folder / "link.csv"
        link.symlink_to(self.data)
        copy = shutil.copy(self.data, self.folder / "copy.csv")
        for data, name in [("./mine.csv", "ada"), ("mine.csv", "ada"), (link, "ada"),
                           (copy, "bob")]:
            self.take_part(data=data, name=name)
        self.assertEqual(self.spent(), 2 * ROUND)

    def test_a_pinned_recipe_opens_no_account(self):
        keys = self.folder / "keys"
        self.ok("keys", "init", keys, "--clients", 1, "--recipe", self.recipe,
                "--epsilon-per-round", 2, "--epsilon", 2 * ROUND)
        for data in ["mine.csv", "./mine.csv", self.data]:
            self.take_part(data=data, keys=keys)
        self.assertEqual(self.spent(), 2 * ROUND)

        # The identity remembers its ledger: another one, and an older copy with its head file.
        self.fails(1, ["not the ledger that this identity has spent from",
                       str(keys / "client-1" / "ledger.head")],
                   *self.client("--identity", keys / "client-1", "--ledger",
                                self.folder / "other.sqlite"))
        # Only the owner can begin anew, by its own hand.
        (keys / "client-1" / "ledger.head").unlink()
        self.take_part(keys=keys, ledger=self.folder / "other.sqlite")
        self.assertEqual(self.spent(self.folder / "other.sqlite"), 2 * ROUND)

    def test_a_restored_ledger_is_found(self):
        keys = self.folder / "keys"
        self.ok("keys", "init", keys, "--clients", 1, "--recipe", self.recipe,
                "--epsilon-per-round", 2, "--epsilon", 4 * ROUND)
        self.take_part("federation.rounds=1", keys=keys)
        head = self.folder / "mine.sqlite.head"
        old = self.ledger.read_bytes(), head.read_bytes()
        self.take_part(keys=keys)
        newest = self.ledger.read_bytes(), head.read_bytes()
        self.ledger.write_bytes(old[0])
        head.write_bytes(old[1])
        self.ok("ledger", "verify", self.ledger)  # by itself it is sound
        command = self.client("--identity", keys / "client-1", "--ledger", self.ledger)
        self.fails(1, ["an older copy of it"], *command)
        self.ledger.write_bytes(newest[0])
        head.write_bytes(newest[1])
        self.fails(1, ["127.0.0.1:1"], *command)  # it would go on, but nobody answers

    def test_another_account_is_the_owners_word(self):
        self.take_part()
        command = self.client("--plain", "--name", "ada", *LIMITS, "--ledger", self.ledger)
        self.fails(1, ["there is no account 'clinic'"], *command, "--account", "clinic")
        self.ok("ledger", "account", "add", self.ledger, "clinic")
        self.fails(1, ["declared twice"], "ledger", "account", "add", self.ledger, "clinic")
        self.fails(1, ["no such ledger"], "ledger", "account", "add", self.folder / "no", "clinic")
        self.fails(1, ["did you mean 'clinic'"], *command, "--account", "clinik")
        self.take_part("federation.seed=7", more=("--account", "clinic"))
        self.take_part("federation.seed=8", more=("--account", "clinic"))
        shown = self.json("ledger", "show", self.ledger)
        self.assertEqual(shown["whole"]["epsilon"], 2 * ROUND)
        self.assertEqual([(a["account"], a["epsilon"]) for a in shown["declared"]],
                         [("clinic", 2 * ROUND)])
        limit = self.json("ledger", "limit", self.ledger, "--account", "clinic", "--rounds", 9)
        self.assertEqual(limit["limits"]["rounds"], 9)
        self.ok("ledger", "verify", self.ledger)

    def test_the_policy_of_the_manual_lets_its_recipe_through(self):
        manual = (ROOT / "docs" / "guides" / "keys.md").read_text().replace("\\\n", " ")
        lines = [line for line in manual.splitlines()
                 if line.startswith("sotto keys policy fed/client-1 --recipe")]
        self.assertEqual(len(lines), 1)
        words = shlex.split(lines[0])[4:]
        settings = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
        recipe = ROOT / words[words.index("--recipe") + 1]
        keys = self.folder / "keys"
        self.ok("keys", "init", keys, "--clients", 3)
        for index in (1, 2, 3):
            self.ok("keys", "policy", keys / f"client-{index}", *words, cwd=ROOT)
        federation = Federation(self, recipe, settings, keys=keys, rehearsal=False, min_batch=3)
        federation.start_all(3)
        federation.wait_all()
        self.assertIn("2 reports handed in, 0 rounds declined", federation.text("client-0"))
        shown = self.json("ledger", "show", self.folder / "client-0.sqlite")["whole"]
        self.assertEqual((shown["epsilon"], shown["remaining"]["epsilon"]), (8, 0))

    def test_limits_of_the_whole_file_are_set_by_hand(self):
        self.fails(2, ["--epsilon-per-round", "--client"], "ledger", "limit", self.ledger)
        limit = self.json("ledger", "limit", self.ledger, "--epsilon-per-round", 1, "--epsilon", 3)
        self.assertIsNone(limit["account"])
        self.assertEqual(limit["limits"]["epsilon"], 3)
        self.fails(2, ["--dataset"], "ledger", "limit", self.ledger, "--client", "ada")
        self.fails(1, ["no account 'x'"], "ledger", "limit", self.ledger, "--account", "x",
                   "--epsilon", 1, "--epsilon-per-round", 1)

    def start(self, *arguments, **options):
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, **options)
        self.addCleanup(lambda: (process.kill(), process.wait()))
        return process

    def wait_for_lock(self, lock, process):
        """A killed process may have left the file, but never the lock."""
        end = time.monotonic() + 30
        while not (lock.exists() and lock.read_text() == f"{process.pid}\n"):
            self.assertLess(time.monotonic(), end, lock)
            time.sleep(0.02)

    def client(self, *more, patience=0):
        return ["client", "--data", self.data, "--server", "127.0.0.1:1", "--patience", patience,
                *more]

    def used_twice(self, lock, *command, words):
        first = self.start(*command)
        self.wait_for_lock(lock, first)
        self.fails(1, [str(lock), f"in use by process {first.pid}", *words], *command)
        first.send_signal(signal.SIGKILL)
        first.wait()
        self.assertTrue(lock.exists())
        second = self.start(*command)
        self.wait_for_lock(lock, second)
        second.kill()
        second.wait()

    def test_one_client_uses_a_ledger(self):
        plain = self.client("--plain", "--name", "ada", *LIMITS, "--ledger", self.ledger,
                            patience=60)
        self.used_twice(self.folder / "mine.sqlite.lock", *plain, words=["ledger of this client"])
        link = self.folder / "link.sqlite"
        link.symlink_to(self.ledger)
        first = self.start(*plain)
        self.wait_for_lock(self.folder / "mine.sqlite.lock", first)
        linked = [link if word == self.ledger else word for word in plain]
        self.fails(1, [f"in use by process {first.pid}"], *linked)

    def test_one_process_uses_an_identity(self):
        keys = self.folder / "keys"
        self.ok("keys", "init", keys, "--clients", 1, "--recipe", self.recipe,
                "--epsilon-per-round", 2, "--epsilon", 2)
        who = ["--identity", keys / "client-1"]
        first = self.start(*self.client(*who, "--ledger", self.ledger, patience=60))
        self.wait_for_lock(self.folder / "mine.sqlite.lock", first)
        self.fails(1, ["this identity is in use by another process"],
                   *self.client(*who, "--ledger", self.folder / "other.sqlite"))

    def test_one_process_uses_a_folder(self):
        out = self.folder / "out"
        server = ["server", self.recipe, "--out", out, "--listen", "127.0.0.1:0", "--plain"]
        self.used_twice(out / "run.lock", *server, words=["the folder of this run"])
        first = self.start(*server)
        self.wait_for_lock(out / "run.lock", first)
        # The server goes on meanwhile, so there may be more files, but none less.
        before = {file.name for file in out.iterdir() if ".tmp." not in file.name}
        for more in ([], ["--replace"]):
            self.fails(1, [f"in use by process {first.pid}"], "run", self.recipe, "--out", out,
                       *more)
        self.fails(1, [f"in use by process {first.pid}"], *server, "--replace")
        self.assertLessEqual(before, {file.name for file in out.iterdir()})
        self.assertIsNone(first.poll())
        state = self.folder / "state"
        shuffler = ["shuffler", "--state", state, "--listen", "127.0.0.1:0", "--server",
                    "127.0.0.1:1", "--plain"]
        self.used_twice(state / "shuffler.lock", *shuffler, words=["state of this shuffler"])

    def test_a_run_leaves_no_lock(self):
        out = self.folder / "out"
        self.ok("run", self.recipe, "--out", out)
        self.assertFalse((out / "run.lock").exists())
        self.fails(2, [], "run", self.recipe, "--out", self.folder / "bad", "--resume")
        self.assertFalse((self.folder / "bad").exists())

    def modes(self, folder):
        return {str(file.relative_to(folder)): stat.S_IMODE(file.stat().st_mode)
                for file in folder.rglob("*")}

    def test_private_files_are_the_owners_whatever_the_umask(self):
        before = os.umask(0)
        self.addCleanup(os.umask, before)
        recipe = RECIPE.format(data=self.data).replace('"none"', '"shuffler"')
        self.recipe.write_text(recipe.replace("clients = 1", "clients = 2"))
        keys = self.folder / "keys"
        self.ok("keys", "init", keys, "--clients", 2, "--recipe", self.recipe,
                "--epsilon-per-round", 2, "--epsilon", 4)
        federation = Federation(self, self.recipe, rehearsal=False, min_batch=3, keys=keys)
        home = self.folder / "home"
        home.mkdir()
        federation.start_server()
        federation.start_shuffler()
        for name in ("client-1", "client-2"):
            federation.start(name, "client", "--identity", keys / name, "--data", self.data,
                             "--ledger", home / f"{name}.sqlite",
                             "--server", f"127.0.0.1:{federation.server_port}",
                             "--shuffler", f"127.0.0.1:{federation.shuffler_port}")
        spool = self.folder / "spool"
        # Both have reported, and the shuffler holds them back: three would be a batch.
        federation.wait_for(lambda: len(list(spool.rglob("*.report"))) == 2, "two reports")
        self.assertEqual(stat.S_IMODE(spool.stat().st_mode), 0o700)
        found = self.modes(spool)
        self.assertIn("requests.sqlite", found)
        self.assertEqual({name: mode for name, mode in found.items() if mode & 0o077}, {})
        found = self.modes(home)
        self.assertIn("client-1.sqlite-wal", found)
        self.assertIn("client-1.sqlite.head", found)
        self.assertEqual({name: mode for name, mode in found.items() if mode != 0o600}, {})
        self.assertEqual(self.modes(federation.out)["requests.sqlite"], 0o600)
        self.assertEqual(self.modes(keys / "client-1")["ledger.head"], 0o600)

    def test_what_others_may_write_is_not_believed(self):
        keys = self.folder / "keys"
        self.ok("keys", "init", keys, "--clients", 1, "--recipe", self.recipe,
                "--epsilon-per-round", 2, "--epsilon", 2)
        bundle = keys / "client-1"
        command = self.client("--identity", bundle, "--ledger", self.ledger)
        for name in ["policy.toml", "key.pem", "sign.key", "ca.pem", "cert.pem", "server.pub", "."]:
            for bits in (0o020, 0o002):
                file = bundle / name
                mode = stat.S_IMODE(file.stat().st_mode)
                file.chmod(mode | bits)
                self.fails(1, [str(bundle), "others", "chmod "], *command)
                file.chmod(mode)
        self.fails(1, ["127.0.0.1:1"], *command)  # all is well again, but nobody answers
        self.assertEqual(stat.S_IMODE(self.ledger.stat().st_mode), 0o600)
        self.ledger.chmod(0o644)
        self.fails(1, ["127.0.0.1:1"], *command)
        self.assertEqual(stat.S_IMODE(self.ledger.stat().st_mode), 0o600)
