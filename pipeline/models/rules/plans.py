"""Plans: aims that measured attributes support, how hard they are, why others cannot be reached."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pipeline.models.rules.aims import Aim, listed, objects_of, sentences
from pipeline.models.rules.things import (
    RAINBOW,
    Thing,
    cm,
    diagonal,
    doubt_carry,
    doubt_in,
    doubt_on,
    things,
    why_not_in,
    why_not_in_part,
    why_not_on,
)

WIDE = 0.6
"""Share of its way from which a part is open."""
ROOM = 0.04
"""Free metres beside each object in a zone or a container that the program sets out."""


@dataclass(frozen=True)
class Plan:
    kind: str
    aims: tuple[Aim, ...]
    instruction: str = ""
    name: str = ""
    doubt: float = 0.0
    """How likely it is to fail, from none at 0 to certain at 1: a rough guess from sizes."""

    def answer(self, instruction: str = "") -> dict[str, Any]:
        """As the fields of a task."""
        objects = objects_of(self.aims)
        name = self.name or f"{self.kind}_{objects[0] if len(objects) == 1 else len(objects)}"
        return {
            "name": name, "instruction": instruction or self.instruction, "objects": list(objects),
            "goals": list(sentences(self.aims)), "kind": self.kind,
        }  # fmt: skip


@dataclass(frozen=True)
class Table:
    """The table's usable top, from the question's JSON."""

    polygon: np.ndarray
    """Of shape (N, 2), world x and y in metres."""
    right: tuple[float, float]
    away: tuple[float, float]

    @staticmethod
    def of(scene: Mapping[str, Any]) -> "Table":
        table = scene.get("table") or {}
        polygon = table.get("polygon") or [[-0.5, -0.4], [0.5, -0.4], [0.5, 0.4], [-0.5, 0.4]]
        right, away = scene.get("right") or (1.0, 0.0), scene.get("away") or (0.0, 1.0)
        return Table(np.asarray(polygon, float), (right[0], right[1]), (away[0], away[1]))

    def length(self, along: str) -> float:
        """Extent in metres along "right" or "away"."""
        on_axis = self.polygon @ np.asarray(self.right if along == "right" else self.away)
        return float(np.ptp(on_axis))

    def depth(self, points: np.ndarray) -> np.ndarray:
        """Distance of points (..., 2) to the nearest edge, positive on the table, of shape (...)."""
        edges = np.roll(self.polygon, -1, 0) - self.polygon
        normals = np.stack([-edges[:, 1], edges[:, 0]], -1) / (np.linalg.norm(edges, axis=1, keepdims=True) + 1e-9)
        normals *= np.sign(np.median(((self.polygon.mean(0) - self.polygon) * normals).sum(1)))
        return (points @ normals.T - (self.polygon * normals).sum(1)).min(-1)

    def holds(self, xy: np.ndarray, margin: float) -> bool:
        """Whether a point lies on it, at least margin metres from the edge."""
        return bool(self.depth(np.asarray(xy)) >= margin)


def by_colour(objects: Sequence[Thing]) -> list[Thing]:
    """In the rainbow's order, then by name; colours that are not in it last."""
    return sorted(objects, key=lambda t: (RAINBOW.index(t.colour) if t.colour in RAINBOW else len(RAINBOW), t.name))


def tower(objects: Sequence[Thing]) -> list[Thing]:
    """In the order they stand best, bottom first: what nothing can stand on goes last, the broad below the narrow."""
    return sorted(
        objects, key=lambda t: (not t.flat and not t.container, t.shape == "sphere", -t.size[0] * t.size[1], t.height)
    )


def why_not(aims: Sequence[Aim], scene: Mapping[str, Any]) -> str:
    """Why the aims cannot be reached with these objects on this table, or nothing."""
    known = {t.name: t for t in things(scene)}
    table = Table.of(scene)
    for aim in aims:
        if missing := [name for name in aim.objects if name not in known]:
            return f"there is no {missing[0]} here; there are: {', '.join(known)}"
        if reason := _REASONS.get(aim.verb, lambda *_: "")(aim, [known[n] for n in aim.objects], table):
            return reason
    if reason := _why_no_room(aims, known, table):
        return reason
    if all(held := [already(aim, [known[n] for n in aim.objects], table) for aim in aims]):
        return held[0]
    if place_targets(aims, [known[n] for n in objects_of(aims)], table) is None:
        sizes = [diagonal(known[a.names[0]]) for a in aims if a.verb == "in_zone" or a.new]
        return f"there is no free place on the table for {len(sizes)} objects of up to {cm(max(sizes))}"
    return ""


