"""One call for models that track objects through a video: their own forward takes a session, a Python object.

A user makes a session for a video, marks objects on its first frame, one by clicks, one by a mask, and calls the
model frame by frame.
"""

from __future__ import annotations

import typing
from typing import Any

import torch

_CLICKED, _MASKED = 1, 2
_PROMPT = "object"  # a name for the prompt; its tokens are given


def track(
    module: torch.nn.Module,
    pixel_values_videos: torch.Tensor,
    input_points: torch.Tensor,
    input_labels: torch.Tensor,
    input_masks: torch.Tensor | None = None,
) -> list[Any]:
    """Return the model's output for each frame of a video (frames, channels, height, width).

    `input_points` (1, 1, clicks, 2) and `input_labels` (1, 1, clicks) mark one object on the first frame,
    `input_masks` (1, 1, height, width) another.
    """
    session = _session(module, pixel_values_videos)
    clicks = {"point_coords": input_points, "point_labels": input_labels}
    session.add_point_inputs(session.obj_id_to_idx(_CLICKED), 0, clicks)
    session.obj_with_new_inputs = [_CLICKED]
    if input_masks is not None:
        session.add_mask_inputs(session.obj_id_to_idx(_MASKED), 0, input_masks)
        session.obj_with_new_inputs.append(_MASKED)
    return _run(module, session, pixel_values_videos.shape[0])


def track_by_text(
    module: torch.nn.Module,
    pixel_values_videos: torch.Tensor,
    input_ids: torch.Tensor,
    attention_mask: torch.Tensor,
) -> list[Any]:
    """Return the model's output for each frame of a video, of the objects that one tokenised text prompt describes."""
    session = _session(module, pixel_values_videos)
    prompt = session.add_prompt(_PROMPT)
    session.prompt_input_ids[prompt] = input_ids
    session.prompt_attention_masks[prompt] = attention_mask
    return _run(module, session, pixel_values_videos.shape[0])


def _session(module: torch.nn.Module, video: torch.Tensor) -> Any:
    session_class = typing.get_type_hints(type(module).forward)["inference_session"]
    height, width = video.shape[-2:]
    return session_class(video=video, video_height=height, video_width=width, dtype=video.dtype)


def _run(module: torch.nn.Module, session: Any, num_frames: int) -> list[Any]:
    return [type(module).forward(module, session, frame_idx=frame) for frame in range(num_frames)]
