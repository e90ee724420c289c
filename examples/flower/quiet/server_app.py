"""The server: an ordinary strategy, inside of one that decodes the clients' reports."""

from flwr.common import Array, ArrayRecord
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAvg
from sotto.flower_server import PackedStrategy

from quiet import task

app = ServerApp()


@app.main()
def main(grid, context):
    nodes = context.run_config["nodes"]
    strategy = PackedStrategy(
        FedAvg(min_available_nodes=nodes, min_train_nodes=nodes, min_evaluate_nodes=nodes),
        task.MECHANISM)
    start = ArrayRecord({name: Array(value) for name, value in task.model().items()})
    result = strategy.start(grid=grid, initial_arrays=start,
                            num_rounds=context.run_config["num-server-rounds"])
    state = {name: array.numpy() for name, array in result.arrays.items()}
    x, y = task.data(partition=10**6)  # public samples
    print(f"public accuracy {task.measures(state, x, y)['accuracy']:.3f}", flush=True)