def _why_no_stack(aim: Aim, objects: list[Thing], table: Table) -> str:
    if len(objects) < 2:
        return f"only one object ({objects[0].name}), stacking needs two"
    rising = pairwise(objects)
    reason = next((r for low, up in rising if (r := why_not_on(up, low))), "")
    able = [t.name for t in tower(objects) if t.block]
    if reason and len(able) > 1:
        reason += f"; {listed(able)} would stack"
    total = sum(t.height for t in objects)
    return reason or (f"a tower of {cm(total)} is higher than the gripper reaches (60 cm)" if total > 0.6 else "")


def _why_no_row(aim: Aim, objects: list[Thing], table: Table) -> str:
    if len(objects) < 2:
        return f"only one object ({objects[0].name}), a row needs two"
    need, have = sum(t.width + 0.02 for t in objects), table.length(aim.along)
    return f"a row of these is {cm(need)} long, the table only {cm(have)}" if need > have else ""


def already(aim: Aim, objects: Sequence[Thing], table: Table) -> str:
    """Says so where a goal about places holds in the photograph."""
    a, b = objects[0], objects[-1]
    apart = np.subtract(a.position[:2], b.position[:2])
    right, away = float(apart @ table.right), float(apart @ table.away)
    ahead = {"left_of": -right, "right_of": right, "in_front_of": -away, "behind": away}.get(aim.verb, 0.0)
    far = float(np.hypot(*apart))
    if aim.verb == "in_row":
        ends = np.array([t.position[:2] for t in objects]) @ np.array([table.right, table.away]).T
        along, across = ends.T if aim.along == "right" else ends.T[::-1]
        in_line = np.all(np.diff(along) > 0) and np.ptp(across) < 0.06
        return f"{listed(aim.names)} stand in a row in this order already" if in_line else ""
    if (aim.verb == "near" and far < near_distance(a, b)) or (aim.verb == "away" and far > away_distance(a, b)):
        return f"{a.name} is {cm(far)} from {b.name} already"
    if ahead > 0.01:
        return f"{a.name} is {aim.verb.replace('_', ' ')} {b.name} already"
    if aim.verb == "on_table" and a.position[2] - a.height / 2 < 0.015:
        return f"{a.name} is on the table already"
    return ""


def near_distance(a: Thing, b: Thing) -> float:
    """Between the middles of two things that stand next to one another, in metres."""
    return max(0.15, (diagonal(a) + diagonal(b)) / 2 + 0.04)


def away_distance(a: Thing, b: Thing) -> float:
    """Between the middles of two things that stand well apart, in metres."""
    return max(0.25, (diagonal(a) + diagonal(b)) / 2 + 0.1)


def _why_no_pair(aim: Aim, objects: list[Thing], table: Table) -> str:
    a, b = objects[0], objects[-1]
    if a == b:
        return f"{a.name} cannot be put {aim.verb.replace('_', ' ')} itself"
    need = away_distance(a, b) if aim.verb == "away" else 0
    across = max(table.length("right"), table.length("away")) - (a.width + b.width) / 2
    return f"the table is too small to set {a.name} and {b.name} {cm(need)} apart" if need > across else ""


def _why_no_mirror(aim: Aim, objects: list[Thing], table: Table) -> str:
    if len(objects) < 2:
        return f"only one object ({objects[0].name}), a mirror image needs two"
    places = images(objects, table)
    if all(float(np.hypot(*np.subtract(places[t.name], t.position[:2]))) < 0.05 for t in objects):
        return f"{listed(aim.names)} look the same mirrored"
    off = next((t.name for t in objects if not table.holds(places[t.name], t.narrow / 2)), "")
    return f"the mirror image of {off} lies beside the table" if off else ""


