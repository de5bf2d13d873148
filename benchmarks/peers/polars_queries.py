"""Stock queries as an analyst would write them in polars, lazily over the same files, columns in SQL's order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import polars as pl

Scan = Callable[[str], pl.LazyFrame]
_VIEWS: Final = (
    "view transpose permute t expand expand_as squeeze unsqueeze narrow select chunk split unbind movedim diagonal "
    "detach unfold view_as unflatten as_strided"
).split()


def op_histogram_by_domain(scan: Scan) -> pl.LazyFrame:
    """Ops by domain."""
    return _by_domain(scan, "op")


def dtype_mix(scan: Scan) -> pl.LazyFrame:
    """Dtypes by domain."""
    return _by_domain(scan, "output_dtype")


def _by_domain(scan: Scan, column: str) -> pl.LazyFrame:
    counted = scan("nodes").filter(pl.col(column).is_not_null()).group_by("signature_sha256", column).len("uses")
    domains = scan("graphs").select("signature_sha256", pl.col("domain").fill_null("unknown"))
    found = counted.join(domains, on="signature_sha256").group_by("domain", column)
    found = found.agg(pl.col("uses").sum(), pl.len().alias("graphs"))
    return found.with_columns((pl.col("uses") / pl.col("uses").sum().over("domain")).alias("frac")).sort(
        "domain", "uses", column, descending=[False, True, False]
    )


def redundancy_by_family(scan: Scan) -> pl.LazyFrame:
    """Redundancy by family."""
    graphs = scan("graphs").select("signature_sha256", "graph_sha256", "structure_sha256")
    families = scan("models").select("model_id", pl.col("family").fill_null("unknown"))
    joined = scan("graph_sources").join(graphs, on="signature_sha256").join(families, on="model_id", how="left")
    return (
        joined.group_by("family")
        .agg(
            pl.col("model_id").n_unique().alias("models"),
            pl.col("graph_sha256").n_unique().alias("distinct_graphs"),
            pl.col("structure_sha256").n_unique().alias("distinct_structures"),
            (1 - pl.col("graph_sha256").n_unique() / pl.len()).alias("redundancy_frac"),
        )
        .sort("models", "family", descending=[True, False])
    )


def op_bigrams(scan: Scan) -> pl.LazyFrame:
    """Pairs of producer and consumer, the first hundred."""
    kinds = ["input", "parameter", "buffer", "constant"]
    calls = scan("nodes").filter(pl.col("operand_ops") != "").group_by("op", "operand_ops").len("calls")
    edges = calls.with_columns(pl.col("operand_ops").str.split(" ").alias("producer")).explode("producer")
    counted = edges.filter(~pl.col("producer").is_in(kinds)).group_by("producer", "op").agg(pl.col("calls").sum())
    return (
        counted.with_columns((pl.col("calls") / pl.col("calls").sum().over("producer")).alias("frac"))
        .select("producer", "op", "calls", "frac")
        .sort("calls", "producer", "op", descending=[True, False, False])
        .head(100)
    )


def memory_traffic_by_op(scan: Scan) -> pl.LazyFrame:
    """Memory traffic by op."""
    is_slice = (pl.col("op") == "getitem") & ~pl.col("operand_ops").str.contains(" ", literal=True)
    kept = scan("nodes").filter(~pl.col("op").is_in(_VIEWS) & ~is_slice).group_by("op")
    found = kept.agg(
        pl.len().alias("calls"),
        pl.col("operand_bytes").cast(pl.Float64).sum().alias("read_bytes"),
        pl.col("output_bytes").cast(pl.Float64).sum().alias("written_bytes"),
    )
    moved = pl.col("read_bytes") + pl.col("written_bytes")
    return found.with_columns((moved / moved.sum()).alias("traffic_frac")).sort(
        "traffic_frac", "op", descending=[True, False]
    )


def literal_variety(scan: Scan) -> pl.LazyFrame:
    """Ops with the widest variety of calls."""
    variety = pl.col("single_op_sha256").n_unique()
    return (
        scan("nodes")
        .group_by("op")
        .agg(variety.alias("distinct_calls"), pl.len().alias("uses"), (pl.len() / variety).alias("uses_per_call"))
        .sort("distinct_calls", "op", descending=[True, False])
    )


def critical_path(scan: Scan) -> pl.LazyFrame:
    """Critical path by family."""
    graphs = scan("nodes").group_by("signature_sha256").agg(pl.len().alias("ops"), pl.col("depth").max())
    return (
        _families(scan)
        .join(graphs, on="signature_sha256")
        .group_by("family")
        .agg(
            pl.len().alias("graphs"),
            pl.col("ops").median().alias("median_ops"),
            pl.col("depth").median().alias("median_depth"),
            pl.col("depth").max().alias("max_depth"),
            (pl.col("ops").sum() / pl.col("depth").sum()).alias("width"),
        )
        .sort("median_depth", "family", descending=[True, False])
    )


def ops_of_one_family(scan: Scan) -> pl.LazyFrame:
    """Ops of one family only."""
    uses = scan("nodes").group_by("signature_sha256", "op").len("uses")
    return (
        uses.join(_families(scan), on="signature_sha256")
        .group_by("op")
        .agg(pl.col("family").n_unique().alias("families"), pl.col("family").first(), pl.len(), pl.col("uses").sum())
        .filter(pl.col("families") == 1)
        .drop("families")
        .sort("uses", "op", descending=[True, False])
    )


def _families(scan: Scan) -> pl.LazyFrame:
    models = scan("models").select("model_id", pl.col("family").fill_null("unknown"))
    sources = scan("graph_sources").select("signature_sha256", "model_id")
    return sources.join(models, on="model_id", how="left").select("signature_sha256", "family").unique()


POLARS_QUERIES: Final[dict[str, Callable[[Scan], pl.LazyFrame]]] = {
    query.__name__: query
    for query in (
        op_histogram_by_domain, dtype_mix, redundancy_by_family, op_bigrams, memory_traffic_by_op, literal_variety,
        critical_path, ops_of_one_family,
    )
}  # fmt: skip
