from __future__ import annotations

import math

import pytest
import torch

from extract.statistics import measure_tensor


def test_real_tensors_are_measured_over_finite_elements():
    meta = measure_tensor(torch.tensor([1.0, 3.0, math.inf, math.nan]), "parameter", "a.weight")
    assert (meta.mean, meta.min, meta.max, meta.stats_source) == (2.0, 1.0, 3.0, "values")
    assert meta.std == pytest.approx(math.sqrt(2))
    assert meta.values is not None and meta.values[:3] == (1.0, 3.0, math.inf)


def test_values_are_kept_below_64_elements_only():
    assert measure_tensor(torch.arange(63), "buffer", "b").values == tuple(range(63))
    assert measure_tensor(torch.arange(64), "buffer", "b").values is None


def test_one_element_has_no_deviation_and_none_has_no_moments():
    assert measure_tensor(torch.ones(1), "buffer", "b").std is None
    empty = measure_tensor(torch.ones(0), "buffer", "b")
    assert (empty.mean, empty.values, empty.stats_source) == (None, (), "values")


@pytest.mark.parametrize(
    ("shape", "kind", "name", "expected"),
    [
        ((1, 3, 4, 4), "input", "x", (0.0, 1.0)),
        ((8, 16), "parameter", "fc.weight", (0.0, 0.25)),
        ((8, 4, 2, 2), "parameter", "conv.weight", (0.0, 0.25)),
        ((8,), "parameter", "norm.weight", (1.0, 0.0)),
        ((8,), "parameter", "fc.bias", (0.0, 0.0)),
        ((1, 5, 8), "parameter", "pos_embed", (0.0, 0.02)),
        ((8,), "buffer", "bn.running_mean", (0.0, 0.0)),
        ((8,), "buffer", "bn.running_var", (1.0, 0.0)),
    ],
)
def test_meta_tensors_get_what_their_role_implies(shape, kind, name, expected):
    meta = measure_tensor(torch.empty(shape, device="meta"), kind, name)
    assert (meta.mean, meta.std, meta.stats_source, meta.values) == (*expected, "role", None)


def test_meta_integers_and_unknown_roles_get_nothing():
    index = measure_tensor(torch.empty(4, dtype=torch.int64, device="meta"), "buffer", "index")
    table = measure_tensor(torch.empty(4, device="meta"), "buffer", "table")
    assert {index.stats_source, table.stats_source} == {"none"}
    assert (index.mean, table.std) == (None, None)
