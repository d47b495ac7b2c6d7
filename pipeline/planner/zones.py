"""Zones and containers that a program adds, zones that it empties, and free places on the table."""

from collections.abc import Mapping, Sequence

import numpy as np

from pipeline.planner.scene_objects import Arrangement, SceneObject, TableTop
from pipeline.simulation.goals.spec import PlannedGoal
from pipeline.simulation.objects import Region

OBJECT_MARGIN = 0.04
"""Free metres beside each object in a zone or a container that the program adds."""
ZONE_PLACES = {
    "middle_zone": (0.5, 0.5),
    "left_zone": (0, 0.5),
    "right_zone": (1, 0.5),
    "near_zone": (0.5, 0),
    "far_zone": (0.5, 1),
}
"""Zones that could be emptied: fractions of the objects' extent to the right and away."""
MAX_CLEARED = 5
"""Most objects that are moved to empty a zone."""


def place_zones(
    goals: Sequence[PlannedGoal], objects: Sequence[SceneObject], table: TableTop
) -> dict[str, tuple[tuple[float, float], float]] | None:
    """Return centre and side in metres of each zone and added container, clear of every object.

    None where one has no room. Where the table is the floor of a bin, containers stand outside its walls.
    """
    known = {t.name: t for t in objects}
    wanted: dict[str, list[SceneObject]] = {}
    for goal in goals:
        if goal.spec.zone == "fill" or goal.new_container:
            wanted.setdefault(goal.names[1], []).append(known[goal.names[0]])
    beside: dict[str, tuple[tuple[float, float], float]] = {}
    if table.bin:
        added = {goal.names[1] for goal in goals if goal.new_container}
        outside = {name: wanted.pop(name) for name in [*wanted] if name in added}
        there = [(np.array(t.position[:2]), t.diagonal / 2) for t in objects if not table.bin.contains(t.position[:2])]
        beside = _places_beside(outside, table.bin, table.polygon.mean(0), there)
    moving = {t.name for inside in wanted.values() for t in inside}
    every = [(np.array(t.position[:2]), t.diagonal / 2) for t in objects]
    staying = [(np.array(t.position[:2]), t.diagonal / 2) for t in objects if t.name not in moving]
    # unlike a zone, it cannot lie under what will be moved
    has_container = any(goal.new_container for goal in goals) and not table.bin
    free = _free_zones(wanted, every, table)
    if free is None and not has_container:
        free = _free_zones(wanted, staying, table)
    return None if free is None else free | beside


