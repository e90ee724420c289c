"""Mechanisms and the reports that they draw.

A `Report` is made only by `Mechanism.perturb` (or read from the bytes of one): it is the one thing
here that turns into bytes to send. Values that were not perturbed have no way there.
"""

from __future__ import annotations

import math
import warnings
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterable, Optional, Sequence, Tuple, Union

import numpy as np

from . import _core
from ._arrays import Form, form_of, values_of

if TYPE_CHECKING:
    from ._ledger import Ledger

_MOST_KEPT = 16  # compiled mechanisms of one Mechanism, by what they are made for


@dataclass(frozen=True)
class Guarantee:
    """What one whole report guarantees; epsilons are exact and rounded up."""

    epsilon: float
    delta: float
    statement: str
    unit: str  # "weight", "vector" or "report": what the next two speak of
    unit_epsilon: float
    claimed_epsilon: float
    units: int  # that a report has


@dataclass(frozen=True)
class Moments:
    """Of the decoded value of one report, over the mechanism's randomness."""

    mean: np.ndarray
    bias: np.ndarray
    variance: np.ndarray


@dataclass(frozen=True)
class Tensor:
    """A part of a report with a range of its own: `range` is centre and radius."""

    name: str
    shape: Tuple[int, ...]
    range: Tuple[float, float]
    buffer: bool = False

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class Report:
    """What a mechanism drew: safe to send, at the price of its guarantee.

    >>> import sotto
    >>> report = sotto.Mechanism("two-point", epsilon=1).perturb([0.5, -0.5])
    >>> sorted(set(report.symbols.tolist()) | {0, 1})
    [0, 1]
    >>> isinstance(report.to_bytes(), bytes)
    True
    """

    __slots__ = ("_envelope", "_made", "_form", "_charge")

    def __init__(self, envelope: Any, made: Any, form: Form, charge: Any = None) -> None:
        if not isinstance(envelope, _core.Envelope):
            raise TypeError("a Report comes from Mechanism.perturb or Mechanism.read")
        self._envelope = envelope
        self._made = made
        self._form = form
        self._charge = charge

    @property
    def mechanism_id(self) -> str:
        return self._envelope.mechanism_id

    @property
    def round(self) -> int:
        return self._envelope.round

    @property
    def symbols(self) -> np.ndarray:
        """The integers that travel; read-only, and the very memory where NumPy has the type."""
        return self._envelope.symbols

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(**self._made.guarantee())

    def decode(self) -> Any:
        """What this report alone is taken for, in the shape and type of the input."""
        made = self._made
        values = (made.decode64 if self._form.wide else made.decode32)(self._envelope)
        return self._form.dress(values, _output_shape(self._form, made.outputs))

    def to_bytes(self) -> bytes:
        """The message to send: its size depends on the mechanism and the shape alone."""
        return self._envelope.serialize()

    def __repr__(self) -> str:
        return f"<sotto.Report of {self.mechanism_id}, shape {self._form.shape}>"


