"""Stand-ins for frameworks that are not installed: modules made of what a test gives them."""

import importlib
import sys
import types


def module(monkeypatch, name, **members):
    made = types.ModuleType(name)
    made.__dict__.update(members)
    monkeypatch.setitem(sys.modules, name, made)
    parent, _, child = name.rpartition(".")
    if parent:
        monkeypatch.setattr(sys.modules[parent], child, made, raising=False)
    return made


def fresh(monkeypatch, name):
    monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module(name)


def hide(monkeypatch, name):
    """Where the framework is installed and was imported: none of its parts may be found."""
    for found in list(sys.modules):
        if found == name or found.startswith(name + "."):
            monkeypatch.delitem(sys.modules, found)


def forget(*names):
    """Modules of the package that were imported with stand-ins: the next import makes them anew."""
    for name in names:
        sys.modules.pop(name, None)
        parent, _, child = name.rpartition(".")
        if hasattr(sys.modules[parent], child):
            delattr(sys.modules[parent], child)