def images(objects: Sequence[Thing], table: Table) -> dict[str, np.ndarray]:
    """By name the place, of shape (2,), of each with left and right exchanged about their middle, as the kit has it."""
    right = np.asarray(table.right)
    ahead = {t.name: float(np.dot(t.position[:2], right)) for t in objects}
    middle = (max(ahead.values()) + min(ahead.values())) / 2
    return {t.name: np.asarray(t.position[:2]) + 2 * (middle - ahead[t.name]) * right for t in objects}


def _why_no_place(aim: Aim, objects: list[Thing], table: Table) -> str:
    name = aim.names[0]
    return "" if aim.xy and table.holds(np.asarray(aim.xy), 0.0) else f"the place for {name} lies beside the table"


def _why_no_part(aim: Aim, objects: list[Thing], table: Table) -> str:
    owner, name = objects[0], aim.names[-1]
    part = next((part for part in owner.parts if part.name == name), None)
    if part is None:
        there = ", ".join(part.name for part in owner.parts) or "nothing that opens"
        return f"{owner.name} has no {name}; it has: {there}"
    if not part.upright:
        return f"{name} of {owner.name} turns about a level hinge, and the hand turns things about the vertical only"
    return f"{name} of {owner.name} is open already" if aim.verb == "opened" and part.share > WIDE else ""


_REASONS: dict[str, Callable[[Aim, list[Thing], Table], str]] = {
    "stacked": _why_no_stack,
    "on": lambda aim, objects, table: why_not_on(*objects),
    "inside": lambda aim, objects, table: "" if aim.new else why_not_in(*objects),
    "in_row": _why_no_row,
    "mirrored": _why_no_mirror,
    "at": _why_no_place,
    "opened": _why_no_part,
    "closed": _why_no_part,
    "inside_part": lambda aim, objects, table: why_not_in_part(objects[0], objects[1], aim.names[2]),
    **dict.fromkeys(("near", "away", "left_of", "right_of", "in_front_of", "behind", "where"), _why_no_pair),
}


def place_targets(
    aims: Sequence[Aim], objects: Sequence[Thing], table: Table
) -> dict[str, tuple[tuple[float, float], float]] | None:
    """Centre and side in metres of each zone and new container, clear of every object; None where one has no room."""
    known = {t.name: t for t in objects}
    wanted: dict[str, list[Thing]] = {}
    for aim in aims:
        if aim.verb == "in_zone" or aim.new:
            wanted.setdefault(aim.names[1], []).append(known[aim.names[0]])
    moving = {t.name for inside in wanted.values() for t in inside}
    every = [(np.array(t.position[:2]), diagonal(t) / 2) for t in objects]
    staying = [(np.array(t.position[:2]), diagonal(t) / 2) for t in objects if t.name not in moving]
    boxes = any(aim.new for aim in aims)  # a zone may lie where something stands that will go, a box may not
    free = _clear(wanted, every, table)
    return free if free is not None or boxes else _clear(wanted, staying, table)


def cleared(aims: Sequence[Aim], objects: Sequence[Thing], table: Table) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """World centre (2,) and extents (2,) (right, away) in metres of each zone that shall be empty; it holds what must
    go."""
    axes = np.stack([table.right, table.away])
    known = {t.name: t for t in objects}
    zones: dict[str, list[Thing]] = {}
    for aim in aims:
        if aim.verb == "outside":
            zones.setdefault(aim.names[1], []).append(known[aim.names[0]])
    found = {}
    for name, inside in zones.items():
        centres = np.array([t.position[:2] for t in inside]) @ axes.T
        reach = np.array([diagonal(t) / 2 for t in inside])[:, None]
        low, high = (centres - reach).min(0), (centres + reach).max(0)
        grown = np.maximum(
            high - low, np.sqrt(((2 * reach + ROOM) ** 2).sum())
        )  # so that they also fit at other places
        found[name] = ((low + high) / 2 @ axes, grown)
    return found


def _why_no_room(aims: Sequence[Aim], known: Mapping[str, Thing], table: Table) -> str:
    """Why what has to leave a zone finds no place elsewhere, or nothing."""
    going = [known[a.names[0]] for a in aims if a.verb == "outside"]
    taken = [(np.array(t.position[:2]), diagonal(t) / 2) for t in known.values() if t not in going]
    for centre, size in cleared(aims, going, table).values():
        taken += _covered(centre, size, table)
    for thing in going:
        place = free_place(diagonal(thing) / 2, "", taken, table)
        if place is None:
            return f"there is no free place on the table for {thing.name}"
        taken.append((place, diagonal(thing) / 2))
    return ""


