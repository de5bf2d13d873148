"""`capture` as a new user would use it: five models unlike those of timm and transformers, and what can go wrong."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from extract.capture import CaptureWarning, capture
from extract.fidelity import largest_difference
from extract.graph import Graph, TensorMeta
from extract.hashing import hash_graph
from extract.replay import replay
from extract.sample import FILE_NAMES, read_sample
from extract.tracer import flatten_tensors, trace_module
from storage.corpus import Corpus
from storage.fsck import fsck


class Gate(nn.Module):
    """Nested, with a keyword and a buffer that counts its calls."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.mix = nn.ModuleDict({"up": nn.Linear(width, 2 * width), "down": nn.Linear(2 * width, width)})
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.calls: torch.Tensor

    def forward(self, x: torch.Tensor, *, scale: float | torch.Tensor = 1.0) -> torch.Tensor:
        self.calls += 1
        return self.mix["down"](F.silu(self.mix["up"](x)) * scale)


class Mixture(nn.Module):
    """Dict output, dict input, kwargs, a value returned twice, a plain number beside tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.gates = nn.ModuleList([Gate(6) for _ in range(2)])
        self.drop = nn.Dropout(0.4)

    def forward(self, batch: dict[str, torch.Tensor], mask: torch.Tensor | None = None, *, power: int = 2) -> Any:
        hidden = batch["x"].contiguous()
        for gate in self.gates:
            hidden = hidden + self.drop(gate(hidden, scale=batch["scale"]))
        if mask is not None:
            hidden = hidden.masked_fill(mask, 0.0)
        same = hidden.to(torch.float32)
        return {"hidden": hidden, "pair": (same, [hidden**power]), "again": same, "power": power}


class RunningCentre(nn.Module):
    """Batch statistics of its own and batch norm, both updated in forward."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("centre", torch.zeros(5))
        self.centre: torch.Tensor
        self.norm = nn.BatchNorm1d(5)
        self.scale = torch.tensor([0.5])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            self.centre.lerp_(x.detach().mean(0), 0.1)
        return self.norm(x - self.centre) * self.scale


@dataclasses.dataclass
class Heads:
    label: torch.Tensor
    box: torch.Tensor
    trunk: torch.Tensor


class TwoHeads(nn.Module):
    """A convolutional trunk and two heads in a dataclass."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(inplace=True), nn.Flatten())
        self.label, self.box = nn.Linear(16, 3), nn.Linear(16, 4)

    def forward(self, image: torch.Tensor) -> Heads:
        trunk = self.trunk(image)
        return Heads(self.label(trunk), self.box(trunk).sigmoid(), trunk)


class Recurrent(nn.Module):
    """A loop in Python, state in lists, tied weights, random noise."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(3, 3)
        self.read = nn.Linear(3, 3, bias=False)
        self.read.weight = self.cell.weight_hh if False else nn.Parameter(torch.eye(3))
        self.write = nn.Linear(3, 3, bias=False)
        self.write.weight = self.read.weight

    def forward(self, steps: list[torch.Tensor], state: torch.Tensor | None = None) -> tuple[torch.Tensor, ...]:
        state = torch.zeros(2, 3) if state is None else state
        seen = []
        for step in steps:
            state = self.cell(step + 0.1 * torch.randn_like(step), state)
            seen.append(self.write(self.read(state)))
        return torch.stack(seen), state


def _points(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _mixture() -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]]:
    batch = {"x": _points(1, 4, 6), "scale": torch.tensor(1.5)}
    return Mixture(), (batch,), {"mask": _points(2, 4, 6) > 1, "power": 3}


def _centre() -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]]:
    return RunningCentre(), (_points(3, 8, 5),), {}


def _heads() -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]]:
    return TwoHeads(), (), {"image": _points(4, 2, 1, 4, 4)}


def _recurrent() -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]]:
    return Recurrent(), ([_points(5, 2, 3), _points(6, 2, 3)],), {}


def _gate() -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]]:
    return Gate(4), (_points(7, 3, 4),), {"scale": 0.5}


MODELS = {"mixture": _mixture, "centre": _centre, "heads": _heads, "recurrent": _recurrent, "gate": _gate}


def _call(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], *, train: bool) -> tuple[Any, torch.Tensor]:
    """Call a module, backward where it trains, and return its output and the next random number."""
    module.train(train)
    torch.manual_seed(11)
    if not train:
        with torch.no_grad():
            return module(*args, **kwargs), torch.rand(())
    returned = module(*args, **kwargs)
    sum(tensor.sum() for tensor in flatten_tensors(returned) if tensor.requires_grad).backward()  # pyright: ignore
    return returned, torch.rand(())


def _state(module: nn.Module) -> dict[str, torch.Tensor]:
    grads = {f"{name}.grad": p.grad for name, p in module.named_parameters() if p.grad is not None}
    return {**module.state_dict(), **grads}


def _same_objects(returned: Any) -> list[list[bool]]:
    tensors = list(flatten_tensors(returned))
    return [[one is other for other in tensors] for one in tensors]


