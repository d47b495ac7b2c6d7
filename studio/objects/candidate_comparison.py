"""Comparison of an object's candidates: each is rendered in the photograph's view and kept in the project's cache."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from fastapi import Response
from PIL import Image

from pipeline.assets import Asset
from pipeline.assets.reconstruct import RECONSTRUCTION_METHODS
from pipeline.description import Description
from pipeline.geometry import Pose
from pipeline.one_blas_thread import one_blas_thread
from pipeline.scene import Placement, SceneError
from pipeline.scene.observed_object import observe
from pipeline.scene.place_objects import fit_asset
from pipeline.scene.preview import candidate_preview
from pipeline.scene.reconstruction import preview_reconstruction
from pipeline.segmentation import Segment
from pipeline.store import atomic_write, digest, write_json
from studio.accounts.roles import Role
from studio.objects.candidate_renderer import CandidateRenderer, RenderJob, candidate_folder
from studio.records.file_routes import CACHED
from studio.records.images import jpeg, mask_stamp
from studio.services.library_search import SearchQuery, find
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry, session_context
from studio.web.endpoints import Endpoint
from studio.web.errors import RequestError

VERSION = 8
"""Of the renderings; increased when the same candidate is rendered differently."""
METHOD_PREFIX = "method:"
"""Before the name of a reconstruction method, where an asset's id would be."""
MAX_CANDIDATES = 12
"""Candidates of one object in one request."""
MAX_RESULTS = 48
"""Assets of a search that are shown."""
MAX_QUERY_LENGTH = 200

_renderers: "WeakKeyDictionary[Session, CandidateRenderer]" = WeakKeyDictionary()


def endpoint(sessions: SessionRegistry) -> Endpoint:
    """Return the endpoint of ObjectCards."""
    roles = {"compare": Role.VISIT, "search": Role.LOOK}
    return Endpoint(HANDLERS, session_context(sessions), default_kind="compare", roles=roles, long_kinds=("compare",))


def compare(session: Session, request: dict) -> dict[str, Any]:
    """Return the state of an object's candidates {id, assets}: asset ids, "" for what the twin shows, or methods."""
    segment = _segment(session, request.get("id"))
    assets = request.get("assets")
    if not isinstance(assets, list) or len(assets) > MAX_CANDIDATES or not all(isinstance(id, str) for id in assets):
        raise RequestError(f"At most {MAX_CANDIDATES} candidates are rendered at once; reload the page.")
    renderer = _renderers.setdefault(session, CandidateRenderer(session))
    view_key = digest(
        "candidate", VERSION, session.project.frame_key, segment.mask, *session.project.views_digest(segment.id)
    )
    jobs = {id: job for id in assets if (job := _render_job(session, segment, id, view_key))}
    states = dict(zip(jobs, renderer.states(list(jobs.values())), strict=True))
    window, stamp = candidate_preview.crop_window(segment.mask), mask_stamp(segment)
    return {
        "id": segment.id,
        "photo": f"project/{session.token}/window/{segment.id}.jpg?{stamp}",
        "background": f"project/{session.token}/without/{segment.id}.jpg?{stamp}",
        "aspect": window.width / window.height,
        "outline": candidate_preview.outline_polygons(segment.mask[window.slices]),
        "renders": {id: states.get(id, {"state": "none"}) for id in assets},
    }


def search(session: Session, request: dict) -> dict[str, Any]:
    """Return the library's assets that match {words}, best first."""
    query = SearchQuery(words=str(request.get("words", ""))[:MAX_QUERY_LENGTH])
    results = find(session.services.library, query, session.services.encoder, limit=MAX_RESULTS)
    assets = [_asset(session, asset) for asset in results.assets[:MAX_RESULTS]]
    return {"total": results.total, "every_word": results.every_word, "assets": assets}


HANDLERS: dict[str, Callable[[Session, dict], dict]] = {"compare": compare, "search": search}


def _candidate(session: Session, name: str) -> Response:
    path = candidate_folder(session) / f"{Path(name).stem}.png"
    if not path.exists():
        raise RequestError("That candidate is not rendered yet.")
    return Response(path.read_bytes(), media_type="image/png", headers=CACHED)


def _window(session: Session, name: str) -> Response:
    """Return the part of the photograph around a segment."""
    segment = _segment(session, int(Path(name).stem))
    return _picture(session.project.frame.rgb[candidate_preview.crop_window(segment.mask).slices])


def _without(session: Session, name: str) -> Response:
    """Return the part of the photograph around a segment, without its object."""
    segment = _segment(session, int(Path(name).stem))
    return _picture(candidate_preview.remove_object(session.project.frame, segment.mask))


def _picture(rgb: np.ndarray) -> Response:
    return Response(jpeg(np.ascontiguousarray(rgb), quality=92), media_type="image/jpeg", headers=CACHED)


FILES = {"candidate": _candidate, "window": _window, "without": _without}
"""Pictures of a project for this page, by the first part of their address."""


def _segment(session: Session, id: object) -> Segment:
    segments = session.cache.get("segments", "segments/masks.png", session.project.segments) or ()
    segment = next((one for one in segments if one.id == id), None)
    if segment is None:
        raise RequestError("That object no longer exists; choose another.")
    return segment


