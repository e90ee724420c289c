"""A client. Its own code is that of any Flower client; the mod stands between it and the server."""

import os

import numpy as np
import sotto
from flwr.common import Array, ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from sotto.flower import LocalPrivacyMod, ProtectedMetrics

from quiet import task

# The ledger outlives the processes that Flower starts for messages: what was spent is in the file.
LEDGER = sotto.Ledger(os.environ.get("QUIET_LEDGER", "quiet.ledger"),
                      sotto.Limits(epsilon_per_round=5, epsilon=30, delta=1e-9))

app = ClientApp(mods=[LocalPrivacyMod(
    task.MECHANISM, LEDGER, packed=True,
    metrics=ProtectedMetrics(task.METRICS, task.BOUNDS),
    evaluate=ProtectedMetrics(task.METRICS, task.BOUNDS))])


def received(message):
    return {name: np.array(array.numpy()) for name, array in message.content["arrays"].items()}


@app.train()
def train(message, context):
    x, y = task.data(context.node_config["partition-id"])
    state = task.train(received(message), x, y)
    return Message(RecordDict({
        "arrays": ArrayRecord({name: Array(np.asarray(value)) for name, value in state.items()}),
        "metrics": MetricRecord({"num-examples": len(y), **task.measures(state, x, y)})}),
        reply_to=message)


@app.evaluate()
def evaluate(message, context):
    x, y = task.data(context.node_config["partition-id"])
    found = task.measures(received(message), x, y)
    return Message(RecordDict({"metrics": MetricRecord({"num-examples": len(y), **found})}),
                   reply_to=message)
