"""The stubs of the compiled modules say what is in them, and every public function has types."""

import ast
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import sotto
from sotto import _core, _train

PACKAGE = Path(sotto.__file__).parent


def members(body):
    """Of a stub: functions with their number of parameters, classes and variables."""
    found = {}
    for node in body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = members(node.body)
        elif isinstance(node, ast.FunctionDef):
            is_property = any(getattr(d, "id", "") == "property" for d in node.decorator_list)
            found[node.name] = "property" if is_property else len(node.args.args)
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = "property"
    return found


def parameters_of(function):
    """As pybind11 writes them: the stars of its docstring are types, the names self and arg0..."""
    first = function.__doc__.splitlines()[0]
    return len(re.findall(r"\b(?:self|arg\d+|[a-z_]+): ", first))


@pytest.mark.parametrize("module", [_core, _train])
def test_stubs_agree(module):
    name = module.__name__.rpartition(".")[2]
    stub = members(ast.parse((PACKAGE / f"{name}.pyi").read_text(encoding="utf-8")).body)
    real = {key for key in vars(module) if not key.startswith("__")}
    assert set(stub) == real
    for key, value in stub.items():
        thing = getattr(module, key)
        if isinstance(value, dict):
            inside = {k for k in vars(thing) if not k.startswith("_") or k == "__init__"}
            inside -= {"__init__"} if issubclass(thing, Exception) or "__init__" not in value else set()
            assert set(value) == inside, key
            for method, count in value.items():
                if isinstance(count, int):
                    assert count == parameters_of(getattr(thing, method)), (key, method)
        elif isinstance(value, int):
            assert value == parameters_of(thing), key


def test_public_functions_have_types_and_say_what_they_do():
    for name in sotto.__all__:
        thing = getattr(sotto, name)
        if inspect.isfunction(thing):
            assert thing.__doc__, name
            hints = inspect.signature(thing)
            assert hints.return_annotation is not inspect.Signature.empty, name
            for parameter in hints.parameters.values():
                assert parameter.annotation is not inspect.Parameter.empty, (name, parameter)


def test_mypy_agrees(tmp_path):
    if not os.environ.get("SOTTO_MYPY") or importlib.util.find_spec("mypy") is None:
        pytest.skip("half a minute of mypy, where SOTTO_MYPY is set and mypy is installed")
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent)}
    done = subprocess.run([sys.executable, "-m", "mypy.stubtest", "--concise", "sotto._core",
                           "sotto._train"],
                          cwd=tmp_path, env=environment, capture_output=True, text=True)
    # Classes of pybind11 have a metaclass of their own, and take anything where nobody makes them.
    known = ("metaclass differs", "__init__ is inconsistent, stub does not have *args",
             "__init__ is inconsistent, stub does not have **kwargs")
    unknown = [line for line in done.stdout.splitlines()
               if line.startswith("sotto.") and not any(text in line for text in known)]
    assert not unknown and "sotto._core" in done.stdout, done.stdout + done.stderr
