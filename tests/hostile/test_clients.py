"""A server that asks for too much work, one that sends code, and a member that keeps others out."""

import time

import grpc

from hostile_test import Federation, HostileTest, recipe
from parties import Impostor, Member, serve

RECIPE = recipe(1)


class ClientTest(HostileTest):
    def setUp(self):
        super().setUp()
        self.recipe = self.folder / "recipe.toml"
        self.recipe.write_text(RECIPE)
        self.federation = Federation(self, self.recipe, shuffled=False, rehearsal=False,
                                     round_seconds=5)
        self.federation.start_server()
        self.address = f"127.0.0.1:{self.federation.server_port}"
        self.wait_until(lambda: self.listens(self.address), "the server listens")

    def fingerprint(self, *settings):
        """Of the recipe with these settings, as a policy has it."""
        keys = self.folder / f"keys-{time.monotonic_ns()}"
        more = [part for setting in settings for part in ("--set", setting)]
        self.ok("keys", "init", keys, "--clients", 1, "--recipe", self.recipe, *more,
                "--epsilon-per-round", 1, "--epsilon", 1)
        text = (keys / "client-1" / "policy.toml").read_text()
        return text.split('recipes = ["')[1][:64]

    def client(self, server, *more, name="ada"):
        return self.start("client", "--plain", "--name", name, "--data", "embedded", "--unlimited",
                          "--ledger", self.folder / f"{name}.sqlite", "--server", server, *more)

    def peak_mb(self, process):
        """The most memory that the process has had so far."""
        try:
            with open(f"/proc/{process.pid}/status") as status:
                for line in status:
                    if line.startswith("VmHWM"):
                        return int(line.split()[1]) / 1024
        except OSError:
            pass
        return 0.0

    def test_too_much_work_is_refused_before_any_of_it_is_done(self):
        impostor = Impostor(self, self.address)
        # The first two are more than any network may have, the others more than this client takes on.
        for settings, part in [(["model.name=mlp(60000,60000)"], "weights; valid: at most"),
                               (["data.resize=[3, 8000, 8000]", "train.batch_size=1"],
                                "valid: at most"),
                               (["model.name=mlp(15900,15900)"], "weights are more than"),
                               (["train.epochs=100000"], "100000 epochs in a round")]:
            known = self.fingerprint(*settings)

            def change(request, reply):
                reply.settings.extend(settings)
                reply.recipe_hash = known
                return reply

            impostor.on_join = change
            client = self.client(impostor.address)
            peak = 0.0
            while client.poll() is None:
                peak = max(peak, self.peak_mb(client))
                time.sleep(0.002)
            self.assertEqual(client.returncode, 1, self.said(client))
            self.assertIn(part, self.said(client))
            self.assertGreater(peak, 5.0)
            self.assertLess(peak, 150.0, settings)

    def test_no_code_is_taken_from_a_server(self):
        # A network as TorchScript is a program. A server can name a file, and the client's owner alone
        # can say which one is loaded.
        model = self.folder / "stranger.pt"
        model.write_bytes(b"PK\x03\x04 whatever a stranger has put here")
        impostor = Impostor(self, self.address)

        def change(request, reply):
            reply.recipe = reply.recipe.replace('name = "linear"', f'file = "{model}"')
            reply.recipe_hash = known
            return reply

        self.recipe.write_text(RECIPE.replace('name = "linear"', f'file = "{model}"'))
        known = self.fingerprint()
        self.recipe.write_text(RECIPE)
        impostor.on_join = change
        client = self.client(impostor.address)
        self.assertEqual(client.wait(60), 2, self.said(client))
        self.assertIn("no code is taken from a server", self.said(client))
        self.assertNotIn("TorchScript", self.said(client))

    def plain(self, client):
        """What the client has said, without a byte that would move a cursor or hide a line."""
        said = client.log.read_bytes().replace("…".encode(), b"")
        self.assertFalse([byte for byte in said if byte < 32 and byte != 10 or byte > 126], said)
        return said.decode()

    def test_a_server_writes_nothing_on_a_clients_terminal_but_its_words(self):
        # "Conceal" hides what the client says next, and a line of its own could be anything.
        hidden, lie = "\x1b[8m\x9b8m\u202e\x07", "sotto: your epsilon is 0.1"
        impostor = Impostor(self, self.address)

        def key(request, reply):
            reply.recipe += '\n[output]\n"\\u001b[8m\\nsotto: your epsilon is 0.1" = 1\n'
            return reply

        impostor.on_join = key
        client = self.client(impostor.address, name="bea")
        self.assertEqual(client.wait(60), 2, self.said(client))
        self.assertNotIn("\n" + lie, self.plain(client))

        def refuse(request, context):
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"{hidden}\n{lie}" + 3000 * "!")

        server, address = serve({"Coordinator": {
            "Join": grpc.unary_unary_rpc_method_handler(refuse)}})
        self.addCleanup(server.stop, None)
        client = self.client(address, name="cleo")
        self.assertEqual(client.wait(60), 1, self.said(client))
        said = self.plain(client)
        self.assertIn(r"\x1b[8m\x9b8m\u202e\x07\x0a" + lie, said)
        self.assertLess(len(said), 2200)

        def name(request, reply):
            reply.recipe += '\n[output]\nname = "\\u001b[8m\\u009b8m\\u202e\\nsotto: your epsilon is 0.1"\n'
            return reply

        impostor.on_join = name
        client = self.client(impostor.address)
        self.assertEqual(client.wait(60), 0, self.said(client))
        said = self.plain(client)
        self.assertIn("\\x1b[8m\\x9b8m\\u202e\\x0asotto: your epsilon is 0.1", said)
        self.assertNotIn("\n" + lie, said)

    def test_a_place_that_nobody_uses_does_not_keep_an_honest_client_out(self):
        squatter = Member("squatter", server=self.address)
        squatter.join()
        first = self.client(self.address, "--patience", "1", name="hasty")
        self.assertEqual(first.wait(60), 1, self.said(first))
        self.assertIn("all 1 clients of the recipe are here", self.said(first))
        time.sleep(10)
        honest = self.client(self.address, "--patience", "60")
        self.assertEqual(honest.wait(60), 0, self.said(honest))
        self.assertIn("2 reports handed in", self.said(honest))

    def test_a_client_that_lost_its_place_joins_again(self):
        impostor = Impostor(self, self.address)
        lost = []

        def once(request, parts):
            if not lost:
                lost.append(request.name)
                Member(request.name, server=self.address).decline(0, b"")
                return []
            return parts

        impostor.on_pull = once
        client = self.client(impostor.address)
        self.assertEqual(client.wait(60), 0, self.said(client))
        self.assertIn("joining again", self.said(client))
        # It was asked in the first round before it lost its place, and is not asked in it again.
        self.assertIn("1 reports handed in", self.said(client))
