"""The hostile parties themselves: one that changes nothing must change nothing, or the others show nothing."""

from hostile_test import Federation, HostileTest, recipe
from parties import Impostor, Member, Refused, ScriptedServer
from wire import BoxKey, pb, random_bytes, seal

RECIPE = recipe(3, shuffled=True)


class PartiesTest(HostileTest):
    def test_an_impostor_that_changes_nothing(self):
        file = self.folder / "recipe.toml"
        file.write_text(RECIPE)
        federation = Federation(self, file)
        federation.start_server()
        federation.wait_for(lambda: self.listens(f"127.0.0.1:{federation.server_port}"), "a server")
        impostor = Impostor(self, f"127.0.0.1:{federation.server_port}")
        rounds = []
        impostor.on_pull = lambda request, parts: rounds.append(parts[0].task.round) or parts
        federation.server_port = int(impostor.address.rsplit(":", 1)[1])
        federation.start_shuffler()
        for index in range(3):
            federation.start_client(index)
        federation.wait_all()
        self.assertEqual(set(rounds) - {0}, {1, 2})
        out = self.folder / "simulated"
        self.ok("run", file, "--out", out)
        self.assertEqual((federation.out / "model.pt").read_bytes(), (out / "model.pt").read_bytes())

    def test_a_member_is_heard(self):
        server = ScriptedServer(self)
        _, address = self.start_shuffler(server.address)
        member = Member("mallory", shuffler=address)
        with self.assertRaisesRegex(Refused, "INVALID_ARGUMENT"):
            member.submit(pb.SubmitHeader(name="mallory"), [])

    def test_boxes(self):
        key = BoxKey()
        plain = random_bytes(100)
        self.assertEqual(key.open(seal(plain, key.public_bytes)), plain)
        self.assertIsNone(BoxKey().open(seal(plain, key.public_bytes)))
