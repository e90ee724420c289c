"""The protocol's messages and boxes, for parties that do not keep to it.

Messages are made by protoc from the newest proto/sotto/v*/federation.proto, boxes by libsodium: none of
the product's own code is in the way, so a hostile party can say whatever the wire can carry.
"""

import ctypes
import ctypes.util
import hashlib
import hmac
import importlib
import os
import pathlib
import secrets
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _make_messages():
    version = max((ROOT / "proto" / "sotto").glob("v*"), key=lambda path: int(path.name[1:])).name
    folder = tempfile.TemporaryDirectory(prefix="sotto-proto-")
    # The package is called sotto_wire here, since Sotto's own Python package is called sotto.
    tree = pathlib.Path(folder.name) / "in" / "sotto_wire" / version
    tree.mkdir(parents=True)
    source = (ROOT / "proto" / "sotto" / version / "federation.proto").read_text()
    (tree / "federation.proto").write_text(source)
    protoc = os.environ.get("SOTTO_PROTOC", "protoc")
    subprocess.run([protoc, "-I", folder.name + "/in", "--python_out", folder.name,
                    tree / "federation.proto"], check=True)
    sys.path.insert(0, folder.name)
    return folder, version, importlib.import_module(f"sotto_wire.{version}.federation_pb2")


_folder, VERSION, pb = _make_messages()


def method(service, name):
    """The path of a call, as gRPC spells it."""
    return f"/sotto.{VERSION}.{service}/{name}"


_sodium = ctypes.CDLL(ctypes.util.find_library("sodium"))
assert _sodium.sodium_init() >= 0
_BOX = "crypto_box_curve25519xchacha20poly1305_"
BOX_OVERHEAD = 48


class BoxKey:
    """An X25519 key pair that chunks are sealed for."""

    def __init__(self):
        self.public = ctypes.create_string_buffer(32)
        self.secret = ctypes.create_string_buffer(32)
        getattr(_sodium, _BOX + "keypair")(self.public, self.secret)

    @property
    def public_bytes(self):
        return self.public.raw

    def open(self, sealed):
        """The plain bytes; None where the box is not for this key or was changed."""
        plain = ctypes.create_string_buffer(max(1, len(sealed) - BOX_OVERHEAD))
        done = getattr(_sodium, _BOX + "seal_open")(plain, sealed, ctypes.c_ulonglong(len(sealed)),
                                                   self.public, self.secret)
        return plain.raw[:len(sealed) - BOX_OVERHEAD] if done == 0 else None


def seal(plain, public):
    """A box for the holder of `public`."""
    box = ctypes.create_string_buffer(len(plain) + BOX_OVERHEAD)
    done = getattr(_sodium, _BOX + "seal")(box, plain, ctypes.c_ulonglong(len(plain)), public)
    assert done == 0
    return box.raw


class Contract:
    """What a report's header signs; `digest` names it."""

    def __init__(self, run, round_number=1, group=0, mechanisms=("two-point.v1.00",), chunks=2,
                 chunk_bytes=200, to="shuffler", seal_key=bytes(32), model="0" * 64):
        self.run, self.round, self.group = run, round_number, group
        lines = ["sotto contract 1", f"run {run.hex()}", "recipe " + "0" * 64,
                 f"round {round_number}", f"group {group}", *(f"mechanism {m}" for m in mechanisms),
                 f"chunks {chunks}", f"chunk-bytes {chunk_bytes}", f"to {to}",
                 f"seal-key {seal_key.hex()}", f"model {model}", "authority none"]
        self.text = "".join(line + "\n" for line in lines).encode()
        self.digest = hashlib.sha256(self.text).hexdigest()
        self.chunks, self.chunk_bytes = chunks, chunk_bytes

    def ticket(self, key, name):
        """What the server gives to a client that it asks for this."""
        sender = hashlib.sha256(name.encode()).hexdigest()
        text = f"sotto ticket 1\n{self.run.hex()}\n{self.round}\n{self.group}\n{sender}\n"
        return hmac.new(key, text.encode(), hashlib.sha256).digest()


def random_bytes(count):
    return secrets.token_bytes(count)
