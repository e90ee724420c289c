"""A hostile server, and members, against a real shuffler: what clients signed decides what leaves, once
and for ever."""

import pathlib
import struct

from hostile_test import Federation, HostileTest
from parties import Impostor, Member, Refused, ScriptedServer
from test_parties import RECIPE
from wire import Contract, pb, random_bytes


class ShufflerTest(HostileTest):
    def setUp(self):
        super().setUp()
        self.server = ScriptedServer(self)
        self.shuffler, self.address = self.start_shuffler(self.server.address, "--min-batch", 2)
        self.port = int(self.address.rsplit(":", 1)[1])
        self.chunks = {}  # of each member by round

    def contract(self, round_number=1, **fields):
        return Contract(self.server.run, round_number, **fields)

    def announce(self, contract, expected=100, deadline_ms=600000, minimum=0, declined=(), **fields):
        """What the server collects; returns when the shuffler has heard it."""
        self.server.announce(round=contract.round, minimum=minimum, deadline_ms=deadline_ms, groups=[
            {"expected": expected, "contract": contract.digest, "declined": declined}], **fields)
        self.heard()

    def heard(self):
        asked = self.server.asked
        self.wait_until(lambda: self.server.asked >= asked + 3, "the shuffler asks", self.shuffler)

    def report(self, name, contract, minimum=2, ticket=None):
        chunks = self.chunks.setdefault((name, contract.digest), [
            random_bytes(contract.chunk_bytes) for _ in range(contract.chunks)])
        ticket = contract.ticket(self.server.ticket_key, name) if ticket is None else ticket
        header = pb.SubmitHeader(name=name, contract=contract.text, minimum=minimum, ticket=ticket)
        return Member(name, shuffler=self.address).submit(header, chunks)

    def reports(self, count, contract, minimum=2):
        names = [f"client-{i}" for i in range(count)]
        for name in names:
            self.report(name, contract, minimum)
        return names

    def refused(self, words, name, contract, **more):
        with self.assertRaisesRegex(Refused, words):
            self.report(name, contract, **more)

    def release(self, contract, **fields):
        """The round's time is over: the batch that comes, or None where none does."""
        self.announce(contract, **fields)
        self.server.batches.clear()
        self.announce(contract, deadline_ms=0, **fields)
        self.wait_until(lambda: self.server.batches, "an answer of the shuffler", self.shuffler)
        header, chunks = self.server.batches[0]
        self.announce(contract, **fields)
        self.assertEqual(len(chunks), header.reports * (contract.chunks if header.reports else 0))
        return chunks if header.reports else None

    def restart(self):
        self.shuffler.kill()
        self.shuffler.wait()
        self.shuffler, self.address = self.start_shuffler(self.server.address, "--min-batch", 2,
                                                          port=self.port)

    def test_a_round_cannot_be_announced_in_another_form(self):
        contract = self.contract(chunks=4)
        self.announce(contract)
        self.reports(5, contract)
        # Whole reports, as one chunk of four times the size.
        whole = self.contract(chunks=1, chunk_bytes=800)
        self.assertIsNone(self.release(whole))
        self.assertEqual(self.server.released(), [])
        chunks = self.release(contract)
        self.assertEqual({len(chunk) for chunk in chunks}, {200})
        for position in range(4):
            batch = chunks[5 * position:5 * position + 5]
            self.assertEqual(set(batch), {self.chunks[f"client-{i}", contract.digest][position]
                                          for i in range(5)})

    def test_a_closed_batch_never_changes_and_rounds_go_upwards(self):
        first, second = self.contract(1), self.contract(2)
        self.announce(first)
        names = self.reports(5, first)
        batch = self.release(first)
        self.assertEqual(self.release(first), batch, "the same again")
        self.refused("the batch is closed", "client-9", first)
        self.restart()
        self.assertEqual(self.release(first), batch, "the same after kill -9")
        for restarted in (False, True):
            self.announce(second)
            self.assertFalse(list((self.folder / "spool").glob("round-1-*")),
                             "a batch that was passed on is deleted with its key")
            if restarted:
                self.restart()
            # Round 1 once more, without one client.
            self.assertIsNone(self.release(first))
            for name in names[1:]:
                self.refused("the round is over", name, first)
            self.assertIsNone(self.release(first))
            self.assertEqual(self.server.released(), [])
        # Another training, and back.
        other = Contract(random_bytes(16))
        self.server.announce(run=other.run, round=1, deadline_ms=600000, groups=[
            {"expected": 9, "contract": other.digest}])
        self.heard()
        self.assertIsNone(self.release(first))
        self.announce(second)
        self.reports(3, second)
        self.assertEqual(len(self.release(second)), 6)

    def test_what_tells_clients_apart_keeps_them_apart(self):
        """Each is asked with a range of its own, so that the mechanism's id inside the box names it."""
        contracts = [self.contract(mechanisms=[f"two-point.v1.{i:02}"]) for i in range(5)]
        self.announce(contracts[0])
        self.report("client-0", contracts[0])
        for i in range(1, 5):
            self.refused("of another contract than the server collects", f"client-{i}", contracts[i])
        # Everybody can see it, before anything has left.
        shown = Member("client-3", shuffler=self.address).compare(self.server.run, 1)
        self.assertEqual(shown, {contract.digest: (0, 1) for contract in contracts})
        for contract in contracts:
            self.assertIsNone(self.release(contract))
        # Also when the round is over.
        self.announce(self.contract(2))
        again = Member("client-3", shuffler=self.address).compare(self.server.run, 1)
        self.assertEqual(again, shown)

    def test_the_clients_say_how_many_a_batch_must_have(self):
        contract = self.contract()
        self.announce(contract)
        names = self.reports(2, contract, minimum=5)
        self.assertIsNone(self.release(contract, minimum=0, expected=2))
        for name in ("client-2", "client-3"):
            self.report(name, contract, minimum=5)
        # A member that asks for the impossible stops nobody, and counts for nobody.
        self.report("mallory", contract, minimum=0xFFFFFFFF)
        self.assertIsNone(self.release(contract))
        self.report("client-4", contract, minimum=3)
        chunks = self.release(contract)
        names = [*names, "client-2", "client-3", "client-4"]
        self.assertEqual(set(chunks), {c for n in names for c in self.chunks[n, contract.digest]})

    def test_the_server_and_the_operator_may_ask_for_more(self):
        contract = self.contract()
        self.announce(contract)
        self.report("client-0", contract, minimum=1)
        self.assertIsNone(self.release(contract))  # --min-batch 2
        self.report("client-1", contract, minimum=1)
        self.assertIsNone(self.release(contract, minimum=3))
        self.assertEqual(len(self.release(contract)), 4)

    def test_only_who_was_asked_may_report(self):
        contract = self.contract()
        self.announce(contract, expected=3)
        words = "its sender was not asked for one in this round"
        self.refused(words, "mallory", contract, ticket=b"")
        self.refused(words, "mallory", contract, ticket=random_bytes(32))
        key = self.server.ticket_key
        self.refused(words, "mallory", contract, ticket=contract.ticket(key, "client-0"))
        self.refused(words, "mallory", contract, ticket=self.contract(2).ticket(key, "mallory"))
        self.refused(words, "mallory", self.contract(group=1),
                     ticket=contract.ticket(key, "mallory"))
        # Two of three honest ones: an unasked member does not stand for the third.
        self.reports(2, contract)
        self.heard()
        self.assertEqual(self.server.released(), [])
        self.report("client-2", contract)
        self.wait_until(self.server.released, "the batch of all three", self.shuffler)
        self.assertEqual(self.server.released()[0][0].reports, 3)

    def test_who_declines_is_out(self):
        contract = self.contract()
        self.announce(contract, expected=3)
        self.report("mallory", contract)
        self.report("client-0", contract)
        gone = [contract.ticket(self.server.ticket_key, "mallory")]
        # Mallory and client-0 are two, but client-1 is still to come.
        self.announce(contract, expected=2, declined=gone)
        self.assertEqual(self.server.released(), [])
        self.refused("its sender has declined the round", "mallory", contract)
        self.report("client-1", contract)
        self.wait_until(self.server.released, "the batch of both", self.shuffler)
        self.assertEqual(set(self.server.released()[0][1]), {
            c for n in ("client-0", "client-1") for c in self.chunks[n, contract.digest]})

    def test_a_damaged_file_costs_one_report(self):
        contract = self.contract()
        self.announce(contract)
        self.reports(5, contract, minimum=4)
        files = sorted((self.folder / "spool").glob("round-1-*/*/*.report"))
        self.assertEqual({file.stat().st_mode & 0o777 for file in files}, {0o600})
        files[2].write_bytes(files[2].read_bytes().replace(files[2].read_bytes()[50:60], b"0" * 10))
        self.restart()
        self.assertEqual(len(self.release(contract)), 4 * 2)
        self.assertIn("it is left out", self.said(self.shuffler))
        # A closed batch: something that opens for nobody stands in its place, and below the minimum
        # nothing leaves.
        files[0].write_bytes(b"")
        self.restart()
        self.server.batches.clear()
        self.announce(contract, deadline_ms=0)
        self.wait_until(lambda: self.server.batches, "an answer", self.shuffler)
        self.assertEqual(self.server.released(), [])
        self.assertIn("nothing more of it leaves", self.said(self.shuffler))

    def test_one_process_for_a_folder(self):
        self.fails(1, ["the state of this shuffler is in use by process"], "shuffler", "--state",
                   self.folder / "spool", "--listen", "127.0.0.1:0", "--server",
                   self.server.address, "--plain")

    def test_the_state_says_what_is_over_or_nothing_begins(self):
        contract = self.contract()
        self.announce(contract)
        self.reports(2, contract)
        self.shuffler.kill()
        self.shuffler.wait()
        state = pathlib.Path(self.folder / "spool" / "state.json")
        state.write_text(state.read_text().replace('"round":1', '"round":0'))
        self.fails(1, ["state.json", "which rounds are over"], "shuffler", "--state",
                   self.folder / "spool", "--listen", "127.0.0.1:0", "--server",
                   self.server.address, "--plain")


