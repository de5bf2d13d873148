"""The command `passnet report profile`: the views over timings as one page, each figure beside the paper's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.reading import DEFAULT_CORPUS, CorpusOption

if TYPE_CHECKING:
    from flows.profile_page import Report
    from storage.corpus import Corpus

_SUFFIXES = (".html", ".htm")
_QUERIES = {
    "settings": """
        FROM profile_settings
        ORDER BY device_kind DESC, last_started_at DESC, device_id, environment_sha256, backend, cache
    """,
    "runs": """
        SELECT profile_runs.*, device_name
        FROM profile_runs LEFT JOIN environments USING (environment_sha256)
        ORDER BY started_at DESC, run_id, device_id
    """,
    "overhead": """
        SELECT profile_overhead.*, device_name
        FROM profile_overhead LEFT JOIN environments USING (environment_sha256)
        WHERE is_newest
        ORDER BY device_kind DESC, device_name, environment_sha256, latency_us, backend
    """,
    "histogram": "FROM profile_histogram ORDER BY ALL",
    "peaks": "FROM device_peaks",
    "paper": "FROM paper_profile",
}

report = typer.Typer(help="Write a report on what a corpus holds.", no_args_is_help=True)


@report.command(epilog="Example: passnet report profile --corpus data/corpus --out report.html")
def profile(
    corpus: CorpusOption = DEFAULT_CORPUS,
    out: Annotated[Path, typer.Option(help="The page.", metavar="FILE.html")] = Path("report.html"),
) -> None:
    """Write what `passnet profile` timed as one page: success, speedups, slowdowns and causes, precision, roofline.

    Each figure stands beside the paper's, and is a row of a view: passnet sql "FROM profile_speedups"
    """
    from flows.profile_page import notes, render_page
    from storage.corpus import Corpus
    from storage.errors import UsageError
    from storage.filesystem import explained

    if out.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"{out} does not end like a page", "name it .html")
    if not out.absolute().parent.is_dir():
        raise UsageError(f"{out.parent} is not a folder", "create it, or write elsewhere")
    opened = Corpus.open(corpus)
    if not opened.manifest().rows("timings"):
        raise UsageError(f"{opened.root} holds no timings", f"run `passnet profile --corpus {opened.root}` first")
    found = read_report(opened)
    page = render_page(found)
    with explained(out):
        out.write_text(page, encoding="utf-8")
    for note in notes(found):
        typer.echo(note)
    num_settings = len(found.compared)
    typer.echo(f"written to {out}: {num_settings} {'setting' if num_settings == 1 else 'settings'} beside eager")


def read_report(corpus: Corpus) -> Report:
    """Return the rows that the page shows, as of the newest manifest."""
    from flows.profile_page import Report
    from flows.profile_tables import TABLES, table_query
    from storage.query import run_queries

    manifest = corpus.manifest()
    rows = run_queries(corpus, _QUERIES | {table.view: table_query(table) for table in TABLES})
    return Report(
        corpus=str(corpus.root),
        manifest=f"manifest {manifest.number} of {manifest.created_at:%Y-%m-%d %H:%M} UTC",
        num_instances=manifest.rows("instances"),
        paper={(row["view"], row["row"], row["figure"]): row for row in rows["paper"]},
        tables={table.view: rows[table.view] for table in TABLES},
        **{name: rows[name] for name in ("settings", "runs", "overhead", "histogram", "peaks")},
    )
