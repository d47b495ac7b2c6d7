"""The perception stages: frame, segments, descriptions, matches."""

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from pipeline import description, matching
from pipeline.description import Description, DescriptionError, describe, lasting_names, unique_name
from pipeline.frame.occlusion import MAYBE_HIDDEN_SHARE, hidden_share
from pipeline.matching import MAX_CANDIDATES, MODEL_MATCHERS, IndexedLibrary, Match, MatcherName, Query, match_by_name
from pipeline.matching.model import SHORTLIST_SIZE, is_clear_match, is_denied, keep_if_matched
from pipeline.models import has_vision
from pipeline.project import Project, Stage, safe_name
from pipeline.run import model_questions
from pipeline.run.merge_masks import merge_oversegmented
from pipeline.run.progress import Progress
from pipeline.run.services import Services, matcher_label, project_matcher
from pipeline.scene.bin_walls import find_walls, on_walls_share
from pipeline.scene.match_hidden import match_hidden
from pipeline.scene.observed_object import observe
from pipeline.scene.placement import MAX_WALLS, SHELF_NAME, WALL_NAME
from pipeline.segmentation import Segment, Segmenter
from pipeline.segmentation.automatic import automatic_steps
from pipeline.store import digest, memoise, parse_json, write_json, write_text

ADDED_BY_MODEL = "The segmenter found nothing here; {} added the mask."
MATCHED_ANYWAY = "It may be a part of a robot, a hand or a wall, but it clearly matches an asset."


def frame_stage(project: Project, services: Services) -> Iterator[Progress]:
    """Find the table and the world frame on it."""
    yield Progress("frame", "looking for the table")
    yield Progress("frame", "found the table", 1, 1, project.support)


def segments_stage(project: Project, services: Services) -> Iterator[Progress]:
    """Segment the frame and save the masks."""
    segments = yield from find_segments(project, services.segmenter)
    project.save_segments(segments)
    yield Progress("segments", f"{len(segments)} segments", len(segments), len(segments), segments)


def find_segments(
    project: Project, segmenter: Segmenter, settings: Any = None
) -> Generator[Progress, None, tuple[Segment, ...]]:
    """Return the segmenter's automatic masks without saving them. Closing the generator stops the work."""
    yield Progress("segments", f"opening the frame ({segmenter.name})")
    with closing(automatic_steps(segmenter.open(project.frame), settings)) as steps:
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                return end.value
            yield Progress("segments", f"{step.message} ({segmenter.name})", step.done, step.total)


def descriptions_stage(project: Project, services: Services) -> Iterator[Progress]:
    """Describe each segment: measured, then by a model with vision, then with the user's decisions."""
    segments = _with_walls(project, project.segments() or ())
    described: list[Description] = []
    if any(segment.kind != "object" for segment in segments):
        yield from _compute_features("descriptions", services)
    for segment in segments:
        described.append(_description_of(project, services, segment))
        if not has_vision(services.model):
            yield Progress("descriptions", described[-1].caption, len(described), len(segments), described[-1])
    if has_vision(services.model):
        measured = described
        described = yield from model_questions.describe_objects(project, services, segments, measured)
        described = yield from _keep_matched_objects(project, services, segments, measured, described)
    described = _with_decisions(project, described)
    described = yield from model_questions.weigh_objects(project, services, described)
    write_text(project.folder / "descriptions.json", description.to_json(described))


def _keep_matched_objects(
    project: Project,
    services: Services,
    segments: Sequence[Segment],
    measured: Sequence[Description],
    described: Sequence[Description],
) -> Generator[Progress, None, list[Description]]:
    """Return the model's descriptions; what it takes for no object stays one if its measured match is clear."""
    denied = [k for k, one in enumerate(described) if is_denied(measured[k], one)]
    if denied:
        yield from _compute_features("descriptions", services)
    kept = list(described)
    for k in denied:
        kept[k] = keep_if_matched(described[k], _measured_match(project, services, "all", segments[k], measured[k]))
    return kept


