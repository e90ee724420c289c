"""HTTP/2 by hand: frames that no library would send.

gRPC's own clients keep to windows, finish their messages and read their answers. This one says how long a
message is, sends as much of it as the other side takes, and reads only what the test wants read.
"""

import select
import socket
import ssl
import struct
import threading
import time
import zlib

DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1


def _length(number):
    """HPACK's integer with a prefix of 7 bits."""
    if number < 127:
        return bytes([number])
    out, number = bytearray([127]), number - 127
    while number >= 128:
        out.append(number % 128 + 128)
        number //= 128
    return bytes(out) + bytes([number])


def _headers(pairs):
    """Literal fields without indexing, without Huffman codes."""
    return b"".join(b"\0" + _length(len(name)) + name.encode() + _length(len(value)) + value.encode()
                    for name, value in pairs)


def _frame(kind, flags, stream, content):
    return (struct.pack(">I", len(content))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) +
            content)


def prefix(length, compressed=False):
    """What stands before a message of gRPC."""
    return struct.pack(">BI", 1 if compressed else 0, length)


def gzip_bomb(size):
    """So many zero bytes, in a thousandth of them."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    piece = bytes(1 << 24)
    parts = [packer.compress(piece) for _ in range(size // len(piece))]
    return b"".join(parts) + packer.flush()


class RawConnection:
    def __init__(self, address, identity=None):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), 20)
        if identity is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.load_verify_locations(identity / "ca.pem")
            context.load_cert_chain(identity / "cert.pem", identity / "key.pem")
            context.set_alpn_protocols(["h2"])
            self.socket = context.wrap_socket(self.socket, server_hostname=host)
        # One side of a TLS connection at a time, and never while the other one waits.
        self.socket.setblocking(False)
        self.using = threading.Lock()
        self.sending = threading.Lock()
        self.changed = threading.Condition()
        self.read_bytes = b""
        self.window = {0: 65535}
        self.initial = 65535
        self.ended = {}  # stream -> why
        self.closed = False
        self.next = 1
        self._write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self._frame(SETTINGS, 0, 0, b"")
        threading.Thread(target=self._read, daemon=True).start()

    def _write(self, content):
        with self.sending:
            view = memoryview(content)
            while view:
                try:
                    with self.using:
                        view = view[self.socket.send(view):]
                except (ssl.SSLWantWriteError, ssl.SSLWantReadError, BlockingIOError):
                    select.select([], [self.socket], [], 0.1)

    def _frame(self, kind, flags, stream, content):
        self._write(_frame(kind, flags, stream, content))

    def _exactly(self, count):
        while len(self.read_bytes) < count:
            try:
                with self.using:
                    piece = self.socket.recv(1 << 16)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
                select.select([self.socket], [], [], 0.1)
                continue
            if not piece:
                raise OSError("closed")
            self.read_bytes += piece
        content, self.read_bytes = self.read_bytes[:count], self.read_bytes[count:]
        return content

    def _read(self):
        try:
            while True:
                head = self._exactly(9)
                content = self._exactly(int.from_bytes(head[:3], "big"))
                self._take(head[3], head[4], int.from_bytes(head[5:], "big"), content)
        except (OSError, ValueError):
            with self.changed:
                self.closed = True
                self.changed.notify_all()

    def _take(self, kind, flags, stream, content):
        with self.changed:
            if kind == WINDOW:
                self.window[stream] = (self.window.get(stream, self.initial) +
                                       int.from_bytes(content, "big"))
            elif kind == SETTINGS and not flags & ACK:
                for at in range(0, len(content), 6):
                    name, value = struct.unpack(">HI", content[at:at + 6])
                    if name == 4:
                        for one in self.window:
                            if one:
                                self.window[one] += value - self.initial
                        self.initial = value
            elif kind == RESET:
                self.ended[stream] = "reset"
            elif flags & END_STREAM and kind in (DATA, HEADERS):
                self.ended.setdefault(stream, "answered")
            self.changed.notify_all()
        if kind == SETTINGS and not flags & ACK:
            self._frame(SETTINGS, ACK, 0, b"")
        elif kind == PING and not flags & ACK:
            self._frame(PING, ACK, 0, content)

    @staticmethod
    def _pairs(path):
        return [(":method", "POST"), (":scheme", "https"), (":path", path),
                (":authority", "localhost"), ("te", "trailers"), ("content-type", "application/grpc")]

    def call(self, path, encoding=None):
        """A new stream; nothing of its message is sent."""
        stream, self.next = self.next, self.next + 2
        pairs = self._pairs(path)
        if encoding:
            pairs.append(("grpc-encoding", encoding))
        with self.changed:
            self.window[stream] = self.initial
        self._frame(HEADERS, END_HEADERS, stream, _headers(pairs))
        return stream

    def begin_and_reset(self, path, count):
        """So many calls that are taken back as soon as they are begun."""
        headers, frames = _headers(self._pairs(path)), bytearray()
        for stream in range(self.next, self.next + 2 * count, 2):
            frames += _frame(HEADERS, END_HEADERS, stream, headers)
            frames += _frame(RESET, 0, stream, struct.pack(">I", 8))  # CANCEL
        self.next += 2 * count
        self._write(frames)

    def send(self, stream, content, end=False, seconds=10.0):
        """As much as the other side takes within this time; how much that was."""
        view, sent, until = memoryview(content), 0, time.monotonic() + seconds
        while sent < len(view):
            with self.changed:
                def room():
                    return min(self.window[0], self.window[stream])
                while room() <= 0 and stream not in self.ended and not self.closed:
                    if not self.changed.wait(until - time.monotonic()):
                        return sent
                if stream in self.ended or self.closed:
                    return sent
                count = min(room(), 16384, len(view) - sent)
                self.window[0] -= count
                self.window[stream] -= count
            last = end and sent + count == len(view)
            try:
                self._frame(DATA, END_STREAM if last else 0, stream, bytes(view[sent:sent + count]))
            except OSError:
                return sent
            sent += count
        return sent

    def wait(self, stream, seconds=10.0):
        """How the stream ended; None where it did not."""
        with self.changed:
            self.changed.wait_for(lambda: stream in self.ended or self.closed, seconds)
            return self.ended.get(stream, "closed" if self.closed else None)

    def close(self):
        self.socket.close()
