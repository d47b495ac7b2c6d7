"""Step 2: which pixels are which thing. What a person keeps is a decision; the rest is the segmenter's."""

import time
from collections.abc import Callable
from typing import Any

from components.steps import MaskCanvas
from pipeline.errors import StudioError
from pipeline.segmentation import Segment, SegmentationError, split
from pipeline.segmentation.files import rle
from pipeline.segmentation.review import doubts, predicted
from studio import mask_files, prompts
from studio.facts import objects
from studio.notices import sentence
from studio.segmenters import everything
from studio.session import Session, next_id
from studio.sessions import Sessions
from studio.shell import Shell
from studio.theme import colour_of


def build(shell: Shell) -> None:
    canvas = MaskCanvas(lambda request: answer(shell.sessions, request))
    shell.shows(canvas, shown)
    shell.told(canvas.decide, decide)
    shell.told(canvas.undo, lambda session, _: session.undo())
    shell.told(canvas.redo, lambda session, _: session.redo())
    shell.told(canvas.changed, lambda session, _: None)
    shell.told(canvas.find, find)


def find(session: Session, told: dict) -> None:
    """Everything found anew: {name, settings}."""
    settings = told.get("settings")
    session.find(str(told.get("name")), everything(settings if isinstance(settings, dict) else {}))


def decide(session: Session, told: dict) -> None:
    """Any decision about an object, from any component: {"kind", ...its data}; "several" {decisions, said} holds some
    to be undone as one, "split" {id} takes an object apart where it may be several things, or where it is narrowest."""
    frame = session.project.frame
    if told.get("kind") == "several":
        made = [prompts.decision(one, frame) for one in told.get("decisions", ())]
        session.decide_all(made, str(told.get("said", "several decisions"))[:120])
    elif told.get("kind") == "split":
        session.decide_all(_split(session, told.get("id")), f"{told.get('id')} split")
    else:
        kind, data = prompts.decision(told, frame)
        session.decide(kind, **data)


def _split(session: Session, id: object) -> list[tuple[str, dict[str, Any]]]:
    one = next((one for one in session.project.segments() or () if one.id == id), None)
    if one is None:
        raise SegmentationError("That object is not there any more; pick another.")
    parts = split(one, next_id(session.project), seen=session.views.parted(one.mask))
    return [("mask", {"id": part.id, "mask": rle(part.mask), "clicks": []}) for part in parts]


# ---------------------------------------------------------------------- outside Gradio's queue


def answer(sessions: Sessions, request: dict) -> dict:
    """What the canvas asks for, at once and guarded here; see MaskCanvas."""
    began = time.perf_counter()
    seq = request.get("seq")
    try:
        session = sessions.get(request.get("token"))
        said = ANSWERS.get(str(request.get("kind", "prompt")), _prompt)(session, request)
    except StudioError as error:
        return {"seq": seq, "error": sentence(error)}
    return {"seq": seq, **said, "ms": round((time.perf_counter() - began) * 1000)}


def _prompt(session: Session, request: dict) -> dict:
    readings = session.ask(prompts.prompt(request, session.project.frame))
    return {"readings": [_reading(one) for one in readings]}


def _compare(session: Session, request: dict) -> dict:
    mask = prompts.mask(request.get("rle"), session.project.frame)
    if not mask.any():
        raise SegmentationError("There is nothing to compare: the mask is empty.")
    found = session.views.compare(mask)
    return {
        "readings": [_reading(one) | {"title": title} for title, one in found if isinstance(one, Segment)],
        "missing": [f"{title}: {why}" for title, why in found if isinstance(why, str)],
    }


def _reading(one: Segment) -> dict:
    return {"rle": rle(one.mask), "source": one.source, "quality": predicted(one)}


def _choose(session: Session, request: dict) -> dict:
    session.views.choose(str(request.get("name")))
    return session.views.standing()


def _stop(session: Session, request: dict) -> dict:
    session.views.stop(str(request.get("name")))
    return session.views.standing()


def _export(session: Session, request: dict) -> dict:
    names = {one["id"]: one["name"] for one in objects(session)}
    return mask_files.exported(session, request.get("form"), names)  # type: ignore[arg-type]


ANSWERS: dict[str, Callable[[Session, dict], dict]] = {
    "prompt": _prompt,
    "compare": _compare,
    "choose": _choose,
    "stop": _stop,
    "standing": lambda session, _: session.views.standing(),
    "export": _export,
    "import": lambda session, request: {"said": mask_files.imported(session, str(request.get("data", "")))},
}


# ---------------------------------------------------------------------- what is shown


def shown(session: Session | None) -> dict:
    if session is None:
        return {}
    project, k = session.project, session.project.frame.intrinsics
    segments = session.kept("segments", "segments/masks.png", project.segments) or ()
    drawn = session.kept("drawn", "segments/masks.png", lambda: {one.id: _drawn(one) for one in segments})
    known = {one["id"]: one for one in objects(session)}
    new = next_id(session.project)
    return {
        "token": session.token,
        "image": f"/project/{session.token}/colour.jpg",
        "width": k.width,
        "height": k.height,
        "segments": [
            {key: known[one.id][key] for key in ("id", "name", "colour", "is_object")}
            | drawn[one.id]
            | {"review": _review(one, drawn[one.id]["review"], known[one.id])}
            for one in segments
        ],
        "next_id": new,
        "next_colour": colour_of(new),
        "can_undo": project.can_undo,
        "can_redo": project.can_redo,
    }


def _drawn(one: Segment) -> dict[str, Any]:
    return {"rle": rle(one.mask), "source": one.source, "quality": predicted(one), "review": " ".join(doubts(one))}


def _review(one: Segment, doubted: str, known: dict[str, Any]) -> str:
    """Why a person should look at it; empty where one has, or where nothing speaks against it."""
    if one.source == "human" or not known["is_object"]:
        return ""
    return " ".join(filter(None, (doubted, *known.get("warnings", ()))))
