"""What the Learn page shows of a project: subtasks, curves, policies, failures, and the training that runs."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pipeline.errors import StudioError
from pipeline.learning.edits import possible_goals, possible_terms
from pipeline.learning.judging.rollouts import read_rollouts
from pipeline.learning.layouts import Layouts
from pipeline.learning.learning_files import FOLDER, SubtaskFolder, read_curve, subtask_folder
from pipeline.learning.reflection import read_proposal
from pipeline.learning.subtask import LEARN, PLAN, WHOLE, Subtask, read_subtasks, to_row, whole_task
from pipeline.learning.terms import term_from_json
from pipeline.models import has_language
from pipeline.object_words import ObjectWords, object_words
from pipeline.simulation.recipe import from_json
from pipeline.store import StoreError, read_json
from studio.learn.reward_words import goal_words, subtask_title, term_words
from studio.learn.trainings import RewardQuestion, Training
from studio.sessions.project_learner import INSTALL, is_installed
from studio.sessions.session import Session
from studio.texts import t, translated


def learn_record(session: Session, layouts: Layouts | None, job: Training | RewardQuestion | None) -> dict[str, Any]:
    """Return the page's whole record. Without layouts nothing can be added to a reward."""
    project = session.project
    words, folder = object_words(project), project.folder
    task = project.task()
    record: dict[str, Any] = {
        "install": "" if is_installed() else INSTALL, "asks": has_language(session.allowed_services.model),
        "task": words.with_display_names(task.instruction) if task else "",
        "subtasks": [], "chain": None, "whole": None, "variants": None, "job": job_record(job, words), "ablation": None,
    }  # fmt: skip
    subtasks = read_subtasks(folder / FOLDER / "subtasks.json")
    if not subtasks:
        return record
    report = _read(folder / FOLDER / "report.json") or {}
    by_name = {one["name"]: one for one in report.get("subtasks", ())}
    record["subtasks"] = [
        _subtask_record(one, subtask_folder(folder, number, one), by_name.get(one.name, {}), layouts, words)
        for number, one in enumerate(subtasks)
    ]
    whole_folder = SubtaskFolder(folder / FOLDER / WHOLE)
    if whole_folder.policy.is_file():
        goals = [goal for _, goals in layouts.base.stages for goal in goals] if layouts else subtasks[-1].success
        whole = _subtask_record(whole_task(subtasks, goals), whole_folder, report.get("whole") or {}, None, words)
        record["subtasks"].append(whole | {"title": t("Whole task, one policy"), "can_edit": False})
    record |= {name: report.get(name) for name in ("chain", "whole", "variants")}
    if any(
        row.get("way", LEARN) != one.way or not _is_shown(one, folder, number)
        for number, one in enumerate(subtasks)
        if (row := by_name.get(one.name))
    ):
        record |= {"chain": None, "variants": None}  # of other rewards, or where the oracle planned other steps
    if isinstance(ablation := _read(folder / FOLDER / "ablation.json"), dict):
        rows = [row | {"title": translated(str(row["title"]))} for row in ablation.get("rows", ())]
        record["ablation"] = {"rows": rows}
    return record


def job_record(job: Training | RewardQuestion | None, words: ObjectWords) -> dict[str, Any] | None:
    """Return {id, kind, state, message, subtask, steps, limit, left, imitated, finished, doing} of a job."""
    if job is None:
        return None
    return {
        "id": job.id, "kind": job.kind, "state": job.state, "message": words.in_words(translated(job.message)),
        "subtask": job.progress.get("subtask", job.subtask), "steps": job.progress.get("steps", 0), "limit": job.limit,
        "left": job.seconds_left, "imitated": job.progress.get("imitated", 0),
        "finished": job.progress.get("finished", False), "doing": job.progress.get("doing", ""),
    }  # fmt: skip


def _is_shown(subtask: Subtask, project: Path, number: int) -> bool:
    return subtask.way == PLAN or subtask_folder(project, number, subtask).is_of(subtask)


