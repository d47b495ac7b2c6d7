"""What the library page shows, and its requests: search, previews, edits, imports and packs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.assets import Asset, library_edits
from studio.accounts.roles import Role
from studio.library.image_query import embed_object, embed_upload
from studio.library.shared_library import SharedLibrary, asset_record
from studio.records.object_records import object_records
from studio.services.library_search import SearchQuery, facets, find
from studio.services.open_services import Lazy
from studio.sessions.session import Session
from studio.texts import translated
from studio.web.endpoints import Endpoint
from studio.web.errors import RequestError

MAX_ITEMS = 200
"""Assets in one answer."""
MAX_QUERY_LENGTH = 200


def endpoint(shared: SharedLibrary) -> Endpoint:
    """Return the endpoint of LibraryPage."""
    return Endpoint(HANDLERS, shared.page_token.context(shared), roles=ROLES)


def page_record(session: Session | None, shared: SharedLibrary) -> dict[str, Any]:
    """Return LibraryPage's value."""
    objects = [
        {key: record.get(key) for key in ("id", "words", "colour", "crop")}
        | {"asset_id": (record.get("match") or {}).get("asset_id")}
        for record in object_records(session)
        if record["is_object"]
    ]
    library = shared.library
    return {
        "page_token": shared.page_token.value,
        "token": session.token if session else "",
        "digest": library.digest,
        "count": len(library),
        "objects": objects,
    }


# ---------------------------------------------------------------------- search


def _find(shared: SharedLibrary, request: dict) -> dict:
    services = shared.sessions.services
    library, features = services.library, services.features
    offset, limit = _natural(request.get("offset"), 0), min(MAX_ITEMS, _natural(request.get("limit"), MAX_ITEMS))
    embedding = _embedding(shared, request.get("like"))
    is_ready = embedding is not None and isinstance(features, Lazy) and features.is_ready
    known = features() if is_ready else None
    results = find(library, _query(request), services.encoder, embedding, known, offset, limit)
    return {
        "total": results.total,
        "every_word": results.every_word,
        "indexing": embedding is not None and (results.indexing or known is None),
        "all": len(library),
        "offset": offset,
        "items": [asset_record(asset) for asset in results.assets],
        "facets": facets(library),
        "skipped": [f"{folder.name}: {reason}" for folder, reason in library.skipped],
        "undo": library_edits.last_edit(shared.own),
    }


def _query(request: dict) -> SearchQuery:
    articulated = request.get("articulated")
    return SearchQuery(
        words=str(request.get("words") or "")[:MAX_QUERY_LENGTH],
        category=str(request.get("category") or ""),
        licence=str(request.get("licence") or ""),
        collection=str(request.get("collection") or ""),
        articulated=articulated if isinstance(articulated, bool) else None,
        smallest=_number(request.get("smallest"), 0.0),
        largest=_number(request.get("largest"), float("inf")),
    )


def _embedding(shared: SharedLibrary, like: object) -> np.ndarray | None:
    """Return the embedding (D,) of the object or of the uploaded picture to search by; None for a search by words."""
    if not isinstance(like, dict):
        return None
    encoder = shared.sessions.services.encoder
    if encoder is None:
        raise RequestError("Searching by picture needs an encoder; set GRS_ENCODER=embedded.")
    if "object" in like:
        return embed_object(shared.sessions.get(like.get("token")), like["object"], encoder)
    return embed_upload(like.get("picture"), encoder)


def _thumbnails(shared: SharedLibrary, request: dict) -> dict:
    ids = request.get("ids")
    ids = [id for id in (ids if isinstance(ids, list) else [])[:MAX_ITEMS] if isinstance(id, str)]
    assets = [shared.library[id] for id in ids if id in shared.library]
    return {"pictures": shared.thumbnails.request(assets)}


# ---------------------------------------------------------------------- one asset


def _asset(shared: SharedLibrary, request: dict) -> Asset:
    return shared.library[str(request.get("id"))]


def _edited(shared: SharedLibrary, note: str) -> dict:
    return {"changed": True, "note": translated(note), "undo": library_edits.last_edit(shared.own)}


