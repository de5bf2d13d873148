"""Commands that read or tidy a corpus as tables: `sql`, `tables`, `fsck`, `compact`, `diff`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows.printing import human_bytes, print_csv, print_json, print_table

CorpusOption = Annotated[Path, typer.Option("--corpus", help="Folder of the corpus.", metavar="DIR")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print a JSON array of objects.")]
DEFAULT_CORPUS = Path("data/corpus")


def sql(
    query: Annotated[
        str | None, typer.Argument(help="One SELECT; `-` reads it from standard input.", metavar="SQL")
    ] = None,
    corpus: CorpusOption = DEFAULT_CORPUS,
    stock: Annotated[
        str | None, typer.Option("--stock", help="Run a query of docs/queries.md; `list` lists them.", metavar="NAME")
    ] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="Parameter of the stock query.", metavar="NAME=VALUE")
    ] = None,
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Run one SELECT over the tables of a corpus (DuckDB SQL, read-only), or a stock query by name."""
    from storage.corpus import Corpus
    from storage.errors import UsageError
    from storage.query import run_sql
    from storage.stock import parameter_values, stock_query

    if as_json and as_csv:
        raise UsageError("--json and --csv exclude each other", "give one of them")
    if (query is None) == (stock is None):
        raise UsageError("give either SQL or --stock", "see `passnet sql --help`; `passnet sql --stock list`")
    if assignments and stock in (None, "list"):
        raise UsageError("--set is for stock queries", "name one with --stock")
    printer = print_json if as_json else print_csv if as_csv else print_table
    if stock == "list":
        printer(["name", "title", "parameters"], _stock_rows())
        return
    if stock is not None:
        chosen = stock_query(stock)
        variables = parameter_values(chosen, assignments or [])
        answer = run_sql(Corpus.open(corpus), chosen.sql, variables)
    else:
        text = typer.get_text_stream("stdin").read() if query == "-" else query or ""
        answer = run_sql(Corpus.open(corpus), text)
    printer(answer.columns, answer.rows)


def _stock_rows() -> list[list[object]]:
    from storage.stock import STOCK_QUERIES, stock_query

    queries = [stock_query(name) for name in STOCK_QUERIES]
    return [
        [query.name, query.title, ", ".join(f"{known.name}={known.default}" for known in query.parameters)]
        for query in queries
    ]


def tables(
    table: Annotated[str | None, typer.Argument(help="Describe the columns of this table.")] = None,
    corpus: CorpusOption = DEFAULT_CORPUS,
    columns: Annotated[bool, typer.Option("--columns", help="Describe the columns of every table.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the tables of a corpus: rows, bytes, and what they hold."""
    from storage.catalogue import duckdb_type
    from storage.corpus import Corpus
    from storage.errors import UsageError
    from storage.schemas import KEYS, SCHEMAS, TABLE_DESCRIPTIONS, describe

    if table is not None and table not in SCHEMAS:
        raise UsageError(f"there is no table {table!r}", f"choose one of {', '.join(SCHEMAS)}")
    manifest = Corpus.open(corpus).manifest()
    if table is not None or columns:
        names = ["table", "column", "type", "key", "description"]
        rows: list[list[object]] = [
            [name, field.name, duckdb_type(field.type), "key" if field.name in KEYS[name] else "", describe(field)]
            for name in ([table] if table else SCHEMAS)
            for field in SCHEMAS[name]
        ]
        title = None
    else:
        names = ["table", "rows", "bytes", "shards", "columns", "description"]
        sizes = {name: sum(shard.bytes for shard in manifest.shards(name)) for name in SCHEMAS}
        rows = [
            [
                name,
                manifest.rows(name),
                sizes[name] if as_json else human_bytes(sizes[name]),
                len(manifest.shards(name)),
                len(SCHEMAS[name]),
                TABLE_DESCRIPTIONS[name],
            ]
            for name in SCHEMAS
        ]
        title = f"{corpus}, manifest {manifest.number} of {manifest.created_at:%Y-%m-%d %H:%M} UTC"
    if as_json:
        print_json(names, rows)
    else:
        print_table(names, rows, title)


def fsck(
    corpus: CorpusOption = DEFAULT_CORPUS,
    deep: Annotated[bool, typer.Option("--deep", help="Also hash every file and graph again.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Check a corpus against itself; lists what is wrong and exits with 1 if anything is."""
    from storage import fsck as checking
    from storage.corpus import Corpus

    opened = Corpus.open_unchecked(corpus)
    findings = checking.fsck(opened, deep=deep)
    if as_json:
        print_json(["subject", "problem"], [(finding.subject, finding.problem) for finding in findings])
    for finding in findings if not as_json else ():
        typer.echo(f"{finding.subject}: {finding.problem}")
    if findings:
        typer.echo(f"passnet: {len(findings)} findings in {corpus}; restore the files named, or refresh anew", err=True)
        raise typer.Exit(1)
    manifest = opened.manifest()
    if not as_json:
        kind = "deep check" if deep else "quick check"
        typer.echo(f"{corpus} is sound ({kind}, manifest {manifest.number}, {manifest.rows('graphs')} graphs)")


def compact(
    corpus: CorpusOption = DEFAULT_CORPUS,
    expire: Annotated[bool, typer.Option("--expire", help="Also drop older manifests and their files.")] = False,
) -> None:
    """Merge the shards of a corpus into few; older manifests stay readable unless --expire is given."""
    from storage.corpus import Corpus

    with Corpus.open(corpus, write=True) as opened:
        before = opened.manifest()
        after = opened.compact(expire=expire)
    typer.echo(f"{corpus}: {len(before.paths())} shards before, {len(after.paths())} now (manifest {after.number})")


def diff(
    first: Annotated[Path, typer.Argument(help="A corpus.")],
    second: Annotated[Path, typer.Argument(help="Another corpus.")],
) -> None:
    """Say what two corpora differ in, times and run ids left out; exits with 1 if they do."""
    from storage.comparison import differences
    from storage.corpus import Corpus

    lines = differences(Corpus.open(first), Corpus.open(second))
    for line in lines:
        typer.echo(line)
    if lines:
        raise typer.Exit(1)
    typer.echo("no difference")
