"""What the viewer shows of a project: the settled twin, the solution, or the replay of a round."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.errors import StudioError
from pipeline.object_words import ObjectWords, object_words
from pipeline.project import Project
from pipeline.project.project_splats import ChosenSplats, chosen_splats
from pipeline.rehearsal import without_gripper
from pipeline.router import Round
from pipeline.run import project_robot
from pipeline.scene import Scene
from pipeline.scene.fidelity import depth_difference
from pipeline.scene.mjcf.background import filled_share, load_model
from pipeline.scene.mjcf.recorded_models import is_earlier_twin
from pipeline.simulation import kit
from pipeline.simulation.run_record import RunRecord
from pipeline.solving import save_model
from pipeline.tracking.motion import joint_positions
from pipeline.tracking.track_files import read_track
from studio.scene.tracks import FOLDER as TRACKS
from studio.scene.tracks import newest_track, track_marks
from studio.sessions.round_replay import ReplayRequest, RoundLayout
from studio.sessions.session import Session
from studio.sessions.watched_condition import FOLDER, WatchedCondition
from studio.texts import t, translated
from studio.viewer import PhotoCamera, Photograph, Presentation, Trajectory, ViewerError, ViewRegistry, ViewSession
from studio.viewer.measures import round_measures
from studio.viewer.presentation import Mark
from studio.viewer.timeline_marks import event_marks, playback_speed, timeline_marks

SAME_INSTANT_S = 0.02
MarksAndMeasures = tuple[tuple[Mark, ...], dict[str, Any]]


class ViewerContent:
    """Opens views of projects, one of each kind, and new ones when what they show has changed."""

    def __init__(self, views: ViewRegistry):
        self._views = views
        self._open: dict[tuple[str, str], tuple[str, str]] = {}
        """Stamp and token of a view, by the session's token and the kind of view."""
        self._handled: dict[str, tuple[int, bool]] = {}
        """Serial of the replay request that was handled last, and whether its round was judged, by session token."""

    def twin(self, session: Session) -> str:
        """Return the token of a view of the settled twin, "" before there is one."""
        stamp = session.cache.stamp("scene.json")
        if stamp == "0":
            return ""
        return self._view(session, "twin", stamp, lambda: self._twin(session))

    def solution(self, session: Session) -> str:
        """Return the token of a replay of the solution, "" before there is one."""
        stamp = session.cache.stamp("solution.json")
        if stamp == "0":
            return ""
        if not (session.project.folder / "scene" / "solution.xml").exists():
            return ""  # no rollout was completed
        return self._view(session, "solution", stamp, lambda: self._solution(session.project))

    def track(self, session: Session) -> str:
        """Return the token of the twin that follows the newest recording, "" if that is not what a person watches."""
        folder = newest_track(session.project.folder) if session.shows_track else None
        if folder is None:
            return ""
        stamp = session.cache.stamp(f"{TRACKS}/{folder.name}/track.json")
        return self._view(session, "track", stamp, lambda: self._track(session.project, folder))

    def round(self, session: Session) -> str:
        """Return the token of the replay that a person asked for, "" before the round has been run again."""
        request = session.replay.request
        record = session.replay.rollout() if request else None
        if request is None or record is None:
            return self.twin(session) if session.replay.follows and session.runner.current else ""
        shown = next((one for one in session.project.rounds() if one.number == request.number), None)
        if request.arranging:
            stamp = f"{request.number} {request.serial}"
            return self._view(session, "layout", stamp, lambda: self._layout(session.project, request.number, record))
        stamp = f"{request.number} {id(record)}"
        layout = RoundLayout(request.number)
        token = self._view(session, "round", stamp, lambda: self._round(session.project, layout, record))
        state = (request.serial, shown is not None)
        if self._handled.get(session.token) != state:  # once for each request, and again when the round is judged
            self._handled[session.token] = state
            view = self._views.get(token)
            self._steer(view, request, record, _in_words(session.project, record, shown, view), session.replay.plays)
        return token

    def views(self, session: Session) -> list[tuple[str, str, bool]]:
        """Return kind and token of each view that was opened for the session, and whether it is still open.

        It may have been closed for room, or because nobody watched it; then it opens again, with another token.
        """
        known = list(self._open.items())
        return [(kind, token, token in self._views) for (of, kind), (_, token) in known if of == session.token]

    def condition(self, session: Session) -> str:
        """Return the token of a replay of the condition that a person watches, "" if that is none.

        Raises StudioError for one that was not recorded, or of another twin.
        """
        watched = session.watched
        if watched is None:
            return ""
        stamp = f"{watched} {session.cache.stamp('scene.json')}"
        return self._view(session, "condition", stamp, lambda: self._condition(session, watched))

    def pair(self, session: Session) -> tuple[str, str]:
        """Return the tokens of the two rollouts that are compared and share one clock; "" for both if there are none.

        The longer recording leads, so that the shorter one stands at its end until both are over.
        """
        layouts = session.compared or ()
        pairs = [(one, record) for one in layouts if (record := session.replay.rollout(one)) is not None]
        if len(pairs) < 2:
            return "", ""
        stamp = " ".join(f"{layout} {id(record)}" for layout, record in pairs)
        order = sorted((0, 1), key=lambda side: -pairs[side][1].times[-1])
        tokens: dict[int, str] = {}
        for side in order:
            leader = self._views.get(tokens[order[0]]) if tokens else None
            kind = f"compared {'left' if side == 0 else 'right'}"
            known = self._open.get((session.token, kind))
            layout, record = pairs[side]
            open_view = partial(self._round, session.project, layout, record, leader)
            tokens[side] = self._view(session, kind, stamp, open_view)
            if known != self._open[session.token, kind]:
                self._mark(session, self._views.get(tokens[side]), layout, record)
        return tokens[0], tokens[1]

    def _mark(self, session: Session, view: ViewSession, layout: RoundLayout, record: RunRecord) -> None:
        """Show marks and measures of a rollout from its start on; the checks judged the photographed layout only."""
        rounds = session.project.rounds() if layout.is_photographed else ()
        shown = next((one for one in rounds if one.number == layout.number), None)
        marks, measures = _in_words(session.project, record, shown, view)
        view.present(Presentation(marks, None, False, measures, start=0.0))

    def _steer(
        self, view: ViewSession, request: ReplayRequest, record: RunRecord, shown: MarksAndMeasures, plays: bool
    ) -> None:
        """Play or seek as a person asked; present a round that is shown as it is judged."""
        marks, measures = shown
        failed = [mark for mark in marks if mark.check]
        if request.automatic:
            view.enqueue({"op": "speed", "value": playback_speed(float(record.times[-1]))})
            return view.present(Presentation(marks, failed[0] if failed else None, plays, measures))
        if request.instant is None:
            return view.present(Presentation(marks, failed[0] if failed else None, True, measures, start=0.0))
        instant = min(request.instant, float(record.times[-1]))
        shown_at = [mark for mark in failed if abs(mark.time - instant) < SAME_INSTANT_S]
        return view.present(Presentation(marks, (shown_at or [None])[0], False, measures, start=instant))

    def dragged_positions(self, session: Session) -> dict[str, tuple[float, float]]:
        """Return world x and y in metres, by name, of the objects that were dragged in the layout shown."""
        known = self._open.get((session.token, "layout"))
        return self._views.get(known[1]).dragged_positions if known else {}

    def _condition(self, session: Session, watched: WatchedCondition) -> str:
        from pipeline.variation import VariationStudy, parse_id
        from pipeline.variation.variation_files import read_conditions, read_rollout, rollout_path

        project = session.project
        folder, task = project.folder / FOLDER / watched.study, project.task()
        names = task.objects if task else ()
        seed, _ = parse_id(watched.id)
        rollout = read_rollout(rollout_path(folder, watched.robot, watched.id))
        digest = next((row["start"] for row in read_conditions(folder) if row["id"] == watched.id), "")
        study = VariationStudy(project.folder, names, session.services.library, seed, 1)
        (model,) = study.rollout_models(watched.id, [rollout], digest)
        motion = Trajectory(rollout.times, rollout.qpos)
        token = self._views.open(model, trajectory=motion, focus=names, **_photograph(project))
        self._views.get(token).enqueue({"op": "play"})
        return token

    def _layout(self, project: Project, number: int, record: RunRecord) -> str:
        """Open the end of a round to be arranged, without the gripper."""
        model = load_model(save_model(record.xml, project.folder, f"round_{number:03d}"))
        return self._views.open(model, layout=without_gripper(model, record.qpos[-1]), **_photograph(project))

    def _round(
        self, project: Project, layout: RoundLayout, record: RunRecord, leader: ViewSession | None = None
    ) -> str:
        suffix = "" if layout.is_photographed else f"_layout_{layout.seed}"
        model = save_model(record.xml, project.folder, f"round_{layout.number:03d}{suffix}")
        token = self._views.open(
            model,
            trajectory=Trajectory(record.times, record.qpos),
            focus=[name for goal in record.goals for name in goal.get("objects", ())],
            **_photograph(project),
        )
        if leader:
            self._views.get(token).follow(leader)
        return token

    def _view(self, session: Session, kind: str, stamp: str, open_view: Callable[[], str]) -> str:
        """Return the token of the open view of that kind; open a new one if its stamp differs or it was closed."""
        drawn = session.project.active_decisions("splats")
        stamp = f"{stamp} {[(one.data.get('id'), one.data['file'], one.at) for one in drawn]}"
        known = self._open.get((session.token, kind))
        if known and known[0] == stamp:
            try:
                self._views.get(known[1])
                return known[1]
            except ViewerError:
                pass
        token = open_view()
        if not any(of == session.token for of, _ in list(self._open)):
            session.on_close.append(partial(self._forget, session.token))
        self._open[session.token, kind] = (stamp, token)
        if session.is_closed:  # while the view was opened
            self._forget(session.token)
        return token

    def _forget(self, session_token: str) -> None:
        """Close the views of a session: they hold it."""
        self._handled.pop(session_token, None)
        for of, kind in list(self._open):
            if of == session_token:
                self._views.close(self._open.pop((of, kind))[1])

    def _twin(self, session: Session) -> str:
        project = session.project
        scene = project.scene()
        assert scene is not None  # its file exists
        photograph = _photograph(project, lambda: depth_difference(project.frame, scene))

        def grasps(name: str) -> list[dict[str, Any]]:
            from pipeline.simulation.graspability import (
                grasp_candidates,  # imports planning libraries for a second
            )

            candidates = grasp_candidates(
                kit.Scene.load(project.folder), project_robot(project, session.services), name
            )
            return [
                {"pose": c.object_from_gripper.ravel().tolist(), "opening": c.opening, "reason": translated(c.reason)}
                for c in candidates
            ]

        return self._views.open(project.folder / "scene" / "scene.xml", grasps=grasps, **photograph)

    def _track(self, project: Project, folder: Path) -> str:
        track = read_track(folder)
        model = load_model(save_model((folder / "twin.xml").read_text("utf-8"), project.folder, "track"))
        motion = Trajectory(track.times, joint_positions(model, track))
        marks = track_marks(track, object_words(project))
        token = self._views.open(model, trajectory=motion, marks=marks, **_photograph(project))
        self._views.get(token).enqueue({"op": "play"})
        return token

    def _solution(self, project: Project) -> str:
        solution, task = project.solution(), project.task()
        if solution is None or solution.shown is None:
            raise StudioError("There is no recording of the task yet.")
        return self._views.open(
            project.folder / "scene" / "solution.xml",
            trajectory=Trajectory(solution.shown.times, solution.shown.qpos),
            focus=task.objects if task else (),
            marks=_marks_in_words(event_marks(solution.shown.events), object_words(project)),
            **_photograph(project),
        )