class Mechanism:
    """A mechanism by name; `sotto.mechanisms()` lists them with their parameters.

    `range` is centre and radius: values are clipped to centre ± radius, NaN and infinities become
    the centre. Vector and bit mechanisms have no use for it.

    >>> import numpy as np, sotto
    >>> mechanism = sotto.Mechanism("srr", epsilon=5, range=(0, 0.075), precision=4)
    >>> x = np.full((2, 3), 0.05)
    >>> mechanism.perturb(x).decode().shape
    (2, 3)
    >>> mechanism.guarantee().unit
    'weight'
    >>> sotto.Mechanism("sr", epsilon=5)
    Traceback (most recent call last):
        ...
    ValueError: unknown mechanism 'sr'; did you mean 'srr'?...
    """

    def __init__(self, name: str, *, range: Tuple[float, float] = (0.0, 1.0),
                 **parameters: float) -> None:
        info = _core.find_mechanism(name)
        self.name = name
        self.kind: str = info["kind"]
        self.range = (float(range[0]), float(range[1]))
        self.parameters = {key: float(value) for key, value in parameters.items()}
        self._kept: "OrderedDict[Any, Any]" = OrderedDict()
        if self.kind == "value":
            self._made_for(1)  # errors in the parameters are raised at once

    def __repr__(self) -> str:
        shown = "".join(f", {key}={value:g}" for key, value in self.parameters.items())
        return f"sotto.Mechanism({self.name!r}, range={self.range}{shown})"

    def __reduce__(self) -> Any:
        return (_again, (self.name, self.range, self.parameters))

    # --- what it promises

    def guarantee(self, size: Optional[int] = None) -> Guarantee:
        """Of one report of `size` values. Vector and bit mechanisms need to be told the size."""
        return Guarantee(**self._made_for(self._size(size)).guarantee())

    def id(self, size: Optional[int] = None) -> str:
        """Name, version and a digest of all that decides the distribution of a report of `size` values."""
        return self._made_for(self._size(size)).id

    def moments(self, x: Any) -> Moments:
        """Mean, bias and variance of every decoded value of a report on `x`.

        >>> import sotto
        >>> sotto.Mechanism("two-point", epsilon=1).moments([0.25]).mean.round(6)
        array([0.25])
        """
        form = form_of(x)
        made = self._made_for(_some(form))
        shape = _output_shape(form, made.outputs)
        return Moments(*(row.reshape(shape) for row in made.moments(values_of(x))))

    def log_prob(self, report: Union[Report, np.ndarray], x: Any) -> float:
        """ln P(report | x), from the integers that the sampler compares with.

        Of vector mechanisms: up to a term that does not depend on x.
        """
        symbols = report.symbols if isinstance(report, Report) else np.asarray(report)
        made = self._made_for(_some(form_of(x)))
        if isinstance(report, Report) and report.mechanism_id != made.id:
            raise ValueError(f"a report of {report.mechanism_id}; valid: one of {made.id}")
        return made.log_prob(symbols.ravel(), values_of(x))

    # --- the only door

    def perturb(self, x: Any, *, ledger: "Optional[Ledger]" = None, round: Optional[int] = None,
                seed: Optional[int] = None, threads: int = 1,
                tensors: Optional[Sequence[Tensor]] = None) -> Report:
        """Draws a report of `x`, an array or tensor of any shape: all of it is one report.

        With a ledger the report is charged before `x` is read, and bound to the charge before it
        is returned; a round that was charged before returns the report that was drawn then.
        `tensors` says what `x` (of one dimension) consists of, where ranges differ.
        `seed` makes the report reproducible and therefore NOT private: for tests only.
        """
        form = form_of(x)
        made = self._made_for(_some(form), tensors)
        if ledger is not None:
            if seed is not None:
                raise ValueError("seed: a reproducible report is not private; a ledger takes none")
            return self._perturb_charged(x, form, made, ledger, round, threads)
        if seed is not None:
            warnings.warn(f"seed={seed}: this output is reproducible and therefore NOT private; "
                          "use it for tests only", stacklevel=2)
        return Report(made.perturb(values_of(x), seed, threads, round or 0), made, form)

    def _perturb_charged(self, x: Any, form: Form, made: Any, ledger: "Ledger",
                         round: Optional[int], threads: int) -> Report:
        if round is None:
            raise ValueError("round: a ledger charges by round; give its number")
        charge = ledger._charge(made, round)
        if charge.state != "charged":
            envelope = _core.Envelope.parse(ledger._report(charge))
            return Report(envelope, made, form, charge)
        envelope = made.perturb(values_of(x), None, threads, round)
        ledger._bind(charge, envelope.serialize())
        return Report(envelope, made, form, charge)

    # --- the receiver's side

    def read(self, data: bytes, shape: Union[int, Tuple[int, ...]]) -> Report:
        """The report in a message; `shape` is that of what it was drawn from."""
        form = Form((shape,) if isinstance(shape, int) else tuple(shape), np.dtype(np.float32))
        made = self._made_for(_some(form))
        envelope = _core.Envelope.parse(data)
        if envelope.mechanism_id != made.id:
            raise ValueError(f"a report of {envelope.mechanism_id}; valid: one of {made.id}")
        return Report(envelope, made, form)

    def decode(self, reports: Union[Report, Iterable[Report]]) -> Any:
        """The mean of what reports of one round say, from integer sums: exact in any order.

        >>> import numpy as np, sotto
        >>> mechanism = sotto.Mechanism("two-point", epsilon=2)
        >>> mean = mechanism.decode(mechanism.perturb(np.full(4, 0.5)) for _ in range(2000))
        >>> bool(np.all(abs(mean - 0.5) < 0.5))
        True
        """
        if isinstance(reports, Report):
            return reports.decode()
        aggregator, first = None, None
        for report in reports:
            if first is None:
                first = report
                aggregator = _core.Aggregator(report._made, report.round)
            aggregator.accept(report._envelope)
        if first is None or aggregator is None:
            raise ValueError("decode: there is no report")
        mean, _ = aggregator.release()
        return first._form.dress(mean, _output_shape(first._form, len(mean)))

    # --- compiled mechanisms, by what they are made for

    def _size(self, size: Optional[int]) -> int:
        if size is None and self.kind != "value":
            raise ValueError(f"size: {self.name} is made for inputs of one size; give it")
        return 1 if size is None else int(size)

    def _made_for(self, size: int, tensors: Optional[Sequence[Tensor]] = None) -> Any:
        key = size if tensors is None else tuple(tensors)
        made = self._kept.get(key)
        if made is None:
            if tensors is None:
                tensors = [Tensor("input", (size,), self.range)]
            elif sum(tensor.size for tensor in tensors) != size:
                raise ValueError(f"tensors: {sum(t.size for t in tensors)} values in all; "
                                 f"valid: {size}, as many as the array has")
            made = _core.Made(self.name, self.parameters, [
                _core.Tensor(t.name, list(t.shape), t.buffer, *t.range) for t in tensors])
            self._kept[key] = made
        self._kept.move_to_end(key)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return made


def _again(name: str, range: Tuple[float, float], parameters: Any) -> Mechanism:
    return Mechanism(name, range=range, **parameters)


def _some(form: Form) -> int:
    if form.size == 0:
        raise ValueError("an array without values: there is nothing to report")
    return form.size


def _output_shape(form: Form, outputs: int) -> Tuple[int, ...]:
    """The input's shape; one dimension more where each value has several outputs; else flat."""
    if outputs == form.size:
        return form.shape
    return (*form.shape, outputs // form.size) if outputs % form.size == 0 else (outputs,)
