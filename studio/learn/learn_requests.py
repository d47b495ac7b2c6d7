"""Requests of the Learn page: its record, edits of rewards, training, and playback of policies."""

import threading
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import mujoco

from pipeline.learning.edits import edited
from pipeline.learning.judging.rollouts import smooth
from pipeline.learning.layouts import Layouts
from pipeline.learning.learning_files import FOLDER, SubtaskFolder, note_former, subtask_folder
from pipeline.learning.subtask import PLAN, LearningError, Subtask, read_subtasks, require_usable, write_subtasks
from pipeline.learning.terms import term_from_json
from pipeline.learning.variants import MAX_VARIANTS
from pipeline.object_words import object_words
from pipeline.simulation.recipe import from_json
from pipeline.store import read_json
from studio.accounts.roles import Role
from studio.learn import playback
from studio.learn.learn_record import episodes_of, folder_of, learn_record
from studio.learn.reward_words import goal_words, subtask_title, term_words
from studio.learn.trainings import TrainingKind, Trainings
from studio.sessions import project_learner
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry, session_context
from studio.texts import t
from studio.viewer import Trajectory, ViewerError, ViewRegistry
from studio.web.endpoints import Endpoint
from studio.web.errors import RequestError, error_message

MOST_STEPS, STEPS = 400_000, 80_000
"""Control steps of a subtask: at most, and where a page names none."""


class Learning:
    """What the Learn page needs of every open project. May be used from any thread."""

    def __init__(self, views: ViewRegistry):
        self.trainings, self.oracle = Trainings(), playback.OraclePlayback()
        self._views = views
        self._layouts: WeakKeyDictionary[Session, tuple[str, Layouts | None, str]] = WeakKeyDictionary()
        """By session: the stamp of the task, its layouts, or why there are none."""
        self._shown: WeakKeyDictionary[Session, str] = WeakKeyDictionary()
        """Token of the view of each session."""
        self._lock = threading.Lock()

    def layouts(self, session: Session, may_prepare: bool) -> tuple[Layouts | None, str, bool]:
        """Return the layouts of a session's task, why there are none, and whether they are being made."""
        stamp = f"{session.cache.stamp('task.json')} {session.cache.stamp('rounds.jsonl')}"
        known = self._layouts.get(session)
        if known and known[0] == stamp:
            return known[1], known[2], False
        if may_prepare:
            session.tasks.start_once("learning", lambda: self._prepare(session, stamp), lambda _: None)
        return None, "", True

    def known_stamp(self, session: Session) -> str:
        """Return the stamp of the task whose layouts are known; empty if none are."""
        known = self._layouts.get(session)
        return known[0] if known else ""

    def _prepare(self, session: Session, stamp: str) -> None:
        """Have the task's program draw its layouts, and split the task into subtasks if it is not yet."""
        try:
            project_learner.task_of(session.project)
            layouts = project_learner.task_layouts(session.project, session.allowed_services)
            project_learner.project_subtasks(session.project, session.allowed_services, layouts, session.log.add)
        except Exception as error:
            self._layouts[session] = stamp, None, error_message(error)
        else:
            self._layouts[session] = stamp, layouts, ""

    def show(
        self, session: Session, model: mujoco.MjModel, motion: Trajectory, start: float, focus: Sequence[str]
    ) -> str:
        """Open a view of a motion, around these objects, in place of the session's former one; return its token."""
        token = self._views.open(model, trajectory=motion, focus=focus)
        view = self._views.get(token)
        view.enqueue({"op": "seek", "time": start})
        view.enqueue({"op": "play"})
        with self._lock:
            former, self._shown[session] = self._shown.get(session), token
        if former:
            self._views.close(former)
        return token


def endpoint(sessions: SessionRegistry, learning: Learning) -> Endpoint:
    """Return the endpoint of LearnPage."""
    return Endpoint(HANDLERS, session_context(sessions, learning), roles=READING)


def _status(session: Session, learning: Learning, request: dict) -> dict:
    project = session.project
    if project.task() is None:
        return learn_record(session, None, None) | {"preparing": False, "fault": t("Choose a task first.")}
    layouts, fault, preparing = learning.layouts(session, project.is_writer)
    job = learning.trainings.of(project.folder)
    try:
        return learn_record(session, layouts, job) | {"preparing": preparing, "fault": fault}
    except LearningError as error:
        return {"subtasks": [], "preparing": False, "fault": error_message(error), "job": None, "install": ""}


