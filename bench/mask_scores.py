"""Scores of masks against labelled ones: automatic masks, and masks corrected click by click."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from scipy import ndimage

from pipeline.evaluation import EvaluationError
from pipeline.frame import Frame, load
from pipeline.segmentation import Prompt, View, decode_rle

FOUND_IOU = 0.5
"""IoU from which an object counts as found (Lin et al., COCO, 2014)."""
MaskPredictor = Callable[[Prompt, np.ndarray], np.ndarray]
"""Returns the next mask from all clicks so far and the mask (H, W), bool, before the last click."""


@dataclass(frozen=True, eq=False)
class LabelledFrame:
    """A frame with the masks of its objects."""

    name: str
    frame: Frame
    truth: dict[str, np.ndarray]
    """Visible pixels of each object, of shape (H, W), bool, by number and name: "3 mug"."""
    complete: bool
    """Whether every object is labelled. Only then can a mask be wrong that matches none."""
    source: str = ""
    """Data set of the frame: frames of one source share cameras, tables and objects, so they count as one sample."""


@dataclass(frozen=True)
class MaskScore:
    """Score of automatic masks."""

    iou: tuple[float, ...]
    """IoU of each labelled object with its best mask; 0 if there is none."""
    right: int
    """Number of masks with an IoU of at least FOUND_IOU with some object."""
    predicted: int
    complete: bool

    @property
    def mean_iou(self) -> float:
        return float(np.mean(self.iou)) if self.iou else float("nan")

    @property
    def recall(self) -> float:
        """Share of the objects that were found."""
        return float(np.mean([one >= FOUND_IOU for one in self.iou])) if self.iou else float("nan")

    @property
    def precision(self) -> float | None:
        """Share of the masks that are an object; None if not every object is labelled."""
        if not self.complete:
            return None
        return self.right / self.predicted if self.predicted else 0.0


@dataclass(frozen=True, eq=False)
class ClickScore:
    """Score of one object after each of several simulated clicks."""

    iou: tuple[float, ...]
    """IoU after the first click, the second, ..."""
    seconds: tuple[float, ...]
    """Wall time of each click. Fewer than `iou` if the mask was perfect before the last click."""
    clicks: tuple[tuple[int, int, int], ...]
    """x and y in pixels, and label: 1 adds, 0 removes."""

    @property
    def worst_drop(self) -> float:
        """Largest loss of IoU by one click; 0 if none."""
        return max((0.0, *(before - after for before, after in zip(self.iou, self.iou[1:], strict=False))))


def read_labelled(folder: Path) -> LabelledFrame:
    """Read a frame with `truth/` (masks.png and truth.json) or `expected.json` beside it. Raises EvaluationError."""
    frame = load(folder)
    try:
        if (folder / "truth").is_dir():
            info = json.loads((folder / "truth" / "truth.json").read_text(encoding="utf-8"))
            with Image.open(folder / "truth" / "masks.png") as image:
                labels = np.asarray(image)
            truth = {f"{one['id']} {one['name']}": labels == one["id"] for one in info["objects"]}
            complete, source = bool(info["complete"]), _data_set(info.get("source", "")) or folder.name
        else:
            info = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
            truth = {f"{i} {one['name']}": decode_rle(one["mask"]) for i, one in enumerate(info["objects"], 1)}
            complete, source = True, "sample scenes"
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EvaluationError(
            f"{folder} has no truth that can be read ({error}); it takes truth/masks.png with truth/truth.json"
        ) from None
    if any(mask.shape != frame.depth.shape for mask in truth.values()):
        raise EvaluationError(f"the truth of {folder} differs in size from its picture; label this picture again")
    present = {name: mask for name, mask in truth.items() if mask.any()}
    return LabelledFrame(folder.name, frame, present, complete, source)


def _data_set(source: str) -> str:
    """Return "owner/repository/folder" of "github.com/owner/repository folder/file"; an empty text stays empty."""
    repository, _, path = source.removeprefix("github.com/").partition(" ")
    return "/".join([repository, *path.split("/")[:1]]).rstrip("/")


def iou(a: np.ndarray, b: np.ndarray) -> float:
    """Return the intersection over union of two masks (H, W), bool; 1 if both are empty."""
    union = np.count_nonzero(a | b)
    return np.count_nonzero(a & b) / union if union else 1.0


def score_masks(found: Sequence[np.ndarray], truth: Sequence[np.ndarray], complete: bool) -> MaskScore:
    """Score masks against labelled ones, all (H, W), bool. One mask may be the best of several objects."""
    table = np.array([[iou(mask, true) for mask in found] for true in truth]).reshape(len(truth), len(found))
    best = table.max(1, initial=0.0)
    right = int((table.max(0, initial=0.0) >= FOUND_IOU).sum())
    return MaskScore(tuple(float(one) for one in best), right, len(found), complete)


def next_click(mask: np.ndarray, truth: np.ndarray) -> tuple[int, int, int] | None:
    """Return the next simulated click: x, y and label (1 adds, 0 removes); None if the mask is perfect.

    It is the point of the largest wrong region that is farthest from the region's edge: the protocol by which RITM
    (Sofiiuk et al., 2021) and SAM (Kirillov et al., 2023) are evaluated.
    """
    largest, label, region = 0, 0, None
    for correction, wrong in ((1, truth & ~mask), (0, mask & ~truth)):
        regions, _ = ndimage.label(wrong)  # type: ignore[misc]
        sizes = np.bincount(regions.ravel())
        sizes[0] = 0
        if sizes.max() > largest:
            largest, label, region = int(sizes.max()), correction, regions == sizes.argmax()
    if region is None:
        return None
    rows, columns = ndimage.find_objects(region.astype(np.uint8))[0]
    depth = ndimage.distance_transform_edt(np.pad(region[rows, columns], 1))[1:-1, 1:-1]  # type: ignore[index]
    y, x = np.unravel_index(depth.argmax(), depth.shape)
    return columns.start + int(x), rows.start + int(y), label


def simulate_clicks(predict: MaskPredictor, truth: np.ndarray, max_clicks: int = 5) -> ClickScore:
    """Click on one object again and again; each click corrects the largest error of the mask before it."""
    mask, clicks, curve, seconds = np.zeros_like(truth), [], [], []
    while len(clicks) < max_clicks and (next_one := next_click(mask, truth)):
        clicks.append(next_one)
        points = np.array(clicks)
        start = time.perf_counter()
        mask = predict(Prompt(points[:, :2].astype(float), points[:, 2]), mask)
        seconds.append(time.perf_counter() - start)
        curve.append(iou(mask, truth))
    curve += [1.0] * (max_clicks - len(curve))
    return ClickScore(tuple(curve), tuple(seconds), tuple(clicks))


def predict_from_all_clicks(view: View) -> MaskPredictor:
    """Return a predictor that uses all clicks so far and no earlier mask."""
    return lambda prompt, _: view.segment(prompt)[0].mask


def predict_from_last_click(view: View) -> MaskPredictor:
    """Return a predictor that uses the last click and the mask before it, as the mask editor does."""

    def predict(prompt: Prompt, mask: np.ndarray) -> np.ndarray:
        before = mask if mask.any() else None
        return view.segment(Prompt(prompt.points[-1:], prompt.labels[-1:], mask=before))[0].mask

    return predict
