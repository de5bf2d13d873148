"""The samples of tests/extract/foreign_samples, written by hand in the public layout: which graphs they are.

Each is compared with what our tracer records of the same program written as a function, so that reader and
expectation share nothing but the hash.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode

from extract.failure import Reason, SubjectError
from extract.foreign_sample import ReadSample, read_sample_files
from extract.graph import Graph, OutputMeta, is_contiguous
from extract.hashing import graph_lines, graph_sha256, hash_graph
from extract.sample import sample_files
from extract.tracer import trace_module
from storage.sample_folders import find_samples, read_files

FOLDER = Path(__file__).parent / "foreign_samples"
SAMPLES = {folder.imported_from: folder.path for folder in find_samples(FOLDER)}


_GOOD = "class GraphModule:\n  def forward(self, x):\n    return torch.sin(x)\n"


def read(name: str) -> ReadSample:
    return read_sample_files(texts(name), name)


def texts(name: str) -> dict[str, str]:
    return {name: content.decode("utf-8-sig") for name, content in read_files(SAMPLES[name]).items()}


def _black(x: Any, w: Any, mean: Any, var: Any, bn_w: Any, bn_b: Any) -> Any:
    return F.relu_(F.batch_norm(F.conv2d(x, w, stride=2, padding=1), mean, var, bn_w, bn_b))


def _methods(x: Any) -> Any:
    softmax = torch.softmax(torch.reshape(torch.transpose(x.view(2, 2, 2), 1, 2).contiguous(), (-1, 4)), -1)
    return torch.masked_fill(softmax, softmax < 0.1, -math.inf)


def _inplace(x: Any, y: Any) -> Any:
    z = torch.add(x, y)
    return z.add_(y).mul_(2.0).sub_(1).relu_()


def _devices(x: Any) -> Any:
    to = torch.arange(4, dtype=torch.int64, device="cpu").to("cpu", torch.float32)
    zeros = torch.zeros(2, 4, device="cpu")
    return x + to + zeros


def _special(x: Any) -> Any:
    return x / torch.linalg.vector_norm(torch.erf(x), 2, -1, keepdim=True)


def _grad_mode(x: Any) -> Any:
    with torch.no_grad():
        return F.relu(x)


def _asserts(x: Any) -> Any:
    torch._assert(True, "positive")
    return x.exp()


def _unpack(x: Any) -> Any:
    one, other = x.chunk(2, 1)
    values, indices = one.max(dim=1)
    return values, indices, other.topk(1).values


def _index(x: Any) -> Any:
    first, second = x[:, 0], x[..., None, 0:2]
    x[:, 2:3] = 1.0
    x[0, 1:3] = 2
    return first, second, x[:, [0, 2]], x


def _nested(x: Any, w: Any) -> Any:
    return (F.linear(x, w) + x.mean(-1, keepdim=True)).relu() * (1.0 - x.sigmoid())


def _aten(x: Any, w: Any) -> Any:
    relu = x.mm(w).relu()
    return torch.add(relu, relu, alpha=2)


def _aliases(x: Any, w: Any) -> Any:
    h = F.layer_norm(F.silu(F.linear(x, w)), (3,), eps=1e-6)
    return torch.cat((h, h), 1)


def _properties(x: Any) -> Any:
    to = x.T.half().to(torch.float32).type(torch.float64)
    total = to + torch.ones((4, 2), dtype=torch.float64, device=x.device)
    return total, total.mT


def _attention(x: Any) -> Any:
    q = x.view(1, 2, 1, 4)
    return F.pad(F.scaled_dot_product_attention(q, q, q), (1, 1))


def _embedding(w: Any, ids: Any, mask: Any) -> Any:
    return F.embedding(ids, w) * mask.unsqueeze(-1)


def _dead(x: Any) -> Any:
    F.dropout(x, 0.1)
    return x.clone().add_(1)


def _sizes(x: Any, w: Any) -> Any:
    return F.linear(x, w).view(2, 3, 2) * 2


def _symints(x: Any) -> Any:
    return x.view(2, -1) + torch.zeros(4, 4)[:2, :]


PROGRAMS: dict[str, Callable[..., Any]] = {
    "alias_liveness": lambda x, w, b: F.gelu(F.linear(x, w, b)),
    "black_formatting": _black,
    "methods": _methods,
    "inplace_operators": _inplace,
    "device_literals": _devices,
    "symint_arguments": _symints,
    "symbolic_shapes": lambda x, y: x + y.expand(2, 4),
    "sizes_of_values": _sizes,
    "fft": lambda x: torch.fft.rfft(x, norm="ortho").abs(),
    "special_and_linalg": _special,
    "nan_statistics": lambda x, y: x + y,
    "two_graphs/subgraph_0": lambda x: x.relu(),
    "two_graphs/subgraph_1": lambda x: x.sigmoid(),
    "shapes_in_annotations": lambda x, w: x.mm(w).to(torch.bfloat16),
    "grad_mode": _grad_mode,
    "asserts": _asserts,
    "tuple_unpacking": _unpack,
    "indexing": _index,
    "nested_calls": _nested,
    "aten_ops": _aten,
    "model_and_weights_alone": lambda x: x.tanh(),
    "unknown_keys": lambda x: x.cos(),
    "import_aliases": _aliases,
    "properties_and_dtypes": _properties,
    "attention": _attention,
    "input_meta_and_crlf": _embedding,
    "dead_code": _dead,
}

# Programs that no trace of ours records: what is kept of them, line by line, and why shapes are unknown.
KEPT: dict[str, tuple[list[str], str]] = {
    "unknown_custom_op": (
        [
            "%1 = relu input=%0",
            "%2 = their_lib.fast_swish 0=%1 1=3",
            "%3 = exp input=%2",
            "%5 = sigmoid input=%4",
            "return %3 %5",
        ],
        "torch.ops.their_lib.fast_swish.default is not registered; name the module that registers it with --import",
    ),
    "item": (
        [
            "%1 = sum input=%0",
            "%2 = torch.Tensor.item 0=%1",
            "%4 = mul input=%3 other=%2",
            "%5 = relu input=%0",
            "return %4 %5",
        ],
        "torch.Tensor.item is not in data/op_names.csv",
    ),
    "autocast_cuda": (
        [
            '%0 = torch.amp.autocast_mode._enter_autocast 0="cuda" 1=float16 2=True 3=True',
            "%3 = linear input=%1 weight=%2",
            "%4 = torch.amp.autocast_mode._exit_autocast 0=%0",
            "%5 = softmax input=%3 dim=-1",
            "return %5",
        ],
        "torch.amp.autocast_mode._enter_autocast is not in data/op_names.csv",
    ),
    "vmap": (
        [
            '%0 = torch._functorch.predispatch._vmap_increment_nesting 0=2 1="error"',
            "%2 = torch._functorch.predispatch._add_batch_dim 0=%1 1=0 2=1",
            "%3 = sin input=%2",
            "%4 = torch._functorch.predispatch._remove_batch_dim 0=%3 1=1 2=2 3=0",
            "%5 = torch._functorch.predispatch._vmap_decrement_nesting",
            "return %4",
        ],
        "torch._functorch.predispatch._vmap_increment_nesting is not in data/op_names.csv",
    ),
}


class _Program(torch.nn.Module):
    def __init__(self, body: Callable[..., Any]) -> None:
        super().__init__()
        self.body = body

    def forward(self, *operands: Any) -> Any:
        return self.body(*operands)


def traced(body: Callable[..., Any], sample: Graph) -> Graph:
    operands = [
        torch.empty_strided(meta.shape, meta.stride, dtype=getattr(torch, meta.dtype), device="meta")
        for meta in sample.tensors
    ]
    return trace_module(_Program(body), tuple(operands), subject="program").graph


def test_there_are_thirty_samples_and_each_has_an_expectation() -> None:
    assert len(SAMPLES) >= 30
    assert set(SAMPLES) == set(PROGRAMS) | set(KEPT) | {"autocast"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_foreign_sample_is_the_program_that_its_text_says(name: str) -> None:
    sample = read(name)
    expected = traced(PROGRAMS[name], sample.graph)
    assert graph_lines(sample.graph) == graph_lines(expected)
    assert graph_sha256(sample.graph) == graph_sha256(expected)
    assert [node.outputs for node in sample.graph.nodes] == [node.outputs for node in expected.nodes]
    assert sample.finding is None and not sample.is_ours


@pytest.mark.parametrize("name", KEPT)
def test_what_cannot_be_run_is_kept_and_says_why_its_shapes_are_unknown(name: str) -> None:
    sample = read(name)
    lines, why = KEPT[name]
    assert graph_lines(sample.graph) == lines
    assert sample.finding is not None
    assert (sample.finding.reason, sample.finding.detail) == ("op_not_allowed", why)


def test_an_autocast_region_becomes_the_casts_of_a_trace() -> None:
    sample = read("autocast")

    def body(x: Any, w: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            linear = F.linear(x, w)
        return F.softmax(linear, dim=-1)

    with FakeTensorMode():
        operands = tuple(torch.empty(meta.shape) for meta in sample.graph.tensors)
    expected = trace_module(_Program(body), operands, subject="program").graph
    assert graph_lines(sample.graph) == graph_lines(expected)
    assert [node.op for node in expected.nodes] == ["to", "to", "linear", "softmax"]
    assert sample.finding is None and [node.outputs[0].dtype for node in sample.graph.nodes] == ["bfloat16"] * 4


def test_what_a_region_that_cannot_be_followed_gives_is_unknown() -> None:
    assert [node.outputs for node in read("autocast_cuda").graph.nodes] == [()] * 4


def test_shapes_are_known_where_nothing_unknown_is_needed() -> None:
    by_op = {node.op: node.outputs for node in read("unknown_custom_op").graph.nodes}
    known = (OutputMeta((), (2, 4), (4, 1), "float32"),)
    assert by_op == {"relu": known, "their_lib.fast_swish": (), "exp": (), "sigmoid": known}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_foreign_sample_written_as_ours_reads_back_equal(name: str) -> None:
    graph = read(name).graph
    again = read_sample_files(sample_files(graph), name)
    assert again.is_ours
    assert repr(again.graph) == repr(graph)
    assert again.hashes == hash_graph(graph)


def test_kinds_follow_the_names_that_tracers_give() -> None:
    kinds = {tensor.name: (tensor.kind, tensor.original_name) for tensor in read("alias_liveness").graph.tensors}
    assert kinds == {
        "L_x_": ("input", "L_x_"),
        "L_self_modules_fc_parameters_weight_": ("parameter", "fc.weight"),
        "L_self_modules_fc_parameters_bias_": ("parameter", "fc.bias"),
    }
    assert [tensor.kind for tensor in read("input_meta_and_crlf").graph.tensors] == ["parameter", "input", "input"]


def test_statistics_and_values_that_are_not_finite_are_read() -> None:
    x, y = read("nan_statistics").graph.tensors
    assert x.mean is not None and x.std is not None and math.isnan(x.mean) and math.isnan(x.std)
    assert (x.min, x.max, y.mean, y.std) == (-math.inf, math.inf, -math.inf, None)
    assert repr(y.values) == "(nan, inf, -inf, nan)"
    assert [x.stats_source, y.stats_source] == ["values", "values"]


def test_dynamic_sizes_become_the_example_values_and_are_told() -> None:
    assert read("symint_arguments").symbols == {"s0": 2}
    symbolic = read("symbolic_shapes")
    assert symbolic.symbols == {"S0": 2}
    assert [tensor.shape for tensor in symbolic.graph.tensors] == [(2, 4), (1, 4)]


def test_strides_of_annotations_are_read() -> None:
    weight = read("shapes_in_annotations").graph.tensors[1]
    assert weight.stride == (1, 4) and not is_contiguous(weight.shape, weight.stride)


def test_keys_that_we_do_not_know_are_kept() -> None:
    facts = read("unknown_keys").facts
    assert facts["num_devices_required"] == 2 and facts["their_own"]["a"] == [1, 2.5, None]


@pytest.mark.parametrize(
    ("model_py", "reason"),
    [
        ("def forward(self, x): return x", Reason.TEXT_UNREADABLE),
        ("class G:\n  def forward(self, x):\n    if x: return x", Reason.TEXT_UNREADABLE),
        ("class G:\n  def forward(self, x):\n    return [x for _ in range(9)]", Reason.TEXT_UNREADABLE),
        ("class G:\n  def forward(self, x):\n    return open('/etc/passwd')", Reason.TEXT_UNREADABLE),
        ("class G:\n  def forward(self, x):\n    return (lambda: x)()", Reason.TEXT_UNREADABLE),
        ("class G:\n  def forward(self, x):\n    return self.layer(x)", Reason.TEXT_UNREADABLE),
        ("class G:\n  def forward(self, x):\n    return y", Reason.TEXT_UNREADABLE),
        ("class G:\n  def forward(self, x):\n    y = x", Reason.TEXT_UNREADABLE),
        ("class G:\n  def forward(self, x, z):\n    return x", Reason.METADATA_UNREADABLE),
        ("class G:\n  def forward(self, x):\n    return torch.add(x, " + "9" * 5000 + ")", Reason.TEXT_UNREADABLE),
        ("class G:\n  def forward(self, x):\n    return x + 0x" + "f" * 40, Reason.TEXT_UNREADABLE),
        ("class G:\n  def forward(self, x):\n    return " + "(" * 300 + "x" + ")" * 300, Reason.TEXT_UNREADABLE),
        ("class G:\n  def forward(self, x):\n    return " + "-" * 3000 + "x", Reason.TEXT_UNREADABLE),
        ("class G:\n  def forward(self, x):\n    return x" + " + x" * 50_000, Reason.TEXT_UNREADABLE),
        ("class G:\n  def forward(self, x):\n    return x" + ".T" * 50_000, Reason.TEXT_UNREADABLE),
        ("class G:\n  def forward(self, x):\n    return torch.neg(" * 1 + "torch.neg(" * 150 + "x" + ")" * 151,
         Reason.TEXT_UNREADABLE),
        ("\0", Reason.TEXT_UNREADABLE),
        (f"{_GOOD}{_GOOD.replace('sin', 'cos')}", Reason.TEXT_UNREADABLE),
        (f"{_GOOD}  def forward(self, x):\n    return torch.cos(x)\n", Reason.TEXT_UNREADABLE),
        (_GOOD.replace("  def", "  @torch.autocast('cpu', dtype=torch.bfloat16)\n  def"), Reason.TEXT_UNREADABLE),
        (f"@compiled\n{_GOOD}", Reason.TEXT_UNREADABLE),
        (f"{_GOOD}torch.sin = torch.cos\n", Reason.TEXT_UNREADABLE),
        (f"{_GOOD}torch.set_default_dtype(torch.float64)\n", Reason.TEXT_UNREADABLE),
        ("inf = 3\nclass G:\n  def forward(self, x):\n    return x + inf", Reason.TEXT_UNREADABLE),
        ("def abs(x): return x\nclass G:\n  def forward(self, x):\n    return abs(x)", Reason.TEXT_UNREADABLE),
        ("class G:\n  def forward(self, x):\n    assert x.add_(1) is not None\n    return x", Reason.TEXT_UNREADABLE),
        ("class G:\n  def forward(self, x):\n    l = [x, x]\n    l[0] = l[1]\n    return l[0]", Reason.TEXT_UNREADABLE),
        (_GOOD.replace("torch.sin", "torch.ops.aten.sin.default.__class__"), Reason.TEXT_UNREADABLE),
        (_GOOD.replace("torch.sin", "torch.ops.aten.sin.bogus"), Reason.TEXT_UNREADABLE),
        (_GOOD.replace("torch.sin", "torch.ops.aten.no_such_op"), Reason.TEXT_UNREADABLE),
    ],
)  # fmt: skip
def test_a_text_that_is_no_program_is_told_in_one_reason(model_py: str, reason: Reason) -> None:
    weight_meta = texts("fft")["weight_meta.py"]
    with pytest.raises(SubjectError) as caught:
        read_sample_files({"model.py": model_py, "weight_meta.py": weight_meta}, "bad")
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("model.py", "        return (", "        return (x,)\n        return ("),
        ("model.py", "    def forward", "    @torch.autocast('cpu')\n    def forward"),
        ("weight_meta.py", "float32", "float64"),
        ("graph_net.json", "[2,4]", "[4,2]"),
    ],
)
def test_our_own_files_once_edited_are_no_longer_taken_at_their_word(name: str, old: str, new: str) -> None:
    with FakeTensorMode():
        own = trace_module(_Sine(), (torch.empty(2, 4),), subject="sine").graph
    files = sample_files(own)
    assert read_sample_files(files, "own").is_ours
    edited = {**files, name: files[name].replace(old, new)}
    assert edited != files
    try:
        assert not read_sample_files(edited, "own").is_ours
    except SubjectError as failure:
        assert failure.reason in (Reason.TEXT_UNREADABLE, Reason.METADATA_UNREADABLE)


class _Sine(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.empty(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x) * self.scale


@pytest.mark.parametrize(
    ("row", "value"),
    [
        ("shape", "[2, -4]"),
        ("shape", "[2, 0.5]"),
        ("shape", "[10**12]"),
        ("shape", "[[0] * 10**11]"),
        ("shape", "[9223372036854775807, 9223372036854775807]"),
        ("shape", "[S7, 4]"),
        ("dtype", '"torch.float33"'),
        ("dtype", '__import__("os").abort()'),
        ("data", "open('/etc/passwd').read()"),
    ],
)
def test_metadata_that_are_no_literals_are_told_in_one_reason(row: str, value: str) -> None:
    files = texts("fft")
    lines = [f"    {row} = {value}" if f" {row} = " in line else line for line in files["weight_meta.py"].split("\n")]
    with pytest.raises(SubjectError) as caught:
        read_sample_files({**files, "weight_meta.py": "\n".join(lines)}, "bad")
    assert caught.value.reason == Reason.METADATA_UNREADABLE


def test_a_long_list_of_data_is_read_and_left_out() -> None:
    files = texts("fft")
    data = "[" + ", ".join(["0.5"] * 500_000) + "]"
    sample = read_sample_files(
        {**files, "weight_meta.py": files["weight_meta.py"].replace("data = None", f"data = {data}")}, "long"
    )
    assert sample.graph.tensors[0].values is None


def test_a_text_of_a_hundred_thousand_lines_is_read() -> None:
    body = "\n".join(f"        x{i + 1} = torch.neg(x{i});  x{i} = None" for i in range(20_000))
    gaps = "\n" * 80_000
    text = f"import torch{gaps}class G(torch.nn.Module):\n    def forward(self, x0):\n{body}\n        return x20000\n"
    sample = read_sample_files(
        {"model.py": text, "weight_meta.py": texts("fft")["weight_meta.py"].replace('"x"', '"x0"')}, "long"
    )
    assert len(sample.graph.nodes) == 20_000 and sample.graph.nodes[-1].outputs[0].shape == (2, 4)
