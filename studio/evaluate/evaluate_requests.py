"""Requests of the Evaluate page: start an evaluation, follow it, stop it, play the episodes of a condition, and make
a project of it."""

import threading
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from weakref import WeakKeyDictionary

from fastapi import Response
from fastapi.responses import FileResponse

from pipeline.closed_loop.evaluation_files import REPORT, KeptConditions, episode_path, read_conditions, read_outcomes
from pipeline.closed_loop.failure import CLASSES
from pipeline.closed_loop.policies import KINDS, PROTOCOLS, function_of, is_own
from pipeline.closed_loop.real_log import add_log, log_path, missing_objects, read_logs, remove_log, twin_positions
from pipeline.divergence import Episode, compare, read_episode
from pipeline.divergence.confined.confined_episode import read_confined_episode
from pipeline.divergence.episode_files import episode_in
from pipeline.divergence.events import find_events
from pipeline.divergence.report import drawn_result
from pipeline.export.rollouts import robot_of
from pipeline.project import Project
from pipeline.project.curation import read_curation, save_curation
from pipeline.variation import VariationStudy
from pipeline.variation.variation_files import read_rollout
from studio.accounts.roles import Role, require
from studio.evaluate.evaluation_record import FOLDER, evaluation_record, present_folder, shown_folder
from studio.sessions.project_folders import delete_project, duplicate_project
from studio.sessions.project_jobs import CommandJob, ProjectJobs
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry, session_context
from studio.texts import t, translated
from studio.viewer import Mark, Trajectory, ViewRegistry
from studio.web.endpoints import Endpoint
from studio.web.errors import RequestError
from studio.web.jobs import Listing
from studio.web.upload_folder import collect_uploads

MOST_CONDITIONS, MOST_POLICIES, MAX_SEED = 1000, 6, 10**9


class Evaluations:
    """The jobs of all projects, and the views of their pages. May be used from any thread."""

    def __init__(self, views: ViewRegistry, sessions: SessionRegistry):
        self.jobs, self.sessions = ProjectJobs[CommandJob](), sessions
        self.made: set[Path] = set()
        """Folders of the projects that were made of conditions."""
        self._views, self._lock = views, threading.Lock()
        self._shown: WeakKeyDictionary[Session, list[str]] = WeakKeyDictionary()
        """Tokens of each session's views."""

    def show(self, session: Session, opened: list[dict[str, Any]]) -> list[str]:
        """Open views with these options in place of the session's former ones; the longest one leads the clock."""
        order = sorted(range(len(opened)), key=lambda number: -opened[number]["trajectory"].times[-1])
        tokens = {number: self._views.open(**opened[number]) for number in order}
        views = [self._views.get(tokens[number]) for number in order]
        for view in views[1:]:
            view.follow(views[0])
        for view in views[:1]:
            view.enqueue({"op": "play"})
        with self._lock:
            former, self._shown[session] = self._shown.get(session, []), list(tokens.values())
        for token in former:
            self._views.close(token)
        return [tokens[number] for number in range(len(opened))]


def endpoint(sessions: SessionRegistry, evaluations: Evaluations) -> Endpoint:
    """Return the endpoint of EvaluatePage."""
    return Endpoint(
        HANDLERS,
        session_context(sessions, evaluations),
        roles=READING,
        long_kinds=("play", "differences", "add_log", "make_project"),
    )


def _status(session: Session, evaluations: Evaluations, request: dict) -> dict:
    return evaluation_record(session.project, evaluations.jobs.of(session.project.folder))


def _start(session: Session, evaluations: Evaluations, request: dict) -> dict:
    """Evaluate {policies, count, seed, uncertainty}; what is known of them already is not run again."""
    project, named = session.project, request.get("policies")
    policies = [str(one).strip() for one in named] if isinstance(named, list) else []
    if not 1 <= len(set(policies)) == len(policies) <= MOST_POLICIES:
        raise RequestError(f"Choose one to {MOST_POLICIES} different policies.")
    for policy in policies:
        _require_allowed(policy)
    count, seed = (_number(request.get(name), low, high) for name, low, high in RANGES)
    words = ["evaluate-policy", str(project.folder), "--out", str(present_folder(project))]
    words += ["--count", str(count), "--seed", str(seed), *(f"--policy={policy}" for policy in policies)]
    words += ["--uncertainty"] if request.get("uncertainty") else []
    words += [f"--library={path}" for path in session.services.library.paths]
    words += ["--unprotected"] if session.services.sandbox.unprotected else []
    title = lambda name=project.name: t("Evaluation of policies for {project}", project=name)  # noqa: E731
    listing = Listing("evaluation", title, project.folder)
    evaluations.jobs.begin(project.folder, lambda turn: CommandJob(listing, words, turn))
    return _status(session, evaluations, request)


