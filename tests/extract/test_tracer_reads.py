from __future__ import annotations

import pytest
import torch

from extract.failure import Reason, SubjectError
from extract.model_ref import ValueRead
from extract.tracer import trace_module


@pytest.fixture
def x() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(2, 4)


def test_values_that_follow_from_literals_are_known_on_meta(check, x):
    def body(m, x):
        mask = torch.arange(4) < 3
        if mask.all():
            return x
        steps = torch.tensor([1, 2, 3]).tolist()
        return x[:, : int(mask.sum())] * steps[2] + torch.linspace(0, 1, 3).max().item()

    recording = check(body, x)
    assert {(read.method, read.depends_on_input) for read in recording.value_reads} == {
        ("__bool__", False), ("tolist", False), ("__int__", False), ("item", False),
    }  # fmt: skip


def test_what_is_read_but_not_computed_with_is_dead_code(check, x):
    recording = check(lambda m, x: x * 2 if torch.zeros(3).sum() < 1 else x, x)
    assert recording.graph.op_names == ("mul",)
    assert recording.value_reads == (ValueRead(0, "__bool__", False),)


def test_known_values_decide_output_shapes(check, x):
    def body(m, x):
        index = (torch.arange(4) > 1).nonzero()[:, 0]
        return x[:, index] + x[:, torch.tensor([True, False, True, False])] + torch.unique(torch.tensor([5, 5]))

    methods = [read.method for read in check(body, x).value_reads]
    assert methods == ["nonzero", "nonzero", "unique"]


def test_tensors_used_as_sizes_and_bounds_become_numbers(check, x):
    def body(m, x):
        length = torch.tensor(3)
        return x[:, :length] + torch.zeros(length), x.repeat_interleave(torch.tensor(2), dim=1)

    recording = check(body, x, modes=("meta",))
    assert recording.graph.nodes[0].op == "getitem"


def test_an_unknown_value_written_into_a_known_tensor_makes_it_unknown():
    class Writes(torch.nn.Module):
        def forward(self, x):
            flags = torch.zeros(4)
            flags[:2].add_(x.sum())
            return x * 2 if flags.any() else x

    with pytest.raises(SubjectError) as error:
        trace_module(Writes(), (torch.empty(2, device="meta"),), subject="s")
    assert error.value.reason is Reason.DATA_DEPENDENT


def test_calls_that_ask_for_shape_alone_leave_a_mask_known(check, x):
    def body(m, x):
        mask = (torch.arange(4) > 1).expand_as(x) & torch.ones_like(x).bool()
        return x[mask]

    assert [read.method for read in check(body, x).value_reads] == ["nonzero"]


def test_the_known_part_of_a_concatenation_is_known(check, x):
    def body(m, x):
        joined = torch.cat([x, torch.ones(2, 1)], dim=-1)
        return x * 2 if joined[..., -1].bool().all() and joined.split([4, 1], dim=-1)[1].sum() == 2 else x

    assert check(body, x).graph.op_names == ("mul",)


@pytest.mark.parametrize("write", ["into a view", "into itself", "after reading", "not at all"])
def test_the_unknown_part_of_a_concatenation_stays_unknown(write):
    class Model(torch.nn.Module):
        def forward(self, x):
            joined = torch.cat([x, torch.ones(2, 1)], dim=-1)
            if write == "into itself":
                joined[0, 0] = x[0, 0]
            if write == "into a view":
                joined.view(-1)[4] = x[0, 0]
            read = joined[..., 0 if write == "not at all" else -1]
            if write == "after reading":
                joined.view(-1)[4] = x[0, 0]
            return x + 1 if read.bool().all() else x

    with pytest.raises(SubjectError) as caught:
        trace_module(Model(), (torch.empty(2, 4, device="meta"),), {}, subject="a")
    assert caught.value.reason is Reason.DATA_DEPENDENT


def test_in_place_writes_of_known_values_are_followed(check, x):
    def body(m, x):
        flags = torch.zeros(4)
        flags[1:3] = 1
        flags.mul_(2)
        return x * flags.sum().item()

    assert [read.depends_on_input for read in check(body, x).value_reads] == [False]


def test_an_empty_tensor_is_known_once_every_place_is_written(check, x):
    def body(m, x):
        sizes = torch.empty((2, 2), dtype=torch.long)
        for level in range(2):
            sizes[level, 0] = 2
            sizes[level, 1] = level
        return x * 2 if sizes.prod(1).sum() == 2 else x

    assert "mul" in check(body, x, modes=("meta",)).graph.op_names


def test_known_parts_of_a_joined_tensor_are_known(check, x):
    def body(m, x):
        packed = torch.cat([x, torch.ones(2, 1)], dim=-1)
        values, flags = torch.split(packed, [4, 1], dim=-1)
        return values * 2 if packed[..., -1].bool().all() and flags.bool().all() else values

    assert "mul" in check(body, x, modes=("meta",)).graph.op_names


@pytest.mark.parametrize("case", ["half", "view", "mixed"])
def test_what_is_not_written_by_known_values_is_not_known(case):
    class Reads(torch.nn.Module):
        def forward(self, x):
            made = torch.empty(2)
            made[0] = 1
            if case == "view":
                made[1] = 1
                made[:1].add_(x.sum())
            if case == "mixed":
                made = torch.cat([torch.ones(1), x])
                made[0] = x[0]
                made = made[:1]
            return x * 2 if made.any() else x

    with pytest.raises(SubjectError) as error:
        trace_module(Reads(), (torch.empty(2, device="meta"),), subject="s")
    assert error.value.reason is Reason.DATA_DEPENDENT


def test_reads_of_input_values_are_marked_on_real_tensors(check, x):
    def body(m, x):
        sign = 1.0 if x.sum() > 0 else -1.0
        return x * sign + x.max().item() + len(x.nonzero()) + (m.linear.weight[0, 0] > 9)

    reads = check(body, x, modes=("real",)).value_reads
    assert [(read.method, read.depends_on_input) for read in reads] == [
        ("__bool__", True), ("item", True), ("nonzero", True),
    ]  # fmt: skip


def test_taint_passes_through_views_that_are_written(check, x):
    def body(m, x):
        table = torch.zeros(2, 4)
        table[0].copy_(x[0])
        return x * 2 if table.sum() != 0 else x

    (read,) = check(body, x, modes=("real",)).value_reads
    assert read.depends_on_input


def test_a_real_integer_input_has_known_values_among_meta_weights():
    class Lookup(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(10, 4)

        def forward(self, ids):
            return self.table(ids) * (2 if (ids > 3).all() else 3)

    recording = trace_module(Lookup().to("meta"), (torch.tensor([4, 5]),), subject="s")
    assert recording.graph.nodes[1].args[1] == 2
    assert recording.value_reads == (ValueRead(1, "__bool__", True),)


def test_a_swallowed_failure_is_not_forgotten():
    class Swallows(torch.nn.Module):
        def forward(self, x):
            try:
                return x * x.sum().item()
            except Exception:
                return x

    with pytest.raises(SubjectError) as error:
        trace_module(Swallows(), (torch.empty(2, device="meta"),), subject="s")
    assert error.value.reason is Reason.DATA_DEPENDENT
