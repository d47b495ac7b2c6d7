"""Proposes spheres, cylinders, cones and solids of revolution, upright or lying, with round or oval sections.

The axis and the radius at each height are fitted together, by least squares on the distance of the points from the
surface (point to plane: a point has the weight of its normal's radial component).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from pipeline.assets import solids
from pipeline.assets.reconstruct.shape_proposal import (
    MIN_EXTENT_M,
    PLACEHOLDER_TEXTURE,
    ShapeProposal,
    cylinder_hits,
    fit_to_rays,
    placed_solid,
    sphere_hits,
)
from pipeline.assets.reconstruct.view_observation import SurfaceObservation
from pipeline.geometry import rotation_about_z

LOSS_SCALE_M = 0.002
"""Residual from which the loss grows more slowly than its square."""
KNOT_SPACING_M = 0.012
"""Approximate distance between the knots of a profile."""
MAX_KNOTS = 11
"""Knots of a profile, at most."""
MIN_LYING_ASPECT = 1.25
"""Length over width from which a lying axis is tried."""
MIN_RADIAL_NORMAL = 0.35
"""Radial component of a normal below which a point has no weight: tops and ends do not show the radius."""
DEFAULT_WALL_M = 0.003
"""Wall of a hollow object that was not observed from both sides."""
PRIOR_WEIGHT = 0.02
"""Weight of the described position and width against the points; it decides where points say nothing."""
OPEN_BOX = "an open box"
"""Label of a hollow shape with corners: a bin or a tray."""
MIN_PIT_DEPTH_RATIO = 0.2
"""Depth below the rim over the height, from which observed points are inside a pit."""


@dataclass(frozen=True, eq=False)
class _RevolutionFit:
    """An axis and the radius along it."""

    rotation: np.ndarray
    """World from the axis's frame, whose z is along the axis, shape (3, 3)."""
    origin: np.ndarray
    """A point on the axis, shape (3,)."""
    heights: np.ndarray
    """Positions of the knots along the axis, shape (K,), in metres from the origin."""
    radii: np.ndarray
    """Radii at the knots, shape (K,)."""
    squeeze: float = 1.0
    """Second half axis of the section over its first."""
    power: float = 2
    """Power of the section |x|^p + |y|^p = r^p: 2 is round, larger is a rounded square."""

    def local(self, points: np.ndarray) -> np.ndarray:
        return (points - self.origin) @ self.rotation

    def reach(self, local: np.ndarray) -> np.ndarray:
        """Return the radius of the section through each point (N, 3) in the axis's frame, of shape (N,)."""
        x, y = np.abs(local[:, 0]), np.abs(local[:, 1]) / self.squeeze
        return (x**self.power + y**self.power) ** (1 / self.power)

    @property
    def outline(self) -> np.ndarray:
        """The section of radius 1, of shape (M, 2)."""
        circle = solids.circle()
        return circle / (np.abs(circle) ** self.power).sum(1, keepdims=True) ** (1 / self.power) * [1, self.squeeze]

    @property
    def yaw(self) -> float:
        return float(np.arctan2(self.rotation[1, 0], self.rotation[0, 0]))


