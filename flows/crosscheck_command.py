"""`passnet crosscheck`: trace models with both tracers, one request each in a killable child, and say who differs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.bounds import MAX_SECONDS
from flows.printing import print_table

_SHOWN = ("model_id", "conditions", "cause", "equal_graph", "equal_ops", "equal_output", "num_breaks", "detail")
_CONDITIONS = ("eager", "eager_judged", "compiling")
_DETAIL_CHARS = 200


def crosscheck(
    models: Annotated[Path | None, typer.Option(help="Text file of model ids, one a line, # for comments.")] = None,
    source: Annotated[
        str, typer.Option(help="Where models come from: starter, timm, transformers; several comma-separated.")
    ] = "starter",
    heads: Annotated[str, typer.Option(help="Heads of transformers' models, comma-separated.")] = "base",
    limit: Annotated[int | None, typer.Option(help="Only the first N models.", min=1)] = None,
    max_params: Annotated[int, typer.Option(help="Leave out models of more parameters.", min=0)] = 400_000_000,
    model_seconds: Annotated[
        float, typer.Option(help="Wall time that one model may take.", min=1.0, max=MAX_SECONDS)
    ] = 300.0,
    import_modules: Annotated[
        list[str] | None, typer.Option("--import", metavar="MODULE", help="Import first in each child (repeatable).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Also write the rows here.", metavar="FILE.parquet or FILE.csv")
    ] = None,
    corpus: Annotated[Path | None, typer.Option(help="Also keep the rows in this corpus.", metavar="DIR")] = None,
) -> None:
    """Compare the function mode with Dynamo, model by model, and explain each difference.

    Rows are kept after every few models, so a run that is stopped leaves those it made.

    Example: passnet crosscheck --source timm --limit 20 --out crosscheck.csv
    """
    import pyarrow as pa
    from rich.console import Console

    from flows.progress import reporter_for
    from flows.refresh_plan import choose_models
    from tasks.crosscheck import CrosscheckRun, WantedModels, compare_models
    from tasks.sandbox_pool import check_start

    choice = choose_models(source, models, limit, heads)
    wanted = WantedModels(choice.sources, choice.heads, choice.names, choice.limit)
    _check_out(out)
    check_start(import_modules or ())
    opened = _open_corpus(corpus)
    reporter = reporter_for(Console(stderr=True))
    try:
        run = CrosscheckRun(max_params, model_seconds, tuple(import_modules or ()))
        kept: list[pa.Table] = []

        def keep(rows: pa.Table) -> None:
            kept.append(rows)
            if out is not None:
                _write(pa.concat_tables(kept), out)
            if opened is not None:
                opened.commit(opened.stage({"crosschecks": rows}, run.run_id), run.run_id)

        compare_models(wanted, run, reporter, keep)
    finally:
        reporter.close()
        if opened is not None:
            opened.close()
    rows = [row for table in kept for row in table.to_pylist()]
    show(rows)
    if not any(row["equal_graph"] is not None for row in rows):
        typer.echo("passnet: no model could be compared; see the column detail", err=True)
        raise typer.Exit(1)


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print the models that differ, or could not be compared, and the shares of those compared."""
    different = [row for row in rows if row["cause"] is not None]
    if different:
        cells = [[row[name] for name in _SHOWN[:-1]] + [(row["detail"] or "")[:_DETAIL_CHARS]] for row in different]
        print_table(_SHOWN, cells, "differences")
    print_table(("what", "models", "share"), shares(rows), "agreement")


def shares(rows: Sequence[dict[str, Any]]) -> list[tuple[str, int, str]]:
    """Return (what, how many models, share of those compared), in the order in which to read them.

    A model's traces are compared under one condition after the other until their graphs are equal: those first equal
    under each add up to the equal ones.
    """
    compared = [row for row in rows if row["equal_graph"] is not None]
    causes = Counter(row["cause"] for row in rows if row["cause"] is not None)

    def count(what: str, number: int) -> tuple[str, int, str]:
        return what, number, f"{number / len(compared):.1%}" if compared else ""

    def equal(column: str) -> int:
        return sum(row[column] is True for row in compared)

    first = Counter(row["conditions"] for row in compared if row["equal_graph"] is True)
    return [
        ("models", len(rows), ""),
        count("compared", len(compared)),
        count("equal graph", equal("equal_graph")),
        *(count(f"first equal under {name}", first[name]) for name in _CONDITIONS if first[name]),
        *(count(column.replace("_", " "), equal(column)) for column in ("equal_structure", "equal_ops")),
        count("equal output of both graphs", equal("equal_output")),
        count("stored graph equals the module", equal("equal_eager")),
        *(count(f"cause: {cause}", number) for cause, number in sorted(causes.items())),
    ]


def _check_out(out: Path | None) -> None:
    """Refuse a file that cannot be written, before anything is traced."""
    from storage.errors import UsageError

    if out is None:
        return
    if out.suffix not in (".parquet", ".csv"):
        raise UsageError(f"--out {out} is neither .parquet nor .csv", "name a file with one of these endings")
    if not out.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {out.absolute().parent}", "name a file in a folder that exists")
    if out.is_dir() or not os.access(out.absolute().parent, os.W_OK):
        raise UsageError(f"--out {out} cannot be written", "name a file in a folder that you may write to")


def _open_corpus(corpus: Path | None) -> Any:
    from storage.corpus import Corpus

    return None if corpus is None else Corpus.create(corpus)


def _write(rows: Any, out: Path) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    from storage.filesystem import publish, temporary_name

    written = temporary_name(out)
    if out.suffix == ".csv":
        pyarrow.csv.write_csv(rows, written)
    else:
        pyarrow.parquet.write_table(rows, written)
    publish(written, out)
