"""The results page: the solution's success on every seed, the robots to choose from, and the source of every stage."""

import time
from typing import Any

from pipeline.decisions import UNNAMED
from pipeline.export import export_formats
from pipeline.object_words import object_words, segment_words
from pipeline.project import STAGES, Stage
from pipeline.run import project_robot
from pipeline.scene.mjcf.recorded_models import is_earlier_twin
from pipeline.simulation.robots import ROBOTS
from pipeline.solving import Solution
from studio.records.evidence_record import translated_doubts
from studio.sessions.session import Session
from studio.sessions.wording import STAGE_TITLES, describe_decision, describe_source
from studio.texts import t, translated

STATE_LABELS = {"done": "✓ Done", "failed": "✕ Failed", "stale": "↻ Out of date", "todo": "○ Not started"}
STATE_TONES = {"done": "good", "failed": "bad", "stale": "warn", "todo": ""}
SHOWN_DECISIONS = 200
STAGE_DECISIONS: dict[Stage, tuple[str, ...]] = {
    "segments": ("mask", "delete_segment", "merge_segments"),
    "descriptions": ("rename", "display_name", "not_object"),
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
        "token": session.token,
        "decisions": _decision_records(session),
    }
    if solution is None:
        waiting = translated(object_words(project).in_words(project.error("solution"))) or t(
            "Generate a task first; the oracle then tries it on every seed."
        )
        return record | {"waiting": waiting}
    return record | _solution_record(session, solution)


def _solution_record(session: Session, solution: Solution) -> dict[str, Any]:
    failed = solution.failed
    failure = failed and {
        "seed": failed.seed,
        "instant": solution.failure_time,
        "video": _video(session, "failure.mp4"),
    }
    words = object_words(session.project)
    doubts = ["; ".join(filter(None, doubt)) for doubt in translated_doubts(session)]
    if why := translated(words.in_words(solution.failed_check)):
        doubts.append(t("the program did not pass its checks: {why}", why=why))
    rows = zip(solution.seeds, solution.reward, solution.success, solution.crashes, solution.reasons, strict=True)
    return {
        "solved": solution.solved,
        "earlier": t("Recorded in an earlier twin; solve again for the present one.")
        if is_earlier_twin(solution.twin, session.project.folder)
        else "",
        "doubts": doubts,
        "sentence": _summary(solution),
        "seeds": [
            {
                "seed": seed,
                "reward": float(reward),
                "success": success,
                "crash": crash,
                "why": translated(words.in_words(why)),
            }
            for seed, reward, success, crash, why in rows
        ],
        "failure": failure,
        "video": _video(session, "solution.mp4"),
    }


def _summary(solution: Solution) -> str:
    titles = [kind.title for kind in ROBOTS.values() if kind.source == solution.source]
    robot = titles[0] if titles else t("Robot")
    crashed = sum(bool(crash) for crash in solution.crashes)
    crashes = t("; {crashed} crashed and count as failed", crashed=crashed) if crashed else ""
    return t(
        "{robot}: {solved} of {seeds} seeds solved, {strict} with a reward above 0.99{crashes}. "
        "A task counts as solved if half of its seeds are.",
        robot=t(robot),
        solved=sum(solution.success),
        seeds=len(solution.success),
        strict=f"{solution.strict_rate:.0%}",
        crashes=crashes,
    )


def _exports(session: Session, has_solution: bool) -> list[dict[str, str]]:
    """Return {name, title, holds, lacks, missing, address} of each export format, the zip first."""
    return [
        {
            "name": name,
            "title": t(about.title),
            "missing": _missing(about, has_solution),
            "holds": translated(about.holds),
            "lacks": translated(about.lacks),
            "address": f"project/{session.token}/export/{name}",
        }
        for name, about in export_formats().items()
    ]


def _missing(about: Any, has_solution: bool) -> str:
    """Return why a format cannot be exported; empty if it can."""
    if about.missing:
        return translated(about.missing)
    return t("solve the task first") if about.needs_solution and not has_solution else ""


def _video(session: Session, name: str) -> str | None:
    """Return the address of a video of the project, or None if there is none."""
    stamp = session.cache.stamp(name)
    return f"project/{session.token}/{name}?{stamp}" if stamp != "0" else None


def _robots(session: Session) -> list[dict[str, Any]]:
    """Return {name, title, note, chosen} of each robot."""
    project = session.project
    made_with = project.made_with("solution")
    used = None if made_with is None else made_with.partition(", ")[2] or "gripper"
    chosen = project_robot(project, session.services) if project.active_decisions("robot") or used is None else used
    return [
        {"name": k.name, "title": t(k.title), "note": t(k.note), "chosen": k.name == chosen} for k in ROBOTS.values()
    ]


def _decision_records(session: Session) -> list[dict[str, str]]:
    """Return {at, by, text} of the newest decisions, the newest first, undone ones and undos included."""
    named, names = object_words(session.project).with_names_for_ids, segment_words(session.project)
    return [
        {
            "at": time.strftime("%Y-%m-%d %H:%M", time.localtime(decision.at)),
            "by": t("not logged in") if decision.by == UNNAMED else decision.by,
            "text": translated(named(describe_decision(decision, names))),
        }
        for decision in reversed(session.project.decisions[-SHOWN_DECISIONS:])
    ]


def _stage_record(session: Session, stage: Stage) -> dict[str, str]:
    """Return the state of a stage, and who or what made its result."""
    project, state = session.project, session.project.stages()[stage]
    kinds = STAGE_DECISIONS.get(stage, ())
    count = len(project.active_decisions(*kinds)) if kinds else 0
    people = sorted({d.by for d in project.active_decisions(*kinds)} - {UNNAMED}) if kinds else []
    decided = [t("{n} decision|{n} decisions", n=count), *people] if count else []
    recoloured = _recoloured(session) if stage == "scene" and state != "todo" else ""
    note = " · ".join([*decided, *([recoloured] if recoloured else [])])
    solution = session.cache.get("solution", "solution.json", project.solution) if stage == "solution" else None
    is_unsolved = state == "done" and solution is not None and not solution.solved
    return {
        "stage": t(STAGE_TITLES[stage]),
        "state": t("✕ Not solved") if is_unsolved else t(STATE_LABELS[state]),
        "tone": "bad" if is_unsolved else STATE_TONES[state],
        "source": "" if state == "todo" else translated(describe_source(stage, project.made_with(stage))),
        "note": translated(object_words(project).in_words(project.error(stage))) if state == "failed" else note,
    }


def _recoloured(session: Session) -> str:
    """Return which objects of the twin are assets in the photograph's colour or print; "" if none are."""
    scene = session.cache.get("scene", "scene.json", session.project.scene)
    words = object_words(session.project)
    placements = [p for p in scene.placements if p.asset_id is not None] if scene else []
    tinted = ", ".join(words.of(p.name) for p in placements if p.recolour and not p.printed)
    printed = ", ".join(words.of(p.name) for p in placements if p.printed)
    notes = [
        t("Recoloured to the photograph: {names}", names=tinted) if tinted else "",
        t("With the photograph's print: {names}", names=printed) if printed else "",
    ]
    return " · ".join(filter(None, notes))
