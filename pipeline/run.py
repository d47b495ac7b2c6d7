"""The method, stage by stage: frame -> segments -> descriptions -> matches -> scene -> task -> rounds -> solution.

Each stage is a generator of Progress: the app streams it, a script prints it, a stop button closes it. What was
finished before a stop or an error is in the project folder.
"""

import json
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pipeline import description, looking, matching
from pipeline.assets.encoder import Encoder
from pipeline.assets.library import Library
from pipeline.assets.provider import Provider, ProviderError, ProviderStopped
from pipeline.assets.reconstruct.provided import provide, provided
from pipeline.choosing import SHORTLIST
from pipeline.description import Description, describe, unused
from pipeline.errors import StudioError
from pipeline.matching import ASKING, KEPT, Features, Match, Matcher, match, usable
from pipeline.models import Model, Stopped, label_of, sees
from pipeline.models.asked_by import AskedBy
from pipeline.models.live import Live
from pipeline.models.trace import Traced
from pipeline.project import STAGES, Project, Stage, safe_name
from pipeline.router import Mode, Round, route, write_round
from pipeline.scene import files, given
from pipeline.scene.placing import place
from pipeline.scene.settle import settle
from pipeline.segmentation import Segment, Segmenter
from pipeline.segmentation.finding import finding
from pipeline.simulation import Program, kit
from pipeline.simulation.sandbox import Cancelled, Sandbox
from pipeline.solving import Attempt, Robot, solve, write_solution
from pipeline.store import digest, memo, write_json, write_text
from pipeline.tasks import Task, TaskError, propose, task_to_json, understand

PROPOSED = 3
"""Proposed tasks that are tried, one after the other, where nobody chose one."""


@dataclass(frozen=True)
class Services:
    """The outside world, chosen once at start-up."""

    segmenter: Segmenter
    model: Model
    library: Library
    sandbox: Sandbox
    features: Callable[[], Features]
    """What the matcher knows of the library's looks; called when first needed, since a new library takes a while."""
    encoder: Encoder | None = None
    """What sees pictures for the matcher; None: form, size and colours decide alone."""
    matcher: Matcher = "all"
    learn: Callable[[], Iterator[object]] | None = None
    """Computes `features` asset by asset, so that it can be shown and stopped."""
    mode: Mode = "route"
    seeds: tuple[int, ...] = tuple(range(8))
    robot: Robot = "gripper"
    """Who does the task in the solve check, where a person decided nothing else for the project."""
    live: Live | None = None
    """Where calls in flight can be watched and stopped."""
    image_to_3d: Provider | None = None
    """A service that makes a model of a thing's picture, where one is set up."""
    cards: Path | None = None
    """Folder where drawn views of assets are kept between projects."""


@dataclass(frozen=True)
class Progress:
    """Something happened on the way."""

    stage: Stage
    message: str
    done: int = 0
    of: int = 0
    value: Any = field(default=None, repr=False)
    """What was just finished, where there is something to show: a Description, a Match, a Round ..."""


def advance(
    project: Project, services: Services, until: Stage = "solution", task_text: str | None = None
) -> Iterator[Progress]:
    """Runs every stage up to `until` that has not run on the present inputs.

    Raises the stage's StudioError where one cannot be completed; the ones before it are kept.
    """
    for stage in STAGES[: STAGES.index(until) + 1]:
        current = project.stages()[stage] == "done" and project.made_with(stage) in (
            None, maker(stage, services, robot_of(project, services), matcher_of(project, services)),
        )  # fmt: skip
        if stage == "task" and task_text is not None:
            current = False
        if not current:
            yield from run_stage(project, services, stage, task_text)
            if stage == "rounds" and task_text is None and not project.decided("task"):
                yield from _try_others(project, services)


def _try_others(project: Project, services: Services) -> Iterator[Progress]:
    """Where the first proposed task was given up and no person chose it: rounds for the next ones."""
    for task in (project.tasks() or ())[1:PROPOSED]:
        best = best_round(project)
        if best is None or best.route not in ("give_up", "ask"):
            return
        yield Progress("task", f"that one is given up; trying another: {task.instruction}")
        write_json(project.folder / "task.json", task_to_json(task))
        yield from run_stage(project, services, "rounds")


def run_stage(project: Project, services: Services, stage: Stage, task_text: str | None = None) -> Iterator[Progress]:
    """Runs one stage whatever its state; the stages before it must have run."""
    start = time.perf_counter()
    made_with = maker(stage, services, robot_of(project, services), matcher_of(project, services))
    try:
        if stage == "task":
            yield from _task(project, services, task_text)
        else:
            yield from _RUN[stage](project, services)
    except (Cancelled, Stopped):
        raise  # a person's stop is no failure
    except StudioError as error:
        project.fail(stage, made_with, time.perf_counter() - start, str(error))
        raise
    project.finish(stage, made_with, time.perf_counter() - start)


