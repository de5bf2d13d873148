"""One side of `benchmarks.folding`, in a process of its own: folds tokens of corpora, prints one JSON object.

`python -m benchmarks.folding_side SIDE --corpus DIR --tokens N`. Only folding is timed: from op names to the patterns,
neither reading nor varying. Ours is compiled first, on a small text; `compile_s` is a compilation when
NUMBA_CACHE_DIR is an empty folder, else it may be a load.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.folding_tokens import read_sequences, take_tokens
from benchmarks.memory import peak_rss_bytes
from mining import folding
from mining.folding import FoldingConfig
from mining.grammar import Grammar

_WARM_TOKENS = 300_000  # enough for every compiled loop to be used once
SIDES = ("ours", "conv", "conv_numpy", "conv_disjoint")

Sequences = Sequence[Sequence[str]]
# Folds; what it returns tells, outside of the time, what was found.
Fold = Callable[[Sequences, FoldingConfig], Callable[[], dict[str, Any]]]


def fold_ours(sequences: Sequences, config: FoldingConfig) -> Callable[[], dict[str, Any]]:
    """Fold by `mining.folding`."""
    grammar = folding.fold(sequences, config)

    def tell() -> dict[str, Any]:
        folded = folding.parse(grammar, sequences)
        return {"patterns": describe(grammar), "is_lossless": is_lossless(grammar, folded, sequences)}

    return tell


def fold_peer(side: str) -> Fold:
    """Return folding by convolution: counted by polars, by numpy, or disjoint."""
    from benchmarks.peers import conv_folding

    def fold(sequences: Sequences, config: FoldingConfig) -> Callable[[], dict[str, Any]]:
        unique = "numpy" if side == "conv_numpy" else "polars"
        made = conv_folding.fold(sequences, config, unique, disjoint=side == "conv_disjoint")

        def tell() -> dict[str, Any]:
            patterns = describe(made.grammar)
            for pattern, num_windows in zip(patterns, made.num_windows, strict=True):
                pattern["num_windows"] = num_windows
            return {"patterns": patterns, "is_lossless": is_lossless(made.grammar, made.folded, sequences)}

        return tell

    return fold


def describe(grammar: Grammar) -> list[dict[str, Any]]:
    """Return each pattern with the ops that it stands for."""
    return [
        {
            "body": list(pattern.body),
            "count": pattern.count,
            "score": pattern.score,
            "num_ops": len(ops),
            "depth": depth,
            "ops": list(ops),
        }
        for pattern, ops, depth in zip(grammar.patterns, grammar.expansions, grammar.depths, strict=True)
    ]


def is_lossless(grammar: Grammar, folded: Sequence[Sequence[str | int]], sequences: Sequences) -> bool:
    """Tell whether the folded sequences unfold to what was folded: not so once different windows shared a hash."""
    return [grammar.unfold(symbols) for symbols in folded] == [tuple(sequence) for sequence in sequences]


def measure(fold: Fold, sequences: Sequences, config: FoldingConfig, repeats: int) -> dict[str, Any]:
    """Return the seconds of each repeat, by the clock and of all threads, and the memory before and at its peak; then
    what was found."""
    before = peak_rss_bytes()
    seconds: list[float] = []
    cpu_seconds: list[float] = []
    tell: Callable[[], dict[str, Any]] = dict
    for _ in range(repeats):
        gc.collect()
        start, cpu_start = time.perf_counter(), time.process_time()
        tell = fold(sequences, config)
        seconds.append(time.perf_counter() - start)
        cpu_seconds.append(time.process_time() - cpu_start)
    memory = {"rss_before_bytes": before, "peak_rss_bytes": peak_rss_bytes()}
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, **memory, **tell()}


def main() -> None:
    """Fold and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", choices=SIDES)
    parser.add_argument("--corpus", type=Path, nargs="+", required=True)
    parser.add_argument("--tokens", type=int, required=True)
    parser.add_argument("--folds", type=int, default=FoldingConfig().num_folds)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    fold = fold_ours if options.side == "ours" else fold_peer(options.side)
    start = time.perf_counter()
    fold([["a", "b", "a"] * (_WARM_TOKENS // 3 if options.side == "ours" else 1), ["a", "b"]], FoldingConfig())
    compile_s = time.perf_counter() - start
    sequences, num_real = take_tokens(read_sequences(options.corpus), options.tokens, options.seed)
    figures = measure(fold, sequences, FoldingConfig(num_folds=options.folds), options.repeats)
    figures |= {"compile_s": compile_s, "num_tokens": options.tokens, "num_real_tokens": num_real}
    figures |= {"num_sequences": len(sequences), "num_ops": len({op for sequence in sequences for op in sequence})}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
