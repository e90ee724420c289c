"""Hostile parties on plain connections, each a few lines to script.

  Member            says anything to a server or shuffler, and reads what comes back
  ScriptedServer    the server that a real shuffler dials: announces what the test says, keeps all it is given
  ScriptedShuffler  the shuffler that real clients dial: keeps their reports, and hands over what the test says
  Impostor          stands before a real server and changes what its clients or its shuffler are told

Hooks run in threads of gRPC; what they keep is a list or a dict that the test reads later.
"""

import concurrent.futures
import threading

import grpc

from wire import method, pb, random_bytes


class Refused(Exception):
    """What the other side answered instead of a reply."""

    def __init__(self, error):
        super().__init__(f"{error.code().name}: {error.details()}")
        self.code = error.code().name
        self.details = error.details()


class Member:
    """A client of one's own making: every call takes a message and may be wrong in any way."""

    def __init__(self, name, server=None, shuffler=None, compression=None):
        options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1),
                   ("grpc.use_local_subchannel_pool", 1)]
        self.name = name
        self.server = server and grpc.insecure_channel(server, options, compression)
        self.shuffler = shuffler and grpc.insecure_channel(shuffler, options, compression)

    @staticmethod
    def signed(message, token=b""):
        return pb.Signed(body=message.SerializeToString(), token=token)

    @staticmethod
    def _call(call, *arguments, seconds=20):
        try:
            return call(*arguments, timeout=seconds, wait_for_ready=True)
        except grpc.RpcError as error:
            raise Refused(error) from None

    def _unary(self, channel, path, message, reply):
        return self._call(channel.unary_unary(path, type(message).SerializeToString,
                                              reply.FromString), message)

    def join(self, wanted=0):
        request = pb.JoinRequest(name=self.name, wanted=wanted)
        return self._unary(self.server, method("Coordinator", "Join"), self.signed(request),
                           pb.JoinReply)

    def pull(self, done_round=0, done_attempt=b""):
        """The first part, Wait or Task; the weights are read and dropped."""
        request = pb.PullRequest(name=self.name, done_round=done_round, done_attempt=done_attempt)
        call = self.server.unary_stream(method("Coordinator", "Pull"), pb.Signed.SerializeToString,
                                        pb.PullReply.FromString)
        parts = self._call(lambda *a, **k: list(call(*a, **k)), self.signed(request))
        return parts[0]

    def decline(self, round_number, attempt):
        request = pb.DeclineRequest(name=self.name, round=round_number, attempt=attempt)
        return self._unary(self.server, method("Coordinator", "Decline"), self.signed(request),
                           pb.DeclineReply)

    def submit(self, header, chunks, to="shuffler"):
        """A report: a SubmitHeader and its sealed chunks."""
        def parts():
            yield pb.SubmitRequest(header=self.signed(header))
            for position, sealed in enumerate(chunks):
                yield pb.SubmitRequest(chunk=pb.SealedChunk(position=position, sealed=sealed))
        service, channel = (("Relay", self.shuffler) if to == "shuffler"
                            else ("Coordinator", self.server))
        call = channel.stream_unary(method(service, "Submit"), pb.SubmitRequest.SerializeToString,
                                    pb.SubmitReply.FromString)
        return self._call(call, parts())

    def compare(self, run, round_number):
        """What members came with in a round: {digest: (group, reports)}."""
        request = pb.CompareRequest(name=self.name, run=run, round=round_number)
        reply = self._unary(self.shuffler, method("Relay", "Compare"), self.signed(request),
                            pb.CompareReply)
        return {asked.contract: (asked.group, asked.reports) for asked in reply.asked}

    def call(self, channel, path, message, reply):
        """Any other unary call."""
        return self._unary(channel, path, message, reply)


def serve(handlers):
    """A server on a port of its own for these handlers; returns it and its address."""
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=32),
                         options=[("grpc.max_receive_message_length", -1)])
    for name, table in handlers.items():
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(method(name, "").strip("/"), table),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, f"127.0.0.1:{port}"


def _unary_handler(request, behave):
    return grpc.unary_unary_rpc_method_handler(
        behave, request.FromString, lambda reply: reply.SerializeToString())


class ScriptedServer:
    """What a shuffler takes for its server. `announced` is the OpenReply that it gets until it is
    changed; `batches` has what it handed over: (BatchHeader, [sealed chunks])."""

    def __init__(self, test):
        self.lock = threading.Lock()
        self.run = random_bytes(16)
        self.ticket_key = random_bytes(32)
        self.announced = pb.OpenReply()
        self.announce()
        self.asked = 0  # how often the shuffler has asked
        self.batches = []
        self.refuse_after = None  # cut a delivery short after so many chunks
        self.server, self.address = serve({"Intake": {
            "Open": _unary_handler(pb.OpenRequest, self._open),
            "Deliver": grpc.stream_unary_rpc_method_handler(
                self._deliver, pb.DeliverRequest.FromString,
                lambda reply: reply.SerializeToString()),
        }})
        test.addCleanup(self.server.stop, None)

    def announce(self, **fields):
        """The next OpenReply; groups are dicts. Where nothing is said no round is open."""
        fields = {"run": self.run, "attempt": bytes(16), "ticket_key": self.ticket_key, **fields}
        groups = [pb.OpenGroup(**group) for group in fields.pop("groups", [])]
        with self.lock:
            self.announced = pb.OpenReply(again_ms=10, groups=groups, **fields)

    def _open(self, request, context):
        with self.lock:
            self.asked += 1
            return self.announced

    def _deliver(self, requests, context):
        header = next(requests).header
        chunks = []
        for request in requests:
            chunks.append(request.sealed)
            if self.refuse_after is not None and len(chunks) >= self.refuse_after:
                with self.lock:
                    self.batches.append((header, chunks))
                context.abort(grpc.StatusCode.UNAVAILABLE, "the server is away")
        with self.lock:
            self.batches.append((header, chunks))
        return pb.DeliverReply()

    def released(self):
        """Batches that had reports in them."""
        with self.lock:
            return [(header, chunks) for header, chunks in self.batches if header.reports > 0]


