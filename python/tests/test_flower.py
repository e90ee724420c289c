"""The Flower mod against small stand-ins with Flower's interfaces, of several of its versions.

test_flower_real.py has the real ones, where they are installed.
"""

import enum
import pickle
import types
from dataclasses import dataclass, field

import numpy as np
import pytest
import sotto
from standins import forget, fresh, hide, module

MECHANISM = sotto.Mechanism("two-point", epsilon=1, range=(0, 0.1))


@pytest.fixture
def ledger(tmp_path):
    with sotto.Ledger(tmp_path / "l", sotto.Limits(1000, 1500)) as opened:
        yield opened


class Code(enum.Enum):
    OK = 0
    FIT_NOT_IMPLEMENTED = 3


@dataclass
class Status:
    code: Code = Code.OK
    message: str = "40 examples"


@dataclass
class FitRes:
    status: Status
    parameters: object
    num_examples: int = 40
    metrics: dict = field(default_factory=lambda: {"accuracy": 0.9, "bit": 1})


@dataclass
class EvaluateRes:
    status: Status
    loss: float
    num_examples: int
    metrics: dict


@dataclass
class GetParametersRes:
    status: Status
    parameters: object


class Array:
    def __init__(self, values):
        assert isinstance(values, np.ndarray)
        self._values = values

    def numpy(self):
        return self._values.copy()


class ArrayRecord(dict):
    pass


class MetricRecord(dict):
    pass


class ConfigRecord(dict):
    pass


class RecordDict(dict):
    """Records by name, and views of one kind: what a message holds."""

    def _of(self, kind):
        return {name: record for name, record in self.items() if isinstance(record, kind)}

    array_records = property(lambda self: self._of(ArrayRecord))
    metric_records = property(lambda self: self._of(MetricRecord))
    config_records = property(lambda self: self._of(ConfigRecord))


@dataclass
class Message:
    content: object
    metadata: object = None
    error: object = None
    reply_to: object = None

    def has_error(self):
        return self.error is not None


@dataclass
class Context:
    node_id: int = 71
    run_id: int = 5
    node_config: dict = field(default_factory=lambda: {"partition-id": 3})


def paid(ledger, size=10, round=3, node=3, run=5, kind="train"):
    """The state of a node's charge; "charged" if there was none before."""
    account = ledger.account(client=f"client/partition-id={node}", task=f"task/{run}/{kind}")
    return account.charge(MECHANISM, size, round)


def message(kind="train", content=None, group="3"):
    return Message(content, types.SimpleNamespace(message_type=kind, group_id=group))


class Fit(ArrayRecord):
    """A fit instruction or result on its way: the conversions below know it."""

    def __init__(self, result):
        super().__init__()
        self.result = result


def wrapped(result, name="fitins.parameters"):
    return RecordDict({name: Fit(result)})


@pytest.fixture(params=["flwr.common.recorddict", "flwr.compat.common.recorddict",
                        "flwr.common.recordset"])
def flower(request, monkeypatch):
    def unwrap(name):
        def to(content, keep_input):
            assert keep_input
            return content[name].result
        return to

    hide(monkeypatch, "flwr")
    module(monkeypatch, "flwr")
    module(monkeypatch, "flwr.common", ndarrays_to_parameters=list, parameters_to_ndarrays=list,
           Array=Array, ArrayRecord=ArrayRecord, MetricRecord=MetricRecord, RecordDict=RecordDict,
           Message=Message, Status=Status, Code=Code, FitRes=FitRes, EvaluateRes=EvaluateRes,
           GetParametersRes=GetParametersRes)
    module(monkeypatch, "flwr.compat")
    module(monkeypatch, "flwr.compat.common")
    kind = request.param.rpartition(".")[2]
    module(monkeypatch, f"{request.param}_compat", **{
        f"{kind}_to_fitins": unwrap("fitins.parameters"),
        f"{kind}_to_fitres": unwrap("fitres.parameters"),
        f"fitres_to_{kind}": lambda result, keep_input: wrapped(result, "fitres.parameters"),
        f"evaluateres_to_{kind}": lambda result: wrapped(result, "evaluateres.parameters"),
        f"getparametersres_to_{kind}":
            lambda result, keep_input: wrapped(result, "getparametersres.parameters")})
    fresh(monkeypatch, "sotto._flower_messages")
    yield fresh(monkeypatch, "sotto.flower")
    forget("sotto.flower", "sotto._flower_messages")


