"""Every example in a docstring runs."""

import doctest
import importlib
import pkgutil

import pytest
import sotto

OTHERS = {"sotto.flower": "flwr", "sotto.flower_server": "flwr", "sotto._flower_messages": "flwr",
          "sotto.nvflare": "nvflare", "sotto.pfl": "pfl", "sotto.torch": "torch"}
NAMES = ["sotto", *(f"sotto.{module.name}" for module in pkgutil.iter_modules(sotto.__path__)
                    if module.name not in ("_core", "_train"))]


@pytest.mark.parametrize("name", NAMES)
def test_examples(name):
    if name in OTHERS:
        pytest.importorskip(OTHERS[name])
    found = doctest.testmod(importlib.import_module(name),
                            optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    assert found.failed == 0
