"""What mining found, for people: one subgraph or pattern in full; a graph's folds or kernel curve as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.printing import print_fields, print_report
from flows.reading import DEFAULT_CORPUS, CorpusOption

if TYPE_CHECKING:
    from flows.curve_picture import Curve
    from storage.corpus import Corpus
    from storage.errors import UsageError

_PLACES_SHOWN = 10

plot = typer.Typer(help="Draw what a corpus holds.", no_args_is_help=True)


@plot.command(epilog="Example: passnet plot motifs timm/resnet18 --out motifs.svg")
def motifs(
    graph: Annotated[str, typer.Argument(help="Prefix of any of a graph's hashes, or a model id.", metavar="GRAPH")],
    out: Annotated[Path, typer.Option(help="The picture.", metavar="FILE.png|svg|pdf")] = Path("motifs.svg"),
    corpus: CorpusOption = DEFAULT_CORPUS,
) -> None:
    """Draw a graph's ops and the patterns that fold them, level by level."""
    from flows.looking import find_signature
    from flows.motifs import plot_motifs
    from mining.folding import parse
    from storage.corpus import Corpus
    from storage.errors import UsageError
    from storage.grammars import latest_grammar
    from storage.query import run_query

    opened = Corpus.open(corpus)
    signature = find_signature(opened, graph)
    stored = latest_grammar(opened)
    if stored is None:
        raise UsageError(f"{opened.root} holds no grammar", f"learn one: passnet mine --corpus {opened.root}")
    (row,) = run_query(opened, "show_text", {"signature_sha256": signature})
    (parsed,) = parse(stored.grammar, [row["op_sequence"]])
    plot_motifs(graph, row["op_sequence"], stored.grammar, parsed, out)
    typer.echo(f"drawn in {out}")


@plot.command(epilog="Example: passnet plot curve timm/resnet18 --target cuda:a30 --out curve.html")
def curve(
    graph: Annotated[str, typer.Argument(help="Prefix of any of a graph's hashes, or a model id.", metavar="GRAPH")],
    target: Annotated[str, typer.Option(help="Whose curve: cpu, cuda:a30, cuda:a100, ...")] = "cuda:a30",
    out: Annotated[Path, typer.Option(help="The picture.", metavar="FILE.svg|html|png|pdf")] = Path("curve.svg"),
    corpus: CorpusOption = DEFAULT_CORPUS,
) -> None:
    """Draw how many kernels a graph's first ops are compiled to, op by op, what adds to them, and the fusible ranges.

    In an SVG and in an HTML page, rest the mouse on an op to see why it has a kernel of its own.
    """
    from flows.curve_picture import plot_curve
    from flows.looking import find_signature
    from storage.corpus import Corpus
    from storage.query import run_query

    opened = Corpus.open(corpus)
    signature = find_signature(opened, graph)
    stored = _stored_curve(opened, signature, target)
    if stored is None:
        raise _no_curve(opened, graph, signature, target)
    sources = run_query(opened, "show_sources", {"signature_sha256": signature})
    models = list({row["model_id"]: None for row in sources}) or [graph]
    more = f" and {len(models) - 1} more" if len(models) > 1 else ""
    plot_curve(_headline(f"{models[0]}{more} on {target}", stored), stored, out)
    typer.echo(f"drawn in {out}")


def _headline(name: str, curve: Curve) -> str:
    last = curve.kernels[-1] if curve.kernels else 0
    kernels = "unknown kernels" if last is None else f"{last:,} kernels"
    num_fusible = sum(not plateau.is_too_long for plateau in curve.plateaus)
    text = f"{name}: {len(curve.kernels):,} ops, {kernels}, {num_fusible:,} fusible ranges"
    return text if curve.is_calibrated else f"{text} (uncalibrated)"


def _stored_curve(corpus: Corpus, signature_sha256: str, target: str) -> Curve | None:
    """Return a graph's curve for a target, the exact one of the scheduler's where there are several."""
    import pyarrow.compute as pc

    from flows.curve_picture import Curve, Step
    from storage.query import run_query

    own = (pc.field("signature_sha256") == signature_sha256) & (pc.field("target") == target)
    rows = corpus.read("kernel_curves", filters=own).to_pylist()
    if not rows:
        return None
    row = max(rows, key=lambda row: (row["counter"] == "scheduler", row["is_exact"], row["counter"]))
    own &= (pc.field("counter") == row["counter"]) & (pc.field("is_exact") == row["is_exact"])
    steps = corpus.read("fusion_boundaries", filters=own).sort_by("position").to_pylist()
    (graph,) = run_query(corpus, "show_text", {"signature_sha256": signature_sha256})
    fields = ("step", "reason", "detail", "other_op")
    up = [Step(step["position"] - 1, *(step[name] for name in fields)) for step in steps]
    return Curve(graph["op_sequence"], row["kernels"], up, row["is_calibrated"])