def received():
    return [np.zeros((2, 3), np.float32), np.ones(4, np.float64)]


def client(arrays, status=Status(), **options):
    return lambda msg, ctxt: Message(wrapped(FitRes(status, arrays, **options),
                                             "fitres.parameters"))


def fit_message(arrays=None, **options):
    instruction = FitRes(Status(), received() if arrays is None else arrays)
    return message(content=wrapped(instruction), **options)


def steps_of(arrays):
    return np.concatenate([(a - b).ravel() for a, b in zip(arrays, received())])


def two_points(steps):
    return len(np.unique(np.abs(steps).round(5))) == 1 and np.all(np.abs(steps) > 0.1)


def test_fit_results_are_protected(flower, ledger):
    mod = flower.LocalPrivacyMod(MECHANISM, ledger)
    private = [array + 0.03 for array in received()]
    asked = fit_message()
    answer = mod(asked, Context(), client(private))
    reply = answer.content["fitres.parameters"].result
    assert answer.reply_to is asked
    assert [a.dtype for a in reply.parameters] == [np.float32, np.float64]
    assert [a.shape for a in reply.parameters] == [(2, 3), (4,)]
    assert two_points(steps_of(reply.parameters))  # and nothing else
    assert (reply.num_examples, reply.metrics, reply.status.message) == (1, {}, "")
    account = ledger.account(client="client/partition-id=3")
    assert account.spent().rounds == 1 and account.spent().limits == sotto.Limits(1000, 1500)
    again = mod(fit_message(), Context(), client(received())).content["fitres.parameters"].result
    assert all(np.array_equal(a, b) for a, b in zip(reply.parameters, again.parameters))


def arrays_message(group="", config=None, extra=None, kind="train", more=None):
    named = {"w": Array(received()[0]), "b": Array(received()[1]),
             "norm.num_batches_tracked": Array(np.array(7)), **(more or {})}
    return message(kind, group=group, content=RecordDict(
        {"arrays": ArrayRecord(named), "config": ConfigRecord(config or {"server-round": 4}),
         **(extra or {})}))


def function(metrics=None, **changes):
    """A client's own function: it changes every array, and tells more than it should."""

    def train(msg, ctxt):
        named = {name: Array(np.asarray(value.numpy() + 0.03, value.numpy().dtype))
                 for name, value in msg.content["arrays"].items()}
        named["norm.num_batches_tracked"] = Array(np.array(99))
        named.update(changes)
        return Message(RecordDict({
            "mine": ArrayRecord({name: value for name, value in named.items() if value}),
            "metrics": MetricRecord({"num-examples": 40, "loss": 0.3, **(metrics or {})}),
            "note": ConfigRecord({"name": "anna"})}))

    return train


def test_messages_of_arrays_are_protected(flower, ledger):
    mod = flower.LocalPrivacyMod(MECHANISM, ledger)
    reply = mod(arrays_message(), Context(), function()).content
    # Built anew: the server's names, the weight 1, and nothing that the client added.
    assert reply.keys() == {"arrays", "metrics"}
    assert reply.metric_records == {"metrics": {"num-examples": 1}}
    sent = {name: value.numpy() for name, value in reply["arrays"].items()}
    assert list(sent) == ["w", "b", "norm.num_batches_tracked"]
    assert sent["norm.num_batches_tracked"] == 7  # the server's own
    assert two_points(steps_of([sent["w"], sent["b"]]))
    assert (sent["w"].dtype, sent["b"].dtype) == (np.float32, np.float64)
    assert paid(ledger, round=4) == "bound"


