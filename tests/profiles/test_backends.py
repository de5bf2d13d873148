"""Backends by name, ours and those of entry points, and what each says that it lacks."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
import torch
from torch import fx

from profiles.backends import Backend, BackendError, choose_backends, find_backends, find_missing
from tests.profiles.entry_points import install

OURS = ["eager", "inductor", "inductor-max-autotune", "onnxruntime"]
PLUG_IN = """
from profiles.backends import Backend
mine = Backend("{name}", "nothing", lambda device: None, lambda module, operands: module.forward)
other = Backend("other", "a GPU", lambda device: None if device == "cuda" else "no GPU", lambda module, operands: None)
junk = {{"name": "junk"}}
"""


def plug_in(folder: Path, monkeypatch: pytest.MonkeyPatch, module: str, name: str = "mine", **points: str) -> None:
    monkeypatch.syspath_prepend(install(folder, module, PLUG_IN.format(name=name), **points))


def test_ours_come_first_and_those_of_entry_points_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(find_backends()) == OURS
    plug_in(tmp_path, monkeypatch, "passnet_plug_in_a", zebra="other", ant="mine")
    found = find_backends()
    assert list(found) == [*OURS, "mine", "other"]
    assert all(isinstance(backend, Backend) and backend.name == name for name, backend in found.items())
    assert find_missing(found["other"], "cpu") == "no GPU"
    assert find_missing(found["other"], "cuda") is None


def test_an_entry_point_that_is_no_backend_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(tmp_path, monkeypatch, "passnet_plug_in_b", mine="mine", junk="junk")
    with pytest.raises(BackendError, match=r"passnet_plug_in_b:junk of passnet.backends is a dict, not a Backend"):
        find_backends()


@pytest.mark.parametrize("name", ["eager", "inductor"])
def test_an_entry_point_cannot_take_a_name_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    plug_in(tmp_path, monkeypatch, f"passnet_plug_in_{name}", name, mine="mine")
    with pytest.raises(BackendError, match=f"passnet_plug_in_{name}:mine .* gives a second backend '{name}'"):
        find_backends()


def test_two_entry_points_cannot_have_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(tmp_path / "c", monkeypatch, "passnet_plug_in_c", mine="mine")
    plug_in(tmp_path / "d", monkeypatch, "passnet_plug_in_d", mine="mine")
    with pytest.raises(BackendError, match="gives a second backend 'mine'"):
        find_backends()


@pytest.mark.parametrize(
    ("source", "said"),
    [("import no_such_package", "ModuleNotFoundError"), ("mine = 1 / 0", "ZeroDivisionError"), ("", "AttributeError")],
)
def test_an_entry_point_that_cannot_be_loaded_is_named_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, said: str
) -> None:
    monkeypatch.syspath_prepend(install(tmp_path, "passnet_plug_in_e", source, mine="mine"))
    monkeypatch.delitem(sys.modules, "passnet_plug_in_e", raising=False)
    with pytest.raises(BackendError, match=f"passnet_plug_in_e:mine .* cannot be loaded .{said}") as caught:
        find_backends()
    assert "\n" not in str(caught.value)


def test_backends_are_chosen_with_eager_first_and_once() -> None:
    known = find_backends()

    def names(*chosen: str) -> list[str]:
        return [backend.name for backend in choose_backends(chosen, known)]

    assert names() == names("eager") == ["eager"]
    assert names("inductor", "eager", "inductor") == ["eager", "inductor"]
    for unknown in ("foo", "", "Eager"):
        with pytest.raises(BackendError, match=f"unknown backend '{unknown}'; choose among eager, inductor"):
            names("inductor", unknown)


def test_what_fails_to_say_what_it_lacks_is_missing_for_that() -> None:
    def broken(device: str) -> str | None:
        raise ImportError(f"libfoo.so:\nnot for {device}")

    backend = Backend("broken", "libfoo", broken, lambda module, operands: module.forward)
    assert find_missing(backend, "cpu") == "ImportError: libfoo.so: not for cpu"


def test_ours_say_what_is_missing_on_a_cpu() -> None:
    missing = {name: find_missing(backend, "cpu") for name, backend in find_backends().items()}
    assert [missing[name] for name in OURS[:3]] == [None] * 3
    for package in ("onnxruntime", "onnxscript"):
        if importlib.util.find_spec(package) is None:
            assert missing["onnxruntime"] == f"{package} is not installed"
            break


def test_inductor_needs_triton_and_a_gpu_that_triton_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    inductor = find_backends()["inductor"]
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (6, 1))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    assert find_missing(inductor, "cuda") == "Triton needs compute capability 7.0, this device has 6.1"
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    assert find_missing(inductor, "cuda") is None
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert find_missing(inductor, "cuda") == "triton is not installed"


def test_eager_runs_the_module_itself() -> None:
    module = fx.symbolic_trace(torch.nn.ReLU())
    run = find_backends()["eager"].build(module, [torch.ones(2)])
    assert run(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
