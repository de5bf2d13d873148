"""An op defined through `torch.library.Library`, which keeps no Python object of it."""

# Licensed under the Apache License, Version 2.0.

import torch

library = torch.library.Library("passnet_library", "DEF")
library.define("thrice(Tensor x, int times=3) -> Tensor")
library.define("scale_(Tensor(a!) x, float by) -> Tensor(a!)")


def thrice(x: torch.Tensor, times: int = 3) -> torch.Tensor:
    return x * times


def thrice_meta(x: torch.Tensor, times: int = 3) -> torch.Tensor:
    return torch.empty_like(x)


def scale_(x: torch.Tensor, by: float) -> torch.Tensor:
    return x.mul_(by)


library.impl("thrice", thrice, "CompositeExplicitAutograd")
library.impl("thrice", thrice_meta, "Meta")
library.impl("scale_", scale_, "CompositeExplicitAutograd")
