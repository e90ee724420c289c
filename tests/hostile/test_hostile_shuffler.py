"""A hostile shuffler between real clients and a real server: what it repeats, moves or makes up is left out,
what it kept from release counts as seen, and whatever it tells clients they go on."""

import json

from hostile_test import Federation, HostileTest
from parties import Refused, ScriptedShuffler
from test_parties import RECIPE
from wire import pb, random_bytes, seal


class HostileShufflerTest(HostileTest):
    def setUp(self):
        super().setUp()
        self.recipe = self.folder / "recipe.toml"
        self.recipe.write_text(RECIPE.replace("split = 3000", "split = 1000"))
        self.federation = Federation(self, self.recipe)
        self.federation.start_server("--linger", 2)
        server = f"127.0.0.1:{self.federation.server_port}"
        self.federation.wait_for(lambda: self.listens(server), "a server")
        self.shuffler = ScriptedShuffler(self, server)
        self.federation.shuffler_port = int(self.shuffler.address.rsplit(":", 1)[1])

    def start_clients(self):
        for index in range(3):
            self.federation.start_client(index)

    def all_reports(self, round_number):
        """The chunks of all three, by position."""
        self.federation.wait_for(lambda: len(self.shuffler.came(round_number)) == 3,
                                 f"all reports of round {round_number}")
        reports = self.shuffler.came(round_number)
        return [list(chunks) for chunks in zip(*(reports[f"client-{i}"] for i in range(3)))]

    def header(self, reports=3, **fields):
        opened = self.shuffler.open()
        return {"round": opened.round, "attempt": opened.attempt, "reports": reports, **fields}

    def refused(self, words, header, chunks=()):
        with self.assertRaisesRegex(Refused, words):
            self.shuffler.deliver(header, chunks)

    def batches(self):
        """Of the certificate: {reports that hide one another: rounds}."""
        certificate = json.loads((self.federation.out / "certificate.json").read_text())
        return {batch["clients"]: batch["rounds"]
                for turn in certificate["exposure"]["turns"] for batch in turn["batches"]}

    def metrics(self):
        lines = (self.federation.out / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def test_what_it_repeats_moves_or_makes_up_is_left_out(self):
        self.start_clients()
        first = self.all_reports(1)
        header = self.header()
        for change, words in [({"round": 2}, "its round is not open"),
                              ({"attempt": random_bytes(16)}, "its round is not open"),
                              ({"group": 1}, "there is no group 1"),
                              ({"reports": 4}, "more reports than clients were asked"),
                              ({"reports": 0xFFFFFFFF}, "more reports than clients were asked"),
                              ({"skip": 1}, "does not go on where the last one ended")]:
            self.refused(words, {**header, **change})
        key = next(line for line in self.contract().splitlines() if line.startswith("seal-key "))
        public = bytes.fromhex(key.split()[1])
        batch = [list(chunks) for chunks in first]
        batch[0][2] = batch[0][1]  # one sender's twice
        batch[1][0] = batch[2][0]  # of another position
        batch[2][1] = random_bytes(len(batch[2][1]))
        batch[3][2] = seal(random_bytes(len(batch[3][2]) - 48), public)
        batch[4][0] = b""
        batch[5][1] = batch[5][1] + b"\0"
        chunks = [chunk for position in batch for chunk in position]
        self.refused("a chunk more than the batch has|its round is not open", header,
                     [*chunks, chunks[0]])
        self.federation.wait_for(lambda: self.federation.rounds_done() == 1, "the end of round 1")
        # The batch is closed: nothing is added to it, under whatever name.
        self.refused("its round is not open", header, chunks)

        second = self.all_reports(2)
        header = self.header()
        # A chunk of the round before opens in no other.
        wrong = [[*first[0][:1], *second[0][1:]], *second[1:]]
        chunks = [chunk for position in wrong for chunk in position]
        self.refused("it had another size before|does not go on", {**header, "reports": 2, "skip": 9})
        self.shuffler.deliver(header, chunks[:2])  # cut off
        self.refused("it had another size before", {**header, "reports": 2, "skip": 2})
        self.refused("does not go on where the last one ended", header, chunks)
        self.shuffler.deliver({**header, "skip": 2}, chunks[2:])
        self.federation.wait("server")
        self.assertEqual([m["released"] for m in self.metrics()], [0, 0], self.federation.story())
        # Two of three were well-formed in the poorest position of both rounds, and were seen.
        self.assertEqual(self.batches(), {2: 2})
        said = self.federation.text("server")
        self.assertIn("6 chunks did not open or are not what the round asked for", said)
        self.assertIn("2 reports are fewer than shuffle.min_batch; what was opened counts as seen", said)

    def contract(self):
        return self.shuffler.contracts[1, "client-0"]

    def test_a_batch_that_it_cuts_short_is_seen_in_part(self):
        self.federation.stop()
        self.federation.round_seconds = 3
        self.federation.start_server("--linger", 2)
        server = f"127.0.0.1:{self.federation.server_port}"
        self.federation.wait_for(lambda: self.listens(server), "a server")
        self.start_clients()
        first = self.all_reports(1)
        self.shuffler.deliver(self.header(), first[0][:2])
        self.federation.wait_for(lambda: self.federation.rounds_done() == 1, "the end of round 1")
        second = self.all_reports(2)
        self.shuffler.deliver(self.header(), [chunk for position in second for chunk in position])
        self.federation.wait("server")
        self.assertEqual([m["released"] for m in self.metrics()], [0, 3], self.federation.story())
        self.assertEqual(self.batches(), {2: 1, 3: 1})

    def test_clients_go_on_whatever_it_tells_them(self):
        self.shuffler.asked = pb.CompareReply(asked=[
            pb.Asked(contract="0" * 64, group=0, reports=0xFFFFFFFF),
            pb.Asked(contract="1" * 64, group=0xFFFFFFFF, reports=1)])
        self.start_clients()
        self.all_reports(1)
        self.shuffler.deliver(self.header(reports=0), [])
        self.shuffler.asked = pb.CompareReply(asked=[pb.Asked(contract="no digest")])
        second = self.all_reports(2)
        self.shuffler.deliver(self.header(), [chunk for position in second for chunk in position])
        self.federation.wait_all()
        for index in range(3):
            said = self.federation.text(f"client-{index}")
            self.assertIn("2 reports handed in, 0 rounds declined", said)
            self.assertIn("4294967295 clients of this client's group came with another contract", said)
        self.assertEqual(self.batches(), {3: 1})
