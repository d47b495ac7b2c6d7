"""What the viewer shows of a project: the twin as it stands, or a recording of the task being done."""

from collections.abc import Iterable
from typing import Any

import mujoco

from pipeline.errors import StudioError
from pipeline.project import Project
from pipeline.rehearsal import handless
from pipeline.router import Round
from pipeline.scene.fidelity import difference
from pipeline.simulation.program import CheckResult
from pipeline.simulation.testimony import RunRecord
from pipeline.solving import keep_model
from studio.session import Session
from studio.viewing import Mark, PhotoCamera, Sessions, Trajectory, ViewerError


class Watching:
    """Opens views of projects, one of each kind, anew when what they show has changed."""

    def __init__(self, views: Sessions):
        self._views = views
        self._open: dict[tuple[str, str], tuple[str, str]] = {}
        self._heard: dict[str, int] = {}

    def twin(self, session: Session) -> str:
        """Token of a view of the settled twin, "" before there is one."""
        stamp = session.stamp("scene.json")
        if stamp == "0":
            return ""
        return self._view(session, "twin", stamp, lambda: self._twin(session.project))

    def solution(self, session: Session) -> str:
        """Token of a replay of the solution, "" before there is one."""
        stamp = session.stamp("solution.json")
        if stamp == "0":
            return ""
        if not (session.project.folder / "scene" / "solution.xml").exists():
            return ""  # no rollout came to an end
        return self._view(session, "solution", stamp, lambda: self._solution(session.project))

    def round(self, session: Session) -> str:
        """Token of a replay of the round a person asked for, "" before it has been run again."""
        wish = session.playing
        record = session.rollout() if wish else None
        if wish is None or record is None:
            return ""
        one = next(r for r in session.project.rounds() if r.number == wish.number)
        if wish.arranging:
            stamp = f"{wish.number} {wish.serial}"
            return self._view(session, "layout", stamp, lambda: self._layout(session.project, one, record))
        stamp = f"{wish.number} {session.stamp('scene.json')}"
        token = self._view(session, "round", stamp, lambda: self._round(session.project, one, record))
        if self._heard.get(session.token) != wish.serial:  # once for each wish
            self._heard[session.token] = wish.serial
            view = self._views.get(token)
            view.wish({"op": "pause"} if wish.instant is not None else {"op": "play"})
            view.wish({"op": "seek", "time": wish.instant or 0.0})
        return token

    def places(self, session: Session) -> dict[str, tuple[float, float]]:
        """World x and y in metres, by name, of what a person dragged elsewhere in the layout that is shown."""
        known = self._open.get((session.token, "layout"))
        return self._views.get(known[1]).places if known else {}

    def _layout(self, project: Project, one: Round, record: RunRecord) -> str:
        """The end of a round, to be rearranged; the hand is out of the way."""
        model = mujoco.MjModel.from_xml_path(str(keep_model(record.xml, project.folder, f"round_{one.number:03d}")))
        return self._views.open(model, layout=handless(model, record.qpos[-1]), **_photograph(project))

    def _round(self, project: Project, one: Round, record: RunRecord) -> str:
        model = keep_model(record.xml, project.folder, f"round_{one.number:03d}")
        recording = Trajectory(record.times, record.qpos)
        return self._views.open(
            model,
            trajectory=recording,
            marks=marks(record.events, one.report.checks, float(record.times[-1])),
            **_photograph(project),
        )

    def _view(self, session: Session, kind: str, stamp: str, open_it) -> str:
        known = self._open.get((session.token, kind))
        if known and known[0] == stamp:
            try:
                self._views.get(known[1])
                return known[1]
            except ViewerError:
                pass
        token = open_it()
        self._open[session.token, kind] = (stamp, token)
        return token

    def _twin(self, project: Project) -> str:
        scene = project.scene()
        assert scene is not None  # its file was there
        return self._views.open(
            project.folder / "scene" / "scene.xml",
            difference=lambda: difference(project.frame, scene),
            **_photograph(project),
        )

    def _solution(self, project: Project) -> str:
        solution = project.solution()
        if solution is None or len(solution.times) == 0:
            raise StudioError("There is no recording of the task yet.")
        model = project.folder / "scene" / "solution.xml"
        recording = Trajectory(solution.times, solution.qpos)
        return self._views.open(model, trajectory=recording, marks=marks(solution.events), **_photograph(project))


def _photograph(project: Project) -> dict:
    scene = project.scene()
    if scene is None:
        return {}
    picture = next(path for name in ("rgb.png", "rgb.jpg") if (path := project.folder / "frame" / name).exists())
    camera = PhotoCamera.calibrated(project.frame.intrinsics, scene.world_from_camera)
    return {"photo": picture, "camera": camera, "names": [placement.name for placement in scene.placements]}


def marks(events: Iterable[dict[str, Any]], checks: Iterable[CheckResult] = (), end: float = 0.0) -> list[Mark]:
    """What the gripper did, and the checks that failed: at the instant they name, else at the end."""
    done = [
        Mark(float(e["time"]), str(e["message"] or f"{e['verb']} {e['object']}"), "event" if e["ok"] else "failed")
        for e in events
    ]
    failed = [c for c in checks if not c.passed]
    return done + [Mark(end if c.instant is None else c.instant, f"{c.name}: {c.message}", "failed") for c in failed]
