"""A model's variants to the instances of its subgraphs: what each range is at every shape and in every dtype.

A subgraph is a range of the model's graph at its own sizes in float32. Its range in each variant is cut out and
compared (`mining.alignment`, `mining.instance`); what its integers follow from is fitted on the float32 instances and
checked on held-out sizes (`mining.symbolic`). Every shape config and dtype ends as an instance or as a reason. Pure and
deterministic; what all ranges share is found once per variant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from extract.call_forms import FormedCall
from extract.cut import CutError
from extract.formed_cut import FormedCut, FormedCutter
from extract.graph import Arg, Graph, Node, OpRef, TensorRef
from extract.shape_configs import HELD_OUT
from mining.alignment import Alignment, align
from mining.evidence import multiples
from mining.fitting import Fitter
from mining.instance import Instance, NoInstance, Variant, make_instance
from mining.literal_changes import literal_at
from mining.symbolic import NotSymbolic, SymbolicSubgraph, fit_subgraph

_OWN: Final = 0  # the shape config of the model's own sizes
_EXACT: Final = "float32"
NOTHING_VARIES: Final = "nothing_varies"
SHAPE_INVARIANT: Final = "shape_invariant"
DUPLICATE_CONFIG: Final = "duplicate_config"
DTYPE_INVARIANT: Final = "dtype_invariant"
OPS_CHANGED: Final = "ops_changed"
DTYPE_UNSUPPORTED: Final = "dtype_unsupported"


@dataclass(frozen=True, slots=True)
class Traced:
    """A variant and its graph, or the first ops of it (`is_prefix`), which are then those of the model's own; its calls
    where they are formed already; why it ends before ops that are asked for."""

    variant: Variant
    graph: Graph
    is_prefix: bool = False
    calls: Sequence[FormedCall] | None = None
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class Missing:
    """A shape config and dtype without a variant of the model, or without an instance of a subgraph, and why."""

    shape_config: int
    dtype: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Made:
    """An instance, the variant that it is a range of (by its place among those traced), and its cut there."""

    instance: Instance
    place: int
    cut: FormedCut


@dataclass(frozen=True, slots=True)
class Generalization:
    """What became of one subgraph: instances and missing ones are together all shape configs and dtypes asked for.

    `axes` are those of the model's inputs that its instances differ by.
    """

    subgraph_sha256: str
    start: int
    end: int
    depends_on_input: bool
    instances: tuple[Made, ...]
    missing: tuple[Missing, ...]
    symbolic: SymbolicSubgraph | NotSymbolic | None
    axes: tuple[str, ...]


class Generalizer:
    """Makes the instances of one model's subgraphs."""

    def __init__(self, traced: Sequence[Traced], absent: Sequence[Missing], has_refusals: bool = False) -> None:
        """`traced` are the variants, that of the model's own sizes in float32 among them, held-out rows too; `absent`
        the others; `has_refusals` says that the model refused some row. Raises ValueError where the model's own is not
        among them."""
        own = [entry for entry in traced if (entry.variant.shape_config, entry.variant.dtype) == (_OWN, _EXACT)]
        if not own:
            raise ValueError("the variant of the model's own sizes in float32 is not among the variants")
        self.base = own[0].graph
        self._traced = traced
        self._is_stepwise = has_refusals or any(map(_depends_on_remainders, self.base.nodes))
        self._absent = [entry for entry in absent if entry.shape_config not in HELD_OUT]
        self._base_cutter = FormedCutter(self.base, own[0].calls)
        self._cutters = [
            self._base_cutter if entry is own[0] else FormedCutter(entry.graph, entry.calls) for entry in traced
        ]
        self._alignments = [_alignment(self.base, entry) for entry in traced]
        self._fitters: dict[tuple[int, ...], Fitter] = {}

    def generalize(self, start: int, end: int, single_op_sha256: str | None = None) -> Generalization:
        """Return what becomes of ops [start, end) of the model's own graph; raises `CutError` where they are no cut.

        `single_op_sha256`: it is one op, which goes by that key instead of its cut's hash.
        """
        base = self._base_cutter.cut(start, end)
        key = single_op_sha256 or base.hashes.graph_sha256
        depends = any(isinstance(ref, OpRef) and self._depends[ref.index] for ref in base.outline.results)
        made: list[Made] = []
        missing: list[Missing] = []
        for place in range(len(self._traced)):
            outcome = self._instance(base, place)
            if isinstance(outcome, Made):
                made.append(replace(outcome, instance=replace(outcome.instance, subgraph_sha256=key)))
            elif outcome.shape_config not in HELD_OUT:
                missing.append(outcome)
        symbolic = self._fit(base, made) if depends else None
        kept, dropped = _distinct(made, depends)
        absent = [entry if depends or entry.shape_config == _OWN else _invariant(entry) for entry in self._absent]
        missing = [entry if depends or entry.shape_config == _OWN else _invariant(entry) for entry in missing]
        return Generalization(
            key,
            start,
            end,
            depends,
            tuple(kept),
            tuple(sorted([*missing, *dropped, *absent], key=lambda entry: (entry.shape_config, entry.dtype))),
            symbolic,
            _axes(kept, symbolic),
        )

    def refuse(self, start: int, single_op_sha256: str, error: CutError) -> Generalization:
        """Return what becomes of an op that is no cut by itself, for the reason that cutting it raised."""
        keys = [(entry.variant.shape_config, entry.variant.dtype) for entry in self._traced]
        keys += [(entry.shape_config, entry.dtype) for entry in self._absent]
        missing = [Missing(*key, error.reason, error.detail) for key in sorted(keys) if key[0] not in HELD_OUT]
        depends = self._depends[start]
        return Generalization(single_op_sha256, start, start + 1, depends, (), tuple(missing), None, ())

    def _instance(self, base: FormedCut, place: int) -> Made | Missing:
        entry, alignment = self._traced[place], self._alignments[place]
        variant = entry.variant
        if entry.refusal is not None and base.end > len(entry.graph.nodes):
            return Missing(variant.shape_config, variant.dtype, DTYPE_UNSUPPORTED, entry.refusal)
        image = alignment.image(base.start, base.end)
        if image is None:
            detail = _said_of(alignment, base)
            return Missing(variant.shape_config, variant.dtype, OPS_CHANGED, detail)
        try:
            cut = self._cutters[place].cut(*image)
            return Made(make_instance(base, cut, variant), place, cut)
        except (CutError, NoInstance) as error:
            return Missing(variant.shape_config, variant.dtype, error.reason, error.detail)

    def _fit(self, base: FormedCut, made: Sequence[Made]) -> SymbolicSubgraph | NotSymbolic | None:
        """Fit what varies among the instances in float32; None where nothing does."""
        exact = [entry.instance for entry in made if entry.instance.dtype == _EXACT]
        if len({entry.instance_sha256 for entry in exact}) < 2:
            return None
        samples = [entry for entry in exact if entry.shape_config not in HELD_OUT]
        held_out = [entry for entry in exact if entry.shape_config in HELD_OUT]
        key = tuple([entry.shape_config for entry in (*samples, *held_out)])
        if key not in self._fitters:
            self._fitters[key] = Fitter([entry.sizes for entry in samples], [entry.sizes for entry in held_out])
        literals: dict[tuple[int, tuple[str | int, ...]], Arg] = {}
        for override in (override for entry in exact for override in entry.overrides):
            literals[override.op, override.path] = literal_at(base.calls[override.op][0].call, override.path)
        found = fit_subgraph(samples, held_out, literals, self._fitters[key])
        if self._is_stepwise and isinstance(found, SymbolicSubgraph):
            return replace(found, constraints=(*found.constraints, *multiples(self._fitters[key].rows)))
        return found

    @cached_property
    def _depends(self) -> list[bool]:
        """Tell of each op whether what it returns depends on a data input."""
        is_input = [tensor.kind == "input" for tensor in self.base.tensors]
        found: list[bool] = []
        for node in self.base.nodes:
            refs = node.refs()
            found.append(any(is_input[ref.index] if isinstance(ref, TensorRef) else found[ref.index] for ref in refs))
        return found


