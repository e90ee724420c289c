"""Builds the extension modules of the package with CMake; all else is in pyproject.toml.

SOTTO_CMAKE_ARGS adds options, for example "-DSOTTO_TORCH=OFF" for a package without LibTorch, which
is also what is built where CMake finds none.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent.resolve()


def version() -> str:
    text = (ROOT / "include/sotto/version.h").read_text(encoding="utf-8")
    return re.search(r'SOTTO_VERSION "([^"]+)"', text).group(1)


class CMakeBuild(build_ext):
    """One CMake build makes both modules; it puts them where setuptools looks for them."""

    def run(self) -> None:
        first = self.get_ext_fullpath(self.extensions[0].name)
        output = Path(first).resolve().parent.parent
        build = Path(self.build_temp).resolve()
        build.mkdir(parents=True, exist_ok=True)
        extra = shlex.split(os.environ.get("SOTTO_CMAKE_ARGS", ""))
        configure = [
            "cmake", "-S", str(ROOT), "-B", str(build), "-DCMAKE_BUILD_TYPE=Release",
            "-DSOTTO_PYTHON=ON", f"-DSOTTO_PYTHON_OUTPUT={output}",
            f"-DPython_EXECUTABLE={sys.executable}", "-DSOTTO_CLI=OFF", "-DSOTTO_TESTS=OFF",
            "-DSOTTO_FETCH=OFF", *(["-GNinja"] if shutil.which("ninja") else []), *extra]
        chosen = any(argument.startswith("-DSOTTO_TORCH") for argument in extra)
        if subprocess.run(configure).returncode != 0:
            if chosen:
                raise SystemExit("sotto: CMake could not configure the build; see above")
            print("sotto: trying again without LibTorch (SOTTO_TORCH=OFF)", file=sys.stderr)
            subprocess.run([*configure, "-DSOTTO_TORCH=OFF"], check=True)
        jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 1))
        subprocess.run(["cmake", "--build", str(build), "--parallel", jobs,
                        "--target", "sotto_python_core", "sotto_python_train"], check=True)


setup(
    version=version(),
    ext_modules=[Extension("sotto._core", []), Extension("sotto._train", [])],
    cmdclass={"build_ext": CMakeBuild},
)