def _edit(shared: SharedLibrary, request: dict, edit: Callable[[Asset, Path], None]) -> dict:
    """Apply an edit to the request's asset."""
    return _edited(shared, shared.edit(edit, str(request.get("id"))))


def _change(shared: SharedLibrary, request: dict) -> dict:
    values = request.get("values")
    if not isinstance(values, dict) or not values:
        raise RequestError("There is nothing to change.")
    return _edit(shared, request, lambda asset, own: library_edits.update_fields(asset, own, values))


def _turn(shared: SharedLibrary, request: dict) -> dict:
    axis: Any = request.get("axis")
    quarters = _natural(request.get("quarters"), 1)
    return _edit(shared, request, lambda asset, own: library_edits.rotate(asset, own, axis, quarters))


def _scale(shared: SharedLibrary, request: dict) -> dict:
    longest = _number(request.get("longest"), 0.0)
    return _edit(shared, request, lambda asset, own: library_edits.scale(asset, own, longest))


def _describe(shared: SharedLibrary, request: dict) -> dict:
    text = request.get("text")
    if not isinstance(text, str):
        raise RequestError("There is no description to keep.")
    return _edit(shared, request, lambda asset, own: library_edits.describe(asset, own, text))


def _remove(shared: SharedLibrary, request: dict) -> dict:
    return _edit(shared, request, library_edits.remove)


def _undo(shared: SharedLibrary, request: dict) -> dict:
    undone, note = shared.undo()
    return _edited(shared, note) | {"undone": undone}


# ---------------------------------------------------------------------- imports and packs


def _jobs(shared: SharedLibrary, request: dict) -> dict:
    return {"jobs": shared.jobs.records()}


def _import(shared: SharedLibrary, request: dict) -> dict:
    shared.jobs.import_uploads(request.get("files"))
    return _jobs(shared, request)


def _units(shared: SharedLibrary, request: dict) -> dict:
    shared.jobs.answer_units(request.get("job"), request.get("number"), request.get("units"), request.get("up"))
    return _jobs(shared, request)


def _objaverse(shared: SharedLibrary, request: dict) -> dict:
    shared.jobs.look_up_objaverse(request.get("id") or "")
    return _jobs(shared, request)


def _accept(shared: SharedLibrary, request: dict) -> dict:
    shared.jobs.answer_offer(request.get("job"), request.get("number"), request.get("accepted") is True)
    return _jobs(shared, request)


def _stop(shared: SharedLibrary, request: dict) -> dict:
    shared.jobs.stop(request.get("job"))
    return _jobs(shared, request)


def _install(shared: SharedLibrary, request: dict) -> dict:
    shared.install(str(request.get("pack")))
    return _jobs(shared, request)


HANDLERS: dict[str, Callable[[SharedLibrary, dict], dict]] = {
    "find": _find,
    "thumbnails": _thumbnails,
    "asset": lambda shared, request: shared.details(_asset(shared, request)),
    "preview": lambda shared, request: shared.preview(_asset(shared, request)),
    "change": _change,
    "turn": _turn,
    "scale": _scale,
    "describe": _describe,
    "remove": _remove,
    "undo": _undo,
    "import": _import,
    "jobs": _jobs,
    "units": _units,
    "stop": _stop,
    "objaverse": _objaverse,
    "accept": _accept,
    "packs": lambda shared, _: {"packs": shared.packs()},
    "install": _install,
}


def _number(value: object, default: float) -> float:
    """Return a finite or infinite number; the default for anything else, NaN included."""
    return float(value) if isinstance(value, int | float) and value == value else default


def _natural(value: object, default: int) -> int:
    """Return a whole number of at least 0; the default for anything else."""
    return value if isinstance(value, int) and value >= 0 else default


ROLES = {
    **dict.fromkeys(("find", "thumbnails", "asset", "preview", "jobs", "packs"), Role.LOOK),
    **dict.fromkeys(("install", "objaverse"), Role.ADMINISTER),
}
"""Roles that these kinds need; the others need Role.WORK. What is installed comes from other servers."""