def _compute_features(stage: Stage, services: Services) -> Iterator[Progress]:
    """Compute the features of new assets."""
    for done, _ in enumerate(services.compute_features() if services.compute_features else (), 1):
        yield Progress(stage, "rendering views of the library's assets", done, len(services.library))


def _with_walls(project: Project, segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
    """Return the segments; what lies on a wall of the bin, and no person drew, is a part of it."""
    walls = find_walls(project.observation, segments) if project.has_walls else ()
    return tuple(
        replace(one, kind="wall or furniture")
        # Share of its points on the walls from which a mask is a part of them
        if walls and one.source != "human" and on_walls_share(project.observation, one.mask, walls) > 0.6
        else one
        for one in segments
    )


def _description_of(project: Project, services: Services, segment: Segment) -> Description:
    """Return the measured description. A mask of another kind is kept as an object if it clearly matches an asset."""
    measured = _measured_description(project, segment)
    if segment.kind == "object":
        return measured
    segment = replace(segment, kind="object")
    described = _measured_description(project, segment)
    if not (described.is_object and is_clear_match(_measured_match(project, services, "all", segment, described))):
        return measured
    return replace(described, warnings=(*described.warnings, MATCHED_ANYWAY))


def _measured_description(project: Project, segment: Segment) -> Description:
    """Return the measured description of a segment, from the cache if its mask and the frame are unchanged."""
    key = digest("description", project.frame_key, segment.mask_digest, segment.kind, *project.views_digest(segment.id))

    def compute() -> Any:
        return parse_json(description.to_json([describe(project.frame, project.support, segment, (), project.views())]))

    (measured,) = description.from_json(json.dumps(memoise(project.folder / "cache", key, compute)))
    return replace(measured, segment_id=segment.id)


def _with_decisions(project: Project, described: list[Description]) -> list[Description]:
    """Return the descriptions with the names and verdicts that the user decided, and unique names.

    An object keeps its number while its name is made of the same words, whatever becomes of the others.
    """
    verdicts = {d.data["id"]: bool(d.data["value"]) for d in project.active_decisions("not_object")}
    names = {d.data["id"]: safe_name(d.data["name"]) for d in project.active_decisions("rename")}
    shelves = {f"{SHELF_NAME}{number}" for number, _ in enumerate(project.support.shelves, 1)}
    shelves |= {f"{WALL_NAME}{number}" for number in range(1, MAX_WALLS + 1)}
    chosen: set[str] = {*names.values(), *shelves}
    lasting = lasting_names({one.segment_id: one.name for one in described}, _former_names(project))
    lasting = {id: name for id, name in lasting.items() if id not in names and name not in chosen}
    taken: set[str] = {*lasting.values(), *shelves}
    added = _added_by_model(project)
    result = []
    for one in described:
        if model := added.get(one.segment_id):
            one = replace(one, warnings=(*one.warnings, ADDED_BY_MODEL.format(model)))
        if one.segment_id in verdicts:
            one = replace(one, is_object=not verdicts[one.segment_id], source="human")
        if one.segment_id in names:
            one = replace(one, name=unique_name(names[one.segment_id], taken), source="human")
        else:
            one = replace(one, name=lasting.get(one.segment_id) or unique_name(one.name, taken | chosen))
        taken.add(one.name)
        result.append(one)
    return result


def _added_by_model(project: Project) -> dict[int, str]:
    """Return the model that added a mask where the segmenter had none, by segment id; a person's edit ends it."""
    last = {decision.data["id"]: decision.data for decision in project.active_decisions("mask")}
    return {id: data["source"] for id, data in last.items() if "added" in data}


def _former_names(project: Project) -> dict[int, str]:
    """Return the names of the descriptions that are about to be replaced, by segment id; empty if they are damaged."""
    try:
        return {one.segment_id: one.name for one in project.descriptions() or ()}
    except DescriptionError:
        return {}


def matches_stage(project: Project, services: Services) -> Iterator[Progress]:
    """Match each object with an asset of the library, or with none."""
    segments = {segment.id: segment for segment in project.segments() or ()}
    objects = [one for one in project.descriptions() or () if one.is_object]
    overrides, matcher = project.asset_overrides(), project_matcher(project, services)
    matches: list[Match] = []
    yield from _compute_features("matches", services)
    yield Progress("matches", f"comparing with the library's {len(services.library.assets)} assets", 0, len(objects))
    for described in objects:
        found = _measured_match(project, services, matcher, segments[described.segment_id], described)
        if matcher == "all":
            found = _match_if_hidden(project, services, segments, described, found)
        if described.segment_id in overrides:
            found = matching.override_match(found, overrides[described.segment_id])
        matches.append(found)
        if services.ahead and (found.asset_id or not services.image_to_3d):  # the service is asked by the scene's stage
            asset = services.library[found.asset_id] if found.asset_id else None
            services.ahead.start(project, segments[described.segment_id], described, _shown(found), asset)
        message = f"{described.name}: {found.asset_id or 'reconstructed'}"
        yield Progress("matches", message, len(matches), len(objects), _shown(found))

    def recognise(segment: Segment) -> tuple[Description, Match]:
        described = _measured_description(project, segment)
        return described, _measured_match(project, services, matcher, segment, described)

    matches = yield from merge_oversegmented(project, services, matches, recognise)
    if matcher in MODEL_MATCHERS or (matcher == "all" and has_vision(services.model)):
        objects = [one for one in project.descriptions() or () if one.is_object]
        model_matcher = matcher if matcher in MODEL_MATCHERS else None
        matches = yield from model_questions.choose_assets(project, services, objects, matches, model_matcher)
    write_json(project.folder / "matches.json", matching.to_json([_shown(one) for one in matches]))


def _measured_match(
    project: Project, services: Services, matcher: MatcherName, segment: Segment, described: Description
) -> Match:
    """Return the measured match of a segment, from the cache if neither the segment nor the library changed."""
    key = digest(
        "match", project.frame_key, segment.mask_digest, services.library.digest, described.attributes.colour,
        matcher_label(matcher, services), *project.views_digest(segment.id),
    )  # fmt: skip

    def compute() -> Any:
        indexed = IndexedLibrary(services.library, services.features(), services.encoder)
        query = Query(project.observation, segment, described)
        return matching.to_json([match_by_name(matcher, query, indexed, SHORTLIST_SIZE.get(matcher, MAX_CANDIDATES))])

    (found,) = matching.from_json(memoise(project.folder / "cache", key, compute))
    return replace(found, segment_id=segment.id)


def _match_if_hidden(
    project: Project, services: Services, segments: Mapping[int, Segment], described: Description, found: Match
) -> Match:
    """Return the match, which is of an object that is seen whole, made anew if the object is partly hidden."""
    if found.asset_id is not None or not found.candidates:
        return found
    segment = segments[described.segment_id]
    others = np.any([one.mask for one in segments.values()], axis=0) & ~segment.mask
    if hidden_share(project.frame, segment.mask, others) < MAYBE_HIDDEN_SHARE:
        return found
    key = digest(
        "match hidden", project.frame_key, segment.mask_digest, services.library.digest, described.attributes.colour,
        matcher_label("all", services), *project.views_digest(segment.id),
    )  # fmt: skip

    def compute() -> Any:
        indexed = IndexedLibrary(services.library, services.features(), services.encoder)
        observed = observe(project.observation, segment, described, found)
        return matching.to_json([match_hidden(observed, indexed, project.folder / "cache")])

    (again,) = matching.from_json(memoise(project.folder / "cache", key, compute))
    return replace(again, segment_id=segment.id)


def _shown(found: Match) -> Match:
    """Return the match with only as many candidates as are saved."""
    return replace(found, candidates=found.candidates[:MAX_CANDIDATES])
