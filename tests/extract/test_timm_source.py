from __future__ import annotations

import re

import pytest
import timm
import torch

from extract.failure import Reason, SubjectError
from extract.model_tracing import TraceConfig, trace_model
from extract.replay import replay
from extract.timm_source import list_models


def test_every_name_of_timm_is_listed_once_with_its_family():
    models = list_models()
    assert [model.model_id for model in models] == [f"timm/{name}" for name in timm.list_models()]
    assert len({model.config_sha256 for model in models}) == len(models)
    by_id = {model.model_id: model for model in models}
    assert (by_id["timm/resnet18"].family, by_id["timm/resnet18"].licence) == ("resnet", "apache-2.0")


@pytest.mark.parametrize("name", ["resnet18", "vit_tiny_patch16_224", "edgenext_xx_small", "repghostnet_050"])
def test_a_trace_replays_bit_for_bit_on_the_models_own_weights(name):
    trace = trace_model(f"timm/{name}")
    torch.manual_seed(0)
    model = timm.create_model(name).eval()
    own = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    assert trace.model.num_parameters == sum(parameter.numel() for parameter in model.parameters())
    for seed in (0, 1):
        torch.manual_seed(seed)
        image = torch.randn(trace.graph.tensors[0].shape)
        operands = [image if t.kind == "input" else own[t.original_name] for t in trace.graph.tensors]
        with torch.no_grad():
            assert torch.equal(replay(trace.graph, operands)[0], model(image))


def test_two_traces_of_a_model_are_equal():
    assert trace_model("timm/resnet18").graph == trace_model("timm/resnet18").graph


def test_an_unknown_model_is_answered_with_close_names():
    with pytest.raises(SubjectError, match=re.escape("timm/resnet18")) as error:
        trace_model("timm/resnet18x")
    assert error.value.reason is Reason.UNKNOWN_MODEL


def test_a_model_above_the_bound_is_refused_before_its_trace():
    with pytest.raises(SubjectError, match="11689512 parameters, at most 1000 allowed") as error:
        trace_model("timm/resnet18", TraceConfig(max_params=1000))
    assert error.value.reason is Reason.OVER_MAX_PARAMS


def test_a_constructor_that_raises_is_a_failed_build(monkeypatch):
    def broken(**kwargs):
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setitem(timm.models._registry._model_entrypoints, "resnet18", broken)
    with pytest.raises(SubjectError, match="RuntimeError: first line second line") as error:
        trace_model("timm/resnet18")
    assert error.value.reason is Reason.BUILD_FAILED
