"""Place an object that the library lacks where it was observed: reconstructed from the view, or generated."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import trimesh

from pipeline.assets import Asset, load_mesh
from pipeline.assets.reconstruct import reconstruct
from pipeline.assets.reconstruct.view_observation import SurfaceObservation, observe_surface
from pipeline.description import Description
from pipeline.geometry import Pose
from pipeline.geometry.rays import count_crossings, raycasting_scene
from pipeline.scene.observed_object import ObservedObject
from pipeline.scene.placement import Placement
from pipeline.scene.pose_search import COARSE_EFFORT, PoseFit, cached_fit, refine_pose, search_pose
from pipeline.scene.support_relations import SUPPORT_TOLERANCE_M, support_height

MAX_ERROR = 0.12, 0.008
"""Largest median distance from the measured surface: share of the object's mean size, and metres; the larger counts."""


def reconstruct_object(
    observed: ObservedObject, method: str, bottom: float, folder: Path, cache: Path | None = None
) -> tuple[Asset, PoseFit]:
    """Return the reconstructed asset, written below `folder`, and its fit when it rests at height `bottom` in metres.

    Raises AssetError for an unknown reconstruction method.
    """
    frame, support = observed.observation.frame, observed.observation.support
    description = _above_support(observed.description, bottom)
    result = reconstruct(frame, support, observed.segment, description, folder, method, observed.observation.views)
    asset, start = result.asset, _at_height(result.world_from_object, result.asset.size, bottom)
    evidence = (observed.key, asset.digest, start.matrix)
    return asset, cached_fit(cache, evidence, lambda: refine_pose(asset, start, observed.target))


def preview_reconstruction(
    observed: ObservedObject, method: str, below: Iterable[Placement], folder: Path
) -> tuple[Asset, PoseFit]:
    """Return what reconstruction by `method` would give, on the table or on one of the placements `below`.

    Writes to `folder`, apart from the twin's own files. Raises AssetError for an unknown method.
    """
    return reconstruct_object(observed, method, support_height(observed, tuple(below)), folder / method, folder)


def _above_support(description: Description, bottom: float) -> Description:
    """Return the description with the object's height counted from the top of its support, at `bottom`.

    That is less than was measured if the support was measured too, and more if the mask shows only the upper part.
    """
    a = description.attributes
    top, measured_bottom = (float(a.centre[2] + side * a.size[2] / 2) for side in (1, -1))
    as_measured = measured_bottom < bottom + SUPPORT_TOLERANCE_M and (bottom <= 0 or measured_bottom > bottom - 0.005)
    if as_measured or top - bottom < 0.01:
        return description
    size, centre = a.size.copy(), a.centre.copy()
    size[2], centre[2] = top - bottom, (top + bottom) / 2
    return replace(description, attributes=replace(a, size=size, centre=centre))


def _at_height(pose: Pose, size: np.ndarray, bottom: float) -> Pose:
    """Return the pose at the height at which a box of `size` (3,) rests at `bottom`."""
    return Pose(np.array([*pose.pos[:2], bottom + np.abs(pose.rotation[2]) @ size / 2]), pose.quat_wxyz)


def fit_generated(
    observed: ObservedObject, asset: Asset, below: tuple[Placement, ...] = (), cache: Path | None = None
) -> PoseFit:
    """Return the best fit of a made shape over sizes, on the table or on one of the placements `below`."""
    # (0.7, 0.83, 1.0, 1.2, 1.45): tried around the size that was measured, which is too small where a part is hidden or
    # outside the photograph
    coarse = [search_pose(observed, asset, scale, below, cache, COARSE_EFFORT) for scale in (0.7, 0.83, 1.0, 1.2, 1.45)]
    return search_pose(observed, asset, min(coarse, key=lambda fit: fit.cost).scale, below, cache)


def why_implausible(asset: Asset, fit: PoseFit, observed: ObservedObject) -> str:
    """Return why a made shape, at its best pose, cannot be the object, in a few words; empty if it can."""
    mesh = load_mesh(asset).copy().apply_scale(fit.scale).apply_transform(fit.pose.matrix)
    measured = np.sort(np.nan_to_num(observed.description.attributes.size))
    growth = np.sort(asset.size * fit.scale) / np.maximum(measured, 1e-3)
    # Least extent over the measured one, in order of size
    if growth[0] < 0.12:
        return f"it is flat: {100 * min(asset.size) * fit.scale:.1f} cm thick where {100 * measured[0]:.1f} were seen"
    # Largest extent of the shape over the measured one, in order of size: of a thing half hidden half is measured
    if growth.max() > 2.2:
        k = int(growth.argmax())
        made = np.sort(asset.size * fit.scale)[k]
        return f"it is {100 * made:.0f} cm long where {100 * measured[k]:.0f} cm were seen"
    view = observe_surface(
        observed.observation.frame, observed.observation.support, observed.segment, observed.description.attributes
    )
    return _why_not_seen(mesh, view, float(measured.mean())) if view.has_enough_points else ""


def _why_not_seen(mesh: trimesh.Trimesh, view: SurfaceObservation, size: float) -> str:
    along, normals = view.cast_rays(mesh.vertices, mesh.faces, view.rays)
    hit, known = np.isfinite(along), view.depth > 0
    inside = max(int(view.in_mask.sum()), 1)
    covered = float((hit & view.in_mask).sum()) / inside
    # Share of the rays inside the mask that must hit the shape
    if covered < 0.85:
        return f"it covers {covered:.0%} of what the photograph shows of it"
    in_front = hit & (~known | (along < view.depth - 0.004))
    beyond = float((in_front & ~view.in_mask).sum()) / inside
    # Rays outside the mask that hit the shape in front of what was seen there, over the rays inside
    if beyond > 0.15:
        return f"it reaches beyond its outline, by {beyond:.0%} of it"
    seen = hit & known & view.in_mask
    slant = np.abs(np.einsum("nk,nk->n", normals[seen], view.rays[seen]))
    error = float(np.median(np.abs(along[seen] - view.depth[seen]) * slant)) if seen.any() else 0.0
    if error > max(MAX_ERROR[0] * size, MAX_ERROR[1]):
        return f"its surface lies {100 * error:.1f} cm from the measured one"
    share_open = _open_share(mesh, view)
    # Share of the rays that may enter the shape and not leave it
    return f"it is an open shell: {share_open:.0%} of the rays into it do not leave it" if share_open > 0.3 else ""


def _open_share(mesh: trimesh.Trimesh, view: SurfaceObservation) -> float:
    counts = count_crossings(raycasting_scene([(mesh.vertices - view.camera_position, mesh.faces)]), view.rays)
    entered = counts > 0
    return float((counts[entered] % 2).mean()) if entered.any() else 0.0
