"""`passnet profile`: time instances on this machine's CPU or GPU, or hand them to a machine without a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from flows.local_run import ending_in_order, local_prefect, stop_on_signals
from flows.printing import print_table
from flows.profile_plan import DEFAULT_BACKENDS, MAX_BYTES, REQUEST_SECONDS
from flows.progress import Reporter, reporter_for
from flows.reading import DEFAULT_CORPUS, CorpusOption
from mining.subgraph import KINDS

if TYPE_CHECKING:
    from flows.profile_instances import ProfileSummary


def profile(
    corpus: CorpusOption = DEFAULT_CORPUS,
    device: Annotated[str, typer.Option(help="auto (a GPU where there is one), cpu or cuda:N.")] = "auto",
    backends: Annotated[str, typer.Option(help="Separated by commas; eager is always among them.")] = DEFAULT_BACKENDS,
    limit: Annotated[int | None, typer.Option(help="Instances drawn by --seed; again: the same ones.", min=1)] = None,
    kinds: Annotated[str, typer.Option(help="Kinds of subgraphs, separated by commas.")] = ",".join(KINDS),
    dtypes: Annotated[str, typer.Option(help="Separated by commas.")] = "float32,float16,bfloat16",
    models: Annotated[
        Path | None, typer.Option(help="File of model ids, one a line: only their instances.", metavar="FILE")
    ] = None,
    instances: Annotated[
        Path | None, typer.Option(help="File of instance hashes, one a line: only these.", metavar="FILE")
    ] = None,
    max_bytes: Annotated[int, typer.Option(help="Leave out instances that move more bytes.", min=1)] = MAX_BYTES,
    cache: Annotated[
        str, typer.Option(help="cold: operands are in no cache when a trial starts; warm: the same operands each time.")
    ] = "cold",
    threads: Annotated[int, typer.Option(help="Of torch on the CPU, pinned.")] = 1,
    seed: Annotated[int, typer.Option(help="Draws instances, operands and the order of trials.", min=0)] = 0,
    again: Annotated[bool, typer.Option("--again", help="Time again what was timed here before.")] = False,
    seconds: Annotated[float, typer.Option(help="For one instance under all backends.")] = REQUEST_SECONDS,
    write_shard: Annotated[
        Path | None, typer.Option(help="Time nothing; write the instances for another machine.", metavar="FILE")
    ] = None,
    take: Annotated[
        Path | None, typer.Option(help="Time nothing; take in what another machine timed.", metavar="FILE")
    ] = None,
) -> None:
    """Time instances in eager mode and under compiler backends, in turns, on this machine.

    Run it again to go on where it stopped. For a machine without a corpus: --write-shard S.parquet here, there
    `python -m tasks.profile_worker S.parquet O.parquet`, and --take O.parquet here.
    """
    chosen: dict[str, Any] = {"kinds": kinds, "dtypes": dtypes, "max_bytes": max_bytes, "limit": limit, "seed": seed}
    chosen |= {
        "models_file": str(models) if models else None,
        "instances_file": str(instances) if instances else None,
    }
    timed: dict[str, Any] = {"device": device, "backends": backends, "cache": cache, "threads": threads}
    timed |= {"again": again, "seconds": seconds}
    _check(corpus, chosen, timed, write_shard, take)
    if take is not None:
        _take(corpus, take)
    elif write_shard is not None:
        _write(corpus, write_shard, chosen)
    else:
        reporter = reporter_for(Console(stderr=True))
        stop_on_signals()
        with ending_in_order(reporter):
            summary = _run(reporter, corpus=str(corpus), **chosen, **timed)
        _show(summary)


def _check(
    corpus: Path, chosen: dict[str, Any], timed: dict[str, Any], write_shard: Path | None, take: Path | None
) -> None:
    """Refuse what cannot work before anything is written or started."""
    from flows.profile_plan import check_names, check_profile, make_choice
    from flows.refresh_plan import check_listed
    from storage.corpus import Corpus
    from storage.errors import UsageError

    if write_shard is not None and take is not None:
        raise UsageError("--write-shard and --take are two errands", "give one of them")
    check_profile(timed["cache"], timed["threads"], timed["seconds"])
    check_names("--backends", timed["backends"])
    make_choice(**chosen)
    with Corpus.open(corpus, write=write_shard is None) as opened:
        if chosen["models_file"] is not None:
            check_listed(opened, Path(chosen["models_file"]))
        if not opened.manifest().shards("instances"):
            raise UsageError(f"{corpus} has no instances", f"make some: passnet generalize --corpus {corpus}")


def _run(reporter: Reporter, *, corpus: str, **parameters: object) -> ProfileSummary:
    with local_prefect(corpus, reporter):
        from flows.profile_instances import profile as profile_flow

        return profile_flow(corpus=corpus, **parameters)  # pyright: ignore[reportArgumentType, reportCallIssue]


def _write(corpus: Path, path: Path, chosen: dict[str, Any]) -> None:
    from flows.profile_plan import make_choice
    from storage.corpus import Corpus
    from storage.errors import UsageError
    from storage.profile_candidates import find_candidates, stored_programs
    from tasks.profile_shard import ShardError, write_shard

    with Corpus.open(corpus) as opened:
        names = find_candidates(opened, make_choice(**chosen), "", (), "")
        try:
            num_written = write_shard(path, stored_programs(opened, names))
        except ShardError as error:
            raise UsageError(str(error), "give a file in a folder that can be written") from error
    typer.echo(f"{num_written:,} instances written to {path}")
    typer.echo(f"next, on the other machine: python -m tasks.profile_worker {path.name} timed.parquet")


def _take(corpus: Path, path: Path) -> None:
    from profiles.supervised import new_run_id
    from storage.corpus import Corpus
    from storage.errors import UsageError
    from tasks.profile_shard import ShardError, read_outcome

    try:
        tables = read_outcome(path)
    except ShardError as error:
        raise UsageError(str(error), "give the file that tasks.profile_worker wrote") from error
    with Corpus.open(corpus, write=True) as opened:
        known = set(opened.read("instances", ["instance_sha256"]).column(0).to_pylist())
        unknown = set(tables["timings"].column("instance_sha256").to_pylist()) - known
        if unknown:
            what = f"{path} has timings of {len(unknown):,} instances that {corpus} does not hold ({min(unknown)[:12]})"
            raise UsageError(what, "take them into the corpus that the shard was written from")
        run_id = new_run_id()
        staged = opened.stage(tables, run_id)
        num_new = staged.tables["timings"].num_rows if "timings" in staged.tables else 0
        opened.commit(staged, run_id)
        opened.write_catalogue()
    typer.echo(f"{num_new:,} of {tables['timings'].num_rows:,} timings taken in")


def _show(summary: ProfileSummary) -> None:
    if summary.backends:
        columns = list(summary.backends[0])
        rows = [[_shown(name, row[name]) for name in columns] for row in summary.backends]
        print_table(columns, rows, f"timed on {summary.device_id} in {summary.corpus}")
    for backend, reason in summary.missing:
        typer.echo(f"{backend} was left out: {reason}")
    left = f", {summary.num_left:,} are left" if summary.num_left else ""
    typer.echo(f"{summary.num_instances:,} instances timed now in {summary.seconds:.1f} s{left}")
    typer.echo(f"next: passnet report profile --corpus {summary.corpus} --out report.html")


def _shown(name: str, value: object) -> object:
    if isinstance(value, float):
        return f"{value:.1%}" if name.endswith("_frac") else f"{value:.2f}"
    return "" if value is None else value
