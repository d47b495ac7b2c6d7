"""The results page: the solution's success on every seed, the robots to choose from, and the source of every stage."""

from typing import Any

from pipeline.export import export_formats
from pipeline.project import STAGES, Stage
from pipeline.run import project_robot
from pipeline.simulation.robots import ROBOTS
from pipeline.solving import Solution
from studio.pages.wording import STAGE_TITLES, describe_source
from studio.sessions.session import Session

STATE_LABELS = {"done": "✓ Done", "failed": "✕ Failed", "stale": "↻ Out of date", "todo": "○ Not started"}
STATE_TONES = {"done": "good", "failed": "bad", "stale": "warn", "todo": ""}
STAGE_DECISIONS: dict[Stage, tuple[str, ...]] = {
    "segments": ("mask", "delete_segment", "merge_segments"),
    "descriptions": ("rename", "not_object"),
    "matches": ("choose_asset", "make"),
    "scene": ("move",),
    "task": ("task",),
    "rounds": ("fork",),
    "solution": ("robot",),
}
"""Kinds of decisions that are counted for each stage."""


def results_record(session: Session | None) -> dict[str, Any]:
    """Return Results's value."""
    if session is None:
        return {}
    project = session.project
    solution = session.cache.get("solution", "solution.json", project.solution)
    record: dict[str, Any] = {
        "stages": [_stage_record(session, stage) for stage in STAGES],
        "exports": _exports(session, solution is not None) if project.scene() else [],
        "robots": _robots(session),
        "busy": bool(session.runner.current),
        "ready": bool(project.rounds()),
    }
    if solution is None:
        waiting = project.error("solution") or "Generate a task first; the oracle then tries it on every seed."
        return record | {"waiting": waiting}
    return record | _solution_record(session, solution)


def _solution_record(session: Session, solution: Solution) -> dict[str, Any]:
    failed = solution.failed
    failure = failed and {
        "seed": failed.seed,
        "instant": solution.failure_time,
        "video": _video(session, "failure.mp4"),
    }
    rows = zip(solution.seeds, solution.reward, solution.success, solution.crashes, solution.reasons, strict=True)
    return {
        "solved": solution.solved,
        "sentence": _summary(solution),
        "seeds": [
            {"seed": seed, "reward": float(reward), "success": success, "crash": crash, "why": why}
            for seed, reward, success, crash, why in rows
        ],
        "failure": failure,
        "video": _video(session, "solution.mp4"),
    }


def _summary(solution: Solution) -> str:
    titles = [kind.title for kind in ROBOTS.values() if kind.source == solution.source]
    robot = titles[0] if titles else "Robot"
    crashed = sum(bool(crash) for crash in solution.crashes)
    crashes = f"; {crashed} crashed and count as failed" if crashed else ""
    return (
        f"{robot}: solved {sum(solution.success)} of {len(solution.success)} seeds, with a reward above 0.99 "
        f"({solution.strict_rate:.0%}){crashes}. A task counts as solved from half of the seeds on."
    )


def _exports(session: Session, has_solution: bool) -> list[dict[str, str]]:
    """Return {name, title, holds, lacks, missing, address} of each export format, the zip first."""
    return [
        {
            "name": name, "title": about.title, "holds": about.holds, "lacks": about.lacks,
            "missing": about.missing or ("solve the task first" if about.needs_solution and not has_solution else ""),
            "address": f"/project/{session.token}/export/{name}",
        }
        for name, about in export_formats().items()
    ]  # fmt: skip


def _video(session: Session, name: str) -> str | None:
    """Return the address of a video of the project, or None if there is none."""
    stamp = session.cache.stamp(name)
    return f"/project/{session.token}/{name}?{stamp}" if stamp != "0" else None


def _robots(session: Session) -> list[dict[str, Any]]:
    """Return {name, title, note, chosen} of each robot."""
    project = session.project
    made_with = project.made_with("solution")
    used = None if made_with is None else made_with.partition(", ")[2] or "gripper"
    chosen = project_robot(project, session.services) if project.active_decisions("robot") or used is None else used
    return [{"name": k.name, "title": k.title, "note": k.note, "chosen": k.name == chosen} for k in ROBOTS.values()]


def _stage_record(session: Session, stage: Stage) -> dict[str, str]:
    """Return the state of a stage, and who or what made its result."""
    project, state = session.project, session.project.stages()[stage]
    kinds = STAGE_DECISIONS.get(stage, ())
    count = len(project.active_decisions(*kinds)) if kinds else 0
    decided = f"{count} manual {'edit' if count == 1 else 'edits'}" if count else ""
    return {
        "stage": STAGE_TITLES[stage],
        "state": STATE_LABELS[state],
        "tone": STATE_TONES[state],
        "source": "" if state == "todo" else describe_source(stage, project.made_with(stage)),
        "note": project.error(stage) if state == "failed" else decided,
    }
