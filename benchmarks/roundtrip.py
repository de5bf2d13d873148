"""Export graphs of corpora as sample directories, import them into an empty corpus, and compare.

`python -m benchmarks.roundtrip CORPUS... --limit 250` takes the first models of each corpus; `--kept FOLDER` keeps
what was written there, and `--imported CORPUS` compares an import made before instead. `ratio=` is the share of the
graphs whose rows in graphs, graph_texts and nodes (every column, the three hashes among them) are equal.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.report import make_parser, print_report
from flows.cli import run
from storage.corpus import Corpus

TABLES = ("graphs", "graph_texts", "nodes")


def main(argv: Sequence[str] | None = None) -> None:
    """Run it; the last line is `ratio=<equal share>`."""
    parser = make_parser(__doc__)
    parser.add_argument("corpora", nargs="+", type=Path, metavar="CORPUS")
    parser.add_argument("--limit", type=int, default=250, help="models of each corpus")
    parser.add_argument("--kept", type=Path, help="a new folder for the samples and the corpus")
    parser.add_argument("--imported", type=Path, help="compare this import of the corpora's samples")
    options = parser.parse_args(argv)
    figures: dict[str, float | int] = {}
    with _folder(options.kept) as folder:
        imported = options.imported or folder / "imported"
        if options.imported is None:
            figures |= _round(options.corpora, folder, options.limit)
        after = Corpus.open(imported)
        expected = set(after.read("graphs", ["signature_sha256"]).column(0).to_pylist())
        different: set[str] = set()
        found: set[str] = set()
        for corpus in options.corpora:
            before = Corpus.open(corpus)
            here = expected & set(before.read("graphs", ["signature_sha256"]).column(0).to_pylist())
            found |= here
            different |= different_graphs(before, after, sorted(here))
        figures |= {"samples": after.manifest().rows("samples"), "graphs": len(expected)}
        figures |= {"unknown_graphs": len(expected - found), "different_graphs": len(different)}
    equal = len(expected) - len(different | (expected - found))
    print_report(figures, equal / max(len(expected), 1), as_json=options.json)


def different_graphs(before: Corpus, after: Corpus, signatures: Sequence[str], chunk: int = 40) -> set[str]:
    """Return the signatures whose rows differ in any column of any table."""
    different: set[str] = set()
    for start in range(0, len(signatures), chunk):
        some = list(signatures[start : start + chunk])
        for table in TABLES:
            rows = [_rows(corpus, table, some) for corpus in (before, after)]
            if not rows[0].equals(rows[1]):
                different |= {name for name in some if _told(rows[0], name) != _told(rows[1], name)}
    return different


def _rows(corpus: Corpus, table: str, signatures: list[str]) -> pa.Table:
    keys = [("signature_sha256", "ascending")] + ([("index", "ascending")] if table == "nodes" else [])
    rows = corpus.read(table, filters=pc.field("signature_sha256").isin(signatures))
    return rows.sort_by(keys).combine_chunks()


def _told(rows: pa.Table, signature: str) -> str:
    """The rows of one graph as text: NaN equals NaN, 1 is not 1.0."""
    return repr(rows.filter(pc.field("signature_sha256") == signature).to_pylist())


def _round(corpora: Sequence[Path], folder: Path, limit: int) -> dict[str, float | int]:
    started = time.perf_counter()
    for number, corpus in enumerate(corpora):
        _must(["export", "--corpus", str(corpus), "--limit", str(limit), str(folder / "samples" / str(number))])
    exported = time.perf_counter()
    _must(["import", "--corpus", str(folder / "imported"), str(folder / "samples")])
    return {"export_s": exported - started, "import_s": time.perf_counter() - exported}


def _must(arguments: list[str]) -> None:
    if run(arguments) != 0:
        raise SystemExit(f"passnet {' '.join(arguments)} failed")


@contextlib.contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        kept.mkdir(parents=True)
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="passnet-roundtrip-") as folder:
        yield Path(folder)


if __name__ == "__main__":
    main()
