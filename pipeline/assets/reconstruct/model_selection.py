"""Selects the shape that explains the observation best, with a penalty for its parameters.

A shape's residual is its mean ray error (view_observation.py): in front of the measured surface, behind it, beside it,
and where the camera saw through. As in Schwarz's criterion (BIC), N log(error) + k log(N) is minimised, with k the
number of fitted parameters and N the number of independent rays: neighbouring rays have the same error.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from pipeline.assets.reconstruct.extrusion import box_proposal, propose_boxes, propose_extrusions, propose_layers
from pipeline.assets.reconstruct.revolution import propose_revolutions
from pipeline.assets.reconstruct.shape_proposal import ShapeProposal, fit_to_rays, mesh_hits
from pipeline.assets.reconstruct.view_observation import RayHits, SurfaceObservation
from pipeline.assets.solids import Solid
from pipeline.description import Attributes
from pipeline.geometry import transform

RECONSTRUCTION_METHODS = {
    "best": "Best fit",
    "box": "Box",
    "cylinder": "Cylinder, upright or lying",
    "ball": "Ball",
    "revolved": "Solid of revolution (bottles, cups, bowls)",
    "extruded": "Extruded outline",
    "layered": "Stacked outlines (irregular shapes)",
    "provider": "Image-to-3D service",
}
"""Methods by name, with the label that a menu shows."""
MAX_SIZE_RATIO, MIN_SIZE_RATIO = 1.3, 0.85
"""Largest and smallest size of a shape over the size of the visible surface."""
METRES_PER_SCALE = 0.1
"""Metres that correspond to a scale of 1 in the parameters of a fit."""
INDEPENDENT_RAYS = 500
"""Number of rays of one view with independent errors."""


def select_shape(
    observation: SurfaceObservation, attributes: Attributes, method: str = "best", is_open: bool = False
) -> ShapeProposal:
    """Return the proposal of a method with the lowest cost; a hollow one if the object is known to be open.

    The described box, if too little was observed or the method proposes nothing plausible.
    """
    method = "best" if method == "provider" else method
    size, yaw, centre = np.nan_to_num(attributes.size), attributes.yaw, attributes.centre
    foot = np.array([*centre[:2], observation.bottom_z])
    described = box_proposal(size, yaw, foot)
    if not observation.has_enough_points:
        return described
    proposed = _propose_shapes(observation, size, yaw, centre, method, is_open)
    candidates = [p for p in proposed if method in ("best", p.method)]
    if method in ("best", "box") and attributes.shape in ("box", "cube"):
        candidates.append(described)
    plausible = [(n, p) for n, p in enumerate(candidates) if _plausible(p, observation, described)]
    plausible = [(n, p) for n, p in plausible if p.is_hollow or not is_open] or plausible
    ranked = sorted((_selection_cost(observation, p), n, p) for n, p in plausible)
    if not ranked:
        return min(candidates, key=lambda p: _selection_cost(observation, p), default=described)
    lowest, _, best = ranked[0]
    for cost, _, rival in ranked:
        # A shape fitted to points alone within this cost of the best is also fitted to the rays
        if not rival.fitted_to_rays and cost < lowest + 150:
            rival = replace(rival, solid=_fit_mesh_to_rays(observation, rival.solid), fitted_to_rays=True)
            return rival if _selection_cost(observation, rival) < lowest else best
    return best


def _fit_mesh_to_rays(observation: SurfaceObservation, solid: Solid) -> Solid:
    """Return a solid moved over the table and scaled in width and height to fit the rays."""
    low, high = solid.mesh.bounds
    foot = np.array([*(low + high)[:2] / 2, low[2]])

    def matrix(x: np.ndarray) -> np.ndarray:
        moved = np.diag([x[2] / METRES_PER_SCALE, x[2] / METRES_PER_SCALE, x[3] / METRES_PER_SCALE, 1.0])
        moved[:3, 3] = foot + np.array([x[0], x[1], 0]) - moved[:3, :3] @ foot
        return moved

    def hits(view: SurfaceObservation, x: np.ndarray) -> RayHits:
        return mesh_hits(view, transform(matrix(x), solid.mesh.vertices), solid.mesh.faces)

    initial = np.array([0, 0, METRES_PER_SCALE, METRES_PER_SCALE])
    # 45: evaluations in a fit whose cost takes milliseconds
    return solid.transformed(matrix(fit_to_rays(observation, hits, initial, slice(2, 4), 45)))


def _plausible(proposal: ShapeProposal, observation: SurfaceObservation, described: ShapeProposal) -> bool:
    """Return whether the size agrees with the visible surface: hidden parts are seldom larger than visible ones."""
    extents = proposal.solid.mesh.extents
    visible = np.ptp(np.quantile(observation.points, [0.02, 0.98], axis=0), axis=0)
    largest = MAX_SIZE_RATIO * np.maximum(visible, described.solid.mesh.extents) + 0.005
    return bool((extents < largest).all() and (extents > MIN_SIZE_RATIO * visible - 0.005).all())


def _selection_cost(observation: SurfaceObservation, proposal: ShapeProposal) -> float:
    """Return the cost of a proposal; the lowest wins."""
    error, parameters = observation.mesh_error(proposal.solid.mesh), proposal.parameter_count
    rays = INDEPENDENT_RAYS * len(observation.views)
    return rays * float(np.log(error + observation.noise_floor)) + parameters * float(np.log(rays))


def _propose_shapes(
    observation: SurfaceObservation, size: np.ndarray, yaw: float, centre: np.ndarray, method: str, is_open: bool
) -> Iterator[ShapeProposal]:
    if method in ("best", "box"):
        yield from propose_boxes(observation, size, yaw, centre)
    if method in ("best", "ball", "cylinder", "revolved"):
        yield from propose_revolutions(observation, size, yaw, centre, is_open)
    if method in ("best", "extruded"):
        yield from propose_extrusions(observation)
    if method in ("best", "layered"):
        yield from propose_layers(observation, size, yaw, centre)
