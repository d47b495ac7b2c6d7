"""What the viewer shows of a project: the twin as it stands, or a recording of the task being done."""

from pipeline.errors import StudioError
from pipeline.project import Project
from studio.session import Session
from studio.viewing import Mark, PhotoCamera, Sessions, Trajectory, ViewerError


class Watching:
    """Opens views of projects, one of each kind, anew when what they show has changed."""

    def __init__(self, views: Sessions):
        self._views = views
        self._open: dict[tuple[str, str], tuple[str, str]] = {}

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
        return self._views.open(project.folder / "scene" / "scene.xml", **_photograph(project))

    def _solution(self, project: Project) -> str:
        solution = project.solution()
        if solution is None or len(solution.times) == 0:
            raise StudioError("There is no recording of the task yet.")
        model = project.folder / "scene" / "solution.xml"
        recording = Trajectory(solution.times, solution.qpos)
        return self._views.open(model, trajectory=recording, marks=_marks(project), **_photograph(project))


def _photograph(project: Project) -> dict:
    scene = project.scene()
    if scene is None:
        return {}
    picture = next(path for name in ("rgb.png", "rgb.jpg") if (path := project.folder / "frame" / name).exists())
    camera = PhotoCamera.calibrated(project.frame.intrinsics, scene.world_from_camera)
    return {"photo": picture, "camera": camera, "names": [placement.name for placement in scene.placements]}


def _marks(project: Project) -> list[Mark]:
    """Moments of the last round that a check pointed at."""
    rounds = project.rounds()
    checks = rounds[-1].report.checks if rounds else ()
    return [
        Mark(c.instant, c.message or c.name, "event" if c.passed else "failed") for c in checks if c.instant is not None
    ]
