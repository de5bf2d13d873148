"""What depends on values of its input is traced on real tensors, with Dynamo's parts beside it."""

from collections.abc import Iterator

import pyarrow as pa
import pytest

from extract import timm_source
from extract.failure import Reason, SubjectError
from extract.model_ref import ModelRef
from extract.model_tracing import TraceConfig, trace_model, trace_parts
from extract.sandbox import Limits
from tasks.sandbox_pool import SandboxPool
from tasks.trace import CONSTRAINTS, TraceShardConfig, trace_one

ODD = "tests.poison.odd_models"
BREAK_LINE = "tests/poison/odd_models.py:25"


@pytest.fixture
def odd_models() -> Iterator[None]:
    """Let this process know the odd models."""
    import tests.poison.odd_models  # noqa: F401

    timm_source.names.cache_clear()
    yield
    timm_source.names.cache_clear()


@pytest.fixture(scope="module")
def pool() -> Iterator[SandboxPool]:
    opened = SandboxPool(1, (ODD,), Limits(seconds=120))
    yield opened
    opened.close()


def trace(pool: SandboxPool, name: str, tracer: str) -> dict[str, pa.Table]:
    with pool.lease() as sandbox:
        model = ModelRef(f"timm/{name}", "timm")
        outcome, tables = trace_one(pool, sandbox, model, TraceShardConfig("run", tracer=tracer))
    assert outcome.reason is None, tables["failures"].to_pylist()
    return tables


def test_a_branch_on_a_value_gives_the_whole_program_and_dynamos_parts_with_reasons(pool: SandboxPool) -> None:
    tables = trace(pool, "odd_value", "function")
    sources = tables["graph_sources"].to_pylist()
    assert [(row["part"], row["tracer"]) for row in sources] == [
        (0, "function_mode"),
        (1, "dynamo"),
        (2, "dynamo"),
        (3, "dynamo"),
    ]
    assert [row["break_reason"] is None for row in sources] == [True, False, False, True]
    assert sources[1]["break_reason"].endswith(BREAK_LINE)
    graphs = {row["signature_sha256"]: row for row in tables["graphs"].to_pylist()}
    whole = graphs[sources[0]["signature_sha256"]]
    assert whole["op_sequence"] == ["linear", "sigmoid", "add"]
    assert (whole["tensor_mode"], [read["method"] for read in whole["value_reads"]]) == ("real", ["__bool__"])
    verdicts = tables["constraints"].to_pylist()
    assert len(verdicts) == len(graphs) * len(CONSTRAINTS)
    failed = [(row["signature_sha256"], row["constraint"]) for row in verdicts if row["outcome"] == "failed"]
    assert failed == [(whole["signature_sha256"], "specialised")]


def test_with_dynamo_parts_count_from_0_and_equal_graphs_are_kept_once(pool: SandboxPool) -> None:
    tables = trace(pool, "odd_twice", "dynamo")
    sources = tables["graph_sources"].to_pylist()
    assert [(row["part"], row["tracer"]) for row in sources] == [(0, "dynamo"), (1, "dynamo"), (2, "dynamo")]
    signatures = [row["signature_sha256"] for row in sources]
    assert signatures[1] == signatures[2] != signatures[0]
    assert tables["graphs"].column("signature_sha256").to_pylist() == signatures[:2]
    assert tables["nodes"].num_rows == sum(tables["graphs"].column("num_ops").to_pylist())
    assert tables["constraints"].num_rows == 2 * len(CONSTRAINTS)
    assert tables["models"].num_rows == 1


def test_a_model_too_large_for_real_tensors_fails_as_before_and_says_so(odd_models: None) -> None:
    with pytest.raises(SubjectError) as raised:
        trace_model("timm/odd_value", TraceConfig(max_real_params=10))
    assert raised.value.reason is Reason.DATA_DEPENDENT
    assert "too large for real tensors: 36 parameters, at most 10" in raised.value.detail


def test_traces_on_real_tensors_depend_on_the_seed_alone(odd_models: None) -> None:
    first, again = (trace_parts("timm/odd_value", TraceConfig(seed=3)) for _ in range(2))
    assert [trace.graph for trace in first] == [trace.graph for trace in again]
    assert [trace.part for trace in first] == [0, 1, 2, 3]
    assert trace_model("timm/odd_value", TraceConfig(seed=3)).graph == first[0].graph
    assert trace_model("timm/odd_value", TraceConfig(seed=4)).graph != first[0].graph