def with_twin(session: Session, caption: str, recorded: str) -> str:
    """Return the caption of a recording, which says if it shows an earlier twin than the present; by its digest."""
    if not is_earlier_twin(recorded, session.project.folder):
        return caption
    return t("{caption} · in an earlier twin", caption=caption)


def _photograph(project: Project, difference: Callable[[], np.ndarray] | None = None) -> dict[str, Any]:
    """Return the arguments of a view that come from the frame and the twin: {photo, names}."""
    scene = project.scene()
    if scene is None:
        return {}
    image = next(path for name in ("rgb.png", "rgb.jpg") if (path := project.folder / "frame" / name).exists())
    camera = PhotoCamera.from_intrinsics(project.frame.intrinsics, scene.world_from_camera)
    splats = [(one.body, partial(_splat_bytes, one, scene)) for one in chosen_splats(project, scene)]
    photo = Photograph(image, camera, difference, filled_share(project.folder / "scene"), splats)
    return {"photo": photo, "names": [placement.name for placement in scene.placements]}


def _splat_bytes(chosen: ChosenSplats, scene: Scene) -> bytes:
    return chosen.read(scene).tobytes()


def _in_words(project: Project, record: RunRecord, shown: Round | None, view: ViewSession) -> MarksAndMeasures:
    """Return the marks and the measures of a rollout, in which objects are called as on the pages."""
    words = object_words(project)
    marks = _marks_in_words(timeline_marks(record, shown.report if shown else None, view.names), words)
    return tuple(marks), round_measures(record, shown, view.names, view.poses, words)


def _marks_in_words(marks: Iterable[Mark], words: ObjectWords) -> list[Mark]:
    return [replace(mark, text=words.in_words(mark.text)) for mark in marks]
