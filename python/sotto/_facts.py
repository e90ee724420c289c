"""What is known of mechanisms: the list, `verify` and `tune`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple, Union

import numpy as np

from . import _core
from ._arrays import values_of
from ._mechanism import Mechanism


@dataclass(frozen=True)
class ParameterInfo:
    name: str
    valid: str
    required: bool
    preset: Optional[float]
    integer: bool
    meaning: str


@dataclass(frozen=True)
class MechanismInfo:
    name: str
    kind: str  # "value", "vector" or "bits"
    summary: str
    input: str
    output: str
    guarantee: str
    bias: str
    reference: str
    parameters: Tuple[ParameterInfo, ...]


@dataclass(frozen=True)
class Verification:
    """What a mechanism's own integers say; keys as in `sotto verify --json`."""

    mechanism: str
    mechanism_id: str
    parameters: Dict[str, float]
    unit: str
    claimed_epsilon: float
    exact_epsilon: float
    report_epsilon: float
    outputs: int
    delta: float
    holds: bool
    statement: str
    worst: Dict[str, str]
    worst_case_variance: float
    max_bias: float
    checked_inputs: int
    sums_to_one: bool
    worst_expected_l1: Optional[float]
    squared_error: Optional[float]
    inputs: List[Dict[str, Any]]


@dataclass(frozen=True)
class Errors:
    """Squared errors of one weight, in its unit."""

    mse: float  # over the inputs that were asked for
    rmse: float  # its root
    worst_mse: float
    centre_mse: float


@dataclass(frozen=True)
class Setting(Errors):
    """A setting of srr, and what it costs."""

    groups: int
    step: float
    edge_mean: float  # where an input at c + r comes back on average, in radii from c
    worst_l1: float  # the largest expected |error|
    l1_within_radius: bool  # Theorem 5.2 of SRR-FL


@dataclass(frozen=True)
class Tuned(Setting):
    """The setting of srr with the least mean squared error; keys as in `sotto tune srr --json`."""

    exact_epsilon: float
    mechanism: Mechanism
    paper: Optional[Setting]  # the published setting; None where it is not valid on this grid
    optimal: Optional[Errors]  # the mechanism `optimal`, which is unbiased

    @property
    def ratio(self) -> Optional[float]:
        """How many times the mean squared error the published setting has."""
        return None if self.paper is None else self.paper.mse / self.mse


def mechanisms() -> List[MechanismInfo]:
    """Every mechanism, with its parameters.

    >>> import sotto
    >>> [m.name for m in sotto.mechanisms()][:3]
    ['two-point', 'srr', 'grr']
    """
    all = _core.mechanisms()
    for info in all:
        info["parameters"] = tuple(ParameterInfo(**one) for one in info["parameters"])
    return [MechanismInfo(**info) for info in all]


def verify(mechanism: Union[str, Mechanism], *, range: Tuple[float, float] = (0.0, 1.0),
           dimension: int = 1000, bits: Optional[int] = None, inputs: int = 11,
           **parameters: float) -> Verification:
    """The exact epsilon of a mechanism beside the claimed one, its bias and variance.

    >>> import sotto
    >>> found = sotto.verify("two-point", epsilon=1)
    >>> found.holds, found.sums_to_one
    (True, True)
    """
    if isinstance(mechanism, str):
        mechanism = Mechanism(mechanism, range=range, **parameters)
    elif parameters:
        raise ValueError(f"{', '.join(parameters)}: the mechanism has its parameters already")
    size = 1
    if mechanism.kind == "vector":
        size = dimension
    elif mechanism.kind == "bits":
        size = _bit_inputs(mechanism.parameters, bits)
    return Verification(**_core.verify(mechanism.name, mechanism.parameters, size,
                                       *mechanism.range, inputs))


def _bit_inputs(parameters: Dict[str, float], bits: Optional[int]) -> int:
    """As many values as make `bits` bits: bits themselves, or features of several bits each."""
    each = _core.bits_of_feature(parameters)
    label = 1 if _core.classes_of(parameters) else 0
    if each == 0:
        return (10 if bits is None else bits) + label
    if bits is not None and bits % each:
        raise ValueError(f"bits={bits}: must be a multiple of {each}, the bits of a feature")
    return (each if bits is None else bits) // each + label


def tune(*, epsilon: float, range: Tuple[float, float], precision: float = 4,
         inputs: Union[str, float, np.ndarray] = "worst") -> Tuned:
    """The groups and step with which srr has the least mean squared error.

    `inputs` is what the error is averaged over: "worst", "uniform", the deviation of a normal distribution
    around the centre, or an array of values.

    >>> import sotto
    >>> best = sotto.tune(epsilon=5, range=(0, 0.075))
    >>> best.groups, best.exact_epsilon <= 5
    (2, True)
    >>> best.mse <= best.paper.mse and best.ratio >= 1
    True
    """
    chosen: Union[str, float, List[float]]
    if isinstance(inputs, str):
        chosen = inputs
        if inputs not in ("worst", "uniform"):
            raise ValueError(f"inputs '{inputs}'; valid: worst, uniform, a deviation above 0 or an "
                             "array of values")
    elif np.ndim(inputs) == 0:
        chosen = float(inputs)
        if not (np.isfinite(chosen) and chosen > 0):
            raise ValueError(f"inputs {inputs}; valid: a deviation above 0")
    else:
        values = values_of(inputs).ravel()
        if values.size == 0:
            raise ValueError("inputs: has no values")
        chosen = values.tolist()
    found = _core.tune(float(epsilon), float(range[0]), float(range[1]), float(precision), chosen)
    mechanism = Mechanism("srr", range=range, epsilon=epsilon, precision=precision,
                          groups=found["groups"], step=found["step"])
    paper, optimal = found.pop("paper"), found.pop("optimal")
    return Tuned(mechanism=mechanism, paper=None if paper is None else Setting(**paper),
                 optimal=None if optimal is None else Errors(**optimal), **found)
