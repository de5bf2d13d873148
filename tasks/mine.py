"""One shard of stored graphs to staged subgraphs: read, parse by the grammar, cut, write.

Cutting is plain Python over our own records: it runs in worker processes, which read the corpus themselves and send
Arrow streams back. `learn_grammar` reads op sequences alone.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pyarrow.compute as pc
from prefect import task
from prefect.cache_policies import NO_CACHE

from extract.canonical import mutated_operands
from extract.graph import Node
from extract.literals import arguments_from_json
from mining.folding import FoldingConfig, fold, parse
from mining.grammar import MAX_OPS, MIN_OPS, Grammar, grammar_id, outermost_spans
from mining.subgraph import CLASSICAL, SINGLE_OP, Exclusion, Mined, Subgraph, cut_ranges
from storage.corpus import Corpus, Staged
from storage.fingerprints import op_sequence_xxh3
from storage.grammars import StoredGrammar, grammar_tables
from storage.query import run_query
from storage.records import graph_from_rows, rows_to_table, tables_from_bytes, tables_to_bytes

_WATCH_SECONDS = 1.0


class HasOps(Protocol):
    """What a shard is measured by."""

    @property
    def op_names(self) -> tuple[str, ...]:
        """Canonical op names in recorded order."""
        ...


Graphs = TypeVar("Graphs", bound=HasOps)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A stored graph to search: its op sequence, and the families of its models."""

    signature_sha256: str
    graph_sha256: str
    op_names: tuple[str, ...]
    families: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MiningReport:
    """What became of a shard; its rows are durable but belong to no manifest yet."""

    staged: Staged
    num_graphs: int


@dataclass
class MiningSession:
    """What the shards of one run share: corpus, worker processes, and the run's id."""

    corpus: Corpus
    workers: ProcessPoolExecutor
    run_id: str


def find_candidates(corpus: Corpus) -> list[Candidate]:
    """Return the graphs of whole programs, by signature."""
    return [
        Candidate(row["signature_sha256"], row["graph_sha256"], tuple(row["op_sequence"]), tuple(row["families"] or ()))
        for row in run_query(corpus, "mining_candidates")
    ]


def without_mined(corpus: Corpus, candidates: Sequence[Candidate], kind: str, id_: str) -> list[Candidate]:
    """Return the graphs that were not searched for a kind under a grammar."""
    among = (pc.field("kind") == kind) & (pc.field("grammar_id") == id_)
    mined = set(corpus.read("mined_graphs", ["signature_sha256"], among).column(0).to_pylist())
    return [candidate for candidate in candidates if candidate.signature_sha256 not in mined]


@task(name="learn-grammar", cache_policy=NO_CACHE, persist_result=False)
def learn_grammar(corpus: Corpus, candidates: Sequence[Candidate], config: FoldingConfig, run_id: str) -> StoredGrammar:
    """Learn a grammar of the distinct programs among graphs and commit it; the same set gives the same id."""
    by_program = {candidate.graph_sha256: candidate.op_names for candidate in candidates}
    programs = sorted(by_program)
    id_ = grammar_id(programs, config.num_folds, config.max_length)
    grammar = fold([by_program[program] for program in programs], config)
    stored = StoredGrammar(id_, grammar)
    families = [sorted(names) for names in _families(grammar, candidates)]
    tables = grammar_tables(stored, len(programs), config.num_folds, config.max_length, families)
    corpus.commit(corpus.stage(tables, run_id), run_id, {"num_folds": config.num_folds})
    return stored


def _families(grammar: Grammar, candidates: Sequence[Candidate]) -> list[set[str]]:
    """Return, by pattern, the families in whose graphs it stands, within other patterns too."""
    families: list[set[str]] = [set() for _ in grammar.patterns]
    parses = parse(grammar, [candidate.op_names for candidate in candidates])
    for candidate, symbols in zip(candidates, parses, strict=True):
        for symbol in set(symbols):
            if isinstance(symbol, int):
                families[symbol].update(candidate.families)
    for symbol in reversed(range(len(families))):
        for part in grammar.patterns[symbol].body:
            if isinstance(part, int):
                families[part] |= families[symbol]
    return families


@task(name="mine-classical", task_run_name="mine-classical-{number}", cache_policy=NO_CACHE, persist_result=False)
def mine_classical(
    session: MiningSession, number: int, stored: StoredGrammar, candidates: Sequence[Candidate]
) -> MiningReport:
    """Cut the classical subgraphs of a shard of graphs and stage them."""
    parses = parse(stored.grammar, [candidate.op_names for candidate in candidates])
    ranges = {
        candidate.signature_sha256: [
            (span.start, span.end) for span in outermost_spans(stored.grammar, symbols, MIN_OPS, MAX_OPS)
        ]
        for candidate, symbols in zip(candidates, parses, strict=True)
    }
    lowest = _lowest_symbols(stored.grammar)
    payload = session.workers.submit(
        cut_stored_graphs, session.corpus.root, ranges, CLASSICAL, stored.grammar_id, lowest
    ).result()
    return MiningReport(session.corpus.stage(tables_from_bytes(payload), session.run_id), len(candidates))


def _lowest_symbols(grammar: Grammar) -> dict[str, int]:
    """Return the first pattern of each op sequence (several may expand to one), by the sequence's xxh3."""
    lowest: dict[str, int] = {}
    for symbol, expansion in enumerate(grammar.expansions):
        lowest.setdefault(op_sequence_xxh3(expansion), symbol)
    return lowest