def _covered(centre: np.ndarray, size: np.ndarray, table: Table) -> list[tuple[np.ndarray, float]]:
    """Discs that cover a rectangle along right and away: centre and radius of each, in metres."""
    pitch = float(min(size)) / 2
    counts = np.ceil(size / pitch).astype(int)
    places = np.stack(np.meshgrid(*[(np.arange(n) + 0.5) / n - 0.5 for n in counts]), -1).reshape(-1, 2) * size
    return [(centre + place @ np.stack([table.right, table.away]), pitch * 0.71) for place in places]


def difficulty(aims: Sequence[Aim], scene: Mapping[str, Any]) -> float:
    """How hard it looks, from 0, easy, to 1: by what has to be carried, how often, and how surely it stays put."""
    known = {t.name: t for t in things(scene)}
    moving = [known[n] for a in aims for n in a.moving if n in known]
    doubt = max((doubt_carry(t) for t in moving), default=0.0) + sum(_doubt(aim, known) for aim in aims)
    stages = len({aim.stage for aim in aims})
    return round(min(1.0, 0.07 * len(moving) + 0.15 * (stages - 1) + 0.6 * doubt), 2)


def _doubt(aim: Aim, known: Mapping[str, Thing]) -> float:
    """How likely things are not to stay where the aim wants them."""
    there = [known[n] for n in aim.objects if n in known]
    if aim.verb in ("on", "stacked") and len(there) > 1:
        pairs = pairwise(there) if aim.verb == "stacked" else ((there[1], there[0]),)
        return sum(0.1 + doubt_on(up, low) for low, up in pairs)
    if aim.verb in ("opened", "closed", "inside_part"):
        return 0.15
    return 0.1 + doubt_in(*there) if aim.verb == "inside" and len(there) > 1 else 0.0


def _clear(
    wanted: Mapping[str, list[Thing]], taken: list[tuple[np.ndarray, float]], table: Table
) -> dict[str, tuple[tuple[float, float], float]] | None:
    taken = list(taken)
    spots: dict[str, tuple[tuple[float, float], float]] = {}
    for name, inside in wanted.items():
        side = float(np.sqrt(sum((diagonal(t) + ROOM) ** 2 for t in inside))) * (1.0 if len(inside) == 1 else 1.15)
        xy = free_place(side / 2, name, taken, table)
        if xy is None:
            return None
        taken.append((xy, side * 0.6))
        spots[name] = ((float(xy[0]), float(xy[1])), side)
    return spots


def free_place(half: float, name: str, taken: Sequence[tuple[np.ndarray, float]], table: Table) -> np.ndarray | None:
    """The free place for a square of half side `half`, on the side its name tells and well towards it, or None.

    World x and y in metres, of shape (2,); `taken` are centres (2,) and radii of what stands there.
    """
    right, away = np.asarray(table.right), np.asarray(table.away)
    middle = table.polygon.mean(0)
    low, high = table.polygon.min(0), table.polygon.max(0)
    x, y = np.meshgrid(np.arange(low[0], high[0], 0.02), np.arange(low[1], high[1], 0.02))
    spots = np.stack([x.ravel(), y.ravel()], -1)
    spots = spots[table.depth(spots) > half * 1.2 + 0.02]
    for centre, radius in taken:
        spots = spots[np.linalg.norm(spots - centre, axis=1) > half * 1.25 + radius + 0.02]
    wish = {"left": -right, "right": right, "far": away, "near": -away}.get(name.split("_")[0])
    if wish is not None:
        spots = spots[(spots - middle) @ wish > 0]
    if not len(spots):
        return None
    near = np.linalg.norm(spots - middle, axis=1)
    if wish is not None:  # clearly on that side; a place at the very edge is hard to reach
        ahead = (spots - middle) @ wish
        return spots[np.argmax(np.minimum(ahead, 0.7 * ahead.max()) - 0.3 * near)]
    return spots[np.argmin(near)]
