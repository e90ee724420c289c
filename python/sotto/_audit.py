"""Audits: a lower bound on epsilon of any randomizer, with a stated confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

import numpy as np

from . import _core
from ._arrays import values_of
from ._mechanism import Mechanism


@dataclass(frozen=True)
class AuditResult:
    """`epsilon_lower` holds with the confidence; no number of trials bounds epsilon from above."""

    epsilon_lower: float
    verdict: str  # "consistent" or "violated"
    claim: Optional[float]
    confidence: float
    delta: float
    trials: int
    learning_trials: int
    stopped_early: bool
    fpr: float
    fnr: float
    accuracy: float
    seconds: float
    events: List[Dict[str, Any]]  # what told the inputs apart, the most telling first

    @property
    def violated(self) -> bool:
        return self.verdict == "violated"


def audit(target: Union[Mechanism, Callable[[Any], Any]], claim: Optional[float] = None,
          inputs: Tuple[Any, Any] = (-1, 1), *, trials: int = 100_000, confidence: float = 0.95,
          delta: float = 0.0, batched: bool = False, batch: int = 10_000, all_trials: bool = False,
          seed: int = 1, progress: Optional[Callable[[int, int], None]] = None) -> AuditResult:
    """Attacks a randomizer: a Mechanism, or any function from an input to its output.

    The function gets one of the two `inputs` (numbers or vectors) and returns a number or a vector
    of one length. With `batched` it gets an array of many inputs at once, one in a row, and returns
    as many rows. `seed` decides the order of the inputs; the function's randomness is its own.

    >>> import numpy as np, sotto
    >>> honest = lambda x: x + np.random.laplace(0, 2 / 1.0, len(x))
    >>> sotto.audit(honest, claim=1.0, inputs=(-1, 1), batched=True, trials=20_000).verdict
    'consistent'
    >>> broken = lambda x: x + np.random.laplace(0, 2 / 4.0, len(x))
    >>> sotto.audit(broken, claim=1.0, inputs=(-1, 1), batched=True, trials=20_000).verdict
    'violated'
    """
    if isinstance(target, Mechanism):
        if batched:
            raise ValueError("batched: is for functions")
        size = _core.audit_weights if target.kind == "value" else 1000
        plan = _core.AuditPlan(trials, confidence, delta, claim, all_trials, seed, progress)
        made = target._made_for(size)
        found = _core.audit_mechanism(made, plan)
        if claim is None:
            claim = made.guarantee()["claimed_epsilon"]
    else:
        zero, one = (values_of(np.asarray(x, dtype=np.float64)).ravel().tolist() for x in inputs)
        plan = _core.AuditPlan(trials, confidence, delta, claim, all_trials, seed, progress)
        draw = target if batched else _one_by_one(target)
        found = _core.audit_function(lambda rows: np.asarray(draw(rows), dtype=np.float64), zero,
                                     one, plan, batch)
    return AuditResult(claim=claim, confidence=confidence, delta=delta, **found)


def _one_by_one(function: Callable[[Any], Any]) -> Callable[[np.ndarray], np.ndarray]:
    def draw(rows: np.ndarray) -> np.ndarray:
        inputs = rows.tolist() if rows.ndim == 1 else rows
        return np.stack([values_of(function(x)).astype(np.float64).ravel() for x in inputs])

    return draw