def _subtask_record(
    subtask: Subtask, folder: SubtaskFolder, measured: dict[str, Any], layouts: Layouts | None, words: ObjectWords
) -> dict[str, Any]:
    """Return one subtask: what it is, what was learned, where it fails."""
    plans = subtask.way == PLAN
    is_own = folder.is_of(subtask) and not plans
    learning = folder if is_own else SubtaskFolder(folder.path / "nothing")  # of another reward, or by no policy
    curve, trained = read_curve(learning.curve), learning.training()
    if measured.get("way", LEARN) != subtask.way or not (is_own or plans):
        measured = {}
    evaluation = (_read(folder.evaluation) or {}) if measured else {}
    if "reward" in evaluation and evaluation["reward"] != to_row(subtask)["reward"]:
        evaluation = {}  # of a policy that was rewarded otherwise
    success, layouts_played = measured.get("success"), measured.get("layouts")
    objects, zones = (layouts.base.objects, list(layouts.base.zones)) if layouts else ({}, [])
    task_goals = [goal for _, goals in layouts.base.stages for goal in goals] if layouts else []
    return {
        "name": subtask.name, "title": subtask_title(subtask.name, words), "source": subtask.source,
        "instruction": words.in_words(subtask.instruction), "start": subtask.start,
        "success": [goal_words(goal, words) for goal in subtask.success],
        "reward": _reward(subtask, words),
        "can_edit": True,
        "addable_terms": [
            {"row": row, "text": term_words(term_from_json(row["term"], row["args"]), words)}
            for row in (possible_terms(subtask, objects, zones) if layouts else ())
        ],
        "addable_goals": [
            {"row": row, "text": goal_words(from_json(row), words)}
            for row in (possible_goals(subtask, task_goals, objects, zones) if layouts else ())
        ],
        "way": subtask.way, "learned": plans or learning.policy.is_file(),
        "steps": trained.steps, "seconds": trained.seconds,
        "validation": max(trained.best, 0.0) if curve else None,
        "tuned": learning.tuned(),
        "measured": {"success": success, "layouts": layouts_played} if layouts_played else None,
        "curve": curve,
        "checkpoints": [point["steps"] for point in curve if learning.rollouts(point["steps"]).is_file()],
        "shortcut": _shortcut(evaluation, subtask, words), "proposal": _proposal(subtask, folder, words),
        "failures": [_failure(one, words) for one in evaluation.get("failed", ()) if "text" in one],
    }  # fmt: skip


def _reward(subtask: Subtask, words: ObjectWords) -> list[dict[str, Any]]:
    return [
        {"text": term_words(one.term, words), "weight": one.weight, "code": getattr(one.term, "source", "")}
        for one in subtask.reward
    ]


def _proposal(subtask: Subtask, folder: SubtaskFolder, words: ObjectWords) -> dict[str, Any] | None:
    """Return {model, reason, reward} of what was proposed for the subtask's reward; None if nothing was."""
    found = read_proposal(subtask, folder)
    if found is None:
        return None
    return {"model": found.model, "reason": words.in_words(found.reason), "reward": _reward(found.subtask, words)}


def _failure(failed: dict[str, Any], words: ObjectWords) -> dict[str, Any]:
    text = words.in_words(translated(str(failed["text"])))
    return {"layout": failed["layout"], "time": failed["time"], "text": text}


def _shortcut(evaluation: dict[str, Any], subtask: Subtask, words: ObjectWords) -> dict[str, Any] | None:
    """Return what a shortcut is and what to change; terms are called as in the editor beside it."""
    found = evaluation.get("shortcut_found")
    if not isinstance(found, dict):
        return None
    names = {f"'{one.term.term}'": f'"{term_words(one.term, words)}"' for one in reversed(subtask.reward)}
    names.setdefault("'others_still'", f'"{t("Other objects stay where they are")}"')
    names.setdefault("'released'", f'"{t("Let go")}"')
    text, advice = (words.in_words(translated(str(found[name]))) for name in ("text", "advice"))
    for name, term in names.items():
        text, advice = text.replace(name, term), advice.replace(name, term)
    can_fix = bool(found.get("edits"))
    return {"text": text, "advice": advice, "time": found["time"], "layout": found["layout"], "can_fix": can_fix}


def episodes_of(folder: SubtaskFolder, steps: int | None) -> list[dict[str, Any]]:
    """Return {layout, success, reward, time, text} of the recorded episodes of a checkpoint, or of the evaluation."""
    path = folder.evaluation_rollouts if steps is None else folder.rollouts(steps)
    return [
        {"layout": one.layout, "success": one.success, "reward": round(one.reward, 2),
         "time": one.failure.time if one.failure else None}
        for one in read_rollouts(path)
    ]  # fmt: skip


def folder_of(project: Path, subtasks: Sequence[Subtask], name: str) -> SubtaskFolder | None:
    """Return the folder of a subtask, or of the whole task; None for an unknown name."""
    if name == WHOLE:
        return SubtaskFolder(project / FOLDER / WHOLE)
    for number, one in enumerate(subtasks):
        if one.name == name:
            return subtask_folder(project, number, one)
    return None


def _read(path: Path) -> Any:
    with suppress(StoreError, StudioError):
        return read_json(path)
    return None
