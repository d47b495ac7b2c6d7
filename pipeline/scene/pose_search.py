"""Search the pose of a known shape from an object's measured points, over orientations, heights and scales."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pipeline.assets import Asset
from pipeline.geometry import Pose, quat_about_z
from pipeline.scene import registration
from pipeline.scene.observed_object import ObservedObject
from pipeline.scene.placement import Placement
from pipeline.scene.registration import RegistrationResult, RegistrationTarget, Surface
from pipeline.scene.support_relations import SUPPORT_TOLERANCE_M, candidate_heights
from pipeline.store import digest, memoise

UP_ROTATIONS = {
    "upright": np.eye(3),
    "on its back": np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]),
    "on its front": np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]]),
    "on its left": np.array([[0, 0, 1.0], [0, 1, 0], [-1, 0, 0]]),
    "on its right": np.array([[0, 0, -1.0], [0, 1, 0], [1, 0, 0]]),
    "upside down": np.diag([1.0, -1, -1]),
}
"""World from object before the rotation about z, by the name of the side that an object rests on."""
LYING_PENALTY_M = 0.002
"""Penalty added to the cost of poses that are not upright: most objects stand."""
GOOD_COST_M = 0.004
"""An upright fit of a lower cost is accepted without trying other orientations."""
RESCALE_COST_RATIO = 0.6
"""A scaled fit is accepted below this fraction of the cost in the asset's own size: most assets have the right size."""
UNSUPPORTED_RATIO = 0.5
"""A fit without known support is accepted below this fraction of the best cost: most objects have a known support."""
SCALE_RANGE = (0.94, 1.06)
"""Factors around each scale that is tried."""
REFIT_SCALES = np.geomspace(0.8, 1.25, 11)
"""Factors around the present scale in a refit that may change it."""


@dataclass(frozen=True)
class SearchEffort:
    """How many poses a search tries."""

    yaw_count: int = 12
    refine_count: int = 3
    """Coarse registrations that are refined."""
    scale_count: int = 5
    """Scales tried in SCALE_RANGE."""
    max_top_error: float = np.inf
    """Metres between the measured top and the shape's beyond which an orientation is not tried."""
    max_coarse_cost: float = np.inf
    """Cost in metres of the best coarse registration beyond which none is refined."""


FULL_EFFORT, COARSE_EFFORT = SearchEffort(), SearchEffort(yaw_count=8, refine_count=1, scale_count=3)
"""The coarse one takes 0.6 of the time. Of 24 candidates for six real objects, 22 cover the mask equally well to 5 %;
the other two fit in neither search."""
CHECK_EFFORT = SearchEffort(yaw_count=8, refine_count=1, max_top_error=0.012, max_coarse_cost=0.005)
"""Finds a shape that fits in its own size to a few millimetres, and gives up any other soon."""


@dataclass(frozen=True, eq=False)
class PoseFit:
    """The pose and scale at which a shape fits an object's measured points."""

    pose: Pose
    """world_from_object; pos is the centre of the shape's box."""
    scale: float
    """Relative to the asset's own size."""
    cost: float
    """Registration cost in metres; 0 if too few points were measured."""


def search_pose(
    observed: ObservedObject,
    asset: Asset,
    scale: float = 1.0,
    below: tuple[Placement, ...] = (),
    cache: Path | None = None,
    effort: SearchEffort = FULL_EFFORT,
) -> PoseFit:
    """Return the best fit of an asset, on the table or on one of the placements `below`. Takes up to two seconds.

    The asset keeps its own size unless a scale near `scale` fits clearly better. Results are memoised in `cache`.
    """
    heights = candidate_heights(observed, below)
    evidence = (observed.key, heights, asset.digest, scale)
    extra = () if effort == FULL_EFFORT else (str(effort),)
    return cached_fit(cache, (*evidence, *extra), lambda: _search(observed, asset, scale, heights, effort))


