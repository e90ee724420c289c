"""A server whose numbers lie outside what the recipe has: no client reads past its own lists."""

from hostile_test import Federation, HostileTest, recipe
from parties import Impostor

RECIPE = recipe(2)


class BoundsTest(HostileTest):
    def begin(self):
        file = self.folder / "recipe.toml"
        file.write_text(RECIPE)
        self.federation = Federation(self, file, shuffled=False)
        self.federation.start_server()
        address = f"127.0.0.1:{self.federation.server_port}"
        self.federation.wait_for(lambda: self.listens(address), "a server")
        return Impostor(self, address)

    def through(self, impostor):
        self.federation.server_port = int(impostor.address.rsplit(":", 1)[1])
        for index in range(2):
            self.federation.start_client(index)

    def test_rounds_and_groups_beyond_the_recipe(self):
        impostor = self.begin()
        lies = [{"round": 3}, {"round": 4_294_967_295}, {"round": 1 << 20}, {"group": 1},
                {"group": 4_294_967_295}]
        told = []

        def lie(request, parts):
            done = sum(1 for name, _ in told if name == request.name)
            if parts[0].HasField("task") and done < len(lies):
                for field, value in lies[done].items():
                    setattr(parts[0].task, field, value)
                parts[0].task.attempt = bytes(16)  # what is declined is not the true task
                told.append((request.name, done))
            return parts

        impostor.on_pull = lie
        self.through(impostor)
        self.federation.wait_all()
        for index in range(2):
            said = self.federation.text(f"client-{index}")
            self.assertIn("round 4294967295: the recipe has 2 rounds", said)
            self.assertIn("the recipe gives this client another budget", said)
        out = self.folder / "simulated"
        self.ok("run", self.federation.recipe, "--out", out)
        self.assertEqual((self.federation.out / "model.pt").read_bytes(),
                         (out / "model.pt").read_bytes(), self.federation.story())
