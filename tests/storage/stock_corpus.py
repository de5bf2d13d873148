"""A small corpus with something for each stock query to find: traced torch modules of four families and two domains."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import torch
from torch.nn import functional

from extract.failure import Reason
from extract.model_ref import Domain, ModelRef, Trace
from extract.tracer import trace_module
from storage.corpus import Corpus
from storage.records import rows_to_table, trace_tables
from tests.storage.sample_traces import NOW, failure, small_trace


class Convolutions(torch.nn.Module):
    """Plain, strided and depthwise convolutions, batch norm, in-place relu."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.stem = torch.nn.Conv2d(3, width, 3, stride=2, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm2d(width)
        self.depthwise = torch.nn.Conv2d(width, width, 3, padding="same", groups=width)
        self.head = torch.nn.Linear(width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu_(self.norm(self.stem(x)))
        x = functional.hardtanh(self.depthwise(x) * 2 + 1).mean((2, 3))
        return self.head(x)


class Rows(torch.nn.Module):
    """An element of a tuple, then rows by slice and by index tensors."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        order = torch.sort(x, dim=1)[1]
        return x[:, 1:] + x[order, order][:, 1:, 0]


class Attention(torch.nn.Module):
    """Attention by softmax, by the fused op or by both, then an MLP."""

    def __init__(self, width: int, fused: bool, unfused: bool) -> None:
        super().__init__()
        self.fused, self.unfused = fused, unfused
        self.norm = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, 2, width // 2).permute(2, 0, 3, 1, 4).unbind(0)
        if self.unfused:
            weights = functional.softmax(q @ k.transpose(-2, -1) * 0.5, dim=-1)
            x = x + (weights @ v).transpose(1, 2).reshape(batch, length, width)
        if self.fused:
            attended = functional.scaled_dot_product_attention(q, k, v)
            x = x + attended.transpose(1, 2).reshape(batch, length, width)
        hidden = functional.gelu(self.up(self.norm(x)))
        return x + self.down(functional.dropout(hidden, 0.1, training=False))


class Language(torch.nn.Module):
    """Tied embedding, an RMS norm written out, products of bmm and baddbmm, assignment to a slice."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(50, width)
        self.scale = torch.nn.Parameter(torch.ones(width))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale
        scores = torch.bmm(x, x.transpose(1, 2))
        x = torch.baddbmm(x, scores, x) * self.scale
        x[:, 0] = 0.0
        return functional.linear(x, self.embedding.weight)


def write_corpus(path: Path) -> Corpus:
    """Write the corpus in two runs: twelve models, of which two are one graph, and failures of which one is solved."""
    image, tokens = torch.zeros(1, 3, 16, 16), torch.zeros(1, 6, dtype=torch.long)
    first = [
        _trace("conv8", "resnet", "cv", Convolutions(8), image),
        _trace("conv16", "resnet", "cv", Convolutions(16), image),
        _trace("unfused", "vit", "cv", Attention(8, False, True), torch.zeros(1, 5, 8)),
        _trace("fused", "vit", "cv", Attention(8, True, False), torch.zeros(1, 5, 8)),
        small_trace("plain"),
    ]
    second = [
        _trace("fused_longer", "vit", "cv", Attention(8, True, False), torch.zeros(1, 9, 8)),
        _trace("fused_half", "deit", None, Attention(8, True, False).bfloat16(), torch.zeros(1, 5, 8).bfloat16()),
        _trace("both", None, "nlp", Attention(8, True, True), torch.zeros(2, 5, 8)),
        _trace("language", "lm", "nlp", Language(8), tokens),
        _trace("language_tuned", "tuned", "nlp", Language(8), tokens),
        _trace("rows", "lm", "nlp", Rows(), torch.zeros(4, 4, 4)),
        small_trace("plain_tuned"),
    ]
    with Corpus.create(path) as corpus:
        _commit(corpus, first, "run-1", ["timm/fused_longer", "timm/broken"])
        _commit(corpus, second, "run-2", ["timm/broken", "timm/other"])
    return corpus


def _trace(name: str, family: str | None, domain: Domain | None, module: torch.nn.Module, given: torch.Tensor) -> Trace:
    graph = trace_module(module.eval().to("meta"), (given.to("meta"),), subject=name).graph
    model = ModelRef(f"timm/{name}", "timm", family=family, domain=domain, num_parameters=1)
    return Trace(model, graph, "function_mode", "meta", (), "2.14.1", 0.1, 0.2)


def _commit(corpus: Corpus, traces: list[Trace], run: str, failed: list[str]) -> None:
    for number, trace in enumerate(traces):
        tables = trace_tables(trace, NOW + timedelta(days=int(run[-1]), seconds=number))
        signature = tables["graphs"].column("signature_sha256")[0].as_py()
        has_failed = "unfused" in trace.model.model_id or "half" in trace.model.model_id
        verdicts = [
            {"constraint": "runnable", "outcome": "passed", "level": "fake"},
            {"constraint": "runnable", "outcome": "failed" if has_failed else "passed", "level": "real"},
            {"constraint": "decomposable", "outcome": "passed", "level": "fake"},
        ]
        rows = [verdict | {"signature_sha256": signature} for verdict in verdicts]
        corpus.commit(corpus.stage(tables | {"constraints": rows_to_table("constraints", rows)}, run), run)
    for model_id in failed:
        corpus.commit(corpus.stage({"failures": failure(model_id, Reason.BUILD_FAILED, run)}, run), run)