def propose_revolutions(
    observation: SurfaceObservation, size: np.ndarray, yaw: float, centre: np.ndarray, is_open: bool = False
) -> Iterator[ShapeProposal]:
    """Yield all proposals; size, yaw and centre of the described box are the initial values.

    With `is_open` round ones are hollow, too, whose inside nothing shows.
    """
    if (ball := _propose_ball(observation, centre, size)) is not None:
        yield ball
    knots = int(np.clip(np.ceil((observation.top_z - observation.bottom_z) / KNOT_SPACING_M), 4, MAX_KNOTS))
    kinds = ((1, "round"), (2, "round"), (knots, "round"), (knots, "oval"), (2, "square"), (knots, "square"),
             ((knots + 1) // 2, "even"))  # fmt: skip
    for count, kind in kinds:
        fit = _fit_upright(observation, size, yaw, centre, count, kind)
        pit = _pit_profile(observation, fit) if kind in ("round", "square") else None
        solid = fit if count > 1 else _fit_cylinder_to_rays(observation, fit)
        yield _upright_proposal(solid, count)
        if pit is None and is_open and kind == "round":
            yield _hollow_proposal(observation, solid, np.zeros((0, 2)), count)
        elif pit is not None:
            if kind == "square":
                fit = _fit_upright(observation, size, yaw, centre, count, "open")
                pit = _pit_profile(observation, fit)
            if pit is not None:
                yield _hollow_proposal(observation, fit, pit, count)
    longer, shorter = size[:2].max(), size[:2].min()
    if longer > MIN_LYING_ASPECT * shorter and observation.top_z - observation.bottom_z < MIN_LYING_ASPECT * longer:
        along = yaw if size[0] >= size[1] else yaw + np.pi / 2
        knots = int(np.clip(np.ceil(longer / KNOT_SPACING_M), 4, MAX_KNOTS))
        for count in (1, 2, knots):
            fit = _fit_lying(observation, along, centre, count)
            yield _lying_proposal(fit if count > 1 else _fit_cylinder_to_rays(observation, fit), count)


def _fit_cylinder_to_rays(observation: SurfaceObservation, fit: _RevolutionFit) -> _RevolutionFit:
    """Return a cylinder moved, rotated and scaled to fit the rays, resting on the support."""
    is_lying = abs(fit.rotation[2, 2]) < 0.5
    along = fit.rotation[:, 2] if is_lying else np.array([0, 0, 1.0])
    centre = fit.origin + along * fit.heights.mean()
    prior = np.array([centre[0], centre[1], fit.radii[0], np.ptp(fit.heights), 0.0][: 4 + is_lying])

    def pose(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        half_height = x[2] if is_lying else x[3] / 2
        rotation = rotation_about_z(20 * x[4]) @ fit.rotation if is_lying else fit.rotation
        return np.array([x[0], x[1], observation.bottom_z + half_height]), rotation

    x = fit_to_rays(observation, lambda view, x: cylinder_hits(view, *pose(x), x[2], x[3]), prior, slice(2, 4))
    origin, rotation = pose(x)
    return _RevolutionFit(rotation, origin, np.array([-x[3] / 2, x[3] / 2]), np.repeat(x[2], 2))


# ---------------------------------------------------------------------- balls


def _propose_ball(observation: SurfaceObservation, centre: np.ndarray, size: np.ndarray) -> ShapeProposal | None:
    """Return a sphere through the points, resting on the support; None if its radius is implausible."""
    initial = np.array([*centre[:2], float(np.mean(size)) / 2])

    def sphere_centre(x: np.ndarray) -> np.ndarray:
        return np.array([x[0], x[1], observation.bottom_z + x[2]])

    def residuals(x: np.ndarray) -> np.ndarray:
        return np.linalg.norm(observation.points - sphere_centre(x), axis=1) - x[2]

    x = least_squares(residuals, initial, loss="soft_l1", f_scale=LOSS_SCALE_M, max_nfev=20).x
    radius = float(x[2])
    if not MIN_EXTENT_M < radius < 0.3:
        return None
    x = fit_to_rays(observation, lambda view, x: sphere_hits(view, sphere_centre(x), x[2]), x, slice(2, 3))
    radius = float(x[2])
    solid = solids.ball(radius, PLACEHOLDER_TEXTURE)
    solid = solid.translated(x[0], x[1], observation.bottom_z - solid.mesh.bounds[0, 2])
    return ShapeProposal("ball", solid, 0.0, 3, "a ball", fitted_to_rays=True)


# ---------------------------------------------------------------------- upright


def _fit_upright(
    observation: SurfaceObservation, size: np.ndarray, yaw: float, centre: np.ndarray, count: int, kind: str
) -> _RevolutionFit:
    """Return a fit of a vertical axis with `count` radii.

    Kind "oval" allows an elliptic section, "square" a rounded rectangle, "open" one with its inside; "even" makes the
    lower half mirror the upper one, which is observed better.
    """
    points, normals = observation.points, observation.normals
    low, high = observation.bottom_z, observation.top_z
    is_oval, is_symmetric, half = kind in ("oval", "square", "open"), kind == "even", (high - low) / 2
    # Power of a rounded square section; a box's corners are sharper
    power = {"square": 6, "open": 10}.get(kind, 2)
    heights = np.linspace(low + half if is_symmetric else low, high, count) if count > 1 else np.array([low])
    upper_z = np.abs(points[:, 2] - low - half) + low + half
    weights_by_knot = _knot_weights(upper_z if is_symmetric else points[:, 2], heights)
    axes = rotation_about_z(yaw)[:2, :2] if is_oval else np.eye(2)
    width = size[0] if is_oval else size[:2].mean()
    prior = np.concatenate([centre[:2], np.full(count, width / 2), [0.0, np.log(size[1] / size[0])] if is_oval else []])
    x = prior
    for _ in range(2):
        offset = points[:, :2] - x[:2]
        outward = (normals[:, :2] * offset).sum(1)
        outer = outward > -0.3 * np.linalg.norm(offset, axis=1)
        radial = np.linalg.norm(normals[:, :2], axis=1)
        # the outside of the far walls is hidden, so their inside tells where they are
        weights = radial * (radial > MIN_RADIAL_NORMAL) * (outer | (kind == "open"))
        wall = np.where(outer, 0.0, DEFAULT_WALL_M)

        def residuals(x: np.ndarray, weights: np.ndarray = weights, wall: np.ndarray = wall) -> np.ndarray:
            angle, squeeze = (x[-2], np.exp(x[-1])) if is_oval else (0.0, 1.0)
            local = (points[:, :2] - x[:2]) @ axes @ rotation_about_z(angle)[:2, :2]
            distance = _section_distance(local, weights_by_knot @ x[2 : 2 + count], squeeze, power)
            prior_residuals = PRIOR_WEIGHT * np.sqrt(len(points)) * (x - prior)
            bending = _bending_penalty(x[2 : 2 + count], len(points))
            return np.concatenate([weights * (distance + wall), bending, prior_residuals])

        x = least_squares(residuals, x, loss="soft_l1", f_scale=LOSS_SCALE_M, max_nfev=15).x
    radii = np.maximum(x[2 : 2 + count], MIN_EXTENT_M / 2)
    rotation = rotation_about_z(yaw + x[-2]) if is_oval else rotation_about_z(yaw)
    squeeze = float(np.exp(x[-1]).clip(0.3, 3.0)) if is_oval else 1.0
    if count == 1:
        heights, radii = np.array([low, high]), np.repeat(radii, 2)
    if is_symmetric:
        heights = np.concatenate([2 * (low + half) - heights[:0:-1], heights])
        radii = np.concatenate([radii[:0:-1], radii])
    return _RevolutionFit(rotation, np.array([x[0], x[1], 0.0]), heights, radii, squeeze, power)


def _section_distance(local: np.ndarray, radii: np.ndarray, squeeze: float, power: float) -> np.ndarray:
    """Return the approximate distance of points (N, 2) from a section of half widths r and r * squeeze.

    Sampson's distance.
    """
    x, y = np.abs(local[:, 0]), np.abs(local[:, 1]) / squeeze
    reach = np.maximum((x**power + y**power) ** (1 / power), 1e-6)
    rate = np.hypot((x / reach) ** (power - 1), (y / reach) ** (power - 1) / squeeze)
    return (reach - radii) / np.maximum(rate, 0.1)


def _knot_weights(along: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """Return the weight of each knot's radius at each point, shape (N, K): hat functions."""
    if len(heights) == 1:
        return np.ones((len(along), 1))
    return np.stack([np.interp(along, heights, row) for row in np.eye(len(heights))], 1)


def _bending_penalty(radii: np.ndarray, points: int) -> np.ndarray:
    """Return the residuals of a bent profile, so that noise does not make it ripple."""
    # Weight of a profile's second differences against the points
    return 0.15 * np.sqrt(points) * np.diff(radii, 2) if len(radii) > 2 else np.zeros(0)


def _upright_proposal(fit: _RevolutionFit, count: int) -> ShapeProposal:
    solid = placed_solid(_closed_lathe(fit.radii, fit.heights, fit.outline), fit.rotation, fit.origin)
    square, is_oval = fit.power != 2, fit.squeeze != 1
    if square:
        label = "a tapered block" if count == 2 else "a squarish profile"
    else:
        label = {1: "a cylinder", 2: "a cone"}.get(count, "an oval profile" if is_oval else "a turned profile")
    # 15: extra parameters charged to a tapered block: most objects with corners are boxes
    parameter_count = count + 3 + 2 * is_oval + square + 15 * (square and count == 2)
    return ShapeProposal(
        "cylinder" if count == 1 else "revolved", solid, fit.yaw, parameter_count, label, fitted_to_rays=count == 1
    )


def _closed_lathe(radii: np.ndarray, heights: np.ndarray, outline: np.ndarray | None = None) -> solids.Solid:
    """Return a closed solid about z. A profile that is not convex is cut into parts at its knots."""
    convex = len(radii) < 3 or bool((np.diff(radii, 2) < 0.002).all())
    cuts = () if convex else tuple(heights[1:-1])
    rows = np.linspace(heights[0], heights[-1], 9) if len(heights) < 9 else heights
    radii = np.interp(rows, heights, radii)
    ends = [0, radii[0] / 2], [radii[-1] / 2, 0]
    profile = [
        *((r, rows[0]) for r in ends[0]),
        *zip(radii, rows, strict=True),
        *((r, rows[-1]) for r in ends[1]),
    ]
    return solids.lathe(profile, PLACEHOLDER_TEXTURE, outline, cuts)


# ---------------------------------------------------------------------- hollow


def _pit_profile(observation: SurfaceObservation, fit: _RevolutionFit) -> np.ndarray | None:
    """Return radius and height of the observed inside, shape (N, 2); None if the object is not hollow."""
    local = fit.local(observation.points)
    radius = fit.reach(local)
    wall = np.interp(local[:, 2], fit.heights, fit.radii)
    height = observation.top_z - observation.bottom_z
    deep = local[:, 2] < observation.top_z - MIN_PIT_DEPTH_RATIO * height
    inward = ((observation.normals @ fit.rotation)[:, :2] * local[:, :2]).sum(1) < 0
    rim = local[local[:, 2] > observation.top_z - MIN_PIT_DEPTH_RATIO * height]
    octants = np.histogram(np.arctan2(rim[:, 1], rim[:, 0]), bins=8, range=(-np.pi, np.pi))[0]
    # 6: eighths of a turn in which the rim of a hollow object must be observed
    around = np.count_nonzero(octants > 0.01 * max(1, len(rim))) >= 6
    inside = deep & (radius < 0.97 * wall) & (inward | (radius < 0.7 * wall))
    if height < 0.02 or not around or inside.sum() < max(12, 0.04 * len(local)):
        return None
    return np.stack([radius[inside], local[inside, 2]], 1)


def _hollow_proposal(
    observation: SurfaceObservation, fit: _RevolutionFit, pit: np.ndarray, count: int
) -> ShapeProposal:
    """Return the fit with a pit as deep as observed. Where one side of the wall is hidden, it follows the other."""
    low, high = float(fit.heights[0]), float(fit.heights[-1])
    visible_floor = float(np.quantile(pit[:, 1], 0.05)) if len(pit) else high
    sees_floor = visible_floor < low + 0.4 * (high - low)
    floor = max(visible_floor, low + DEFAULT_WALL_M) if sees_floor else low + 2 * DEFAULT_WALL_M
    heights = np.unique(np.concatenate([np.linspace(low, high, 9), [floor]]))
    outer = np.interp(heights, fit.heights, fit.radii)
    wall = _wall_thickness(fit, pit)
    inner = np.maximum(outer - wall, MIN_EXTENT_M / 2)
    reach = 0.06 * (high - low)
    inside = np.array([_radius_near(pit, height, reach) for height in heights])
    known = np.isfinite(inside) & (heights > floor) & (heights < high - 0.15 * (high - low))
    inner[known] = inside[known]
    # Height over width below which a hollow object seen from above hides its outside and shows its inside
    if known.any() and high - low < 0.8 * 2 * fit.radii.max():
        hidden = ~_outside_visible(observation, fit, heights, reach) & (heights <= heights[known].max())
        limit = np.interp(heights, heights[known], inner[known]) + wall
        outer = np.where(hidden, np.minimum(outer, limit), outer)
    outer = np.maximum(outer, inner + wall / 2)
    above = heights >= floor - 1e-9
    outside = np.vstack([[0, low], np.c_[outer, heights]])
    inside = np.vstack([[0, floor], np.c_[inner, heights][above]])
    hollow = solids.hollow_lathe(outside, inside, PLACEHOLDER_TEXTURE, fit.outline)
    solid = placed_solid(hollow, fit.rotation, fit.origin)
    if fit.power == 2:
        return ShapeProposal("revolved", solid, 0.0, count + 6, "a hollow turned profile", is_hollow=True)
    # 40: extra parameters charged to an open box, a cost of 250: three bins gain 460 to 530 over all else, a mug 133
    return ShapeProposal("revolved", solid, fit.yaw, count + 9 + 40, OPEN_BOX, is_hollow=True)


def _radius_near(pit: np.ndarray, height: float, reach: float) -> float:
    """Return the radius of the inside near a height; NaN with too few points."""
    near = np.abs(pit[:, 1] - height) < reach
    return float(np.median(pit[near, 0])) if near.sum() >= 6 else np.nan


def _outside_visible(
    observation: SurfaceObservation, fit: _RevolutionFit, heights: np.ndarray, reach: float
) -> np.ndarray:
    """Return at which heights the outside was observed, shape (K,), bool."""
    local = fit.local(observation.points)
    normals = observation.normals @ fit.rotation
    outward = (normals[:, :2] * local[:, :2]).sum(1) > 0.3 * np.linalg.norm(local[:, :2], axis=1)
    heights_seen = local[outward, 2]
    return np.array([np.count_nonzero(np.abs(heights_seen - height) < reach) >= 6 for height in heights])


def _wall_thickness(fit: _RevolutionFit, pit: np.ndarray) -> float:
    """Return the wall's thickness in metres, from the inside's points in the upper half."""
    outer = np.interp(pit[:, 1], fit.heights, fit.radii)
    upper = (pit[:, 1] > fit.heights.mean()) & (pit[:, 0] > 0.7 * outer)
    if upper.sum() < 10:
        return DEFAULT_WALL_M
    return float(np.clip(np.median(outer[upper] - pit[upper, 0]), 0.0015, 0.2 * fit.radii.max()))


# ---------------------------------------------------------------------- lying


def _fit_lying(observation: SurfaceObservation, along: float, centre: np.ndarray, count: int) -> _RevolutionFit:
    """Return a fit of a horizontal axis near the yaw `along` with `count` radii, its widest part on the support."""
    points, normals = observation.points - centre, observation.normals
    bottom = observation.bottom_z - centre[2]
    s = points @ rotation_about_z(along)[:, 0]
    low, high = np.quantile(s, [0.01, 0.99])
    heights = np.linspace(low, high, count) if count > 1 else np.array([low])
    weights_by_knot = _knot_weights(s, heights)
    radius = (observation.top_z - observation.bottom_z) / 2
    prior = np.concatenate([[0.0, 0.0, bottom + radius], np.full(count, radius)])

    def residuals(x: np.ndarray) -> np.ndarray:
        yaw_rotation = rotation_about_z(along + x[0])
        across, up = points @ yaw_rotation[:, 1] - x[1], points[:, 2] - x[2]
        radial = np.hypot(normals[:, 2], normals @ yaw_rotation[:, 1])
        weights = radial * (radial > MIN_RADIAL_NORMAL)
        distance = np.hypot(across, up) - weights_by_knot @ x[3:]
        rest_residual = np.sqrt(len(points)) * 0.5 * (x[3:].max() - (x[2] - bottom))
        prior_residuals = PRIOR_WEIGHT * np.sqrt(len(points)) * (x - prior)
        bending = _bending_penalty(x[3:], len(points))
        return np.concatenate([weights * distance, [rest_residual], bending, prior_residuals])

    x = least_squares(residuals, prior, loss="soft_l1", f_scale=LOSS_SCALE_M, max_nfev=20).x
    yaw_rotation = rotation_about_z(along + x[0])
    rotation = np.stack([yaw_rotation[:, 1], [0, 0, 1.0], yaw_rotation[:, 0]], 1)
    origin = centre + yaw_rotation[:, 1] * x[1] + np.array([0, 0, x[2]])
    ends = np.array([low, high])
    radii = np.maximum(x[3:], MIN_EXTENT_M / 2)
    if count == 1:
        return _RevolutionFit(rotation, origin, ends, np.repeat(radii, 2))
    return _RevolutionFit(rotation, origin, heights, radii)


def _lying_proposal(fit: _RevolutionFit, count: int) -> ShapeProposal:
    solid = placed_solid(_closed_lathe(fit.radii, fit.heights), fit.rotation, fit.origin)
    forward = fit.rotation[:, 2]
    label = {1: "a cylinder, lying", 2: "a cone, lying"}.get(count, "a turned profile, lying")
    yaw = float(np.arctan2(forward[1], forward[0]))
    return ShapeProposal(
        "cylinder" if count == 1 else "revolved", solid, yaw, count + 4, label, fitted_to_rays=count == 1
    )
