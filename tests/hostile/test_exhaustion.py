"""Members that want all of a role's memory or threads, and those who go on beside them.

Memory is the largest that the real process ever had (VmHWM); every attack here took gigabytes, or all
threads, of a server without limits.
"""

import concurrent.futures
import os
import pathlib
import resource
import socket
import ssl
import subprocess
import threading
import time

import grpc

from hostile_test import Federation, HostileTest
from parties import Member, Refused, ScriptedServer
from raw_http2 import RawConnection, gzip_bomb, prefix
from wire import Contract, method, pb

HOSTILE = os.environ["SOTTO_HOSTILE_CLIENT"]
MIB = 1 << 20
# Its weights are more than what lies in windows and buffers on the way to a client that does not read.
RECIPE = """
[data]
name = "embedded"
[model]
name = "mlp(1200,1200)"
[federation]
clients = 2
fraction = 1.0
rounds = 1
[privacy]
mechanism = "two-point"
epsilon = 4.0
radius = 0.2
"""
SHUFFLED = RECIPE.replace("mlp(1200,1200)", "linear") + """
[shuffle]
mode = "shuffler"
min_batch = 2
"""


def status_of(process, name):
    """A number of /proc/PID/status; 0 where the process has ended."""
    try:
        lines = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(name + ":")), 0)


def most_memory(process):
    """In MiB, of all its life."""
    return status_of(process, "VmHWM") / 1024


