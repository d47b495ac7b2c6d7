"""Masks that turn out to be pieces of one asset put together, once it is known what each of them shows."""

from collections.abc import Generator, Sequence
from dataclasses import replace

import numpy as np

from pipeline import description
from pipeline.description import Description
from pipeline.matching import Match
from pipeline.project import Project
from pipeline.run.progress import Progress
from pipeline.run.services import Services
from pipeline.scene.pieces import Compare, Whole, wholes
from pipeline.scene.seen import things_seen
from pipeline.segmentation import Segment
from pipeline.store import write_text


def put_together(
    project: Project, services: Services, matches: Sequence[Match], compare: Compare
) -> Generator[Progress, None, list[Match]]:
    """The matches of what there is then; masks and descriptions are written anew where pieces became one thing.

    What a person decided anything about is left as it is.
    """
    free = _free(project)
    told = [one for one in project.descriptions() or () if one.segment_id in free]
    seen = things_seen(project.frame, project.support, free.values(), told, matches)
    found = wholes(project.frame, project.support, seen, services.library, compare, project.folder / "cache")
    kept = list(matches)
    for number, whole in enumerate(found, 1):
        if whole is None:
            yield Progress("matches", "looking for pieces of one thing", number)
            continue
        _write(project, whole)
        kept = [whole.match if one.segment_id == whole.kept else one for one in kept if one.segment_id != whole.gone]
        words = f"masks {whole.kept} and {whole.gone} are one thing, {whole.match.asset_id}"
        yield Progress("matches", words, number)
    return kept


def _free(project: Project) -> dict[int, Segment]:
    """The segments that are as they were found, by id, and that nobody decided anything about."""
    automatic = {one.id: one for one in project.automatic_segments() or ()}
    decided = {d.data.get("id") for d in project.decided(*{one.kind for one in project.decisions})}
    return {
        one.id: one
        for one in project.segments() or ()
        if one.id not in decided and one.id in automatic and _same(one, automatic[one.id])
    }


def _same(one: Segment, other: Segment) -> bool:
    return one.source == other.source and np.array_equal(one.mask, other.mask)


def _write(project: Project, whole: Whole) -> None:
    automatic = project.automatic_segments() or ()
    joined = [replace(one, mask=whole.segment.mask) if one.id == whole.kept else one for one in automatic]
    project.keep_segments(tuple(one for one in joined if one.id != whole.gone))
    told = [one for one in project.descriptions() or () if one.segment_id != whole.gone]
    taken = {one.name for one in told if one.segment_id != whole.kept}
    told = [_told(one, whole.description, taken) if one.segment_id == whole.kept else one for one in told]
    write_text(project.folder / "descriptions.json", description.to_json(told))


def _told(before: Description, measured: Description, taken: set[str]) -> Description:
    """What is known of a whole: as measured; a model's words for its larger piece stay."""
    if before.source != "measured":
        return replace(before, attributes=measured.attributes)
    return replace(measured, segment_id=before.segment_id, name=description.unused(measured.name, taken))