def test_integers_are_the_servers_own(flower, ledger):
    """Whatever the client makes of them, and of averages of them, which arrive as floats."""
    more = {"ids": Array(np.arange(3)), "position_ids": Array(np.arange(3.0)),
            "averaged": Array(np.arange(3.0)), "flag": Array(np.array(True)),
            "norm.running_var": Array(np.ones(2))}
    changes = {"averaged": Array(np.array([9, 9, 9])), "ids": Array(np.array([9, 9, 9]))}

    def greedy(msg, ctxt):  # changes what it received, too
        reply = function(**changes)(msg, ctxt)
        for value in msg.content["arrays"].values():
            value._values += np.ones_like(value._values)
        return reply

    mod = flower.LocalPrivacyMod(MECHANISM, ledger, keep=["*.running_*"])
    sent = mod(arrays_message(more=more), Context(), greedy).content["arrays"]
    for name in ("ids", "position_ids", "averaged"):
        assert sent[name].numpy().tolist() == [0, 1, 2]
    assert sent["norm.num_batches_tracked"].numpy() == 7
    assert sent["norm.running_var"].numpy().tolist() == [1, 1] and sent["flag"].numpy()
    assert sent["averaged"].numpy().dtype == np.float64
    assert two_points(steps_of([sent["w"].numpy(), sent["b"].numpy()]))
    # In lists of arrays as well.
    mod = flower.LocalPrivacyMod(MECHANISM, ledger, keep=["3"])
    asked = fit_message([*received(), np.array(7), np.ones(2)])
    private = [*(array + 0.03 for array in received()), np.array(99), np.ones(2) + 0.03]

    def greedy_fit(msg, ctxt):
        for array in msg.content["fitins.parameters"].result.parameters:
            array += 50
        return client(private)(msg, ctxt)

    reply = mod(asked, Context(), greedy_fit).content["fitres.parameters"].result
    assert reply.parameters[2] == 7 and reply.parameters[3].tolist() == [1, 1]
    assert two_points(steps_of(reply.parameters))


def test_every_node_has_an_account(flower, ledger):
    """Nodes share a process and a mod: none gets a report, or pays, for another one."""
    mod = flower.LocalPrivacyMod(MECHANISM, ledger)
    mod = pickle.loads(pickle.dumps(mod))  # as a simulation sends it to its processes
    sent = [mod(fit_message(), Context(node_config={"partition-id": node}), client(received()))
            .content["fitres.parameters"].result.parameters for node in range(12)]
    assert len({steps_of(arrays).tobytes() for arrays in sent}) > 4
    for node in range(12):
        assert paid(ledger, node=node) == "bound"
    assert ledger.spent().rounds == 0  # the ledger's own account: only its limits are used
    # Another run, and another function of the client, pay again and get reports of their own.
    before = ledger.head[0]
    mod(fit_message(), Context(run_id=6), client(received()))
    mod(arrays_message(kind="train.more", group="3"), Context(), function())
    assert paid(ledger, run=6) == "bound" and paid(ledger, kind="train.more") == "bound"
    assert ledger.head[0] > before


def test_who_pays_can_be_chosen(flower, ledger):
    def spent(name):
        found = ledger.account(client=name).spent()
        return found and found.rounds

    def ask(mod, **context):
        return mod(fit_message(), Context(**context), client(received()))

    ask(flower.LocalPrivacyMod(MECHANISM, ledger, account="hospital"),
        node_config={"hospital": "north"})
    ask(flower.LocalPrivacyMod(MECHANISM, ledger, account="node-id"))
    ask(flower.LocalPrivacyMod(MECHANISM, ledger, account=lambda ctxt: "own", limits=sotto.Limits(
        20, 40)))
    alone = flower.LocalPrivacyMod(MECHANISM, ledger, account=None)
    ask(alone)
    assert [spent(f"client/{name}") for name in ("hospital=north", "node-id=71", "own")] == [1] * 3
    assert spent("client") == 1
    assert ledger.account(client="client/own").spent().limits == sotto.Limits(20, 40)
    for mod, context in ((alone, {"node_id": 72}),
                         (flower.LocalPrivacyMod(MECHANISM, ledger), {"node_config": {}})):
        with pytest.raises(sotto.PrivacyError, match="nothing is sent"):
            ask(mod, **context)
    assert spent("client") == 1


def test_rounds(flower, ledger):
    mod = flower.LocalPrivacyMod(MECHANISM, ledger, first_round=10)
    mod(arrays_message(group="2"), Context(), function())
    assert paid(ledger, round=12) == "bound"
    mod(arrays_message(), Context(), function())
    assert paid(ledger, round=14) == "bound"


def test_it_is_paid_before_the_client_works(flower, tmp_path, caplog):
    with sotto.Ledger(tmp_path / "poor", sotto.Limits(1, 1)) as poor:
        metrics = flower.ProtectedMetrics(MECHANISM, {"x": (0, 1), "y": (0, 1)})
        mod = flower.LocalPrivacyMod(MECHANISM, poor, evaluate=metrics, on_failure="report")
        worked = []
        for asked in (fit_message(), arrays_message(), arrays_message(kind="evaluate")):
            with pytest.raises(sotto.PrivacyError):
                mod(asked, Context(), lambda m, c: worked.append(1))
        assert not worked
        assert [record.exc_info[0] for record in caplog.records] == [sotto.BudgetExceeded] * 3


BITS = sotto.Mechanism("two-point", epsilon=2)


