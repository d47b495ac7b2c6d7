"""The six steps on the screen, and the pipeline's stages that belong to each."""

from dataclasses import dataclass

from pipeline.project import Stage
from studio.sessions.session import Session
from studio.texts import t


@dataclass(frozen=True)
class Step:
    name: str
    title: str
    stages: tuple[Stage, ...]


STEPS = (
    Step("frame", "Frame", ("frame",)),
    Step("masks", "Masks", ("segments",)),
    Step("objects", "Objects", ("descriptions", "matches")),
    Step("scene", "Scene", ("scene",)),
    Step("task", "Task and simulation", ("task", "rounds")),
    Step("review", "Review and export", ("solution",)),
)

STATE_LABELS = {
    "todo": "○ Not started",
    "running": "◐ Running",
    "done": "✓ Done",
    "attention": "! Needs attention",
    "stale": "↻ Out of date",
}
"""A glyph and a word each, so that no state is shown by colour alone."""


def step_state(step: Step, session: Session | None) -> str:
    """Return one of the keys of STATE_LABELS."""
    if session is None:
        return "todo"
    stages = session.project.stages()
    states = [stages[stage] for stage in step.stages]
    work = session.runner.current
    if work and work.last and work.last.stage in step.stages:
        return "running"
    if "failed" in states or _needs_attention(step, session):
        return "attention"
    if "stale" in states:
        return "stale"
    return "done" if set(states) == {"done"} else "todo"


def _needs_attention(step: Step, session: Session) -> bool:
    if step.name == "task":
        rounds = session.cache.get("rounds", "rounds.jsonl", session.project.rounds)
        return bool(rounds) and not rounds[-1].report.clean
    if step.name == "review":
        solution = session.cache.get("solution", "solution.json", session.project.solution)
        return solution is not None and (not solution.solved or bool(session.project.doubts(solution)))
    return step.name == "scene" and bool(session.project.doubts())


def tab_label(step: Step, session: Session | None) -> str:
    """Return the two lines of the step's tab; one for a step without stages."""
    return "\n".join([t(step.title), *([t(STATE_LABELS[step_state(step, session)])] if step.stages else [])])


def furthest_step(session: Session | None) -> str:
    """Return the name of the last step that has results, at which a project is opened."""
    stages = session.project.stages() if session else {}
    with_results = (step for step in STEPS if step.stages)
    reached = [step.name for step in with_results if all(stages.get(one, "todo") != "todo" for one in step.stages)]
    return reached[-1] if reached else STEPS[0].name
