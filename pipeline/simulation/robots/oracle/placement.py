"""Places where an object can be set down: on top of another, in a container, in a row."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from pipeline.simulation import free_space
from pipeline.simulation.articulated_parts import ArticulatedPart
from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.goals.in_row import InRow
from pipeline.simulation.objects import Object, Region, hull
from pipeline.simulation.physics import Physics
from pipeline.simulation.state import State


def surface_heights(physics: Physics, placed: Object, xy: np.ndarray) -> tuple[float, float]:
    """Return the highest and lowest surface under an object's footprint at xy (2,), world z in metres."""
    shape = placed.outline - placed.position[:2]
    shape = np.concatenate([shape, (shape + np.roll(shape, 1, 0)) / 2])
    points = np.concatenate([xy + shape * 0.95, xy + shape * 0.5, np.atleast_2d(xy)])
    heights, _, _ = physics.surface(points, without=placed.name)
    heights = np.nan_to_num(heights, nan=0.0)
    return float(heights.max()), float(heights.min())


def free_top(physics: Physics, base: Object, placed: Object, riders: list[Object]) -> np.ndarray | None:
    """Return the middle of the base's free top, of shape (2,); None where the riders leave no room."""
    points = _points_over(base)
    heights, labels, _ = physics.surface(points, without=placed.name)
    own = labels == physics.label_of(base.name)
    if not own.any():
        return None
    # Points this close below the highest one belong to the top, in metres
    flat = points[own & (heights > np.nanmax(heights[own]) - 0.008)]
    middle = flat.mean(0)
    if not riders:
        return middle
    free = flat[free_space.fits(flat, placed, riders, 0.005)]
    return free[np.linalg.norm(free - middle, axis=1).argmin()] if len(free) else None


def container_opening(physics: Physics, container: Object) -> np.ndarray | None:
    """Return the outline (N, 2) of a container's inside as seen from above; None where it is not hollow."""
    points = _points_over(container, 0.005, 22)
    heights, labels, _ = physics.surface(points)
    own = labels == physics.label_of(container.name)
    low = container.top - max(0.008, 0.25 * container.height)
    hollow = points[(own & (heights < low)) | (~own & (labels >= 0) & (Region(container.outline).depth(points) > 0.01))]
    wide = len(hollow) >= 6 and np.ptp(hollow, axis=0).min() > 0.012
    return hull(hollow) if wide and (own & (heights < low)).any() else None


def drawer_opening(physics: Physics, owner: Object, part: ArticulatedPart) -> np.ndarray | None:
    """Return the outline (N, 2) of a drawer's inside as seen from above; None where it is not hollow."""
    outline = hull(part.corners[:, :2])
    points = free_space.grid(Region(outline), 0.006)
    heights, labels, _ = physics.surface(points)
    floor = part.top - max(0.008, 0.25 * (part.top - part.bottom))
    hollow = points[(labels >= 0) & (heights < floor) & (heights > part.bottom - 0.005)]
    own = labels == physics.label_of(owner.name)
    wide = len(hollow) >= 6 and np.ptp(hollow, axis=0).min() > 0.012
    return hull(hollow) if wide and (own & (heights < floor)).any() else None


def smallest_width(outline: np.ndarray) -> float:
    """Return the smallest width of a convex outline (N, 2), in metres, over directions 5 degrees apart."""
    angle = np.linspace(0, np.pi, 36, endpoint=False)
    return float(np.ptp(outline @ np.stack([np.cos(angle), np.sin(angle)]), axis=0).min())


