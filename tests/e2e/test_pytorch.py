"""Models go to PyTorch and come from it. Skipped, visibly, where PyTorch is not installed."""

import unittest

from sotto_program import EMBEDDED, SottoTest

try:
    import numpy
    import torch
except ImportError:
    torch = None

SHORT = ["--set", "federation.rounds=4", "--set", "federation.clients=10", "--set",
         "federation.fraction=1.0", "--set", "train.epochs=2"]


@unittest.skipIf(torch is None, "PyTorch for Python is not installed")
class PyTorch(SottoTest):
    def test_model_pt_loads_into_the_printed_module_and_scores_the_same(self):
        file = self.folder / "bars.npz"
        x, y = self.bars(3000)
        numpy.savez(file, x_train=x[:2000], y_train=y[:2000], x_test=x[2000:], y_test=y[2000:])
        for network in ("srr-mnist", "ldp-fed"):
            with self.subTest(network=network):
                out = self.folder / network
                result = self.json("run", EMBEDDED, *SHORT, "--set", f"model.name={network}",
                                   "--set", f"data.name={file}", "--out", out)
                module = eval(self.ok("models", network, "--pytorch"), {"torch": torch})
                state = torch.load(out / "model.pt")
                self.assertEqual(type(state), dict)
                module.load_state_dict(state)
                self.assertEqual(sum(p.numel() for p in module.parameters()),
                                 result["model"]["parameters"])
                module.eval()
                with torch.no_grad():
                    scores = module(torch.from_numpy(x[2000:]).float().unsqueeze(1) / 127.5 - 1.0)
                right = (scores.argmax(1) == torch.from_numpy(y[2000:])).float().mean().item()
                self.assertAlmostEqual(right, result["final"]["accuracy"], delta=0.002)
                self.assertGreater(right, 0.2)

    @staticmethod
    def bars(count):
        """Ten classes: a bright bar in one of ten places, under much noise."""
        random = numpy.random.RandomState(1)
        y = random.randint(0, 10, count).astype("int64")
        x = random.randint(0, 200, (count, 28, 28)).astype("uint8")
        for image, label in zip(x, y):
            image[2 * label + 3 : 2 * label + 5, 4:24] //= 2
            image[2 * label + 3 : 2 * label + 5, 4:24] += 100
        return x, y

    def test_a_torchscript_file_trains(self):
        net = torch.nn.Sequential(
            torch.nn.Conv2d(1, 8, 5, stride=2), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
            torch.nn.Flatten(), torch.nn.Linear(8 * 12 * 12, 10))
        file = self.folder / "net.pt"
        torch.jit.script(net).save(str(file))
        recipe = self.folder / "own.toml"
        recipe.write_text('[data]\nname = "embedded"\n[model]\nfile = "%s"\n'
                          '[train]\nlr = 0.05\n[federation]\nclients = 20\nk = 10\nrounds = 4\n' % file)
        models = []
        for threads in (1, 2):
            out = self.folder / f"own{threads}"
            result = self.json("run", recipe, "--threads", threads, "--out", out)
            models.append((out / "model.pt").read_bytes())
        self.assertEqual(models[0], models[1])
        self.assertGreater(result["final"]["accuracy"], 0.5)
        net.load_state_dict(torch.load(out / "model.pt"), strict=False)

    def test_a_torchscript_file_with_dropout_is_still_deterministic(self):
        net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 32), torch.nn.ReLU(),
                                  torch.nn.Dropout(0.5), torch.nn.Linear(32, 10))
        file = self.folder / "net.pt"
        torch.jit.script(net).save(str(file))
        recipe = self.folder / "own.toml"
        recipe.write_text('[data]\nname = "embedded"\n[model]\nfile = "%s"\n'
                          '[federation]\nk = 4\nrounds = 1\n' % file)
        models = []
        for name in "ab":
            self.ok("run", recipe, "--out", self.folder / name)
            models.append((self.folder / name / "model.pt").read_bytes())
        self.assertEqual(models[0], models[1])
