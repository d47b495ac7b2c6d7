"""SAM 2's automatic mask generator, run on one batch of points at a time."""

import copy
from collections.abc import Generator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pipeline.geometry import PixelBox, bounding_box
from pipeline.segmentation.mask_operations import iou
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
    """IoU of two boxes, and of the masks in them, above which the worse mask is dropped as a duplicate."""
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
    from sam2.automatic_mask_generator import SAM2AutomaticMaskGenerator

    ours = ("points_per_side", "box_nms_thresh", "keep_all")
    options = {f.name: getattr(settings, f.name) for f in fields(settings) if f.name not in ours}
    # The generator compares boxes only: a label as wide and high as its can would displace the can.
    options["box_nms_thresh"] = 1.0
    generator: Any = SAM2AutomaticMaskGenerator(
        predictor.model,
        points_per_side=None,
        point_grids=[point_grid(settings.points_per_side)],
        points_per_batch=settings.points_per_side**2,
        **options,
    )
    generator.predictor = copy.copy(predictor)
    generator.predictor.set_image = generator.predictor.reset_predictor = lambda *_: None
    points = generator.point_grids[0]
    per_batch = max(1, BATCH_PIXELS // (3 * rgb.shape[0] * rgb.shape[1]))
    masks: ScoredMasks = []
    for start in range(0, len(points), per_batch):
        generator.point_grids = [points[start : start + per_batch]]
        with device.turn():
            found = generator.generate(rgb)
        scored = [(one["segmentation"].astype(bool), float(np.clip(one["predicted_iou"], 0, 1))) for one in found]
        masks = without_duplicates([*masks, *scored], settings.box_nms_thresh)
        yield min(1.0, (start + per_batch) / len(points))
    return masks


def without_duplicates(masks: ScoredMasks, threshold: float) -> ScoredMasks:
    """Return the masks, best first. A mask that nearly equals a better one, in box and pixels, is left out."""
    kept: list[tuple[np.ndarray, float, PixelBox]] = []
    for mask, score in sorted(masks, key=lambda entry: -entry[1]):
        box = bounding_box(mask)
        if not any(_is_duplicate(mask, box, other, other_box, threshold) for other, _, other_box in kept):
            kept.append((mask, score, box))
    return [(mask, score) for mask, score, _ in kept]


def _is_duplicate(mask: np.ndarray, box: PixelBox, other: np.ndarray, other_box: PixelBox, threshold: float) -> bool:
    left, top = max(box.left, other_box.left), max(box.top, other_box.top)
    right, bottom = min(box.right, other_box.right), min(box.bottom, other_box.bottom)
    shared = max(0, right - left) * max(0, bottom - top)
    union = box.width * box.height + other_box.width * other_box.height - shared
    if shared <= threshold * union:
        return False
    rows, cols = (
        slice(min(box.top, other_box.top), max(box.bottom, other_box.bottom)),
        slice(min(box.left, other_box.left), max(box.right, other_box.right)),
    )
    return iou(mask[rows, cols], other[rows, cols]) > threshold


def point_grid(side: int) -> np.ndarray:
    """Return points of shape (side * side, 2), x and y in [0, 1], evenly spaced over the image."""
    middle = (np.arange(side) + 0.5) / side
    return np.stack(np.meshgrid(middle, middle), -1).reshape(-1, 2)
