"""What asking a model about a project usually costs, in a sentence."""

from collections.abc import Iterable
from typing import Any

from pipeline.matching import MatcherName
from pipeline.matching.model import QUESTION_KINDS
from pipeline.models.budget import Estimate, estimate_questions, estimate_step
from pipeline.models.settings import ModelSettings
from pipeline.run import project_matcher
from studio.sessions.session import Session
from studio.texts import t, translated

AUTOMATIC_STAGES = ("descriptions", "matches", "task")
"""Stages that run as soon as a project is opened."""


def automatic_estimate(settings: ModelSettings, objects: int, matcher: MatcherName = "all") -> str:
    """Return what the questions cost that are asked as soon as a project of so many objects is opened."""
    return _automatic(settings, objects, matcher).sentence


def _automatic(settings: ModelSettings, objects: int, matcher: MatcherName = "all") -> Estimate:
    steps = {stage: estimate_step(settings, stage, objects) for stage in AUTOMATIC_STAGES}
    if matcher == "embedding":
        del steps["matches"]
    elif matcher in QUESTION_KINDS:
        steps["matches"] = estimate_questions(settings, {QUESTION_KINDS[matcher]: objects})
    return add_estimates(list(steps.values()))


def renewal_choices(session: Session, open_projects: Iterable[Session], settings: ModelSettings) -> list[dict]:
    """Return {scope, title, cost} of what a chosen model may be asked about at once: this project, and all unsolved.

    `scope` is "project" or "all"; the latter is left out where it is the same. Solved projects are never among "all".
    """
    unsolved = renewed_projects(session, open_projects, "all")
    choices = [{"scope": "project", "title": _title(session), "cost": _cost([session], settings)}]
    if unsolved and unsolved != [session]:
        title = t("The {n} open project not solved yet|All {n} open projects not solved yet", n=len(unsolved))
        choices.append({"scope": "all", "title": title, "cost": _cost(unsolved, settings)})
    return choices


def renewed_projects(session: Session | None, open_projects: Iterable[Session], scope: Any) -> list[Session]:
    """Return the projects that a scope of `renewal_choices` means; none for another scope."""
    if scope == "all":
        return [one for one in open_projects if one.project.stages()["solution"] != "done"]
    return [session] if session and scope == "project" else []


def _title(session: Session) -> str:
    is_done = session.project.stages()["solution"] == "done"
    solution = session.cache.get("solution", "solution.json", session.project.solution) if is_done else None
    is_solved = is_done and (solution is None or (solution.solved and not session.project.doubts(solution)))
    return t("This project, which is solved") if is_solved else t("This project")


def _cost(sessions: Iterable[Session], settings: ModelSettings) -> str:
    """Return the number of calls and their cost; empty where nothing is called."""
    found = []
    for session in sessions:
        segments = session.cache.get("segments", "segments/masks.png", session.project.segments) or ()
        found.append(_automatic(settings, len(segments), project_matcher(session.project, session.services)))
    total = add_estimates(found)
    calls = t("about {n} call|about {n} calls", n=total.calls)
    return f"{calls}, {translated(total.sentence).rpartition(', ')[2]}" if total.calls else ""


def add_estimates(steps: list[Estimate]) -> Estimate:
    """Return the sum of estimates about the same objects; its cost is None if one of theirs is."""
    usd = None if any(step.usd is None for step in steps) else sum(step.usd or 0.0 for step in steps)
    prompt, completion = sum(step.prompt_tokens for step in steps), sum(step.completion_tokens for step in steps)
    return Estimate(steps[0].items, sum(step.calls for step in steps), prompt, completion, usd)


def generation_estimate(settings: ModelSettings | None, objects: int) -> str:
    """Return what writing and repairing a program usually costs; "" for a model that is free."""
    if settings is None or not settings.paid:
        return ""
    estimate = estimate_step(settings, "rounds", objects)
    cost = "." if estimate.usd is None else f", {estimate.sentence.rpartition(', ')[2]}."
    return t("Generating takes about {calls} calls{cost}", calls=estimate.calls, cost=cost)
