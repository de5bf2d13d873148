"""The task heads that transformers has, read from its source text, so that naming them loads neither it nor torch.

A head is a mapping of the Auto classes: `MODEL_FOR_CAUSAL_LM_MAPPING_NAMES` is head `causal-lm`; `base` is the bare
model.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

BASE_HEAD, ALL_HEADS = "base", "all"

_MAPPING = re.compile(r"^(MODEL_FOR_(\w+)_MAPPING_NAMES)\b", re.MULTILINE)
_SHORT_NAMES = {"seq-to-seq-causal-lm": "seq2seq-lm"}


@lru_cache(maxsize=1)
def head_mappings() -> dict[str, str]:
    """Return the name of the mapping in `transformers.models.auto.modeling_auto` by head; raises ImportError."""
    spec = find_spec("transformers")
    if spec is None or spec.origin is None:
        raise ImportError("transformers is not installed")
    text = (Path(spec.origin).parent / "models" / "auto" / "modeling_auto.py").read_text(encoding="utf-8")
    heads = {BASE_HEAD: "MODEL_MAPPING_NAMES"}
    for mapping, name in sorted(set(_MAPPING.findall(text))):
        head = name.lower().replace("_", "-")
        heads[_SHORT_NAMES.get(head) or head] = mapping
    return heads
