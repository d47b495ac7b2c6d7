"""Things of revolution: balls, cylinders, cones and profiles turned about an axis, upright or lying, round or oval.

The axis and the radius at each height are found together, by least squares on the points' distance from the surface
(point to plane: a point counts as much as its surface faces away from the axis).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from pipeline.assets import shapes
from pipeline.assets.reconstruct.evidence import Evidence
from pipeline.assets.reconstruct.meeting import agreed, meets_ball, meets_cylinder
from pipeline.assets.reconstruct.proposal import PAINT, SMALLEST, Proposal, about_z, at

SOFT = 0.002
"""Metres from which an error counts less than its square."""
STIFF = 0.15
"""How much a profile's bend counts, against the points."""
KNOT = 0.012
"""Metres between a profile's knots, about."""
MOST = 11
"""Knots of a profile, at most."""
LIES = 1.25
"""Longer than wide by this factor before an axis is looked for along it."""
TOPS = 0.35
"""Share of a normal that must lie across the axis: tops and ends say nothing of the radius."""
TAPERED = 15
"""How many numbers more a tapered block counts than it has: things with corners are boxes, as a rule."""
SQUARE = 6
"""The power of a rounded square's section."""
WALL = 0.003
"""Metres of a hollow thing's wall, where it was not seen from both sides."""
PULL = 0.02
"""How much the described place and width count, against the points: they decide where the points say nothing."""
WIDE = 0.8
"""Height over width below which a hollow thing hides its outside from above, and shows all of its inside."""
RIM = 6
"""Eighths of a turn in which a hollow thing's rim must be seen."""
PIT = 0.2
"""Share of the height below the rim from which what is seen inside counts as hollow."""


@dataclass(frozen=True, eq=False)
class _Axis:
    """An axis and the radius along it."""

    rotation: np.ndarray
    """World from the axis' own axes (its z along it), of shape (3, 3)."""
    origin: np.ndarray
    """On the axis, of shape (3,)."""
    heights: np.ndarray
    """Of the knots along the axis, of shape (K,), in metres from the origin."""
    radii: np.ndarray
    """At the knots, of shape (K,)."""
    squeeze: float = 1.0
    """Across over along: the section's second half axis as a share of its first."""
    power: float = 2
    """Of the section |x|^p + |y|^p = r^p: 2 is round, more is a rounded square."""

    def local(self, points: np.ndarray) -> np.ndarray:
        return (points - self.origin) @ self.rotation


