"""Carry masks from one picture to the following ones with SAM 2's video predictor and its memory."""

import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from pipeline.segmentation.sam2.network import load_network
from pipeline.segmentation.sam2.weights import first_line
from pipeline.segmentation.segment import SegmentationError


def carry_masks(
    path: Path, device: str, side: int, pictures: Sequence[np.ndarray], masks: Sequence[np.ndarray]
) -> list[list[np.ndarray]]:
    """Return what the second and following pictures show of each mask of the first one; an empty mask for nothing.

    Args:
        path: the checkpoint.
        device: of torch.
        side: pixels that the pictures are resized to.
        pictures: in the order of time, each of shape (H, W, 3), uint8.
        masks: of the first picture, each of shape (H, W), bool.

    Raises SegmentationError.
    """
    height, width = masks[0].shape
    try:
        predictor = load_network(path, device, side, is_video=True)
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's notes on what it does not find on a processor
            for number, picture in enumerate(pictures):
                same = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)
                bgr = cv2.cvtColor(same, cv2.COLOR_RGB2BGR)
                cv2.imwrite(f"{folder}/{number:05d}.jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, 98])  # it reads JPEG only
            carried = _propagated(predictor, folder, masks)
    except SegmentationError:
        raise
    except Exception as error:  # torch raises errors of many kinds
        raise SegmentationError(
            f"SAM 2 cannot carry the masks ({first_line(error)}); choose another segmenter."
        ) from None
    return [
        [_resized(mask, picture.shape[:2]) for mask in shown]
        for picture, shown in zip(pictures[1:], carried[1:], strict=True)
    ]


def _propagated(predictor: Any, folder: str, masks: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
    """Return the masks in each picture of the folder, of shape (H, W), bool."""
    import torch

    with torch.inference_mode():
        state = predictor.init_state(folder, offload_video_to_cpu=True)
        for number, mask in enumerate(masks):
            predictor.add_new_mask(state, frame_idx=0, obj_id=number, mask=mask)
        found = {}
        for index, numbers, logits in predictor.propagate_in_video(state):
            shown = dict(zip(numbers, (logits[:, 0] > 0).cpu().numpy(), strict=True))
            found[index] = [shown[number] for number in range(len(masks))]
    return [found[index] for index in sorted(found)]


def _resized(mask: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    return cv2.resize(mask.astype(np.uint8), shape[::-1], interpolation=cv2.INTER_NEAREST) > 0
