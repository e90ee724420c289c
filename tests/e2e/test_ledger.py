"""sotto ledger: limits are set and shown, entries exported, tampering found."""

import hashlib
import json
import sqlite3

from sotto_program import SottoTest, sotto

LIMITS = ["--epsilon-per-round", "1", "--epsilon", "8"]


class Ledger(SottoTest):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "ledger.db"

    def limit(self, client, *words):
        return self.ok("ledger", "limit", self.file, "--client", client, "--dataset", "mnist",
                       *words)

    def test_limits_are_set_and_shown(self):
        self.limit("alice", *LIMITS)
        self.limit("bob", *LIMITS, "--delta", "1e-6", "--rounds", "500")
        self.limit("alice", "--rounds", "20")  # the others stay
        shown = self.json("ledger", "show", self.file)
        self.assertEqual(shown["entries"], 3)
        alice, bob = shown["accounts"]
        self.assertEqual(alice["limits"], {"epsilon_per_round": 1, "epsilon": 8, "delta": 0,
                                           "rounds": 20, "renyi_order": None})
        self.assertGreater(bob["limits"]["renyi_order"], 1)
        self.assertEqual(bob["remaining"], {"epsilon": 8, "delta": 1e-6, "rounds": 500})
        for key in ["client", "dataset", "rounds", "epsilon", "epsilon_sum", "delta_sum",
                    "renyi_sum"]:
            self.assertIn(key, alice)
        one = self.json("ledger", "show", self.file, "--client", "bob")
        self.assertEqual([a["client"] for a in one["accounts"]], ["bob"])
        text = self.ok("ledger", "show", self.file)
        self.assertIn("alice", text)
        self.assertIn(shown["head"], text)

    def test_the_chain_can_be_checked_by_others(self):
        self.limit("alice", *LIMITS)
        self.limit("zoë \"z\"", *LIMITS)
        lines = self.ok("ledger", "export", self.file).splitlines()
        previous = "0" * 64
        for number, line in enumerate(lines, 1):
            entry = json.loads(line)
            self.assertEqual(entry["entry"], number)
            digest = hashlib.sha256((previous + entry["body"]).encode()).hexdigest()
            self.assertEqual(entry["hash"], digest)
            previous = digest
        self.assertEqual(len(lines), 2)
        head = self.json("ledger", "show", self.file)["head"]
        self.assertEqual(head, f"2:{previous}")
        out = self.folder / "out.jsonl"
        self.ok("ledger", "export", self.file, "--out", out)
        self.assertEqual(out.read_text().splitlines(), lines)

    def test_verify_finds_what_was_changed(self):
        self.limit("alice", *LIMITS)
        old = self.file.read_bytes()
        early = self.json("ledger", "show", self.file)["head"]
        self.limit("alice", "--epsilon", "9")
        self.assertIn("sound: entries: 2", self.ok("ledger", "verify", self.file))
        self.assertIn("sound", self.ok("ledger", "verify", self.file, "--head", early))
        found = self.json("ledger", "verify", self.file)
        self.assertEqual((found["sound"], found["entries"], found["reason"]), (True, 2, None))
        self.fails(1, ["never ended at"], "ledger", "verify", self.file, "--head", "2:" + "0" * 64)
        sound = self.file.read_bytes()
        connection = sqlite3.connect(self.file)
        connection.execute("UPDATE log SET body = replace(body, '9', '99') WHERE entry = 2")
        connection.commit()
        connection.close()
        self.fails(1, [str(self.file), "changed or damaged"], "ledger", "verify", self.file)
        self.fails(1, ["changed or damaged"], "ledger", "limit", self.file, "--client", "alice",
                   "--dataset", "mnist", "--epsilon", "10")
        self.file.write_bytes(old)
        self.fails(1, ["older copy"], "ledger", "verify", self.file)
        self.file.write_bytes(sound)
        self.ok("ledger", "verify", self.file)

    def test_a_json_verdict_names_the_reason(self):
        self.limit("alice", *LIMITS)
        (self.folder / "ledger.db.head").unlink()
        done = sotto("ledger", "verify", self.file, "--json")
        self.assertEqual(done.returncode, 1)
        verdict = json.loads(done.stdout)
        self.assertFalse(verdict["sound"])
        self.assertIn("ledger.db.head is missing", verdict["reason"])

    def test_bad_usage_names_what_is_valid(self):
        self.fails(1, ["no such ledger"], "ledger", "show", self.folder / "nothing")
        self.assertFalse((self.folder / "nothing").exists())
        for words in [["--epsilon", "3"], [*LIMITS, "--delta", "2"]]:
            self.fails(2, [], "ledger", "limit", self.file, "--client", "a", "--dataset", "b", *words)
            self.assertFalse(self.file.exists())
        self.limit("alice", *LIMITS)
        self.fails(1, ["did you mean 'alice'"], "ledger", "show", self.file, "--client", "alise")
        self.fails(2, ["--epsilon-per-round", "did you mean 'alice'"], "ledger", "limit", self.file,
                   "--client", "alce", "--dataset", "mnist", "--epsilon", "3")
        self.fails(2, ["delta", "[0, 1]"], "ledger", "limit", self.file, "--client", "alice",
                   "--dataset", "mnist", "--delta", "2")
        self.fails(2, ["ENTRIES:HASH"], "ledger", "verify", self.file, "--head", "12")
        self.fails(2, ["did you mean 'verify'"], "ledger", "verfy", self.file)
        self.fails(2, ["--client"], "ledger", "limit", self.file)
        for words in [[], ["show"], ["export"], ["verify"], ["limit"]]:
            self.assertIn("Example", self.ok("ledger", *words, "--help"))
