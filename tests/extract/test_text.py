"""Source text, samples and literals: what is written is read back, and nothing is executed."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extract.canonical import canonical_op
from extract.graph import Arg, ArgList, ArgSlice, Graph, Node, OpRef, OutputMeta, TensorMeta, TensorRef, TorchConstant
from extract.hashing import hash_graph
from extract.literals import arguments_from_json, arguments_json
from extract.sample import SampleError, graph_from_files, read_sample, sample_files, write_sample
from extract.text import TextError, parse, render

X = TensorRef(0)
SHAPE = (2, 3)

numbers = st.one_of(st.integers(), st.floats(), st.booleans(), st.complex_numbers(allow_nan=False))
constants = st.sampled_from(
    [
        TorchConstant("dtype", "bfloat16"),
        TorchConstant("device", "cuda:0"),
        TorchConstant("memory_format", "channels_last"),
        TorchConstant("layout", "strided"),
        None,
        ...,
    ]
)
texts = st.text(st.characters(codec="utf-8"), max_size=8)
refs = st.sampled_from([X, TensorRef(1), OpRef(0), OpRef(0, (1,)), OpRef(0, (1, 0))])
leaves = st.one_of(numbers, constants, texts, refs)
arguments = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.lists(inner, max_size=3).map(lambda elements: ArgList(tuple(elements))),
        st.tuples(inner, inner, inner).map(lambda bounds: ArgSlice(*bounds)),
    ),
    max_leaves=6,
)
targets = st.sampled_from(
    "torch.add torch.conv2d operator.add operator.pow operator.sub operator.eq operator.neg operator.getitem "
    "operator.setitem torch.Tensor.view torch.Tensor.T torch.nn.functional.relu torch.ops.my.op torch.zeros".split()
)
names = st.sampled_from(["dim", "out", "inplace", "dtype", "size"])
calls = st.tuples(targets, st.lists(arguments, max_size=3).map(tuple), st.dictionaries(names, arguments, max_size=2))


def graph_of(nodes: list[Node]) -> Graph:
    first = Node("split", "torch.split", (X, 1), (), (OutputMeta((0,), SHAPE, (3, 1), "float32"),))
    tensors = (
        TensorMeta("x", "input", "x", SHAPE, (3, 1), "float32"),
        TensorMeta(
            "add_1", "parameter", "a.b", SHAPE, (1, 2), "float64", math.nan, 0.1, -math.inf, 1e-300, (0.1, math.nan)
        ),
    )
    return Graph((first, *nodes), tensors, (OpRef(len(nodes)), TensorRef(1)))


def read_or_refuse(text: str, graph: Graph) -> str:
    try:
        return repr(parse(text, graph.tensors))
    except TextError:
        return "refused"


edits = st.tuples(st.integers(0, 10**6), st.integers(0, 4), st.text("x_0as=()[]{},.'\"\\#: \n\t;@", max_size=3))


@settings(max_examples=400, deadline=None)
@given(st.lists(calls, max_size=4), st.lists(edits, max_size=3))
def test_edited_text_is_read_by_line_as_it_is_read_whole(
    drawn: list[tuple[str, tuple[Arg, ...], dict[str, Arg]]], edited: list[tuple[int, int, str]]
) -> None:
    graph = graph_of([Node(canonical_op(t, args, kwargs), t, args, tuple(kwargs.items())) for t, args, kwargs in drawn])
    text = render(graph)
    for place, length, new in edited:
        place %= len(text)
        text = text[:place] + new + text[place + length :]
    assert read_or_refuse(text, graph) == read_or_refuse("\n" + text, graph)  # not in the form that is read by line


@settings(max_examples=300, deadline=None)
@given(st.lists(calls, max_size=5))
def test_text_and_samples_give_back_the_very_graph(drawn: list[tuple[str, tuple[Arg, ...], dict[str, Arg]]]) -> None:
    nodes = [Node(canonical_op(t, args, kwargs), t, args, tuple(kwargs.items())) for t, args, kwargs in drawn]
    graph = graph_of(nodes)
    back = parse(render(graph), graph.tensors)
    assert repr([(n.op, n.target, n.args, n.kwargs) for n in back.nodes]) == repr(
        [(n.op, n.target, n.args, n.kwargs) for n in graph.nodes]
    )
    assert render(back) == render(graph)
    again = graph_from_files(sample_files(graph))
    assert repr(again) == repr(graph)
    assert hash_graph(again) == hash_graph(graph)


@settings(max_examples=300, deadline=None)
@given(calls)
def test_arguments_survive_json(drawn: tuple[str, tuple[Arg, ...], dict[str, Arg]]) -> None:
    target, args, kwargs = drawn
    node = Node("op", target, args, tuple(kwargs.items()))
    assert repr(arguments_from_json(arguments_json(node))) == repr((node.args, node.kwargs))


def test_a_sample_directory_holds_the_six_files_and_reads_back(tmp_path: Path) -> None:
    graph = graph_of([Node("relu", "torch.relu", (X,))])
    write_sample(graph, tmp_path / "sample", model_name="m")
    assert sorted(path.name for path in (tmp_path / "sample").iterdir()) == [
        "graph_hash.txt",
        "graph_net.json",
        "input_meta.py",
        "input_tensor_constraints.py",
        "model.py",
        "weight_meta.py",
    ]
    assert repr(read_sample(tmp_path / "sample")) == repr(graph)


def test_reading_executes_nothing(tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    graph = graph_of([Node("relu", "torch.relu", (X,))])
    files = sample_files(graph)
    bomb = f"open({str(marker)!r}, 'w')\n"
    planted = files | {name: bomb + files[name] for name in ("model.py", "weight_meta.py", "input_meta.py")}
    assert repr(graph_from_files(planted)) == repr(graph)
    assert not marker.exists()
    with pytest.raises(TextError, match="cannot read"):
        parse(files["model.py"].replace("torch.relu(x)", "__import__('os').getpid()"), graph.tensors)


@pytest.mark.parametrize(
    "text, message",
    [
        ("x = (", "not Python source"),
        ("x = 1", "no class with a forward method"),
        ("class G:\n    def forward(self, x):\n        y = torch.relu(x)\n", "no return"),
        ("class G:\n    def forward(self, x):\n        return (y,)\n", "before it is defined"),
        ("class G:\n    def forward(self, z):\n        return (z,)\n", "argument z"),
        ("class G:\n    def forward(self, x):\n        for i in x: pass\n        return (x,)\n", "line 3"),
    ],
)
def test_what_is_no_graph_is_refused_with_the_line(text: str, message: str) -> None:
    with pytest.raises(TextError, match=message):
        parse(text, graph_of([]).tensors)


def test_a_sample_without_a_file_is_refused_by_name() -> None:
    files = sample_files(graph_of([]))
    del files["weight_meta.py"]
    with pytest.raises(SampleError, match=r"weight_meta\.py is missing"):
        graph_from_files(files)


@pytest.mark.parametrize(
    "node",
    [
        Node("setitem", "operator.setitem", (X, (), 0)),  # its (absent) value returned
        Node("neg", "operator.neg", (X, 0)),  # one argument too many for a sign
    ],
)
def test_calls_that_have_no_operator_form_are_written_as_calls(node: Node) -> None:
    graph = graph_of([node])
    back = parse(render(graph), graph.tensors)
    assert [(n.op, n.target, n.args) for n in back.nodes] == [(n.op, n.target, n.args) for n in graph.nodes]
