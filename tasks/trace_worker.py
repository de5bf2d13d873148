"""Bare-machine entry point: name models, trace them, compare tracers, validate graphs, one request at a time.

`python -m tasks.trace_worker` runs as the child of an `extract.sandbox.Sandbox` and needs torch, timm and pyarrow
alone. Requests (header, payload) and their replies:

- `{"do": "discover", "source": "timm", "heads": ["base"]}` -> `{"models": [fields of ModelRef, ...]}`
- `{"do": "trace", "model_id": ..., "max_params": null or int, "tracer": "function" or "dynamo", "first_part": int}` ->
  `{"fell_back": bool}` and the tables of the trace as Arrow streams: with the function mode those of part 0, which
  `fell_back` to real tensors or not; with Dynamo those of all its parts, from `first_part` on
- `{"do": "identify"}`, payload: configs of Hub repositories as JSON -> `{"identities": [fields of Identity, or
  {"failure": ...}, ...]}`; a request about a model of the Hub names its `config`, fields of ModelConfig
- `{"do": "crosscheck", "model_id": ..., "max_params": null or int}` -> `{"crosscheck": fields of Crosscheck}`
- `{"do": "validate", "level": "static", "fake" or "real"}`, payload: those tables -> `{}` and the table of verdicts;
  `max_bytes` and `max_flop` bound what `real` runs
- `{"do": "fidelity", "model_id": ..., "max_params": null or int}`, payload and bounds as above -> likewise

Modules named with --import, and code that comes with configs, are foreign: with any of them each request is answered in
a fork of its own.
An expected failure is `{"failure": {"reason": ..., "detail": ...}}`; a reply always has `seconds`, the wall time here.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from extract.failure import Reason, SubjectError, is_starved
from extract.sandbox_child import FDS_NAME, serve, take_pipes
from extract.sandbox_frames import Header

if TYPE_CHECKING:
    from extract.budget import RealBudget
    from extract.verdicts import Constraint, StoredGraph

_DETAIL_CHARS = 1000


def main(argv: Sequence[str] | None = None) -> None:
    """Serve the sandbox that started this process; exits with a usage message where there is none."""
    parser = argparse.ArgumentParser(prog="python -m tasks.trace_worker", description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--import", dest="modules", action="append", default=[], metavar="MODULE", help="import first (repeatable)"
    )
    parser.add_argument(
        "--trust-remote-code",
        action="store_true",
        help="execute the code that comes with configs; isolated children only",
    )
    parser.add_argument("--import-from", metavar="FOLDER", help="where such modules may be, beside the usual places")
    options = parser.parse_args(argv)
    if FDS_NAME not in os.environ:
        parser.error(f"{FDS_NAME} is not set: this is the child of a sandbox; start `passnet refresh` instead")
    pipes = take_pipes()
    prepare()
    if options.import_from:
        sys.path.append(options.import_from)
    _import_users(options.modules)
    if options.trust_remote_code:
        from extract.hub_source import trust_code

        trust_code()
    serve(pipes, answer, fork_each=bool(options.modules) or options.trust_remote_code)


def prepare() -> None:
    """Import what every request needs and freeze it, so that collecting garbage between models stays cheap."""
    import torch

    torch.set_num_threads(1)
    for name in ("extract.timm_source", "extract.model_tracing", "extract.validation", "storage.records"):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _import_users(modules: Sequence[str]) -> None:
    """Import the modules of the user; one that cannot be is the last word of this process."""
    for name in modules:
        try:
            importlib.import_module(name)
        except Exception as error:  # foreign code
            sys.exit(f"cannot import {name}: {type(error).__name__}: {error}")
    gc.collect()
    gc.freeze()


def answer(header: Header, payload: bytes) -> tuple[Header, bytes]:
    """Answer one request; whatever the model in it raises becomes a failure in the reply."""
    started = time.perf_counter()
    try:
        take_config(header)
        reply, reply_payload = _HANDLERS[header["do"]](header, payload)
    except (SystemExit, KeyboardInterrupt) as error:
        reply, reply_payload = {"failure": explain(error)}, b""
    except Exception as error:  # foreign code
        reply, reply_payload = {"failure": explain(error)}, b""
    restore_defaults()
    gc.collect()
    return {**reply, "seconds": time.perf_counter() - started}, reply_payload


def explain(error: BaseException) -> dict[str, str]:
    """Return the reason and the detail (one line) of what a model, or the step for it, raised."""
    if any(is_starved(cause) for cause in _causes(error)):
        said = error.detail if isinstance(error, SubjectError) else str(error)
        return _failure(Reason.OUT_OF_MEMORY, said or type(error).__name__)
    if isinstance(error, SubjectError):
        return _failure(error.reason, error.detail)
    if isinstance(error, SystemExit):
        return _failure(Reason.EXITED, f"SystemExit: {error.code}")
    return _failure(Reason.FORWARD_FAILED, f"{type(error).__name__}: {error}".removesuffix(": "))


def discover(header: Header, payload: bytes) -> tuple[Header, bytes]:
    """Name the models of a source."""
    from extract.sources import list_models

    models = list_models(header["source"], tuple(header.get("heads", ("base",))))
    return {"models": [asdict(model) for model in models]}, b""


def trace(header: Header, payload: bytes) -> tuple[Header, bytes]:
    """Trace one model and return its tables."""
    from extract.custom_ops import collect_custom_ops
    from extract.model_tracing import TraceConfig, trace_model
    from extract.real_tracing import trace_dynamo_parts
    from storage.records import join_parts, tables_to_bytes, trace_tables

    config = TraceConfig(max_params=header.get("max_params"), tracer=header.get("tracer", "function"))
    if config.tracer == "dynamo":
        parts = trace_dynamo_parts(header["model_id"], config, header.get("first_part", 0))
    else:
        parts = [trace_model(header["model_id"], config)]
    now = datetime.now(UTC)
    tables = join_parts([trace_tables(part, now, collect_custom_ops(part.graph)) for part in parts])
    fell_back = config.tracer == "function" and parts[0].tensor_mode == "real"
    return {"fell_back": fell_back}, tables_to_bytes(tables)


def identify(header: Header, payload: bytes) -> tuple[Header, bytes]:
    """Say which config each of the Hub's is."""
    from extract.hub_config import HubConfig
    from extract.hub_source import identify_configs

    configs = [HubConfig.read(fields) for fields in json.loads(payload)]
    identities = [
        {"failure": explain(identity)} if isinstance(identity, SubjectError) else asdict(identity)
        for identity in identify_configs(configs)
    ]
    return {"identities": identities}, b""


