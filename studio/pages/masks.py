"""Step 2: which pixels are which thing. What a person keeps is a decision; the rest is the segmenter's."""

import time

from components.steps import MaskCanvas
from pipeline.errors import StudioError
from pipeline.segmentation.files import rle
from studio.facts import objects
from studio.notices import sentence
from studio.prompts import prompt
from studio.session import Session, SessionError, Sessions
from studio.shell import Shell
from studio.theme import colour_of

ABOUT_OBJECTS = ("mask", "delete_segment", "merge_segments", "not_object", "rename", "choose_asset", "move")


def build(shell: Shell) -> None:
    canvas = MaskCanvas(lambda request: answer(shell.sessions, request))
    shell.shows(canvas, shown)
    shell.told(canvas.decide, decide)
    shell.told(canvas.undo, lambda session, _: session.undo())
    shell.told(canvas.redo, lambda session, _: session.redo())


def decide(session: Session, decision: dict) -> None:
    """Any decision about an object, from any component: {"kind", ...its data}."""
    kind = decision.pop("kind", "")
    if kind not in ABOUT_OBJECTS:
        raise SessionError("That cannot be decided here; reload the page.")
    session.decide(kind, **decision)


def answer(sessions: Sessions, request: dict) -> dict:
    """The segmenter's readings of clicks and boxes; see MaskCanvas. Outside Gradio's queue, so it guards itself."""
    began = time.perf_counter()
    seq = request.get("seq")
    try:
        session = sessions.get(request.get("token"))
        readings = session.ask(prompt(request, session.project.frame))
    except StudioError as error:
        return {"seq": seq, "error": sentence(error)}
    found = [rle(reading.mask) for reading in readings]
    return {"seq": seq, "readings": found, "ms": round((time.perf_counter() - began) * 1000)}


def shown(session: Session | None) -> dict:
    if session is None:
        return {}
    project, k = session.project, session.project.frame.intrinsics
    segments = session.kept("segments", "segments/masks.png", project.segments) or ()
    lengths = session.kept("lengths", "segments/masks.png", lambda: {one.id: rle(one.mask) for one in segments})
    known = {one["id"]: one for one in objects(session)}
    used = [d.data.get("id", 0) for d in project.decisions if d.kind in ("mask", "delete_segment")]
    next_id = max([*known, *used, *(one.id for one in project.automatic_segments() or ())], default=0) + 1
    return {
        "token": session.token,
        "image": f"/project/{session.token}/colour.jpg",
        "width": k.width,
        "height": k.height,
        "segments": [
            {key: known[one.id][key] for key in ("id", "name", "colour", "is_object")}
            | {"rle": lengths[one.id], "source": one.source}
            for one in segments
        ],
        "next_id": next_id,
        "next_colour": colour_of(next_id),
        "can_undo": project.can_undo,
        "can_redo": project.can_redo,
    }
