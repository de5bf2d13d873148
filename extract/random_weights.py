"""A built module's weights to seeded random ones, scaled by role, so that no branch of the model is idle.

Constructors leave many parameters at zero (last norms, layer scales): those would make any comparison pass.
"""

from __future__ import annotations

import torch


def randomise_weights(module: torch.nn.Module, seed: int) -> None:
    """Draw every parameter and running statistic of a real module anew, in place.

    Biases N(0, 0.1); weights of one dimension N(1, 0.1); weights of more dimensions N(0, 1/sqrt(fan_in)); other
    parameters get N(0, 0.1) added. Running means N(0, 0.1), running variances U(0.8, 1.2).
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for label, parameter in module.named_parameters():
            _randomise(label, parameter, generator)
        for label, buffer in module.named_buffers():
            if label.endswith("running_mean"):
                buffer.normal_(0.0, 0.1, generator=generator)
            elif label.endswith("running_var"):
                buffer.uniform_(0.8, 1.2, generator=generator)


def _randomise(label: str, parameter: torch.Tensor, generator: torch.Generator) -> None:
    if not parameter.is_floating_point():
        return
    if label.endswith("bias"):
        parameter.normal_(0.0, 0.1, generator=generator)
    elif label.endswith("weight") and parameter.dim() == 1:
        parameter.normal_(1.0, 0.1, generator=generator)
    elif label.endswith("weight") and parameter.numel():
        parameter.normal_(0.0, parameter[0].numel() ** -0.5, generator=generator)
    else:
        noise = torch.empty_like(parameter).normal_(0.0, 0.1, generator=generator)
        parameter.add_(noise)
