"""Predict the object that clicks select with a network: colour features, geometry and clicks in, log odds out.

The encoder is EfficientNet-Lite0 up to its stride of 16 (Tan and Le, 2019; weights from ImageNet, Apache-2.0), run once
per frame. The decoder is a U-Net (Ronneberger et al., 2015) on an 80 x 80 crop around the clicks, trained by
scripts/training/train_clicks.py on rendered clutter only. Both run in OpenCV.
"""

from functools import cache, cached_property
from pathlib import Path
from threading import Lock

import cv2
import numpy as np

from pipeline.geometry import bounding_box
from pipeline.segmentation.depth import affinity
from pipeline.segmentation.depth.click_crops import (
    CELLS,
    STRIDE,
    Click,
    ClickCrop,
    click_maps,
    geometry_channels,
    neighbourhood,
    relative_geometry,
)
from pipeline.segmentation.depth.height_map import HeightMap

FIRST_CROP_M = 0.44
"""Width in metres of the crop around a first click."""
MARGIN = 1.4
"""Width of a crop around a mask, in widths of the mask."""
OUTSIDE = -9.0
"""Log odds of pixels outside the crop."""
_NETWORK_LOCK = Lock()
"""OpenCV's networks keep their input, so one caller at a time may use them."""


@cache
def _network(name: str) -> cv2.dnn.Net:
    return cv2.dnn.readNetFromONNX(str(Path(__file__).with_name(f"clicks_{name}.onnx")))


def _run_network(name: str, values: np.ndarray) -> np.ndarray:
    with _NETWORK_LOCK:
        network = _network(name)
        network.setInput(np.ascontiguousarray(values, np.float32))
        return network.forward()[0].copy()


def encode(rgb: np.ndarray) -> np.ndarray:
    """Return features (h / 4, w / 4, 24), float32, of colour (h, w, 3); h and w are rounded up to multiples of 16."""
    h, w = rgb.shape[:2]
    padded = np.pad(rgb, ((0, -h % 16), (0, -w % 16), (0, 0)), mode="edge").astype(np.float32)
    return np.ascontiguousarray(
        _run_network("encoder", ((padded - 127) / 128).transpose(2, 0, 1)[None]).transpose(1, 2, 0)
    )


class FrameNetworks:
    """The networks' results for one frame, computed on first use."""

    def __init__(self, view: HeightMap):
        self._view = view

    @cached_property
    def _features(self) -> np.ndarray:
        return encode(self._view.rgb)

    @cached_property
    def _geometry(self) -> np.ndarray:
        return geometry_channels(self._view, self._view.right)

    @cached_property
    def affinities(self) -> np.ndarray:
        """Affinities of cells, as `predict_affinities` returns them."""
        return affinity.predict_affinities(affinity.input_channels(self._geometry), self._view.rgb)

    def predict(self, clicks: list[Click], before: np.ndarray | None = None) -> np.ndarray:
        """Return log odds (h, w) that a pixel belongs to the object selected by clicks, in pixels at working size.

        `before` is the mask (h, w) that the clicks correct; None without one.
        """
        if before is not None and before.any():
            crop = self._crop_around(before, clicks)
            return self._paste(self._decode(crop, clicks, before), crop)
        x, y, _ = clicks[-1]
        crop = ClickCrop.around(x, y, FIRST_CROP_M * self._view.focal / self._depth_near(x, y))
        odds = self._decode(crop, clicks, None)
        better = _better_crop(crop, odds > 0)
        return self._paste(odds if better is None else self._decode(better, clicks, None), better or crop)

    def _decode(self, crop: ClickCrop, clicks: list[Click], before: np.ndarray | None) -> np.ndarray:
        """Return log odds (CELLS, CELLS) in a crop."""
        placed = [(*crop.cells(x, y), label) for x, y, label in clicks]
        mask = None if before is None else crop.cut(before[..., None], 1)[..., 0]
        anchor = _anchor(placed, mask)
        features = crop.cut(self._features, STRIDE)
        similarity = features * neighbourhood(features, anchor).mean((0, 1))
        colour = np.concatenate([features.transpose(2, 0, 1), similarity.transpose(2, 0, 1)])
        inputs = [colour, relative_geometry(self._geometry, crop, anchor), click_maps(placed, mask)]
        return _run_network("decoder", np.concatenate(inputs)[None])

    def _paste(self, odds: np.ndarray, crop: ClickCrop) -> np.ndarray:
        return crop.paste(odds, self._view.depth.shape, OUTSIDE)

    def _depth_near(self, x: float, y: float) -> float:
        """Return the median depth in metres around a pixel; 1 if none is known."""
        h, w = self._view.depth.shape
        patch = self._view.depth[max(0, int(y) - 20) : min(h, int(y) + 21), max(0, int(x) - 20) : min(w, int(x) + 21)]
        known = patch[patch > 0]
        return float(np.clip(np.median(known), 0.2, 4)) if known.size else 1.0

    def _crop_around(self, mask: np.ndarray, clicks: list[Click]) -> ClickCrop:
        box = bounding_box(mask)
        x, y, _ = clicks[-1]
        x0, x1, y0, y1 = min(box.left, x), max(box.right - 1, x), min(box.top, y), max(box.bottom - 1, y)
        return ClickCrop.around((x0 + x1) / 2, (y0 + y1) / 2, MARGIN * max(x1 - x0, y1 - y0) + 16)


def expected_iou(odds: np.ndarray, mask: np.ndarray) -> float:
    """Return the expected IoU of a mask (h, w) under log odds (h, w)."""
    probability = 1 / (1 + np.exp(-odds))
    both = float(probability[mask].sum())
    return both / max(1.0, float(probability.sum()) + float(mask.sum()) - both)


def network_agrees(odds: np.ndarray, from_depth: np.ndarray, predicted: np.ndarray) -> bool:
    """Return whether a mask from depth (h, w) holds: the odds agree with it, or are not confident of their own."""
    # Expected IoU with the network's log odds above which a mask from depth is confirmed, and expected IoU of the
    # network's own mask above which it may overrule depth
    return expected_iou(odds, from_depth) > 0.5 or expected_iou(odds, predicted) < 0.75


def _better_crop(crop: ClickCrop, mask: np.ndarray) -> ClickCrop | None:
    """Return a crop that fits the mask (CELLS, CELLS) better: all of it, and not too small; None if this one does."""
    if not mask.any():
        return None
    box = bounding_box(mask)
    cut_off = min(box.top, box.left) < 1 or max(box.bottom, box.right) > CELLS - 1
    span = (max(box.width, box.height) - 1) * crop.cell
    width = float(crop.side * STRIDE)
    wanted = 1.5 * width if cut_off else MARGIN * span + 16
    if not cut_off and wanted > 0.75 * width:
        return None
    x, y = (box.left + box.right - 1) / 2 * crop.cell, (box.top + box.bottom - 1) / 2 * crop.cell
    return ClickCrop.around(x + crop.left * STRIDE, y + crop.top * STRIDE, wanted)


def _anchor(clicks: list[Click], mask: np.ndarray | None) -> tuple[float, float]:
    """Return a cell on the object: that of the newest plus click, else the centre of the mask so far."""
    inside = [(x, y) for x, y, label in clicks if label and 0 <= x < CELLS and 0 <= y < CELLS]
    if inside:
        return inside[-1]
    if mask is None or mask.max() <= 0.5:
        return clicks[-1][0], clicks[-1][1]
    distance = cv2.distanceTransform((mask > 0.5).astype(np.uint8), cv2.DIST_L2, 3)
    y, x = np.unravel_index(distance.argmax(), distance.shape)
    return float(x), float(y)
