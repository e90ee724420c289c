"""Speed of perturb() from Python beside the C++ below it, call by call.

    PYTHONPATH=build/release/python python3 examples/python/bench.py

Both sides do the same job: float32 weights in, some beyond the range, which stay as they are; bounded
into memory that was used before; perturbed with bits of the system, on one thread; the report in
fresh memory. Python makes the object that is returned besides. The last column is what Python has of
the speed of a C++ program that needs its weights no more and bounds them where they lie; they were
written just before, so it finds them in the cache.

One call of each side alternates with one of the other, so that what else the machine does hits both:
the times are those of the fastest calls, the shares those of the first quartiles, which hold on a
busy machine too. `--least 90` ends with an error where Python has less than 90 % of the C++ speed.
"""

import argparse
import sys
import time

import numpy as np
import sotto

SETTINGS = {
    "srr groups=2 step=1000": ("srr", dict(epsilon=5, precision=4, groups=2, step=1000)),
    "two-point": ("two-point", dict(epsilon=5)),
    "laplace": ("laplace", dict(epsilon=5)),
    "privunit": ("privunit", dict(epsilon=5, norm=1)),
}


def times_of(mechanism: sotto.Mechanism, x: np.ndarray, calls: int, in_place: bool) -> np.ndarray:
    """Nanoseconds a weight, one call of each in a row: C++, Python."""
    core = mechanism._made_for(x.size)
    times = []
    for _ in range(calls):
        in_core = core.seconds_of_core(x, in_place)
        start = time.perf_counter()
        report = mechanism.perturb(x)
        times.append((in_core, time.perf_counter() - start))
        del report
    return np.array(times) * 1e9 / x.size


def share_of(times: np.ndarray) -> float:
    core, python = np.quantile(times, 0.25, axis=0)
    return 100 * core / python


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", type=int, default=1_000_000)
    parser.add_argument("--calls", type=int, default=300, help="of each side and mechanism")
    parser.add_argument("--least", type=float, default=0, metavar="PERCENT")
    arguments = parser.parse_args()
    x = np.random.default_rng(1).uniform(-0.09, 0.09, arguments.weights).astype(np.float32)
    print(f"{'mechanism':<24}{'C++ ns':>8}{'Python ns':>11}{'speed':>8}{'of in place':>13}")
    least = float("inf")
    for label, (name, parameters) in SETTINGS.items():
        mechanism = sotto.Mechanism(name, range=(0, 0.075), **parameters)
        times = times_of(mechanism, x, arguments.calls, False)
        share = share_of(times)
        in_place = share_of(times_of(mechanism, x, arguments.calls, True))
        fastest = times.min(axis=0)
        least = min(least, share)
        print(f"{label:<24}{fastest[0]:>8.2f}{fastest[1]:>11.2f}{share:>6.0f} %{in_place:>11.0f} %")
    if least < arguments.least:
        sys.exit(f"below {arguments.least:g} % of the C++ speed")


if __name__ == "__main__":
    main()
