"""What the Review page shows of a robot over the user's own table: picture, reach, and what it cannot pick up."""

from typing import Any

import numpy as np

from pipeline.object_words import object_words
from pipeline.rehearsal import picture_path
from pipeline.robot_reach import robot_reach
from pipeline.simulation import kit
from pipeline.simulation.robots import robot_kind
from studio.sessions.session import Session
from studio.texts import t, translated
from studio.web.errors import RequestError


def reach_record(session: Session, robot: str) -> dict[str, Any]:
    """Return {table: [[right, away]], bases, rings, objects: [{words, outline, why}], facts, picture} of a robot.

    Lengths are in metres to the camera's right and away from it; `why` is empty for what it can pick up. Raises
    RequestError, RobotError.
    """
    if session.project.scene() is None:
        raise RequestError("There is no twin yet; place the objects on the Scene page first.")
    kind, scene = robot_kind(robot), kit.Scene.load(session.project.folder)
    words, axes = object_words(session.project), np.array([scene.right, scene.away])
    found = None if kind.floats else robot_reach(robot, session.project.folder)
    reasons = found.reasons if found else {}
    drawn = found and picture_path(found.key, session.project.folder)
    return {
        "table": _rounded(scene.table.polygon @ axes.T),
        "bases": _rounded(found.bases @ axes.T) if found else [],
        "rings": _rounded(found.rings) if found else [],
        "objects": [
            {
                "words": words.of(one.name),
                "outline": _rounded(one.outline @ axes.T),
                "why": translated(words.in_words(reasons.get(one.name, ""))),
            }
            for one in scene.objects
            if not one.fixed
        ],
        "facts": [
            *(
                t("Opens {width} cm", width=f"{arm.fingers.max_opening * 100:.1f}") if arm.fingers else t("Vacuum cup")
                for arm in kind.arms[:1]
            ),
            *([t("Model: {origin}", origin=kind.origin)] if kind.origin else []),
            *([t("Licence: {licence}", licence=kind.licence)] if kind.licence else []),
        ],
        "picture": f"project/{session.token}/goal/{found.key}.png" if found and drawn else "",
    }


def _rounded(points: np.ndarray) -> list[list[float]]:
    return np.asarray(points, float).round(3).tolist()
