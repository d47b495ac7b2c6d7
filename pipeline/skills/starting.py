"""Subtasks whose policies begin with a skill instead of at random. The first point of their curve names the skill."""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.learning.chain import ChainOptions, SubtaskLearned, TaskLearner
from pipeline.learning.episodes import play_across, success_rate
from pipeline.learning.judging.rollouts import rollout_of, shown_episodes, write_rollouts
from pipeline.learning.learning_files import Spent, read_curve
from pipeline.learning.policy import LearnedPolicy
from pipeline.learning.subtask import PLAN, RESET, WHOLE, LearningError, Subtask
from pipeline.learning.training import TrainingOptions, TrainingProgress, training_key
from pipeline.skills.skill import Skill, keep_skill, nearest_skill, skill_objects, tensors_alone
from pipeline.store import write_json

SOLVED, FEWEST_LAYOUTS = 0.9, 20
"""Success on at least so many unseen layouts from which a policy is kept as a skill."""


def fitting_skills(learner: TaskLearner, skills: Sequence[Skill]) -> dict[str, Skill]:
    """Return the nearest skill of each subtask for which there is one, by the subtask's name."""
    nearest = {one.name: nearest_skill(skill_objects(one, learner.layouts), skills) for one in learner.subtasks}
    return {name: skill for name, skill in nearest.items() if skill}


@dataclass(frozen=True)
class FormerPolicy:
    """A policy with which the training of a subtask begins."""

    path: Path
    title: str
    """Its subtask and where it was learned, for the curve and the report."""
    kind: str = "policy"
    """What it is called: "skill" of a workspace, or "policy"."""


def learn_from_skills(
    learner: TaskLearner, options: ChainOptions, skills: Sequence[Skill], report: Callable[[str], object]
) -> Generator[TrainingProgress | SubtaskLearned]:
    """Learn as `TaskLearner.learn` does, with each subtask that was not begun yet starting from its nearest skill.

    `report` gets a line for each. Raises LearningError, StoreError.
    """
    fitting = fitting_skills(learner, skills)
    if not fitting:
        report("no skill of this workspace fits; every policy begins at random")
    former = {name: FormerPolicy(skill.policy, skill.title, "skill") for name, skill in fitting.items()}
    return learn_from(learner, options, former, report)


def learn_from(
    learner: TaskLearner, options: ChainOptions, former: Mapping[str, FormerPolicy], report: Callable[[str], object]
) -> Generator[TrainingProgress | SubtaskLearned]:
    """Learn as `TaskLearner.learn` does, with each subtask that was not begun yet starting from a former policy.

    `former` is by the subtask's name; `report` gets a line for each. Raises LearningError, StoreError.
    """
    begun = time.monotonic()
    for name in options.names or tuple(one.name for one in learner.subtasks):
        left = options.seconds - (time.monotonic() - begun)
        subtask = next((one for one in learner.subtasks if one.name == name), None)
        if subtask is not None and subtask.way != PLAN and name in former and left > 0:
            at_first = start_from(learner, subtask, former[name], options.training, options.from_reset)
            if at_first is not None:
                report(f"{name}: starts from the {former[name].kind} {former[name].title}, success {at_first:.0%}")
        yield from learner.learn(replace(options, names=(name,), seconds=left))


def start_from(
    learner: TaskLearner, subtask: Subtask, former: FormerPolicy, training: TrainingOptions, from_reset: bool = False
) -> float | None:
    """Make a policy the state with which a subtask's training goes on; return its success on the validation starts.

    None if that training was begun already. Raises LearningError, StoreError.
    """
    starts = learner.starts(replace(subtask, start=RESET) if from_reset else subtask)
    folder = learner.folder(subtask)
    record = folder.take_up(training_key(subtask, starts, training))
    if record.was_evaluated:
        return None
    begun, processor = time.monotonic(), time.process_time()
    envs = starts.environments(subtask, learner.layouts, starts.validation, training.rules)
    policy = LearnedPolicy.read(former.path, next(iter(envs.values())))
    episodes = list(play_across(envs, policy, starts.validation))
    success = success_rate(episodes)
    spent = Spent(0, time.monotonic() - begun, time.process_time() - processor)
    point = {
        "steps": 0, "seconds": round(spent.seconds, 2), "processor": round(spent.processor, 2), "success": success,
        "return": round(float(np.mean([one.reward for one in episodes])), 4),
        "terms": np.mean([one.terms for one in episodes], axis=0).round(4).tolist(), "skill": former.title,
    }  # fmt: skip
    write_rollouts(folder.rollouts(0), shown_episodes([rollout_of(subtask, one) for one in episodes]))
    folder.save(record, record.after(spent, success, training.target), point, tensors_alone(former.path))
    return success


def started_from(learner: TaskLearner, subtask: Subtask) -> str:
    """Return the title of the skill that a subtask's training began with; empty for none."""
    points = read_curve(learner.folder(subtask).curve) if subtask.way != PLAN else []
    return str(points[0].get("skill", "")) if points else ""


def labelled(learner: TaskLearner, report: Mapping[str, Any]) -> dict[str, Any]:
    """Return report.json with the skill that each policy began with, and write it. Raises StoreError."""
    by_name = {one.name: one for one in learner.subtasks}
    rows = [{**row, "skill": started_from(learner, by_name[row["name"]]) or None} for row in report["subtasks"]]
    found = {**report, "subtasks": rows}
    write_json(learner.report_file, found)
    return found


def keep_skills(learner: TaskLearner, report: Mapping[str, Any], project: str, folder: Path) -> list[Skill]:
    """Keep the policies that an evaluation found good enough as skills; return them. Raises LearningError, StoreError.

    Args:
        report: of evaluation.report.
        project: name of the project's folder.
        folder: of the skills.
    """
    kept = []
    for row in report["subtasks"]:
        if row["success"] < SOLVED or row["layouts"] < FEWEST_LAYOUTS or row["name"] == WHOLE:
            continue
        subtask = next(one for one in learner.subtasks if one.name == row["name"])
        if subtask.way == PLAN:
            continue
        needed, policy = skill_objects(subtask, learner.layouts), learner.folder(subtask).policy
        skill = Skill(
            subtask.name, project, needed.roles, needed.categories, needed.sizes, row["success"], row["layouts"],
            row["steps"], policy,
        )  # fmt: skip
        try:
            keep_skill(skill, folder)
        except LearningError:
            continue  # its file is damaged, which the next training reports
        kept.append(skill)
    return kept