def turned(evidence: Evidence, size: np.ndarray, yaw: float, centre: np.ndarray) -> Iterator[Proposal]:
    """All that may be turned; size, yaw and centre of the described box are where the search starts."""
    if (ball := _ball(evidence, centre, size)) is not None:
        yield ball
    knots = int(np.clip(np.ceil((evidence.top - evidence.bottom) / KNOT), 4, MOST))
    kinds = ((1, "round"), (2, "round"), (knots, "round"), (knots, "oval"), (2, "square"), (knots, "square"),
             ((knots + 1) // 2, "even"))  # fmt: skip
    for count, kind in kinds:
        axis = _upright(evidence, size, yaw, centre, count, kind)
        pit = _pit(evidence, axis) if kind == "round" else None
        yield _standing(axis if count > 1 else _agreed(evidence, axis), count)
        if pit is not None:
            yield _open(evidence, axis, pit, count)
    long, short = size[:2].max(), size[:2].min()
    if long > LIES * short and evidence.top - evidence.bottom < LIES * long:
        along = yaw if size[0] >= size[1] else yaw + np.pi / 2
        knots = int(np.clip(np.ceil(long / KNOT), 4, MOST))
        for count in (1, 2, knots):
            axis = _lain(evidence, along, centre, long, short, count)
            yield _lying(axis if count > 1 else _agreed(evidence, axis), count)


def _agreed(evidence: Evidence, axis: _Axis) -> _Axis:
    """A cylinder, moved, turned and resized until the rays agree best; it rests on what holds it."""
    lies = abs(axis.rotation[2, 2]) < 0.5
    along = axis.rotation[:, 2] if lies else np.array([0, 0, 1.0])
    middle = axis.origin + along * axis.heights.mean()
    start = np.array([middle[0], middle[1], axis.radii[0], np.ptp(axis.heights), 0.0][: 4 + lies])

    def made(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rests = x[2] if lies else x[3] / 2
        turn = about_z(20 * x[4]) @ axis.rotation if lies else axis.rotation
        return np.array([x[0], x[1], evidence.bottom + rests]), turn

    x = agreed(evidence, lambda x: meets_cylinder(evidence, *made(x), x[2], x[3]), start, slice(2, 4))
    place, turn = made(x)
    return _Axis(turn, place, np.array([-x[3] / 2, x[3] / 2]), np.repeat(x[2], 2))


# ---------------------------------------------------------------------- balls


def _ball(evidence: Evidence, centre: np.ndarray, size: np.ndarray) -> Proposal | None:
    """A sphere through the points, resting where the thing rests."""
    start = np.array([*centre[:2], float(np.mean(size)) / 2])

    def errors(x: np.ndarray) -> np.ndarray:
        middle = np.array([x[0], x[1], evidence.bottom + x[2]])
        return np.linalg.norm(evidence.points - middle, axis=1) - x[2]

    x = least_squares(errors, start, loss="soft_l1", f_scale=SOFT, max_nfev=20).x
    radius = float(x[2])
    if not SMALLEST < radius < 0.3:
        return None
    x = agreed(
        evidence, lambda x: meets_ball(evidence, np.array([x[0], x[1], evidence.bottom + x[2]]), x[2]), x, slice(2, 3)
    )
    radius = float(x[2])
    solid = shapes.ball(radius, PAINT)
    solid = solid.at(x[0], x[1], evidence.bottom - solid.mesh.bounds[0, 2])
    return Proposal("ball", solid, 0.0, 3, "a ball", agreed=True)


# ---------------------------------------------------------------------- upright


def _upright(evidence: Evidence, size: np.ndarray, yaw: float, centre: np.ndarray, count: int, kind: str) -> _Axis:
    """The vertical axis, with `count` radii.

    "oval" lets the section be an ellipse, "square" a rounded rectangle; "even" makes the lower half mirror the upper
    one, which shows more.
    """
    points, normals = evidence.points, evidence.normals
    low, high = evidence.bottom, evidence.top
    oval, even, half = kind in ("oval", "square"), kind == "even", (high - low) / 2
    power = SQUARE if kind == "square" else 2
    heights = np.linspace(low + half if even else low, high, count) if count > 1 else np.array([low])
    weave = _weave(np.abs(points[:, 2] - low - half) + low + half if even else points[:, 2], heights)
    outer, middle = np.ones(len(points), bool), centre[:2]
    turn = about_z(yaw)[:2, :2] if oval else np.eye(2)
    wide = size[0] if oval else size[:2].mean()
    start = np.concatenate([middle, np.full(count, wide / 2), [0.0, np.log(size[1] / size[0])] if oval else []])
    x = start
    for _ in range(2):
        aside = points[:, :2] - x[:2]
        outward = (normals[:, :2] * aside).sum(1)
        outer = outward > -0.3 * np.linalg.norm(aside, axis=1)
        flat = np.linalg.norm(normals[:, :2], axis=1)
        weights = flat * (flat > TOPS) * outer

        def errors(x: np.ndarray, weights: np.ndarray = weights) -> np.ndarray:
            local = (points[:, :2] - x[:2]) @ turn
            angle, squeeze = (x[-2], np.exp(x[-1])) if oval else (0.0, 1.0)
            off = _beside(local @ about_z(angle)[:2, :2], weave @ x[2 : 2 + count], squeeze, power)
            pull = PULL * np.sqrt(len(points)) * (x - start)
            return np.concatenate([weights * off, _stiffness(x[2 : 2 + count], len(points)), pull])

        x = least_squares(errors, x, loss="soft_l1", f_scale=SOFT, max_nfev=15).x
    radii = np.maximum(x[2 : 2 + count], SMALLEST / 2)
    rotation = about_z(yaw + x[-2]) if oval else about_z(yaw)
    squeeze = float(np.exp(x[-1]).clip(0.3, 3.0)) if oval else 1.0
    if count == 1:
        heights, radii = np.array([low, high]), np.repeat(radii, 2)
    if even:
        heights = np.concatenate([2 * (low + half) - heights[:0:-1], heights])
        radii = np.concatenate([radii[:0:-1], radii])
    return _Axis(rotation, np.array([x[0], x[1], 0.0]), heights, radii, squeeze, power)


def _beside(local: np.ndarray, radii: np.ndarray, squeeze: float, power: float) -> np.ndarray:
    """About how far points (N, 2) lie beside a section of half widths r and r * squeeze (Sampson's distance)."""
    x, y = np.abs(local[:, 0]), np.abs(local[:, 1]) / squeeze
    reach = np.maximum((x**power + y**power) ** (1 / power), 1e-6)
    rate = np.hypot((x / reach) ** (power - 1), (y / reach) ** (power - 1) / squeeze)
    return (reach - radii) / np.maximum(rate, 0.1)


def _weave(along: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """How much each knot's radius counts at each point, of shape (N, K): hat functions."""
    if len(heights) == 1:
        return np.ones((len(along), 1))
    eye = np.eye(len(heights))
    return np.stack([np.interp(along, heights, row) for row in eye], 1)


def _stiffness(radii: np.ndarray, points: int) -> np.ndarray:
    """What a bent profile costs, so that noise does not ripple it."""
    return STIFF * np.sqrt(points) * np.diff(radii, 2) if len(radii) > 2 else np.zeros(0)


def _standing(axis: _Axis, count: int) -> Proposal:
    circle = shapes.circle()
    reach = (np.abs(circle) ** axis.power).sum(1, keepdims=True) ** (1 / axis.power)
    solid = at(_lathe(axis.radii, axis.heights, circle / reach * [1, axis.squeeze]), axis.rotation, axis.origin)
    yaw = float(np.arctan2(axis.rotation[1, 0], axis.rotation[0, 0]))
    square, oval = axis.power != 2, axis.squeeze != 1
    if square:
        said = "a tapered block" if count == 2 else "a squarish profile"
    else:
        said = {1: "a cylinder", 2: "a cone"}.get(count, "an oval profile" if oval else "a turned profile")
    freedom = count + 3 + 2 * oval + square + TAPERED * (square and count == 2)
    return Proposal("cylinder" if count == 1 else "revolved", solid, yaw, freedom, said, agreed=count == 1)


def _lathe(radii: np.ndarray, heights: np.ndarray, outline: np.ndarray | None = None) -> shapes.Solid:
    """A closed solid about z; its pieces are convex between the knots where the profile is not."""
    convex = len(radii) < 3 or bool((np.diff(radii, 2) < 0.002).all())
    cuts = () if convex else tuple(heights[1:-1])
    rows = np.linspace(heights[0], heights[-1], 9) if len(heights) < 9 else heights
    radii = np.interp(rows, heights, radii)
    ends = [0, radii[0] / 2], [radii[-1] / 2, 0]
    profile = [
        *((r, rows[0]) for r in ends[0]), *zip(radii, rows, strict=True), *((r, rows[-1]) for r in ends[1]),
    ]  # fmt: skip
    return shapes.lathe(profile, PAINT, outline, cuts)


# ---------------------------------------------------------------------- hollow


def _pit(evidence: Evidence, axis: _Axis) -> np.ndarray | None:
    """Radius and height of what is seen of the inside, of shape (N, 2); None where it is not hollow."""
    local = axis.local(evidence.points)
    radius = np.linalg.norm(local[:, :2], axis=1)
    wall = np.interp(local[:, 2], axis.heights, axis.radii)
    height = evidence.top - evidence.bottom
    deep = local[:, 2] < evidence.top - PIT * height
    inward = (evidence.normals[:, :2] * local[:, :2]).sum(1) < 0
    rim = local[local[:, 2] > evidence.top - PIT * height]
    eighths = np.histogram(np.arctan2(rim[:, 1], rim[:, 0]), bins=8, range=(-np.pi, np.pi))[0]
    around = np.count_nonzero(eighths > 0.01 * max(1, len(rim))) >= RIM
    inside = deep & (radius < 0.97 * wall) & (inward | (radius < 0.7 * wall))
    if height < 0.02 or not around or inside.sum() < max(12, 0.04 * len(local)):
        return None
    return np.stack([radius[inside], local[inside, 2]], 1)


def _open(evidence: Evidence, axis: _Axis, pit: np.ndarray, count: int) -> Proposal:
    """The same, hollow as far down as was seen; what was not seen of one side of its wall runs beside the other."""
    low, high = float(axis.heights[0]), float(axis.heights[-1])
    seen_floor = float(np.quantile(pit[:, 1], 0.05))
    floor = max(seen_floor, low + WALL) if seen_floor < low + 0.4 * (high - low) else low + 2 * WALL
    heights = np.unique(np.concatenate([np.linspace(low, high, 9), [floor]]))
    outer = np.interp(heights, axis.heights, axis.radii)
    wall = _wall(axis, pit)
    inner = np.maximum(outer - wall, SMALLEST / 2)
    reach = 0.06 * (high - low)
    inside = np.array([_radius_near(pit, height, reach) for height in heights])
    known = np.isfinite(inside) & (heights > floor) & (heights < high - 0.15 * (high - low))
    inner[known] = inside[known]
    if known.any() and high - low < WIDE * 2 * axis.radii.max():
        hidden = ~_outside_shows(evidence, axis, heights, reach) & (heights <= heights[known].max())
        beside = np.interp(heights, heights[known], inner[known]) + wall
        outer = np.where(hidden, np.minimum(outer, beside), outer)
    outer = np.maximum(outer, inner + wall / 2)
    above = heights >= floor - 1e-9
    outside = np.vstack([[0, low], np.c_[outer, heights]])
    inside = np.vstack([[0, floor], np.c_[inner, heights][above]])
    solid = at(shapes.hollow(outside, inside, PAINT), axis.rotation, axis.origin)
    return Proposal("revolved", solid, 0.0, count + 6, "a hollow turned profile", hollow=True)


def _radius_near(pit: np.ndarray, height: float, reach: float) -> float:
    """Of the inside about a height; nan where too little is seen of it there."""
    near = np.abs(pit[:, 1] - height) < reach
    return float(np.median(pit[near, 0])) if near.sum() >= 6 else np.nan


def _outside_shows(evidence: Evidence, axis: _Axis, heights: np.ndarray, reach: float) -> np.ndarray:
    """At which heights the outside was seen, of shape (K,), bool."""
    local = axis.local(evidence.points)
    outward = (evidence.normals[:, :2] * local[:, :2]).sum(1) > 0.3 * np.linalg.norm(local[:, :2], axis=1)
    shown = local[outward, 2]
    return np.array([np.count_nonzero(np.abs(shown - height) < reach) >= 6 for height in heights])


def _wall(axis: _Axis, pit: np.ndarray) -> float:
    """Thickness in metres, from the inside's points in the upper half."""
    outer = np.interp(pit[:, 1], axis.heights, axis.radii)
    upper = (pit[:, 1] > axis.heights.mean()) & (pit[:, 0] > 0.7 * outer)
    if upper.sum() < 10:
        return WALL
    return float(np.clip(np.median(outer[upper] - pit[upper, 0]), 0.0015, 0.2 * axis.radii.max()))


# ---------------------------------------------------------------------- lying


def _lain(evidence: Evidence, along: float, centre: np.ndarray, long: float, short: float, count: int) -> _Axis:
    """The horizontal axis near the angle `along`, with `count` radii; its widest part rests on what holds it."""
    points, normals = evidence.points - centre, evidence.normals
    bottom = evidence.bottom - centre[2]
    s = points @ about_z(along)[:, 0]
    low, high = np.quantile(s, [0.01, 0.99])
    heights = np.linspace(low, high, count) if count > 1 else np.array([low])
    weave = _weave(s, heights)
    radius = (evidence.top - evidence.bottom) / 2
    start = np.concatenate([[0.0, 0.0, bottom + radius], np.full(count, radius)])

    def errors(x: np.ndarray) -> np.ndarray:
        turn = about_z(along + x[0])
        across, up = points @ turn[:, 1] - x[1], points[:, 2] - x[2]
        flat = np.hypot(normals[:, 2], normals @ turn[:, 1])
        weights = flat * (flat > TOPS)
        off = np.hypot(across, up) - weave @ x[3:]
        rests = np.sqrt(len(points)) * 0.5 * (x[3:].max() - (x[2] - bottom))
        pull = PULL * np.sqrt(len(points)) * (x - start)
        return np.concatenate([weights * off, [rests], _stiffness(x[3:], len(points)), pull])

    x = least_squares(errors, start, loss="soft_l1", f_scale=SOFT, max_nfev=20).x
    turn = about_z(along + x[0])
    rotation = np.stack([turn[:, 1], [0, 0, 1.0], turn[:, 0]], 1)
    origin = centre + turn[:, 1] * x[1] + np.array([0, 0, x[2]])
    ends = np.array([low, high])
    radii = np.maximum(x[3:], SMALLEST / 2)
    if count == 1:
        return _Axis(rotation, origin, ends, np.repeat(radii, 2))
    return _Axis(rotation, origin, heights, radii)


def _lying(axis: _Axis, count: int) -> Proposal:
    solid = at(_lathe(axis.radii, axis.heights), axis.rotation, axis.origin)
    forward = axis.rotation[:, 2]
    said = {1: "a cylinder, lying", 2: "a cone, lying"}.get(count, "a turned profile, lying")
    yaw = float(np.arctan2(forward[1], forward[0]))
    return Proposal("cylinder" if count == 1 else "revolved", solid, yaw, count + 4, said, agreed=count == 1)
