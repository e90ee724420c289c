"""Clients with data of their own, whatever it is, and faults that must not cost work: real processes."""

import datetime
import json
import subprocess

from federation import Federation
from sotto_program import SottoTest

# Six numbers and one of four classes: what samples are stands in the recipe.
RECIPE = """
[data]
name = "{data}"
shape = [1, 1, 6]
classes = 4
[model]
name = "linear"
[federation]
clients = {clients}
rounds = {rounds}
[privacy]
mechanism = "two-point"
epsilon = 2.0
radius = 0.2
"""


def rows(labels):
    return "".join(f"{i},{i % 3},{label},1,2,{i % 5},{label}\n" for i, label in enumerate(labels))


class OwnDataTest(SottoTest):
    def setUp(self):
        super().setUp()
        self.recipe = self.folder / "recipe.toml"

    def make(self, clients, rounds=2, **options):
        public = self.folder / "public.csv"
        public.write_text(rows([0, 1, 2, 3] * 8))
        self.recipe.write_text(RECIPE.format(data=public, clients=clients, rounds=rounds))
        return Federation(self, self.recipe, shuffled=False, rehearsal=False, **options)

    def start(self, federation, name, data, *more):
        """A client with data of its own, all of which it trains on."""
        who = ["--plain", "--name", name, "--unlimited"]
        if federation.keys is not None:
            who = ["--identity", federation.keys / name]
        federation.start(name, "client", "--data", data, "--ledger",
                         self.folder / f"{name}.sqlite", "--server",
                         f"127.0.0.1:{federation.server_port}", *who, *more)

    def write(self, name, text):
        file = self.folder / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def sizes(self, name):
        """Of the reports that a client has sent, in its ledger's order."""
        entries = map(json.loads, self.ok("ledger", "export",
                                          self.folder / f"{name}.sqlite").splitlines())
        return [entry["bytes"] for entry in entries if entry["kind"] == "bind"]

    def metrics(self, federation):
        return [json.loads(line)
                for line in (federation.out / "metrics.jsonl").read_text().splitlines()]

    def test_everybody_reports_whatever_the_data(self):
        sets = {
            "complete": rows([0, 1, 2, 3] * 4),
            "top-class-missing": rows([0, 1, 2] * 4),
            "one-sample": rows([1]),
            "all-unusable": rows([9, 17, 4]),
            "other-shape": "1,2,0\n3,4,1\n",
            "unreadable": b"\x00\xff,,\n\"",
            "empty": "",
        }
        federation = self.make(len(sets))
        federation.start_server()
        for name, text in sets.items():
            self.start(federation, name, self.write(name + ".csv", text))
        federation.wait_all()
        self.assertEqual([m["reports"] for m in self.metrics(federation)], [len(sets)] * 2,
                         federation.story())
        for name in sets:
            self.assertIn("2 reports handed in, 0 rounds declined", federation.text(name))
            self.assertEqual(self.sizes(name), self.sizes("complete"), name)
        self.assertEqual(len(self.sizes("complete")), 2)
        # What is wrong is told to the owner, and to nobody else.
        self.assertIn("3 of 3 samples are not of the recipe's shape", federation.text("all-unusable"))
        self.assertNotIn("unusable", federation.text("server"))

    def test_what_no_value_decides_is_an_error_before_anybody_hears_of_it(self):
        federation = self.make(1)
        for data, part in [("missing.csv", "no such file"), ("data.txt", "form not recognised")]:
            self.write("data.txt", "1,2,3\n")
            self.fails(2 if data.endswith("txt") else 1, [part], "client", "--plain", "--name", "a",
                       "--unlimited", "--data", self.folder / data, "--ledger",
                       self.folder / "a.sqlite", "--patience", "0.1", "--server", "127.0.0.1:1")
        # A server has to say what samples are, where its set is not a known one.
        self.recipe.write_text(self.recipe.read_text().replace("classes = 4\n", "")
                               .replace("shape = [1, 1, 6]\n", ""))
        self.fails(2, ["data.shape and data.classes are missing"], "server", self.recipe, "--plain",
                   "--out", self.folder / "x", "--listen", "127.0.0.1:0")

    def test_a_server_that_went_back_does_not_end_its_clients(self):
        federation = self.make(2, rounds=6)
        data = self.write("own.csv", rows([0, 1, 2, 3] * 4))
        federation.start_server()
        self.start(federation, "ada", data)
        self.start(federation, "bob", data)
        federation.wait_for(lambda: federation.rounds_done() >= 1, "round 1")
        kept = (federation.out / "checkpoint.sotto").read_bytes()
        federation.wait_for(lambda: federation.rounds_done() >= 4, "round 4")
        federation.kill("server")
        (federation.out / "checkpoint.sotto").write_bytes(kept)
        federation.start_server("--linger", "2")
        federation.wait_all()
        self.assertEqual(len(self.metrics(federation)), 6)
        for name in ("ada", "bob"):
            self.assertIn("the round is declined", federation.text(name))
            account = self.json("ledger", "show", self.folder / f"{name}.sqlite")["accounts"][0]
            self.assertEqual(account["rounds"], 6, "each round is charged once")

    def test_a_server_keeps_every_round_whatever_the_recipe_says(self):
        federation = self.make(1, rounds=4)
        federation.settings = ["--set", "output.checkpoint_every=100"]
        data = self.write("own.csv", rows([0, 1, 2, 3] * 4))
        federation.start_server()
        self.start(federation, "ada", data)
        federation.wait_for(lambda: federation.rounds_done() >= 2, "round 2")
        federation.kill("server")
        federation.start_server()
        federation.wait_all()
        self.assertIn("4 reports handed in, 0 rounds declined", federation.text("ada"))
        self.assertEqual([m["reports"] for m in self.metrics(federation)], [1] * 4)
        # A finished run whose record is lost is not taken for no run.
        model = (federation.out / "model.pt").read_bytes()
        (federation.out / "run.json").rename(self.folder / "run.json")
        federation.start_server("--wait-seconds", "1")
        federation.wait("server", code=2)
        self.assertIn("whose run.json is missing", federation.text("server"))
        self.assertEqual((federation.out / "model.pt").read_bytes(), model)
        # With it the same command tells whoever comes back that all is done.
        (self.folder / "run.json").rename(federation.out / "run.json")
        federation.start_server("--linger", "20")
        self.start(federation, "ada", data)
        federation.wait("ada")
        federation.wait("server")
        self.assertIn("0 reports handed in, 0 rounds declined", federation.text("ada"))
        self.assertEqual((federation.out / "model.pt").read_bytes(), model)

    def test_who_refuses_gives_its_place_free(self):
        federation = self.make(1, rounds=1)
        data = self.write("own.csv", rows([0, 1, 2, 3] * 4))
        keys = self.folder / "keys"
        self.ok("keys", "init", keys, "--clients", 2, "--recipe", self.recipe,
                "--epsilon-per-round", "1e6", "--epsilon", "1e6")
        federation.keys = keys
        strict = keys / "client-1" / "policy.toml"
        strict.write_text(strict.read_text().replace("\nweights = 200000000", "\nweights = 5"))
        federation.start_server()
        self.start(federation, "client-1", data)
        federation.wait("client-1", code=1)
        self.assertIn("28 weights are more than 5", federation.text("client-1"))
        self.start(federation, "client-2", data)
        federation.wait("client-2")
        federation.wait("server")
        self.assertIn("1 reports handed in", federation.text("client-2"))

    def reissue(self, keys, name, seconds):
        """A certificate for the same keys of a client, which runs out so soon; returns the old one."""
        bundle = keys / name
        work = self.folder / f"issue-{name}"
        work.mkdir()

        def openssl(*arguments):
            return subprocess.run(["openssl", *map(str, arguments)], check=True,
                                  capture_output=True, text=True).stdout

        names = openssl("x509", "-in", bundle / "cert.pem", "-noout", "-ext", "subjectAltName")
        (work / "index.txt").touch()
        (work / "conf").write_text(f"""
[ca]
default_ca = own
[own]
database = {work}/index.txt
new_certs_dir = {work}
certificate = {keys}/ca/ca.pem
private_key = {keys}/ca/ca.key
default_md = sha256
rand_serial = yes
policy = names
x509_extensions = extensions
[names]
commonName = supplied
[extensions]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = clientAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid:always
subjectAltName = {names.splitlines()[1].strip().replace(" ", "")}
[req]
distinguished_name = nothing
[nothing]
""")
        now = datetime.datetime.now(datetime.timezone.utc)
        moment = [(now + datetime.timedelta(seconds=s)).strftime("%Y%m%d%H%M%SZ")
                  for s in (-60, seconds)]
        openssl("req", "-new", "-config", work / "conf", "-key", bundle / "key.pem", "-subj",
                f"/CN={name}", "-out", work / "request.pem")
        openssl("ca", "-batch", "-notext", "-config", work / "conf", "-in", work / "request.pem",
                "-startdate", moment[0], "-enddate", moment[1], "-out", work / "cert.pem")
        old = (bundle / "cert.pem").read_bytes()
        (bundle / "cert.pem").write_bytes((work / "cert.pem").read_bytes())
        return old

    def test_a_certificate_that_runs_out_meanwhile(self):
        federation = self.make(3)  # one of whom never comes, so that the round stays open
        data = self.write("own.csv", rows([0, 1, 2, 3] * 4))
        keys = self.folder / "keys"
        self.ok("keys", "init", keys, "--clients", 2, "--recipe", self.recipe,
                "--epsilon-per-round", "1e6", "--epsilon", "1e6")
        federation.keys = keys
        federation.start_server()
        federation.wait_for(lambda: "server on" in federation.text("server"), "the server")
        renewed = self.reissue(keys, "client-1", 5)
        self.reissue(keys, "client-2", 5)
        for name in ("client-1", "client-2"):
            self.start(federation, name, data)
        for name in ("client-1", "client-2"):
            federation.wait_for(lambda: "round 1" in federation.text(name), "its task")
        (keys / "client-1" / "cert.pem").write_bytes(renewed)
        # Who has no other ends, and says why; who has one goes on with it.
        federation.wait("client-2", code=1)
        self.assertIn("certificate has expired", federation.text("client-2"))
        self.assertIn("'sotto keys issue' makes a new one", federation.text("client-2"))
        federation.wait_for(lambda: "joining again" in federation.text("client-1"), "its return")
        end = federation.text("client-1")
        self.assertIsNone(federation.processes["client-1"].poll(), end)
        self.assertNotIn("makes a new one", end)
