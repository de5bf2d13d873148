"""The files of a sample, ours or a foreign one of any age, to a graph and what else the files say.

Files that we wrote give back the graph field by field. Foreign ones (or ours, edited since) are read leniently: the
text by `extract.foreign_text`, the arguments by `extract.foreign_operands`, shapes inferred on meta tensors. Files
are parsed, never executed; run it in a sandboxed child all the same: a text can also be hostile to the parser itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from extract.call_forms import FormedCall, form_calls
from extract.custom_schemas import TORCH_NAMESPACES
from extract.failure import Reason, SubjectError
from extract.foreign_autocast import has_autocast, with_explicit_casts
from extract.foreign_operands import read_operands
from extract.foreign_program import Finding, Inferred, infer_graph
from extract.foreign_source import ForeignSource, read_source
from extract.foreign_text import read_calls
from extract.graph import Graph
from extract.hashing import GraphHashes, hash_graph
from extract.model_ref import Domain
from extract.op_tables import load_op_names
from extract.sample import facts_of, graph_from_files, own_digest
from extract.sample_metadata import DynamicSizes, SampleError, read_dynamic_sizes, read_metadata
from extract.text import TextError, parse, render

_DOMAINS: dict[str, Domain] = {
    "nlp": "nlp", "cv": "cv", "computer_vision": "cv", "multimodal": "multimodal", "audio": "audio", "other": "other",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReadSample:
    """A sample as its files tell it.

    `facts` are the keys of graph_net.json that are not ours, `provenance` what our export noted of the graph's
    source (empty for foreign files), `symbols` the numbers put in place of dynamic sizes, `finding` why some shapes
    are unknown. `calls` are the graph's, where they were formed already.
    """

    graph: Graph
    hashes: GraphHashes
    is_ours: bool
    facts: Mapping[str, Any]
    provenance: Mapping[str, Any] = field(default_factory=dict[str, Any])
    symbols: Mapping[str, int | float | bool] = field(default_factory=dict[str, Any])
    finding: Finding | None = None
    calls: Sequence[FormedCall] | None = None

    @property
    def model_name(self) -> str | None:
        """The model's name in graph_net.json; None where it has none."""
        name = self.facts.get("model_name")
        return name if isinstance(name, str) and name.strip() else None

    @property
    def domain(self) -> Domain | None:
        """The domain that the files state; None where they state none of ours."""
        stated = self.provenance.get("domain") or self.facts.get("domain") or self.facts.get("heuristic_tag")
        return _DOMAINS.get(stated) if isinstance(stated, str) else None


def read_sample_files(files: Mapping[str, str], subject: str) -> ReadSample:
    """Return what a sample's files say; raises `SubjectError`: sample_incomplete, text_unreadable,
    metadata_unreadable."""
    if "model.py" not in files:
        raise SubjectError(subject, Reason.SAMPLE_INCOMPLETE, "model.py is missing")
    try:
        facts = facts_of(files.get("graph_net.json", "{}"))
        ours = facts.pop("passnet", None)
        if isinstance(ours, dict):
            own = _own_graph(files, ours)
            if own is not None:
                provenance = ours.get("provenance")
                return ReadSample(*own, True, facts, provenance if isinstance(provenance, dict) else {})
        return _read_foreign(files, facts)
    except TextError as error:
        raise SubjectError(subject, Reason.TEXT_UNREADABLE, f"model.py: {error}") from error
    except SampleError as error:
        raise SubjectError(subject, Reason.METADATA_UNREADABLE, str(error)) from error


def _own_graph(files: Mapping[str, str], ours: Mapping[str, Any]) -> tuple[Graph, GraphHashes] | None:
    """Return the graph of files that are as we wrote them; None where they were edited since."""
    if ours.get("files_sha256") != own_digest(files, ours):
        return None
    try:
        graph = graph_from_files(files)
        hashes = hash_graph(graph)
    except (SampleError, TextError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return None
    stated = (ours.get("graph_sha256"), ours.get("signature_sha256"), ours.get("structure_sha256"))
    computed = (hashes.graph_sha256, hashes.signature_sha256, hashes.structure_sha256)
    if stated != computed:
        return None
    _check_targets(graph)
    return graph, hashes


def _read_foreign(files: Mapping[str, str], facts: Mapping[str, Any]) -> ReadSample:
    source = read_source(files["model.py"])
    records = read_metadata(files.get("input_meta.py", ""), "input_meta.py")
    records |= read_metadata(files.get("weight_meta.py", ""), "weight_meta.py")
    operands = read_operands(source.arguments, records, _dynamic_sizes(files))
    inferred = _with_casts(infer_graph(read_calls(source, operands.values), operands.tensors))
    if any(node.target not in load_op_names() for node in inferred.graph.nodes):
        _check_written(inferred.graph)
        _check_targets(inferred.graph)
    used = _used_symbols(source, operands.symbols)
    graph, calls = inferred.graph, inferred.calls
    hashes = hash_graph(graph, calls)
    return ReadSample(graph, hashes, False, facts, symbols=used, finding=inferred.finding, calls=calls)


def _with_casts(inferred: Inferred) -> Inferred:
    """Put explicit casts in the place of autocast regions, where these can be followed."""
    if not has_autocast(inferred.graph):
        return inferred
    try:
        graph = with_explicit_casts(inferred.graph)
    except (SubjectError, RuntimeError, ValueError, TypeError):
        return inferred
    return inferred if graph is None else Inferred(graph, form_calls(graph.nodes), None)


def _dynamic_sizes(files: Mapping[str, str]) -> DynamicSizes:
    """Read the constraints where they can be read: they are optional."""
    try:
        return read_dynamic_sizes(files.get("input_tensor_constraints.py", ""))
    except SampleError:
        return DynamicSizes()


def _used_symbols(source: ForeignSource, symbols: Mapping[str, Any]) -> dict[str, Any]:
    names = {argument.name for argument in source.arguments}
    stated = {name: value for name, value in symbols.items() if name not in names}
    return {**stated, **{name: value for name, value in symbols.items() if name in names}}


def _check_targets(graph: Graph) -> None:
    """Refuse ops of torch's own namespaces that there are not: by name they would pass for those that there are."""
    for target in {node.target for node in graph.nodes if node.target.startswith("torch.ops.")}:
        if not _is_op(*target.split(".")[2:]):
            raise TextError(f"torch has no op {target}")


def _is_op(namespace: str, name: str = "", overload: str = "", *further: str) -> bool:
    """Tell whether there is such an op; those of other namespaces are taken at their word."""
    if not name or further:
        return False
    if namespace not in TORCH_NAMESPACES:
        return True
    packet = getattr(getattr(torch.ops, namespace), name, None)
    return packet is not None and (not overload or overload in packet.overloads())


def _check_written(graph: Graph) -> None:
    """Refuse a program that our own text cannot hold: what is stored must read back."""
    try:
        back = parse(render(graph), graph.tensors)
        same = [(node.op, node.target, node.args, node.kwargs) for node in back.nodes]
    except (TextError, RecursionError) as error:
        raise TextError(f"the program cannot be written as ours: {error}") from error
    if repr(same) != repr([(node.op, node.target, node.args, node.kwargs) for node in graph.nodes]):
        raise TextError("the program cannot be written as ours: it reads back as another")
