"""The adapters' modules: each needs its framework, and nothing else does."""

import importlib
import importlib.util

import pytest


@pytest.mark.parametrize("name", ["sotto.flower", "sotto.flower_server", "sotto.pfl"])
def test_adapters_need_their_framework_and_nothing_else_does(name):
    if importlib.util.find_spec({"pfl": "pfl"}.get(name.split(".")[1], "flwr")):
        pytest.skip("the framework is installed")
    with pytest.raises(ImportError):
        importlib.import_module(name)
