"""Agreement of two people on the same frame: IoU of their masks, and Cohen's kappa of pixels and of labels."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from pipeline.errors import StudioError
from pipeline.evaluation.mask_scores import FOUND_IOU, iou
from pipeline.project import Project
from pipeline.store import digest

PICTURES = ("frame/rgb.png", "frame/depth.png")
MAX_PAIRS = 100


@dataclass(frozen=True, eq=False)
class Annotation:
    """What one person, or a machine, says about the objects of a frame."""

    masks: Mapping[int, np.ndarray]
    """Pixels of each segment by id, of shape (H, W), bool; also of segments that are no objects."""
    labels: Mapping[int, str]
    """Name of each object by segment id; segments that are no objects are left out."""


@dataclass(frozen=True)
class Agreement:
    """Agreement of two annotations of one frame."""

    iou: float | None
    """Mean over the objects that both found; None if there is none."""
    both: int
    """Objects that both found: pairs with an IoU of at least FOUND_IOU."""
    only_first: int
    only_second: int
    pixel_kappa: float | None
    """Cohen's kappa of the pixels, object or not; None if chance alone would agree on all of them."""
    label_kappa: float | None
    """Cohen's kappa of the names of the objects that both found; None as above."""


def agreement(first: Annotation, second: Annotation) -> Agreement:
    """Compare two annotations of one frame. Symmetric but for the two numbers of objects that one found alone."""
    ids = sorted(first.labels), sorted(second.labels)
    overlap = np.array([[iou(first.masks[a], second.masks[b]) for b in ids[1]] for a in ids[0]])
    overlap = overlap.reshape(len(ids[0]), len(ids[1]))
    chosen = [(a, b) for a, b in zip(*linear_sum_assignment(-overlap), strict=True) if overlap[a, b] >= FOUND_IOU]
    labels = [(first.labels[ids[0][a]], second.labels[ids[1][b]]) for a, b in chosen]
    covered = [_covered(one) for one in (first, second)]
    shape = next((mask.shape for one in (first, second) for mask in one.masks.values()), (0,))
    pixels = [np.zeros(shape, bool) if one is None else one for one in covered]
    return Agreement(
        iou=float(np.mean([overlap[pair] for pair in chosen])) if chosen else None,
        both=len(chosen),
        only_first=len(ids[0]) - len(chosen),
        only_second=len(ids[1]) - len(chosen),
        pixel_kappa=kappa_of_table(np.array([[(p & q).sum() for q in (pixels[1], ~pixels[1])]
                                             for p in (pixels[0], ~pixels[0])])),
        label_kappa=cohens_kappa([a for a, _ in labels], [b for _, b in labels]),
    )  # fmt: skip


def cohens_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Return Cohen's kappa of two raters' labels of the same items: 1 for agreement, 0 for that of chance.

    None if there are no items, or both raters only used one and the same label. See J. Cohen, "A coefficient of
    agreement for nominal scales", 1960.
    """
    labels = {label: number for number, label in enumerate(dict.fromkeys([*first, *second]))}
    table = np.zeros((len(labels), len(labels)))
    for a, b in zip(first, second, strict=True):
        table[labels[a], labels[b]] += 1
    return kappa_of_table(table)


def kappa_of_table(table: np.ndarray) -> float | None:
    """Return Cohen's kappa of a table of counts: rows are the first rater's labels, columns the second's."""
    total = float(table.sum())
    if not total:
        return None
    expected = float(table.sum(0) @ table.sum(1)) / total**2
    return None if expected >= 1 else (float(np.trace(table)) / total - expected) / (1 - expected)


def read_annotation(folder: Path) -> Annotation:
    """Return what the project in a folder says about its frame. Raises StudioError."""
    project = Project.open(folder)
    segments, names = project.segments() or (), project.display_names()
    described = {one.segment_id: one for one in project.descriptions() or ()}
    decided = {d.data["id"]: not d.data["value"] for d in project.active_decisions("not_object")}
    labels = {}
    for segment in segments:
        known = described.get(segment.id)
        if decided.get(segment.id, known is None or known.is_object):
            label = names.get(segment.id) or (known.name if known else "")
            labels[segment.id] = label.replace("_", " ").casefold()
    return Annotation({one.id: one.mask for one in segments}, labels)


def same_frames(folders: Iterable[Path]) -> Iterator[tuple[Path, Path]]:
    """Yield the pairs of projects, MAX_PAIRS at most, whose frames have equal pictures."""
    by_size: dict[tuple[int, ...], list[Path]] = defaultdict(list)
    for folder in folders:
        paths = [folder / name for name in PICTURES if (folder / name).is_file()]
        if paths:
            by_size[tuple(path.stat().st_size for path in paths)].append(folder)
    by_content: dict[str, list[Path]] = defaultdict(list)
    for folder in (one for group in by_size.values() if len(group) > 1 for one in group):
        by_content[digest(*((folder / name).read_bytes() for name in PICTURES if (folder / name).is_file()))].append(
            folder
        )
    pairs = (pair for group in by_content.values() for pair in combinations(group, 2))
    yield from islice(pairs, MAX_PAIRS)


def agreements(folders: Iterable[Path]) -> Iterator[tuple[Path, Path, Agreement]]:
    """Yield the agreement of each two projects of one frame; those without masks are left out."""
    for first, second in same_frames(folders):
        try:
            annotations = read_annotation(first), read_annotation(second)
        except (StudioError, OSError, ValueError):
            continue
        if all(one.masks for one in annotations):
            yield first, second, agreement(*annotations)


def _covered(one: Annotation) -> np.ndarray | None:
    masks = [one.masks[id] for id in one.labels]
    return np.any(masks, axis=0) if masks else None