def fit_own_size(
    observed: ObservedObject, asset: Asset, cache: Path | None = None, effort: SearchEffort = FULL_EFFORT
) -> PoseFit:
    """Return the best fit of an asset in its own size on the table. Takes a fraction of a search over scales.

    The cost is GIVEN_UP_COST_M if the effort gives up.
    """
    evidence = (observed.key, asset.digest, "own size")
    extra = () if effort == FULL_EFFORT else (str(effort),)
    heights = candidate_heights(observed, ())
    return cached_fit(cache, (*evidence, *extra), lambda: _search_orientations(asset, 1.0, observed, heights, effort))


def is_unsupported(fit: PoseFit, asset: Asset, heights: list[float]) -> bool:
    """Whether the bottom of a fitted asset lies at none of the known heights."""
    bottom = fit.pose.pos[2] - np.abs(fit.pose.rotation[2]) @ asset.size * fit.scale / 2
    return all(abs(bottom - height) > SUPPORT_TOLERANCE_M for height in heights)


def refine_pose(asset: Asset, start: Pose, target: RegistrationTarget) -> PoseFit:
    """Return the fit of a reconstructed asset, registered from its own pose, which is nearly right already."""
    if len(target.points) < 30:
        return PoseFit(start, 1.0, 0.0)
    result = registration.register(registration.load_surface(asset.mesh, asset.size), target, [start])
    return PoseFit(result.pose, 1.0, result.cost)


def refit_pose(
    start: Pose, scale: float, refit_scale: bool, asset: Asset, observed: ObservedObject, heights: list[float]
) -> PoseFit:
    """Return the fit registered from a start pose and from all around. Poses near the start are preferred."""
    target = observed.target
    near = registration.register(registration.load_surface(asset.mesh, asset.size * scale), target, [start])
    around = _search_orientations(asset, scale, observed, heights)
    best = around if around.cost < near.cost - LYING_PENALTY_M else PoseFit(near.pose, scale, near.cost)
    if not refit_scale:
        return best
    return min((best, *(_rescale(asset, best, by, target) for by in REFIT_SCALES)), key=lambda fit: fit.cost)


def cached_fit(cache: Path | None, evidence: tuple, compute: Callable[[], PoseFit]) -> PoseFit:
    """Return the fit memoised in the folder `cache` for the same evidence, or compute it."""

    def compute_json() -> dict[str, list[float]]:
        fit = compute()
        return {
            "pos": fit.pose.pos.tolist(),
            "quat_wxyz": fit.pose.quat_wxyz.tolist(),
            "scale": [fit.scale],
            "cost": [fit.cost],
        }

    data = memoise(cache, digest("laid", *evidence), compute_json) if cache else compute_json()
    return PoseFit(Pose(np.array(data["pos"]), np.array(data["quat_wxyz"])), data["scale"][0], data["cost"][0])


def _search(
    observed: ObservedObject, asset: Asset, scale: float, heights: list[float], effort: SearchEffort
) -> PoseFit:
    """Return the fit in the asset's own size, or a scaled one that fits clearly better."""
    if len(observed.points) < 10:
        return PoseFit(_described_pose(observed, asset.size * scale), scale, 0.0)
    unscaled = _search_orientations(asset, 1.0, observed, heights, effort)
    if unscaled.cost < GOOD_COST_M:
        return unscaled
    tried = [unscaled, _search_orientations(asset, scale, observed, heights, effort)]
    factors = np.geomspace(*SCALE_RANGE, effort.scale_count)
    scaled = min((_rescale(asset, fit, by, observed.target) for fit in tried for by in factors), key=lambda f: f.cost)
    best = scaled if scaled.cost < RESCALE_COST_RATIO * unscaled.cost else unscaled
    unsupported = _search_unsupported(asset, observed, heights, effort) if best.cost > GOOD_COST_M else None
    if unsupported is not None and unsupported.cost < min(UNSUPPORTED_RATIO * best.cost, GOOD_COST_M):
        return unsupported
    return best


