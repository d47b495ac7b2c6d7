"""Merging of over-segmented objects: masks that together show one asset become one segment."""

from collections.abc import Generator, Sequence
from dataclasses import replace

import numpy as np

from pipeline import description
from pipeline.description import Description
from pipeline.matching import Match
from pipeline.project import Project
from pipeline.run.progress import Progress
from pipeline.run.services import Services
from pipeline.scene.mask_merging import MergedMask, Recognise, merge_segments
from pipeline.scene.observed_object import observe_objects
from pipeline.segmentation import Segment
from pipeline.store import write_text


def merge_oversegmented(
    project: Project, services: Services, matches: Sequence[Match], recognise: Recognise
) -> Generator[Progress, None, list[Match]]:
    """Merge masks that show one asset and return the matches of the segments that are left.

    Saves the merged masks and their descriptions. Segments that the user made any decision about are left as they are.
    """
    editable = _undecided_segments(project)
    described = [one for one in project.descriptions() or () if one.segment_id in editable]
    observed = observe_objects(project.observation, editable.values(), described, matches)
    merges = merge_segments(observed, services.library, recognise, project.folder / "cache")
    remaining = list(matches)
    for number, merged in enumerate(merges, 1):
        if merged is None:
            yield Progress("matches", "looking for over-segmented objects", number)
            continue
        _save(project, merged)
        remaining = [
            merged.match if one.segment_id == merged.kept_id else one
            for one in remaining
            if one.segment_id != merged.removed_id
        ]
        message = f"merged masks {merged.kept_id} and {merged.removed_id}: {merged.match.asset_id}"
        yield Progress("matches", message, number)
    return remaining


def _undecided_segments(project: Project) -> dict[int, Segment]:
    """Return the automatic segments that the user made no decision about, by id."""
    automatic = {one.id: one for one in project.automatic_segments() or ()}
    decided = {d.data.get("id") for d in project.active_decisions(*{one.kind for one in project.decisions})}
    return {
        one.id: one
        for one in project.segments() or ()
        if one.id not in decided and one.id in automatic and _is_same(one, automatic[one.id])
    }


def _is_same(one: Segment, other: Segment) -> bool:
    return one.source == other.source and np.array_equal(one.mask, other.mask)


def _save(project: Project, merged: MergedMask) -> None:
    """Replace both segments by the merged one, in the masks and in the descriptions."""
    automatic = project.automatic_segments() or ()
    segments = [replace(one, mask=merged.segment.mask) if one.id == merged.kept_id else one for one in automatic]
    project.save_segments(tuple(one for one in segments if one.id != merged.removed_id))
    described = [one for one in project.descriptions() or () if one.segment_id != merged.removed_id]
    taken = {one.name for one in described if one.segment_id != merged.kept_id}
    described = [
        _merged_description(one, merged.description, taken) if one.segment_id == merged.kept_id else one
        for one in described
    ]
    write_text(project.folder / "descriptions.json", description.to_json(described))


def _merged_description(before: Description, measured: Description, taken: set[str]) -> Description:
    """Return the description as measured; the words of a model for the larger segment are kept."""
    if before.source != "measured":
        return replace(before, attributes=measured.attributes)
    name = description.unique_name(measured.name, taken)
    return replace(measured, segment_id=before.segment_id, name=name, physical=before.physical)