def zones_to_clear(
    goals: Sequence[PlannedGoal], objects: Sequence[SceneObject], table: TableTop
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return world centre (2,) and extents (2,) (right, away) in metres of each zone that has to be emptied.

    It contains the objects that have to leave it.
    """
    axes = np.stack([table.right, table.away])
    known = {t.name: t for t in objects}
    zones: dict[str, list[SceneObject]] = {}
    for goal in goals:
        if goal.spec.zone == "clear":
            zones.setdefault(goal.names[1], []).append(known[goal.names[0]])
    found = {}
    for name, inside in zones.items():
        centres = np.array([t.position[:2] for t in inside]) @ axes.T
        reach = np.array([t.diagonal / 2 for t in inside])[:, None]
        low, high = (centres - reach).min(0), (centres + reach).max(0)
        # Large enough that they also fit at other places.
        grown = np.maximum(high - low, np.sqrt(((2 * reach + OBJECT_MARGIN) ** 2).sum()))
        found[name] = ((low + high) / 2 @ axes, grown)
    return found


def why_no_room(goals: Sequence[PlannedGoal], known: Mapping[str, SceneObject], table: TableTop) -> str:
    """Return why what has to leave a zone finds no place elsewhere; empty where it does."""
    going = [known[a.names[0]] for a in goals if a.spec.zone == "clear"]
    taken = [(np.array(t.position[:2]), t.diagonal / 2) for t in known.values() if t not in going]
    for centre, size in zones_to_clear(goals, going, table).values():
        taken += _covering_discs(centre, size, table)
    for leaving in going:
        place = free_place(leaving.diagonal / 2, "", taken, table)
        if place is None:
            return f"there is no free place on the table for {leaving.name}"
        taken.append((place, leaving.diagonal / 2))
    return ""


def clearable_zones(objects: Sequence[SceneObject], table: TableTop, most: int = 4) -> dict[str, list[SceneObject]]:
    """Return the zones that could be emptied, with the objects in each, at most so many."""
    axes, spots = np.stack([table.right, table.away]), np.array([t.position[:2] for t in objects]).reshape(-1, 2)
    low, high = (spots @ axes.T).min(0, initial=0), (spots @ axes.T).max(0, initial=0)
    found = {}
    for zone, share in ZONE_PLACES.items():
        place = (low + (high - low) * share) @ axes
        nearest = sorted(objects, key=lambda t, place=place: float(np.hypot(*(place - t.position[:2]))))
        group = _all_in(nearest[: 2 if len(objects) > 3 else 1], objects, table) if nearest else []
        if 0 < len(group) <= most and _on_table(group, table):
            found[zone] = group
    return found


def objects_at(place: str, start: Arrangement, kept: frozenset[str]) -> list[SceneObject]:
    """Return what has to leave a side of the table ("left", "far", "middle" ...) so that a zone there is empty.

    These are the objects in that third of the arrangement, and what stands in the way; none where they are too many.
    """
    able = [o for o in start.objects if not o.parts]
    group = objects_in_third(place, start)
    if not group and place == "middle":
        return clearable_zones(able, start.table).get("middle_zone", [])
    group = _all_in(group, able, start.table) if group else []
    return group if len(group) <= MAX_CLEARED and not kept & {o.name for o in group} else []


def objects_in_third(place: str, start: Arrangement) -> list[SceneObject]:
    """Return the loose objects in one third of the arrangement: "left", "right", "near", "far" or "middle"."""
    low, high = 1 / 3, 2 / 3
    able = [o for o in start.objects if not o.parts]
    share = {o.name: start.side(o) for o in able}
    return [
        o for o in able
        if {"left": share[o.name][0] < low, "right": share[o.name][0] > high, "near": share[o.name][1] < low,
            "far": share[o.name][1] > high,
            "middle": low < share[o.name][0] < high and low < share[o.name][1] < high}[place]
    ]  # fmt: skip


def _on_table(group: Sequence[SceneObject], table: TableTop) -> bool:
    """Return whether the zone that a group has to leave lies fully on the table."""
    centre, size = zones_to_clear([PlannedGoal("outside", (t.name, "zone")) for t in group], group, table)["zone"]
    corners = np.array([(1, 1), (1, -1), (-1, 1), (-1, -1)]) / 2 * size @ np.stack([table.right, table.away])
    return bool((table.depth(centre + corners) >= 0).all())


def _all_in(group: Sequence[SceneObject], objects: Sequence[SceneObject], table: TableTop) -> list[SceneObject]:
    """Return the group with all that stands in the zone around it, and in the zone around these."""
    group, axes = list(group), np.stack([table.right, table.away])
    while True:
        goals = [PlannedGoal("outside", (t.name, "zone")) for t in group]
        centre, size = zones_to_clear(goals, group, table)["zone"]
        others = [t for t in objects if t not in group]
        inside = [t for t in others if (np.abs(axes @ (t.position[:2] - centre)) < size / 2 + t.diagonal / 2).all()]
        if not inside:
            return group
        group += inside


def _covering_discs(centre: np.ndarray, size: np.ndarray, table: TableTop) -> list[tuple[np.ndarray, float]]:
    """Return centre (2,) and radius in metres of discs that cover a rectangle along right and away."""
    pitch = float(min(size)) / 2
    counts = np.ceil(size / pitch).astype(int)
    places = np.stack(np.meshgrid(*[(np.arange(n) + 0.5) / n - 0.5 for n in counts]), -1).reshape(-1, 2) * size
    return [(centre + place @ np.stack([table.right, table.away]), pitch * 0.71) for place in places]


def _free_zones(
    wanted: Mapping[str, list[SceneObject]], taken: list[tuple[np.ndarray, float]], table: TableTop
) -> dict[str, tuple[tuple[float, float], float]] | None:
    """Return centre and side in metres of each zone, clear of discs (centre, radius); None where one has no room."""
    taken = list(taken)
    spots: dict[str, tuple[tuple[float, float], float]] = {}
    for name, inside in wanted.items():
        side = _side_for(inside)
        xy = free_place(side / 2, name, taken, table)
        if xy is None:
            return None
        taken.append((xy, side * 0.6))
        spots[name] = ((float(xy[0]), float(xy[1])), side)
    return spots


def _side_for(inside: Sequence[SceneObject]) -> float:
    """Return the side in metres of a square that holds these objects."""
    alone = float(np.sqrt(sum((t.diagonal + OBJECT_MARGIN) ** 2 for t in inside)))
    return alone * (1.0 if len(inside) == 1 else 1.15)


def _places_beside(
    wanted: Mapping[str, list[SceneObject]],
    bin_walls: Region,
    middle: np.ndarray,
    there: Sequence[tuple[np.ndarray, float]],
) -> dict[str, tuple[tuple[float, float], float]]:
    """Return centre and side in metres of each container outside a bin's walls, as near to a point (2,) as can be.

    `there` are centres (2,) and radii in metres of what stands outside already.
    """
    spots: dict[str, tuple[tuple[float, float], float]] = {}
    taken = list(there)
    for name, inside in wanted.items():
        side = _side_for(inside)
        radius = 0.71 * side  # of its corners: it may stand at any angle to the walls
        low, high = np.reshape(bin_walls.bounds, (2, 2))
        far = side + 0.1 + sum(2 * other + 0.02 for _, other in taken)  # so that there is always room
        low, high = low - far, high + far
        x, y = np.meshgrid(np.arange(low[0], high[0], 0.02), np.arange(low[1], high[1], 0.02))
        places = np.stack([x.ravel(), y.ravel()], -1)
        places = places[bin_walls.distance(places) > radius + 0.02]
        for centre, other in taken:
            places = places[np.linalg.norm(places - centre, axis=1) > radius + other + 0.02]
        xy = places[np.linalg.norm(places - middle, axis=1).argmin()]
        taken.append((xy, radius))
        spots[name] = ((float(xy[0]), float(xy[1])), side)
    return spots


def free_place(half: float, name: str, taken: Sequence[tuple[np.ndarray, float]], table: TableTop) -> np.ndarray | None:
    """Return a free place (2,) for a square of half side `half` in metres, or None.

    It lies well towards the side of the table that `name` begins with, if any ("left_zone"). `taken` are centres (2,)
    and radii of what is in the way.
    """
    right, away = np.asarray(table.right), np.asarray(table.away)
    middle = table.polygon.mean(0)
    low, high = table.polygon.min(0), table.polygon.max(0)
    x, y = np.meshgrid(np.arange(low[0], high[0], 0.02), np.arange(low[1], high[1], 0.02))
    spots = np.stack([x.ravel(), y.ravel()], -1)
    spots = spots[table.depth(spots) > half * 1.2 + 0.02]
    for centre, radius in taken:
        spots = spots[np.linalg.norm(spots - centre, axis=1) > half * 1.25 + radius + 0.02]
    direction = {"left": -right, "right": right, "far": away, "near": -away}.get(name.split("_")[0])
    if direction is not None:
        spots = spots[(spots - middle) @ direction > 0]
    if not len(spots):
        return None
    near = np.linalg.norm(spots - middle, axis=1)
    if direction is not None:  # clearly on that side; a place at the very edge is hard to reach
        ahead = (spots - middle) @ direction
        return spots[np.argmax(np.minimum(ahead, 0.7 * ahead.max()) - 0.3 * near)]
    return spots[np.argmin(near)]