def place_inside(
    physics: Physics, placed: Object, container: Object, opening: np.ndarray, inside: list[Object]
) -> tuple[np.ndarray, float | None]:
    """Return the best place and yaw in a container with that opening (N, 2): lowest, then freest, then middle."""
    region = Region(opening)
    middle = region.centre
    points = np.concatenate([middle[None], free_space.grid(region, 0.012)])
    best: tuple[float, np.ndarray, float | None] | None = None
    for yaw in (None, container.yaw, container.yaw + np.pi / 2):
        turned = placed if yaw is None else placed.moved(yaw=yaw)
        fitting = points[free_space.inside_region(points, turned, region, 0.003)]
        if not len(fitting):
            continue
        alone = fitting[free_space.fits(fitting, turned, inside, 0.004)]
        crowded = not len(alone)
        choice = fitting if crowded else alone
        xy = choice[np.linalg.norm(choice - middle, axis=1).argmin()]
        height = surface_heights(physics, turned, xy)[0]
        cost = height + (0.05 if crowded else 0.0) + float(np.linalg.norm(xy - middle)) / 10
        if best is None or cost < best[0] - 1e-6:
            best = cost, xy, yaw
    if best is None:
        freest = points[np.minimum(free_space.clearance(points, inside), 0.2).argmax()] if inside else middle
        return freest, None
    return best[1], best[2]


def spacing_conflict(state: State, goal: InRow) -> str:
    """Return a sentence on the first neighbours that a row's spacing leaves no room for; empty for none."""
    half = _half_extents(state, goal)
    for (a, ra), (b, rb) in pairwise(zip(goal.names, half, strict=True)):
        if goal.spacing is not None and ra + rb > goal.spacing + goal.tolerance:
            need, spacing = (ra + rb) * 100, goal.spacing * 100
            return f"{a} and {b} need {need:.1f} cm side by side, the row's spacing is {spacing:.1f} cm"
    return ""


def row_places(
    state: State,
    goal: InRow,
    obstacles: list[Object],
    gap: float,
    required: Sequence[Goal] = (),
    margin: float = 0.01,
    reaches: Callable[[np.ndarray], np.ndarray] = lambda points: np.ones(len(points), bool),
) -> dict[str, np.ndarray] | None:
    """Return places (2,) on the table for the members of a row, by name, with the shortest way to carry.

    Members stand gap metres apart and margin metres from the obstacles, and the required goals hold; where the robot
    reaches them if there is such a place. None where there is no place at all.
    """
    members, half = [state[name] for name in goal.names], _half_extents(state, goal)
    axis = state.right if goal.along == "right" else state.away
    steps = [max(goal.spacing or 0.0, a + b + (0.002 if goal.spacing else gap)) for a, b in pairwise(half)]
    offsets = np.concatenate([[0], np.cumsum(steps)])
    offsets = offsets - (offsets[0] + offsets[-1]) / 2
    centres = np.concatenate([state.table.centre[None], free_space.grid(state.table, 0.02)])
    good, reached = np.ones((2, len(centres)), bool)
    for member, offset in zip(members, offsets, strict=True):
        places = centres + offset * axis
        good &= free_space.inside_region(places, member, state.table, 0.0)
        good[good] = free_space.fits(places[good], member, obstacles, margin)
        reached &= reaches(places)
    good = good & reached if (good & reached).any() else good
    present = np.array([m.position[:2] for m in members])
    distances = np.linalg.norm(centres[:, None] + offsets[:, None] * axis - present, axis=-1).sum(1)
    for i in np.argsort(distances + 1e3 * ~good, kind="stable")[: int(good.sum())]:
        found = {m.name: centres[i] + offset * axis for m, offset in zip(members, offsets, strict=True)}
        after = state
        for name, xy in found.items() if required else ():
            after = after.put(name, xy)
        if all(g.met(after) for g in required):
            return found
    return None


def _half_extents(state: State, goal: InRow) -> list[float]:
    """Return half of each member's extent along the row, in metres."""
    axis = state.right if goal.along == "right" else state.away
    return [float(np.ptp(state[name].outline @ axis)) / 2 for name in goal.names]


def _points_over(base: Object, pitch: float = 0.008, across: int = 12) -> np.ndarray:
    """Return the centre and a grid of points (N, 2) over an object's outline."""
    inside = free_space.grid(Region(base.outline), max(pitch, base.reach / across))
    return np.concatenate([base.position[None, :2], inside])
