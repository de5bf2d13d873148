"""One shard of kernel curves to staged fusible subgraphs: plateaus, cut, write."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from prefect import task
from prefect.cache_policies import NO_CACHE

from mining.prefix import MAX_OPS, find_plateaus
from mining.subgraph import FUSIBLE, Exclusion
from profiles.kernels.curve import ALGORITHM as CURVE_ALGORITHM
from storage.corpus import Corpus
from storage.query import run_query
from storage.records import tables_from_bytes
from tasks.curves import SCHEDULER, CurveJob
from tasks.mine import MiningReport, MiningSession, cut_stored_graphs

ALGORITHM = "passnet-fusible/1"


@dataclass(frozen=True, slots=True)
class CurvedGraph:
    """A stored graph with its curve."""

    signature_sha256: str
    op_names: tuple[str, ...]
    kernels: tuple[int | None, ...]


def curves_id(job: CurveJob) -> str:
    """Return what stands in `grammar_id` for the curves of a target: they find fusible subgraphs as a grammar does."""
    lines = (ALGORITHM, CURVE_ALGORITHM, SCHEDULER, job.target, job.torch_version)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def find_curved(corpus: Corpus, job: CurveJob) -> list[CurvedGraph]:
    """Return the graphs with a curve for the target that were not searched, by signature."""
    parameters: dict[str, object] = {
        "target": job.target,
        "counter": SCHEDULER,
        "torch_version": job.torch_version,
        "algorithm": CURVE_ALGORITHM,
        "grammar_id": curves_id(job),
    }
    return [
        CurvedGraph(row["signature_sha256"], tuple(row["op_sequence"]), tuple(row["kernels"]))
        for row in run_query(corpus, "fusible_candidates", parameters)
    ]


@task(name="mine-fusible", task_run_name="mine-fusible-{number}", cache_policy=NO_CACHE, persist_result=False)
def mine_fusible(session: MiningSession, number: int, id_: str, graphs: Sequence[CurvedGraph]) -> MiningReport:
    """Cut the fusible subgraphs of a shard of graphs and stage them; what is too long is an excluded range."""
    ranges: dict[str, list[tuple[int, int]]] = {}
    too_long: dict[str, list[Exclusion]] = {}
    for graph in graphs:
        plateaus = find_plateaus(graph.kernels)
        ranges[graph.signature_sha256] = [(found.start, found.end) for found in plateaus if not found.is_too_long]
        too_long[graph.signature_sha256] = [
            Exclusion(found.start, found.end, "too_long", f"{found.end - found.start} ops, {MAX_OPS} at most")
            for found in plateaus
            if found.is_too_long
        ]
    root = session.corpus.root
    payload = session.workers.submit(cut_stored_graphs, root, ranges, FUSIBLE, id_, {}, too_long).result()
    return MiningReport(session.corpus.stage(tables_from_bytes(payload), session.run_id), len(graphs))