def _require_allowed(policy: str) -> None:
    """Refuse what is no policy, and code and addresses of people who may not have the studio's machine use them."""
    if is_own(policy):
        return
    if policy.partition("://")[0] not in ("http", "https", *PROTOCOLS) and not function_of(policy):
        raise RequestError(f"{policy[:80]!r} is no policy; choose {KINDS}.")
    require(Role.ADMINISTER)


def _number(value: Any, low: int, high: int) -> int:
    if not isinstance(value, int) or not low <= value <= high:
        raise RequestError(f"Enter a whole number from {low} to {high}.")
    return value


def _play(session: Session, evaluations: Evaluations, request: dict) -> dict:
    """Open the recorded episodes of all policies under {condition} on one clock, and the real log's; return them."""
    id, folder, kept, study = _chosen(session, request)
    outcomes = read_outcomes(folder)
    tried = [policy for policy in kept.policies if (policy, id) in outcomes]
    played = [policy for policy in tried if episode_path(folder, "rollouts", policy, id).is_file()]
    if not played:
        raise RequestError("Nothing of this condition was recorded yet.")
    rollouts = [read_rollout(episode_path(folder, "rollouts", policy, id)) for policy in played]
    *models, other = study.rollout_models(id, [*rollouts, rollouts[0]])
    panes: list[dict[str, Any]] = []
    opened: list[dict[str, Any]] = []
    for policy, rollout, model in zip(played, rollouts, models, strict=True):
        episode, outcome = read_episode(episode_path(folder, "episodes", policy, id)), outcomes[policy, id]
        failure = "" if outcome["success"] else outcome["failure"] or ""
        fault = translated(CLASSES.get(failure) or failure)
        panes.append({"title": policy, "events": _events(episode), "is_real": False, "note": ""})
        opened.append({"model": model, "trajectory": Trajectory(rollout.times, rollout.qpos), "fault": fault})
    if known := read_logs(folder).get(id):
        log = read_episode(log_path(folder, id))
        motion = Trajectory(*twin_positions(log, other, rollouts[0].qpos[0]))
        missing = ", ".join(missing_objects(log, other))
        words = t("The log has no poses of {objects}: drawn where the condition has them.", objects=missing)
        note = " · ".join(filter(None, [words if missing else "", log.note]))
        panes.append({"title": t("Real log"), "events": _events(log), "is_real": True, "note": note})
        opened.append({"model": other, "trajectory": motion, "fault": known.reason if known.success is False else ""})
    objects = [placement.name for placement in study.scene.placements]
    for pane, one in zip(panes, opened, strict=True):
        one |= {"focus": objects, "names": (), "marks": _marks(pane["events"], one.pop("fault"), one["trajectory"])}
    tokens = evaluations.show(session, opened)
    panes = [
        pane | {"name": f"pane-{n}", "token": token} for n, (pane, token) in enumerate(zip(panes, tokens, strict=True))
    ]
    return {"condition": id, "values": dict(study.condition(id).values), "panes": panes}


def _differences(session: Session, evaluations: Evaluations, request: dict) -> dict:
    """Compare two episodes of {condition} on one clock: those of {first, second}, policies, or "" for the real log."""
    _, folder, id = shown_condition(session, request)
    paths = [
        episode_path(folder, "episodes", str(policy), id) if policy else log_path(folder, id)
        for policy in (request.get("first"), request.get("second"))
    ]
    first, second = (read_episode(path) for path in paths)
    return {"result": drawn_result(compare(first, second, None, "none"), first, second)}


def _add_log(session: Session, evaluations: Evaluations, request: dict) -> dict:
    """Keep the log {files: [{path, name}]} of a robot as the real episode of {condition}."""
    id, folder, _, study = _chosen(session, request)
    project = session.project
    chosen, solution = project.best_round(), project.solution()
    if chosen is None or folder != present_folder(project):
        raise RequestError("These episodes are of an earlier twin or task; evaluate again.")
    with TemporaryDirectory(prefix="grs-") as uploaded:
        (at := Path(uploaded) / "log").mkdir()
        collect_uploads(request.get("files"), at)
        log = read_confined_episode(episode_in(at))
    program, robot = project.program_in_current_names(chosen.program), robot_of(solution) if solution else "gripper"
    add_log(log, folder, study, id, program, robot, session.services.sandbox)
    return _status(session, evaluations, request)


