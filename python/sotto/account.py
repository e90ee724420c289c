"""What reports cost together: composition, shuffling, plans, recipes, certificates.

All arithmetic rounds outward: an epsilon that is returned is never below the truth of its model.

>>> from sotto import account
>>> best = account.best(account.compose(epsilon0=1, count=100, delta=1e-6))
>>> best.name, best.epsilon < 100
('optimal', True)
>>> loss = account.PrivacyLoss.gaussian(ratio=0.1).times(10)
>>> 0 < loss.epsilon(delta=1e-6) < 3
True
"""

from __future__ import annotations

import decimal
import json
import os
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Tuple, Union

from . import _core
from ._core import PrivacyLoss
from ._mechanism import Mechanism
from ._recipes import recipe_text, settings_of

__all__ = ["Bound", "Certificate", "Claim", "Plan", "PrivacyLoss", "best", "certificate", "claims",
           "compose", "loss", "plan", "recipe", "shuffle", "text"]

VACUOUS = 50.0  # e^50 protects nobody


@dataclass(frozen=True)
class Bound:
    """An answer by one theorem; `epsilon` is None where it does not apply, `reason` says why."""

    name: str
    epsilon: Optional[float]
    delta: float
    theorem: str
    assumption: str
    reason: str
    upper: bool  # False: a value that no valid bound can be below


@dataclass(frozen=True)
class Claim:
    """What may be said of a client's privacy, in `scope`.

    The scope in words is for people; to choose among claims, compare what it is made of:
    `unit` ("client", "participation", "record", "weight", ...), `period` ("round", "training"), `view` ("reports",
    "shuffler", "secret-sampling", "delays", "sum"), `colluders` ("none", "tenth", "half") and
    `status` ("proven", "published", "measured", "violated").
    """

    scope: str
    epsilon: float
    delta: float
    theorem: str
    assumption: str
    source: str
    unit: str
    period: str
    view: str
    colluders: str
    status: str

    @property
    def vacuous(self) -> bool:
        return not self.epsilon <= VACUOUS


@dataclass(frozen=True)
class Plan:
    """The value that meets the target, its price, and the next value, which misses it."""

    possible: bool
    value: float
    price: Bound
    next: Optional[float]
    next_price: Optional[Bound]


@dataclass(frozen=True)
class Certificate:
    """What a certificate says, derived again from its own numbers."""

    holds: bool
    claims: List[Claim]
    findings: List[Dict[str, Any]]
    public_key: str
    signer_known: bool
    mechanism_ids: List[str]
    #: Whose coins hid the clients, by the signer's word.
    coins: str = "not said"
    #: False for a simulation's or a rehearsal's: it describes a plan, protects nobody.
    protects: bool = False


def best(bounds: Iterable[Bound]) -> Optional[Bound]:
    """The valid upper bound with the least epsilon."""
    valid = [bound for bound in bounds if bound.upper and bound.epsilon is not None]
    return min(valid, key=lambda bound: bound.epsilon or 0.0) if valid else None


def text(epsilon: float, digits: int = 4, *, lower: bool = False) -> str:
    """An epsilon or delta for people, rounded up, so that it never looks better than it is.

    Of a lower bound (`lower`), as audits find it: rounded down.

    >>> text(0.47513), text(1 / 3, 2), text(3.4999, 2, lower=True)
    ('0.4752', '0.34', '3.4')
    """
    rounding = decimal.ROUND_FLOOR if lower else decimal.ROUND_CEILING
    context = decimal.Context(prec=digits, rounding=rounding)
    return f"{float(context.create_decimal(repr(float(epsilon)))):.{digits}g}"


def _within(name: str, value: float, low: float, high: float, open_ends: bool = False) -> None:
    if not (low < value < high if open_ends else low <= value <= high):
        ends = "()" if open_ends else "[]"
        raise ValueError(f"{name} = {value:g}; valid: a number in "
                         f"{ends[0]}{low:g}, {high:g}{ends[1]}")


def compose(epsilon0: float, count: int, delta: float = 1e-6) -> List[Bound]:
    """`count` releases with epsilon0 each, by every theorem that is known."""
    _within("epsilon0", epsilon0, 0, 1000)
    _within("count", count, 1, 1e12)
    _within("delta", delta, 0, 1, open_ends=True)
    return [Bound(**bound) for bound in _core.compose(epsilon0, count, delta)]


