"""The instances of a corpus: how many there are of those wanted, what they take on disk, and whether they run.

`--run` instances drawn by seed are rendered from their recipes and run on the CPU, each in its three dtypes, with the
same seeded operands cast down: outputs must be finite, and those of half precision within
`profiles.instance_run.MAX_DISAGREEMENT` epsilons of float32's. Those that move more than `--run-bytes` are not drawn.

The peer is storing the text of each instance, as the public corpora do; `ratio=` is the bytes of these texts (of the
instances drawn, zstd like the corpus, each with the shapes of its operands) over those of the recipes on disk.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import torch

from benchmarks.report import make_parser, print_report, print_table
from extract.canonical_spelling import canonical_graph
from extract.cut import Cutter
from extract.graph import Graph
from extract.shape_configs import DTYPES
from extract.text import render as render_text
from mining.instance import render
from profiles.instance_run import MAX_DISAGREEMENT, disagreement, instance_recipe, run_in_dtypes
from storage.corpus import Corpus
from storage.instance_records import instance_from_row
from storage.payloads import graph_payloads
from storage.query import run_query
from storage.records import graph_from_payload

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """What running one subgraph at one shape gave: epsilons of disagreement by dtype, None where it did not run."""

    row: Row
    disagreements: dict[str, float]
    is_finite: bool
    error: str | None
    text_bytes: int


def main() -> None:
    """Measure, print the figures and, last, `ratio=`."""
    parser = make_parser(__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--run", type=int, default=300, help="instances to run")
    parser.add_argument("--run-bytes", type=float, default=2e8, help="draw none that moves more")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with Corpus.open(options.corpus) as corpus:
        summary, reasons = (list(run_query(corpus, f"generalize_{name}")) for name in ("summary", "reasons"))
        for rows in (summary, reasons):
            if rows:
                print_table(list(rows[0]), [list(row.values()) for row in rows])
                print()
        runs = list(_runs(corpus, options))
        on_disk, num_instances = _bytes_on_disk(corpus)
    for run in runs:
        if run.error or not run.is_finite or any(far > MAX_DISAGREEMENT for far in run.disagreements.values()):
            print("short", run.row["subgraph_sha256"][:16], run.row["shape_config"], run.error, run.disagreements)
    totals = summary[0] if summary else {}
    figures = {**totals, **_run_figures(runs), "bytes_per_100k_instances": 1e5 * on_disk / num_instances}
    texts = sum(run.text_bytes for run in runs) / max(len(runs), 1)
    print_report(figures, texts * num_instances / on_disk, as_json=options.json)


def _runs(corpus: Corpus, options: Any) -> Iterator[Run]:
    wanted = {"max_bytes": options.run_bytes}
    rows = [row for row in run_query(corpus, "instances_in_all_dtypes", wanted)]
    chosen = random.Random(options.seed).sample(rows, min(options.run, len(rows)))
    signatures = sorted({row["base_signature_sha256"] for row in chosen})
    graphs = {name: graph_from_payload(payload) for name, payload in graph_payloads(corpus, signatures)}
    stored = _stored_instances(corpus, chosen)
    for row in chosen:
        base = Cutter(graphs[row["base_signature_sha256"]]).cut(row["base_start"], row["base_end"]).graph
        sizes = {axis: size for axis, size in row["sizes"].items() if size is not None}
        rendered = {
            dtype: render(base, instance_from_row(stored[row["subgraph_sha256"], row["shape_config"], dtype],
                                                  row["base_start"], sizes))
            for dtype in DTYPES
        }  # fmt: skip
        yield _run(row, rendered, options.seed)


def _stored_instances(corpus: Corpus, chosen: Sequence[Row]) -> dict[tuple[str, int, str], Row]:
    import pyarrow.compute as pc

    among = pc.field("subgraph_sha256").isin(sorted({row["subgraph_sha256"] for row in chosen}))
    rows = corpus.read("instances", filters=among).to_pylist()
    return {(row["subgraph_sha256"], row["shape_config"], row["dtype"]): row for row in rows}


def _run(row: Row, rendered: dict[str, Graph], seed: int) -> Run:
    text = render_text(canonical_graph(rendered["float32"]))
    text += "".join(f"{meta.name} {meta.shape} {meta.dtype}\n" for meta in rendered["float32"].tensors)
    num_bytes = pa.compress(text.encode(), codec="zstd", asbytes=True)
    try:
        recipe = instance_recipe(rendered["float32"], seed)
        outputs = run_in_dtypes(rendered, seed, recipe)
    except Exception as error:  # foreign code
        return Run(row, {}, False, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}", len(num_bytes))
    floating = [tensor for made in outputs.values() for tensor in made if tensor.is_floating_point()]
    # A mask's lowest value overflows in no dtype; infinities that a program writes itself are on all sides alike.
    is_finite = all(not tensor.isnan().any() for tensor in floating)
    far = {dtype: disagreement(outputs["float32"], made, dtype) for dtype, made in outputs.items()}
    return Run(row, far, is_finite, None, len(num_bytes))


def _bytes_on_disk(corpus: Corpus) -> tuple[int, int]:
    shards = corpus.manifest().shards("instances")
    return sum((corpus.root / shard.path).stat().st_size for shard in shards), corpus.read(
        "instances", ["dtype"]
    ).num_rows


def _run_figures(runs: Sequence[Run]) -> dict[str, Any]:
    halves = [far for run in runs for dtype, far in run.disagreements.items() if dtype != "float32"]
    agreeing = [
        run
        for run in runs
        if run.error is None and run.is_finite and max(run.disagreements.values()) <= MAX_DISAGREEMENT
    ]
    return {
        "num_run": len(runs),
        "num_raised": sum(run.error is not None for run in runs),
        "num_finite": sum(run.is_finite for run in runs),
        "num_agreeing": len(agreeing),
        "median_epsilons": median(halves) if halves else None,
        "max_epsilons": max(halves, default=None),
        "errors": dict(Counter(run.error for run in runs if run.error)) or "none",
    }


if __name__ == "__main__":
    main()
