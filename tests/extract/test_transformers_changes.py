"""What is changed in transformers lets models be recorded, again and again in one process."""

from extract.model_tracing import trace_model
from extract.transformers_changes import forget_cached_tensors


def test_a_tensor_cached_by_a_former_run_is_made_anew() -> None:
    first, second = (trace_model("transformers/detr").graph for _ in range(2))
    assert second == first


def test_caches_of_modeling_functions_are_emptied() -> None:
    from transformers.models.dinov3_vit import modeling_dinov3_vit as modeling

    cached = modeling.get_patches_center_coordinates
    (wrapped,) = [cell.cell_contents for cell in cached.__closure__ if hasattr(cell.cell_contents, "cache_info")]
    trace_model("transformers/dinov3_vit")
    assert wrapped.cache_info().currsize > 0
    forget_cached_tensors()
    assert wrapped.cache_info().currsize == 0
