"""One call for models that track objects through a video: their own forward takes a session, a Python object.

A user makes a session for a video, marks objects on its first frame, one by clicks, one by a mask, and calls the
model frame by frame.
"""

from __future__ import annotations

import typing
from typing import Any

import torch

_CLICKED, _MASKED = 1, 2


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
    forward = type(module).forward
    session_class = typing.get_type_hints(forward)["inference_session"]
    height, width = pixel_values_videos.shape[-2:]
    session = session_class(
        video=pixel_values_videos, video_height=height, video_width=width, dtype=pixel_values_videos.dtype
    )
    clicks = {"point_coords": input_points, "point_labels": input_labels}
    session.add_point_inputs(session.obj_id_to_idx(_CLICKED), 0, clicks)
    session.obj_with_new_inputs = [_CLICKED]
    if input_masks is not None:
        session.add_mask_inputs(session.obj_id_to_idx(_MASKED), 0, input_masks)
        session.obj_with_new_inputs.append(_MASKED)
    return [forward(module, session, frame_idx=frame) for frame in range(pixel_values_videos.shape[0])]
