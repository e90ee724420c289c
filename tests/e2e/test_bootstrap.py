"""./bootstrap: what a newcomer's first command installs and compiles, without compiling it."""

import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BOOTSTRAP = (ROOT / "bootstrap").read_text(encoding="utf-8")
# Of the compiler and the C library, which come with g++.
COMPILER = re.compile(r"libstdc\+\+|libc6-dev|libgcc|linux-libc-dev")


def packages(name):
    listed = re.search(rf"^{name}=\((.*?)\)", BOOTSTRAP, re.M | re.S).group(1)
    return {word for line in listed.splitlines() for word in line.split("#")[0].split()}


class Demo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if shutil.which("cmake") is None or shutil.which("ninja") is None:
            raise unittest.SkipTest("there is no cmake or ninja")
        cls.build = Path(tempfile.mkdtemp(prefix="sotto-demo-"))
        cls.addClassCleanup(shutil.rmtree, cls.build)
        absent = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON"
                  for name in ("Torch", "MPI", "Python", "pybind11", "GTest")]
        done = subprocess.run(["cmake", "--preset", "demo", "-B", cls.build, *absent], cwd=ROOT,
                              capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        cls.commands = json.loads((cls.build / "compile_commands.json").read_text())

    def test_it_installs_nothing_large(self):
        for package in packages("demo_packages"):
            self.assertNotRegex(package, "torch|mpi|python|pybind|grpc|proto|httplib|gtest|blas")
        self.assertIn('"${demo_packages[@]}"', packages("build_packages"))

    def test_it_is_built_without_libtorch(self):
        links = subprocess.run(["ninja", "-t", "commands", "sotto"], cwd=self.build,
                               capture_output=True, text=True, check=True).stdout
        self.assertIn("-o sotto", links)
        self.assertNotRegex(links, "torch_module|libtorch|libmpi|grpc|protobuf|libpython")
        sources = {Path(command["file"]).relative_to(self.build if "carried" in command["file"]
                                                     else ROOT) for command in self.commands}
        for folder in ("lab/audit", "src/transport/grpc", "src/identity"):
            self.assertFalse([s for s in sources if str(s).startswith(folder)], folder)

    def test_every_header_is_of_a_package_that_is_installed(self):
        if shutil.which("dpkg") is None:
            self.skipTest("there is no dpkg")
        own = [ROOT / "include", ROOT / "src", ROOT / "lab", ROOT / "apps" / "sotto"]
        system = [Path("/usr/include"), *Path("/usr/include").glob("*-linux-gnu")]
        waiting = [Path(command["file"]) for command in self.commands]
        seen, foreign = set(waiting), set()
        while waiting:
            source = waiting.pop()
            for name in re.findall(r'^\s*#\s*include\s+[<"]([^>"]+)', source.read_text(), re.M):
                inside = [folder / name for folder in [source.parent, *own]
                          if (folder / name).is_file()]
                if inside and inside[0] not in seen:
                    seen.add(inside[0])
                    waiting.append(inside[0])
                outside = [folder / name for folder in system if (folder / name).is_file()]
                if not inside and outside:
                    foreign.add(outside[0])
        self.assertGreater(len(foreign), 10)
        owners = subprocess.run(["dpkg", "-S", *sorted(foreign)], capture_output=True, text=True)
        listed = packages("demo_packages")
        listed |= {"libboost1.74-dev"}  # what the unversioned names depend on
        for line in owners.stdout.splitlines():
            package = line.split(":")[0].split(",")[0]
            if COMPILER.search(package):
                continue
            self.assertIn(package, listed, line)


if __name__ == "__main__":
    unittest.main()
