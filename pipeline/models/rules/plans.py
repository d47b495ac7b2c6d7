"""Plans that measured attributes support: what can be reached, why others cannot, what is worth proposing."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, permutations
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
    why_not_on,
)

ROOM = 0.04
"""Free metres beside each object in a zone or a container that the program sets out."""

SAFE = 0.5
"""Doubt up to which the richer of two plans goes first."""
RICHES = {
    "sort_by_size": 3, "sort_by_colour": 3, "stack": 3, "gather": 3,
    "put_in": 2, "line_up": 2, "put_on": 2, "swap": 2,
    "put_in_tray": 1, "select": 1,
}  # fmt: skip
"""How much there is to a kind of task; those that only move one thing have least."""


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

    @property
    def area(self) -> float:
        x, y = self.polygon.T
        return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)


def by_colour(objects: Sequence[Thing]) -> list[Thing]:
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


_REASONS: dict[str, Callable[[Aim, list[Thing], Table], str]] = {
    "stacked": _why_no_stack,
    "on": lambda aim, objects, table: why_not_on(*objects),
    "inside": lambda aim, objects, table: "" if aim.new else why_not_in(*objects),
    "in_row": _why_no_row,
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
    """The free place for a square of half side `half` that lies farthest to the side its name tells, or None."""
    right, away = np.asarray(table.right), np.asarray(table.away)
    middle = table.polygon.mean(0)
    low, high = table.polygon.min(0), table.polygon.max(0)
    x, y = np.meshgrid(np.arange(low[0], high[0], 0.02), np.arange(low[1], high[1], 0.02))
    spots = np.stack([x.ravel(), y.ravel()], -1)
    edges = np.roll(table.polygon, -1, 0) - table.polygon
    normals = np.stack([-edges[:, 1], edges[:, 0]], -1) / (np.linalg.norm(edges, axis=1, keepdims=True) + 1e-9)
    normals *= np.sign(np.median(((middle - table.polygon) * normals).sum(1)))
    inside = (spots @ normals.T - (table.polygon * normals).sum(1)).min(1)
    spots = spots[inside > half * 1.2 + 0.02]
    for centre, radius in taken:
        spots = spots[np.linalg.norm(spots - centre, axis=1) > half * 1.25 + radius + 0.02]
    if not len(spots):
        return None
    wish = {"left": -right, "right": right, "far": away, "near": -away}.get(name.split("_")[0])
    near = np.linalg.norm(spots - middle, axis=1)
    if wish is not None:  # clearly on that side; a place at the very edge is hard to reach
        ahead = (spots - middle) @ wish
        return spots[np.argmax(np.minimum(ahead, 0.7 * ahead.max()) - 0.3 * near)]
    return spots[np.argmin(near)]


def proposals(scene: Mapping[str, Any]) -> tuple[Plan, ...]:
    """What these objects can be used for, the surest of each kind: the richest first, as far as they are safe."""
    objects, table = things(scene), Table.of(scene)
    plans = [p for family in _FAMILIES for p in family(objects, table) if not why_not(p.aims, scene)]
    known = {t.name: t for t in objects}
    sure = [replace(p, doubt=p.doubt + max(doubt_carry(known[n]) for a in p.aims for n in a.moving)) for p in plans]
    return tuple(sorted(sure, key=lambda p: (p.doubt > SAFE, -RICHES.get(p.kind, 0) * (p.doubt <= SAFE), p.doubt)))


def _shift(objects: Sequence[Thing], table: Table) -> Iterator[Plan]:
    if not objects:
        return
    best = min(objects, key=doubt_carry)
    side = "left" if np.dot(best.position[:2], table.right) > np.mean(table.polygon @ table.right) else "right"
    aim = Aim("in_zone", (best.name, f"{side}_zone"))
    words = f"Move {best.name} into the zone marked on the {side}."
    yield Plan("move_to", (aim,), words, f"move_{best.name}_{side}", 0.05)
    small = min(objects, key=lambda t: (t.width, t.height))
    if not (small.container and len(objects) > 1) and small.height < 4 * small.narrow:
        aim = Aim("inside", (small.name, "tray"), new=True)
        yield Plan(
            "put_in_tray",
            (aim,),
            f"Put {small.name} into the tray.",
            f"{small.name}_into_tray",
            0.1 + 0.2 * (len(objects) > 1),
        )


def _fill(objects: Sequence[Thing], table: Table) -> Iterator[Plan]:
    pairs = [(t, c) for c in objects if c.container for t in objects if not t.container and not why_not_in(t, c)]
    if pairs:
        thing, container = min(pairs, key=lambda p: doubt_in(*p))
        doubt = 0.1 + doubt_in(thing, container)
        aim = Aim("inside", (thing.name, container.name))
        words, name = f"Put {thing.name} into {container.name}.", f"{thing.name}_into_{container.name}"
        yield Plan("put_in", (aim,), words, name, doubt)


def _stack(objects: Sequence[Thing], table: Table) -> Iterator[Plan]:
    blocks = tower([t for t in objects if t.block])[-4:]
    while len(blocks) > 1 and any(doubt_on(up, low) > 0.5 for low, up in pairwise(blocks)):
        blocks = blocks[1:]
    if len(blocks) > 1:
        names = tuple(t.name for t in blocks)
        doubt = 0.15 + 0.1 * (len(blocks) - 2) + sum(doubt_on(up, low) for low, up in pairwise(blocks))
        yield Plan(
            "stack",
            (Aim("stacked", names),),
            f"Stack {listed(names)}, {names[0]} at the bottom.",
            f"stack_{len(names)}",
            doubt,
        )
    pairs = [
        (up, low) for up, low in permutations(objects, 2) if low.flat and not up.container and not why_not_on(up, low)
    ]
    if pairs:
        up, low = min(pairs, key=lambda p: doubt_on(*p) + 0.3 * (not p[1].block))
        doubt = 0.15 + doubt_on(up, low) + 0.3 * (not low.block)
        yield Plan(
            "put_on",
            (Aim("on", (up.name, low.name)),),
            f"Put {up.name} on top of {low.name}.",
            f"{up.name}_on_{low.name}",
            doubt,
        )


def _sort(objects: Sequence[Thing], table: Table) -> Iterator[Plan]:
    objects = sorted(objects, key=lambda t: t.width)[:5]
    if len(objects) < 2:
        return
    doubt = 0.15 + 0.04 * len(objects)
    small = sorted(objects, key=lambda t: t.volume)
    if all(big.volume > 1.15 * low.volume for low, big in pairwise(small)):
        names = tuple(t.name for t in small)
        words = f"Sort {listed(names)} into a row from small to big."
        yield Plan("sort_by_size", (Aim("in_row", names, "right"),), words, f"sort_{len(names)}_by_size", doubt)
    firsts = by_colour(list({t.colour: t for t in reversed(objects)}.values()))
    rainbow = [t for t in firsts if t.colour in RAINBOW[:7]]
    if len(rainbow) > 1:
        names = tuple(t.name for t in rainbow)
        words = f"Sort {listed(names)} into a row in rainbow order."
        yield Plan("sort_by_colour", (Aim("in_row", names, "right"),), words, f"sort_{len(names)}_by_colour", doubt)
    row = sorted(objects, key=lambda t: np.dot(t.position[:2], table.right))[:4]
    names = tuple(t.name for t in row)
    yield Plan(
        "line_up",
        (Aim("in_row", names, "right"),),
        f"Line up {listed(names)} from left to right.",
        f"line_up_{len(names)}",
        doubt + 0.05,
    )


def _gather(objects: Sequence[Thing], table: Table) -> Iterator[Plan]:
    for key, plural in (("shape", "{}s"), ("colour", "{} things")):
        kinds: dict[str, list[Thing]] = {}
        for thing in objects:
            kinds.setdefault(getattr(thing, key), []).append(thing)
        some = {
            word: group
            for word, group in kinds.items()
            if word not in ("", "irregular") and 2 <= len(group) < len(objects)
        }
        if some:
            word, group = min(some.items(), key=lambda item: (len(item[1]), sum(t.width for t in item[1])))
            aims = tuple(Aim("inside", (t.name, "bin"), new=True) for t in group)
            phrase = plural.format(word).replace("boxs", "boxes")
            yield Plan(
                "gather", aims, f"Discard all the {phrase} into the bin.", f"discard_{word}", 0.2 + 0.05 * len(group)
            )
            return
    if len(objects) > 2:
        group = sorted(objects, key=lambda t: t.volume)[:2]
        aims = tuple(Aim("in_zone", (t.name, "near_zone")) for t in group)
        yield Plan(
            "select",
            aims,
            f"Bring {listed([t.name for t in group])} into the zone at the front.",
            "bring_the_two_smallest",
            0.25,
        )


def _places(objects: Sequence[Thing], table: Table) -> Iterator[Plan]:
    calm = sorted(objects, key=doubt_carry)
    if len(calm) < 2:
        return

    def far(other: Thing) -> float:
        return float(np.hypot(*np.subtract(calm[0].position[:2], other.position[:2])))

    a, b, names = calm[0], calm[1], f"{calm[0].name}_{calm[1].name}"
    swap = Aim("where", (a.name, b.name)), Aim("where", (b.name, a.name))
    yield Plan("swap", swap, f"Swap the places of {a.name} and {b.name}.", f"swap_{names}", 0.3)
    b = max(calm[1:], key=far)
    near = (Aim("near", (a.name, b.name)),)
    yield Plan("move_near", near, f"Move {a.name} next to {b.name}.", f"{a.name}_next_to_{b.name}", 0.12)
    b = min(calm[1:], key=far)
    away = (Aim("away", (a.name, b.name)),)
    yield Plan("move_away", away, f"Move {a.name} well away from {b.name}.", f"{a.name}_away_from_{b.name}", 0.1)


_FAMILIES = (_shift, _fill, _stack, _sort, _gather, _places)
