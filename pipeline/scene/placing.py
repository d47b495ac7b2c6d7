"""Where each object stands, from its points: upright or lying, on the table or on what holds it.

An object that the library knows is laid over its points; any other is made from the view. A person's pose wins.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np

from pipeline.assets import Asset, Library
from pipeline.assets.reconstruct import reconstruct
from pipeline.assets.reconstruct.provided import provided
from pipeline.description import Description
from pipeline.frame import Frame
from pipeline.frame.support import Support
from pipeline.geometry import Pose, transform
from pipeline.matching import Match
from pipeline.scene import registration
from pipeline.scene.given import Given, weighed
from pipeline.scene.placement import Found, Placement, Scene
from pipeline.scene.registration import Fit, Sight, Surface
from pipeline.segmentation import Segment
from pipeline.store import digest, memo

UPS = {
    "upright": np.eye(3),
    "on its back": np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]),
    "on its front": np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]]),
    "on its left": np.array([[0, 0, 1.0], [0, 1, 0], [-1, 0, 0]]),
    "on its right": np.array([[0, 0, -1.0], [0, 1, 0], [1, 0, 0]]),
}
"""World from object, a turn about z aside."""
LYING = 0.002
"""Metres by which a lying fit must be better than an upright one: most things stand."""
STANDS = 0.03
"""Metres by which the top seen may miss an upright asset's top, for it to be tried upright."""
GOOD = 0.004
"""Metres: an upright fit this close is taken without trying others."""
RESCALED = 0.6
"""Share of the cost in the asset's own size that a scaled fit must reach: most things are as large as they say."""
AROUND = (0.94, 1.06)
"""Between these factors of each scale that is tried."""
FREE = np.geomspace(0.8, 1.25, 11)
"""Around the present scale, when a person lets a refit change it."""
CLOSE = 0.002
"""Metres: what fits this well is not doubted."""
BELIED = 0.5
"""Share of the asset's cost at which a plain shape explains the points so much better that the asset is not there."""
LIKELY = 0.9
"""Score of a match from which poor depth does not speak against it."""
BELIED_HOLLOW = 0.3
"""The same for what things are put into: a plain shape would lose its inside."""
BELIED_SCALED = 0.75
"""The same for an asset that fits in another size only."""
PLAIN = {"box": "box", "cube": "box", "cylinder": "cylinder", "sphere": "ball"}
"""Shapes that speak against an asset, and how they are made."""
NEAR = 0.05
"""Metres from the main cluster of a segment's points within which smaller clusters belong to it."""
ABOVE = 0.003
HELD = 0.015
"""Metres by which the lowest points seen of a thing may lie below the top of what holds it."""
STEADY = 0.6
"""Share of a thing's foot that must lie on its holder."""
HIDDEN = 0.025
"""Metres by which what was made from the view may be wider than it shows, where another thing hides it."""


@dataclass(frozen=True)
class Effort:
    """How thoroughly a pose is looked for."""

    turns: int = 12
    exact: int = 3
    """Of the rough fits, those laid exactly."""
    sizes: int = 5
    """Tried around a scale."""


THOROUGH, GLANCE = Effort(), Effort(turns=8, exact=1, sizes=3)
"""A glance takes 0.6 of the time; of 24 candidates for six real objects 22 cover the mask as well to 5 %, and the two
others fit in neither way."""


@dataclass(frozen=True, eq=False)
class Laid:
    """A shape over what was seen of it."""

    pose: Pose
    """world_from_object; pos is the centre of the shape's box."""
    scale: float
    """Of the asset's own size."""
    cost: float
    """Mean robust distance in metres, as of a Fit; 0 where too little was seen to tell."""


@dataclass(frozen=True, eq=False)
class _Seen:
    """One object with its points, of shape (N, 3), in world axes."""

    segment: Segment
    description: Description
    match: Match | None
    points: np.ndarray

    @property
    def top(self) -> float:
        return float(np.quantile(self.points[:, 2], 0.98))

    @property
    def low(self) -> float:
        return float(np.quantile(self.points[:, 2], 0.05))


