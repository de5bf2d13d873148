"""Records: what goes into rows comes out of them."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract.custom_ops import CustomOp
from extract.graph import Graph, Node, OpRef, OutputMeta, TensorMeta, TensorRef, contiguous_stride
from extract.model_ref import ModelRef, Trace, ValueRead
from storage.records import (
    Failure,
    graph_from_rows,
    rows_to_table,
    tables_from_bytes,
    tables_to_bytes,
    trace_tables,
)
from storage.schemas import KEYS, SCHEMAS, TABLE_DESCRIPTIONS, describe
from tests.storage.sample_traces import NOW, batch, small_graph, small_trace

_SHAPES = st.lists(st.integers(0, 5), max_size=3).map(tuple)
_FLOATS = st.floats(allow_nan=False)
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "float32": _FLOATS,
    "bool": st.booleans(),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint64": st.integers(0, 2**64 - 1),
}


@st.composite
def _tensors(draw: st.DrawFn, index: int) -> TensorMeta:
    shape, dtype = draw(_SHAPES), draw(st.sampled_from(sorted(_VALUES)))
    kind = draw(st.sampled_from(["input", "parameter", "buffer", "constant"]))
    statistics = [draw(st.none() | _FLOATS) for _ in range(4)]
    values = draw(st.none() | st.lists(_VALUES[dtype], max_size=8).map(tuple))
    source = draw(st.sampled_from(["values", "role", "none"]))
    stride = draw(st.just(contiguous_stride(shape)) | st.tuples(*(st.integers(0, 9) for _ in shape)))
    return TensorMeta(f"t{index}", kind, draw(st.text(max_size=5)), shape, stride, dtype, *statistics, values, source)


@st.composite
def _graphs(draw: st.DrawFn) -> Graph:
    tensors = tuple(draw(_tensors(index)) for index in range(draw(st.integers(1, 4))))
    nodes: list[Node] = []
    for index in range(draw(st.integers(1, 6))):
        refs = [TensorRef(number) for number in range(len(tensors))] + [OpRef(number) for number in range(index)]
        left, right = draw(st.sampled_from(refs)), draw(st.sampled_from(refs))
        outputs = tuple(
            OutputMeta(path, shape, contiguous_stride(shape), "float32")
            for path, shape in draw(st.sampled_from([[], [((), (2, 3))], [((0,), (1,)), ((1, 0), ())]]))
        )
        nodes.append(Node("add", "torch.add", (left, right), (("alpha", draw(st.integers(2, 9))),), outputs))
    return Graph(tuple(nodes), tensors, (OpRef(len(nodes) - 1),))


def _stored_graph(tables: dict[str, pa.Table]) -> Graph:
    text = tables["graph_texts"].column("model_py")[0].as_py()
    return graph_from_rows(tables["graphs"].to_pylist()[0], text, tables["nodes"].to_pylist())


@given(_graphs())
def test_a_graph_survives_rows_and_bytes_field_by_field(graph: Graph) -> None:
    trace = dataclasses.replace(small_trace("m"), graph=graph)
    tables = tables_from_bytes(tables_to_bytes(trace_tables(trace, NOW)))
    stored = _stored_graph(tables)
    assert stored == graph
    assert repr(stored) == repr(graph)  # -0.0, True and 1 are told apart


def test_nan_statistics_survive() -> None:
    graph = small_graph()
    tensors = (dataclasses.replace(graph.tensors[0], mean=float("nan"), values=(float("nan"), 1.0)), graph.tensors[1])
    trace = dataclasses.replace(small_trace("m"), graph=dataclasses.replace(graph, tensors=tensors))
    assert repr(_stored_graph(trace_tables(trace, NOW))) == repr(trace.graph)


def test_rows_of_another_graph_are_refused() -> None:
    tables, other = trace_tables(small_trace("a"), NOW), trace_tables(small_trace("b", ops=3), NOW)
    with pytest.raises(ValueError, match="the text holds 2 ops, table nodes 3"):
        _stored_graph(tables | {"nodes": other["nodes"]})


def test_operands_are_op_indices_or_minus_one_minus_tensor_index() -> None:
    nodes = trace_tables(small_trace("m"), NOW)["nodes"]
    assert nodes.column("operands").to_pylist() == [[-1, -2], [0]]


def test_bytes_keep_every_table_and_its_order() -> None:
    tables = batch([small_trace("a"), small_trace("b", 5)])
    back = tables_from_bytes(tables_to_bytes(tables))
    assert list(back) == list(tables)
    assert all(back[name].equals(tables[name]) for name in tables)


@pytest.mark.parametrize("table", SCHEMAS)
def test_every_column_has_a_description_and_every_table_a_key(table: str) -> None:
    assert TABLE_DESCRIPTIONS[table]
    assert all(describe(field) for field in SCHEMAS[table])
    assert set(KEYS[table]) <= set(SCHEMAS[table].names)


@pytest.mark.parametrize(
    ("table", "record"), [("models", ModelRef), ("failures", Failure), ("custom_ops", CustomOp)], ids=str
)
def test_schema_and_dataclass_have_the_same_fields(table: str, record: Any) -> None:
    assert set(SCHEMAS[table].names) == {field.name for field in dataclasses.fields(record)}


def test_nested_types_have_the_fields_of_their_dataclasses() -> None:
    def struct_names(table: str, column: str) -> set[str]:
        return {field.name for field in SCHEMAS[table].field(column).type.value_type}

    def field_names(record: Any) -> set[str]:
        return {field.name for field in dataclasses.fields(record)}

    assert struct_names("graphs", "tensors") - {"data", "data_exact"} == field_names(TensorMeta) - {"values"}
    assert struct_names("graphs", "value_reads") == field_names(ValueRead)
    assert struct_names("nodes", "outputs") == field_names(OutputMeta)


def test_columns_that_a_row_lacks_are_null() -> None:
    assert rows_to_table("models", [{"model_id": "a/b"}]).column("licence").to_pylist() == [None]


def test_trace_seconds_and_versions_are_in_graph_sources() -> None:
    trace: Trace = small_trace("m")
    row = trace_tables(trace, NOW)["graph_sources"].to_pylist()[0]
    assert (row["build_seconds"], row["trace_seconds"], row["torch_version"]) == (0.1, 0.2, "2.14.1")


def test_records_load_nothing_that_a_bare_worker_lacks() -> None:
    lacking = "{'torch', 'duckdb', 'polars', 'prefect', 'xxhash', 'orjson', 'typer', 'rich'}"
    script = f"import sys, storage.records; print(sorted({lacking} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "[]\n"
