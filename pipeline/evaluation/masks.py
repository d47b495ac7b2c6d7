"""How good masks are, against masks that people drew: found by themselves, and corrected click by click."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from scipy import ndimage

from pipeline.errors import StudioError
from pipeline.frame import Frame, load
from pipeline.segmentation import Prompt, View, unrle

FOUND = 0.5
"""IoU from which an object counts as found (Lin et al., COCO, 2014)."""
Predict = Callable[[Prompt, np.ndarray], np.ndarray]
"""Given all clicks so far and the mask (H, W), bool, that the ones before the last led to, the next mask."""


class EvaluationError(StudioError):
    """Truth that cannot be read, or that belongs to another picture."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """A frame, and what is in it."""

    name: str
    frame: Frame
    truth: dict[str, np.ndarray]
    """The visible pixels of each object by its number and name ("3 mug"), each of shape (H, W), bool."""
    complete: bool
    """Whether everything that a person would name is in `truth`: only then can something found be wrong."""


@dataclass(frozen=True)
class MaskScore:
    """Masks found without any help."""

    iou: tuple[float, ...]
    """Of each true object, with the found mask that fits it best; 0 where none does."""
    right: int
    """How many of the found masks fit some true object with an IoU of at least 0.5."""
    predicted: int
    complete: bool

    @property
    def mean_iou(self) -> float:
        return float(np.mean(self.iou)) if self.iou else float("nan")

    @property
    def recall(self) -> float:
        """Share of the true objects that were found."""
        return float(np.mean([one >= FOUND for one in self.iou])) if self.iou else float("nan")

    @property
    def precision(self) -> float | None:
        """Share of the found masks that are an object; None where the truth does not name all objects."""
        if not self.complete:
            return None
        return self.right / self.predicted if self.predicted else 0.0


@dataclass(frozen=True, eq=False)
class ClickScore:
    """One object, clicked until it is right."""

    iou: tuple[float, ...]
    """After the first click, the second, ..."""
    seconds: tuple[float, ...]
    """Wall clock of each click that was answered; fewer than `iou` where the mask was perfect before the last."""
    clicks: tuple[tuple[int, int, int], ...]
    """x, y in pixels and label: 1 adds, 0 removes."""

    @property
    def worst_drop(self) -> float:
        """The most IoU that one click took from the mask before it; 0 where none did."""
        return max((0.0, *(before - after for before, after in zip(self.iou, self.iou[1:], strict=False))))


def read_labelled(folder: Path) -> Labelled:
    """A frame with `truth/` (masks.png and truth.json) or `expected.json` beside it. Raises EvaluationError."""
    frame = load(folder)
    try:
        if (folder / "truth").is_dir():
            info = json.loads((folder / "truth" / "truth.json").read_text(encoding="utf-8"))
            with Image.open(folder / "truth" / "masks.png") as image:
                labels = np.asarray(image)
            truth = {f"{one['id']} {one['name']}": labels == one["id"] for one in info["objects"]}
            complete = bool(info["complete"])
        else:
            info = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
            truth = {f"{i} {one['name']}": unrle(one["mask"]) for i, one in enumerate(info["objects"], 1)}
            complete = True
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EvaluationError(
            f"{folder} has no truth that can be read ({error}); it takes truth/masks.png with truth/truth.json"
        ) from None
    if any(mask.shape != frame.depth.shape for mask in truth.values()):
        raise EvaluationError(f"the truth of {folder} is of another size than its picture; label this picture anew")
    return Labelled(folder.name, frame, {name: mask for name, mask in truth.items() if mask.any()}, complete)


def iou(a: np.ndarray, b: np.ndarray) -> float:
    """Intersection over union of two masks (H, W), bool; 1 where both are empty."""
    union = np.count_nonzero(a | b)
    return np.count_nonzero(a & b) / union if union else 1.0


def score_masks(found: Sequence[np.ndarray], truth: Sequence[np.ndarray], complete: bool) -> MaskScore:
    """Found masks against true ones, all (H, W), bool. Two true objects may share one found mask: neither fits it."""
    table = np.array([[iou(mask, true) for mask in found] for true in truth]).reshape(len(truth), len(found))
    best = table.max(1, initial=0.0)
    right = int((table.max(0, initial=0.0) >= FOUND).sum())
    return MaskScore(tuple(float(one) for one in best), right, len(found), complete)


def next_click(mask: np.ndarray, truth: np.ndarray) -> tuple[int, int, int] | None:
    """Where a person would click next: x, y and label (1 adds, 0 removes); None where the mask is perfect.

    The middle (the point farthest from its edge) of the largest wrong region: the protocol that RITM (Sofiiuk et al.,
    2021) and SAM (Kirillov et al., 2023) are measured with.
    """
    largest, label, region = 0, 0, None
    for kind, wrong in ((1, truth & ~mask), (0, mask & ~truth)):
        parts, _ = ndimage.label(wrong)  # type: ignore[misc]
        sizes = np.bincount(parts.ravel())
        sizes[0] = 0
        if sizes.max() > largest:
            largest, label, region = int(sizes.max()), kind, parts == sizes.argmax()
    if region is None:
        return None
    rows, columns = ndimage.find_objects(region.astype(np.uint8))[0]
    depth = ndimage.distance_transform_edt(np.pad(region[rows, columns], 1))[1:-1, 1:-1]  # type: ignore[index]
    y, x = np.unravel_index(depth.argmax(), depth.shape)
    return columns.start + int(x), rows.start + int(y), label


def click(predict: Predict, truth: np.ndarray, most: int = 5) -> ClickScore:
    """The protocol on one object: each next click corrects the largest error of the mask before it."""
    mask, clicks, curve, seconds = np.zeros_like(truth), [], [], []
    while len(clicks) < most and (one := next_click(mask, truth)):
        clicks.append(one)
        places = np.array(clicks)
        began = time.perf_counter()
        mask = predict(Prompt(places[:, :2].astype(float), places[:, 2]), mask)
        seconds.append(time.perf_counter() - began)
        curve.append(iou(mask, truth))
    curve += [1.0] * (most - len(curve))
    return ClickScore(tuple(curve), tuple(seconds), tuple(clicks))


def all_at_once(view: View) -> Predict:
    """Asks with every click so far, as one who holds no mask."""
    return lambda prompt, _: view.segment(prompt)[0].mask


def one_by_one(view: View) -> Predict:
    """Asks with the newest click and the mask so far, as the mask canvas does."""

    def predict(prompt: Prompt, mask: np.ndarray) -> np.ndarray:
        before = mask if mask.any() else None
        return view.segment(Prompt(prompt.points[-1:], prompt.labels[-1:], mask=before))[0].mask

    return predict
