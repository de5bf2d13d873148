"""What a captured call cannot give is told, and costs the model nothing: fused paths, odd tensors, values read."""

from __future__ import annotations

import copy
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from extract.capture import CaptureWarning, capture
from extract.sample import read_sample
from flows.cli import run
from storage.corpus import Corpus


class Encoder(nn.Module):
    """torch's encoder, whose fused path torch leaves when anybody watches: padded positions come out as zeros there."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor, padded: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.encoder(x, src_key_padding_mask=padded) + torch.rand(())


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
def test_the_fused_encoder_gives_what_it_gives_unwatched(tmp_path: Path) -> None:
    torch.manual_seed(1)
    module, x = Encoder().eval(), torch.randn(2, 4, 8)
    padded = torch.tensor([[False, False, True, True], [False, False, False, True]])
    twin = copy.deepcopy(module)
    capture(name="encoder", path=tmp_path / "encoder")(module)
    results: list[tuple[torch.Tensor, torch.Tensor]] = []
    for one in (twin, module):
        torch.manual_seed(2)
        with torch.no_grad():
            results.append((one(x, padded), torch.rand(())))
    assert torch.equal(results[0][0], results[1][0]) and torch.equal(results[0][1], results[1][1])
    assert (results[0][0][0, 2:] == results[0][0][0, 2, 0]).all()  # the fused path was taken
    assert module.calls == twin.calls == 1
    assert [node.op for node in read_sample(tmp_path / "encoder").nodes].count("layer_norm") == 4


class Counting(Encoder):
    """State of every kind beside the fused encoder: all of it must be what one call leaves."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[float] = []
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x: torch.Tensor, padded: torch.Tensor, tags: list[int]) -> torch.Tensor:
        tags.append(len(self.seen))
        self.seen.append(random.random())
        self.scale.data *= 2
        return super().forward(x, padded) * self.scale


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
def test_a_recorded_copy_leaves_no_trace_in_the_model_or_its_arguments(tmp_path: Path) -> None:
    module = Counting().eval()
    twin, padded = copy.deepcopy(module), torch.tensor([[False, True]])
    capture(name="counting", path=tmp_path / "counting")(module)
    left: list[tuple[Any, ...]] = []
    for one in (twin, module):
        random.seed(3)
        torch.manual_seed(3)
        tags: list[int] = []
        with torch.no_grad():
            returned = one(torch.ones(1, 2, 8), padded, tags)
        left.append((returned.tolist(), tags, one.seen, one.scale.item(), one.calls.item(), random.random()))
    assert left[0] == left[1]
    assert read_sample(tmp_path / "counting").nodes


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.eye(3).to_sparse(),
        lambda: torch.eye(3).to_sparse_csr(),
        lambda: torch.quantize_per_tensor(torch.eye(3), 0.1, 0, torch.qint8),
    ],
    ids=["coo", "csr", "quantised"],
)
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
@pytest.mark.filterwarnings("ignore:.*quantize_per_tensor.*")
def test_tensors_that_are_not_plain_run_as_ever_and_warn(make: Callable[[], torch.Tensor], tmp_path: Path) -> None:
    class Passes(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

    with pytest.warns(CaptureWarning, match="was not captured"):
        returned = capture(name="odd", path=tmp_path / "odd")(Passes())(make())
    assert returned.layout == make().layout and returned.dtype == make().dtype


class OfItsInput(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(x.detach().numpy() + 1) * 2


class Average(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
        return x * 2


@pytest.mark.parametrize(
    ("module", "words"), [(OfItsInput(), "for this input alone"), (Average(), "new values of the buffers mean")]
)
def test_a_program_that_is_less_than_the_model_warns(module: nn.Module, words: str, tmp_path: Path) -> None:
    with pytest.warns(CaptureWarning, match=words):
        capture(name="less", path=tmp_path / "less")(module)(torch.ones(2, 3))
    assert read_sample(tmp_path / "less").nodes


def test_a_sample_keeps_what_its_corpus_knows_of_the_call(tmp_path: Path) -> None:
    with pytest.warns(CaptureWarning, match="for this input alone"):
        capture(name="net", path=tmp_path / "net", corpus=tmp_path / "corpus")(OfItsInput())(torch.ones(2, 3))
    assert run(["import", str(tmp_path / "net"), "--corpus", str(tmp_path / "imported")]) == 0
    first, second = (Corpus.open(tmp_path / name).read("graphs") for name in ("corpus", "imported"))
    assert first.equals(second)
    assert first.column("num_value_reads").to_pylist() == [1]


def test_a_call_that_cannot_be_captured_is_a_row_of_failures_until_it_can(tmp_path: Path) -> None:
    class Odd(nn.Module):
        def forward(self, x: torch.Tensor, odd: bool) -> torch.Tensor:
            return torch.vmap(torch.sin)(x) if odd else x.sin()

    for odd, expected in ((True, [("user/odd", "capture")]), (False, [])):
        module = capture(name="odd", path=tmp_path / "odd", corpus=tmp_path / "corpus")(Odd())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CaptureWarning)
            module(torch.zeros(3), odd)
        with Corpus.open(tmp_path / "corpus") as corpus, corpus.connect(["current_failures"]) as connection:
            rows = connection.execute("SELECT subject, step FROM current_failures").fetchall()
        assert rows == expected


def test_another_program_of_the_same_name_says_what_it_replaced(tmp_path: Path) -> None:
    capture(name="net", path=tmp_path / "net")(nn.ReLU())(torch.ones(2))
    with pytest.warns(CaptureWarning, match="replaced the sample of another program"):
        capture(name="net", path=tmp_path / "net")(nn.Tanh())(torch.ones(2))


@pytest.mark.parametrize("given", ["my_net", nn.ReLU])
def test_what_is_given_without_a_name_is_refused_with_what_to_write(given: Any) -> None:
    with pytest.raises(TypeError, match='capture\\(name="my_net"\\)'):
        capture(given)
