"""A federation among enemies: false identities, a server that asks too much, cut networks, full
disks, garbage, and somebody who listens."""

import os
import resource
import signal
import socket
import struct
import zipfile

from federation import Federation
from sotto_program import SottoTest
from tcp_proxy import Proxy
from test_federation import RECIPE


class FaultsTest(SottoTest):
    def setUp(self):
        super().setUp()
        self.recipe = self.folder / "recipe.toml"
        self.recipe.write_text(RECIPE)

    def simulated(self, *settings, name="simulated"):
        out = self.folder / name
        more = [part for setting in settings for part in ("--set", setting)]
        self.ok("run", self.recipe, "--out", out, *more)
        return out / "model.pt"

    def assert_simulated(self, federation, *settings):
        self.assertEqual((federation.out / "model.pt").read_bytes(),
                         self.simulated(*settings).read_bytes(), federation.story())

    def make_keys(self, name, clients, epsilon="1e6"):
        keys = self.folder / name
        self.ok("keys", "init", keys, "--clients", clients, "--recipe", self.recipe,
                "--epsilon-per-round", epsilon, "--epsilon", epsilon)
        return keys

    def test_who_is_not_who_it_says_is_refused(self):
        keys = self.make_keys("keys", 5)
        other = self.make_keys("other", 1)
        federation = Federation(self, self.recipe, keys=keys)
        federation.start_server()
        federation.start_shuffler()
        federation.wait_for(lambda: "server on" in federation.text("server")
                            and "shuffler on" in federation.text("shuffler"), "the start")
        server = f"127.0.0.1:{federation.server_port}"
        shuffler = f"127.0.0.1:{federation.shuffler_port}"

        def intrude(code, parts, bundle, *more, server=server):
            self.fails(code, parts, "client", "--identity", bundle, "--data", "embedded",
                       "--rehearsal", "--patience", "1", "--server", server,
                       "--ledger", self.folder / "intruder.sqlite", *more)

        at_shuffler = ["--shuffler", shuffler]
        intrude(1, ["not of one federation"], other / "client-1", *at_shuffler)
        intrude(1, ["wrong-role", "is a shuffler, not a server"], keys / "client-4", *at_shuffler,
                server=shuffler)
        intrude(2, ["the bundle of a shuffler"], keys / "shuffler", *at_shuffler)
        self.fails(2, ["the bundle of a client"], "shuffler", "--identity", keys / "client-4",
                   "--state", self.folder / "s", "--listen", "127.0.0.1:0")
        self.fails(1, ["127.0.0.1"], "client", "--plain", "--name", "client-4", "--data",
                   "embedded", "--rehearsal", "--unlimited", "--patience", "1", "--server", server,
                   *at_shuffler, "--ledger", self.folder / "intruder.sqlite")
        # A server that asks for more than this client allows.
        policy = (keys / "client-1" / "policy.toml").read_text()
        strict = self.folder / "strict.toml"
        strict.write_text(policy.replace("min_batch = 2", "min_batch = 20"))
        intrude(1, ["goes beyond this client's policy", "a batch of 2 is smaller than 20"],
                keys / "client-1", "--share", "0", "--policy", strict, *at_shuffler)
        strict.write_text(policy.replace("epsilon_per_round = 1e+06", "epsilon_per_round = 5"))
        intrude(1, ["goes beyond this client's policy", "epsilon of a round"], keys / "client-1",
                "--share", "0", "--policy", strict, *at_shuffler)
        (keys / "client-5" / "policy.toml").unlink()
        intrude(1, ["a client without a policy takes part in nothing"], keys / "client-5")
        intrude(2, ["says what it may spend"], keys / "client-4", "--unlimited", *at_shuffler)
        # Revoked while everybody runs. The intruder's own copy of the list is the old one.
        old = (keys / "client-4" / "crl.pem").read_bytes()
        self.ok("keys", "revoke", keys, "client-4")
        intrude(1, ["revoked"], keys / "client-4", *at_shuffler)
        (keys / "client-4" / "crl.pem").write_bytes(old)
        intrude(1, [server, "revoked"], keys / "client-4", *at_shuffler)

        # The server in the place of the shuffler would see who sends what.
        right = federation.shuffler_port
        federation.shuffler_port = federation.server_port
        federation.start_client(0)
        federation.wait("client-0", code=1)
        self.assertIn("is a server, not a shuffler", federation.text("client-0"))
        federation.shuffler_port = right
        for index in range(3):
            federation.start_client(index)
        federation.wait_all()
        self.assert_simulated(federation)

    def test_a_network_that_is_cut_and_mended(self):
        settings = ["federation.rounds=4"]
        federation = Federation(self, self.recipe, settings)
        doors = {name: Proxy(self, getattr(federation, name))
                 for name in ("server_port", "shuffler_port")}
        federation.start_server()
        to_server = Proxy(self, federation.server_port)
        federation.server_port, inside = to_server.port, federation.server_port
        federation.start_shuffler()
        federation.server_port = doors["server_port"].port
        federation.shuffler_port = doors["shuffler_port"].port
        for index in range(3):
            federation.start_client(index)
        for number, door in enumerate([*doors.values(), to_server], start=1):
            federation.wait_for(lambda: federation.rounds_done() >= number, f"round {number}")
            door.cut()
            door.mend()
        federation.wait_all()
        self.assertNotEqual(inside, federation.server_port)
        self.assert_simulated(federation, *settings)
        for index in range(3):
            account = self.json("ledger", "show", self.folder / f"client-{index}.sqlite")
            self.assertEqual(account["accounts"][0]["rounds"], 4, "each round is charged once")

    def test_a_shuffler_whose_disk_is_full(self):
        def full():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (600, resource.RLIM_INFINITY))

        settings = ["federation.rounds=1"]
        federation = Federation(self, self.recipe, settings)
        federation.start_server()
        federation.start_shuffler(preexec_fn=full)
        for index in range(3):
            federation.start_client(index)
        federation.wait_for(lambda: "File too large" in federation.text("client-0"), "a refusal")
        federation.kill("shuffler")
        federation.start_shuffler()
        federation.wait_all()
        self.assert_simulated(federation, *settings)

    def test_garbage_does_no_harm(self):
        settings = ["federation.rounds=2"]
        federation = Federation(self, self.recipe, settings)
        federation.start_server()
        federation.start_shuffler()
        federation.wait_for(lambda: "server on" in federation.text("server")
                            and "shuffler on" in federation.text("shuffler"), "the start")
        frame = struct.pack(">I", 1 << 14)[1:] + b"\x00\x00" + struct.pack(">I", 1)
        garbage = [b"GET / HTTP/1.1\r\n\r\n", os.urandom(1 << 16),
                   b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + os.urandom(1 << 14),
                   b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame + bytes(1 << 14)]
        federation.start_client(0)
        for port in (federation.server_port, federation.shuffler_port):
            for data in garbage:
                with socket.create_connection(("127.0.0.1", port)) as sock:
                    try:
                        sock.sendall(data)
                    except OSError:
                        pass  # hung up on, as it should be
        federation.start_client(1)
        federation.start_client(2)
        federation.wait_all()
        self.assert_simulated(federation, *settings)

    def test_a_server_to_whom_nobody_comes_gives_up(self):
        federation = Federation(self, self.recipe)
        federation.start_server("--wait-seconds", "0.5")
        federation.wait("server", code=1)
        self.assertIn("no client came within 0.5 s", federation.text("server"))

    def test_random_delays_without_a_shuffler(self):
        settings = ["shuffle.mode=latency", "shuffle.latency=0.5", "shuffle.min_batch=1",
                    "federation.rounds=1"]
        federation = Federation(self, self.recipe, settings, shuffled=False)
        federation.start_server("--work-seconds", "1")
        for index in range(3):
            federation.start_client(index)
        federation.wait_all()
        self.assert_simulated(federation, *settings)

    def weights(self, file):
        """The largest tensor of a model, as float32."""
        with zipfile.ZipFile(file) as archive:
            tensors = [archive.read(name) for name in archive.namelist() if "/data/" in name]
        largest = max(tensors, key=len)
        return struct.unpack(f"<{len(largest) // 4}f", largest)

    def test_nothing_private_is_on_the_wire(self):
        # One client alone, whose true update is the model of the same round without noise.
        alone = ["federation.clients=1", "federation.rounds=1", "shuffle.min_batch=1"]
        exact = [*alone, "privacy.mechanism=none"]
        truth = self.weights(self.simulated(*exact, name="truth"))
        start = self.weights(self.simulated(*exact, "train.lr=1e-30", name="start"))
        # Weights that training moved; two in a row, since four bytes may appear by chance.
        moved = [i for i in range(len(truth) - 1)
                 if truth[i] != start[i] and truth[i + 1] != start[i + 1]]
        self.assertGreater(len(moved), 100)

        def leaks(traffic):
            found = [i for i in moved if struct.pack("<2f", *truth[i:i + 2]) in traffic
                     or struct.pack("<d", truth[i]) in traffic]
            return len(found)

        federation = Federation(self, self.recipe, alone, min_batch=1)
        federation.start_server()
        into_server = Proxy(self, federation.server_port)
        into_shuffler = Proxy(self, federation.shuffler_port)
        federation.server_port = into_server.port
        federation.start_shuffler()
        federation.shuffler_port = into_shuffler.port
        federation.start_client(0)
        federation.wait_all()
        traffic = bytes(into_server.recorded + into_shuffler.recorded)
        self.assertGreater(len(traffic), 30_000)
        self.assertEqual(leaks(traffic), 0)
        # How many samples the client has: as a number of the usual kinds and as text.
        data = next(s for s in self.json("data", "list")["sets"] if s["name"] == "embedded")
        samples = data["train"] if isinstance(data["train"], int) else data["train"]["samples"]
        for form in (struct.pack("<q", samples), struct.pack("<d", float(samples)),
                     struct.pack("<f", float(samples)), str(samples).encode()):
            self.assertNotIn(form, traffic)
        # The search finds what it looks for: two weights among all the rest.
        place = len(traffic) // 2
        planted = struct.pack("<2f", *truth[moved[50]:moved[50] + 2])
        self.assertEqual(leaks(traffic[:place] + planted + traffic[place:]), 1)
