"""Recipes: TOML files, or dictionaries with the same sections."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Optional, Tuple, Union


def toml_value(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, str)):
        # JSON's strings are TOML's; so are numbers, infinities and NaN as repr() writes them.
        return json.dumps(value) if isinstance(value, str) else repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    if hasattr(value, "item"):  # a NumPy scalar
        return toml_value(value.item())
    raise ValueError(f"a recipe holds text, numbers, booleans and lists, not {type(value).__name__}")


def to_toml(sections: Dict[str, Any]) -> str:
    """
    >>> print(to_toml({"data": {"name": "embedded"}, "tensor": [{"match": "*", "radius": 1}]}))
    [data]
    name = "embedded"
    [[tensor]]
    match = "*"
    radius = 1
    """
    lines: List[str] = []
    for name, section in sections.items():
        many = isinstance(section, (list, tuple))
        for table in section if many else [section]:
            if not isinstance(table, dict):
                raise ValueError(f"recipe: '{name}' must be a section with keys")
            lines.append(f"[[{name}]]" if many else f"[{name}]")
            lines += [f"{key} = {toml_value(value)}" for key, value in table.items()]
    return "\n".join(lines)


def recipe_text(source: Union[str, "os.PathLike[str]", Dict[str, Any]]) -> Tuple[str, str]:
    """The TOML of a recipe and the place that errors name."""
    if isinstance(source, dict):
        return to_toml(source), "recipe"
    path = os.fspath(source)
    with open(path, encoding="utf-8") as file:
        return file.read(), path


def settings_of(settings: Optional[Dict[str, Any]]) -> List[str]:
    """{"train.lr": 0.05} as --set takes it."""
    return [f"{key}={toml_value(value)}" for key, value in (settings or {}).items()]