def _search_unsupported(
    asset: Asset, observed: ObservedObject, heights: list[float], effort: SearchEffort
) -> PoseFit | None:
    """Return an upright fit in the asset's own size whose top is at the measured top, on something that was not seen.

    None if the points exclude such a pose.
    """
    surface = registration.load_surface(asset.mesh, asset.size)
    bottom = observed.top - float(np.ptp(surface.points[:, 2]))
    if bottom < SUPPORT_TOLERANCE_M or any(abs(bottom - height) < SUPPORT_TOLERANCE_M for height in heights):
        return None
    # 0.12: share of the measured points that may lie below an unsupported pose. Above it, the object is a taller one.
    if (observed.points[:, 2] < bottom - GOOD_COST_M).mean() > 0.12:
        return None
    target = observed.target
    best = _register_orientation(surface, target, "upright", bottom, effort)
    if best.cost > 2 * GOOD_COST_M:
        return None
    for share in (1, 0.5, 0.25):
        # Offsets tried around the height that the measured top gives; then half and a quarter of them
        starts = [
            Pose(best.pose.pos + np.array([0, 0, share * by]), best.pose.quat_wxyz)
            for by in (-0.008, -0.004, 0.004, 0.008)
        ]
        results = (registration.register(surface, target, [start]) for start in starts)
        best = min((best, *results), key=lambda result: result.cost)
    return PoseFit(best.pose, 1.0, best.cost)


def _search_orientations(
    asset: Asset, scale: float, observed: ObservedObject, heights: list[float], effort: SearchEffort = FULL_EFFORT
) -> PoseFit:
    """Return the best fit in one size, over the orientations and heights that bring the top near the measured top."""
    surface = registration.load_surface(asset.mesh, asset.size * scale)
    shows_inside = observed.description.attributes.shape == "bowl"
    options = sorted(
        (_top_error(surface, UP_ROTATIONS[up], z, observed), i, up, z)
        for i, up in enumerate(UP_ROTATIONS)
        if not (shows_inside and up == "upside down")
        for z in heights
    )
    least = options[0][0]
    # Upright poses are tried if the asset's top is this close to the measured top
    upright = [o for o in options if o[2] == "upright" and o[0] < max(least, 0.03)]
    upright, options = ([o for o in part if o[0] <= effort.max_top_error] for part in (upright, options))
    results = [_register_orientation(surface, observed.target, up, z, effort) for _, _, up, z in upright]
    if not any(result.cost < GOOD_COST_M for result in results):
        others = [o for o in options if o not in upright and o[0] <= least + 0.01]
        results += [_register_orientation(surface, observed.target, up, z, effort) for _, _, up, z in others]
    given_up = RegistrationResult(_described_pose(observed, asset.size * scale), registration.GIVEN_UP_COST_M)
    best = min(results, key=lambda result: result.cost, default=given_up)
    return PoseFit(best.pose, scale, best.cost)


def _rescale(asset: Asset, fit: PoseFit, factor: float, target: RegistrationTarget) -> PoseFit:
    """Return the fit in another size, registered from the same pose at the same height."""
    surface = registration.load_surface(asset.mesh, asset.size * fit.scale * factor)
    rotated = surface.points @ fit.pose.rotation.T
    bottom = fit.pose.pos[2] + rotated[:, 2].min() / factor
    start = Pose(np.array([*fit.pose.pos[:2], bottom - rotated[:, 2].min()]), fit.pose.quat_wxyz)
    result = registration.register(surface, target, [start])
    return PoseFit(result.pose, fit.scale * factor, result.cost)


def _register_orientation(
    surface: Surface, target: RegistrationTarget, up: str, bottom: float, effort: SearchEffort
) -> RegistrationResult:
    """Return the best registration from all around in one orientation; its cost includes the penalty for lying."""
    starts = registration.start_poses(surface, target, UP_ROTATIONS[up], bottom, effort.yaw_count)
    result = registration.register(surface, target, starts, effort.refine_count, effort.max_coarse_cost)
    return result if up == "upright" else replace(result, cost=result.cost + LYING_PENALTY_M)


def _top_error(surface: Surface, up: np.ndarray, bottom: float, observed: ObservedObject) -> float:
    """Return the metres between the measured top and the top of the surface at this height."""
    height = float(np.ptp((surface.points @ up.T)[:, 2]))
    return abs(bottom + height - observed.top)


def _described_pose(observed: ObservedObject, size: np.ndarray) -> Pose:
    a = observed.description.attributes
    return Pose(np.array([*a.centre[:2], observed.ground + size[2] / 2]), quat_about_z(a.yaw))
