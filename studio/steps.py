"""The six steps a person sees, and which of the pipeline's stages each stands for."""

from dataclasses import dataclass

from pipeline.project import Stage
from studio.session import Session


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

WORDS = {
    "todo": "○ to do",
    "running": "◐ running",
    "done": "✓ done",
    "attention": "! look here",
    "stale": "↻ out of date",
}
"""A glyph and a word each: no state is told by colour alone."""


def state(step: Step, session: Session | None) -> str:
    """One of the keys of WORDS."""
    if session is None:
        return "todo"
    stages = session.project.stages()
    states = [stages[stage] for stage in step.stages]
    if session.work and session.work.last and session.work.last.stage in step.stages:
        return "running"
    if "failed" in states or _worth_a_look(step, session):
        return "attention"
    if "stale" in states:
        return "stale"
    return "done" if set(states) == {"done"} else "todo"


def _worth_a_look(step: Step, session: Session) -> bool:
    if step.name == "task":
        rounds = session.kept("rounds", "rounds.jsonl", session.project.rounds)
        return bool(rounds) and rounds[-1].route in ("give_up", "ask")
    if step.name == "review":
        solution = session.kept("solution", "solution.json", session.project.solution)
        return solution is not None and not solution.solved
    return False


def label(step: Step, session: Session | None) -> str:
    """The tab's two lines."""
    return f"{step.title}\n{WORDS[state(step, session)]}"


def furthest(session: Session | None) -> str:
    """Name of the step to open a project at: the last one that was reached."""
    done = [step.name for step in STEPS if session and state(step, session) in ("done", "attention", "stale")]
    return done[-1] if done else STEPS[0].name