def place(
    frame: Frame,
    support: Support,
    segments: Iterable[Segment],
    descriptions: Iterable[Description],
    matches: Iterable[Match],
    library: Library,
    folder: Path,
    given: Mapping[int, Given] | None = None,
    cache: Path | None = None,
) -> Scene:
    """The twin as it was seen, not yet settled. What is made from the view is written below `folder`.

    Poses found are kept in the folder `cache` where one is given: what did not change is not laid again.
    """
    described = {d.segment_id: d for d in descriptions if d.is_object}
    matched = {m.segment_id: m for m in matches}
    seen = [
        _Seen(s, described[s.id], matched.get(s.id), object_points(frame, support, s))
        for s in segments
        if s.id in described
    ]
    placements: dict[int, Placement] = {}
    for thing in sorted(seen, key=lambda s: s.low if len(s.points) else 0.0):  # what holds comes before what it holds
        wanted = (given or {}).get(thing.segment.id, Given())
        below = tuple(placements.values())
        placed = _place(frame, support, thing, library, folder, below, wanted, cache)
        holder = _holder(thing, below)
        if holder is not None and wanted.fixed is None and holder.asset_id is None:
            placements[holder.segment_id] = _reaching_under(holder, placed)
        placements[thing.segment.id] = placed
    scene = Scene(
        world_from_camera=support.world_from_camera,
        table=support.polygon,
        table_rgb=_table_colour(frame, support),
        placements=tuple(placements[s.segment.id] for s in seen),
        intrinsics=frame.intrinsics,
    )
    return weighed(scene, given or {})


def lay(
    frame: Frame,
    support: Support,
    segment: Segment,
    description: Description,
    asset: Asset,
    scale: float = 1.0,
    below: Iterable[Placement] = (),
    cache: Path | None = None,
    effort: Effort = THOROUGH,
) -> Laid:
    """An asset as it would lie over what was seen of one segment, on the table or on what is already placed `below`.

    In its own size, or scaled about `scale` where that explains the points clearly better. Two seconds at most; found
    again in the folder `cache` where one is given.
    """
    thing = _Seen(segment, description, None, object_points(frame, support, segment))
    sight = Sight(thing.points, frame, support.world_from_camera)
    return _laid_over(thing, asset, scale, sight, tuple(below), cache, effort)


def object_points(frame: Frame, support: Support, segment: Segment) -> np.ndarray:
    """A segment's own points in world axes, of shape (N, 3): above the table, without what bled in at its edge."""
    inner = cv2.erode(segment.mask.astype(np.uint8), np.ones((3, 3), np.uint8)).astype(bool)
    mask = inner if inner.sum() > 100 else segment.mask
    points = transform(support.world_from_camera, frame.points[mask & (frame.depth > 0)].astype(float))
    points = points[points[:, 2] > ABOVE]
    return points[_of_one_thing(points)]


def _of_one_thing(points: np.ndarray) -> np.ndarray:
    """Which points belong to the main cluster or near it, of shape (N,), bool."""
    import open3d

    if len(points) < 30:
        return np.ones(len(points), bool)
    step = max(1, len(points) // 1500)
    cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points[::step]))
    labels = np.asarray(cloud.cluster_dbscan(eps=0.02, min_points=4))
    sizes = np.bincount(labels[labels >= 0], minlength=1)
    if not sizes.any():
        return np.ones(len(points), bool)
    main = points[::step][labels == sizes.argmax()]
    low, high = main.min(0) - NEAR, main.max(0) + NEAR
    keep = np.zeros(len(points), bool)
    for label in np.flatnonzero(sizes >= 0.05 * sizes.max()):
        part = points[::step][labels == label]
        if ((part > low) & (part < high)).all(1).mean() > 0.5:
            keep |= ((points >= part.min(0) - 0.005) & (points <= part.max(0) + 0.005)).all(1)
    return keep


def _place(
    frame: Frame,
    support: Support,
    thing: _Seen,
    library: Library,
    folder: Path,
    below: tuple[Placement, ...],
    given: Given,
    cache: Path | None,
) -> Placement:
    sight = Sight(thing.points, frame, support.world_from_camera)
    shape, laid, asset = thing.description.attributes.shape, None, None
    bottom = _holder_top(thing, below)

    def make(way: str) -> tuple[Asset, Laid]:
        made = reconstruct(frame, support, thing.segment, _standing_on(thing.description, bottom), folder, way)
        start = _raised(made.world_from_object, made.asset.size, bottom)
        seen = (thing.points, thing.segment.mask, made.asset.digest, start.matrix)
        return made.asset, _found(cache, seen, lambda: _touched_up(made.asset, start, sight))

    if thing.match is not None and thing.match.asset_id is not None and given.way is None:
        asset, scale = library[thing.match.asset_id], thing.match.scale
        laid = _laid_over(thing, asset, scale, sight, below, cache)
        fits = laid.cost < GOOD and laid.scale == 1
        sure = thing.match.source == "human" or fits or shape not in PLAIN
        if sure or not _belied(asset, laid, make(PLAIN[shape])[1], _likely(thing.match)):
            return _placement(thing, asset, asset.id, laid, _given(laid, given, asset, thing, sight, below, cache))
    service = provided(frame, thing.segment, folder) if given.way == "provider" else None
    if service is not None:
        laid = _laid_over(thing, service, 1.0, sight, below, cache)
        return _placement(thing, service, None, laid, _given(laid, given, service, thing, sight, below, cache))
    asset, laid = make(given.way or "best")
    return _placement(thing, asset, None, laid, _given(laid, given, asset, thing, sight, below, cache))


