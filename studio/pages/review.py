"""Step 6: see it done, how often it works, where every step came from, and take it along."""

from typing import Any

from components.steps import Results
from components.viewer import Viewer, view
from pipeline.project import STAGES
from pipeline.run import robot_of
from pipeline.solving import SOURCES
from studio.pages.scene import names
from studio.session import Session
from studio.shell import Shell
from studio.watching import Watching
from studio.wording import STAGES as STAGE_WORDS
from studio.wording import maker

TONES = {"done": "good", "failed": "bad", "stale": "warn", "todo": ""}
ROBOTS = (
    ("gripper", "Floating gripper", "quick: seconds"),
    ("arm", "UR5e arm, 2F-85", "by friction, within reach: about a minute"),
)
SAYS = {"done": "✓ done", "failed": "✕ failed", "stale": "↻ out of date", "todo": "○ to do"}


def build(shell: Shell, watching: Watching) -> None:
    viewer = Viewer(height=400, elem_id="replay")
    results = Results()
    shell.shows(viewer, lambda session: view(watching.solution(session), **names(session)) if session else view(None))
    shell.shows(results, shown)
    shell.told(results.solve, lambda session, told: session.solve(str(told["robot"])))


def shown(session: Session | None) -> dict[str, Any]:
    if session is None:
        return {}
    project = session.project
    solution = session.kept("solution", "solution.json", project.solution)
    place = f"/project/{session.token}"
    found: dict[str, Any] = {"stages": stages(session), "zip": f"{place}/export.zip" if project.scene() else None}
    found |= {"robots": robots(session), "busy": bool(session.work), "ready": bool(project.rounds())}
    if solution is None:
        return found | {
            "waiting": project.error("solution") or "Generate a task first; the oracle then tries it on every seed."
        }
    good, all_ = sum(solution.success), len(solution.success)
    crashed = sum(bool(crash) for crash in solution.crashes)
    failed, failure = solution.failed, session.stamp("failure.mp4")
    video = session.stamp("solution.mp4")
    return found | {
        "solved": solution.solved,
        "sentence": f"{doer(solution.source)} reached a reward above 0.99 for {good} of {all_} seeds "
        f"({solution.strict_rate:.0%}{f', {crashed} crashed and count as failed' if crashed else ''}); "
        "solved means at least half.",
        "seeds": [
            {"seed": seed, "reward": float(reward), "success": success, "crash": crash, "why": why}
            for seed, reward, success, crash, why in zip(
                solution.seeds, solution.reward, solution.success, solution.crashes, solution.why, strict=True
            )
        ],
        "failure": failed
        and {
            "seed": failed.seed,
            "instant": solution.instant,
            "video": f"{place}/failure.mp4?{failure}" if failure != "0" else None,
        },
        "video": f"{place}/solution.mp4?{video}" if video != "0" else None,
    }


def robots(session: Session) -> list[dict[str, Any]]:
    """Who may do the task, and who is chosen."""
    project = session.project
    did = {"oracle": "gripper", "oracle, arm": "arm"}.get(project.made_with("solution") or "")
    chosen = robot_of(project, session.services) if project.decided("robot") or did is None else did
    return [{"name": name, "title": title, "note": note, "chosen": name == chosen} for name, title, note in ROBOTS]


def doer(source: str) -> str:
    """Who acted, at the beginning of a sentence."""
    return "The arm" if source == SOURCES["arm"] else "The oracle's floating gripper"


def stages(session: Session) -> list[dict[str, str]]:
    """Every stage with its state, and who or what made its result."""
    project, states = session.project, session.project.stages()
    human = {
        "segments": "mask delete_segment merge_segments",
        "descriptions": "rename not_object",
        "matches": "choose_asset make",
        "scene": "move",
        "task": "task",
        "rounds": "fork",
        "solution": "robot",
    }
    rows = []
    for stage in STAGES:
        decided = len(project.decided(*human.get(stage, "").split()))
        times = "once" if decided == 1 else f"{decided} times"
        note = project.error(stage) if states[stage] == "failed" else f"a person decided {times}" if decided else ""
        rows.append(
            {
                "stage": STAGE_WORDS[stage],
                "state": SAYS[states[stage]],
                "tone": TONES[states[stage]],
                "source": "" if states[stage] == "todo" else maker(stage, project.made_with(stage)),
                "note": note,
            }
        )
    return rows