def _remove_log(session: Session, evaluations: Evaluations, request: dict) -> dict:
    _, folder, id = shown_condition(session, request)
    remove_log(folder, id)
    return _status(session, evaluations, request)


def shown_condition(session: Session, request: dict) -> tuple[KeptConditions, Path, str]:
    """Return the conditions and the folder of the evaluation that is shown, and the id of {condition} of it."""
    folder = shown_folder(session.project, present_folder(session.project))
    kept, id = read_conditions(folder) if folder else None, str(request.get("condition"))
    if folder is None or kept is None or id not in [row["id"] for row in kept.rows]:
        raise RequestError("That condition is no longer there; reload the page.")
    return kept, folder, id


def _chosen(session: Session, request: dict) -> tuple[str, Path, KeptConditions, VariationStudy]:
    """Return the id of {condition}, the folder and conditions of its evaluation, and the study that draws it.

    Raises RequestError if it is of another twin, task or library than the present ones.
    """
    project, (kept, folder, id) = session.project, shown_condition(session, request)
    task, row = project.task(), next(row for row in kept.rows if row["id"] == id)
    if task is None:
        raise RequestError("That condition is no longer there; reload the page.")
    study = VariationStudy(project.folder, task.objects, session.services.library, 0, 1)
    if dict(study.condition(id).values) != row["values"]:
        raise RequestError("These episodes are of an earlier twin, task or library; evaluate again to watch.")
    return id, folder, kept, study


def _make_project(session: Session, evaluations: Evaluations, request: dict) -> dict:
    """Copy the project without its evaluations and put the copy's twin under {condition}; return where it is."""
    id, _, _, study = _chosen(session, request)
    free, begun = evaluations.sessions.free_folder, time.monotonic()
    folder = duplicate_project(session.project.folder, lambda name: free(f"{name}_{id}"), (FOLDER,))
    with closing(Project.open(folder)) as made:
        made.decide("vary", condition=id, values=dict(study.condition(id).values))
        study.write(id, folder)
        made.finish("scene", made.key("scene"), made.made_with("scene") or "", time.monotonic() - begun)
        title = t("{title}, condition {id}", title=made.name, id=id)
    save_curation(folder, replace(read_curation(folder), title=title[:120]))
    evaluations.made.add(folder)
    return {"name": folder.name, "title": title}


def _unmake_project(session: Session, evaluations: Evaluations, request: dict) -> dict:
    """Move the project {name}, which was made of a condition, to the bin."""
    folder = evaluations.sessions.workspace / str(request.get("name"))
    if folder not in evaluations.made:
        raise RequestError("That can no longer be undone.")
    evaluations.sessions.take_out(folder.name, lambda: delete_project(folder) and None)
    evaluations.made.discard(folder)
    return {}


def _events(episode: Episode) -> list[tuple[float, str]]:
    """Return time and name of what the robot did."""
    found = find_events(episode)
    return [(event.time, event.name) for arm, one in found.items() for event in one.events(arm) if event.time > 0]


def _marks(events: Sequence[tuple[float, str]], fault: str, motion: Trajectory) -> list[Mark]:
    """Return the marks of a timeline: the events, and a failure in words at the end of its episode."""
    failed = [Mark(float(motion.times[-1]), fault, "failed")] if fault else []
    return [*(Mark(time, t(name)) for time, name in events), *failed]


RANGES = (("count", 1, MOST_CONDITIONS), ("seed", 0, MAX_SEED))
"""Name, least and most of the numbers of an evaluation."""
HANDLERS = {
    "status": _status, "start": _start, "play": _play, "differences": _differences,
    "add_log": _add_log, "remove_log": _remove_log, "make_project": _make_project, "unmake_project": _unmake_project,
}  # fmt: skip
READING: dict[str, Role] = dict.fromkeys(("status", "play", "differences"), Role.LOOK)
"""Requests that change nothing; the others need Role.WORK."""


def _report(session: Session, _: str) -> Response:
    folder = shown_folder(session.project, present_folder(session.project))
    if folder is None or not (folder / REPORT).is_file():
        raise RequestError("There is no report yet; let the evaluation end first.")
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return FileResponse(folder / REPORT, filename="report.html", headers=headers)


FILES = {"evaluation.html": _report}
