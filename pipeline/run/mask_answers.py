"""What a model says of masks becomes edits: divided, joined, completed, added. A person sees and undoes each one."""

from collections.abc import Callable, Generator, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from pipeline.description import Description
from pipeline.description.missed_objects import KIND as FIND_MISSED
from pipeline.description.missed_objects import find_missed
from pipeline.errors import without_folders
from pipeline.geometry import bounding_box
from pipeline.models import ModelError, StageCancelled, has_vision, source_of
from pipeline.project import Project
from pipeline.run.progress import Progress
from pipeline.run.services import Services, allowed_services, tracing_model
from pipeline.segmentation import Prompt, Segment, View, encode_rle
from pipeline.store import digest

MIN_KEPT = 0.8
"""Share of a mask, as far as it lies in the boxes, that the whole object has to contain, and the objects together."""
MAX_GROWTH = 4.0
"""Most times that a completed mask, and its box, may be larger: a larger one is another thing, such as the table."""
MIN_PIXELS = 30
"""Fewest pixels of a mask that an edit makes."""

Edit = tuple[str, dict[str, Any]]
"""Kind and data of a decision."""


def edit_masks(project: Project, services: Services) -> Generator[Progress, None, bool]:
    """Record the edits that the model's descriptions ask for as decisions, and return whether there were any.

    Each is recorded once: an edit that a person undid is not made again. Raises SegmentationError.
    """
    opened = cache(lambda: services.segmenter.open(project.frame))
    edited = yield from _edit_described(project, opened)
    added = yield from _add_missed(project, allowed_services(project, services), opened)
    return edited or added


def _edit_described(project: Project, opened: Callable[[], View]) -> Generator[Progress, None, bool]:
    known = _known(project)
    asked = [(one, key) for one in project.descriptions() or () if (key := _key(project, one)) and key not in known]
    if not asked:
        return False
    yield Progress("descriptions", f"correcting {len(asked)} masks as {asked[0][0].source} says")
    view, edited, touched = opened(), False, set[int]()
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


def _known(project: Project) -> set[str]:
    """Return the answers that were made edits of, undone ones included."""
    return {decision.data.get("answer", "") for decision in project.decisions}


def _add_missed(project: Project, services: Services, opened: Callable[[], View]) -> Generator[Progress, None, bool]:
    """Record a mask of each object that the model sees and no mask shows; without an answer, say so and add none."""
    if not has_vision(services.model):
        return False
    source = source_of(services.model, FIND_MISSED)
    yield Progress("descriptions", f"asking {source} which objects have no mask")
    try:
        missed = find_missed(project.frame, project.segments() or (), tracing_model(project, services, services.live))
    except StageCancelled:
        raise
    except ModelError as error:
        reason = without_folders(str(error))
        yield Progress("descriptions", f"no mask was added; {source} did not say what has none: {reason}")
        return False
    known = _known(project)
    asked = [(one, key) for one in missed if (key := digest("missed object", source, one)) not in known]
    if not asked:
        return False
    added = False
    for one, key in asked:
        segments = {segment.id: segment for segment in project.segments() or ()}
        mask = missed_mask(one, segments, opened())
        if mask is None:
            yield Progress("descriptions", f"{one['name']}: not added, no mask of its own was found")
            continue
        id = max((project.largest_decided_id, *segments)) + 1
        made_by = {"source": source, "answer": key, "added": one["name"]}
        project.decide("mask", id=id, mask=encode_rle(mask), clicks=[], **made_by)
        added = True
        yield Progress("descriptions", f"{one['name']}: added as mask {id}")
    return added


def missed_mask(said: Mapping[str, Any], segments: Mapping[int, Segment], view: View) -> np.ndarray | None:
    """Return the mask (H, W) of an object that a model says has none; None if the segmenter finds none of its own.

    Args:
        said: with the "box" or the "point" of the object, as `find_missed` returns it.
    """
    if box := said.get("box"):
        found = _boxed(view, box)
        inside = found & _filled(found.shape, box)
    else:
        found = view.segment(Prompt(np.array([said["point"]], float), np.array([1])))[0].mask
        inside = found
    own = inside & ~np.logical_or.reduce([found & False, *(one.mask for one in segments.values())])
    # Half: most of what was found belongs to another mask, or lies around the box
    return own if own.sum() >= max(MIN_PIXELS, 0.5 * found.sum()) else None


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
        named = own.mask & np.logical_or.reduce([_filled(own.mask.shape, box) for box in said["objects"]])
        covered = np.logical_or.reduce(masks) & named
        if min(mask.sum() for mask in masks) < MIN_PIXELS or covered.sum() < MIN_KEPT * named.sum():
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
            corrected = whole if encloses_more else whole | inside
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
