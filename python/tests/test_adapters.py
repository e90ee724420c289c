"""The adapters' modules: each needs its framework, and nothing else does."""

import importlib
import importlib.util

import pytest


@pytest.mark.parametrize("name", ["sotto.flower", "sotto.flower_server", "sotto.pfl",
                                  "sotto.nvflare"])
def test_adapters_need_their_framework_and_nothing_else_does(name):
    framework = name.split(".")[1].replace("_server", "").replace("flower", "flwr")
    if importlib.util.find_spec(framework):
        pytest.skip("the framework is installed")
    with pytest.raises(ImportError):
        importlib.import_module(name)
