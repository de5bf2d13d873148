"""Names in a foreign `model.py` to our own: private spellings of torch to public ones, and what is no op at all.

Public corpora are of many ages: a name may be that of the C++ binding (`torch._C._nn.linear`), of an alias
(`F.linear`), or of a switch that computes nothing (definitions.md section 1 leaves it out of the op index).
"""

from __future__ import annotations

from functools import lru_cache

from extract.op_tables import load_op_names

# What a name means where the file's own imports do not say.
DEFAULT_IMPORTS: dict[str, str] = {
    "torch": "torch",
    "operator": "operator",
    "_operator": "operator",
    "math": "math",
    "builtins": "builtins",
    "device": "torch.device",
    "nn": "torch.nn",
    "F": "torch.nn.functional",
    "inf": "math.inf",
    "nan": "math.nan",
    "Ellipsis": "builtins.Ellipsis",
    **{
        name: f"builtins.{name}" for name in "int float bool complex slice tuple list range getattr max min abs".split()
    },
}

# Prefix of a private or indirect name -> prefixes of the public names to try, in order of preference.
_PREFIXES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("torch._C._nn.", ("torch.nn.functional.", "torch.", "torch.Tensor.")),
    ("torch._C._fft.fft_", ("torch.fft.",)),
    ("torch._C._special.special_", ("torch.special.",)),
    ("torch._C._linalg.linalg_", ("torch.linalg.",)),
    ("torch._C._VariableFunctions.", ("torch.",)),
    ("torch._C._VariableFunctionsClass.", ("torch.",)),
    ("torch._C._TensorBase.", ("torch.Tensor.",)),
    ("torch._C.TensorBase.", ("torch.Tensor.",)),
    ("torch._tensor.Tensor.", ("torch.Tensor.",)),
    ("torch._VF.", ("torch.",)),
    ("torch.functional.", ("torch.", "torch.nn.functional.")),
    ("torch.nn.modules.functional.", ("torch.nn.functional.",)),
    ("operator.__", ("operator.",)),
)

# Switches and checks: they compute nothing that a graph holds.
_LEFT_OUT = frozenset(
    "torch._C._set_grad_enabled torch.set_grad_enabled torch.no_grad torch.enable_grad torch._C._log_api_usage_once "
    "torch._assert torch._assert_async torch._assert_scalar torch._check torch._check_is_size torch._check_value "
    "torch._check_index torch._check_type torch._check_not_implemented torch._check_with torch._check_tensor_all "
    "torch.sym_constrain_range torch.sym_constrain_range_for_size torch._C._autograd._saved_tensors_hooks_disable "
    "torch._C._autograd._saved_tensors_hooks_enable torch._functorch.predispatch.lazy_load_decompositions "
    "torch._functorch.vmap.lazy_load_decompositions torch.fx.experimental.symbolic_shapes.guard_size_oblivious "
    "torch.autograd.grad_mode.set_grad_enabled torch._dynamo.graph_break torch._C._set_deterministic_algorithms".split()
)
_LEFT_OUT_OPS = frozenset(
    "_assert_async _assert_scalar _assert_tensor_metadata sym_constrain_range sym_constrain_range_for_size "
    "_functional_assert_async _functional_assert_scalar _functional_sym_constrain_range".split()
)


@lru_cache(maxsize=8192)
def public_name(dotted: str) -> str:
    """Return the public spelling of a qualified name; a name without one stays as it is."""
    known = load_op_names()
    if dotted in known:
        return dotted
    for prefix, candidates in _PREFIXES:
        if dotted.startswith(prefix):
            rest = dotted.removeprefix(prefix)
            if prefix == "operator.__":
                rest = rest.removesuffix("__")
            found = [name for name in (candidate + rest for candidate in candidates) if name in known]
            if found:
                return found[0]
            return f"torch.ops.aten.{rest}" if prefix == "torch._C._nn." else dotted
    return dotted


@lru_cache(maxsize=8192)
def is_left_out(dotted: str) -> bool:
    """Tell whether a call is a grad-mode switch or an assert, which are no ops."""
    if dotted in _LEFT_OUT:
        return True
    parts = dotted.split(".")
    return parts[:3] == ["torch", "ops", "aten"] and len(parts) > 3 and parts[3] in _LEFT_OUT_OPS
