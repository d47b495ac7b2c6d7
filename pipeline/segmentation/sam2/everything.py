"""Everything mode: the package's automatic mask generator over a grid of clicks, a batch of points at a time."""

import copy
from collections.abc import Generator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pipeline.segmentation.sam2.device import Device
from pipeline.segmentation.segment import SegmentationError

BATCH_PIXELS = 48 * 640 * 480
"""Of all masks of one batch together: about 0.3 GB with what the generator computes of them."""


@dataclass(frozen=True)
class Everything:
    """SAM 2's own settings (SAM2AutomaticMaskGenerator), and what is done with the masks afterwards."""

    points_per_side: int = 24
    """Clicks along each side of the picture: more finds smaller things and takes longer, by the square."""
    pred_iou_thresh: float = 0.7
    """Predicted quality below which a mask is dropped, in [0, 1]."""
    stability_score_thresh: float = 0.9
    """How little a mask may change when its threshold is moved, in [0, 1]."""
    stability_score_offset: float = 1.0
    """By how much it is moved, in logits."""
    box_nms_thresh: float = 0.7
    """Box IoU above which the lesser of two masks counts as the same."""
    use_m2m: bool = False
    """Put each mask to the network once more: better edges, half as slow again."""
    keep_all: bool = False
    """Keep parts of things as things of their own, as GRS does: a later step says what is no object."""

    def __post_init__(self) -> None:
        if not 1 <= self.points_per_side <= 128:
            raise SegmentationError(f"points_per_side is {self.points_per_side}; it takes 1 to 128.")
        for name in ("pred_iou_thresh", "stability_score_thresh", "box_nms_thresh"):
            if not 0 <= getattr(self, name) <= 1:
                raise SegmentationError(f"{name} is {getattr(self, name)}; it takes 0 to 1.")


Masks = list[tuple[np.ndarray, float]]
"""Masks of shape (H, W), bool, with predicted quality in [0, 1]; they may overlap."""


def everything(predictor: Any, rgb: np.ndarray, settings: Everything, device: Device) -> Generator[float, None, Masks]:
    """Yields the share done after each batch, returns the masks, best first. Closing it stops the work.

    `predictor` has the picture set already: it is not encoded again.
    """
    import torch
    from sam2.automatic_mask_generator import SAM2AutomaticMaskGenerator
    from torchvision.ops import nms

    own = {f.name: getattr(settings, f.name) for f in fields(settings) if f.name not in ("points_per_side", "keep_all")}
    generator: Any = SAM2AutomaticMaskGenerator(
        predictor.model, points_per_side=None, point_grids=[grid(settings.points_per_side)],
        points_per_batch=settings.points_per_side**2, **own,
    )  # fmt: skip
    generator.predictor = copy.copy(predictor)
    generator.predictor.set_image = generator.predictor.reset_predictor = lambda *_: None
    points = generator.point_grids[0]
    per_batch = max(1, BATCH_PIXELS // (3 * rgb.shape[0] * rgb.shape[1]))
    found: list[dict[str, Any]] = []
    for start in range(0, len(points), per_batch):
        generator.point_grids = [points[start : start + per_batch]]
        with device.turn():
            found += generator.generate(rgb)
        yield min(1.0, (start + per_batch) / len(points))
    if not found:
        return []
    corners = torch.tensor([[x, y, x + w, y + h] for x, y, w, h in (entry["bbox"] for entry in found)]).float()
    scores = torch.tensor([entry["predicted_iou"] for entry in found])
    kept = [found[i] for i in nms(corners, scores, settings.box_nms_thresh).tolist()]
    return [(entry["segmentation"].astype(bool), float(np.clip(entry["predicted_iou"], 0, 1))) for entry in kept]


def grid(side: int) -> np.ndarray:
    """Points of shape (side * side, 2), x and y in [0, 1], evenly over the picture."""
    middle = (np.arange(side) + 0.5) / side
    return np.stack(np.meshgrid(middle, middle), -1).reshape(-1, 2)