def robot_of(project: Project, services: Services) -> Robot:
    """Who does this project's task: what a person decided last, else what was chosen at start-up."""
    decided = project.decided("robot")
    return decided[-1].data["name"] if decided else services.robot


def matcher_of(project: Project, services: Services) -> Matcher:
    """Which matcher decides: what a person decided last, else what was chosen at start-up; all evidence where that one
    lacks its model or its encoder."""
    decided = project.decided("matcher")
    wanted = decided[-1].data["name"] if decided else services.matcher
    return usable(wanted, services.model, services.encoder)[0]


def maker(stage: Stage, services: Services, robot: Robot = "gripper", matcher: Matcher = "all") -> str:
    """Name of what makes this stage's result."""
    model = label_of(services.model)
    looks = f", {model}" if sees(services.model) else ""
    asked = looks if matcher == "all" else f", {model}" * (matcher in ASKING)
    return {
        "frame": "measured",
        "segments": services.segmenter.name,
        "descriptions": f"measured{looks}",
        "matches": f"library {services.library.digest}, {_matcher(matcher, services)}{asked}",
        "scene": "measured",
        "task": model,
        "rounds": f"{model}, {services.mode}",
        "solution": "oracle" if robot == "gripper" else f"oracle, {robot}",
    }[stage]


def _matcher(matcher: Matcher, services: Services) -> str:
    return f"{matcher} by {services.encoder.name if services.encoder else 'measures'}"


# ---------------------------------------------------------------------- seeing


def _frame(project: Project, services: Services) -> Iterator[Progress]:
    yield Progress("frame", "looking for the table")
    yield Progress("frame", "the table is found", 1, 1, project.support)


def _segments(project: Project, services: Services) -> Iterator[Progress]:
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


def _descriptions(project: Project, services: Services) -> Iterator[Progress]:
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
        for told in looking.describe_all(project, _traced(project, services, live), live, segments, described):
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


def _matches(project: Project, services: Services) -> Iterator[Progress]:
    segments = {segment.id: segment for segment in project.segments() or ()}
    objects = [d for d in project.descriptions() or () if d.is_object]
    chosen, matcher = project.chosen_assets(), matcher_of(project, services)
    matches: list[Match] = []
    for done, _ in enumerate(services.learn() if services.learn else (), 1):
        yield Progress("matches", "looking at the library's assets from all sides", done, len(services.library))
    yield Progress("matches", f"comparing with the library's {len(services.library.assets)} assets", 0, len(objects))
    for one in objects:
        key = digest(
            "match", project.frame_key, segments[one.segment_id].mask, services.library.digest,
            one.attributes.colour, _matcher(matcher, services),
        )  # fmt: skip

        def compute(one: Description = one) -> Any:
            segment = segments[one.segment_id]
            found = match(
                project.frame, project.support, segment, one, services.library, services.features(),
                services.encoder, matcher, SHORTLIST.get(matcher, KEPT),
            )  # fmt: skip
            return matching.to_json([found])

        (found,) = matching.from_json(memo(project.folder / "cache", key, compute))
        found = replace(found, segment_id=one.segment_id)
        if one.segment_id in chosen:
            found = matching.choose(found, chosen[one.segment_id])
        matches.append(found)
        yield Progress(
            "matches", f"{one.name}: {found.asset_id or 'made from the view'}", len(matches), len(objects), _few(found)
        )
    if matcher in ASKING or (matcher == "all" and sees(services.model)):
        live = services.live or Live()
        model = _traced(project, services, live)
        asking, library, cards = matcher if matcher in ASKING else None, services.library, services.cards
        for told in looking.choose_all(project, model, live, objects, matches, library, cards, asking):
            yield Progress("matches", *told)
    write_json(project.folder / "matches.json", matching.to_json([_few(one) for one in matches]))


def _few(found: Match) -> Match:
    """With as many candidates as are shown."""
    return replace(found, candidates=found.candidates[:KEPT])


def _scene(project: Project, services: Services) -> Iterator[Progress]:
    segments: tuple[Segment, ...] = project.segments() or ()
    wanted = given.given_by(project.decided(*given.KINDS))
    yield from _provided(project, services, [id for id, one in wanted.items() if one.way == "provider"])
    yield Progress("scene", "placing the objects", 0, 3)
    scene = place(
        project.frame,
        project.support,
        segments,
        project.descriptions() or (),
        project.matches() or (),
        services.library,
        project.folder / "scene",
        wanted,
        project.folder / "cache",
    )
    yield Progress("scene", "letting them settle", 1, 3)
    scene, settled = settle(scene)
    yield Progress("scene", "writing the model", 2, 3)
    files.write_scene(scene, project.folder)
    yield Progress("scene", f"{len(scene.placements)} objects stand", 3, 3, settled)