@task(name="list-single-ops", cache_policy=NO_CACHE, persist_result=False)
def list_single_ops(session: MiningSession) -> Staged:
    """Stage a row for each single-op key of the nodes that the corpus has none for; calls whose text says that they
    write into an operand are no subgraph (`mutates_boundary`), and have none."""
    rows = [
        {
            "subgraph_sha256": row["single_op_sha256"],
            "kind": SINGLE_OP,
            "op_sequence": [row["call"]["op"]],
            "op_sequence_xxh3": op_sequence_xxh3([row["call"]["op"]]),
            "num_ops": 1,
            "num_inputs": row["num_inputs"],
            "connected": True,
        }
        for row in run_query(session.corpus, "mining_single_ops")
        if not mutated_operands(_call(**row["call"]))
    ]
    return session.corpus.stage({"subgraphs": rows_to_table("subgraphs", rows)}, session.run_id)


def _call(op: str, target: str, literals: str) -> Node:
    return Node(op, target, *arguments_from_json(literals))


def cut_stored_graphs(
    root: Path,
    ranges: Mapping[str, Sequence[tuple[int, int]]],
    kind: str,
    id_: str,
    symbols: Mapping[str, int],
    dropped: Mapping[str, Sequence[Exclusion]] | None = None,
) -> bytes:
    """Read graphs by signature, cut ranges of each, and return the tables as bytes; runs in a worker process.

    `symbols` gives a subgraph's pattern by its op sequence's xxh3; `dropped` ranges are excluded uncut.
    """
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    seen: set[str] = set()
    with Corpus.open(root) as corpus:
        among = pc.field("signature_sha256").isin(sorted(ranges))
        graphs = {row["signature_sha256"]: row for row in corpus.read("graphs", filters=among).to_pylist()}
        texts = {row["signature_sha256"]: row for row in corpus.read("graph_texts", filters=among).to_pylist()}
        nodes = corpus.read("nodes", filters=among)
    for signature, wanted in ranges.items():
        own = nodes.filter(pc.field("signature_sha256") == signature).sort_by("index").to_pylist()
        mined = cut_ranges(graph_from_rows(graphs[signature], texts[signature]["model_py"], own), wanted)
        if dropped is not None:
            mined = replace(mined, exclusions=(*mined.exclusions, *dropped[signature]))
        _add_rows(rows, mined, {"signature_sha256": signature, "kind": kind, "grammar_id": id_})
        for subgraph in mined.subgraphs:
            if subgraph.subgraph_sha256 not in seen:
                seen.add(subgraph.subgraph_sha256)
                _add_subgraph(rows, subgraph, kind, symbols)
    names = ("subgraphs", "subgraph_texts", "occurrences", "excluded_ranges", "mined_graphs")
    return tables_to_bytes({name: rows_to_table(name, rows[name]) for name in names})


def _add_rows(rows: dict[str, list[dict[str, Any]]], mined: Mined, common: dict[str, str]) -> None:
    for occurrence in mined.occurrences:
        place = {"start": occurrence.start, "end": occurrence.end}
        rows["occurrences"].append({**common, "subgraph_sha256": occurrence.subgraph_sha256, **place})
    for excluded in mined.exclusions:
        why = {"reason": excluded.reason, "detail": excluded.detail}
        rows["excluded_ranges"].append({**common, "start": excluded.start, "end": excluded.end, **why})
    counts = {"num_occurrences": len(mined.occurrences), "num_excluded": len(mined.exclusions)}
    rows["mined_graphs"].append({**common, **counts})


def _add_subgraph(
    rows: dict[str, list[dict[str, Any]]], subgraph: Subgraph, kind: str, symbols: Mapping[str, int]
) -> None:
    xxh3 = op_sequence_xxh3(subgraph.op_names)
    rows["subgraphs"].append(
        {
            "subgraph_sha256": subgraph.subgraph_sha256,
            "kind": kind,
            "structure_sha256": subgraph.structure_sha256,
            "op_sequence": list(subgraph.op_names),
            "op_sequence_xxh3": xxh3,
            "num_ops": len(subgraph.op_names),
            "num_inputs": subgraph.num_inputs,
            "num_outputs": subgraph.num_outputs,
            "connected": subgraph.is_connected,
            "pattern": symbols.get(xxh3),
            "num_trailing_views": subgraph.num_trailing_views,
        }
    )
    rows["subgraph_texts"].append({"subgraph_sha256": subgraph.subgraph_sha256, "model_py": subgraph.model_py})


def shards_by_ops(candidates: Iterable[Graphs], num_ops: int) -> list[list[Graphs]]:
    """Split graphs in order into shards of about `num_ops` ops, at least one graph each."""
    shards: list[list[Graphs]] = []
    room = 0
    for candidate in candidates:
        if room <= 0:
            shards.append([])
            room = num_ops
        shards[-1].append(candidate)
        room -= len(candidate.op_names)
    return shards


def start_workers(num_workers: int) -> ProcessPoolExecutor:
    """Return worker processes that end with this one, however it ends."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(num_workers, context, initializer=_end_with, initargs=(os.getpid(),))


def _end_with(parent: int) -> None:
    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
