"""Write the golden sample directories and tests/golden/hashes.csv: `python -m tests.golden.make_samples` from the root.

Run only together with a new algorithm version: the files are committed, and hashes that move without one are a defect.
Fifty small graphs: ranges cut from traced timm models (seeded) and hand-made calls for what those models lack.
"""

from __future__ import annotations

import csv
import random
import shutil
from pathlib import Path

from extract.canonical import canonical_op
from extract.cut import CutError, cut
from extract.graph import Arg, ArgList, ArgSlice, Graph, Node, OpRef, TensorMeta, TensorRef, TorchConstant
from extract.graph import contiguous_stride as row_major
from extract.hashing import hash_graph
from extract.model_tracing import TraceConfig, trace_model
from extract.sample import write_sample

FOLDER = Path(__file__).resolve().parent
MODELS = (
    "resnet18 vit_tiny_patch16_224 swin_tiny_patch4_window7_224 efficientnet_b0 halonet26t levit_128 volo_d1_224 "
    "xcit_nano_12_p8_224 maxvit_tiny_tf_224 gcvit_xxtiny sequencer2d_s convnext_atto nfnet_f0 crossvit_tiny_240 "
    "mobilevit_xs hiera_tiny_224 eva02_tiny_patch14_224 cait_xxs24_224 mixer_s32_224 focalnet_tiny_srf"
).split()
NUM_SAMPLES = 50


def main() -> None:
    """Replace the committed samples."""
    graphs = [*hand_made(), *cut_from_models(random.Random(20261129))][:NUM_SAMPLES]
    shutil.rmtree(FOLDER / "samples", ignore_errors=True)
    with (FOLDER / "hashes.csv").open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(["sample", "graph_sha256", "signature_sha256", "structure_sha256"])
        for number, graph in enumerate(graphs):
            hashes = hash_graph(graph)
            write_sample(graph, FOLDER / "samples" / f"{number:02d}")
            row = [f"{number:02d}", hashes.graph_sha256, hashes.signature_sha256, hashes.structure_sha256]
            writer.writerow(row)


def cut_from_models(draw: random.Random) -> list[Graph]:
    """Return two ranges of 3 to 14 ops from each model."""
    graphs: list[Graph] = []
    for name in MODELS:
        whole = trace_model(f"timm/{name}", TraceConfig()).graph
        found = 0
        while found < 2:
            start = draw.randrange(len(whole.nodes) - 3)
            try:
                graphs.append(cut(whole, start, min(start + draw.randint(3, 14), len(whole.nodes))).graph)
            except CutError:
                continue
            found += 1
    return graphs


def hand_made() -> list[Graph]:
    """Return graphs with what traced image models seldom hold."""
    f16, bf16 = TorchConstant("dtype", "float16"), TorchConstant("dtype", "bfloat16")
    device = TorchConstant("device", "cuda:0")
    a, b, first = TensorRef(0), TensorRef(1), OpRef(0)
    everything = ArgSlice(None, None, None)
    return [
        make(call("operator.add", a, 1), call("torch.Tensor.add_", first, b, alpha=2), call("torch.add", a, OpRef(1))),
        make(call("operator.setitem", a, (everything, 0), 1.5), call("torch.relu", a), outputs=(OpRef(1),)),
        make(call("torch.split", a, 3, dim=1), call("torch.Tensor.mul_", OpRef(0, (0,)), 2),
             call("torch.cat", ArgList((OpRef(0, (0,)), OpRef(0, (1,)))), 1)),
        make(call("torch.Tensor.to", a, device, f16), call("torch.zeros", 2, 3, dtype=bf16, device=device),
             call("torch.Tensor.to", first, "cuda", non_blocking=True)),
        make(call("torch.nn.functional.batch_norm", a, b, b, training=True), call("torch.batch_norm", first, None, None,
             b, b, False, 0.1, 1e-5, True)),
        make(call("operator.pow", -2, a), call("operator.sub", 1, first),
             call("operator.truediv", OpRef(1), float("inf"))),
        make(call("torch.ops.my.thing.default", a, ArgList((1, 2)), mode="x\n\u00e9"), call("torch.Tensor.T", first)),
        make(call("operator.getitem", a, ArgList((0, 1))), call("operator.getitem", a, (0, 1)), call("operator.eq",
             first, OpRef(1)), outputs=(OpRef(2), a)),
        make(call("torch.full", (2, 2), float("nan")), call("torch.full", (2, 2), -0.0), call("torch.arange", 0, 4, 2),
             call("operator.mul", first, complex(0, 1))),
        make(call("torch.Tensor.contiguous", a, memory_format=TorchConstant("memory_format", "channels_last")),
             call("torch.Tensor.view", first, -1), call("torch.Tensor.view", first, bf16), call("torch.tensor",
             ArgList((1, 2.0, True)))),
    ]  # fmt: skip


def call(target: str, *args: Arg, **kwargs: Arg) -> Node:
    """Return a node without output facts."""
    return Node(canonical_op(target, args, kwargs), target, args, tuple(kwargs.items()))


def make(*nodes: Node, outputs: tuple[OpRef | TensorRef, ...] = ()) -> Graph:
    """Return a graph over an input of channels-last stride and a parameter; it returns the last op by default."""
    shape = (2, 6, 4, 4)
    tensors = (
        TensorMeta("x", "input", "x", shape, (96, 1, 24, 6), "float32", 0.0, 1.0),
        TensorMeta("weight", "parameter", "layer.weight", shape, row_major(shape), "float32", 0.1, float("nan")),
    )
    return Graph(nodes, tensors, outputs or (OpRef(len(nodes) - 1),))


if __name__ == "__main__":
    main()
