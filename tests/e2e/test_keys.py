"""sotto keys: a federation in one command, names given and taken, private keys kept."""

import shutil
import stat
import subprocess
import unittest

from sotto_program import EMBEDDED, PROGRAM, SottoTest

LIMITS = ["--epsilon-per-round", "1.5", "--epsilon", "8"]


class Keys(SottoTest):
    def setUp(self):
        super().setUp()
        self.fed = self.folder / "fed"

    def test_one_command_makes_a_federation(self):
        made = self.json("keys", "init", self.fed, "--clients", "3", "--host", "fl.example.org")
        names = [node["name"] for node in made["nodes"]]
        self.assertEqual(names, ["server", "shuffler", "client-1", "client-2", "client-3"])
        server = made["nodes"][0]
        self.assertEqual(server["hosts"], ["fl.example.org"])
        self.assertEqual(set(server), {"name", "role", "status", "serial", "not_before",
                                       "not_after", "hosts", "sign_key", "seal_key", "bundle"})
        key = (self.fed / "client-1" / "server.pub").read_text().strip().split(":")[1]
        self.assertEqual(key, server["seal_key"])
        self.assertEqual(self.json("keys", "list", self.fed)["nodes"], made["nodes"])
        self.assertEqual([p.name for p in self.folder.iterdir()], ["fed"])
        for path in self.fed.rglob("*"):
            mode = stat.S_IMODE(path.stat().st_mode)
            if path.name in ("ca.key", "key.pem", "sign.key", "seal.key"):
                self.assertEqual(mode, 0o600, path)
            if path.is_dir():
                self.assertEqual(mode, 0o700, path)

    def test_private_keys_are_never_printed(self):
        printed = self.ok("keys", "init", self.fed, "--clients", "1")
        printed += self.ok("keys", "list", self.fed) + self.ok("keys", "list", self.fed, "--json")
        printed += self.ok("keys", "revoke", self.fed, "client-1")
        for path in self.fed.rglob("*"):
            if path.name in ("sign.key", "seal.key"):
                self.assertNotIn(path.read_text().strip().split(":")[1], printed)
        self.assertNotIn("PRIVATE", printed)

    @unittest.skipUnless(shutil.which("openssl"), "needs the openssl program")
    def test_openssl_agrees(self):
        self.ok("keys", "init", self.fed, "--clients", "2")
        self.ok("keys", "revoke", self.fed, "client-2")
        check = ["openssl", "verify", "-x509_strict", "-crl_check", "-CAfile",
                 self.fed / "ca" / "ca.pem", "-CRLfile", self.fed / "ca" / "crl.pem"]
        for name, good in [("server", True), ("client-1", True), ("client-2", False)]:
            done = subprocess.run([*check, self.fed / name / "cert.pem"], capture_output=True,
                                  text=True)
            self.assertEqual(done.returncode == 0, good, done.stdout + done.stderr)
        self.assertIn("revoked", done.stdout + done.stderr)

    def test_issue_and_revoke(self):
        self.ok("keys", "init", self.fed)
        issue = ["keys", "issue", self.fed, "--role", "client", "--name", "alice"]
        issued = self.json(*issue, "--days", "30")["nodes"][0]
        self.assertEqual((issued["role"], issued["status"]), ("client", "active"))
        self.fails(1, ["has a valid certificate", "sotto keys revoke"], *issue)
        self.fails(1, ["did you mean 'alice'"], "keys", "revoke", self.fed, "alcie")
        self.assertEqual(self.json("keys", "revoke", self.fed, "alice")["nodes"][0]["status"],
                         "revoked")
        self.fails(1, ["move it away"], *issue)
        shutil.rmtree(self.fed / "alice")
        self.assertNotEqual(self.json(*issue)["nodes"][0]["serial"], issued["serial"])
        states = [n["status"] for n in self.json("keys", "list", self.fed)["nodes"]
                  if n["name"] == "alice"]
        self.assertEqual(sorted(states), ["active", "revoked"])

    def test_bad_usage_names_what_is_valid(self):
        self.fails(1, ["no authority here", "sotto keys init"], "keys", "list", self.fed)
        self.ok("keys", "init", self.fed)
        self.fails(1, ["never overwritten"], "keys", "init", self.fed)
        issue = ["keys", "issue", self.fed]
        self.fails(2, ["--name"], *issue, "--role", "client")
        self.fails(2, ["unknown role", "server, shuffler, client"], *issue, "--role", "boss",
                   "--name", "a")
        self.fails(2, ["lower-case"], *issue, "--role", "client", "--name", "../evil")
        self.fails(2, ["dials out"], *issue, "--role", "client", "--name", "a", "--host", "b")
        self.fails(2, ["host"], *issue, "--role", "shuffler", "--name", "a", "--host", "b,c")
        self.fails(2, ["--epsilon-per-round"], *issue, "--role", "client", "--name", "a",
                   "--recipe", EMBEDDED)
        self.fails(2, ["--recipe"], *issue, "--role", "client", "--name", "a", *LIMITS)
        self.assertEqual(len(self.json("keys", "list", self.fed)["nodes"]), 2)
        for words in [[], ["init"], ["issue"], ["revoke"], ["list"], ["policy"]]:
            self.assertIn("Example", self.ok("keys", *words, "--help"))

    def test_a_policy_follows_the_recipe(self):
        self.ok("keys", "init", self.fed, "--clients", "2", "--recipe", EMBEDDED, *LIMITS)
        read = self.json("keys", "policy", self.fed / "client-2")
        self.assertEqual((read["epsilon_per_round"], read["epsilon"]), (1.5, 8))
        self.assertEqual(len(read["recipes"][0]), 64)
        server = self.json("keys", "list", self.fed)["nodes"][0]
        self.assertEqual(read["server_key"], server["seal_key"])
        again = ["keys", "policy", self.fed / "client-2", "--recipe", EMBEDDED, *LIMITS]
        self.fails(1, ["never overwritten"], *again)
        file = self.fed / "client-2" / "policy.toml"
        file.write_text(file.read_text().replace("min_batch", "min_bath"))
        self.fails(2, ["policy.toml:", "did you mean 'limits.min_batch'"], "keys", "policy",
                   self.fed / "client-2")
        file.unlink()
        self.ok(*again, "--set", "federation.rounds=7")
        self.assertEqual(self.json("keys", "policy", self.fed / "client-2")["rounds"], 7)
        self.fails(2, ["above 0"], "keys", "policy", self.fed / "client-1", "--recipe", EMBEDDED,
                   "--epsilon-per-round", "-1", "--epsilon", "8")

    def test_killed_at_any_moment_nothing_half_done_is_left(self):
        for delay in range(8):
            folder = self.folder / f"fed-{delay}"
            process = subprocess.Popen([PROGRAM, "keys", "init", folder, "--clients", "5"],
                                       stdout=subprocess.DEVNULL)
            try:
                process.wait(0.01 * delay)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if folder.exists():
                self.assertEqual(len(self.json("keys", "list", folder)["nodes"]), 7)
            else:
                self.ok("keys", "init", folder, "--clients", "1")

    def test_two_at_once_give_a_name_once(self):
        self.ok("keys", "init", self.fed)
        command = [PROGRAM, "keys", "issue", self.fed, "--role", "client", "--name", "alice"]
        both = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                for _ in range(2)]
        self.assertEqual(sorted(process.wait() for process in both), [0, 1])
        self.assertEqual(len(self.json("keys", "list", self.fed)["nodes"]), 3)

    def test_bench(self):
        measured = self.json("bench", "sealed", "--seconds", "0.01")
        self.assertGreater(measured["sealed"][0]["seal_ns"], 0)
        self.assertEqual(measured["sealed"][0]["sealed_bytes"],
                         measured["sealed"][0]["envelope_bytes"] + 81)
