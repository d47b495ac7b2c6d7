"""Candidates: tasks that a model or the offline rules propose on a start, and sequences of two or three of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations

from pipeline.models import Model, ModelError, StageCancelled
from pipeline.models.model import has_language
from pipeline.planner import PlannerModel
from pipeline.planner.plans import why_infeasible
from pipeline.planner.scene_objects import scene_objects
from pipeline.simulation import kit
from pipeline.simulation.goals.sentences import named_objects, sentences
from pipeline.simulation.goals.spec import PlannedGoal
from pipeline.store import digest
from pipeline.task_generation.demands import Demands, demands
from pipeline.task_generation.similarity import TaskProfile, profile_of
from pipeline.task_generation.starts import Start
from pipeline.tasks import DroppedProposal, Task, ask_for_proposals, scene_to_json

JOINING = ("First {}, then {}.", "First {}, then {}, and finally {}.")


@dataclass(frozen=True, eq=False)
class TaskCandidate:
    """A task that may be kept."""

    task: Task
    start: Start
    demands: Demands | None
    """None for goals that only a model can read."""
    profile: TaskProfile
    flaw: str = ""
    """Why it is no task of the start, so that it is not tried; empty if it is one."""

    @property
    def key(self) -> str:
        """Hash of the start, the goals and the words."""
        return digest("generated task", self.start.id, self.task.instruction, self.task.goals)[:16]


@dataclass(frozen=True)
class SceneFacts:
    """What proposals take into account beside the twin's geometry, by the name of an object."""

    notes: Mapping[str, str]
    """Its caption and its matched asset."""
    not_picked: Mapping[str, str]
    """Why the robot cannot pick it up."""
    doubtful: Mapping[str, str]
    """Why no task is about it: its size and place are a guess, or it stands beyond the table."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """What a start offers."""

    tasks: tuple[TaskCandidate, ...]
    failure: str = ""
    """Why the language model proposed nothing; empty if it did or was not asked."""


def candidates(start: Start, model: Model, facts: SceneFacts, learned: str = "") -> Candidates:
    """Return the tasks that a start offers: the language model's, if one is in use, then those of the rules.

    A language model is told what was learned of the tasks before. If it fails, the offline rules propose alone.
    Raises KitError for a start that cannot be read, StageCancelled.
    """
    scene = kit.Scene.load(start.folder)
    doubtful = {**facts.doubtful, **dict.fromkeys(start.distractors, "it is a distractor")}
    usable: list[Task] = []
    dropped: list[DroppedProposal] = []
    failure = ""
    for asked in dict.fromkeys((model, PlannerModel()) if has_language(model) else (model,)):
        try:
            found = ask_for_proposals(
                # Most tasks that a model is asked for on one start
                scene,
                asked,
                20,
                facts.notes,
                facts.not_picked,
                doubtful,
                alternatives=True,
                learned=learned,
            )
        except StageCancelled:
            raise
        except ModelError as error:
            failure = f"{asked.name} proposed nothing: {str(error).rstrip('.')}"
        else:
            usable += found.tasks
            dropped += found.dropped
    data = scene_to_json(scene)
    known = {one.name: one for one in scene_objects(data)}
    categories = {name: one.category or one.shape for name, one in known.items()}
    tasks = [*usable, *_sequences(usable, data)]
    if start.brought:  # what the rules propose without the brought objects, they propose on the start without them
        tasks = [one for one in tasks if one.source != PlannerModel.name or set(one.objects) & set(start.brought)]
    unique = {(task.instruction, task.goals): task for task in reversed(tasks)}
    offered = [
        TaskCandidate(task, start, demands(task.planned, known) if task.planned else None, profile_of(task, categories))
        for task in reversed(unique.values())
    ]
    offered += [
        TaskCandidate(one.task, start, None, profile_of(one.task, categories), one.reason)
        for one in dropped
        if (one.task.instruction, one.task.goals) not in unique
    ]
    return Candidates(tuple(offered), failure)


def _sequences(tasks: Sequence[Task], scene: Mapping) -> Iterator[Task]:
    """Yield sequences of two and three tasks of different kinds, none of which undoes another."""
    read = [(task, task.planned) for task in tasks if task.planned and _is_one_step(task.planned)]
    found = 0
    for count in (2, 3):
        for parts in combinations(read, count):
            # Most sequences of one start
            if found >= 60 * (count - 1) / 2:
                break
            if len({task.kind for task, _ in parts}) < count or not _go_together([goals for _, goals in parts]):
                continue
            goals = [replace(goal, stage=number) for number, (_, own) in enumerate(parts) for goal in own]
            if why_infeasible(goals, scene):
                continue
            found += 1
            yield _sequence([task for task, _ in parts], goals)


def _is_one_step(goals: Sequence[PlannedGoal]) -> bool:
    return len({goal.stage for goal in goals}) == 1 and not any(goal.spec.needs_setup for goal in goals)


def _go_together(steps: Sequence[Sequence[PlannedGoal]]) -> bool:
    """Whether no step carries an object that another one names, and no two add or mark the same place."""
    carried = [{name for goal in goals for name in goal.carried} for goals in steps]
    named = [set(named_objects(goals)) for goals in steps]
    places = [name for goals in steps for name in {g.names[1] for g in goals if g.spec.zone or g.new_container}]
    apart = all(not (carried[i] & named[j]) for i, j in permutations(range(len(steps)), 2))
    return apart and len(set(places)) == len(places)


def _sequence(tasks: Sequence[Task], goals: Sequence[PlannedGoal]) -> Task:
    words = [task.instruction[:1].lower() + task.instruction[1:].rstrip(".") for task in tasks]
    return Task(
        "_then_".join(task.name for task in tasks)[:60].strip("_"), JOINING[len(tasks) - 2].format(*words),
        named_objects(goals), sentences(goals), "several", tasks[0].source,
    )  # fmt: skip