def shuffle(epsilon0: Optional[float] = None, *, clients: int, delta: float = 1e-6, count: int = 1,
            sampling: float = 1.0, chunks: int = 1, mechanism: Optional[Mechanism] = None,
            size: Optional[int] = None) -> List[Bound]:
    """What batches behind a shuffler give away, by every theorem that is known.

    With a mechanism (and the `size` of what a client puts into a batch) instead of epsilon0, its
    own distribution is used, which hides better than the generic bound says.

    >>> from sotto import account
    >>> account.best(account.shuffle(1, clients=10_000)).epsilon < 0.1
    True
    """
    _within("clients", clients, 1, 1e9)
    _within("delta", delta, 0, 1, open_ends=True)
    _within("sampling", sampling, 1e-12, 1)
    _within("count", count, 1, 1e12)
    _within("chunks", chunks, 1, count)
    if (epsilon0 is None) == (mechanism is None):
        raise ValueError("shuffle: give either epsilon0 or a mechanism")
    made = None
    if mechanism is not None:
        made = mechanism._made_for(mechanism._size(size))
    each = epsilon0 or 0.0
    _within("epsilon0", each, 0, 1000)
    return [Bound(**bound) for bound in _core.shuffle(each, clients, delta, count, sampling,
                                                      chunks, made)]


def plan(target_epsilon: float, *, epsilon0: Optional[float] = None, rounds: Optional[int] = None,
         clients: Optional[int] = None, split: Optional[int] = None, weights: int = 1,
         sampling: float = 1.0, delta: float = 1e-6, local: bool = False) -> Plan:
    """Works backwards to the one number that is not given.

    >>> from sotto import account
    >>> found = account.plan(8, clients=60_000, rounds=100)
    >>> found.possible, found.price.epsilon <= 8
    (True, True)
    """
    if split is None and (weights == 1 or local):
        split = 1
    if clients is None and local:
        clients = 1
    given: Dict[str, Any] = {"epsilon0": epsilon0, "split": split, "rounds": rounds,
                             "clients": clients}
    missing = [name for name, value in given.items() if value is None]
    if len(missing) != 1:
        raise ValueError(f"plan: leave out the one number that is to be found, of "
                         f"{', '.join(given)}; missing now: {', '.join(missing) or 'none'}")
    _within("target_epsilon", target_epsilon, 0, 1e6)
    _within("delta", delta, 0, 1, open_ends=True)
    _within("sampling", sampling, 1e-12, 1)
    for name in ("split", "rounds", "clients"):
        if given[name] is not None:
            _within(name, given[name], 1, 1e9)
    _within("split", split or 1, 1, weights)
    training = _core.Training(epsilon0 or 0.0, weights, split or 1, rounds or 1, clients or 1,
                              local, sampling, delta)
    found = _core.plan(missing[0], target_epsilon, training)
    following = found["next_price"]
    found["price"] = Bound(**found["price"])
    found["next_price"] = None if following is None else Bound(**following)
    return Plan(**found)


def loss(mechanism: Mechanism, size: Optional[int] = None) -> PrivacyLoss:
    """The privacy loss of one report of `size` values."""
    return PrivacyLoss.of(mechanism._made_for(mechanism._size(size)))


def claims(mechanism: Mechanism, *, size: Optional[int] = None, rounds: int = 1, clients: int = 0,
           shuffled: bool = False, split: int = 0, delta: float = 1e-6,
           honest: float = 1.0) -> List[Claim]:
    """All that may be said of a client that sends such a report in each of `rounds` rounds.

    `honest` is the share of a batch's other members who keep their coins secret.

    >>> import sotto
    >>> m = sotto.Mechanism("two-point", epsilon=1)
    >>> [c.epsilon for c in sotto.account.claims(m, size=100, rounds=10)][-1] <= 1000
    True
    """
    made = mechanism._made_for(mechanism._size(size))
    _within("honest", honest, 0, 1)
    return [Claim(**claim) for claim in _core.claims(made, rounds, clients, shuffled, split, delta,
                                                     honest)]


def recipe(source: Union[str, "os.PathLike[str]", Dict[str, Any]], *,
           settings: Optional[Dict[str, Any]] = None, data: str = "") -> Tuple[List[Claim], Dict]:
    """The claims of a recipe before any training, and all that `sotto account --json` says."""
    text, place = recipe_text(source)
    record = json.loads(_core.plan_recipe(text, place, settings_of(settings), data))
    return [claim_of(claim) for claim in record["claims"]], record


def claim_of(record: Dict[str, Any]) -> Claim:
    """From JSON, where null stands for infinity."""
    epsilon = float("inf") if record["epsilon"] is None else record["epsilon"]
    return Claim(record["scope"], epsilon, record["delta"], record["theorem"],
                 record["assumption"], record["source"], record["unit"], record["period"],
                 record["view"], record["colluders"], record["status"])


def certificate(path: Union[str, "os.PathLike[str]"],
                public_key: Optional[str] = None) -> Certificate:
    """Checks a run's certificate; `public_key` (hexadecimal) is the signer that is expected."""
    with open(path, encoding="utf-8") as file:
        found = _core.check_certificate(file.read(), public_key)
    found["claims"] = [Claim(**claim) for claim in found["claims"]]
    return Certificate(**found)