class ScriptedShuffler:
    """What real clients take for their shuffler, and a real server for its own. `reports` has the
    sealed chunks of each client by round: {round: {name: [sealed chunks]}}."""

    def __init__(self, test, server):
        self.lock = threading.Lock()
        self.reports = {}
        self.contracts = {}  # their texts, by round and name
        self.asked = pb.CompareReply()  # what clients that compare are told
        channel = grpc.insecure_channel(server, [("grpc.max_send_message_length", -1)])
        self._open = channel.unary_unary(method("Intake", "Open"), pb.OpenRequest.SerializeToString,
                                         pb.OpenReply.FromString)
        self._deliver = channel.stream_unary(method("Intake", "Deliver"),
                                             pb.DeliverRequest.SerializeToString,
                                             pb.DeliverReply.FromString)
        self.server, self.address = serve({"Relay": {
            "Submit": grpc.stream_unary_rpc_method_handler(
                self._submit, pb.SubmitRequest.FromString, lambda reply: reply.SerializeToString()),
            "Compare": _unary_handler(pb.Signed, lambda request, context: self.asked),
        }})
        test.addCleanup(self.server.stop, None)

    def _submit(self, requests, context):
        header = pb.SubmitHeader.FromString(next(requests).header.body)
        chunks = {request.chunk.position: request.chunk.sealed for request in requests}
        contract = dict(line.split(" ", 1) for line in header.contract.decode().splitlines()[1:])
        with self.lock:
            of_round = self.reports.setdefault(int(contract["round"]), {})
            of_round[header.name] = [chunks[position] for position in sorted(chunks)]
            self.contracts[int(contract["round"]), header.name] = header.contract.decode()
        return pb.SubmitReply()

    def came(self, round_number):
        """Who has handed in a report of this round, by name."""
        with self.lock:
            return dict(self.reports.get(round_number, {}))

    def open(self, **fields):
        """What the server collects now."""
        return self._open(pb.OpenRequest(**fields), timeout=20)

    def deliver(self, header, chunks):
        """A batch: fields of its header, and its sealed chunks in the order of the stream."""
        def parts():
            yield pb.DeliverRequest(header=pb.BatchHeader(**header))
            for sealed in chunks:
                yield pb.DeliverRequest(sealed=sealed)
        try:
            return self._deliver(parts(), timeout=60)
        except grpc.RpcError as error:
            raise Refused(error) from None


class Impostor:
    """Every call goes through to the real server at `target`; hooks change the answers. A hook takes
    the reply (and the request before it) and returns what is answered.

    on_join(request, reply), on_pull(request, parts), on_open(request, reply), on_deliver(requests)
    """

    def __init__(self, test, target):
        options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        self.channel = grpc.insecure_channel(target, options)
        self.on_join = lambda request, reply: reply
        self.on_pull = lambda request, parts: parts
        self.on_open = lambda request, reply: reply
        self.on_deliver = lambda requests: requests
        serialize = lambda message: message.SerializeToString()  # noqa: E731

        def through(kind, service, name, reply):
            return getattr(self.channel, kind)(method(service, name), serialize, reply.FromString)

        def relay(call):
            def behave(request, context):
                try:
                    return call(request)
                except grpc.RpcError as error:
                    context.abort(error.code(), error.details())
            return behave

        def inside(message, signed):
            return message.FromString(signed.body)

        join = through("unary_unary", "Coordinator", "Join", pb.JoinReply)
        pull = through("unary_stream", "Coordinator", "Pull", pb.PullReply)
        decline = through("unary_unary", "Coordinator", "Decline", pb.DeclineReply)
        submit = through("stream_unary", "Coordinator", "Submit", pb.SubmitReply)
        open_call = through("unary_unary", "Intake", "Open", pb.OpenReply)
        deliver = through("stream_unary", "Intake", "Deliver", pb.DeliverReply)

        def pull_stream(request, context):
            try:
                parts = list(pull(request))
            except grpc.RpcError as error:
                context.abort(error.code(), error.details())
            yield from self.on_pull(inside(pb.PullRequest, request), parts)

        self.server, self.address = serve({
            "Coordinator": {
                "Join": _unary_handler(pb.Signed, relay(
                    lambda r: self.on_join(inside(pb.JoinRequest, r), join(r)))),
                "Pull": grpc.unary_stream_rpc_method_handler(pull_stream, pb.Signed.FromString,
                                                             serialize),
                "Decline": _unary_handler(pb.Signed, relay(decline)),
                "Submit": grpc.stream_unary_rpc_method_handler(
                    relay(submit), pb.SubmitRequest.FromString, serialize),
            },
            "Intake": {
                "Open": _unary_handler(pb.OpenRequest, relay(
                    lambda r: self.on_open(r, open_call(r)))),
                "Deliver": grpc.stream_unary_rpc_method_handler(
                    relay(lambda requests: deliver(self.on_deliver(requests))),
                    pb.DeliverRequest.FromString, serialize),
            },
        })
        test.addCleanup(self.server.stop, None)