def _subtasks(session: Session) -> tuple[Subtask, ...]:
    found = read_subtasks(session.project.folder / FOLDER / "subtasks.json")
    if not found:
        raise RequestError("The task is not split into subtasks yet; wait a moment.")
    return found


def _train(session: Session, learning: Learning, request: dict) -> dict:
    """Learn {subtask, steps, demonstrations, skills, variants, from_reset}; without a subtask all not learned yet."""
    steps = _number(request.get("steps"), STEPS, 1024, MOST_STEPS)
    name, demonstrations = str(request.get("subtask") or ""), _number(request.get("demonstrations"), 0, 0, 200)
    options = ["--steps", str(steps)]
    if name:
        if folder_of(session.project.folder, _subtasks(session), name) is None:
            raise RequestError("There is no such subtask any more; choose another.")
        options += ["--subtask", name]
    if demonstrations and request.get("skills"):
        raise RequestError("A policy begins with skills or with demonstrations; choose one of them.")
    options += ["--skills"] if request.get("skills") else ["--demonstrations", str(demonstrations)]
    options += _variants(request)
    if request.get("from_reset"):
        options += ["--from", "reset"]
    return _start(session, learning, "train", options, name, steps, request)


def _evaluate(session: Session, learning: Learning, request: dict) -> dict:
    layouts = _number(request.get("layouts"), 30, 1, 200)
    options = ["--evaluate", "--layouts", str(layouts), *_variants(request)]
    return _start(session, learning, "evaluate", options, "", 0, request)


def _variants(request: dict) -> list[str]:
    """Return the option for the variants of the twin that a page asks for."""
    count = _number(request.get("variants"), 0, 0, MAX_VARIANTS)
    return ["--variants", str(count)] if count else []


def _ablation(session: Session, learning: Learning, request: dict) -> dict:
    steps = _number(request.get("steps"), STEPS, 1024, MOST_STEPS)
    return _start(session, learning, "ablation", ["--ablation", "--steps", str(steps)], "", 0, request)


def _start(
    session: Session, learning: Learning, kind: TrainingKind, options: list[str], name: str, steps: int, request: dict
) -> dict:
    workspace = session.services.workspace
    learning.trainings.start(session.project.folder, kind, options, name, steps, workspace)
    return _status(session, learning, request)


def _edit(session: Session, learning: Learning, request: dict) -> dict:
    """Edit a subtask by one decision; see `pipeline.learning.edits.edited`."""
    name, layouts = str(request.get("subtask")), learning.layouts(session, False)[0]
    subtasks = _subtasks(session)
    now = edited(subtasks, name, request)
    if layouts:
        require_usable(now, layouts.base.objects, list(layouts.base.zones))
    return _record(session, learning, subtasks, now, _in_words(session, subtasks, name, request))


def _record(
    session: Session, learning: Learning, former: tuple[Subtask, ...], now: tuple[Subtask, ...], change: str
) -> dict:
    """Record an edit of subtasks as a decision; return the status after it."""
    task = project_learner.task_of(session.project)
    note_former(session.project.folder, former)
    session.decisions.record(project_learner.EDITS, **project_learner.edit_data(task, former, now, change))
    write_subtasks(session.project.folder / FOLDER / "subtasks.json", now)
    return _status(session, learning, {})


def _reflect(session: Session, learning: Learning, request: dict) -> dict:
    """Ask the model in use for a better reward of {subtask}, which was trained."""
    name, layouts = str(request.get("subtask")), learning.layouts(session, False)[0]
    subtask, folder = _chosen(session, name)
    if layouts is None:
        raise RequestError("The layouts of this task are not known yet; wait a moment, then try again.")
    project, services = session.project, session.allowed_services
    learning.trainings.ask(
        project.folder,
        name,
        lambda calls: project_learner.propose_reward(project, services, layouts, subtask, folder, calls),
    )
    return _status(session, learning, request)


def _take(session: Session, learning: Learning, request: dict) -> dict:
    """Give {subtask} the reward that was proposed for it, as an edit that can be undone."""
    name = str(request.get("subtask"))
    subtasks, (_, folder) = _subtasks(session), _chosen(session, name)
    now = project_learner.with_proposal(subtasks, name, folder)
    model = next(one for one in now if one.name == name).source
    title = subtask_title(name, object_words(session.project))
    return _record(session, learning, subtasks, now, f"{title}: {t('reward by {model}', model=model)}")