def _replay(graph: Graph, module: nn.Module, inputs: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    held = {**dict(module.named_parameters(remove_duplicate=False)), **dict(module.named_buffers())}
    given = iter(inputs)

    def operand(meta: TensorMeta) -> torch.Tensor:
        if meta.kind == "input":
            return next(given)
        if meta.original_name in held:
            return held[meta.original_name]
        assert meta.values is not None
        return torch.tensor(meta.values, dtype=getattr(torch, meta.dtype)).reshape(meta.shape)

    operands = [operand(meta) for meta in graph.tensors]
    torch.manual_seed(11)
    return replay(graph, operands)


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_a_captured_call_gives_what_the_model_gives(name: str, train: bool, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module, args, kwargs = MODELS[name]()
    twin, before = copy.deepcopy(module), copy.deepcopy(module)
    armed = capture(name=name, path=tmp_path / name)(module)
    assert armed is module
    returned, random = _call(module, copy.deepcopy(args), copy.deepcopy(kwargs), train=train)
    expected, expected_random = _call(twin, copy.deepcopy(args), copy.deepcopy(kwargs), train=train)

    ours, theirs = list(flatten_tensors(returned)), list(flatten_tensors(expected))
    assert largest_difference(ours, theirs) == 0.0 and len(ours) == len(theirs)
    assert type(returned) is type(expected) and _same_objects(returned) == _same_objects(expected)
    assert [t.requires_grad for t in ours] == [t.requires_grad for t in theirs]
    assert torch.equal(random, expected_random)
    assert _state(module).keys() == _state(twin).keys()
    assert all(torch.equal(tensor, _state(twin)[key]) for key, tensor in _state(module).items())
    assert module.training is twin.training and "forward" not in vars(module)

    assert sorted(path.name for path in (tmp_path / name).iterdir()) == sorted(FILE_NAMES)
    graph = read_sample(tmp_path / name)
    inputs = [tensor for argument in (*args, *kwargs.values()) for tensor in flatten_tensors(argument)]
    replayed = _replay(graph, before.train(train), copy.deepcopy(inputs))
    assert largest_difference(replayed, [tensor.detach() for tensor in theirs]) == 0.0
    measured = [tensor for tensor in graph.tensors if tensor.kind == "parameter"]
    assert all(tensor.stats_source == "values" and tensor.mean is not None for tensor in measured)


@pytest.mark.parametrize("name", MODELS)
def test_a_captured_graph_is_the_one_that_the_tracer_records(name: str, tmp_path: Path) -> None:
    module, args, kwargs = MODELS[name]()
    twin = copy.deepcopy(module)
    capture(name=name, path=tmp_path / name)(module)(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    traced = trace_module(twin, args, kwargs, subject=name).graph
    assert hash_graph(read_sample(tmp_path / name)) == hash_graph(traced)


def test_a_decorated_class_leaves_the_sample_of_its_next_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    @capture(name="my/net")
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x).relu()

    first, second = Net(), Net()
    first(torch.ones(1, 2))
    assert [node.op for node in read_sample(Path("captured/my/net")).nodes] == ["linear", "relu"]
    made = Path("captured/my/net/model.py").stat().st_mtime_ns
    second(torch.ones(3, 2))
    assert Path("captured/my/net/model.py").stat().st_mtime_ns == made


def test_several_calls_leave_a_part_for_each_program(tmp_path: Path) -> None:
    class Net(nn.Module):
        def forward(self, x: torch.Tensor, *, twice: bool = False) -> torch.Tensor:
            return x.sin().cos() if twice else x.sin()

    net = capture(name="net", path=tmp_path / "net", num_calls=4)(Net())
    for shape, twice in (((2,), False), ((2,), False), ((2,), True), ((3,), False), ((4,), False)):
        net(torch.ones(shape), twice=twice)
    parts = sorted(path.name for path in (tmp_path / "net").iterdir())
    assert parts == ["subgraph_0", "subgraph_1", "subgraph_2"]  # the fifth call was not asked for
    ops = [[node.op for node in read_sample(tmp_path / "net" / part).nodes] for part in parts]
    assert ops == [["sin"], ["sin", "cos"], ["sin"]]


def test_an_exception_of_forward_is_the_callers_and_the_next_call_is_captured(tmp_path: Path) -> None:
    class Picky(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = x.exp()
            if x.shape[0] > 1:
                raise KeyError("one at a time")
            return y

    picky = capture(name="picky", path=tmp_path / "picky")(Picky())
    with pytest.raises(KeyError, match="one at a time"):
        picky(torch.ones(2))
    with pytest.raises(RuntimeError, match="size"):
        capture(name="bad", path=tmp_path / "bad")(nn.Linear(3, 3))(torch.ones(2, 2) @ torch.ones(3))
    assert list(tmp_path.iterdir()) == []
    picky(torch.ones(1))
    assert (tmp_path / "picky" / "model.py").exists()


def test_a_captured_module_inside_another_is_part_of_it(tmp_path: Path) -> None:
    inner = capture(name="inner", path=tmp_path / "inner")(nn.Linear(2, 2))
    outer = capture(name="outer", path=tmp_path / "outer")(nn.Sequential(inner, nn.ReLU()))
    outer(torch.ones(1, 2))
    assert [node.op for node in read_sample(tmp_path / "outer").nodes] == ["linear", "relu"]
    assert not (tmp_path / "inner").exists()
    inner(torch.ones(1, 2))
    assert [node.op for node in read_sample(tmp_path / "inner").nodes] == ["linear"]


class _Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return 2 * ctx.saved_tensors[0] * gradient


def _with_vmap(x: torch.Tensor) -> torch.Tensor:
    return torch.vmap(torch.sin)(x.add_(1))


def _with_backward(x: torch.Tensor) -> torch.Tensor:
    weight = torch.ones(3, requires_grad=True)
    loss = (x.add_(torch.rand(3)) * weight).sum()
    (gradient,) = torch.autograd.grad(loss, weight)
    return gradient * 2


@pytest.mark.parametrize("body", [_with_vmap, _with_backward])
def test_what_cannot_be_recorded_runs_all_the_same_and_warns(
    body: Callable[[torch.Tensor], torch.Tensor], tmp_path: Path
) -> None:
    class Odd(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return body(x)

    torch.manual_seed(5)
    expected, next_random = Odd()(torch.zeros(3)), torch.rand(())
    torch.manual_seed(5)
    with pytest.warns(CaptureWarning, match="odd was not captured"):
        returned = capture(name="odd", path=tmp_path / "odd")(Odd())(torch.zeros(3))
    assert torch.equal(returned, expected) and torch.equal(torch.rand(()), next_random)
    assert not (tmp_path / "odd").exists()


def test_a_custom_autograd_function_keeps_its_gradient(tmp_path: Path) -> None:
    class Odd(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return _Square.apply(x.sin())  # pyright: ignore[reportReturnType]

    grads: list[torch.Tensor] = []
    for module in (Odd(), capture(name="odd", path=tmp_path / "odd")(Odd())):
        x = torch.linspace(0, 1, 4).requires_grad_()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CaptureWarning)
            module(x).sum().backward()
        assert x.grad is not None
        grads.append(x.grad)
    assert torch.equal(*grads)


def test_a_module_without_values_is_left_alone(tmp_path: Path) -> None:
    module = capture(name="meta", path=tmp_path / "meta")(nn.Linear(2, 2, device="meta"))
    with pytest.warns(CaptureWarning, match="without values"):
        assert module(torch.ones(1, 2, device="meta")).shape == (1, 2)


def test_copies_and_pickles_of_an_armed_module_have_their_own_forward(tmp_path: Path) -> None:
    module = capture(name="net", path=tmp_path / "net")(nn.Linear(2, 2))
    twin, loaded = copy.deepcopy(module), pickle.loads(pickle.dumps(module))
    for other in (twin, loaded):
        with torch.no_grad():
            other.weight.zero_()
            other.bias.zero_()
        assert torch.equal(other(torch.ones(1, 2)), torch.zeros(1, 2))
    assert not (tmp_path / "net").exists() and module.weight.abs().sum() > 0


def test_autocast_leaves_explicit_casts_and_the_same_output(tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4))
    twin, x = copy.deepcopy(module), torch.randn(2, 4)
    capture(name="net", path=tmp_path / "net")(module)
    with torch.autocast("cpu", torch.bfloat16):
        returned, expected = module(x), twin(x)
    assert returned.dtype == expected.dtype and torch.equal(returned, expected)
    returned.sum().backward()
    expected.sum().backward()
    assert all(torch.equal(p.grad, q.grad) for p, q in zip(module.parameters(), twin.parameters(), strict=True))  # pyright: ignore
    assert "to" in [node.op for node in read_sample(tmp_path / "net").nodes]


def test_a_corpus_gets_the_graph_under_the_users_name(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    for width in (2, 2, 3):
        torch.manual_seed(width)
        module = nn.Sequential(nn.Linear(width, width), nn.ReLU())
        capture(name="net", path=tmp_path / "net", corpus=corpus)(module)(torch.ones(1, width))
    opened = Corpus.open(corpus)
    ids = opened.read("graph_sources", ["model_id"]).column("model_id").to_pylist()
    signature = hash_graph(read_sample(tmp_path / "net")).signature_sha256
    assert sorted(ids) == ["user/net", f"user/net@{signature[:8]}"]
    (source,) = set(opened.read("models", ["source"]).column("source").to_pylist())
    assert source == "user" and fsck(opened, deep=True) == []


def test_a_folder_that_holds_something_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.warns(CaptureWarning, match=r"notes\.txt"):
        capture(name="net", path=tmp_path)(nn.ReLU())(torch.ones(2))
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("name", ["", "/net", "../net", "a/../b", "a\\b"])
def test_a_name_that_leads_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name="):
        capture(name=name)


def test_capture_loads_neither_prefect_nor_duckdb() -> None:
    import subprocess

    code = "import sys; import extract.capture; print(sorted({'prefect', 'duckdb', 'pyarrow'} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path.cwd())
    assert ran.stdout.strip() == "[]"