def test_metrics_can_be_protected(flower, ledger):
    values = {}
    metrics = flower.ProtectedMetrics(BITS, {"loss": (0, 4), "bit": (0, 1), "missing": (0, 1)},
                                      clip=True)
    mod = flower.LocalPrivacyMod(MECHANISM, ledger, metrics=metrics)
    for node in range(300):
        reply = mod(arrays_message(), Context(node_config={"partition-id": node}),
                    function(metrics={"bit": 1, "note": 5})).content
        assert reply["metrics"].keys() == {"num-examples", "loss", "bit", "missing"}
        for name, value in reply["metrics"].items():
            values.setdefault(name, []).append(value)
    assert set(values["loss"]) == {0, 4} and set(values["bit"]) == {0, 1}
    assert 0.75 < np.mean(values["bit"]) < 0.98  # 0.88: a bit that is told with epsilon 2
    assert 0.35 < np.mean(values["missing"]) < 0.65
    # Of a fit result, and charged beside its arrays: 10 weights at epsilon 1 and 3 at epsilon 2.
    reply = mod(fit_message(), Context(node_config={"partition-id": "last"}), client(received()))
    assert reply.content["fitres.parameters"].result.metrics.keys() == metrics.bounds.keys()
    spent = ledger.account(client="client/partition-id=last").spent()
    assert spent.rounds == 2 and 15.9 < spent.epsilon_sum < 16.1


def test_evaluation_by_choice(flower, ledger):
    def evaluate(msg, ctxt):
        return Message(RecordDict({"metrics": MetricRecord(
            {"loss": 0.5, "accuracy": 0.9, "num-examples": 40})}))

    def old(msg, ctxt):
        return Message(RecordDict({"evaluateres.loss": MetricRecord({"loss": 0.5}),
                                   "evaluateres.metrics": ConfigRecord({"accuracy": 0.9})}))

    asked = arrays_message(kind="evaluate")
    instruction = message("evaluate", wrapped(None, "evaluateins.parameters"))
    skip = flower.LocalPrivacyMod(MECHANISM, ledger, evaluate="skip")
    assert skip(asked, Context(), None).content == {"metrics": {"num-examples": 1}}
    result = skip(instruction, Context(), None).content["evaluateres.parameters"].result
    assert np.isnan(result.loss) and (result.num_examples, result.metrics) == (1, {})
    assert ledger.account(client="client/partition-id=3").spent() is None
    exact = sotto.Mechanism("two-point", epsilon=30)  # tells ends of the bounds as they are
    mod = flower.LocalPrivacyMod(MECHANISM, ledger, evaluate=flower.ProtectedMetrics(
        exact, {"loss": (0.5, 4), "accuracy": (0, 0.9)}))
    reply = mod(asked, Context(), evaluate).content
    assert reply["metrics"] == pytest.approx({"num-examples": 1, "loss": 0.5, "accuracy": 0.9})
    result = mod(instruction, Context(), old).content["evaluateres.parameters"].result
    assert result.loss == pytest.approx(0.5) and result.metrics == pytest.approx({"accuracy": 0.9})
    assert 119 < ledger.account(client="client/partition-id=3").spent().epsilon_sum < 121


def test_initial_parameters_are_public_ones(flower, ledger):
    mod = flower.LocalPrivacyMod(MECHANISM, ledger, initial=received())
    reply = mod(message("get_parameters"), Context(), None).content
    assert reply["getparametersres.parameters"].result.parameters[1].tolist() == [1] * 4
    assert ledger.account(client="client/partition-id=3").spent() is None


def test_packed_replies_are_reports(flower, ledger):
    mod = flower.LocalPrivacyMod(MECHANISM, ledger, packed=True, first_round=3)
    reply = mod(arrays_message(), Context(), function()).content
    assert list(reply["arrays"]) == ["sotto.report"]
    data = reply["arrays"]["sotto.report"].numpy()
    assert data.dtype == np.uint8
    report = MECHANISM.read(data.tobytes(), 10)
    assert report.round == 7 and two_points(report.decode())
    assert reply["metrics"] == {"num-examples": 1}
    with pytest.raises(sotto.PrivacyError):
        mod(fit_message(), Context(), client(received()))


