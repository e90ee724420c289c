"""Help, errors and exit codes, as a person meets them."""

import os
import shutil
import subprocess

from sotto_program import EMBEDDED, PROGRAM, SottoTest, sotto

COMMANDS = ["demo", "run", "sweep", "reproduce", "report", "data", "models", "mechanisms", "verify", "tune", "perturb",
            "audit", "attack", "account", "ledger", "keys", "server", "shuffler", "client", "bench"]


class Help(SottoTest):
    def test_every_command_has_help_with_examples(self):
        for words in [[c] for c in COMMANDS] + [
            ["data", "list"], ["data", "check"], ["data", "show"], ["data", "fetch"],
            ["account", "compose"], ["account", "shuffle"], ["account", "plan"],
            ["account", "check"], ["ledger", "show"], ["ledger", "export"], ["ledger", "verify"],
            ["ledger", "limit"], ["tune", "srr"], ["bench", "train"], ["bench", "mechanisms"],
            ["attack", "weight-inference"], ["attack", "membership"],
        ]:
            text = self.ok(*words, "--help")
            self.assertIn("Example", text, words)

    def test_the_program_lists_its_commands(self):
        text = self.ok("--help")
        for command in COMMANDS:
            self.assertIn(command, text)
        self.assertRegex(self.ok("--version"), r"sotto \d+\.\d+\.\d+")


class Start(SottoTest):
    """LibTorch takes half a second to load: only a command that trains waits for it."""

    def libraries(self, *arguments):
        done = sotto(*arguments, env={**os.environ, "LD_DEBUG": "files"})
        self.assertEqual(done.returncode, 0)
        return done.stderr

    def test_libtorch_is_loaded_where_it_is_needed(self):
        self.assertNotIn("libtorch", self.libraries("models"))
        self.assertIn("libtorch", self.libraries(
            "run", EMBEDDED, "--out", self.folder / "run", "--set", "federation.rounds=1"))

    def test_a_program_without_its_module_says_what_is_missing(self):
        """At the end, when the model is saved; what was trained by then is not lost."""
        alone = self.folder / "sotto"
        shutil.copy(PROGRAM, alone)
        run = ["run", EMBEDDED, "--out", self.folder / "run", "--set", "federation.rounds=1"]
        done = subprocess.run([alone, *run], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(str(self.folder / "libsotto_torch.so"), done.stderr)
        (self.folder / "libsotto_torch.so").write_bytes(b"no library")
        done = subprocess.run([alone, *run, "--replace"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("cannot load the trainer", done.stderr)
        done = sotto(*run, "--resume")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.folder / "run" / "model.pt").exists())


class Usage(SottoTest):
    def test_wrong_usage_is_2_and_suggests(self):
        self.fails(2, ["did you mean 'models'"], "modles")
        self.fails(2, ["did you mean '--threads'"], "run", EMBEDDED, "--thread", "2")
        self.fails(2, ["did you mean 'show'"], "data", "shwo")
        self.fails(2, [], "run", EMBEDDED, "--threads", "0")
        self.fails(2, ["subcommand"])
        self.fails(2, ["RECIPE.toml"], "run")

    def test_a_negative_count_is_refused_and_not_read_as_a_large_one(self):
        for words in (["audit", "two-point", "--epsilon", "1", "--trials", "-6"],
                      ["audit", "two-point", "--epsilon", "1", "--seed", "-1"],
                      ["audit", "--program", "cat", "--inputs=-1,1", "--batch", "-1"],
                      ["attack", "weight-inference", "--clients", "10,-3"],
                      ["attack", "membership", EMBEDDED, "--population", "-4"]):
            self.fails(2, [words[-2].split("=")[0], "is negative"], *words)

    def test_a_bad_recipe_names_file_line_and_key(self):
        recipe = self.folder / "bad.toml"
        recipe.write_text('[data]\nname = "embedded"\n[train]\nlearnrate = 1\n')
        self.fails(2, [f"{recipe}:4", "unknown key 'train.learnrate'"], "run", recipe)
        self.fails(2, ["--set train.lr=x"], "run", EMBEDDED, "--set", "train.lr=x")
        self.fails(1, ["nothing.toml"], "run", self.folder / "nothing.toml")

    def test_unknown_networks_sets_and_partitions_are_named(self):
        def run_with(setting):
            return ["run", EMBEDDED, "--out", self.folder / "out", "--set", setting]

        self.fails(2, ["did you mean 'srr-mnist'"], *run_with("model.name=srr-mnst"))
        self.fails(2, ["did you mean 'embedded'"], *run_with("data.name=embeded"))
        self.fails(2, ["did you mean 'stratified'"], *run_with("data.partition=stratifed"))
        self.fails(2, ["dirichlet"], *run_with("data.partition=dirichlet(-1)"))
        self.assertFalse((self.folder / "out" / "model.pt").exists())

    def test_output_to_a_closed_pipe_or_full_disk_does_not_pass_for_success(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, "models", "--json"], stdout=full, stderr=subprocess.PIPE)
        self.assertNotEqual(done.returncode, 0)


class Json(SottoTest):
    def test_models(self):
        models = {m["name"]: m["parameters"] for m in self.json("models")["models"]}
        self.assertEqual(models["srr-mnist"], 20490)
        self.assertEqual(models["ldp-fed"], 29034)
        self.assertEqual(models["srr-cifar"], 2169770)
        self.assertEqual(models["srr-medical"], 5611878)

    def test_data_list_and_show(self):
        names = {s["name"] for s in self.json("data", "list")["sets"]}
        self.assertLessEqual({"mnist", "fashion-mnist", "cifar10", "medical-mnist", "embedded"}, names)
        picture = self.folder / "p.svg"
        self.json("data", "show", "embedded", "--clients", "10", "--partition", "dirichlet(0.5)",
                  "--out", picture)
        self.assertIn("<svg", picture.read_text())

    def test_nothing_but_json_on_stdout_and_nothing_on_stderr(self):
        done = sotto("run", EMBEDDED, "--set", "federation.rounds=1", "--set", "federation.k=2",
                     "--out", self.folder / "r", "--json")
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith("{"))
        self.assertEqual(done.stderr, "")