class ExhaustionTest(HostileTest):
    def begin(self, recipe, shuffled=False, **options):
        """A federation with certificates whose third member is hostile; with options for the
        server's process."""
        file = self.folder / "recipe.toml"
        file.write_text(recipe)
        self.keys = self.folder / "keys"
        self.ok("keys", "init", self.keys, "--clients", 4, "--recipe", file,
                "--epsilon-per-round", "1e8", "--epsilon", "1e8")
        self.federation = Federation(self, file, shuffled=shuffled, keys=self.keys,
                                     round_seconds=300)
        self.log = self.folder / "server.jsonl"
        self.federation.start_server("--log", self.log, **options)
        self.server = f"127.0.0.1:{self.federation.server_port}"
        self.wait_listening(self.server)
        # What the server needs for itself, test set and model, is not what an attack costs.
        self.federation.wait_for(lambda: '"round-began"' in self.log.read_text(), "the first round")
        if shuffled:
            self.federation.start_shuffler()
            self.shuffler = f"127.0.0.1:{self.federation.shuffler_port}"
            self.wait_listening(self.shuffler)
        self.member = self.keys / "client-3"

    def wait_listening(self, address):
        self.federation.wait_for(lambda: self.listens(address), "a role that listens")

    def raw(self, address, identity=None):
        connection = RawConnection(address, identity or self.member)
        self.addCleanup(connection.close)
        return connection

    def memory(self, role="server"):
        return most_memory(self.federation.processes[role])

    def others_go_on(self):
        for index in range(2):
            self.federation.start_client(index)
        for name in ("client-0", "client-1"):
            self.federation.wait(name)

    def test_compressed_messages_are_not_unpacked(self):
        self.begin(SHUFFLED, shuffled=True)
        bomb = gzip_bomb(1 << 30)
        self.assertLess(len(bomb), 2 * MIB)
        for role, address, path in (
                ("server", self.server, method("Coordinator", "Join")),
                ("server", self.server, method("Coordinator", "Submit")),
                ("server", self.server, method("Intake", "Open")),
                ("shuffler", self.shuffler, method("Relay", "Submit"))):
            with self.subTest(path):
                before = self.memory(role)
                connection = self.raw(address)
                stream = connection.call(path, encoding="gzip")
                connection.send(stream, prefix(len(bomb), compressed=True) + bomb, end=True)
                self.assertIsNotNone(connection.wait(stream))
                self.assertLess(self.memory(role) - before, 64)
        self.others_go_on()

    def test_unfinished_requests_hold_little(self):
        self.begin(RECIPE)
        before = self.memory()
        piece = bytes(40 * MIB)
        threads = []
        for _ in range(2):
            connection = self.raw(self.server)
            for _ in range(16):
                stream = connection.call(method("Coordinator", "Join"))
                # Half of a message that the protocol's longest would be.
                threads.append(threading.Thread(target=connection.send, daemon=True, args=(
                    stream, prefix(60 * MIB) + piece, False, 8.0)))
        for thread in threads:
            thread.start()
        self.others_go_on()
        for thread in threads:
            thread.join(30)
        # Two of this member's calls at once, whatever the number of its connections.
        self.assertLess(self.memory() - before, 600)

    def test_a_message_without_end_is_cut_off(self):
        self.begin(RECIPE)
        before = self.memory()
        connection = self.raw(self.server)
        stream = connection.call(method("Coordinator", "Join"))
        connection.send(stream, prefix(3 << 30), seconds=2.0)
        piece = bytes(64 * MIB)
        sent = sum(connection.send(stream, piece, seconds=5.0) for _ in range(24))
        self.assertLess(sent, 1400 * MIB)
        self.assertLess(self.memory() - before, 900)
        self.others_go_on()

    def read_nothing(self):
        """The hostile member asks for tasks over 140 connections and reads no answer; it has a place."""
        hostile = subprocess.Popen([HOSTILE, "unread", self.member, self.server, self.server, "140"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(hostile.wait)
        self.addCleanup(hostile.kill)
        self.assertEqual(hostile.stdout.readline(), "open\n")

    def test_answers_that_nobody_reads_take_no_more_than_two_threads(self):
        self.begin(RECIPE)
        self.read_nothing()
        # The recipe has places for two, and the hostile one has taken the first.
        self.federation.start_client(1)
        self.federation.wait_for(lambda: '"report-accepted"' in self.log.read_text(),
                                 "a client that is served")
        self.assertLess(self.threads(), 200)
        self.assertLess(self.memory(), 1500)

    def test_honest_clients_go_on_beside_one_who_wants_memory_and_one_who_wants_threads(self):
        self.begin(RECIPE.replace("clients = 2", "clients = 3"))
        self.read_nothing()
        piece = bytes(40 * MIB)
        for _ in range(2):
            connection = self.raw(self.server, self.keys / "client-4")
            for _ in range(16):
                stream = connection.call(method("Coordinator", "Join"))
                threading.Thread(target=connection.send, daemon=True, args=(
                    stream, prefix(60 * MIB) + piece, False, 60.0)).start()
        # The hostile one has the first place and stays in it, so that the round does not end.
        self.federation.start_client(1)
        self.federation.start("client-0", "client", "--data", "embedded", "--share", 2, "--server", self.server,
                              "--ledger", self.folder / "other.sqlite", "--identity",
                              self.keys / "client-1", "--rehearsal")
        self.federation.wait_for(lambda: self.log.read_text().count('"report-accepted"') == 2,
                                 "both honest clients' reports")
        self.assertLess(self.threads(), 200)
        self.assertLess(self.memory(), 900)

    def test_a_client_does_not_unpack_or_keep_what_a_server_sends(self):
        answer = bytes(600 * MIB)
        for compression in (grpc.Compression.Gzip, grpc.Compression.NoCompression):
            with self.subTest(compression):
                server = grpc.server(concurrent.futures.ThreadPoolExecutor(4), compression=compression,
                                     options=[("grpc.max_send_message_length", -1)])
                server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(
                    method("Coordinator", "").strip("/"),
                    {"Join": grpc.unary_unary_rpc_method_handler(lambda request, context: answer)}),))
                port = server.add_insecure_port("127.0.0.1:0")
                server.start()
                self.addCleanup(server.stop, None)
                client = self.start("client", "--data", "embedded", "--plain", "--name", "ada",
                                    "--unlimited", "--ledger", self.folder / "ledger.sqlite",
                                    "--server", f"127.0.0.1:{port}", "--patience", "1")
                most = 0
                while client.poll() is None:
                    most = max(most, most_memory(client))
                    time.sleep(0.01)
                server.stop(None)
                self.assertEqual(client.returncode, 1, self.said(client))
                self.assertLess(most, 350, self.said(client))

    def threads(self):
        return status_of(self.federation.processes["server"], "Threads")

    def reset_calls(self, address, path, until):
        """Begins calls and resets them at once, over one connection after the other."""
        begun = 0
        while begun < 80_000 and not until.wait(0.001):
            try:
                connection = RawConnection(address, self.member)
                while begun < 80_000 and not connection.closed and not until.is_set():
                    connection.begin_and_reset(path, 50)
                    begun += 50
                connection.close()
            except OSError:
                pass  # cut off

    def others_go_on_beside_resets(self):
        done = threading.Event()
        attacks = [threading.Thread(target=self.reset_calls, args=(*where, done)) for where in (
            (self.server, method("Coordinator", "Join")),
            (self.shuffler, method("Relay", "Submit")))]
        most = {}

        def watch():
            while not done.wait(0.05):
                for role in ("server", "shuffler"):
                    process = self.federation.processes[role]
                    for name, number in (("memory", most_memory(process)),
                                         ("threads", status_of(process, "Threads"))):
                        most[role, name] = max(number, most.get((role, name), 0))
        attacks.append(threading.Thread(target=watch))
        try:
            for thread in attacks:
                thread.start()
            time.sleep(3)
            self.others_go_on()
        finally:
            done.set()
            for thread in attacks:
                thread.join()
        for (role, name), number in most.items():
            with self.subTest(role=role, name=name):
                self.assertGreater(number, 0)
                self.assertLess(number, 300 if name == "memory" else 400)

    def test_calls_that_a_member_resets_at_once_take_nothing(self):
        self.begin(SHUFFLED, shuffled=True)
        self.others_go_on_beside_resets()

    def test_calls_that_a_revoked_member_resets_at_once_take_nothing(self):
        self.begin(SHUFFLED, shuffled=True)
        self.ok("keys", "revoke", self.keys, "client-3")
        self.others_go_on_beside_resets()

    def hold_connections(self, count):
        """So many connections of the hostile member that say nothing after their handshake."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(self.member / "ca.pem")
        context.load_cert_chain(self.member / "cert.pem", self.member / "key.pem")
        context.set_alpn_protocols(["h2"])
        host, port = self.server.rsplit(":", 1)
        for _ in range(count):
            try:
                connection = context.wrap_socket(socket.create_connection((host, int(port)), 2),
                                                 server_hostname=host)
                self.addCleanup(connection.close)
                connection.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
            except OSError:
                return  # the attack has come to its end, or the server has

    def test_idle_connections_leave_descriptors_for_others(self):
        self.begin(RECIPE, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200)))
        self.hold_connections(300)
        for index in range(2):
            self.federation.start_client(index, "--patience", "5")
        for name in ("client-0", "client-1"):
            self.federation.wait(name)

    def test_idle_connections_are_few(self):
        """600 of one member; of those without a call a server keeps 128, and takes more as these go."""
        self.begin(RECIPE)
        folder = pathlib.Path(f"/proc/{self.federation.processes['server'].pid}/fd")
        before = len(list(folder.iterdir()))
        self.hold_connections(600)
        self.assertLess(len(list(folder.iterdir())) - before, 180)
        self.others_go_on()

    def test_a_large_report_that_stalls_gives_way_to_others(self):
        server = ScriptedServer(self)
        _, address = self.start_shuffler(server.address, "--min-batch", "2")
        contract = Contract(server.run, chunks=9, chunk_bytes=60 * MIB)  # more than fits twice
        server.announce(round=1, minimum=2, deadline_ms=600000,
                        groups=[{"expected": 3, "contract": contract.digest}])
        self.wait_until(lambda: server.asked > 2, "the shuffler knows the round")

        def header(name):
            return pb.SubmitHeader(name=name, contract=contract.text, minimum=2,
                                   ticket=contract.ticket(server.ticket_key, name))
        stalls, ada = Member("mal", shuffler=address), Member("ada", shuffler=address)
        end = threading.Event()
        self.addCleanup(end.set)

        def parts():
            yield pb.SubmitRequest(header=stalls.signed(header("mal")))
            end.wait()

        def stall():
            return stalls.shuffler.stream_unary(
                method("Relay", "Submit"), pb.SubmitRequest.SerializeToString,
                pb.SubmitReply.FromString).future(parts(), timeout=120)
        stalled = stall()

        def answer(member, name):
            with self.assertRaises(Refused) as caught:
                member.submit(header(name), [b""])
            return str(caught.exception)

        def it_stalls():
            nonlocal stalled
            if stalled.done():  # the other's report was there first
                stalled = stall()
            time.sleep(0.5)
            return "1 reports are being handed in" in answer(ada, "ada")
        self.wait_until(it_stalls, "it stalls")
        begin = time.monotonic()

        def put_out():
            time.sleep(0.5)
            self.assertIn("1 reports are being handed in", answer(ada, "ada"))
            for _ in range(100):  # the attempt that puts it out is told the same
                if stalled.done():
                    return True
                time.sleep(0.02)
            return False
        self.wait_until(put_out, "the stalled report is put out", seconds=30)
        self.assertGreater(time.monotonic() - begin, 15)
        # It comes back before the other one does, and has to wait for it.
        self.assertIn("others come first", answer(stalls, "mal"))
        self.assertIn("a chunk of 0 bytes", answer(ada, "ada"))
        self.assertIn("a chunk of 0 bytes", answer(stalls, "mal"))

    def test_a_revoked_member_is_turned_away_before_it_is_read(self):
        self.begin(RECIPE)
        self.ok("keys", "revoke", self.keys, "client-3")
        before = self.memory()
        connection = self.raw(self.server)
        piece = bytes(8 * MIB)
        for path in ("Join", "Pull", "Decline", "Submit"):
            with self.subTest(path):
                stream = connection.call(method("Coordinator", path))
                sent = connection.send(stream, prefix(60 * MIB) + piece, seconds=5.0)
                self.assertLess(sent, MIB)
                self.assertIsNotNone(connection.wait(stream))
        self.assertLess(self.memory() - before, 32)