class ComparisonTest(HostileTest):
    def test_clients_see_that_one_of_them_is_asked_for_something_else(self):
        """A server that gives one client a model of its own: real clients, a real shuffler."""
        recipe = self.folder / "recipe.toml"
        recipe.write_text(RECIPE.replace("min_batch = 3", "min_batch = 2")
                          .replace("rounds = 2", "rounds = 1"))
        federation = Federation(self, recipe, round_seconds=12)
        federation.start_server()
        federation.wait_for(lambda: self.listens(f"127.0.0.1:{federation.server_port}"), "a server")
        impostor = Impostor(self, f"127.0.0.1:{federation.server_port}")

        def other_model(request, parts):
            if request.name == "client-2" and len(parts) > 1:
                parts[1].weights = struct.pack("<f", 0.5) + parts[1].weights[4:]
            return parts
        impostor.on_pull = other_model
        federation.server_port = int(impostor.address.rsplit(":", 1)[1])
        federation.start_shuffler()
        federation.start_client(2, "--json")
        federation.wait_for(lambda: "of another contract" in federation.text("client-2"),
                            "the refusal")
        federation.start_client(0, "--json")
        federation.start_client(1, "--json")
        federation.wait_all()
        for name in ("client-0", "client-1"):
            self.assertIn("came with another contract", federation.text(name), federation.story())
            self.assertIn('"asked_otherwise": 1', federation.text(name))
        self.assertIn("another contract than the server collects", federation.text("client-2"))
        # The other two are a batch, and the odd one is in none.
        metrics = (federation.out / "metrics.jsonl").read_text()
        self.assertIn('"reports":2', metrics.replace(" ", ""))
