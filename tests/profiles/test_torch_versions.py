"""Which torch the planning is known of is said once, in one line, when a worker starts."""

from __future__ import annotations

import pytest
import torch
from torch._inductor.graph import GraphLowering

from profiles.kernels.torch_versions import check_torch


def test_the_tested_torch_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    check_torch()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("version", "said"), [("2.11.0+cu128", "not tested with"), ("2.19.0", "not written for")])
def test_another_torch_is_named_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, version: str, said: str
) -> None:
    monkeypatch.setattr(torch, "__version__", version)
    check_torch()
    error = capsys.readouterr().err
    assert said in error
    assert version in error
    assert error.count("\n") == 1


def test_a_torch_without_the_parts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(GraphLowering, "_update_scheduler")
    with pytest.raises(RuntimeError, match=r"no GraphLowering\._update_scheduler"):
        check_torch()