def _laid_over(
    thing: _Seen,
    asset: Asset,
    scale: float,
    sight: Sight,
    below: tuple[Placement, ...],
    cache: Path | None,
    effort: Effort = THOROUGH,
) -> Laid:
    what = (thing.points, thing.segment.mask, _bottoms(thing, below), asset.digest, scale)
    less = () if effort == THOROUGH else (str(effort),)
    return _found(cache, (*what, *less), lambda: _lay(asset, scale, thing, sight, below, effort))


def _given(
    laid: Laid,
    given: Given,
    asset: Asset,
    thing: _Seen,
    sight: Sight,
    below: tuple[Placement, ...],
    cache: Path | None,
) -> Laid:
    """As a person wants it: where they put it, as large as they made it, looked for anew from there, or as found."""
    scale = laid.scale if given.scale is None else given.scale
    if given.refit:
        if given.pose is None or len(thing.points) < 10:
            return laid
        start, bottoms = given.pose, _bottoms(thing, below)
        what = ("refit", thing.points, thing.segment.mask, bottoms, asset.digest, start.matrix, scale, given.free)
        return _found(cache, what, lambda: _refitted(start, scale, given.free, asset, thing, sight, bottoms))
    if given.pose is not None:
        return Laid(given.pose, scale, 0.0)
    if scale == laid.scale:
        return laid
    lift = np.abs(laid.pose.rotation[2]) @ asset.size / 2 * (scale - laid.scale)  # its foot stays where it was
    return Laid(Pose(laid.pose.pos + np.array([0, 0, lift]), laid.pose.quat_wxyz), scale, 0.0)


def _refitted(
    start: Pose, scale: float, free: bool, asset: Asset, thing: _Seen, sight: Sight, bottoms: list[float]
) -> Laid:
    """Laid over its points from where it stands and from all around; what lies near where it stood is preferred."""
    here = registration.register(registration.surface(asset.mesh, asset.size * scale), sight, [start])
    around = _turned(asset, scale, thing, sight, bottoms)
    best = around if around.cost < here.cost - LYING else Laid(here.pose, scale, here.cost)
    if not free:
        return best
    return min((best, *(_resized(asset, best, by, sight) for by in FREE)), key=lambda one: one.cost)


def _belied(asset: Asset, laid: Laid, plain: Laid, likely: float) -> bool:
    """Whether what was seen is so much better explained by a plain shape that it cannot be the asset.

    Looks as likely as LIKELY are overruled only by a plain shape that fits well itself: where neither does, the depth
    is poor, and says nothing against them.
    """
    share = BELIED_HOLLOW if asset.container else BELIED if laid.scale == 1 else BELIED_SCALED
    poor = likely > LIKELY and plain.cost > CLOSE
    return laid.cost > CLOSE and plain.cost < laid.cost * share and not poor


def _likely(match: Match) -> float:
    """What the matcher gave the asset that was chosen, in [0, 1]."""
    return max((c.score for c in match.candidates if c.asset_id == match.asset_id), default=0.0)


def _found(cache: Path | None, what: tuple, fit: Callable[[], Laid]) -> Laid:
    """What was found for the same evidence, else what `fit` finds."""

    def compute() -> dict[str, list[float]]:
        laid = fit()
        return {
            "pos": laid.pose.pos.tolist(),
            "quat_wxyz": laid.pose.quat_wxyz.tolist(),
            "scale": [laid.scale],
            "cost": [laid.cost],
        }

    kept = memo(cache, digest("laid", *what), compute) if cache else compute()
    return Laid(Pose(np.array(kept["pos"]), np.array(kept["quat_wxyz"])), kept["scale"][0], kept["cost"][0])