def _no_curve(corpus: Corpus, graph: str, signature_sha256: str, target: str) -> UsageError:
    """Say why a graph has no curve for a target: no such target, one that failed, or none made as yet."""
    import pyarrow.compute as pc

    from flows.curve_plan import check_targets
    from storage.errors import UsageError
    from storage.query import run_query

    if len(check_targets(target)) > 1:
        return UsageError(f"--target {target} names several", "give one: a picture shows one curve")
    (graph_row,) = run_query(corpus, "show_text", {"signature_sha256": signature_sha256})
    if not graph_row["op_sequence"]:
        return UsageError(f"{graph} has no ops, so no curve", "choose another graph")
    own = (pc.field("subject") == signature_sha256) & (pc.field("step") == "curve")
    failures = corpus.read("failures", ["reason", "detail"], own).to_pylist()
    for failure in failures:
        if failure["detail"].startswith(f"{target} ("):
            what = f"the curve of {graph} failed, {failure['reason']} ({failure['detail']})"
            return UsageError(what, "choose another graph or --target")
    return UsageError(
        f"{corpus.root} holds no curve of {graph} for {target}",
        f"make it: passnet curves --target {target} --corpus {corpus.root}",
    )


def show_subgraph(corpus: Corpus, prefix: str) -> bool:
    """Print the subgraphs (one or more kinds of one hash) that a prefix means; False where it means none.

    Raises UsageError where it means several hashes.
    """
    from flows.generalized import show_generalization
    from mining.subgraph import SINGLE_OP
    from storage.errors import UsageError
    from storage.query import run_query

    rows = run_query(corpus, "show_subgraphs", {"prefix": prefix})
    hashes = {row["subgraph_sha256"] for row in rows}
    if not rows:
        return False
    if len(hashes) > 1:
        named = ", ".join(f"{name[:16]}" for name in sorted(hashes)[:_PLACES_SHOWN])
        raise UsageError(f"{prefix!r} means {len(hashes)} subgraphs: {named}", "give one of these hashes")
    text = rows[0].pop("model_py")
    for row in rows:
        row.pop("model_py", None)
    print_fields(("what", *(row["kind"] for row in rows)), _turned(rows), "subgraph")
    key: dict[str, object] = {"subgraph_sha256": rows[0]["subgraph_sha256"], "limit": _PLACES_SHOWN}
    places = run_query(corpus, "show_occurrences", key)
    if places:
        print_report(list(places[0]), [list(place.values()) for place in places], "occurs in (the first)")
    typer.echo(text or "")
    if not show_generalization(corpus, hashes.pop()) and any(row["kind"] != SINGLE_OP for row in rows):
        typer.echo(f"not generalized as yet: passnet generalize --corpus {corpus.root}")
    return True


def show_pattern(corpus: Corpus, name: str) -> None:
    """Print one pattern of the grammar in use, `#n`; raises UsageError where there is none."""
    from storage.errors import UsageError
    from storage.query import run_query

    if not name[1:].isdecimal():
        raise UsageError(f"{name!r} is no pattern", "write # and its number, such as '#12'")
    rows = run_query(corpus, "show_pattern", {"symbol": int(name[1:])})
    if not rows:
        listed = f"passnet sql --corpus {corpus.root} 'FROM patterns'"
        raise UsageError(f"the grammar of {corpus.root} has no pattern {name}", f"see `{listed}`")
    row = rows[0]
    if not row["subgraphs"]:
        row["subgraphs"] = _why_none(row["length"])
    print_fields(("what", name), _turned([row]), "pattern")


def _why_none(num_ops: int) -> str:
    """Say why no subgraph has the op sequence of a pattern, where its length does."""
    from mining.grammar import MAX_OPS, MIN_OPS

    if num_ops > MAX_OPS:
        return f"none: longer than {MAX_OPS} ops: its parts are mined"
    return f"none: shorter than {MIN_OPS} ops" if num_ops < MIN_OPS else "none"


def _turned(rows: list[dict[str, Any]]) -> list[list[Any]]:
    """Return rows as columns, lists as text."""
    return [[name, *(_shown(row[name]) for row in rows)] for name in rows[0] if name != "kind"]


def _shown(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list) else value