def _alignment(base: Graph, entry: Traced) -> Alignment:
    if entry.is_prefix:
        return Alignment(range(len(entry.graph.nodes)))
    return align(base.op_names, entry.graph.op_names)


def _depends_on_remainders(node: Node) -> bool:
    """Tell whether a call's literals may follow from what sizes leave when divided, or from whether they are one: what
    was the same on all rows need not be so between them."""
    is_causal = "scaled_dot_product_attention" in node.op and (True in node.args or ("is_causal", True) in node.kwargs)
    return is_causal or node.op in ("pad", "roll")


def _distinct(made: Sequence[Made], depends: bool) -> tuple[list[Made], list[Missing]]:
    """Return the instances to keep, held-out rows left out, and why the others are not: equal to one before (of the
    same sizes in another dtype: nothing in it follows the model's dtype), or of another size where no size matters."""
    kept: dict[str, Made] = {}
    dropped: list[Missing] = []
    for entry in made:
        instance = entry.instance
        if instance.shape_config in HELD_OUT:
            continue
        if not depends and instance.shape_config != _OWN:
            dropped.append(_invariant(Missing(instance.shape_config, instance.dtype, "", "")))
        elif (first := kept.setdefault(instance.instance_sha256, entry)) is not entry:
            equal = f"equal to shape config {first.instance.shape_config} in {first.instance.dtype}"
            reason = DTYPE_INVARIANT if first.instance.shape_config == instance.shape_config else DUPLICATE_CONFIG
            dropped.append(Missing(instance.shape_config, instance.dtype, reason, equal))
    return list(kept.values()), dropped


def _invariant(entry: Missing) -> Missing:
    detail = "no output depends on a data input"
    return Missing(entry.shape_config, entry.dtype, SHAPE_INVARIANT, detail)


def _axes(kept: Sequence[Made], symbolic: SymbolicSubgraph | NotSymbolic | None) -> tuple[str, ...]:
    """Return the axes that the instances differ by: those that the expressions name, else all that vary with them."""
    if isinstance(symbolic, SymbolicSubgraph):
        named = {axis for expression in symbolic.expressions.values() for axis in expression.axes}
        return tuple(sorted(named))
    exact = [entry.instance for entry in kept if entry.instance.dtype == _EXACT]
    axes = sorted({axis for instance in exact for axis in instance.sizes})
    return tuple([axis for axis in axes if len({instance.sizes.get(axis) for instance in exact}) > 1])


def _said_of(alignment: Alignment, base: FormedCut) -> str:
    certain = sum(alignment.images[op] is not None for op in range(base.start, base.end))
    return f"{certain} of {base.end - base.start} ops have an image for certain"
