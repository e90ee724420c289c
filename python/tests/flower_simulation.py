"""Runs Flower's own simulation, for test_flower_real.py: `flower_simulation.py KIND LEDGER`.

The last line of the output is what the server got, as JSON.
"""

import json
import sys

import numpy as np
import sotto
from flwr import common as flwr
from flwr.clientapp import ClientApp
from sotto.flower import LocalPrivacyMod, ProtectedMetrics

NODES = 4
SECRET = "anna's diagnosis"
MECHANISM = sotto.Mechanism("two-point", epsilon=1, range=(0, 0.1))
NUMBERS = sotto.Mechanism("two-point", epsilon=1)


def protected(**options):
    return ProtectedMetrics(NUMBERS, {"train_loss": (0.1, 2)}, **options)


def model():
    """Integers as they come out of averages, and as clients' own models have them."""
    return {"w": np.zeros((2, 3), np.float32), "norm.num_batches_tracked": np.array(7.0),
            "ids": np.arange(4.0)}


def messages(ledger):
    """Functions that answer messages, q-FedAvg, and a node that fails."""
    from flwr.serverapp import ServerApp
    from flwr.serverapp.strategy import QFedAvg

    client = ClientApp(mods=[LocalPrivacyMod(MECHANISM, ledger, metrics=protected(clip=True),
                                             evaluate=protected())])

    @client.train()
    def train(message, context):
        arrays = {name: array.numpy() for name, array in message.content["arrays"].items()}
        arrays["w"] = arrays["w"] + np.float32(0.03)
        arrays["norm.num_batches_tracked"] = np.array(99)
        arrays["ids"] = np.arange(4)
        return flwr.Message(flwr.RecordDict({
            "arrays": flwr.ArrayRecord({name: flwr.Array(v) for name, v in arrays.items()}),
            "metrics": flwr.MetricRecord({"num-examples": 40, "train_loss": 0.7, "note": 3})}),
            reply_to=message)

    @client.evaluate()
    def evaluate(message, context):
        if context.node_config["partition-id"] == 3:
            raise ValueError(SECRET)
        return flwr.Message(flwr.RecordDict({"metrics": flwr.MetricRecord(
            {"num-examples": 40, "train_loss": 0.7})}), reply_to=message)

    seen = {"weights": [], "arrays": [], "metrics": [], "errors": []}

    class Watching(QFedAvg):
        def aggregate_train(self, server_round, replies):
            replies = list(replies)
            for reply in replies:
                seen["weights"].append(reply.content["arrays"]["w"].numpy().tolist())
                seen["arrays"].append([reply.content["arrays"][name].numpy().tolist()
                                       for name in ("norm.num_batches_tracked", "ids")])
                seen["metrics"].append(dict(reply.content["metrics"]))
            return super().aggregate_train(server_round, replies)

        def aggregate_evaluate(self, server_round, replies):
            replies = list(replies)
            seen["errors"] += [reply.error.reason for reply in replies if reply.has_error()]
            return super().aggregate_evaluate(server_round, replies)

    server = ServerApp()

    @server.main()
    def main(grid, context):
        strategy = Watching(client_learning_rate=0.1, min_available_nodes=NODES,
                            min_train_nodes=NODES, min_evaluate_nodes=NODES)
        start = flwr.ArrayRecord({name: flwr.Array(value) for name, value in model().items()})
        result = strategy.start(grid=grid, initial_arrays=start, num_rounds=2)
        seen["evaluated"] = [dict(result.evaluate_metrics_clientapp[r]) for r in (1, 2)]

    return server, client, seen


def lists(ledger):
    """A client_fn, and a server without initial parameters that evaluates by default."""
    from flwr.client import NumPyClient
    from flwr.server import ServerApp, ServerAppComponents, ServerConfig
    from flwr.server.strategy import FedAvg

    class Client(NumPyClient):
        def get_parameters(self, config):
            raise ValueError(SECRET)

        def fit(self, parameters, config):
            return [parameters[0] + np.float32(0.03), np.array(99), np.arange(4)], 40, {"x": 1}

        def evaluate(self, parameters, config):
            return 0.7, 40, {"train_loss": 0.7}

    def client_fn(context):
        return Client().to_client()

    client = ClientApp(client_fn, mods=[LocalPrivacyMod(
        MECHANISM, ledger, initial=list(model().values()), evaluate=protected())])
    seen = {"losses": [], "results": [], "weights": [], "kept": []}

    class Watching(FedAvg):
        def aggregate_fit(self, server_round, results, failures):
            for _, result in results:
                arrays = flwr.parameters_to_ndarrays(result.parameters)
                seen["weights"].append(arrays[0].tolist())
                seen["kept"].append([array.tolist() for array in arrays[1:]])
                seen["results"].append([result.num_examples, dict(result.metrics)])
            return super().aggregate_fit(server_round, results, failures)

        def aggregate_evaluate(self, server_round, results, failures):
            seen["losses"] += [[result.num_examples, dict(result.metrics)] for _, result in results]
            return super().aggregate_evaluate(server_round, results, failures)

    def server_fn(context):
        return ServerAppComponents(strategy=Watching(
            min_available_clients=NODES, min_fit_clients=NODES, min_evaluate_clients=NODES),
            config=ServerConfig(num_rounds=2))

    return ServerApp(server_fn=server_fn), client, seen


def main():
    from flwr.simulation import run_simulation

    ledger = sotto.Ledger(sys.argv[2], sotto.Limits(100, 200))
    server, client, seen = {"messages": messages, "lists": lists}[sys.argv[1]](ledger)
    # Two clients at a time: nodes share processes.
    run_simulation(server, client, num_supernodes=NODES, backend_config={
        "client_resources": {"num_cpus": 1.0, "num_gpus": 0.0},
        "init_args": {"num_cpus": 2, "include_dashboard": False}})
    print("\n" + json.dumps(seen), flush=True)


if __name__ == "__main__":
    main()
