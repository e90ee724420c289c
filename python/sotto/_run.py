"""Runs: a recipe in, rounds as arrays and the claims out."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Union

import numpy as np

from ._recipes import recipe_text, settings_of
from .account import Claim, claim_of

Round = Dict[str, Any]  # the keys of a line of metrics.jsonl


@dataclass(frozen=True)
class RunResult:
    """`plt.plot(result.rounds, result.accuracy)` draws it."""

    rounds: np.ndarray  # numbers of the rounds, from 1
    accuracy: np.ndarray  # on the public test set; NaN where it was not evaluated
    loss: np.ndarray
    clients: np.ndarray
    bytes_up: np.ndarray
    seconds: np.ndarray
    claims: List[Claim]
    model: Dict[str, np.ndarray]  # tensors by the names of a state_dict
    stopped: str  # "rounds", "patience" or "budget"
    record: Dict[str, Any]  # all that run.json says
    out: Optional[str]

    @property
    def final_accuracy(self) -> float:
        evaluated = self.accuracy[~np.isnan(self.accuracy)]
        return float(evaluated[-1]) if len(evaluated) else float("nan")

    @property
    def client_claim(self) -> Optional[Claim]:
        """The strongest proven claim about a client over the whole training."""
        promised = self.record["client_claim"]
        return None if promised is None else claim_of(promised)


class _Bar:
    """A line on a terminal's stderr, with the time left; silent elsewhere."""

    def __init__(self, shown: bool) -> None:
        self.shown = shown and sys.stderr.isatty()
        self.start = self.last = time.monotonic()
        self.rounds = 0
        self.text = ""

    def client(self, round: int, done: int, total: int) -> None:
        now = time.monotonic()
        if not self.shown or now - self.last < 0.1:
            return
        self.last = now
        share = (round - 1 + done / total) / max(1, self.rounds)
        left = (now - self.start) * (1 - share) / share if share > 0 else 0.0
        line = f"round {round}/{self.rounds}{self.text}, {100 * share:.0f} %, {left:.0f} s left"
        sys.stderr.write(f"\r{line:<78}")
        sys.stderr.flush()

    def clear(self) -> None:
        if self.shown:
            sys.stderr.write("\r" + " " * 78 + "\r")
            sys.stderr.flush()


def run(recipe: Union[str, "os.PathLike[str]", Dict[str, Any]], *, progress: bool = False,
        settings: Optional[Dict[str, Any]] = None,
        out: Union[str, "os.PathLike[str]", None] = None,
        data: Union[str, "os.PathLike[str]"] = "",
        ledger: Union[str, "os.PathLike[str]"] = "", threads: int = 0, resume: bool = False,
        replace: bool = False, on_round: Optional[Callable[[Round], None]] = None) -> RunResult:
    """Trains as a recipe says: a TOML file, or a dictionary with the same sections.

    The same recipe and seed give the same model as `sotto run`, bit for bit. `settings` overrides
    keys, as in {"federation.rounds": 3}. Nothing is written without `out`, the folder of the run.

    >>> import sotto
    >>> result = sotto.run({"data": {"name": "embedded"}, "model": {"name": "linear"},
    ...                     "bound": {"payload": "gradient"},
    ...                     "federation": {"clients": 200, "rounds": 2},
    ...                     "privacy": {"mechanism": "none"}})
    >>> result.rounds.tolist(), len(result.accuracy)
    ([1, 2], 2)
    """
    from . import _train

    text, place = recipe_text(recipe)
    bar = _Bar(progress)
    watched = _train.Watched()

    def round_done(line: str) -> None:
        metrics = json.loads(line)
        if metrics.get("accuracy") is not None:
            bar.text = f", accuracy {100 * metrics['accuracy']:.2f} %"
        if on_round is not None:
            on_round(metrics)

    def note(text: str) -> None:
        bar.clear()
        print(f"sotto: {text}", file=sys.stderr)

    watched.on_round = round_done
    watched.on_note = note
    if bar.shown:
        bar.rounds = _rounds_of(text, settings)
        watched.on_client = bar.client
    try:
        found, model = _train.run(text, place, settings_of(settings), os.fspath(out or ""),
                                  os.fspath(data), os.fspath(ledger), threads, resume, replace,
                                  watched)
    finally:
        bar.clear()
    record = json.loads(found)
    rounds = record["rounds"]

    def column(key: str) -> np.ndarray:
        return np.array([np.nan if r.get(key) is None else r[key] for r in rounds], dtype=float)

    return RunResult(
        rounds=column("round").astype(int), accuracy=column("accuracy"), loss=column("loss"),
        clients=column("clients").astype(int), bytes_up=column("bytes_up").astype(int),
        seconds=column("round_seconds"), claims=[claim_of(claim) for claim in record["claims"]],
        model=model, stopped=record["stopped"], record=record,
        out=None if out is None else os.fspath(out))


def _rounds_of(text: str, settings: Optional[Dict[str, Any]]) -> int:
    import re

    given = (settings or {}).get("federation.rounds")
    found = re.search(r"^\s*rounds\s*=\s*(\d+)", text, re.MULTILINE)
    return int(given if given is not None else found.group(1) if found else 10)
