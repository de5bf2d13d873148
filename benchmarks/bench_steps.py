"""A build of PassBench at the paper's size: how long its stages and SQL steps take, and the most memory that it held.

`python -m benchmarks.bench_steps` synthesises 279,000 instances (9,300 subgraphs, about 800 op sequences, ten shapes in
three dtypes) in a corpus of its own and builds in a child, as `passnet bench build --no-check` does: groups, selection
by hidden Markov models, leaks, both sides. `--rows` asks for another number, `--keep DIR` leaves the corpus. Then a
second child makes the groups of the same rows by plain loops (`peers/plain_groups.py`); exits with 1 where any differs.

`ratio=` is the seconds of the plain loops, their rows read before, over those of the SQL steps from Parquet to groups.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.peers import plain_groups
from benchmarks.report import make_parser, print_report, print_table
from passbench.choice import ChoiceConfig
from storage.bench_build import TaskBuild
from storage.bench_rows import BuildConfig
from storage.bench_steps import BENCH_TABLES, EVALUATION_STEPS, SIGMA, TRAINING_STEPS
from storage.corpus import Corpus
from storage.fingerprints import op_sequence_xxh3
from storage.queries import BENCH_VIEWS, query_text
from storage.records import rows_to_table

Row = dict[str, Any]
DTYPES = ("float32", "float16", "bfloat16")
SHAPES, ROWS, SEQUENCES, FAMILIES = 10, 279_000, 1_025, 400
_ROWS_PER_COMMIT = 30_000
_OPS = (
    "linear gelu add mul relu conv2d batch_norm layer_norm view permute reshape matmul softmax cat sigmoid silu".split()
)


def synthesise(root: Path, num_rows: int, seed: int = 0) -> None:
    """Write a corpus of models, subgraphs and instances alone; a few sequences have most of the subgraphs."""
    chance = random.Random(seed)
    sequences = [_sequence(chance) for _ in range(SEQUENCES)]
    num_subgraphs = num_rows // (SHAPES * len(DTYPES))
    weights = [1 / (rank + 3) for rank in range(SEQUENCES)]
    chosen = [*sequences, *chance.choices(sequences, weights, k=max(0, num_subgraphs - SEQUENCES))][:num_subgraphs]
    with Corpus.create(root) as corpus:
        models = [_model(number) for number in range(FAMILIES)]
        subgraphs = [_subgraph(number, kind, ops) for number, (kinds, ops) in enumerate(chosen) for kind in kinds]
        tables = {"models": rows_to_table("models", models), "subgraphs": rows_to_table("subgraphs", subgraphs)}
        corpus.commit(corpus.stage(tables, "mine"), "mine")
        rows: list[Row] = []
        for number, (_, ops) in enumerate(chosen):
            rows += _instances(number, ops, chance)
            if len(rows) >= _ROWS_PER_COMMIT or number == num_subgraphs - 1:
                corpus.commit(corpus.stage({"instances": rows_to_table("instances", rows)}, f"run-{number}"), "run")
                rows = []


def run_build(root: Path) -> Row:
    """Build as `passnet bench build --no-check` does; returns seconds in all and per stage, of each SQL step run again,
    rows, peak memory in MiB, and the hash of all groups."""
    stages: list[tuple[str, float]] = []
    with Corpus.open(root) as corpus, corpus.connect(BENCH_TABLES) as connection:
        begin = time.perf_counter()
        config = BuildConfig(ChoiceConfig(), SIGMA, checked=False)
        build = TaskBuild(connection, config, on_stage=lambda name: stages.append((name, time.perf_counter())))
        tables = build.make()
        total = time.perf_counter() - begin
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        ends = [*(started for _, started in stages[1:]), begin + total]
        took = {name: end - started for (name, started), end in zip(stages, ends, strict=True)}
        steps = {step: _time_step(connection, step) for step in (*BENCH_VIEWS, *EVALUATION_STEPS, *TRAINING_STEPS)}
        groups = connection.execute("SELECT task_id, kind FROM bench_groups").fetchall()
    rows = {table: found.num_rows for table, found in tables.items()}
    return {
        "seconds": total,
        "peak_mib": peak,
        "stages": took,
        "steps": steps,
        "rows": rows,
        "groups": _hash_of_groups(groups),
    }


def run_plain(root: Path) -> Row:
    """Make the groups of a corpus by plain loops; returns their seconds, without those of reading, and their hash."""
    with Corpus.open(root) as corpus, corpus.connect(BENCH_TABLES) as connection:
        columns = "subgraph_sha256, shape_config, instance_sha256, operands"
        instances = connection.sql(f"SELECT {columns} FROM instances").to_arrow_table().to_pylist()
        subgraphs = connection.sql("SELECT subgraph_sha256, kind, op_sequence_xxh3 FROM subgraphs").to_arrow_table()
    begin = time.perf_counter()
    found = plain_groups.groups(plain_groups.under_kinds(instances, subgraphs.to_pylist()), SIGMA)
    ids = [(group.task_id, group.kind) for group in found]
    return {"seconds": time.perf_counter() - begin, "groups": _hash_of_groups(ids)}


def main() -> None:
    """Synthesise, build in a child, make groups by plain loops in another, print."""
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--child", choices=_CHILDREN, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(_CHILDREN[arguments.child](arguments.keep)))
        return
    with tempfile.TemporaryDirectory() as folder:
        root = arguments.keep or Path(folder) / "corpus"
        if not root.exists():
            synthesise(root, arguments.rows)
        found, plain = (_run_child(name, root) for name in _CHILDREN)
    same = found.pop("groups") == plain.pop("groups")
    if not arguments.json:
        print_table(("stage", "s"), list(found["stages"].items()))
        print_table(("step", "s", "rows"), [(step, *figures) for step, figures in found["steps"].items()])
        print_table(("table", "rows"), list(found["rows"].items()))
    found |= {"plain_loops_s": plain["seconds"], "groups": "the same" if same else "DIFFERENT"}
    grouping = sum(found["steps"][step][0] for step in BENCH_VIEWS[: BENCH_VIEWS.index("bench_groups") + 1])
    print_report(found, plain["seconds"] / grouping, as_json=arguments.json)
    sys.exit(0 if same else 1)


_CHILDREN = {"build": run_build, "plain": run_plain}


def _run_child(name: str, root: Path) -> Row:
    command = [sys.executable, "-m", "benchmarks.bench_steps", "--child", name, "--keep", str(root)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _hash_of_groups(groups: list[tuple[str, str]]) -> str:
    return _sha256("\n".join(f"{task} {kind}" for task, kind in sorted(groups)))


def _time_step(connection: duckdb.DuckDBPyConnection, step: str) -> tuple[float, int]:
    begin = time.perf_counter()
    connection.execute(f"CREATE OR REPLACE TEMP TABLE again AS {query_text(step)}")
    seconds = time.perf_counter() - begin
    (count,) = connection.execute("SELECT count(*) FROM again").fetchone() or (0,)
    return seconds, count


def _sequence(chance: random.Random) -> tuple[tuple[str, ...], list[str]]:
    kinds = chance.choice((("fusible",), ("classical",), ("single_op",), ("fusible", "classical")))
    return kinds, chance.choices(_OPS, k=1 if kinds == ("single_op",) else chance.randint(4, 30))


def _subgraph(number: int, kind: str, ops: list[str]) -> Row:
    return {
        "subgraph_sha256": _sha256(f"subgraph {number}"),
        "kind": kind,
        "op_sequence": ops,
        "op_sequence_xxh3": op_sequence_xxh3(ops),
        "num_ops": len(ops),
        "num_inputs": len(ops) // 2 + 1,
        "connected": True,
    }


def _model(number: int) -> Row:
    return {
        "model_id": f"timm/{number}",
        "source": "timm",
        "framework": "torch",
        "family": f"family{number}",
        "domain": "cv",
    }


def _instances(number: int, ops: list[str], chance: random.Random) -> list[Row]:
    rows: list[Row] = []
    width = 2 ** chance.randint(3, 11)
    for config in range(SHAPES):
        batch, tokens = 4 * config + chance.randint(1, 4), chance.choice((49, 196, 197, 577, 1024))
        shapes = [(batch, tokens, width) if place % 3 == 0 else (width,) for place in range(len(ops) // 2 + 1)]
        rows += [_instance(number, config, dtype, shapes) for dtype in DTYPES]
    return rows


def _instance(number: int, config: int, dtype: str, shapes: list[tuple[int, ...]]) -> Row:
    return {
        "subgraph_sha256": _sha256(f"subgraph {number}"),
        "shape_config": config,
        "dtype": dtype,
        "instance_sha256": _sha256(f"{number} {dtype} {shapes}"),
        "structure_sha256": _sha256(f"structure {number}"),
        "model_id": f"timm/{number % FAMILIES}",
        "signature_sha256": _sha256(f"variant {number} {config}"),
        "start": 0,
        "end": 1,
        "operands": [{"kind": "input", "shape": shape, "stride": None, "dtype": dtype} for shape in shapes],
        "overrides": "[]",
    }


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    main()