def _placement(thing: _Seen, asset: Asset, asset_id: str | None, found: Laid, laid: Laid) -> Placement:
    measured, scale = thing.description.attributes, laid.scale
    return Placement(
        name=thing.description.name,
        segment_id=thing.segment.id,
        asset_id=asset_id,
        scale=scale,
        size=asset.size * scale,
        world_from_object=laid.pose,
        misfit=laid.cost,
        mesh=asset.mesh,
        collision=asset.collision,
        model=asset.model,
        joints=asset.joints,
        mass=asset.mass * scale**3,
        mass_range=(asset.mass_range[0] * scale**3, asset.mass_range[1] * scale**3),
        mass_source=asset.mass_source,
        friction=asset.friction,
        friction_range=asset.friction_range,
        friction_source=asset.friction_source,
        category=asset.category,
        shape=measured.shape,
        colour=measured.colour,
        rgb=measured.rgb,
        container=asset.container,
        licence=asset.licence,
        provenance=asset.provenance,
        found=None if laid is found else Found(found.pose, found.scale),
    )


def _lay(asset: Asset, scale: float, thing: _Seen, sight: Sight, below: tuple[Placement, ...], effort: Effort) -> Laid:
    """A known asset over its points: in its own size, or scaled where that explains them clearly better."""
    if len(thing.points) < 10:
        return Laid(_as_described(thing.description, asset.size * scale), scale, 0.0)
    bottoms = _bottoms(thing, below)
    own = _turned(asset, 1.0, thing, sight, bottoms, effort)
    if own.cost < GOOD:
        return own
    tried = [own, _turned(asset, scale, thing, sight, bottoms, effort)]
    factors = np.geomspace(*AROUND, effort.sizes)
    scaled = min((_resized(asset, laid, by, sight) for laid in tried for by in factors), key=lambda laid: laid.cost)
    return scaled if scaled.cost < RESCALED * own.cost else own


def _turned(
    asset: Asset, scale: float, thing: _Seen, sight: Sight, bottoms: list[float], effort: Effort = THOROUGH
) -> Laid:
    """In one size: every way up and every height at which its top is where the top was seen."""
    shape = registration.surface(asset.mesh, asset.size * scale)
    options = sorted((_misfit(shape, UPS[up], z, thing), i, up, z) for i, up in enumerate(UPS) for z in bottoms)
    least = options[0][0]
    stands = [o for o in options if o[2] == "upright" and o[0] < max(least, STANDS)]
    fits = [_fit(shape, sight, up, z, effort) for _, _, up, z in stands]
    if not any(fit.cost < GOOD for fit in fits):
        fits += [_fit(shape, sight, o[2], o[3], effort) for o in options if o not in stands and o[0] <= least + 0.01]
    best = min(fits, key=lambda fit: fit.cost)
    return Laid(best.pose, scale, best.cost)


def _resized(asset: Asset, laid: Laid, by: float, sight: Sight) -> Laid:
    """Another size from the same pose, resting where it rested."""
    shape = registration.surface(asset.mesh, asset.size * laid.scale * by)
    rotated = shape.points @ laid.pose.rotation.T
    bottom = laid.pose.pos[2] + rotated[:, 2].min() / by
    start = Pose(np.array([*laid.pose.pos[:2], bottom - rotated[:, 2].min()]), laid.pose.quat_wxyz)
    fit = registration.register(shape, sight, [start])
    return Laid(fit.pose, laid.scale * by, fit.cost)


def _fit(shape: Surface, sight: Sight, up: str, bottom: float, effort: Effort) -> Fit:
    """Laid over what was seen from all around; a lying fit has to be better than a standing one by some."""
    starts = registration.starts(shape, sight, UPS[up], bottom, effort.turns)
    fit = registration.register(shape, sight, starts, effort.exact)
    return fit if up == "upright" else replace(fit, cost=fit.cost + LYING)


def _misfit(shape: Surface, up: np.ndarray, bottom: float, thing: _Seen) -> float:
    """Metres between the top seen and the top the asset would have."""
    height = float(np.ptp((shape.points @ up.T)[:, 2]))
    return abs(bottom + height - thing.top)


