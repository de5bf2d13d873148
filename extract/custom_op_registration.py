"""Does a stored source register its op alone? Registering runs foreign code, so it happens in a sandbox of its own.

The child works in a private folder under `LIMITS`, with no secret of this process (its HOME does not exist), and
imports the text and nothing else. Run as `python -m extract.custom_op_registration` this module is that child.
"""

from __future__ import annotations

import importlib
import resource
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from extract.custom_ops import CustomOp, registered_schema
from extract.failure import describe
from extract.sandbox import ChildFailed, Limits, Sandbox
from extract.sandbox_child import serve, take_pipes
from extract.sandbox_frames import Header

LIMITS = Limits(
    seconds=60.0,  # importing one file, and what it imports of torch and triton, takes about 3 s
    address_bytes=8 << 30,
    resident_bytes=2 << 30,
    num_processes=4,
    output_bytes=1 << 16,
    file_bytes=1 << 20,
    num_requests=1,
)
_MODULE = "custom_op_source"


class NotRegistered(Exception):
    """A source that does not register its ops; says why."""


def register_alone(source: str, ops: Sequence[CustomOp], limits: Limits = LIMITS) -> None:
    """Import `source` in a fresh child; raises `NotRegistered` unless each of `ops` is there then, as recorded.

    Takes about 5 s, most of it for importing torch. Raises `extract.sandbox.StartFailed` when no child can be had.
    """
    command = [sys.executable, "-m", "extract.custom_op_registration"]
    payload = source.encode("utf-8", "surrogatepass")
    with Sandbox(command, _within_own(limits), {"HOME": "/nonexistent"}) as sandbox:
        try:
            reply, _ = sandbox.request({"names": [op.name for op in ops]}, payload)
        except ChildFailed as failed:
            raise NotRegistered(f"{failed.reason}: {failed.detail}") from failed
    if reply.get("error"):
        raise NotRegistered(str(reply["error"]))
    for op in ops:
        schema = reply["schemas"].get(op.name)
        if schema is None:
            raise NotRegistered(f"{op.name} is not registered by its source")
        if op.schema is not None and schema != op.schema:
            raise NotRegistered(f"{op.name}: its source registers {schema}, the record says {op.schema}")


def _within_own(limits: Limits) -> Limits:
    """A process cannot give a child more than it may have itself."""
    address, file = (resource.getrlimit(kind)[1] for kind in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE))
    return replace(
        limits,
        address_bytes=limits.address_bytes if address < 0 else min(limits.address_bytes, address),
        file_bytes=limits.file_bytes if file < 0 else min(limits.file_bytes, file),
    )


def _register(header: Header, payload: bytes) -> tuple[Header, bytes]:
    Path(f"{_MODULE}.py").write_bytes(payload)
    sys.path.insert(0, str(Path.cwd()))
    try:
        importlib.import_module(_MODULE)
    except BaseException as error:  # foreign code
        return {"schemas": {}, "error": describe(error)}, b""
    return {"schemas": {name: registered_schema(name) for name in header["names"]}}, b""


if __name__ == "__main__":
    serve(take_pipes(), _register)