FAILURES = [
    (message("evaluate"), client(received()), "evaluate=ProtectedMetrics"),
    (message("query.mine"), client(received()), "query.mine"),
    (message("get_parameters"), client(received()), "initial="),
    (fit_message(group="x"), client(received()), "round"),
    (arrays_message(config={"lr": 0.1}), function(), "server-round"),
    (message(content=object()), function(), "unknown"),
    (arrays_message(extra={"more": ArrayRecord()}), function(), "holds 2 records"),
    (fit_message([np.array(3)]), client([np.array(4)]), "no value"),
]
OF_THE_CLIENT = [
    (fit_message(), lambda m, c: Message(RecordDict(arrays=ArrayRecord())), "not a fit result"),
    (fit_message(), client([np.zeros((2, 3), complex), np.ones(4)]), "complex"),
    (fit_message(), client([np.zeros((2, 3), int), np.ones(4, int)]), "integers"),
    (fit_message(), client([np.zeros(10)]), "1 arrays"),
    (fit_message(), client([np.zeros(6), np.ones(4)]), "shapes"),
    (fit_message(), client(received(), Status(Code.FIT_NOT_IMPLEMENTED)), "failed"),
    (fit_message(), lambda m, c: Message(None, error="secret"), "secret"),
    (fit_message(), lambda m, c: {}["secret"], "secret"),
    (arrays_message(), function(w=None), "other names"),
    (arrays_message(), function(more=Array(np.ones(1))), "other names"),
    (arrays_message(), function(w=Array(np.ones(5))), "shapes"),
]


@pytest.mark.parametrize("asked, answer, said", FAILURES + OF_THE_CLIENT)
def test_the_reason_of_a_refusal_stays_in_the_log(flower, ledger, asked, answer, said, caplog):
    for payload in ("delta", "weights"):
        caplog.clear()
        mod = flower.LocalPrivacyMod(MECHANISM, ledger, payload=payload)
        with pytest.raises(Exception) as raised:
            mod(asked, Context(), answer)
        # One type, one text, and no error that stands behind it.
        assert type(raised.value) is sotto.PrivacyError
        assert str(raised.value) == flower.NOTHING_SENT
        assert raised.value.__cause__ is None and raised.value.__context__ is None
        assert said in caplog.text
        assert {record.name for record in caplog.records} == {"sotto.flower"}


@pytest.mark.parametrize("asked, answer, said", OF_THE_CLIENT)
def test_a_failure_can_be_hidden(flower, ledger, asked, answer, said, caplog):
    """With on_failure="report" the server cannot tell a client that fails from one that trains."""
    mod = flower.LocalPrivacyMod(MECHANISM, ledger, on_failure="report")
    content = mod(asked, Context(), answer).content
    if "arrays" in content:
        arrays = [content["arrays"][name].numpy() for name in ("w", "b")]
    else:
        arrays = content["fitres.parameters"].result.parameters
    assert two_points(steps_of(arrays)) and said in caplog.text


@pytest.mark.parametrize("options, said", [
    ({"payload": "gradient"}, "valid: delta, weights"),
    ({"on_failure": "hide"}, "valid: refuse, report"),
    ({"evaluate": "yes"}, "valid: refuse, skip"),
])
def test_wrong_options_are_told_at_once(flower, ledger, options, said):
    with pytest.raises(ValueError, match=said):
        flower.LocalPrivacyMod(MECHANISM, ledger, **options)


def test_what_is_told_at_construction(flower, ledger):
    with pytest.raises(sotto.PrivacyError, match="no ledger"):
        flower.LocalPrivacyMod(MECHANISM, None)
    with pytest.raises(ValueError, match="is the weight"):
        flower.LocalPrivacyMod(MECHANISM, ledger, evaluate=flower.ProtectedMetrics(
            BITS, {"num-examples": (0, 100)}))
    for mechanism, bounds, said in ((sotto.Mechanism("privunit", epsilon=3), {"x": (0, 1)},
                                     "valid: a value mechanism"),
                                    (BITS, {}, "no metric"), (BITS, {"x": (1, 0)}, "two numbers"),
                                    (BITS, {"x": (0, np.inf)}, "two numbers")):
        with pytest.raises(ValueError, match=said):
            flower.ProtectedMetrics(mechanism, bounds)


def test_what_it_is_told_to_let_pass(flower, ledger):
    allowed = flower.LocalPrivacyMod(MECHANISM, ledger, allow_unprotected=True)
    assert allowed(message("evaluate"), Context(), lambda m, c: "answer") == "answer"
    named = flower.LocalPrivacyMod(MECHANISM, ledger, weight_key="weight")
    reply = named(arrays_message(), Context(), function()).content
    assert reply["metrics"] == {"weight": 1}
