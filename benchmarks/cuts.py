"""Cuts: random ranges of real graphs, bit for bit; is a range cut out and run alone what it is within the whole?

Graphs are drawn by seed from a corpus, those whose run is estimated at most `--max-flop` and `--max-bytes`. Each range
splits its graph into three pieces, which run in order (writes across a border allowed); their outputs must equal
the whole's. A range that is a subgraph of its own is also cut as one, respelled canonically, and run on the values
that the whole gave its operands: its results must be the whole's. Ranges that are none must say why.

The peer is the whole graph itself, so `ratio=` is the share of ranges without a difference (at most 1).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import torch

from benchmarks.report import make_parser, print_report, print_table
from extract.canonical_spelling import canonical_graph
from extract.cost import estimate_cost
from extract.cut import CutError, Cutter, cut_into
from extract.graph import Graph, Ref, TensorRef
from extract.hashing import graph_sha256
from extract.operands import operand_recipe
from extract.real_validation import same_bits
from extract.replay import replay
from storage.corpus import Corpus
from storage.records import graph_from_rows

MAX_RANGE_OPS = 64
SEED = 6


def draw_graphs(corpus: Corpus, count: int, max_flop: float, max_bytes: int) -> Iterator[tuple[str, Graph]]:
    """Yield (signature_sha256, graph) of `count` graphs within the bounds, in an order drawn by seed."""
    signatures = sorted(corpus.read("graphs", ["signature_sha256"]).column(0).to_pylist())
    random.Random(SEED).shuffle(signatures)
    for signature in signatures:
        if count == 0:
            return
        among = pc.field("signature_sha256") == signature
        (row,) = corpus.read("graphs", filters=among).to_pylist()
        (text,) = corpus.read("graph_texts", filters=among).to_pylist()
        nodes = corpus.read("nodes", filters=among).sort_by("index").to_pylist()
        graph = graph_from_rows(row, text["model_py"], nodes)
        cost = estimate_cost(graph)
        if len(graph.nodes) > 1 and cost.num_flop <= max_flop and cost.peak_bytes <= max_bytes:
            count -= 1
            yield signature, graph


def try_range(graph: Graph, cutter: Cutter, start: int, end: int, whole: Sequence[torch.Tensor]) -> str:
    """Return `equal`, the reason of an exclusion whose pieces are equal, or what differs; `whole` are the outputs."""
    boundaries = tuple(sorted({start, end} - {0, len(graph.nodes)}))
    values: dict[Ref, torch.Tensor] = dict(zip(_table(graph), operand_recipe(graph, SEED).make(), strict=True))
    alone = verdict = None
    torch.manual_seed(SEED)
    at = 0
    for piece in cut_into(graph, boundaries):
        if at == start:
            alone, verdict = _run_alone(cutter, start, end, values)
        made = replay(piece.graph, [values[ref] for ref in piece.operands])
        values.update(zip(piece.results, made, strict=True))
        if at == start and alone is not None and not all(map(same_bits, alone, made)):
            return "differs: the piece alone"
        at += len(piece.graph.nodes)
    if not all(map(same_bits, [values[ref] for ref in graph.outputs], whole)):
        return "differs: pieces in order"
    return verdict or "equal"


def _run_alone(
    cutter: Cutter, start: int, end: int, values: Mapping[Ref, torch.Tensor]
) -> tuple[tuple[torch.Tensor, ...] | None, str | None]:
    """Run a range as a subgraph on copies of its operands, the random state left as it was; or say why it is none."""
    try:
        piece = cutter.cut(start, end)
    except CutError as error:
        return None, error.reason
    if graph_sha256(canonical_graph(piece.graph)) != graph_sha256(piece.graph):
        return None, "differs: hash of the respelled piece"
    state = torch.get_rng_state()
    outputs = replay(piece.graph, [_copy(values[ref]) for ref in piece.operands])
    torch.set_rng_state(state)
    return outputs, None


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    """Copy a tensor with its strides and its place in its storage: kernels sum in an order that depends on both."""
    storage = tensor.untyped_storage().clone()
    return tensor.new_empty(0).set_(storage, tensor.storage_offset(), tensor.shape, tensor.stride())


def _table(graph: Graph) -> list[Ref]:
    return [TensorRef(index) for index in range(len(graph.tensors))]


def check_graph(graph: Graph, num_cuts: int, rng: random.Random) -> list[tuple[int, int, str]]:
    """Return (start, end, what became of it) of `num_cuts` random ranges of a graph."""
    torch.manual_seed(SEED)
    whole = replay(graph, operand_recipe(graph, SEED).make())
    cutter = Cutter(graph)
    found: list[tuple[int, int, str]] = []
    for _ in range(num_cuts):
        start = rng.randrange(len(graph.nodes))
        end = min(start + rng.randint(1, MAX_RANGE_OPS), len(graph.nodes))
        found.append((start, end, try_range(graph, cutter, start, end, whole)))
    return found


def main() -> None:
    """Draw, cut, compare, print."""
    parser = make_parser(__doc__)
    parser.add_argument("--corpus", type=Path, default=Path("data/corpus"))
    parser.add_argument("--graphs", type=int, default=100)
    parser.add_argument("--cuts-per-graph", type=int, default=10)
    parser.add_argument("--max-flop", type=float, default=5e9)
    parser.add_argument("--max-bytes", type=int, default=2**30)
    options = parser.parse_args()
    outcomes: Counter[str] = Counter()
    skipped: list[tuple[str, str]] = []
    different: list[tuple[str, int, int, str]] = []
    num_graphs = 0
    with Corpus.open(options.corpus) as corpus:
        for signature, graph in draw_graphs(corpus, options.graphs, options.max_flop, options.max_bytes):
            rng = random.Random(signature)
            try:
                for start, end, outcome in check_graph(graph, options.cuts_per_graph, rng):
                    outcomes[outcome] += 1
                    if outcome.startswith("differs"):
                        different.append((signature[:16], start, end, outcome))
                num_graphs += 1
            except (RuntimeError, IndexError, ValueError) as error:  # the whole itself does not run on drawn operands
                skipped.append((signature, f"{type(error).__name__}: {error}"[:200]))
    if not options.json:
        print_table(["outcome", "ranges"], sorted(outcomes.items()))
        if different:
            print_table(["graph", "start", "end", "outcome"], different)
        if skipped:
            print_table(["graph that does not run", "why"], skipped)
    num_ranges = outcomes.total()
    num_different = sum(count for outcome, count in outcomes.items() if outcome.startswith("differs"))
    figures: dict[str, Any] = {
        "num_graphs": num_graphs,
        "num_ranges": num_ranges,
        "num_different": num_different,
        "num_excluded": num_ranges - num_different - outcomes["equal"],
        "num_graphs_skipped": len(skipped),
        "outcomes": dict(outcomes),
    }
    print_report(figures, 1 - num_different / max(num_ranges, 1), as_json=options.json)


if __name__ == "__main__":
    main()
