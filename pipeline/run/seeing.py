"""The stages that look: frame, segments, descriptions, matches."""

import json
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

from pipeline import description, looking, matching
from pipeline.choosing import SHORTLIST
from pipeline.description import Description, describe, unused
from pipeline.matching import ASKING, KEPT, Match, Matcher, match
from pipeline.models import sees
from pipeline.models.live import Live
from pipeline.project import Project, safe_name
from pipeline.run.progress import Progress
from pipeline.run.services import Services, matcher_label, matcher_of, traced
from pipeline.run.whole import put_together
from pipeline.segmentation import Segment, Segmenter
from pipeline.segmentation.finding import finding
from pipeline.store import digest, memo, write_json, write_text


def frame_stage(project: Project, services: Services) -> Iterator[Progress]:
    """The table found, and the world's frame on it."""
    yield Progress("frame", "looking for the table")
    yield Progress("frame", "the table is found", 1, 1, project.support)


def segments_stage(project: Project, services: Services) -> Iterator[Progress]:
    """What the segmenter finds, kept where no decision speaks against it."""
    found = yield from find_segments(project, services.segmenter)
    project.keep_segments(found)
    yield Progress("segments", f"{len(found)} segments", len(found), len(found), found)


def find_segments(
    project: Project, segmenter: Segmenter, settings: Any = None
) -> Generator[Progress, None, tuple[Segment, ...]]:
    """What the segmenter finds by itself, told step by step; nothing is kept. Closing it stops the work."""
    yield Progress("segments", f"opening the frame ({segmenter.name})")
    with closing(finding(segmenter.open(project.frame), settings)) as steps:
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                return end.value
            yield Progress("segments", f"{step.said} ({segmenter.name})", step.done, step.of)


def descriptions_stage(project: Project, services: Services) -> Iterator[Progress]:
    """Each segment measured, then told by a model that sees, then as a person decided."""
    segments = project.segments() or ()
    described: list[Description] = []
    for segment in segments:
        key = digest("description", project.frame_key, segment.mask)

        def compute(segment: Segment = segment) -> Any:
            return json.loads(description.to_json([describe(project.frame, project.support, segment)]))

        (found,) = description.from_json(json.dumps(memo(project.folder / "cache", key, compute)))
        described.append(replace(found, segment_id=segment.id))
        if not sees(services.model):
            yield Progress("descriptions", described[-1].caption, len(described), len(segments), described[-1])
    if sees(services.model):
        live = services.live or Live()
        for told in looking.describe_all(project, traced(project, services, live), live, segments, described):
            yield Progress("descriptions", *told)
    write_text(project.folder / "descriptions.json", description.to_json(_as_decided(project, described)))


def _as_decided(project: Project, described: list[Description]) -> list[Description]:
    """Descriptions with a person's names and verdicts, every name once."""
    verdicts = {d.data["id"]: bool(d.data["value"]) for d in project.decided("not_object")}
    names = {d.data["id"]: safe_name(d.data["name"]) for d in project.decided("rename")}
    human: set[str] = set(names.values())
    taken: set[str] = set()
    result = []
    for one in described:
        if one.segment_id in verdicts:
            one = replace(one, is_object=not verdicts[one.segment_id], source="human")
        if one.segment_id in names:
            one = replace(one, name=unused(names[one.segment_id], taken), source="human")
        else:
            one = replace(one, name=unused(one.name, taken | human))
        taken.add(one.name)
        result.append(one)
    return result


def matches_stage(project: Project, services: Services) -> Iterator[Progress]:
    """Which asset of the library each object is."""
    segments = {segment.id: segment for segment in project.segments() or ()}
    objects = [d for d in project.descriptions() or () if d.is_object]
    chosen, matcher = project.chosen_assets(), matcher_of(project, services)
    matches: list[Match] = []
    for done, _ in enumerate(services.learn() if services.learn else (), 1):
        yield Progress("matches", "looking at the library's assets from all sides", done, len(services.library))
    yield Progress("matches", f"comparing with the library's {len(services.library.assets)} assets", 0, len(objects))
    for one in objects:
        found = _compared(project, services, matcher, segments[one.segment_id], one)
        if one.segment_id in chosen:
            found = matching.choose(found, chosen[one.segment_id])
        matches.append(found)
        yield Progress(
            "matches", f"{one.name}: {found.asset_id or 'made from the view'}", len(matches), len(objects), _few(found)
        )
    matches = yield from put_together(
        project, services, matches, lambda segment, one: _compared(project, services, matcher, segment, one)
    )
    if matcher in ASKING or (matcher == "all" and sees(services.model)):
        objects = [d for d in project.descriptions() or () if d.is_object]
        live = services.live or Live()
        model = traced(project, services, live)
        asking, library, cards = matcher if matcher in ASKING else None, services.library, services.cards
        for told in looking.choose_all(project, model, live, objects, matches, library, cards, asking):
            yield Progress("matches", *told)
    write_json(project.folder / "matches.json", matching.to_json([_few(one) for one in matches]))


def _compared(project: Project, services: Services, matcher: Matcher, segment: Segment, one: Description) -> Match:
    """What a segment is by what was measured of it; found again while neither it nor the library changes."""
    key = digest(
        "match", project.frame_key, segment.mask, services.library.digest, one.attributes.colour,
        matcher_label(matcher, services),
    )  # fmt: skip

    def compute() -> Any:
        found = match(
            project.frame, project.support, segment, one, services.library, services.features(), services.encoder,
            matcher, SHORTLIST.get(matcher, KEPT),
        )  # fmt: skip
        return matching.to_json([found])

    (found,) = matching.from_json(memo(project.folder / "cache", key, compute))
    return replace(found, segment_id=segment.id)


def _few(found: Match) -> Match:
    """With as many candidates as are shown."""
    return replace(found, candidates=found.candidates[:KEPT])
