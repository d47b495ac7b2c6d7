"""Where a thing can be set down: on top of another, in a container, in a row."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from pipeline.simulation import spots
from pipeline.simulation.goals import Goal
from pipeline.simulation.groups import InRow
from pipeline.simulation.objects import Object, Region, hull
from pipeline.simulation.parts import Part
from pipeline.simulation.physics import Physics
from pipeline.simulation.state import State

TOP = 0.008
"""What is this close under the highest point counts as the top, in metres."""


def under(physics: Physics, thing: Object, xy: np.ndarray) -> tuple[float, float]:
    """Highest and lowest surface under the thing's footprint if it hung over xy (2,), world z in metres."""
    shape = thing.outline - thing.position[:2]
    shape = np.concatenate([shape, (shape + np.roll(shape, 1, 0)) / 2])
    points = np.concatenate([xy + shape * 0.95, xy + shape * 0.5, np.atleast_2d(xy)])
    heights, _, _ = physics.surface(points, without=thing.name)
    heights = np.nan_to_num(heights, nan=0.0)
    return float(heights.max()), float(heights.min())


def top(physics: Physics, base: Object, thing: Object, riders: list[Object]) -> np.ndarray | None:
    """Middle of the base's free top, of shape (2,); None where the riders leave no room."""
    points = _inner(base)
    heights, labels, _ = physics.surface(points, without=thing.name)
    own = labels == physics.index(base.name)
    if not own.any():
        return None
    flat = points[own & (heights > np.nanmax(heights[own]) - TOP)]
    middle = flat.mean(0)
    if not riders:
        return middle
    free = flat[spots.fits(flat, thing, riders, 0.005)]
    return free[np.linalg.norm(free - middle, axis=1).argmin()] if len(free) else None


def opening(physics: Physics, container: Object) -> np.ndarray | None:
    """Outline of a container's inside as seen from above, of shape (N, 2); None where it is not hollow."""
    points = _inner(container, 0.005, 22)
    heights, labels, _ = physics.surface(points)
    own = labels == physics.index(container.name)
    low = container.top - max(0.008, 0.25 * container.height)
    hollow = points[(own & (heights < low)) | (~own & (labels >= 0) & (Region(container.outline).depth(points) > 0.01))]
    wide = len(hollow) >= 6 and np.ptp(hollow, axis=0).min() > 0.012
    return hull(hollow) if wide and (own & (heights < low)).any() else None


def tray(physics: Physics, thing: Object, part: Part) -> np.ndarray | None:
    """Outline of what shows of a drawer's inside from above, of shape (N, 2); None where it is not hollow."""
    outline = hull(part.corners[:, :2])
    points = spots.grid(Region(outline), 0.006)
    heights, labels, _ = physics.surface(points)
    floor = part.top - max(0.008, 0.25 * (part.top - part.bottom))
    hollow = points[(labels >= 0) & (heights < floor) & (heights > part.bottom - 0.005)]
    own = labels == physics.index(thing.name)
    wide = len(hollow) >= 6 and np.ptp(hollow, axis=0).min() > 0.012
    return hull(hollow) if wide and (own & (heights < floor)).any() else None


def narrow(outline: np.ndarray) -> float:
    """Smallest width of a convex outline (N, 2), in metres, of directions 5 degrees apart."""
    angle = np.linspace(0, np.pi, 36, endpoint=False)
    return float(np.ptp(outline @ np.stack([np.cos(angle), np.sin(angle)]), axis=0).min())


def into(
    physics: Physics, thing: Object, container: Object, room: np.ndarray, inside: list[Object]
) -> tuple[np.ndarray, float | None]:
    """Best place and turn in a container whose inside has the outline `room`: lowest, then freest, then middle."""
    region = Region(room)
    middle = region.centre
    points = np.concatenate([middle[None], spots.grid(region, 0.012)])
    best: tuple[float, np.ndarray, float | None] | None = None
    for yaw in (None, container.yaw, container.yaw + np.pi / 2):
        turned = thing if yaw is None else thing.moved(yaw=yaw)
        fitting = points[spots.standing(points, turned, region, 0.003)]
        if not len(fitting):
            continue
        alone = fitting[spots.fits(fitting, turned, inside, 0.004)]
        crowded = not len(alone)
        choice = fitting if crowded else alone
        xy = choice[np.linalg.norm(choice - middle, axis=1).argmin()]
        price = under(physics, turned, xy)[0] + (0.05 if crowded else 0.0) + float(np.linalg.norm(xy - middle)) / 10
        if best is None or price < best[0] - 1e-6:
            best = price, xy, yaw
    if best is None:
        freest = points[np.minimum(spots.clearance(points, inside), 0.2).argmax()] if inside else middle
        return freest, None
    return best[1], best[2]


def crowded(state: State, goal: InRow) -> str:
    """Which neighbours a row's spacing leaves no room for, in a sentence; empty where all have room."""
    half = _halves(state, goal)
    for (a, ra), (b, rb) in pairwise(zip(goal.names, half, strict=True)):
        if goal.spacing is not None and ra + rb > goal.spacing + goal.tolerance:
            need, spacing = (ra + rb) * 100, goal.spacing * 100
            return f"{a} and {b} need {need:.1f} cm side by side, the row's spacing is {spacing:.1f} cm"
    return ""


def row(
    state: State, goal: InRow, obstacles: list[Object], gap: float, about: Sequence[Goal] = (), around: float = 0.01
) -> dict[str, np.ndarray] | None:
    """Places for the members of a row on the table with the least way to carry, where the goals about them hold, too.

    None where no place holds them all.
    """
    members, half = [state[name] for name in goal.names], _halves(state, goal)
    axis = state.right if goal.along == "right" else state.away
    steps = [max(goal.spacing or 0.0, a + b + (0.002 if goal.spacing else gap)) for a, b in pairwise(half)]
    offsets = np.concatenate([[0], np.cumsum(steps)])
    offsets = offsets - (offsets[0] + offsets[-1]) / 2
    centres = np.concatenate([state.table.centre[None], spots.grid(state.table, 0.02)])
    good = np.ones(len(centres), bool)
    for member, offset in zip(members, offsets, strict=True):
        places = centres + offset * axis
        good &= spots.standing(places, member, state.table, 0.0)
        good[good] = spots.fits(places[good], member, obstacles, around)
    here = np.array([m.position[:2] for m in members])
    ways = np.linalg.norm(centres[:, None] + offsets[:, None] * axis - here, axis=-1).sum(1)
    for i in np.argsort(ways + 1e3 * ~good, kind="stable")[: int(good.sum())]:
        slots = {m.name: centres[i] + offset * axis for m, offset in zip(members, offsets, strict=True)}
        hoped = state
        for name, xy in slots.items() if about else ():
            hoped = hoped.put(name, xy)
        if all(g.met(hoped) for g in about):
            return slots
    return None


def _halves(state: State, goal: InRow) -> list[float]:
    """Half of each member's extent along the row."""
    axis = state.right if goal.along == "right" else state.away
    return [float(np.ptp(state[name].outline @ axis)) / 2 for name in goal.names]


def _inner(thing: Object, pitch: float = 0.008, across: int = 12) -> np.ndarray:
    inside = spots.grid(Region(thing.outline), max(pitch, thing.reach / across))
    return np.concatenate([thing.position[None, :2], inside])
