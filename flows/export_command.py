"""`passnet export`: write graphs and instances of a corpus as sample directories of the public layout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from flows.looking import is_hex, name_matches
from flows.progress import Reporter, reporter_for
from flows.reading import DEFAULT_CORPUS, CorpusOption

if TYPE_CHECKING:
    from extract.graph import Graph
    from storage.corpus import Corpus
    from storage.export import Exported


def export(
    arguments: Annotated[
        list[str],
        typer.Argument(
            help="Prefix of a signature_sha256, graph_sha256 or instance_sha256, or a model id; then the folder to "
            "write. With --all or --limit the folder alone.",
            metavar="[HASH] PATH",
        ),
    ],
    corpus: CorpusOption = DEFAULT_CORPUS,
    everything: Annotated[bool, typer.Option("--all", help="Export every model, a folder each below PATH.")] = False,
    limit: Annotated[int | None, typer.Option(help="Export the first N models by id.", min=1)] = None,
) -> None:
    """Write graphs as sample directories (model.py, weight_meta.py, ...), which `passnet import` reads back.

    A model of several graphs becomes subgraph_0/, subgraph_1/, ...; an instance also has subgraph_sources.json. The
    folder appears whole or not at all.
    """
    from storage.corpus import Corpus
    from storage.errors import UsageError
    from storage.export import models_to_export
    from storage.sample_folders import check_free

    many = everything or limit is not None
    if len(arguments) != (1 if many else 2):
        expected = "the folder alone with --all or --limit" if many else "HASH and PATH"
        raise UsageError(f"export got {len(arguments)} arguments", f"give {expected}")
    path = Path(arguments[-1])
    check_free(path)
    opened = Corpus.open(corpus)
    instance = None if many else _find_instance(opened, arguments[0])
    if instance is not None:
        _write_instance(opened, path, instance)
        typer.echo(f"1 sample of instance {instance} in {path}")
        return
    models = models_to_export(opened, limit) if many else [_find(opened, arguments[0])]
    if not models:
        raise UsageError(f"{corpus} holds no graph", "fill it with `passnet refresh` or `passnet import`")
    reporter = reporter_for(Console(stderr=True))
    try:
        count = _write(opened, path, models, reporter, below=many)
    finally:
        reporter.close()
    typer.echo(f"{count:,} samples of {len(models):,} models in {path}")


def with_outputs(graph: Graph) -> Graph:
    """Return an instance with what its calls return, by one run on meta tensors; as it is where torch cannot tell."""
    if any(node.outputs for node in graph.nodes):
        return graph
    from extract.recorded_outputs import record_outputs
    from extract.spelling import UnknownCallable

    try:
        return record_outputs(graph)
    except (UnknownCallable, RuntimeError, ValueError, TypeError) as error:
        typer.echo(f"what its calls return is left out: {type(error).__name__}: {error}", err=True)
        return graph


def _write(corpus: Corpus, path: Path, models: Sequence[Sequence[Exported]], reporter: Reporter, *, below: bool) -> int:
    from storage.export import export_files, folder_of
    from storage.sample_folders import write_folder

    wanted = [item for parts in models for item in parts]
    several = {parts[0].model_id for parts in models if len(parts) > 1}
    reporter.begin(len(wanted), "exporting", "exported", "samples")

    def files() -> Iterator[tuple[str, str]]:
        for item, texts in export_files(corpus, wanted):
            folder = [folder_of(item.model_id)] if below else []
            folder += [f"subgraph_{item.part}"] if item.model_id in several else []
            for name, text in texts.items():
                yield "/".join([*folder, name]), text
            reporter.advance(item.model_id, False)

    write_folder(path, files())
    return len(wanted)


def _find_instance(corpus: Corpus, name: str) -> str | None:
    """Return the instance that a prefix means; None where it means none, or a graph."""
    from flows.generalized import find_instance
    from storage.query import run_query

    prefix = name.strip().lower()
    if not is_hex(prefix) or run_query(corpus, "show_by_hash", {"prefix": prefix}):
        return None
    return find_instance(corpus, prefix)


def _write_instance(corpus: Corpus, path: Path, instance_sha256: str) -> None:
    from storage.export import instance_files
    from storage.instances import instance_rows, render_stored
    from storage.sample_folders import write_folder

    row = instance_rows(corpus, instance_sha256)[0]
    graph = with_outputs(render_stored(corpus, row))
    write_folder(path, instance_files(corpus, row, graph).items())


def _find(corpus: Corpus, name: str) -> list[Exported]:
    """Return the graph of a hash's prefix, or all parts of a model; raises UsageError for none and for several."""
    from storage.errors import UsageError
    from storage.export import Exported
    from storage.query import run_query

    wanted = name.strip()
    prefix = wanted.lower()
    found = run_query(corpus, "show_by_hash", {"prefix": prefix}) if is_hex(prefix) else []
    found = [
        row for row in found if row["signature_sha256"].startswith(prefix) or row["graph_sha256"].startswith(prefix)
    ]
    if len(found) > 1:
        listed = name_matches([f"{row['signature_sha256'][:16]} ({row['model_id']})" for row in found])
        raise UsageError(f"{name!r} means {len(found)} graphs: {listed}", "give one of these hashes")
    if found and found[0]["model_id"] is not None:
        signature = found[0]["signature_sha256"]
        (source,) = run_query(corpus, "export_source_of", {"signature_sha256": signature})
        return [Exported(**source)]
    parts = run_query(corpus, "export_by_model", {"model_id": wanted}) if wanted else []
    models = list(dict.fromkeys(row["model_id"] for row in parts))
    if not models and is_hex(prefix) and run_query(corpus, "show_subgraphs", {"prefix": prefix}):
        what = f"{name} is a subgraph, whose sizes are those of its instances"
        raise UsageError(what, f"export an instance: passnet show --corpus {corpus.root} {name} lists them")
    if not models:
        what = f"no graph, instance or model of {corpus.root} is called {name!r}"
        raise UsageError(what, f"see `passnet sql --corpus {corpus.root} 'FROM graph_sources'`")
    if len(models) > 1:
        raise UsageError(f"{name!r} means {len(models)} models: {name_matches(models)}", "give one of these ids")
    return [Exported(**row) for row in parts]
