#!/usr/bin/env python3
"""Draws docs/images/client-level.svg from the figures that docs/research/results.md and ldpfl.md own.

    docs/picture.py            writes it
    docs/picture.py --check    writes nothing; exit code 1 where the picture is not that of the figures

A line that says `<!-- owns NAME -->` is found by its name (tests/e2e/lab/test_figures.py says how marks are used).
`sotto reproduce client-level` draws the same from runs.
"""

import math
import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
PICTURE = DOCS / "images" / "client-level.svg"
OWNERS = [DOCS / "research" / name for name in ("results.md", "ldpfl.md")]

OURS = [
    ("MNIST, 1 sample a client (ours)", "#0072b2",
     [("client-mnist-0.5", 0.4995), ("client-mnist-1", 0.9942), ("client-mnist-2", 1.987)]),
    ("Fashion-MNIST, 1 sample a client (ours)", "#d55e00", [("client-fmnist-1", 0.9942), ("client-fmnist-3", 2.991)]),
    ("CIFAR-10 as JPEG, 1 sample a client (ours)", "#009e73", [("client-cifar-1", 0.9969), ("client-cifar-3", 2.998)]),
]
# Published: a trusted curator's DP-SGD on scattering features (Tramer and Boneh 2021), add/remove, delta 1e-5.
CENTRAL = (3.0, [(98.7, "#0072b2"), (89.7, "#d55e00"), (67.0, "#009e73")])
INFINITE = math.inf
# Name, words, epsilon of a client as printed on the owner's line, where the words stand.
SYSTEMS = [
    ("srr-mnist-5", "SRR-FL, MNIST: 600 samples, 5 implied", "1,012,500", "right"),
    ("ldp-fl-adaptive-1", "LDP-FL, MNIST, adaptive ranges: 600 samples, 1 implied", "96,592", "right"),
    ("cldp-no-momentum-10", "alpha-CLDP-Fed, Fashion-MNIST: 1,200 samples, alpha = 1", "3,267,509,029", "left"),
    ("ldpfl-mnist", "LDPFL, MNIST: 30,000 samples, 0.5 claimed", "infinite", "below"),
    ("srr-mnist-free", "noise-free, MNIST: 600 samples", "infinite", "left"),
]

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 960, 600, 70, 930, 120, 530
LOW, HIGH = 40.0, 100.0


def owned():
    found = {}
    for page in OWNERS:
        for line in page.read_text().splitlines():
            for names in re.findall(r"<!-- owns ([^>]*?) -->", line):
                figures = re.findall(r"(\d{1,2}\.\d{2})( ± \d+\.\d+)?(?=[ ,])", line)
                with_deviation = [mean for mean, deviation in figures if deviation]
                for name in names.split():
                    found[name] = (float((with_deviation or [figures[0][0]])[0]), line)
    return found


def x_of(epsilon):
    if epsilon == INFINITE:
        return RIGHT - 20
    return LEFT + (math.log10(epsilon) + 1.0) / 12.0 * (RIGHT - 70 - LEFT)


def y_of(accuracy):
    return BOTTOM - (accuracy - LOW) / (HIGH - LOW) * (BOTTOM - TOP)


def text(x, y, words, anchor="start", size=14, extra=""):
    words = words.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{extra}>{words}</text>'


def draw():
    figures = owned()
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
             text(20, 28, "Accuracy at the epsilon of a client, and how many samples a client holds", size=18,
                  extra=' font-weight="bold"')]
    for i, (name, colour, _) in enumerate(OURS):
        parts += [f'<circle cx="28" cy="{46 + 18 * i}" r="5" fill="{colour}"/>', text(42, 51 + 18 * i, name)]
    parts += ['<path d="M 442 41 l 6 10 l -12 0 z" fill="#aa4499"/>',
              text(456, 51, "systems of the papers, repeated here, at their exact epsilon")]
    parts += ['<path d="M 442 59 l 5 5 l -5 5 l -5 -5 z" fill="none" stroke="#333333" stroke-width="2"/>',
              text(456, 69, "published, with a trusted curator: epsilon 3, add/remove, delta 1e-5")]
    for percent in range(40, 101, 10):
        y = y_of(percent)
        parts += [f'<path d="M {LEFT} {y:.1f} H {RIGHT}" stroke="#d8dee4"/>',
                  text(LEFT - 8, y + 5, f"{percent} %", "end")]
    for power, words in [(-1, "0.1"), (1, "10"), (3, "1,000"), (5, "10⁵"), (7, "10⁷"), (9, "10⁹"), (11, "10¹¹")]:
        parts.append(text(x_of(10.0**power), BOTTOM + 22, words, "middle"))
    parts += [text(x_of(INFINITE), BOTTOM + 22, "infinite", "middle"),
              text((LEFT + RIGHT) / 2, BOTTOM + 50,
                   "epsilon of a client over the whole training, delta 1e-6 (smaller is more private)", "middle")]
    vacuous = x_of(50)
    parts += [f'<path d="M {vacuous:.1f} {TOP} V {BOTTOM}" stroke="#777777" stroke-dasharray="5 4"/>',
              text(vacuous + 8, BOTTOM - 10, "vacuous: protects nobody", extra=' font-style="italic"')]
    for _, colour, points in OURS:
        places = []
        for name, epsilon in points:
            mean, line = figures[name]
            written = [float(cell) for cell in re.findall(r"\| (\d+\.\d+|\d+) \|", line)]
            if epsilon not in written:
                sys.exit(f"docs/picture.py: {name} has no epsilon {epsilon}: {line}")
            places.append((x_of(epsilon), y_of(mean)))
        path = " L ".join(f"{x:.1f} {y:.1f}" for x, y in places)
        parts.append(f'<path d="M {path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>' for x, y in places]
    for accuracy, colour in CENTRAL[1]:
        parts.append(f'<path d="M {x_of(CENTRAL[0]):.1f} {y_of(accuracy) - 6:.1f} l 6 6 l -6 6 l -6 -6 z" fill="#ffffff" '
                     f'stroke="{colour}" stroke-width="2"/>')
    for name, words, epsilon, side in SYSTEMS:
        mean, line = figures[name]
        if epsilon not in line:
            sys.exit(f"docs/picture.py: {name} has no epsilon {epsilon}: {line}")
        x, y = x_of(INFINITE if epsilon == "infinite" else float(epsilon.replace(",", ""))), y_of(mean)
        parts.append(f'<path d="M {x:.1f} {y - 6:.1f} l 6 10 l -12 0 z" fill="#aa4499"/>')
        if side == "below":
            parts += [f'<path d="M {x - 3:.1f} {y + 6:.1f} L {x - 18:.1f} {y + 38:.1f}" stroke="#777777"/>',
                      text(x - 22, y + 46, words, "end", 13)]
        else:
            parts.append(text(x + 12 if side == "right" else x - 12, y + 5, words,
                              "start" if side == "right" else "end", 13))
    return "\n".join([*parts, "</svg>", ""])


def main():
    picture = draw()
    if "--check" not in sys.argv[1:]:
        PICTURE.write_text(picture)
    elif not PICTURE.exists() or PICTURE.read_text() != picture:
        sys.exit("docs/picture.py: the picture is not that of the figures; run docs/picture.py")


if __name__ == "__main__":
    main()
