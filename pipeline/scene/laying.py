"""A shape laid over what was seen of an object: registration from many starts, in the sizes that may be."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pipeline.assets import Asset
from pipeline.description import Description
from pipeline.geometry import Pose
from pipeline.scene import registration
from pipeline.scene.holding import HELD, bottoms_of
from pipeline.scene.placement import Placement
from pipeline.scene.registration import Fit, Sight, Surface
from pipeline.scene.seen import Seen
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
HANGS = 0.5
"""Share of that cost that a fit with nothing known under it must reach: most things stand on the table or on what was
found."""
LITTLE = 0.12
"""Share of a thing's points that may lie below where it would hang: more, and it is a taller thing."""
RISES = (-0.008, -0.004, 0.004, 0.008)
"""Metres by which a thing whose top was seen may stand lower or higher than that says, in turn halved twice."""
AROUND = (0.94, 1.06)
"""Between these factors of each scale that is tried."""
FREE = np.geomspace(0.8, 1.25, 11)
"""Around the present scale, when a person lets a refit change it."""


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


def laid_over(
    thing: Seen,
    asset: Asset,
    scale: float,
    sight: Sight,
    below: tuple[Placement, ...],
    cache: Path | None,
    effort: Effort = THOROUGH,
) -> Laid:
    """In its own size or scaled about `scale`, on what holds it; found again in the folder `cache`."""
    what = (thing.points, thing.segment.mask, bottoms_of(thing, below), asset.digest, scale)
    less = () if effort == THOROUGH else (str(effort),)
    return found_again(cache, (*what, *less), lambda: _lay(asset, scale, thing, sight, below, effort))


def hangs(laid: Laid, asset: Asset, bottoms: list[float]) -> bool:
    """Whether a shape was laid where nothing is known to hold it, which needs better reasons."""
    low = laid.pose.pos[2] - np.abs(laid.pose.rotation[2]) @ asset.size * laid.scale / 2
    return all(abs(low - known) > HELD for known in bottoms)


def touched_up(asset: Asset, start: Pose, sight: Sight) -> Laid:
    """A shape made from the view lies nearly right: moved only where that fits what was seen better."""
    if len(sight.points) < 30:
        return Laid(start, 1.0, 0.0)
    fit = registration.register(registration.surface(asset.mesh, asset.size), sight, [start])
    return Laid(fit.pose, 1.0, fit.cost)


def refitted(
    start: Pose, scale: float, free: bool, asset: Asset, thing: Seen, sight: Sight, bottoms: list[float]
) -> Laid:
    """Laid over its points from where it stands and from all around; what lies near where it stood is preferred."""
    here = registration.register(registration.surface(asset.mesh, asset.size * scale), sight, [start])
    around = _turned(asset, scale, thing, sight, bottoms)
    best = around if around.cost < here.cost - LYING else Laid(here.pose, scale, here.cost)
    if not free:
        return best
    return min((best, *(_resized(asset, best, by, sight) for by in FREE)), key=lambda one: one.cost)


def found_again(cache: Path | None, what: tuple, fit: Callable[[], Laid]) -> Laid:
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


def _lay(asset: Asset, scale: float, thing: Seen, sight: Sight, below: tuple[Placement, ...], effort: Effort) -> Laid:
    """A known asset over its points: in its own size, or scaled where that explains them clearly better."""
    if len(thing.points) < 10:
        return Laid(_as_described(thing.description, asset.size * scale), scale, 0.0)
    bottoms = bottoms_of(thing, below)
    own = _turned(asset, 1.0, thing, sight, bottoms, effort)
    if own.cost < GOOD:
        return own
    tried = [own, _turned(asset, scale, thing, sight, bottoms, effort)]
    factors = np.geomspace(*AROUND, effort.sizes)
    scaled = min((_resized(asset, laid, by, sight) for laid in tried for by in factors), key=lambda laid: laid.cost)
    best = scaled if scaled.cost < RESCALED * own.cost else own
    hung = _hung(asset, thing, sight, bottoms, effort) if best.cost > GOOD else None
    return hung if hung is not None and hung.cost < min(HANGS * best.cost, GOOD) else best


def _hung(asset: Asset, thing: Seen, sight: Sight, bottoms: list[float], effort: Effort) -> Laid | None:
    """Upright, in its own size, its top where the top was seen, on something unseen; None where it cannot be so."""
    shape = registration.surface(asset.mesh, asset.size)
    bottom = thing.top - float(np.ptp(shape.points[:, 2]))
    if bottom < HELD or any(abs(bottom - known) < HELD for known in bottoms):
        return None
    if (thing.points[:, 2] < bottom - GOOD).mean() > LITTLE:
        return None
    best = _fit(shape, sight, "upright", bottom, effort)
    if best.cost > 2 * GOOD:
        return None
    for share in (1, 0.5, 0.25):
        starts = [Pose(best.pose.pos + np.array([0, 0, share * by]), best.pose.quat_wxyz) for by in RISES]
        best = min(
            (best, *(registration.register(shape, sight, [start]) for start in starts)), key=lambda fit: fit.cost
        )
    return Laid(best.pose, 1.0, best.cost)


def _turned(
    asset: Asset, scale: float, thing: Seen, sight: Sight, bottoms: list[float], effort: Effort = THOROUGH
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


def _misfit(shape: Surface, up: np.ndarray, bottom: float, thing: Seen) -> float:
    """Metres between the top seen and the top the asset would have."""
    height = float(np.ptp((shape.points @ up.T)[:, 2]))
    return abs(bottom + height - thing.top)


def _as_described(description: Description, size: np.ndarray) -> Pose:
    a = description.attributes
    return Pose(np.array([*a.centre[:2], size[2] / 2]), np.array([np.cos(a.yaw / 2), 0, 0, np.sin(a.yaw / 2)]))