def _chosen(session: Session, name: str) -> tuple[Subtask, SubtaskFolder]:
    """Return the subtask of a name with its folder. Raises RequestError."""
    for number, one in enumerate(_subtasks(session)):
        if one.name == name:
            return one, subtask_folder(session.project.folder, number, one)
    raise RequestError("There is no such subtask any more; choose another.")


def _fix(session: Session, learning: Learning, request: dict) -> dict:
    """Make the change that the shortcut of {subtask} asks for, as an edit that can be undone."""
    name = str(request.get("subtask"))
    folder = folder_of(session.project.folder, _subtasks(session), name)
    found = (read_json(folder.evaluation) or {}).get("shortcut_found") if folder else None
    edits = found.get("edits") if isinstance(found, dict) else None
    if not isinstance(edits, list) or not edits:
        raise RequestError("There is no shortcut to be ended any more; evaluate the policies again.")
    answer: dict = {}
    for edit in edits:
        answer = _edit(session, learning, {**edit, "subtask": name})
    return answer


def _in_words(session: Session, subtasks: tuple[Subtask, ...], name: str, request: dict) -> str:
    """Return what an edit changes, for the log and the titles of Undo and Redo."""
    words = object_words(session.project)
    subtask = next(one for one in subtasks if one.name == name)
    title, index = subtask_title(name, words), request.get("index")
    match request.get("change"):
        case "weight":
            return f"{title}: weight of {term_words(subtask.reward[int(index or 0)].term, words)}"
        case "remove_term":
            return f"{title}: without {term_words(subtask.reward[int(index or 0)].term, words)}"
        case "add_term":
            row = request["row"]
            return f"{title}: with {term_words(term_from_json(row['term'], row['args']), words)}"
        case "way":
            return f"{title}: {t('planned') if request.get('way') == PLAN else t('learned')}"
        case "code":
            return f"{title}: {t('reward as code')}"
        case "remove_goal":
            return f"{title}: without {goal_words(subtask.success[int(index or 0)], words)}"
    return f"{title}: with {goal_words(from_json(request['row']), words)}"


def _episodes(session: Session, learning: Learning, request: dict) -> dict:
    """Return the recorded episodes of {subtask, steps}; steps null for those of the evaluation."""
    folder = folder_of(session.project.folder, _subtasks(session), str(request.get("subtask")))
    steps = request.get("steps")
    return {"episodes": episodes_of(folder, None if steps is None else int(steps)) if folder else []}


def _play(session: Session, learning: Learning, request: dict) -> dict:
    """Open a view of the episode {subtask, steps, layout} at {time}; return it with its terms over time.

    With {oracle}, of the oracle in the same subtask on the same layout.
    """
    subtasks, name = _subtasks(session), str(request.get("subtask"))
    found = playback.recorded(session.project, subtasks, name, request.get("steps"), request.get("layout"))
    if request.get("oracle"):
        layouts = learning.layouts(session, False)[0]
        if layouts is None:
            raise RequestError("The layouts of this task are not known yet; wait a moment, then try again.")
        found = learning.oracle.rollout(layouts, subtasks, name, found.layout)
    motion = Trajectory(*smooth(found.times, found.qpos))
    subtask = next((one for one in subtasks if one.name == name), None)
    objects = [name for one in ([subtask] if subtask else subtasks) for name in one.objects]
    try:
        model = playback.world_model(session.project)
        if found.qpos.shape[1] != model.nq:
            raise ViewerError("it was recorded with another task")
        token = learning.show(session, model, motion, float(request.get("time") or 0), objects)
    except (ValueError, ViewerError) as error:
        raise RequestError(f"This episode cannot be shown ({error}); learn the subtask again.") from None
    measured = playback.measured(found, subtask, object_words(session.project))
    return {"view": token, "is_oracle": bool(request.get("oracle")), **measured}


def _number(value: Any, default: int, low: int, high: int) -> int:
    if value in (None, ""):
        return default
    try:
        return min(max(int(value), low), high)
    except (TypeError, ValueError):
        raise RequestError("That is not a whole number.") from None


HANDLERS = {
    "status": _status, "train": _train, "evaluate": _evaluate, "ablation": _ablation, "edit": _edit,
    "fix": _fix, "reflect": _reflect, "take": _take, "episodes": _episodes, "play": _play,
}  # fmt: skip
READING: dict[str, Role] = dict.fromkeys(("status", "episodes", "play"), Role.LOOK)
"""Requests that change nothing; the others need Role.WORK."""
