"""Step 4: the twin over the photograph it was made from, put right by hand where it is wrong."""

from typing import Any

from components.adjuster import Adjuster
from components.steps import FitTable
from components.viewer import Viewer, view
from pipeline.scene import Placement
from pipeline.scene.parts import parts_of
from studio import adjusting
from studio.facts import objects
from studio.pages import masks
from studio.session import Session
from studio.shell import Shell
from studio.watching import Watching


def build(shell: Shell, watching: Watching) -> None:
    viewer = Viewer(height="calc(100vh - 318px)", elem_id="twin")
    adjuster = Adjuster(lambda request: adjusting.answer(shell.sessions, request), viewer="twin")
    table = FitTable()
    shell.shows(viewer, lambda session: view(watching.twin(session), **names(session)) if session else view(None))
    shell.shows(adjuster, adjusting.shown)
    shell.told(adjuster.decide, masks.decide)
    shell.told(adjuster.weigh, adjusting.ask_weight)
    shell.shows(table, fit)


def names(session: Session) -> dict[str, Any]:
    """What the viewer is told of the bodies: {palette, parts}, an object's colour and what its parts are called."""
    scene = session.kept("scene", "scene.json", session.project.scene)
    return {
        "palette": {one["name"]: one["colour"] for one in objects(session) if one["is_object"]},
        "parts": {p.name: {one.joint: one.name for one in parts_of(p)} for p in scene.placements if p.joints}
        if scene
        else {},
    }


def fit(session: Session | None) -> dict:
    """How each object of the twin agrees with the photograph."""
    placed = [one for one in objects(session) if one.get("placed")]
    rows = [
        {key: one[key] for key in ("id", "name", "colour", "sure")} | (one["fit"] or NOT_COMPARED) for one in placed
    ]
    scene = session.kept("scene", "scene.json", session.project.scene) if session else None
    error = session.project.error("scene") if session else ""
    return {
        "rows": rows,
        "notes": [note for p in scene.placements for note in _notes(p)] if scene else [],
        "waiting": error,
    }


def _notes(p: Placement) -> list[str]:
    toppled = f"{p.name} would have toppled; it was given a flat foot."
    hung = f"Nothing was found under {p.name}: a fixed block holds it up. Add a mask for what holds it, or split one."
    return [note for note, holds in ((toppled, p.foot), (hung, p.prop)) if holds]


SHOWN = ("id", "name", "colour", "sure")
NOT_COMPARED = {"iou": None, "depth_error": None, "verdict": "not compared yet", "ok": True}
