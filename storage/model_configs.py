"""The stored configs of models of the Hub, from which they are built again."""

from __future__ import annotations

from collections.abc import Sequence

from extract.hub_config import ModelConfig
from storage.corpus import Corpus
from storage.query import run_query
from storage.records import config_from_row


def configs_of_models(corpus: Corpus, model_ids: Sequence[str]) -> dict[str, ModelConfig]:
    """Return the config that each of these models of the Hub is built from."""
    rows = run_query(corpus, "configs_of_models", {"model_ids": list(model_ids)}) if model_ids else []
    return {row["model_id"]: config_from_row({name: row[name] for name in row if name != "model_id"}) for row in rows}
