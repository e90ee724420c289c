"""What server and clients agree on: the model, and the mechanisms that replies pass."""

import numpy as np
import sotto

FEATURES = 20
MECHANISM = sotto.Mechanism("privunit", epsilon=4)  # of a whole update: its direction
METRICS = sotto.Mechanism("two-point", epsilon=0.5)  # of each number in `BOUNDS`
BOUNDS = {"accuracy": (0, 1), "loss": (0, 2)}


def model():
    return {"weight": np.zeros(FEATURES, np.float32), "bias": np.zeros(1, np.float32),
            "steps": np.array(0)}  # an integer: clients get it, and never send their own


def data(partition, samples=200):
    """Stands for a client's private samples."""
    rng = np.random.default_rng(partition)
    x = rng.normal(size=(samples, FEATURES)).astype(np.float32)
    direction = np.linspace(-1, 1, FEATURES, dtype=np.float32)
    return x, (x @ direction + rng.normal(size=samples) > 0).astype(np.float32)


def probabilities(state, x):
    return 1 / (1 + np.exp(-(x @ state["weight"] + state["bias"])))


def train(state, x, y, epochs=5, rate=0.5):
    for _ in range(epochs):
        error = probabilities(state, x) - y
        state["weight"] -= rate * (x.T @ error) / len(y)
        state["bias"] -= rate * error.mean()
    state["steps"] = state["steps"] + epochs
    return state


def measures(state, x, y):
    p = np.clip(probabilities(state, x), 1e-6, 1 - 1e-6)
    return {"accuracy": float(np.mean((p > 0.5) == y)),
            "loss": float(-np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)))}
