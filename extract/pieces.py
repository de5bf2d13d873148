"""A graph cut into pieces and run piece by piece: where to cut, and how values pass from one piece to the next."""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch

from extract.canonical import written_operands
from extract.cut import VIEW_OPS, Piece, cut_into
from extract.graph import Graph, Ref, TensorRef
from extract.replay import replay
from extract.shape_memo import ShapeMemo

NUM_CUTS = 3  # seeded cuts per graph (definitions.md section 2, *decomposable*)
MAX_PIECES = 8
MIN_PIECE_OPS = 2


def run_pieces(
    graph: Graph, boundaries: tuple[int, ...], operands: Sequence[torch.Tensor], memo: ShapeMemo | None = None
) -> list[torch.Tensor]:
    """Run the pieces of `graph` in order, each fed from those before, and return the whole's outputs.

    A value is let go after the last piece that takes it.
    """
    values: dict[Ref, torch.Tensor] = {TensorRef(index): tensor for index, tensor in enumerate(operands)}
    device = operands[0].device if operands else None
    pieces = cut_into(graph, boundaries)
    last_use = _last_uses(pieces)
    for position, piece in enumerate(pieces):
        made = replay(piece.graph, [values[ref] for ref in piece.operands], device, memo)
        values.update(zip(piece.results, made, strict=True))
        for ref in [ref for ref in values if last_use.get(ref, position) <= position and ref not in graph.outputs]:
            del values[ref]
    return [values[ref] for ref in graph.outputs]


def choose_cuts(graph: Graph, seed: str) -> list[tuple[int, ...]]:
    """Return `NUM_CUTS` boundary lists, a function of graph and seed; one falls right after a view or in-place op."""
    num_ops = len(graph.nodes)
    draw = random.Random(seed)
    most = min(MAX_PIECES, num_ops // MIN_PIECE_OPS)
    cuts = [_draw_boundaries(draw, num_ops, draw.randint(2, most)) for _ in range(NUM_CUTS)]
    shared = [
        index + 1
        for index, node in enumerate(graph.nodes)
        if MIN_PIECE_OPS <= index + 1 <= num_ops - MIN_PIECE_OPS and (node.op in VIEW_OPS or written_operands(node))
    ]
    if shared and not any(boundary in shared for boundaries in cuts for boundary in boundaries):
        cuts[0] = (draw.choice(shared),)
    return cuts


def _draw_boundaries(draw: random.Random, num_ops: int, num_pieces: int) -> tuple[int, ...]:
    """Draw ascending boundaries that leave each piece at least `MIN_PIECE_OPS` ops."""
    spare = num_ops - num_pieces * MIN_PIECE_OPS
    marks = sorted(draw.randint(0, spare) for _ in range(num_pieces - 1))
    return tuple(mark + (position + 1) * MIN_PIECE_OPS for position, mark in enumerate(marks))


def _last_uses(pieces: Sequence[Piece]) -> dict[Ref, int]:
    return {ref: position for position, piece in enumerate(pieces) for ref in piece.operands}
