"""A graph without a model (imported, captured) to its variants: other sizes are propagated through the record.

What comes back is what `extract.variants` gives for a model, row by row: the row of the table that the inputs' axes
point to, else a row of `batch_only` that nothing else uses. A reading of recorded numbers (`extract.symbolic`), checked
by running on meta tensors; what cannot be read for certain is missing, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from extract.failure import Reason, SubjectError
from extract.graph import Graph
from extract.repropagation import RepropagationError
from extract.reruns import Deadline
from extract.shape_configs import BATCH_ONLY, CONFIGS, DTYPES, HELD_OUT, Sizes, choose_table, load_table, scale_sizes
from extract.symbolic import name_axes, resize
from extract.variants import MissingVariant, Variant

_MAX_STAND_INS = 3  # trials of batch_only rows for one row
Variants = tuple[tuple[Variant, ...], tuple[MissingVariant, ...]]


def recorded_variants(subject: str, graph: Graph, max_seconds: float | None = None) -> Variants:
    """Return a graph at each shape config (held-out ones in float32 alone) in each dtype, and what is missing.

    The graph itself is variant (0, float32). After `max_seconds` nothing more is tried: `timeout`.
    """
    deadline = Deadline(max_seconds)
    own = name_axes(graph).sizes
    table = choose_table((), own)
    variants = [Variant(0, "float32", graph, own, table, False, True)]
    missing: list[MissingVariant] = []
    seen = {_key(own)}
    for config in (*CONFIGS, *HELD_OUT):
        chosen = (own, table, graph) if config == 0 else _resized(subject, graph, own, table, config, seen, deadline)
        dtypes = DTYPES if config not in HELD_OUT else DTYPES[:1]
        for dtype in dtypes:
            if isinstance(chosen, SubjectError):
                missing.append(MissingVariant(config, dtype, chosen.reason, chosen.detail))
            elif (config, dtype) != (0, "float32"):
                made = chosen[2] if dtype == "float32" else _cast(subject, graph, chosen[0], dtype, deadline)
                if isinstance(made, SubjectError):
                    missing.append(MissingVariant(config, dtype, made.reason, made.detail))
                else:
                    variants.append(Variant(config, dtype, made, chosen[0], chosen[1], False, True))
    return tuple(variants), tuple(missing)


def _resized(
    subject: str, graph: Graph, own: Sizes, table: str, config: int, seen: set[tuple[object, ...]], deadline: Deadline
) -> tuple[Sizes, str, Graph] | SubjectError:
    refusals: list[str] = []
    for sizes, used in _candidates(own, table, config, seen):
        seen.add(_key(sizes))
        try:
            deadline.check(subject)
            return sizes, used, resize(graph, sizes)
        except SubjectError as failure:
            return failure
        except RepropagationError as error:
            refusals.append(str(error))
    if refusals:
        return SubjectError(subject, Reason.SHAPE_REFUSED, refusals[0])
    return SubjectError(subject, Reason.DUPLICATE_CONFIG, f"sizes {dict(own)} have no such variants")


def _candidates(own: Sizes, table: str, config: int, seen: set[tuple[object, ...]]) -> Iterator[tuple[Sizes, str]]:
    """Yield what to try for a row, best first, sizes that were tried before left out."""
    stand_ins = [(BATCH_ONLY, row) for row in (CONFIGS[1:] if config not in HELD_OUT else (config,))]
    trials = 0
    for used, row in [(table, config), *stand_ins]:
        try:
            sizes = scale_sizes(own, load_table()[used][row])
        except ValueError:
            continue
        if _key(sizes) not in seen and trials <= _MAX_STAND_INS:
            trials += 1
            yield sizes, used


def _cast(subject: str, graph: Graph, sizes: Sizes, dtype: str, deadline: Deadline) -> Graph | SubjectError:
    try:
        deadline.check(subject)
        return resize(graph, sizes, dtype)
    except SubjectError as failure:
        return failure
    except RepropagationError as error:
        return SubjectError(subject, Reason.DTYPE_UNSUPPORTED, str(error))


def _key(sizes: Sizes) -> tuple[object, ...]:
    return tuple(sorted(sizes.items()))