def _provided(project: Project, services: Services, wanted: list[int]) -> Iterator[Progress]:
    """What an image-to-3D service is to make of these objects, asked for where it has not been yet."""
    described = {d.segment_id: d for d in project.descriptions() or () if d.is_object}
    segments = {s.id: s for s in project.segments() or ()}
    live = services.live or Live()
    for number, id in enumerate(id for id in wanted if id in described and id in segments):
        if provided(project.frame, segments[id], project.folder / "scene") is not None:
            continue
        if services.image_to_3d is None:
            raise ProviderError(
                f"{described[id].name} is to be made by an image-to-3D service and none is set up; set "
                "GRS_IMAGE_TO_3D=http://host:port, or choose another way"
            )
        yield Progress("scene", f"{services.image_to_3d.name} makes {described[id].name}", number, len(wanted))
        try:
            provide(
                services.image_to_3d, project.frame, segments[id], described[id], project.folder / "scene",
                lambda: live.stopped,
            )  # fmt: skip
        except ProviderStopped as stop:
            raise Stopped(str(stop)) from None


# ---------------------------------------------------------------------- doing


def _task(project: Project, services: Services, text: str | None) -> Iterator[Progress]:
    yield Progress("task", f"proposing tasks ({label_of(services.model)})")
    seen = kit.Scene.load(project.folder)
    model = AskedBy(_traced(project, services), "propose_tasks", *looking.marks(project, services.model))
    about = _about(project, sees(services.model))
    proposed = propose(seen, model, about=about)
    write_json(project.folder / "tasks.json", [task_to_json(task) for task in proposed])
    if text is not None:
        task = understand(text, seen, model, about)
        project.decide("task", **task_to_json(task))
    elif proposed:
        task = proposed[0]
    else:
        raise TaskError("no task can be proposed for this scene: it has no object that can be moved")
    write_json(project.folder / "task.json", task_to_json(task))
    yield Progress("task", task.instruction, 1, 1, proposed)


def _about(project: Project, marked: bool) -> dict[str, str]:
    """What more is known of each object, by name: its mark in the picture, its caption, the asset it was matched to."""
    assets = {m.segment_id: m.asset_id or "" for m in project.matches() or ()}
    mark = "(mark {}) " if marked else ""
    return {
        d.name: f"{mark.format(d.segment_id)}{d.caption} {assets.get(d.segment_id, '')}".strip()
        for d in project.descriptions() or ()
    }


def _traced(project: Project, services: Services, live: Live | None = None) -> Traced:
    return Traced(services.model, project.folder / "trace.jsonl", live or services.live, project.wishes())


def _rounds(project: Project, services: Services) -> Iterator[Progress]:
    task = _the_task(project)
    earlier = project.rounds()
    forks = project.decided("fork")
    start, parent = None, None
    if forks and forks[-1].at > max((r.at for r in earlier), default=0.0):
        start, parent = Program(forks[-1].data["simulation"], forks[-1].data["checks"]), forks[-1].data["parent"]
    rounds = route(
        task, project.folder, AskedBy(_traced(project, services), "write_program"), services.sandbox, services.mode,
        start=start, parent=parent, first_number=len(earlier),
    )  # fmt: skip
    for one in rounds:
        one = replace(one, task=task.instruction)
        write_round(one, project.folder)
        yield Progress("rounds", f"round {one.number}: {one.reason}", one.number + 1, 0, one)


def _the_task(project: Project) -> Task:
    task = project.task()
    if task is None:
        raise TaskError("there is no task yet; choose a proposed one or write one")
    write_json(project.folder / "task.json", task_to_json(task))
    return task


def _solution(project: Project, services: Services) -> Iterator[Progress]:
    best = best_round(project)
    if best is None:
        raise TaskError("there is no program to run yet; generate one first")
    total, robot = len(services.seeds), robot_of(project, services)
    for number, step in enumerate(solve(best.program, project.folder, services.sandbox, services.seeds, robot), 1):
        if isinstance(step, Attempt):
            word = "solved" if step.solved else step.why or f"reward {step.reward:.2f}"
            yield Progress("solution", f"seed {step.seed}: {word}", number, total, step)
        else:
            for drawn in write_solution(step, project.folder):
                yield Progress("solution", "drawing the film", round(100 * drawn), 100)
            good, share = sum(step.success), f"{step.strict_rate:.0%} of all seeds"
            word = f"{'solved' if step.solved else 'not solved'}: {good} of {total} seeds ({share}; {step.source})"
            yield Progress("solution", word, total, total, step)


def best_round(project: Project) -> Round | None:
    """The round for the present task that a person pinned, else the last that passed, else the last one for it."""
    task = project.task()
    rounds = [one for one in project.rounds() if task is None or one.task in ("", task.instruction)]
    pins = project.decided("pin")
    if pins and (pinned := [one for one in rounds if one.number == pins[-1].data["round"]]):
        return pinned[0]
    clean = [one for one in rounds if one.route == "done"]
    return clean[-1] if clean else rounds[-1] if rounds else None


_RUN: dict[Stage, Callable[[Project, Services], Iterator[Progress]]] = {
    "frame": _frame,
    "segments": _segments,
    "descriptions": _descriptions,
    "matches": _matches,
    "scene": _scene,
    "rounds": _rounds,
    "solution": _solution,
}