def _bottoms(thing: _Seen, below: tuple[Placement, ...]) -> list[float]:
    """Heights that it may rest at: what holds it, where its lowest points are with nothing before them, the table."""
    a = thing.description.attributes
    holder, hangs = _holder_top(thing, below), float(a.centre[2] - a.size[2] / 2)
    heights = [holder] if holder > 0 else []
    if hangs > HELD and abs(hangs - holder) > HELD:
        heights.append(hangs)
    return [*heights, 0.0]


def _holder_top(thing: _Seen, below: tuple[Placement, ...]) -> float:
    """Height of what holds it; 0 for the table."""
    holder = _holder(thing, below)
    return _top(holder) if holder is not None else 0.0


def _holder(thing: _Seen, below: tuple[Placement, ...]) -> Placement | None:
    """The highest thing under it that it does not reach below; None for the table.

    What it stands on is partly hidden by it, and was seen too small: it need not lie under its middle, but under the
    foot that was seen. What merely stands behind has its foot elsewhere.
    """
    if not len(thing.points):
        return None
    middle = thing.points[:, :2].mean(0)
    foot = np.median(thing.points[thing.points[:, 2] < thing.low + 0.005, :2], axis=0)
    under = [
        p
        for p in below
        if not p.container
        and thing.low > _top(p) - HELD
        and thing.top > _top(p) + 0.005
        and (_covers(p, middle) or (thing.low < _top(p) + 2 * HELD and _covers(p, foot)))
    ]
    return max(under, key=_top, default=None)


def _reaching_under(holder: Placement, held: Placement) -> Placement:
    """The holder, made from the view, wide enough for what stands on it: that hides the holder's far side."""
    turn = holder.world_from_object.rotation.T
    at = turn @ (held.world_from_object.pos - holder.world_from_object.pos)
    half = (
        np.abs(turn @ held.world_from_object.rotation) @ held.size / (4 if held.container else 2)
    )  # bowls stand on less
    low = np.minimum(-holder.size / 2, at - STEADY * half)
    high = np.maximum(holder.size / 2, at + STEADY * half)
    low[2], high[2] = -holder.size[2] / 2, holder.size[2] / 2
    middle = holder.world_from_object.pos + turn.T @ (low + high) / 2
    return replace(holder, size=high - low, world_from_object=Pose(middle, holder.world_from_object.quat_wxyz))


def _top(p: Placement) -> float:
    return float(p.world_from_object.pos[2] + np.abs(p.world_from_object.rotation[2]) @ p.size / 2)


def _covers(p: Placement, xy: np.ndarray) -> bool:
    local = p.world_from_object.rotation.T @ (np.append(xy, p.world_from_object.pos[2]) - p.world_from_object.pos)
    return bool((np.abs(local) <= p.size / 2 + (HIDDEN if p.asset_id is None else 0.005)).all())


def _standing_on(description: Description, bottom: float) -> Description:
    """The description, its size counted from what holds the object and not from the table."""
    a = description.attributes
    top = float(a.centre[2] + a.size[2] / 2)
    if bottom <= 0 or a.centre[2] - a.size[2] / 2 > bottom - 0.005 or top - bottom < 0.01:
        return description
    size, centre = a.size.copy(), a.centre.copy()
    size[2], centre[2] = top - bottom, (top + bottom) / 2
    return replace(description, attributes=replace(a, size=size, centre=centre))


def _raised(pose: Pose, size: np.ndarray, bottom: float) -> Pose:
    """The pose at the height at which the box rests at `bottom`."""
    return Pose(np.array([*pose.pos[:2], bottom + np.abs(pose.rotation[2]) @ size / 2]), pose.quat_wxyz)


def _touched_up(asset: Asset, start: Pose, sight: Sight) -> Laid:
    """A shape made from the view lies nearly right: moved only where that fits what was seen better."""
    if len(sight.points) < 30:
        return Laid(start, 1.0, 0.0)
    fit = registration.register(registration.surface(asset.mesh, asset.size), sight, [start])
    return Laid(fit.pose, 1.0, fit.cost)


def _as_described(description: Description, size: np.ndarray) -> Pose:
    a = description.attributes
    return Pose(np.array([*a.centre[:2], size[2] / 2]), np.array([np.cos(a.yaw / 2), 0, 0, np.sin(a.yaw / 2)]))


def _table_colour(frame: Frame, support: Support) -> tuple[int, int, int]:
    pixels = frame.rgb[support.inliers]
    r, g, b = np.median(pixels, axis=0) if len(pixels) else (150, 140, 130)
    return int(r), int(g), int(b)
