"""Lists of models, one id a line, `#` starts a comment, a bare name is one of timm's; and how a peer builds them.

A peer builds as its users do: real weights from the model's own initialisation, by timm's or transformers' own
constructor; repaired configs and inputs are the same as ours.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import timm
import torch

TRACE45 = Path(__file__).resolve().parents[1] / "data" / "models" / "trace45.txt"


def read_names(path: Path) -> list[str]:
    """Return model ids, in file order."""
    lines = (line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line if "/" in line else f"timm/{line}" for line in lines if line]


def build_plainly(model_id: str) -> tuple[torch.nn.Module, dict[str, Any]]:
    """Return a model on the default device, in eval mode, and real arguments of its forward by name."""
    source, _, name = model_id.partition("/")
    if source == "timm":
        cfg = timm.get_pretrained_cfg(name)
        if cfg is None:
            raise LookupError(f"timm has no configuration for {name}")
        model = timm.create_model(name).eval()
        argument = next(iter(inspect.signature(model.forward).parameters))
        return model, {argument: torch.randn(1, *cfg.input_size, device="cpu")}
    from transformers import AutoModel

    from extract.transformers_inputs import InputPlan, row_of
    from extract.transformers_source import make_config

    config = make_config(name, row_of(name))
    model = AutoModel.from_config(config).eval()
    with torch.device("cpu"):
        return model, InputPlan(config, model.forward, row_of(name), 1).make(0, "cpu")
