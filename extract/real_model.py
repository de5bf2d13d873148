"""A model with weights that runs again and again as if for the first time."""

from __future__ import annotations

import random

import torch

from extract.sources import Prepared


class RealModel:
    """Puts a model's buffers and the random state back before each run; parameters are taken to stay as they are."""

    def __init__(self, prepared: Prepared, seed: int) -> None:
        self._prepared = prepared
        self._seed = seed
        self._buffers = {name: buffer.clone() for name, buffer in prepared.module.named_buffers()}

    @property
    def seed(self) -> int:
        """Seed of the random state and of the inputs."""
        return self._seed

    def pristine(self) -> Prepared:
        """Return the model as it was at first, torch's and Python's random state seeded."""
        torch.manual_seed(self._seed)
        random.seed(self._seed)
        with torch.no_grad():
            for name, buffer in self._prepared.module.named_buffers():
                kept = self._buffers.get(name)
                if kept is not None and kept.shape == buffer.shape:
                    buffer.copy_(kept)
        return self._prepared
