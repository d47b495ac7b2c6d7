"""The user's edits of masks, applied to the automatic ones."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from pipeline.decisions import Decision
from pipeline.segmentation import Segment
from pipeline.segmentation.coco import decode_rle

Segments = Mapping[int, Segment]
"""Segments by id."""


def segments_by_id(segments: Iterable[Segment]) -> Segments:
    """Return the segments by id."""
    return {segment.id: segment for segment in segments}


def visible_segments(segments: Segments) -> tuple[Segment, ...]:
    """Return the segments that have any pixel, sorted by id."""
    return tuple(segments[id] for id in sorted(segments) if segments[id].mask.any())


def apply_mask_decision(segments: Segments, decision: Decision) -> Segments:
    """Return the segments after one decision. Those that it leaves as they were are the same objects."""
    data = decision.data
    if decision.kind == "found":
        return {
            one["id"]: Segment(one["id"], decode_rle(one["mask"]), one["score"], data["source"])
            for one in data["masks"]
        }
    if decision.kind == "delete_segment":
        return {id: segment for id, segment in segments.items() if id != data["id"]}
    if decision.kind == "merge_segments":
        merged = [id for id in data["ids"] if id in segments]
        if not merged:
            return segments
        union = np.logical_or.reduce([segments[id].mask for id in merged])
        edited = Segment(data["into"], union, 1.0, data.get("source", "human"))
        segments = {id: segment for id, segment in segments.items() if id not in merged}
    else:
        edited = Segment(data["id"], decode_rle(data["mask"]), 1.0, data.get("source", "human"))
    rows = np.flatnonzero(edited.mask.any(1))
    area = slice(rows[0], rows[-1] + 1) if len(rows) else slice(0)
    others = {id: _without(segment, edited.mask, area) for id, segment in segments.items() if id != edited.id}
    return others | {edited.id: edited}


def _without(segment: Segment, taken: np.ndarray, area: slice) -> Segment:
    """Return the segment without the `taken` pixels, which all lie in these rows."""
    if not (segment.mask[area] & taken[area]).any():
        return segment
    return replace(segment, mask=segment.mask & ~taken)
