"""What a model says of masks becomes edits of them: divided, joined, completed. A person sees and undoes each one."""

from collections.abc import Generator, Iterator, Mapping
from typing import Any

import numpy as np

from pipeline.description import Description
from pipeline.geometry import bounding_box
from pipeline.project import Project
from pipeline.run.progress import Progress
from pipeline.run.services import Services
from pipeline.segmentation import Prompt, Segment, View, encode_rle
from pipeline.store import digest

MIN_KEPT = 0.8
"""Share of a mask that the whole object has to contain, and the objects in it together."""
MAX_GROWTH = 4.0
"""Most times that a completed mask, and its box, may be larger: a larger one is another thing, such as the table."""

Edit = tuple[str, dict[str, Any]]
"""Kind and data of a decision."""


def edit_masks(project: Project, services: Services) -> Generator[Progress, None, bool]:
    """Record the edits that the model's descriptions ask for as decisions, and return whether there were any.

    Each is recorded once: an edit that a person undid is not made again. Raises SegmentationError.
    """
    known = {decision.data.get("answer") for decision in project.decisions}
    asked = [(one, key) for one in project.descriptions() or () if (key := _key(project, one)) and key not in known]
    if not asked:
        return False
    yield Progress("descriptions", f"correcting {len(asked)} masks as {asked[0][0].source} says")
    view, edited, touched = services.segmenter.open(project.frame), False, set[int]()
    for described, key in asked:
        segments = {segment.id: segment for segment in project.segments() or ()}
        partner = described.mask_answer.get("part_of", described.segment_id)
        if {described.segment_id, partner} & touched or not {described.segment_id, partner} <= segments.keys():
            continue  # the answer was about another mask than there is now
        edits = list(edits_of(described.mask_answer, described.segment_id, segments, view, project.largest_decided_id))
        if edits:
            made_by = {"source": described.source, "answer": key}
            project.decide_together([(kind, data | made_by) for kind, data in edits])
            touched |= {described.segment_id, partner}
            edited = True
            yield Progress("descriptions", f"{described.name}: {_words(described)}")
        else:
            yield Progress("descriptions", f"{described.name}: not {_words(described)}, no such mask was found")
    return edited


def _key(project: Project, described: Description) -> str:
    """Return what identifies an answer about a mask; empty for one that asks for no edit."""
    said = {name: value for name, value in described.mask_answer.items() if name != "held"}
    segment = next((one for one in project.segments() or () if one.id == described.segment_id), None)
    return digest("mask answer", said, segment.mask) if said and segment else ""


def edits_of(
    said: Mapping[str, Any], id: int, segments: Mapping[int, Segment], view: View, largest_id: int
) -> Iterator[Edit]:
    """Yield the decisions that an answer about a segment asks for; none if the segmenter finds nothing of the kind.

    Args:
        said: as `Description.mask_answer`.
        largest_id: of any segment that a decision was ever about; new segments get larger ones.
    """
    own = segments[id]
    taken = np.logical_or.reduce([one.mask for one in segments.values() if one.id != own.id] or [own.mask & False])
    if "part_of" in said:
        yield "merge_segments", {"ids": [said["part_of"], own.id], "into": said["part_of"]}
    elif "objects" in said:
        found = [_boxed(view, box) & ~taken for box in said["objects"]]
        masks = _apart(found, said["objects"])
        covered = np.logical_or.reduce(masks) & own.mask
        # 30: fewest pixels of a mask that an edit makes
        if min(mask.sum() for mask in masks) < 30 or covered.sum() < MIN_KEPT * own.mask.sum():
            return
        free = max(largest_id, *segments) + 1
        for number, mask in zip((own.id, *range(free, free + len(masks) - 1)), masks, strict=True):
            yield "mask", {"id": number, "mask": encode_rle(mask), "clicks": []}
    elif "whole" in said:
        x0, y0, x1, y1 = said["whole"]
        around = bounding_box(own.mask)
        if (x1 - x0) * (y1 - y0) > MAX_GROWTH * around.width * around.height:
            return
        whole, inside = _boxed(view, said["whole"]) & ~taken, own.mask & _filled(own.mask.shape, said["whole"])
        encloses_more = inside.sum() < MIN_KEPT * own.mask.sum()
        if (whole & inside).sum() >= MIN_KEPT * inside.sum() and whole.sum() <= MAX_GROWTH * own.mask.sum():
            corrected = whole if encloses_more else whole | own.mask
            yield "mask", {"id": own.id, "mask": encode_rle(corrected), "clicks": []}


def _boxed(view: View, box: list[float]) -> np.ndarray:
    """Return the segmenter's best mask (H, W) of a box in pixels."""
    return view.segment(Prompt(box=np.array(box, float)))[0].mask


def _filled(shape: tuple[int, ...], box: list[float]) -> np.ndarray:
    """Return the pixels (H, W) in a box, bool."""
    x0, y0, x1, y1 = (round(side) for side in box)
    mask = np.zeros(shape, bool)
    mask[y0:y1, x0:x1] = True
    return mask


def _apart(masks: list[np.ndarray], boxes: list[list[float]]) -> list[np.ndarray]:
    """Return the masks without overlap: what two share goes to the one of the smaller box, which lies in front."""
    order = sorted(range(len(masks)), key=lambda k: (boxes[k][2] - boxes[k][0]) * (boxes[k][3] - boxes[k][1]))
    free, result = np.ones(masks[0].shape, bool), list(masks)
    for k in order:
        result[k] = masks[k] & free
        free &= ~masks[k]
    return result


def _words(described: Description) -> str:
    said = described.mask_answer
    if "part_of" in said:
        return f"joined with mask {said['part_of']}"
    return f"divided into {len(said['objects'])} objects" if "objects" in said else "completed"
