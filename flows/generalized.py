"""What generalization made, for people: an instance in full, and what became of a subgraph."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import typer

from flows.looking import commented_text, name_matches
from flows.printing import human_bytes, print_fields, print_report

if TYPE_CHECKING:
    from extract.graph import Graph, OutputMeta, TensorMeta
    from storage.corpus import Corpus

_HASH_SHOWN = 16
_ROWS_SHOWN = 40
_MAX_DIGITS = 9
_MAX_ELEMENTS = 2**63 - 1  # torch counts in int64


def find_instance(corpus: Corpus, prefix: str) -> str | None:
    """Return the instance that a prefix of its hash means, None for none; raises UsageError for several."""
    from storage.errors import UsageError
    from storage.query import run_query

    found = [row["instance_sha256"] for row in run_query(corpus, "instance_hashes", {"prefix": prefix})]
    if len(found) > 1:
        named = name_matches([name[:_HASH_SHOWN] for name in found])
        raise UsageError(f"{prefix!r} means {len(found)} instances: {named}", "give one of these hashes")
    return found[0] if found else None


def show_instance(corpus: Corpus, prefix: str) -> bool:
    """Print the instance that a prefix means: its facts, its operands, its program; False where it means none.

    Raises UsageError where it means several, CorpusError where its recipe does not give it.
    """
    from extract.text import render
    from storage.instances import instance_rows, render_stored

    found = find_instance(corpus, prefix)
    if found is None:
        return False
    row, *others = instance_rows(corpus, found)
    graph = render_stored(corpus, row)
    print_fields(("what", "instance"), list(_facts(row, graph).items()), "instance")
    if others:
        names = ("subgraph_sha256", "model_id", "shape_config", "dtype")
        print_report(names, [[other[name] for name in names] for other in others], "the same as")
    operands = [
        (meta.name, meta.kind, meta.original_name, meta.dtype, meta.shape, meta.stride) for meta in graph.tensors
    ]
    print_report(("operand", "kind", "original_name", "dtype", "shape", "stride"), operands, "operands")
    for line in commented_text(render(graph), _comments(graph)):
        typer.echo(line)
    return True


def show_generalization(corpus: Corpus, subgraph_sha256: str) -> bool:
    """Print what became of a subgraph at other sizes and in other dtypes; False where it was not generalized."""
    from storage.query import run_query

    key: dict[str, object] = {"subgraph_sha256": subgraph_sha256}
    rows = run_query(corpus, "show_generalization", key)
    if not rows:
        return False
    (row,) = rows
    places = run_query(corpus, "show_instances", key)
    print_fields(("what", "generalization"), list(_generalization_facts(row).items()), "generalized")
    _print_places(places)
    _print_missing([place for place in places if place["instance_sha256"] is None])
    expressions = [(entry["place"], entry["expression"]) for entry in row["expressions"] or ()]
    if expressions:
        _print_first(("place", "expression"), expressions, "expressions")
    if row["constraints"]:
        _print_first(("constraint",), [(text,) for text in row["constraints"]], "constraints")
    return True


def show_at(corpus: Corpus, prefix: str, at: str) -> None:
    """Print the generalized subgraph that a prefix means at sizes such as `batch=3,height=160`.

    Raises UsageError where it means none or several, has no expressions, or nothing is known at these sizes.
    """
    from extract.text import render
    from mining.expression import ExpressionError
    from storage.errors import UsageError
    from storage.instances import render_at
    from storage.query import run_query

    rows = run_query(corpus, "show_generalization", {"subgraph_sha256": prefix})
    if len(rows) != 1:
        listed = f"passnet sql --corpus {corpus.root} 'SELECT subgraph_sha256 FROM generalizations'"
        make = f"; passnet generalize --corpus {corpus.root} makes what is missing" if not rows else ""
        raise UsageError(
            f"{prefix!r} means {len(rows)} generalized subgraphs", f"give the hash of one, see `{listed}`{make}"
        )
    (row,) = rows
    if row["expressions"] is None:
        why = ": ".join(filter(None, (row["symbolic_reason"], row["symbolic_detail"])))
        raise UsageError(f"subgraph {row['subgraph_sha256'][:_HASH_SHOWN]} has no expressions ({why})", "show another")
    sizes = _sizes(at)
    _check_axes(row, sizes, at)
    try:
        graph = render_at(corpus, row, sizes)
    except ExpressionError as error:
        remedy = f"see `passnet show --corpus {corpus.root} {prefix}` for axes and constraints"
        raise UsageError(f"--at {at}: {error}", remedy) from error
    largest = max((math.prod(meta.shape) for meta in graph.tensors), default=0)
    if largest > _MAX_ELEMENTS:
        raise UsageError(f"--at {at}: an operand would have {largest:,} elements", "ask for smaller sizes")
    for line in commented_text(render(graph), _comments(graph)):
        typer.echo(line)


def _check_axes(row: dict[str, Any], sizes: dict[str, int], at: str) -> None:
    from extract.shape_configs import AXES
    from storage.errors import UsageError

    texts = [*(entry["expression"] for entry in row["expressions"]), *row["constraints"]]
    words = {word for text in texts for word in re.findall(r"[a-z]+", text)}
    known = [axis for axis in AXES if axis in words | set(row["axes"])]
    missing = [axis for axis in known if axis in words and axis not in sizes]
    if missing and sizes.keys() <= set(known):
        form = ",".join(f"{axis}=SIZE" for axis in known)
        raise UsageError(f"--at {at}: no size for {', '.join(missing)}", f"write {form}")
    others = sorted(sizes.keys() - set(known))
    if others:
        raise UsageError(f"--at {at}: its sizes do not follow from {others[0]}", f"leave {others[0]} out")


def _sizes(text: str) -> dict[str, int]:
    from extract.shape_configs import AXES
    from storage.errors import UsageError

    sizes: dict[str, int] = {}
    for part in text.split(","):
        axis, _, size = (word.strip() for word in part.partition("="))
        form = f"write AXIS=SIZE, axes: {', '.join(AXES)}"
        if axis not in AXES:
            raise UsageError(f"--at {text!r}: {part.strip()!r} names no axis", form)
        if axis in sizes:
            raise UsageError(f"--at {text!r}: {axis} is given twice", form)
        if not (size.isascii() and size.isdecimal() and len(size) <= _MAX_DIGITS and int(size) >= 1):
            raise UsageError(f"--at {text!r}: {size[:20]!r} is no size of 1 to {10**_MAX_DIGITS - 1:,}", form)
        sizes[axis] = int(size)
    return sizes


def _facts(row: dict[str, Any], graph: Graph) -> dict[str, Any]:
    num_bytes, num_flop = row["num_bytes"], row["num_flop"]
    intensity = num_flop / num_bytes if num_bytes and num_flop is not None else None
    rebuilt = ", module made for the size" if row["is_rebuilt"] else ""
    return {
        "instance_sha256": row["instance_sha256"],
        "subgraph_sha256": row["subgraph_sha256"],
        "structure_sha256": row["structure_sha256"],
        "model": row["model_id"],
        "shape config": f"{row['shape_config']} of table {row['shape_table'] or 'unknown'}{rebuilt}",
        "dtype": row["dtype"],
        "sizes": _sizes_text(row["sizes"]),
        "cut from": f"ops [{row['base_start']}, {row['base_end']}) of graph {row['base_signature_sha256']}",
        "found at": f"ops [{row['start']}, {row['end']}) of variant {row['signature_sha256']}",
        "ops": len(graph.nodes),
        "literals changed": len(json.loads(row["overrides"])),
        "bytes moved at least": "unknown" if num_bytes is None else f"{num_bytes:,} ({human_bytes(num_bytes)})",
        "FLOP": "unknown" if num_flop is None else f"{num_flop:,.0f}",
        "arithmetic intensity": "unknown" if intensity is None else f"{intensity:.3g} FLOP/byte",
    }


def _generalization_facts(row: dict[str, Any]) -> dict[str, Any]:
    facts = {
        "model": row["model_id"],
        "cut from": f"ops [{row['start']}, {row['end']}) of graph {row['signature_sha256']}",
        "depends on a data input": row["depends_on_input"],
        "instances": row["num_instances"],
        "missing": row["num_missing"],
        "axes": ", ".join(row["axes"]) or "none",
    }
    if row["expressions"] is None:
        why = ": ".join(filter(None, (row["symbolic_reason"], row["symbolic_detail"])))
        return {**facts, "expressions": f"none, {why}"}
    checked = f"found on {row['num_samples']} sizes, true on {row['num_held_out']} more"
    predicted = f"{row['num_predicted']} told the values there before they were seen"
    return {**facts, "expressions": f"{len(row['expressions'])}, {checked}; {predicted}"}


def _print_places(places: Sequence[dict[str, Any]]) -> None:
    """Print a row per shape config: its sizes, and the instance in each dtype or why there is none."""
    from extract.shape_configs import DTYPES

    rows: dict[int, dict[str, Any]] = {}
    for place in places:
        row = rows.setdefault(place["shape_config"], {"config": place["shape_config"], "sizes": None})
        row["sizes"] = row["sizes"] or _sizes_text(place["sizes"])
        name = place["instance_sha256"]
        row[place["dtype"]] = place["reason"] if name is None else name[:_HASH_SHOWN]
    columns = ("config", "sizes", *DTYPES)
    print_report(columns, [[row.get(name) for name in columns] for row in rows.values()], "instances")


def _print_missing(places: Iterable[dict[str, Any]]) -> None:
    counts: dict[str, list[Any]] = {}
    for place in places:
        counts.setdefault(place["reason"], [place["reason"], 0, place["detail"]])[1] += 1
    if counts:
        rows = sorted(counts.values(), key=lambda row: (-row[1], row[0]))
        print_report(("reason", "missing", "detail (of the first)"), rows, "missing instances")


def _print_first(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str) -> None:
    more = f" (the first {_ROWS_SHOWN} of {len(rows)})" if len(rows) > _ROWS_SHOWN else ""
    print_report(columns, rows[:_ROWS_SHOWN], title + more)


def _sizes_text(sizes: dict[str, int | None] | None) -> str | None:
    """Return sizes as `batch=2 height=224`; None where none are known."""
    return " ".join(f"{axis}={size}" for axis, size in (sizes or {}).items() if size is not None) or None


def _comments(graph: Graph) -> list[str]:
    """Return for each op the shapes of operands that it is the first to take, and of what it returns where known."""
    from extract.graph import TensorRef

    comments: list[str] = []
    seen: set[int] = set()
    for node in graph.nodes:
        taken = dict.fromkeys(ref.index for ref in node.refs() if isinstance(ref, TensorRef) and ref.index not in seen)
        seen.update(taken)
        operands = [f"{graph.tensors[index].name} {_shape_text(graph.tensors[index])}" for index in taken]
        returned = ", ".join(_shape_text(output) for output in node.outputs)
        comments.append("; ".join(filter(None, (", ".join(operands), f"-> {returned}" if returned else ""))))
    return comments


def _shape_text(meta: TensorMeta | OutputMeta) -> str:
    return f"{meta.dtype}{list(meta.shape)}"
