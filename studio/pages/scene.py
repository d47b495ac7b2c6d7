"""Step 4: the twin, beside the photograph it was made from."""

from components.steps import FitTable
from components.viewer import Viewer, view
from studio.facts import objects
from studio.session import Session
from studio.shell import Shell
from studio.watching import Watching


def build(shell: Shell, watching: Watching) -> None:
    viewer = Viewer(height="calc(100vh - 290px)", elem_id="twin")
    table = FitTable()
    shell.shows(
        viewer, lambda session: view(watching.twin(session), palette=palette(session)) if session else view(None)
    )
    shell.shows(table, fit)


def palette(session: Session) -> dict[str, str]:
    """Each body's colour in the viewer: the object's everywhere."""
    return {one["name"]: one["colour"] for one in objects(session) if one["is_object"]}


def fit(session: Session | None) -> dict:
    """How each object of the twin agrees with the photograph."""
    placed = [one for one in objects(session) if one.get("placed")]
    rows = [{key: one[key] for key in ("id", "name", "colour")} | (one["fit"] or NOT_COMPARED) for one in placed]
    error = session.project.error("scene") if session else ""
    return {
        "rows": rows,
        "waiting": error or "The twin shows here as soon as the objects are matched and have settled.",
    }


NOT_COMPARED = {"iou": None, "depth_error": None, "verdict": "not compared yet", "ok": True}
