"""A tutorial, cell by cell: a model with a guarantee for every client, in minutes and from Python.

    PYTHONPATH=build/release/python python3 examples/python/client_level.py --out client-level.png

Nothing is downloaded: 12,000 clients hold one sample of the generated set each. `--rounds 2` is a
quick look. The figure needs matplotlib; without it the numbers are printed.
"""

# %% What is asked for
import argparse
from pathlib import Path

import numpy as np
import sotto
from sotto.account import text  # rounds up: nothing looks more private than it is

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--rounds", type=int, default=6)
parser.add_argument("--out", default="client-level.png", help="where the figure goes")
arguments = parser.parse_args()
recipe = Path(__file__).resolve().parents[2] / "recipes" / "client-level-embedded.toml"

# %% The data: one sample for each client
data = sotto.load_data("embedded")
print(f"{len(data.train):,} clients with one sample of shape {data.train.x.shape[1:]} each")

# %% The mechanism, and what one report of it promises
mechanism = sotto.Mechanism("privunit", epsilon=4, norm=1)
guarantee = mechanism.guarantee(size=8_340)
print(f"one report: epsilon {text(guarantee.epsilon)}, {guarantee.statement}")

# %% It is attacked before it is trusted: no audit may find more than it promises
found = sotto.audit(mechanism, trials=4_000)
print(f"an audit finds at least {text(found.epsilon_lower, lower=True)}: {found.verdict}")

# %% What all rounds together cost a client, known before any training
settings = {"federation.rounds": arguments.rounds}
claims, _ = sotto.account.recipe(recipe, settings=settings)
for claim in claims:
    print(f"  {claim.scope:<48} epsilon {text(claim.epsilon):<8} delta {text(claim.delta)}")

# %% The training
private = sotto.run(recipe, settings={**settings, "federation.evaluate_every": 1}, progress=True)
promise = private.client_claim
print(f"after {len(private.rounds)} rounds: accuracy {100 * private.final_accuracy:.1f} %, and for "
      f"every client epsilon {text(promise.epsilon)} at delta {text(promise.delta)}")

# %% The figure
try:
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError:
    print("rounds  ", private.rounds.tolist())
    print("accuracy", np.round(private.accuracy, 4).tolist())
else:
    plt.plot(private.rounds, 100 * private.accuracy, "o-")
    plt.xlabel("round")
    plt.ylabel("accuracy on the test set, %")
    plt.title(f"epsilon {text(promise.epsilon)} for a client over the whole training")
    plt.grid(alpha=0.3)
    plt.savefig(arguments.out, dpi=150)
    print(f"figure: {arguments.out}")
