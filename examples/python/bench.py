"""Speed of perturb() from Python beside the C++ of the same machine, in turns.

    SOTTO=build/release/sotto PYTHONPATH=build/release/python python3 examples/python/bench.py

The program's best time and Python's best time are taken in alternating turns, so that what else
the machine does hits both alike. C++ is timed without the copy into the vector that the core clips,
Python with it; the last column adds the time of such a copy to the former.
"""

import argparse
import json
import os
import subprocess
import time

import numpy as np
import sotto

SETTINGS = {
    "srr groups=2 step=1000": ("srr", dict(epsilon=5, precision=4, groups=2, step=1000)),
    "two-point": ("two-point", dict(epsilon=5)),
    "laplace": ("laplace", dict(epsilon=5)),
    "privunit": ("privunit", dict(epsilon=5, norm=1)),
}


def cpp(weights: int) -> dict:
    names = sorted({name for name, _ in SETTINGS.values()})
    chosen = [word for name in names for word in ("--mechanism", name)]
    done = subprocess.run(
        [os.environ["SOTTO"], "bench", "mechanisms", *chosen, "--weights", str(weights),
         "--seconds", "0.3", "--json"], capture_output=True, check=True)
    return {row["setting"]: row["ns_per_weight"] for row in json.loads(done.stdout)}


def python(name: str, parameters: dict, x: np.ndarray) -> float:
    mechanism = sotto.Mechanism(name, range=(0, 0.075), **parameters)
    mechanism.perturb(x)
    best, end = float("inf"), time.perf_counter() + 0.3
    while time.perf_counter() < end:
        start = time.perf_counter()
        mechanism.perturb(x)
        best = min(best, time.perf_counter() - start)
    return best * 1e9 / x.size


def copying(x: np.ndarray) -> float:
    to = x.copy()
    best = float("inf")
    for _ in range(30):
        start = time.perf_counter()
        np.copyto(to, x)
        best = min(best, time.perf_counter() - start)
    return best * 1e9 / x.size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    x = np.random.default_rng(1).uniform(-0.09, 0.09, arguments.weights).astype(np.float32)
    best_cpp, best_python, copy = {}, {}, float("inf")
    for _ in range(arguments.turns):
        told = cpp(arguments.weights)
        copy = min(copy, copying(x))
        for label, (name, parameters) in SETTINGS.items():
            best_cpp[label] = min(best_cpp.get(label, np.inf), told[label])
            best_python[label] = min(best_python.get(label, np.inf), python(name, parameters, x))
    print(f"{'mechanism':<24}{'C++ ns':>8}{'Python ns':>11}{'speed':>8}{'with the copy':>15}")
    for label in SETTINGS:
        ratio = best_cpp[label] / best_python[label]
        fair = (best_cpp[label] + copy) / best_python[label]
        print(f"{label:<24}{best_cpp[label]:>8.2f}{best_python[label]:>11.2f}{100 * ratio:>6.0f} %"
              f"{100 * fair:>13.0f} %")


if __name__ == "__main__":
    main()
