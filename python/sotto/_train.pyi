"""Runs of recipes; the only module that may load LibTorch. Private: call sotto.run."""

from typing import Callable, Dict, List, Tuple

import numpy as np
from numpy.typing import NDArray

has_torch: bool

class Watched:
    on_round: Callable[[str], None]
    on_client: Callable[[int, int, int], None]
    on_prepare: Callable[[str, int, int], None]
    on_note: Callable[[str], None]

def run(text: str, place: str, settings: List[str], out: str, data: str, ledger: str, threads: int,
        resume: bool, replace: bool,
        watched: Watched) -> Tuple[str, Dict[str, NDArray[np.float32]]]: ...
