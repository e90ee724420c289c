"""Data sets as arrays."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import List, Optional, Union

import numpy as np

from . import _core


@dataclass(frozen=True)
class Data:
    """Samples `x` of shape (count, channels, height, width), as they were stored, and labels `y`."""

    x: np.ndarray
    y: np.ndarray
    classes: int
    class_names: List[str]
    users: Optional[np.ndarray]  # whose sample each one is, where the set knows

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class Split:
    name: str
    train: Data
    test: Data


def load_data(source: str = "embedded", *, labels: str = "", test: str = "", test_labels: str = "",
              test_fraction: float = 0.1, seed: int = 0,
              folder: Union[str, "os.PathLike[str]"] = "") -> Split:
    """A set by name (`sotto data list`), or a file: IDX, CSV, NPY, NPZ, .mat, LEAF, CIFAR, images.

    Known sets lie in `folder`; default $SOTTO_DATA, then the cache. "embedded" is generated.

    >>> import sotto
    >>> data = sotto.load_data("embedded")
    >>> data.train.x.shape, data.test.y.shape, data.train.classes
    ((12000, 1, 28, 28), (2000,), 10)
    """
    if not 0 < test_fraction < 1:
        raise ValueError(f"test_fraction = {test_fraction:g}; valid: a number in (0, 1)")
    found = _core.load_data(os.fspath(source), labels, test, test_labels, test_fraction, seed,
                            os.fspath(folder))
    return Split(found["name"], Data(**found["train"]), Data(**found["test"]))
