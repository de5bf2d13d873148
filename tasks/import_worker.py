"""Bare-machine entry point: read the files of samples to rows, one sample at a time, for `passnet import`.

`python -m tasks.import_worker` runs as the child of an `extract.sandbox.Sandbox` and needs torch and pyarrow alone.
The one request is `{"do": "import", "imported_from": ..., "digest": ..., "files": [[name, bytes], ...]}` with the
files one after the other as payload; its reply is `{"model_name": ..., "signature_sha256": ...}` and the sample's
tables as Arrow streams, or `{"failure": {"reason": ..., "detail": ...}}`. Nothing in the files is executed.
"""

from __future__ import annotations

import argparse
import gc
import os
import time
from collections.abc import Sequence

from extract.failure import Reason, SubjectError, is_starved
from extract.sandbox_child import FDS_NAME, serve, take_pipes
from extract.sandbox_frames import Header

_DETAIL_CHARS = 1000
_COLLECT_EVERY = 50


def main(argv: Sequence[str] | None = None) -> None:
    """Serve the sandbox that started this process; exits with a usage message where there is none."""
    parser = argparse.ArgumentParser(prog="python -m tasks.import_worker", description=(__doc__ or "").split("\n")[0])
    parser.parse_args(argv)
    if FDS_NAME not in os.environ:
        parser.error(f"{FDS_NAME} is not set: this is the child of a sandbox; start `passnet import` instead")
    pipes = take_pipes()
    _prepare()
    serve(pipes, _Worker().answer)


def _prepare() -> None:
    import torch

    import extract.foreign_sample  # noqa: F401  loaded before the first request, so that no sample pays for it
    import storage.sample_records  # noqa: F401

    torch.set_num_threads(1)
    _load_meta_kernels()
    gc.collect()
    gc.freeze()
    gc.disable()  # records are trees without cycles; `_Worker` collects what texts and torch leave


def _load_meta_kernels() -> None:
    """Run two calls on meta tensors: torch imports sympy at the first convolution, its compiler at the first norm."""
    import torch

    images, filters = torch.empty(1, 1, 4, 4, device="meta"), torch.empty(1, 1, 3, 3, device="meta")
    torch.nn.functional.layer_norm(torch.conv2d(images, filters), (2,))


class _Worker:
    """Answers requests and collects garbage now and then."""

    def __init__(self) -> None:
        self._num_answered = 0

    def answer(self, header: Header, payload: bytes) -> tuple[Header, bytes]:
        """Answer one request; whatever a sample's files make go wrong becomes a failure in the reply."""
        started = time.perf_counter()
        try:
            reply, tables = _import_sample(header, payload)
        except SubjectError as error:
            reply, tables = _failure(error.reason, error.detail), b""
        except Exception as error:  # foreign code: the files are the only cause of what goes wrong here
            reason = Reason.OUT_OF_MEMORY if is_starved(error) else Reason.METADATA_UNREADABLE
            reply, tables = _failure(reason, f"{type(error).__name__}: {error}"), b""
        self._num_answered += 1
        if self._num_answered % _COLLECT_EVERY == 0 or len(payload) > 1 << 20:
            gc.collect()
            gc.freeze()  # what is remembered of calls lives on: later collections need not walk it
        return {**reply, "seconds": time.perf_counter() - started}, tables


def _import_sample(header: Header, payload: bytes) -> tuple[Header, bytes]:
    from extract.foreign_sample import read_sample_files
    from storage.records import tables_to_bytes
    from storage.sample_records import sample_tables

    files = _split(header["files"], payload)
    sample = read_sample_files(files, header["imported_from"])
    tables = sample_tables(sample, files, header["imported_from"], header["digest"])
    signature = tables["graphs"].column("signature_sha256")[0].as_py()
    return {"model_name": sample.model_name, "signature_sha256": signature}, tables_to_bytes(tables)


def _split(sizes: Sequence[tuple[str, int]], payload: bytes) -> dict[str, str]:
    files: dict[str, str] = {}
    start = 0
    for name, size in sizes:
        try:
            files[name] = payload[start : start + size].decode("utf-8-sig")
        except UnicodeDecodeError as error:
            reason = Reason.TEXT_UNREADABLE if name == "model.py" else Reason.METADATA_UNREADABLE
            raise SubjectError("", reason, f"{name} is not UTF-8 (byte {error.start})") from error
        start += size
    return files


def _failure(reason: Reason, detail: str) -> Header:
    plain = " ".join(detail[: 10 * _DETAIL_CHARS].encode("utf-8", "replace").decode().split())
    return {"failure": {"reason": str(reason), "detail": plain[:_DETAIL_CHARS]}}


if __name__ == "__main__":
    main()
