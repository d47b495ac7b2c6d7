"""The page over all others: every asset there is, one of them closely, and the way in for more."""

from collections.abc import Callable
from typing import Any

import numpy as np

from components.library import LibraryPage
from pipeline.assets import own
from studio.doors import behind
from studio.facts import objects
from studio.library import Shelf, entry
from studio.library_alike import of_object, of_picture
from studio.library_search import Wanted, facets, find
from studio.pages.masks import decide
from studio.session import Session, SessionError
from studio.shell import Shell

MOST = 200
"""Entries of one answer."""


def build(shell: Shell, shelf: Shelf) -> None:
    page = LibraryPage(lambda request: answer(shell, shelf, request))
    shell.shows(page, lambda session: shown(session, shelf))
    shell.told(page.decide, decide)
    shell.looks(page.changed)


def shown(session: Session | None, shelf: Shelf) -> dict[str, Any]:
    things = [
        {key: one.get(key) for key in ("id", "name", "colour", "crop")}
        | {"asset_id": (one.get("match") or {}).get("asset_id")}
        for one in objects(session)
        if one["is_object"]
    ]
    library = shelf.library
    return {
        "door": shelf.door,
        "token": session.token if session else "",
        "digest": library.digest,
        "count": len(library),
        "objects": things,
    }


# ---------------------------------------------------------------------- outside Gradio's queue


def answer(shell: Shell, shelf: Shelf, request: dict) -> dict:
    """What the page asks for; see LibraryPage."""
    return behind(shelf.door, ANSWERS, request, shell, shelf)


def _find(shell: Shell, shelf: Shelf, request: dict) -> dict:
    services = shell.sessions.services
    library, looks = services.library, services.features
    offset, limit = _whole(request.get("offset"), 0), min(MOST, _whole(request.get("limit"), MOST))
    picture = _picture(shell, request.get("like"))
    known = looks() if picture is not None and getattr(looks, "made", False) else None
    found = find(library, _wanted(request), services.encoder, picture, known, offset, limit)
    skipped = [f"{folder.name}: {why}" for folder, why in library.skipped]
    return {
        "total": found.total,
        "every_word": found.every_word,
        "learning": picture is not None and (found.learning or known is None),
        "all": len(library),
        "offset": offset,
        "items": [entry(asset) for asset in found.assets],
        "facets": facets(library),
        "skipped": skipped,
        "undo": own.last_step(shelf.own),
    }


def _wanted(request: dict) -> Wanted:
    moves = request.get("articulated")
    return Wanted(
        words=str(request.get("words") or "")[:200],
        category=str(request.get("category") or ""),
        licence=str(request.get("licence") or ""),
        place=str(request.get("place") or ""),
        articulated=moves if isinstance(moves, bool) else None,
        smallest=_number(request.get("smallest"), 0.0),
        largest=_number(request.get("largest"), float("inf")),
    )


def _picture(shell: Shell, like: object) -> np.ndarray | None:
    """What the encoder sees in a crop or a picture; None where nobody asked."""
    if not isinstance(like, dict):
        return None
    encoder = shell.sessions.services.encoder
    if encoder is None:
        raise SessionError("Searching by picture needs the embedded network; run make setup, which installs it.")
    if "object" in like:
        return of_object(shell.sessions.get(like.get("token")), like["object"], encoder)
    return of_picture(like.get("picture"), encoder)


def _drawn(_: Shell, shelf: Shelf, request: dict) -> dict:
    ids = request.get("ids")
    known = [shelf.library[id] for id in (ids if isinstance(ids, list) else [])[:MOST] if id in shelf.library]
    return {"pictures": shelf.thumbnails.want(known)}


def _stand(_: Shell, shelf: Shelf, request: dict) -> dict:
    return shelf.stand(shelf.library[str(request.get("id"))])


def _changed(note: str, shelf: Shelf) -> dict:
    return {"changed": True, "note": note, "undo": own.last_step(shelf.own)}


def _change(_: Shell, shelf: Shelf, request: dict) -> dict:
    said = request.get("said")
    if not isinstance(said, dict) or not said:
        raise SessionError("There is nothing to change.")
    return _changed(shelf.change(lambda asset, mine: own.change(asset, mine, said), str(request.get("id"))), shelf)


def _turn(_: Shell, shelf: Shelf, request: dict) -> dict:
    axis: Any = request.get("axis")
    quarters = _whole(request.get("quarters"), 1)
    note = shelf.change(lambda asset, mine: own.turn(asset, mine, axis, quarters), str(request.get("id")))
    return _changed(note, shelf)


def _scale(_: Shell, shelf: Shelf, request: dict) -> dict:
    longest = _number(request.get("longest"), 0.0)
    return _changed(shelf.change(lambda asset, mine: own.scale(asset, mine, longest), str(request.get("id"))), shelf)


def _remove(_: Shell, shelf: Shelf, request: dict) -> dict:
    return _changed(shelf.change(own.remove, str(request.get("id"))), shelf)


def _undo(_: Shell, shelf: Shelf, request: dict) -> dict:
    what, note = shelf.undo()
    return _changed(note, shelf) | {"undone": what}


def _units(_: Shell, shelf: Shelf, request: dict) -> dict:
    shelf.jobs.answer(request.get("job"), request.get("number"), request.get("units"), request.get("up"))
    return {"jobs": shelf.jobs.shown()}


def _objaverse(_: Shell, shelf: Shelf, request: dict) -> dict:
    shelf.jobs.look_up(request.get("id") or "")
    return {"jobs": shelf.jobs.shown()}


def _agree(_: Shell, shelf: Shelf, request: dict) -> dict:
    shelf.jobs.agree(request.get("job"), request.get("number"), request.get("yes") is True)
    return {"jobs": shelf.jobs.shown()}


def _halt(_: Shell, shelf: Shelf, request: dict) -> dict:
    shelf.jobs.halt(request.get("job"))
    return {"jobs": shelf.jobs.shown()}


def _bring(_: Shell, shelf: Shelf, request: dict) -> dict:
    shelf.jobs.bring(request.get("files"))
    return {"jobs": shelf.jobs.shown()}


def _install(_: Shell, shelf: Shelf, request: dict) -> dict:
    shelf.install(request.get("pack"))
    return {"jobs": shelf.jobs.shown()}


ANSWERS: dict[str, Callable[[Shell, Shelf, dict], dict]] = {
    "find": _find,
    "drawn": _drawn,
    "asset": lambda _, shelf, request: shelf.facts(shelf.library[str(request.get("id"))]),
    "stand": _stand,
    "change": _change,
    "turn": _turn,
    "scale": _scale,
    "remove": _remove,
    "undo": _undo,
    "bring": _bring,
    "jobs": lambda _, shelf, __: {"jobs": shelf.jobs.shown()},
    "units": _units,
    "halt": _halt,
    "objaverse": _objaverse,
    "agree": _agree,
    "packs": lambda _, shelf, __: {"packs": shelf.packs()},
    "install": _install,
}


def _number(value: object, otherwise: float) -> float:
    return float(value) if isinstance(value, int | float) and value == value else otherwise


def _whole(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and value >= 0 else otherwise