def _render_job(session: Session, segment: Segment, asset_id: str, view_key: str) -> RenderJob | None:
    """Return the job for an asset, for METHOD_PREFIX and a method, or for "", the reconstruction in the twin.

    What the twin shows is rendered in its pose there. None if there is no such asset or method. `view_key` is of the
    frame and the mask.
    """
    scene = session.cache.get("scene", "scene.json", session.project.scene)
    placed = next((p for p in scene.placements if p.segment_id == segment.id), None) if scene else None
    if placed is not None and (placed.asset_id or "") == asset_id:
        candidate = _Candidate(placed.mesh, placed.size, placed.world_from_object, placed.scale)
        mesh_key = _mesh_key(placed.mesh, session.cache.stamp("scene.json"))
        key = digest(view_key, mesh_key, placed.size, placed.world_from_object.matrix)
        return RenderJob(key, lambda: _save(session, key, _render(session, key, segment, candidate)))
    if asset_id.startswith(METHOD_PREFIX):
        return _reconstruction_job(session, segment, asset_id.removeprefix(METHOD_PREFIX), view_key)
    if asset_id not in session.services.library:
        return None
    asset, scale = session.services.library[asset_id], _scale(session, segment.id, asset_id)
    key = digest(view_key, asset.digest or asset.id, scale)
    return RenderJob(key, lambda: _place_asset(session, key, segment, asset, scale))


@lru_cache(maxsize=64)
def _mesh_key(mesh: Path, stamp: str) -> str:
    """Return a digest of a mesh of the twin with that stamp. A rebuilt twin may contain the same mesh."""
    return digest(mesh.read_bytes()) if mesh.exists() else stamp


def _reconstruction_job(session: Session, segment: Segment, method: str, view_key: str) -> RenderJob | None:
    """Return the job for a reconstruction; None for an unknown method and for a service, which a preview never asks."""
    description = _descriptions(session).get(segment.id)
    if method not in RECONSTRUCTION_METHODS or method == "provider" or description is None:
        return None
    attributes = description.attributes
    key = digest(view_key, METHOD_PREFIX, method, description.name, attributes.size, attributes.shape)
    return RenderJob(key, lambda: _reconstruct(session, key, segment, description, method))


def _reconstruct(session: Session, key: str, segment: Segment, description: Description, method: str) -> dict[str, Any]:
    project = session.project
    observed = observe(project.observation, segment, description)
    folder = project.folder / "cache" / "ways"
    asset, fit = preview_reconstruction(observed, method, _other_placements(session, segment), folder)
    candidate = _Candidate(asset.mesh, asset.size * fit.scale, fit.pose, fit.scale)
    record = _render(session, key, segment, candidate)
    return _save(session, key, record | {"note": asset.provenance})


def _place_asset(session: Session, key: str, segment: Segment, asset: Asset, scale: float) -> dict[str, Any]:
    project = session.project
    descriptions = _descriptions(session)
    if segment.id not in descriptions:
        raise SceneError("it is not described yet; wait until the objects are")
    observed = observe(project.observation, segment, descriptions[segment.id])
    others = tuple(_other_placements(session, segment))
    with one_blas_thread():  # as the twin does before it settles; it finds the fit in the cache if nothing is below
        fit = fit_asset(observed, asset, scale, others, project.folder / "cache")
    candidate = _Candidate(asset.mesh, asset.size * fit.scale, fit.pose, fit.scale)
    return _save(session, key, _render(session, key, segment, candidate))


def _descriptions(session: Session) -> dict[int, Description]:
    descriptions = session.cache.get("descriptions", "descriptions.json", session.project.descriptions) or ()
    return {description.segment_id: description for description in descriptions}


def _other_placements(session: Session, segment: Segment) -> list[Placement]:
    """Return the twin's other objects."""
    scene = session.cache.get("scene", "scene.json", session.project.scene)
    return [p for p in scene.placements if p.segment_id != segment.id] if scene else []


def _scale(session: Session, id: int, asset_id: str) -> float:
    """Return the scale that the matcher gave the asset if it is a candidate, else 1."""
    matches = session.cache.get("matches", "matches.json", session.project.matches) or ()
    match = next((m for m in matches if m.segment_id == id), None)
    return next((c.scale for c in match.candidates if c.asset_id == asset_id), 1.0) if match else 1.0


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A mesh in the pose at which it is rendered."""

    mesh: Path
    size: np.ndarray
    """Of its box, metres, of shape (3,)."""
    pose: Pose
    scale: float
    """Times the asset's own size."""


def _render(session: Session, key: str, segment: Segment, candidate: _Candidate) -> dict[str, Any]:
    """Render a candidate, save its image and return its record."""
    frame, support = session.project.frame, session.project.support
    drawing = candidate_preview.draw_candidate(
        frame, support.world_from_camera, segment.mask, candidate.mesh, candidate.size, candidate.pose
    )
    with atomic_write(candidate_folder(session) / f"{key}.png") as temporary:
        Image.fromarray(drawing.rgba).save(temporary, "PNG", compress_level=3)
    return {
        "overlap": round(drawing.overlap, 4),
        "depth_error": None if drawing.depth_error is None else round(drawing.depth_error, 5),
        "scale": round(float(candidate.scale), 4),
        "outline": candidate_preview.outline_polygons(drawing.rgba[..., 3] > 128),
    }


def _save(session: Session, key: str, record: dict[str, Any]) -> dict[str, Any]:
    """Save the record, after the image, so that whoever finds the record finds the image too."""
    write_json(candidate_folder(session) / f"{key}.json", record)
    return record


def _asset(session: Session, asset: Asset) -> dict[str, Any]:
    return {
        "asset_id": asset.id,
        "name": asset.name,
        "image": f"project/{session.token}/card/{asset.id}.png",
        "size": [float(x) for x in asset.size],
    }
