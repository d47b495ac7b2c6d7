"""The masks of a project: automatic ones, the same with the user's decisions, and their files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pipeline.decisions import Decision
from pipeline.project.fold import Fold
from pipeline.segmentation import Segment
from pipeline.segmentation.coco import decode_rle
from pipeline.segmentation.mask_files import are_written, read_segments, write_segments
from pipeline.segmentation.segment import SEGMENT_KINDS, SegmentKind

REMEMBERED_EDITS = 32
"""Edits whose masks are kept in memory: an undo of more of them applies all that are left again."""

Segments = Mapping[int, Segment]
"""Segments by id."""


class ProjectMasks:
    """The folder segments/ of a project. The caller has the project's lock."""

    def __init__(self, project_dir: Path):
        self._folder = project_dir / "segments"
        self._fold: tuple[object, Fold[Segments]] | None = None

    def automatic(self) -> tuple[Segment, ...] | None:
        """Return the masks of the segmenter before any decision; None before it ran. Raises SegmentationError."""
        folder = self._folder / "automatic"
        return read_segments(folder) if (folder / "coco.json").exists() else None

    def after(self, decisions: Sequence[Decision]) -> tuple[Segment, ...] | None:
        """Return the masks after these decisions about them; None before the segmenter ran."""
        stamp = self._stamp()
        if self._fold is None or self._fold[0] != stamp:
            automatic = self.automatic()
            if automatic is None:
                return None
            self._fold = stamp, Fold(segments_by_id(automatic), apply_mask_decision, REMEMBERED_EDITS)
        return visible_segments(self._fold[1].over(decisions))

    def save_automatic(self, segments: Sequence[Segment], shape: tuple[int, int]) -> None:
        """Write the masks of the segmenter, of an image of shape (H, W). Raises StoreError."""
        write_segments(segments, shape, self._folder / "automatic")
        self._fold = None

    def save(self, segments: Sequence[Segment], shape: tuple[int, int]) -> None:
        """Write the masks with the user's decisions, of an image of shape (H, W). Raises StoreError."""
        write_segments(segments, shape, self._folder)

    def are_saved(self, segments: Sequence[Segment], shape: tuple[int, int]) -> bool:
        """Whether the files hold these masks; a crash or a full disk may have left earlier ones."""
        return are_written(segments, shape, self._folder)

    def _stamp(self) -> object:
        """Return a value that changes when the automatic masks are replaced."""
        try:
            found = (self._folder / "automatic" / "coco.json").stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns


def segments_by_id(segments: Iterable[Segment]) -> Segments:
    """Return the segments by id."""
    return {segment.id: segment for segment in segments}


def visible_segments(segments: Segments) -> tuple[Segment, ...]:
    """Return the segments that have any pixel, sorted by id."""
    return tuple(segments[id] for id in sorted(segments) if segments[id].mask.any())


def _kind(text: object) -> SegmentKind:
    """Return the kind of a mask that was found; an object if it is none that is known, or none was kept."""
    known: dict[object, SegmentKind] = {kind: kind for kind in SEGMENT_KINDS}
    return known.get(text, "object") if isinstance(text, str) else "object"


def apply_mask_decision(segments: Segments, decision: Decision) -> Segments:
    """Return the segments after one decision. Those that it leaves as they were are the same objects."""
    data = decision.data
    if decision.kind == "found":
        return {
            one["id"]: Segment(one["id"], decode_rle(one["mask"]), one["score"], data["source"], _kind(one.get("kind")))
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
