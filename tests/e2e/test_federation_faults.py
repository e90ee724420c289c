"""A federation among enemies: false identities, a server that asks too much, cut networks, full
disks, garbage, and somebody who listens."""

import os
import random
import resource
import signal
import socket
import struct
import threading
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

    def write_data(self, name, seed):
        """A set of numbers whose labels, in their order, and whose sizes of classes are its own."""
        draw = random.Random(seed)
        sizes = draw.sample(range(130, 400), 5)
        labels = [label for label, size in enumerate(sizes) for _ in range(size)]
        draw.shuffle(labels)
        columns = 300
        rows = [",".join([str((x * (label + 1) + draw.randrange(3)) % 7) for x in range(columns)])
                + f",{label}" for label in labels]
        file = self.folder / name
        header = ",".join([f"x{x}" for x in range(columns)] + ["label"])
        file.write_text(header + "\n" + "\n".join(rows) + "\n")
        return file, labels, sizes

    @staticmethod
    def forms_of_labels(labels, run=16):
        """So many labels in a row, in the usual encodings; few enough that the samples which are held
        out for testing leave most runs whole."""
        for first in range(0, len(labels) - run, run):
            some = labels[first:first + run]
            yield bytes(some)
            for kind in "hiqfd":
                yield struct.pack(f"<{run}{kind}", *some)
            for between in ("", ",", ", ", "\n"):
                yield between.join(map(str, some)).encode()

    @staticmethod
    def forms_of_counts(sizes):
        """Of three classes in a row: fewer bytes may be there by chance."""
        def varint(number):
            return bytes([number & 127 | 128, number >> 7])

        total = sum(sizes)
        for some in zip(sizes, sizes[1:], sizes[2:]):
            yield b"".join(map(varint, some))
            for kind in "hiqfd":
                yield struct.pack(f"<3{kind}", *some)
            for kind in "fd":
                yield struct.pack(f"<3{kind}", *(size / total for size in some))
            for between in (",", ", ", "\n"):
                yield between.join(map(str, some)).encode()

    def test_nothing_private_is_on_the_wire(self):
        own, labels, sizes = self.write_data("own.csv", 1)
        public, _, _ = self.write_data("public.csv", 2)
        # One client alone, whose true update is the model of the same round without noise.
        alone = ["federation.clients=1", "federation.rounds=1", "shuffle.min_batch=1",
                 "data.test_fraction=0.001", "data.shape=[1, 1, 300]", "data.classes=5",
                 f"data.name={own}"]
        exact = [*alone, "privacy.mechanism=none"]
        truth = self.weights(self.simulated(*exact, name="truth"))
        start = self.weights(self.simulated(*exact, "train.lr=1e-30", name="start"))
        # Weights that training moved; two in a row, since four bytes may appear by chance.
        moved = [i for i in range(len(truth) - 1)
                 if truth[i] != start[i] and truth[i + 1] != start[i + 1]]
        self.assertGreater(len(moved), 100)
        # A sample of each class is held out for testing.
        trained = [size - 1 for size in sizes]
        forms = {
            "weights": [form for i in moved for form in (struct.pack("<2f", *truth[i:i + 2]),
                                                         struct.pack("<d", truth[i]))],
            "labels": list(self.forms_of_labels(labels)),
            "label counts": [*self.forms_of_counts(sizes), *self.forms_of_counts(trained)],
            # How many samples the client has: as a number of the usual kinds and as text.
            "samples": [form for n in (sum(sizes), sum(trained))
                        for form in (struct.pack("<q", n), struct.pack("<d", float(n)),
                                     struct.pack("<f", float(n)), str(n).encode())],
        }

        def found(traffic):
            return {what: sum(form in traffic for form in some) for what, some in forms.items()}

        # The server's recipe names public data, which it tests on; the client has its own.
        settings = [*alone[:-1], f"data.name={public}"]
        federation = Federation(self, self.recipe, settings, min_batch=1)
        federation.start_server()
        into_server = Proxy(self, federation.server_port)
        into_shuffler = Proxy(self, federation.shuffler_port)
        federation.server_port = into_server.port
        federation.start_shuffler()
        federation.shuffler_port = into_shuffler.port
        federation.start_client(0, data=own)
        federation.wait_all()
        traffic = bytes(into_server.recorded + into_shuffler.recorded)
        self.assertIn("1 reports handed in", federation.text("client-0"))
        self.assertGreater(len(traffic), 10_000)
        self.assertEqual(found(traffic), dict.fromkeys(forms, 0))
        # The control: what is sent in clear through such a relay is found, to the last form.
        with socket.create_server(("127.0.0.1", 0)) as sink:
            relay = Proxy(self, sink.getsockname()[1])
            clear = b"\xfe\xff".join(form for some in forms.values() for form in some)
            with socket.create_connection(("127.0.0.1", relay.port)) as sock:
                threading.Thread(target=sock.sendall, args=(clear,), daemon=True).start()
                with sink.accept()[0] as end:
                    federation.wait_for(lambda: end.recv(65536) and len(relay.recorded)
                                        >= len(clear), "all that was sent")
            self.assertEqual(found(bytes(relay.recorded)),
                             {what: len(some) for what, some in forms.items()})
