"""A model that a source named, and the trace that came of it: the records that open the pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from extract.graph import Graph

Domain = Literal["nlp", "cv", "multimodal", "audio", "other"]


@dataclass(frozen=True, slots=True)
class ModelRef:
    """One model by its id (`timm/resnet18`: source, slash, the source's own name); None where the source is silent.

    The last fields say how true the trace is: the task `head`; why the default config had to be repaired; which
    modalities the forward takes, and which of them the program uses; which data inputs the program uses; how many
    values the tracer guessed (ours never does); the share of the parameters (tensors, tied ones once) that the program
    uses, and why not all; and what the Hub says of a repository: its task, downloads, and when it last changed (UTC).
    """

    model_id: str
    source: str
    framework: str = "torch"
    architecture: str | None = None
    family: str | None = None
    config_sha256: str | None = None
    revision: str | None = None
    domain: Domain | None = None
    licence: str | None = None
    gated: bool | None = None
    num_parameters: int | None = None
    traced_from: str | None = None
    head: str | None = None
    repairs: str | None = None
    modalities: tuple[str, ...] | None = None
    modalities_received: tuple[str, ...] | None = None
    inputs: tuple[str, ...] | None = None
    num_guesses: int | None = None
    parameters_used_frac: float | None = None
    unused_reason: str | None = None
    pipeline_tag: str | None = None
    downloads: int | None = None
    last_modified: datetime | None = None


@dataclass(frozen=True, slots=True)
class ValueRead:
    """A tensor's value read by Python during a trace: before which op, by what (`item`, `__bool__`, ...), and
    whether the value depends on a data input (then the program is one branch of the model)."""

    op_index: int
    method: str
    depends_on_input: bool


@dataclass(frozen=True, slots=True)
class Trace:
    """What one trace yields. `tensor_mode` is what it ran on: `meta`, `fake` or `real` tensors; `break_reason` what
    ended a part of Dynamo's, with file:line of the model's code, None where it ran to the end of a function. A graph
    from files of others has the tracer `foreign` and the mode `unknown`; seconds are None where nobody measured."""

    model: ModelRef
    graph: Graph
    tracer: Literal["function_mode", "dynamo", "foreign"]
    tensor_mode: Literal["meta", "fake", "real", "unknown"]
    value_reads: tuple[ValueRead, ...]
    torch_version: str
    build_seconds: float | None
    trace_seconds: float | None
    part: int = 0
    break_reason: str | None = None