def crosscheck(header: Header, payload: bytes) -> tuple[Header, bytes]:
    """Trace one model with both tracers and return what the comparison found."""
    from extract.crosscheck import CrosscheckConfig
    from extract.crosscheck import crosscheck as compare

    return {
        "crosscheck": asdict(compare(header["model_id"], CrosscheckConfig(max_params=header.get("max_params"))))
    }, b""


def validate(header: Header, payload: bytes) -> tuple[Header, bytes]:
    """Return the verdicts on the graphs in the payload."""
    from extract.validation import validate as verdicts_on

    stored = stored_graph(payload)
    return _verdicts_reply(stored, verdicts_on(stored, header["level"], _budget(header)))


def fidelity(header: Header, payload: bytes) -> tuple[Header, bytes]:
    """Return the verdict on the graph in the payload against one of its models."""
    from extract.fidelity import FidelityConfig, check_fidelity

    stored = stored_graph(payload)
    config = FidelityConfig(_budget(header), header.get("max_params"))
    return _verdicts_reply(stored, [check_fidelity(stored, header["model_id"], config)])


def _verdicts_reply(stored: StoredGraph, verdicts: list[Constraint]) -> tuple[Header, bytes]:
    from storage.records import constraint_table, tables_to_bytes

    return {}, tables_to_bytes({"constraints": constraint_table(stored.hashes.signature_sha256, verdicts)})


def _budget(header: Header) -> RealBudget:
    from extract.budget import RealBudget

    given = {name: header[name] for name in ("max_bytes", "max_flop") if header.get(name) is not None}
    return RealBudget(**given)


def stored_graph(payload: bytes) -> StoredGraph:
    """Rebuild the graph of one trace's tables, beside what its rows say of it."""
    from extract.custom_ops import CustomOp
    from extract.hashing import GraphHashes
    from extract.model_ref import ValueRead
    from extract.verdicts import StoredGraph
    from storage.records import graph_from_rows, tables_from_bytes

    tables = tables_from_bytes(payload)
    row = tables["graphs"].to_pylist()[0]
    text = tables["graph_texts"].column("model_py")[0].as_py()
    nodes = tables["nodes"].to_pylist()
    return StoredGraph(
        graph=graph_from_rows(row, text, nodes),
        text=text,
        calls=tuple((node["op"], node["target"], node["literals"]) for node in nodes),
        hashes=GraphHashes(row["graph_sha256"], row["signature_sha256"], row["structure_sha256"]),
        value_reads=tuple(ValueRead(**read) for read in row["value_reads"]),
        custom_ops=tuple(CustomOp(**op) for op in tables["custom_ops"].to_pylist()),
    )


_HANDLERS = {
    "discover": discover,
    "identify": identify,
    "trace": trace,
    "crosscheck": crosscheck,
    "validate": validate,
    "fidelity": fidelity,
}


def take_config(header: Header) -> None:
    """Let the model that a request is about be built from the config that came with it."""
    if header.get("config") is not None:
        from extract.hub_config import ModelConfig
        from extract.hub_source import use_config

        use_config(header["model_id"], ModelConfig.read(header["config"]))


def restore_defaults() -> None:
    """Undo the global settings that a model's code most often changes, so that the next one starts alike."""
    import torch

    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_grad_enabled(True)


def _failure(reason: Reason, detail: str) -> dict[str, str]:
    plain = detail[: 10 * _DETAIL_CHARS].encode("utf-8", "replace").decode()
    return {"reason": str(reason), "detail": " ".join(plain.split())[:_DETAIL_CHARS]}


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


if __name__ == "__main__":
    main()
