"""SAM 2's automatic mask generator, run on one batch of points at a time."""

import copy
from collections.abc import Generator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pipeline.segmentation.sam2.device_queue import ComputeDevice
from pipeline.segmentation.segment import SegmentationError

BATCH_PIXELS = 48 * 640 * 480
"""Pixels of all masks of one batch: about 0.3 GB with the generator's intermediate results."""


@dataclass(frozen=True)
class AutomaticSettings:
    """Settings of SAM2AutomaticMaskGenerator, and of the filter of its masks."""

    points_per_side: int = 24
    """Points along each side of the image. More points find smaller objects; time grows with the square."""
    pred_iou_thresh: float = 0.7
    """Predicted quality below which a mask is dropped, in [0, 1]."""
    stability_score_thresh: float = 0.9
    """IoU of a mask with itself at a shifted threshold, below which it is dropped, in [0, 1]."""
    stability_score_offset: float = 1.0
    """Shift of that threshold, in logits."""
    box_nms_thresh: float = 0.7
    """Box IoU above which the worse of two masks is dropped as a duplicate."""
    use_m2m: bool = False
    """Refine each mask with a second pass: better edges, 1.5 times as slow."""
    keep_all: bool = False
    """Return parts of objects as segments, as GRS does; a later step decides what is an object."""

    def __post_init__(self) -> None:
        if not 1 <= self.points_per_side <= 128:
            raise SegmentationError(f"points_per_side is {self.points_per_side}; it takes 1 to 128.")
        for name in ("pred_iou_thresh", "stability_score_thresh", "box_nms_thresh"):
            if not 0 <= getattr(self, name) <= 1:
                raise SegmentationError(f"{name} is {getattr(self, name)}; it takes 0 to 1.")


ScoredMasks = list[tuple[np.ndarray, float]]
"""Masks of shape (H, W), bool, each with its predicted quality in [0, 1]; they may overlap."""


def generate_masks(
    predictor: Any, rgb: np.ndarray, settings: AutomaticSettings, device: ComputeDevice
) -> Generator[float, None, ScoredMasks]:
    """Yield the progress in [0, 1] after each batch; return the masks, best first. Closing the generator stops it.

    The image must be set in `predictor`; it is not encoded again.
    """
    import torch
    from sam2.automatic_mask_generator import SAM2AutomaticMaskGenerator
    from torchvision.ops import nms

    ours = ("points_per_side", "keep_all")
    options = {f.name: getattr(settings, f.name) for f in fields(settings) if f.name not in ours}
    generator: Any = SAM2AutomaticMaskGenerator(
        predictor.model, points_per_side=None, point_grids=[point_grid(settings.points_per_side)],
        points_per_batch=settings.points_per_side**2, **options,
    )  # fmt: skip
    generator.predictor = copy.copy(predictor)
    generator.predictor.set_image = generator.predictor.reset_predictor = lambda *_: None
    points = generator.point_grids[0]
    per_batch = max(1, BATCH_PIXELS // (3 * rgb.shape[0] * rgb.shape[1]))
    masks: list[dict[str, Any]] = []
    for start in range(0, len(points), per_batch):
        generator.point_grids = [points[start : start + per_batch]]
        with device.turn():
            masks += generator.generate(rgb)
        yield min(1.0, (start + per_batch) / len(points))
    if not masks:
        return []
    corners = torch.tensor([[x, y, x + w, y + h] for x, y, w, h in (entry["bbox"] for entry in masks)]).float()
    scores = torch.tensor([entry["predicted_iou"] for entry in masks])
    best = [masks[i] for i in nms(corners, scores, settings.box_nms_thresh).tolist()]
    return [(entry["segmentation"].astype(bool), float(np.clip(entry["predicted_iou"], 0, 1))) for entry in best]


def point_grid(side: int) -> np.ndarray:
    """Return points of shape (side * side, 2), x and y in [0, 1], evenly spaced over the image."""
    middle = (np.arange(side) + 0.5) / side
    return np.stack(np.meshgrid(middle, middle), -1).reshape(-1, 2)
