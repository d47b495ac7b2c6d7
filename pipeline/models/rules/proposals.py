"""What is worth proposing: tasks of many kinds that these objects support, the surest of each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise, permutations
from typing import Any

import numpy as np

from pipeline.models.rules.aims import Aim, listed
from pipeline.models.rules.plans import Plan, Table, by_colour, cleared, images, tower, why_not
from pipeline.models.rules.references import tokens
from pipeline.models.rules.things import (
    RAINBOW,
    Thing,
    diagonal,
    doubt_carry,
    doubt_in,
    doubt_on,
    things,
    why_not_in,
    why_not_in_part,
    why_not_on,
)
from pipeline.models.rules.words import CLASSES, PLURALS

SAFE = 0.5
"""Doubt up to which the richer of two plans goes first."""
RICHES = {
    "sort_by_size": 3, "sort_by_colour": 3, "stack": 3, "gather": 3, "select": 3, "mirror": 3, "make_room": 3,
    "put_in_drawer": 3, "open": 3, "put_in": 2, "line_up": 2, "put_on": 2, "swap": 2, "close": 2, "put_in_tray": 1,
}  # fmt: skip
"""How much there is to a kind of task; those that only move one thing have least."""
SIDES = {
    "middle_zone": (0.5, 0.5),
    "left_zone": (0, 0.5),
    "right_zone": (1, 0.5),
    "near_zone": (0.5, 0),
    "far_zone": (0.5, 1),
}
"""Zones that could be made empty: shares of the way to the right and away, among the things there are."""
WHERE = {
    "middle_zone": "in the middle", "left_zone": "on the left", "right_zone": "on the right",
    "near_zone": "at the front", "far_zone": "at the back",
}  # fmt: skip
"""The same, as a person says it."""


def proposals(scene: Mapping[str, Any]) -> tuple[Plan, ...]:
    """What these objects can be used for, the surest of each kind: the richest first, as far as they are safe."""
    objects, table = things(scene), Table.of(scene)
    known = {t.name: t for t in objects}
    loose = [t for t in objects if not t.parts]
    plans = [p for family in _FAMILIES for p in family(loose, table)]
    plans += [p for family in (_on_furniture, _parts) for p in family(objects, table)]
    surest: dict[str, Plan] = {}
    for plan in plans:
        carried = [doubt_carry(known[n]) for a in plan.aims for n in a.moving]
        plan = replace(plan, doubt=plan.doubt + max(carried, default=0.0))
        if (plan.kind not in surest or plan.doubt < surest[plan.kind].doubt) and not why_not(plan.aims, scene):
            surest[plan.kind] = plan
    return tuple(sorted(surest.values(), key=_place))


def _place(plan: Plan) -> tuple[bool, float, float]:
    return plan.doubt > SAFE, -RICHES.get(plan.kind, 0) * (plan.doubt <= SAFE), plan.doubt


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
    kinds = {t.category or t.shape for t in objects} - {"", "irregular", "object"}
    groups = {
        "{}s": _some({kind: [t for t in objects if kind in tokens(t)] for kind in sorted(kinds)}, objects),
        "{} things": _groups(objects, lambda t: t.colour),
    }
    for plural, found in groups.items():
        for word, group in found.items():
            if not word:
                continue
            phrase, count = plural.format(word).replace("boxs", "boxes"), 0.05 * len(group)
            into = tuple(Aim("inside", (t.name, "bin"), new=True) for t in group)
            yield Plan("gather", into, f"Discard all the {phrase} into the bin.", f"discard_{word}", 0.2 + count)
            front = tuple(Aim("in_zone", (t.name, "near_zone")) for t in group)
            words = f"Bring all the {phrase} into the zone at the front."
            yield Plan("select", front, words, f"bring_{word}", 0.25 + count)


def _meant(objects: Sequence[Thing], table: Table) -> Iterator[Plan]:
    """By meaning: what the names and captions tell of, and no camera measures."""
    for word, members in CLASSES.items():
        group = [t for t in objects if set(members.split()) & tokens(t)]
        if 1 < len(group) < len(objects):
            front = tuple(Aim("in_zone", (t.name, "near_zone")) for t in group)
            words = f"Bring the {PLURALS[word]} into the zone at the front."
            yield Plan("select", front, words, f"bring_the_{PLURALS[word]}", 0.15 + 0.05 * len(group))


def _groups(objects: Sequence[Thing], key: Callable[[Thing], str]) -> dict[str, list[Thing]]:
    """Those of two or more, but not all, that have the same; the fewest first."""
    found: dict[str, list[Thing]] = {}
    for thing in objects:
        found.setdefault(key(thing), []).append(thing)
    return _some(found, objects)


def _some(found: Mapping[str, list[Thing]], objects: Sequence[Thing]) -> dict[str, list[Thing]]:
    """The groups of two or more, but not all; the fewest first."""
    some = {word: group for word, group in found.items() if 2 <= len(group) < len(objects)}
    return dict(sorted(some.items(), key=lambda item: (len(item[1]), sum(t.width for t in item[1]))))


def _mirror(objects: Sequence[Thing], table: Table) -> Iterator[Plan]:
    for group in combinations(sorted(objects, key=doubt_carry)[:5], 3):
        names = tuple(t.name for t in sorted(group, key=lambda t: np.dot(t.position[:2], table.right)))
        crowd = sum(_crowded(images(group, table)[t.name], t, group, objects) for t in group)
        words = f"Mirror {listed(names)}: exchange left and right."
        yield Plan("mirror", (Aim("mirrored", names),), words, f"mirror_{len(names)}", 0.2 + 0.3 * crowd)


def _crowded(place: np.ndarray, thing: Thing, group: Sequence[Thing], objects: Sequence[Thing]) -> bool:
    """Whether something else stands where the thing is to go."""
    return any(
        float(np.hypot(*(place - t.position[:2]))) < (diagonal(thing) + diagonal(t)) / 2 + 0.01
        for t in objects if t not in group
    )  # fmt: skip


def _room(objects: Sequence[Thing], table: Table) -> Iterator[Plan]:
    for zone, group in emptied(objects, table).items():
        aims = tuple(Aim("outside", (t.name, zone)) for t in group)
        words = f"Make room {WHERE[zone]}: move {listed([t.name for t in group])} out of the marked zone."
        yield Plan("make_room", aims, words, f"make_room_{len(group)}", 0.1 + 0.05 * len(group))


def emptied(objects: Sequence[Thing], table: Table, most: int = 4) -> dict[str, list[Thing]]:
    """Zones that could be made empty, and the at most so many things that stand in each."""
    axes, spots = np.stack([table.right, table.away]), np.array([t.position[:2] for t in objects]).reshape(-1, 2)
    low, high = (spots @ axes.T).min(0, initial=0), (spots @ axes.T).max(0, initial=0)
    found = {}
    for zone, share in SIDES.items():
        place = (low + (high - low) * share) @ axes
        nearest = sorted(objects, key=lambda t, place=place: float(np.hypot(*(place - t.position[:2]))))
        group = _all_in(nearest[: 2 if len(objects) > 3 else 1], objects, table) if nearest else []
        if 0 < len(group) <= most and _on_table(group, table):
            found[zone] = group
    return found


def _on_table(group: Sequence[Thing], table: Table) -> bool:
    """Whether the zone that the group shall leave lies wholly on the table."""
    centre, size = cleared([Aim("outside", (t.name, "zone")) for t in group], group, table)["zone"]
    corners = np.array([(1, 1), (1, -1), (-1, 1), (-1, -1)]) / 2 * size @ np.stack([table.right, table.away])
    return bool((table.depth(centre + corners) >= 0).all())


def _all_in(group: Sequence[Thing], objects: Sequence[Thing], table: Table) -> list[Thing]:
    """The group and all that stands in the zone around it, and in the zone around these."""
    group, axes = list(group), np.stack([table.right, table.away])
    while True:
        aims = [Aim("outside", (t.name, "zone")) for t in group]
        centre, size = cleared(aims, group, table)["zone"]
        others = [t for t in objects if t not in group]
        inside = [t for t in others if (np.abs(axes @ (t.position[:2] - centre)) < size / 2 + diagonal(t) / 2).all()]
        if not inside:
            return group
        group += inside


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


def _on_furniture(objects: Sequence[Thing], table: Table) -> Iterator[Plan]:
    """The smallest thing onto what has drawers or doors."""
    able = [(t, low) for low in objects if low.parts for t in objects if not t.parts and not why_not_on(t, low)]
    if able:
        up, low = min(able, key=lambda p: doubt_on(*p) + doubt_carry(p[0]))
        aim = Aim("on", (up.name, low.name))
        words, name = f"Put {up.name} on top of {low.name}.", f"{up.name}_on_{low.name}"
        yield Plan("put_on", (aim,), words, name, 0.3 + doubt_on(up, low))


def _parts(objects: Sequence[Thing], table: Table) -> Iterator[Plan]:
    """Drawers and doors to open, to shut, and to put things into."""
    for owner in objects:
        for order, part in enumerate(part for part in owner.parts if part.upright):
            where, said = (owner.name, part.name), part.name.replace("_", " ")
            name, doubt = "_".join((part.name, "of", owner.name)), 0.1 + 0.01 * order
            turns = part.name.endswith("knob")
            opens, shuts = ("Turn", "Turn back") if turns else ("Open", "Shut")
            words = f"{opens} the {said} of {owner.name}."
            yield Plan("open", (Aim("opened", where),), words, f"open_{name}", doubt)
            start = "turned" if turns else "open"
            words = f"{shuts} the {said} of {owner.name}, which starts {start}."
            yield Plan("close", (Aim("closed", where),), words, f"shut_{name}", doubt)
            fits = [t for t in objects if not why_not_in_part(t, owner, part.name) and max(t.size) < 0.9 * part.size[2]]
            if fits:
                thing = min(fits, key=lambda t: doubt_carry(t) + t.width)
                aims = Aim("inside_part", (thing.name, *where)), Aim("closed", where)
                words = f"Put {thing.name} into the {said} of {owner.name} and shut it."
                yield Plan("put_in_drawer", aims, words, f"{thing.name}_into_{name}", doubt + 0.1)


_FAMILIES = (_shift, _fill, _stack, _sort, _gather, _meant, _mirror, _room, _places)
