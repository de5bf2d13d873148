"""Expressions are found where there are any, and a wrong one is never kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from extract import shape_configs
from extract.shape_configs import BATCH_ONLY, CONFIGS, Sizes, load_table, scale_sizes
from mining.expression import Expression, ExpressionError
from mining.expression_text import parse
from mining.fitting import Fitter
from mining.symbolic import NotSymbolic, Place, SymbolicSubgraph, fit, fit_subgraph

IMAGE = [
    {"batch": batch, "height": height, "width": width}
    for batch, height, width in [
        (1, 224, 224), (2, 224, 224), (4, 224, 224), (1, 448, 448), (1, 112, 224), (2, 336, 224), (1, 224, 336),
        (3, 112, 112), (8, 224, 224), (2, 224, 448),
    ]
]  # fmt: skip
IMAGE_HELD = [{"batch": 5, "height": 280, "width": 168}, {"batch": 6, "height": 440, "width": 328}]
TEXT = [
    {"batch": batch, "sequence": sequence}
    for batch, sequence in [(1, 16), (2, 16), (4, 16), (1, 32), (1, 48), (2, 24), (1, 8), (3, 20), (8, 16), (2, 64)]
]
TEXT_HELD = [{"batch": 5, "sequence": 36}, {"batch": 6, "sequence": 13}]
FRESH_IMAGE = [
    {"batch": batch, "height": 32 * rows, "width": 32 * rows + 64} for batch in (1, 7) for rows in range(3, 15)
]
FRESH_TEXT = [{"batch": batch, "sequence": sequence} for batch in (1, 7) for sequence in range(8, 65)]

Rule = Callable[[Sizes], int]


def fitted(rule: Rule, samples: Sequence[Sizes], held_out: Sequence[Sizes] = ()) -> Expression | None:
    return fit([(sizes, rule(sizes)) for sizes in samples], [(sizes, rule(sizes)) for sizes in held_out])


@pytest.mark.parametrize(
    "planted",
    [
        "7", "batch", "768*batch", "12*batch", "height//2", "(height-1)//2+1", "(height+15)//16",
        "(height//16)*(width//16)+1", "(height//16)*(width//16)", "batch*((height//16)*(width//16)+1)",
        "64*batch*((height//16)*(width//16)+1)", "batch*(height//28)*(width//28)", "(height*width)//1024",
        "3*height*width", "((height//16)*(width//16)+5)*((height//16)*(width//16)+5)",
        "((height-3)//2+1)*((width-3)//2+1)", "((height-1)//2+1)*((width-1)//2+1)",
        "batch*(((height+3)//4+6)//7)*(((width+3)//4+6)//7)", "12*((height//4+11)//12)-1*(height//4)",
        "((height//4)*(width//4))*((height//32)*(width//32))", "512-height", "(height//16)*((width+31)//32)",
    ],
)  # fmt: skip
def test_forms_of_images_are_recovered(planted: str) -> None:
    truth = parse(planted)
    found = fitted(truth.evaluate, IMAGE, IMAGE_HELD)
    assert found is not None
    for sizes in FRESH_IMAGE:
        assert found.evaluate(sizes) == truth.evaluate(sizes), found.text


@pytest.mark.parametrize(
    "planted",
    [
        "sequence", "2*sequence-1", "sequence+3", "batch*sequence", "12*batch*sequence*sequence", "sequence//4",
        "(sequence+3)//4", "batch*(sequence+197)", "4*((sequence+3)//4)", "4*((sequence+3)//4)-1*sequence",
        "sequence*(sequence+1)", "514-sequence", "batch*(2*sequence-1)",
    ],
)  # fmt: skip
def test_forms_of_texts_are_recovered(planted: str) -> None:
    truth = parse(planted)
    found = fitted(truth.evaluate, TEXT, TEXT_HELD)
    assert found is not None
    for sizes in FRESH_TEXT:
        assert found.evaluate(sizes) == truth.evaluate(sizes), found.text


@given(
    st.integers(1, 2048),
    st.sampled_from([1, 2, 4, 7, 8, 14, 16, 28, 32]),
    st.integers(0, 31),
    st.integers(-3, 8),
    st.lists(st.tuples(st.integers(1, 16), st.integers(64, 512), st.integers(64, 512)), min_size=10, max_size=10),
)
@settings(max_examples=80, deadline=None)
def test_what_is_found_is_exact_on_all_that_was_given(
    times: int, divisor: int, offset: int, constant: int, rows: list[tuple[int, int, int]]
) -> None:
    samples = [dict(zip(("batch", "height", "width"), row, strict=True)) for row in rows]

    def rule(sizes: Sizes) -> int:
        return (
            times * sizes["batch"] * (((sizes["height"] + offset) // divisor) * (sizes["width"] // divisor) + constant)
        )

    found = fitted(rule, samples[:8], samples[8:])
    if found is not None:
        assert [found.evaluate(sizes) for sizes in samples] == [rule(sizes) for sizes in samples]


@given(
    st.sampled_from([1, 2, 4, 8, 14, 16, 32]),
    st.sampled_from(["floor", "up"]),
    st.integers(1, 512),
    st.integers(-2, 5),
    st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_planted_image_forms_are_recovered(
    divisor: int, rounding: str, times: int, constant: int, batched: bool
) -> None:
    offset = 0 if rounding == "floor" else divisor - 1

    def rule(sizes: Sizes) -> int:
        height, width = ((sizes[axis] + offset) // divisor for axis in ("height", "width"))
        return (sizes["batch"] if batched else 1) * (times * height * width + constant)

    found = fitted(rule, IMAGE, IMAGE_HELD)
    assert found is not None
    aligned = [sizes for sizes in FRESH_IMAGE if divisor != 14 or sizes["height"] % 14 == sizes["width"] % 14 == 0]
    for sizes in aligned:
        assert found.evaluate(sizes) == rule(sizes), found.text


PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101]
STRANGE: dict[str, Rule] = {
    "quadratic": lambda sizes: sizes["sequence"] ** 2 + 3 * sizes["sequence"] + 1,
    "logarithm": lambda sizes: (sizes["sequence"] - 1).bit_length(),
    "prime": lambda sizes: PRIMES[sizes["sequence"] % len(PRIMES)],
    "value": lambda sizes: (sizes["sequence"] * 2654435761 >> 7) % 1000,
    "clipped": lambda sizes: min(sizes["sequence"], 40),
    "power": lambda sizes: 1 << (sizes["sequence"] - 1).bit_length(),
    "remainder": lambda sizes: sizes["sequence"] % 13,
    "parity": lambda sizes: sizes["batch"] ** 3 + sizes["sequence"] % 3,
}


@given(
    st.sampled_from(sorted(STRANGE)),
    st.lists(st.tuples(st.integers(1, 16), st.integers(4, 128)), min_size=5, max_size=14, unique=True),
    st.integers(2, 4),
)
@example("clipped", [(1, 8), (2, 16), (1, 24), (4, 32), (1, 40), (2, 12), (1, 20), (1, 10), (2, 64), (1, 96)], 2)
@example("power", [(1, 8), (2, 16), (4, 32), (8, 64), (2, 8), (3, 4), (1, 16), (2, 128), (1, 20), (2, 100)], 2)
@settings(max_examples=200, deadline=None)
def test_a_wrong_expression_is_never_kept(name: str, rows: list[tuple[int, int]], num_held_out: int) -> None:
    table = [{"batch": batch, "sequence": sequence} for batch, sequence in rows]
    samples, held_out = table[:-num_held_out], table[-num_held_out:]
    truth = STRANGE[name]
    found = fitted(truth, samples, held_out)
    if found is not None:
        assert [found.evaluate(sizes) for sizes in table] == [truth(sizes) for sizes in table]


@pytest.mark.parametrize("name", sorted(STRANGE.keys() - {"remainder"}))
def test_what_is_no_such_form_has_no_expression(name: str) -> None:
    assert fitted(STRANGE[name], TEXT, [{"batch": 5, "sequence": 100}, {"batch": 6, "sequence": 61}]) is None


def test_held_out_values_decide_between_forms_that_fit_the_samples() -> None:
    even = [{"height": size} for size in (224, 256, 192, 320, 128)]
    rounded_up: Rule = lambda sizes: (sizes["height"] + 15) // 16  # noqa: E731
    by_samples = fitted(rounded_up, even)
    assert by_samples is not None
    assert by_samples.text == "height//16"
    decided = fitted(rounded_up, even, [{"height": 230}])
    assert decided is not None
    assert decided.text == "(height+15)//16"
    jumps: Rule = lambda sizes: rounded_up(sizes) + 100 * (sizes["height"] > 400)  # noqa: E731
    assert fitted(jumps, even, [{"height": 416}]) is None


def test_two_points_are_no_evidence_for_two_numbers() -> None:
    rows = [{"sequence": 8}, {"sequence": 16}]
    assert fitted(lambda sizes: 2 * sizes["sequence"], rows) == parse("2*sequence")
    assert fitted(lambda sizes: 3 * sizes["sequence"] + 5, rows) is None


@dataclass
class Operand:
    shape: tuple[int, ...]
    stride: tuple[int, ...]


@dataclass
class Override:
    op: int
    path: tuple[str | int, ...]
    value: object


@dataclass
class Instance:
    sizes: Sizes
    operands: Sequence[Operand]
    overrides: Sequence[Override] = field(default_factory=list[Override])


def tokens_instance(sizes: Sizes) -> Instance:
    rows, columns = sizes["height"] // 16, sizes["width"] // 16
    shape = (sizes["batch"], rows * columns + 1, 192)
    literal = [-1, rows * columns + 1, 64]
    return Instance(sizes, [Operand(shape, (shape[1] * 192, 192, 1))], [Override(3, ("args", 1), literal)])


ALIGNED = [{"batch": batch, "height": 16 * rows, "width": 16 * columns} for batch, rows, columns in
           [(1, 14, 14), (2, 14, 14), (4, 14, 7), (1, 28, 28), (3, 7, 14), (5, 21, 10), (8, 12, 9)]]  # fmt: skip


def test_a_subgraph_is_known_at_new_sizes() -> None:
    instances = [tokens_instance(sizes) for sizes in ALIGNED]
    symbolic = fit_subgraph(instances[:5], instances[5:])
    assert isinstance(symbolic, SymbolicSubgraph)
    texts = {place: expression.text for place, expression in symbolic.expressions.items()}
    assert texts == {
        Place("literal", 3, ("args", 1, 1)): "(height//16)*(width//16)+1",
        Place("shape", 0, (0,)): "batch",
        Place("shape", 0, (1,)): "(height//16)*(width//16)+1",
        Place("stride", 0, (0,)): "192*((height//16)*(width//16)+1)",
    }
    assert (symbolic.num_samples, symbolic.num_held_out, symbolic.num_predicted) == (5, 2, 4)
    assert symbolic.values({"batch": 9, "height": 64, "width": 32})[Place("shape", 0, (1,))] == 9


def test_nothing_is_said_of_sizes_that_leave_remainders_never_seen() -> None:
    symbolic = fit_subgraph([tokens_instance(sizes) for sizes in ALIGNED])
    assert isinstance(symbolic, SymbolicSubgraph)
    assert [constraint.text for constraint in symbolic.constraints] == ["height % 16 == 0", "width % 16 == 0"]
    with pytest.raises(ExpressionError, match="height % 16 == 0"):
        symbolic.values({"batch": 1, "height": 100, "width": 32})


def test_an_axis_that_never_varied_is_a_constraint() -> None:
    rows = [{"batch": batch, "height": 224, "width": 224} for batch in (1, 2, 3, 5)]
    symbolic = fit_subgraph([Instance(sizes, [Operand((sizes["batch"], 3), (3, 1))]) for sizes in rows])
    assert isinstance(symbolic, SymbolicSubgraph)
    assert [constraint.text for constraint in symbolic.constraints] == ["height == 224", "width == 224"]


def test_divisions_that_the_samples_do_not_tell_apart_must_agree() -> None:
    rows = [{"height": size} for size in (224, 448, 112, 336, 168, 392)]
    windows: Rule = lambda sizes: ((sizes["height"] + 15) // 16 + 6) // 7  # noqa: E731
    symbolic = fit_subgraph([Instance(sizes, [Operand((windows(sizes),), (1,))]) for sizes in rows])
    assert isinstance(symbolic, SymbolicSubgraph)
    known = [size for size in range(112, 449) if all(c.check({"height": size}) for c in symbolic.constraints)]
    assert set(sizes["height"] for sizes in rows) <= set(known)
    for size in known:
        assert symbolic.values({"height": size})[Place("shape", 0, (0,))] == windows({"height": size})


def test_a_stride_that_differs_where_the_batch_is_one_has_two_cases() -> None:
    instances: list[Instance] = []
    for sizes in TEXT:
        batch, sequence = sizes["batch"], sizes["sequence"]
        stride = (1, sequence) if batch == 1 else (64, 1)  # what reshape views and what it copies
        instances.append(Instance(sizes, [Operand((batch * sequence, 64), stride)]))
    symbolic = fit_subgraph(instances)
    assert isinstance(symbolic, SymbolicSubgraph)
    assert symbolic.expressions[Place("stride", 0, (0,))].text == "if_one(batch, 1, 64)"
    assert symbolic.expressions[Place("stride", 0, (1,))].text == "if_one(batch, sequence, 1)"


def test_one_integer_without_an_expression_leaves_the_subgraph_without_any() -> None:
    instances = [tokens_instance(sizes) for sizes in ALIGNED]
    held_out = [instances[-1]]
    held_out[0].overrides[0].value = [-1, 5, 64]
    found = fit_subgraph(instances[:-1], held_out)
    assert isinstance(found, NotSymbolic)
    assert found.reason == "no_expression"
    assert "literal args.1.1 of 3" in found.detail


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda instance: instance.operands.append(Operand((1,), (1,))), "different_operands"),
        (lambda instance: setattr(instance.overrides[0], "value", [-1, 5]), "different_literals"),
        (lambda instance: setattr(instance.overrides[0], "value", [-1, 5, 6.5]), "different_literals"),
        (lambda instance: setattr(instance.overrides[0], "value", [-1, 5, "x"]), "different_literals"),
    ],
)
def test_instances_of_different_make_have_no_expressions(change: Callable[[Instance], None], reason: str) -> None:
    instances = [tokens_instance(sizes) for sizes in ALIGNED]
    change(instances[2])
    found = fit_subgraph(instances)
    assert isinstance(found, NotSymbolic)
    assert found.reason == reason


def test_the_base_gives_what_an_instance_does_not_override() -> None:
    instances = [tokens_instance(sizes) for sizes in ALIGNED]
    base = {(3, ("args", 1)): instances[0].overrides[0].value}
    instances[0].overrides = []
    assert isinstance(fit_subgraph(instances, base_literals=base), SymbolicSubgraph)
    with pytest.raises(ValueError, match="op 3"):
        fit_subgraph(instances)


def test_distinct_columns_take_about_a_millisecond_each() -> None:
    rules = [parse(f"{times}*batch*((height//{size})*(width//{size})+{plus})")
             for times in (1, 3, 12, 64) for size in (2, 4, 8, 16, 32) for plus in (0, 1, 5)]  # fmt: skip
    columns = [[rule.evaluate(sizes) for sizes in (*IMAGE, *IMAGE_HELD)] for rule in rules]
    fitter = Fitter(IMAGE, IMAGE_HELD)
    fitter.fit(columns[0])
    started = time.perf_counter()
    assert all(fitter.fit(column) is not None for column in columns)
    assert (time.perf_counter() - started) / len(columns) < 0.01  # ten times what it takes on an idle core


@pytest.mark.parametrize("table", sorted(set(load_table()) - {BATCH_ONLY}))
def test_no_axis_of_the_shape_configs_has_a_form_in_the_others(table: str) -> None:
    """Else what follows from one of them could be taken to follow from the others."""
    rows = load_table()[table]
    varying = [axis for axis in shape_configs.AXES if any(axis in row for row in rows) and axis != "samples"]
    sizes = [scale_sizes({axis: 1 if axis == "batch" else 224 for axis in varying}, row) for row in rows]
    for axis in varying:
        others = [{name: row[name] for name in varying if name != axis} for row in sizes]
        fitter = Fitter(others[: len(CONFIGS)], others[len(CONFIGS) :])
        column = [row[axis] for row in sizes]
        assert fitter.fit(column) is None and fitter.fit_if_one(column) is None
