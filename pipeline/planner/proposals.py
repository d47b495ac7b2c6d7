"""Task proposals: tasks of many kinds that these objects support, the least risky of each kind."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import combinations, pairwise, permutations
from typing import Any

import numpy as np

from pipeline.planner.language.lexicon import class_members, name_words, tables, words_of
from pipeline.planner.language.object_names import plain_names
from pipeline.planner.language.wording import SIDES, in_plain_words
from pipeline.planner.plans import TaskPlan, by_colour, mirror_images, stacking_order, why_infeasible
from pipeline.planner.scene_objects import (
    RAINBOW,
    Arrangement,
    SceneObject,
    TableTop,
    carry_risk,
    insert_risk,
    scene_objects,
    stack_risk,
    why_not_in,
    why_not_in_part,
    why_not_on,
)
from pipeline.planner.zones import clearable_zones
from pipeline.simulation.goals.spec import PlannedGoal, listed

MAX_SAFE_RISK = 0.5
"""Risk up to which the more interesting of two plans goes first."""
TASK_INTEREST = {
    "sort_by_size": 3, "sort_by_colour": 3, "stack": 3, "gather": 3, "select": 3, "mirror": 3, "make_room": 3,
    "put_in_drawer": 3, "open": 3, "take_out": 3, "put_in": 2, "line_up": 2, "put_on": 2, "swap": 2, "close": 2,
    "put_in_tray": 1,
}  # fmt: skip
"""How interesting each kind of task is; those that only move one object are least."""


def proposals(scene: Mapping[str, Any]) -> tuple[TaskPlan, ...]:
    """Return the safest task of each kind that these objects support: safe ones first, by interest, then by risk.

    None is about an object beyond the table or one whose size is a guess.
    """
    objects, table = scene_objects(scene), TableTop.from_json(scene)
    known = {t.name: t for t in objects}
    doubtful = {one["name"] for one in scene["objects"] if one.get("size_is_a_guess")}
    on_shelf = {one["name"] for one in scene["objects"] if one.get("stands_on")}
    doubtful |= {t.name for t in objects if t.name not in on_shelf and not table.holds(np.asarray(t.position[:2]), 0.0)}
    loose = [t for t in objects if not t.parts]
    refused = {one["name"] for one in scene["objects"] if one.get("robot_cannot_pick_it_up")}
    picked = [t for t in loose if t.name not in refused | doubtful]
    plans = [p for family in _FAMILIES for p in family(picked, table)]
    plans += [p for family in _SET_FAMILIES for p in family(loose, table) if not _carries(p, refused)]
    if refused:  # they may still be what others are put on, in or beside
        plans += [p for family in _FAMILIES for p in family(loose, table) if not _carries(p, refused)]
    plans += [p for family in (_furniture_tasks, _part_tasks) for p in family(objects, table)]
    plans = [p for p in plans if not any(doubtful & set(a.objects) for a in p.goals)]
    safest: dict[str, TaskPlan] = {}
    for plan in plans:
        carried = [carry_risk(known[n]) for a in plan.goals for n in a.carried]
        plan = replace(plan, risk=plan.risk + max(carried, default=0.0))
        if (plan.kind not in safest or plan.risk < safest[plan.kind].risk) and not why_infeasible(plan.goals, scene):
            safest[plan.kind] = plan
    names = plain_names(objects, table)
    worded = [replace(plan, instruction=in_plain_words(plan.instruction, names)) for plan in safest.values()]
    return tuple(sorted(worded, key=_rank))


def alternatives(scene: Mapping[str, Any]) -> tuple[TaskPlan, ...]:
    """Return further plans of the same kinds, each without carrying one of the objects, for a robot that cannot."""
    seen, found = {plan.instruction for plan in proposals(scene)}, []
    for left_out in scene["objects"]:
        others = [one for one in scene["objects"] if one is not left_out]
        refused = left_out | {"robot_cannot_pick_it_up": "another task is looked for"}
        for plan in proposals({**scene, "objects": [*others, refused]}):
            if plan.instruction not in seen:
                seen.add(plan.instruction)
                found.append(plan)
    return tuple(sorted(found, key=_rank))


def _carries(plan: TaskPlan, names: Set[str]) -> bool:
    """Return whether a plan carries one of these objects."""
    return any(name in names for goal in plan.goals for name in goal.carried)


def _rank(plan: TaskPlan) -> tuple[bool, float, float]:
    return plan.risk > MAX_SAFE_RISK, -TASK_INTEREST.get(plan.kind, 0) * (plan.risk <= MAX_SAFE_RISK), plan.risk


def _move_tasks(objects: Sequence[SceneObject], table: TableTop) -> Iterator[TaskPlan]:
    if not objects:
        return
    best = min(objects, key=carry_risk)
    side = "left" if np.dot(best.position[:2], table.right) > np.mean(table.polygon @ table.right) else "right"
    goal = PlannedGoal("in_zone", (best.name, f"{side}_zone"))
    words = f"Move {best.name} into the zone marked on the {side}."
    yield TaskPlan("move_to", (goal,), words, f"move_{best.name}_{side}", 0.05)
    small = min(objects, key=lambda t: (t.width, t.height))
    if not (small.container and len(objects) > 1) and small.height < 4 * small.narrow:
        goal, risk = PlannedGoal("inside", (small.name, "tray"), new_container=True), 0.1 + 0.2 * (len(objects) > 1)
        if table.bin:
            words = f"Take {small.name} out of the bin and put it into the tray beside it."
            yield TaskPlan("take_out", (goal,), words, f"take_out_{small.name}", 0.1)
            return
        yield TaskPlan("put_in_tray", (goal,), f"Put {small.name} into the tray.", f"{small.name}_into_tray", risk)


def _container_tasks(objects: Sequence[SceneObject], table: TableTop) -> Iterator[TaskPlan]:
    pairs = [(t, c) for c in objects if c.container for t in objects if not t.container and not why_not_in(t, c)]
    if pairs:
        placed, container = min(pairs, key=lambda p: insert_risk(*p))
        risk = 0.1 + insert_risk(placed, container)
        goal = PlannedGoal("inside", (placed.name, container.name))
        words, name = f"Put {placed.name} into {container.name}.", f"{placed.name}_into_{container.name}"
        yield TaskPlan("put_in", (goal,), words, name, risk)


def _stack_tasks(objects: Sequence[SceneObject], table: TableTop) -> Iterator[TaskPlan]:
    blocks = stacking_order([t for t in objects if t.block])[-4:]
    while len(blocks) > 1 and any(stack_risk(up, low) > 0.5 for low, up in pairwise(blocks)):
        blocks = blocks[1:]
    if len(blocks) > 1:
        names = tuple(t.name for t in blocks)
        risk = 0.15 + 0.1 * (len(blocks) - 2) + sum(stack_risk(up, low) for low, up in pairwise(blocks))
        words = f"Stack {listed(names)}, {names[0]} at the bottom."
        yield TaskPlan("stack", (PlannedGoal("stacked", names),), words, f"stack_{len(names)}", risk)
    pairs = [
        (up, low) for up, low in permutations(objects, 2) if low.flat and not up.container and not why_not_on(up, low)
    ]
    if pairs:
        up, low = min(pairs, key=lambda p: stack_risk(*p) + 0.3 * (not p[1].block))
        risk = 0.15 + stack_risk(up, low) + 0.3 * (not low.block)
        yield _put_on(up, low, risk)


def _put_on(up: SceneObject, low: SceneObject, risk: float) -> TaskPlan:
    goal = PlannedGoal("on", (up.name, low.name))
    return TaskPlan("put_on", (goal,), f"Put {up.name} on top of {low.name}.", f"{up.name}_on_{low.name}", risk)


def _row(kind: str, objects: Sequence[SceneObject], words: str, name: str, risk: float) -> TaskPlan:
    """Return the task of a row from left to right; `words` and `name` have a hole for the objects and their number."""
    names = tuple(t.name for t in objects)
    goal = PlannedGoal("in_row", names, "right")
    return TaskPlan(kind, (goal,), words.format(listed(names)), name.format(len(names)), risk)


def _sort_tasks(objects: Sequence[SceneObject], table: TableTop) -> Iterator[TaskPlan]:
    objects = sorted(objects, key=lambda t: t.width)[:5]
    if len(objects) < 2:
        return
    risk = 0.15 + 0.04 * len(objects)
    small = sorted(objects, key=lambda t: t.volume)
    if all(big.volume > 1.15 * low.volume for low, big in pairwise(small)):
        yield _row("sort_by_size", small, "Sort {} into a row from small to big.", "sort_{}_by_size", risk)
    firsts = by_colour(list({t.colour: t for t in reversed(objects)}.values()))
    rainbow = [t for t in firsts if t.colour in RAINBOW[:7]]
    if len(rainbow) > 1:
        yield _row("sort_by_colour", rainbow, "Sort {} into a row in rainbow order.", "sort_{}_by_colour", risk)
    row = Arrangement(tuple(objects), table).ranked(objects, "right")[:4]
    yield _row("line_up", row, "Line up {} from left to right.", "line_up_{}", risk + 0.05)


def _gather_tasks(objects: Sequence[SceneObject], table: TableTop) -> Iterator[TaskPlan]:
    kinds = {t.category or t.shape for t in objects} - {"", "irregular", "object"}
    groups = {
        "{}s": _small_groups({kind: [t for t in objects if kind in name_words(t)] for kind in sorted(kinds)}, objects),
        "{} things": _groups(objects, lambda t: t.colour),
    }
    for plural, found in groups.items():
        for word, group in found.items():
            if not word:
                continue
            phrase, count = plural.format(word).replace("boxs", "boxes"), 0.05 * len(group)
            here = next((t.name for t in objects if t.category in ("bin", "basket") and t not in group), "")
            added, words, name = "bin", f"Discard all the {phrase} into the bin.", f"discard_{word}"
            if table.bin:
                here, added, words, name = "", "tray", f"Take all the {phrase} out of the bin.", f"take_out_{word}"
            into = tuple(PlannedGoal("inside", (t.name, here or added), new_container=not here) for t in group)
            yield TaskPlan("gather", into, words, name, 0.2 + count)
            front = tuple(PlannedGoal("in_zone", (t.name, "near_zone")) for t in group)
            words = f"Bring all the {phrase} into the zone at the front."
            yield TaskPlan("select", front, words, f"bring_{word}", 0.25 + count)


def _by_class(objects: Sequence[SceneObject], table: TableTop) -> Iterator[TaskPlan]:
    """Yield tasks about classes of objects that names and captions give, such as food."""
    for word, text in tables()["class_words"].items():
        many = words_of(text)[0]
        group = [t for t in objects if class_members()[word] & name_words(t)]
        if 1 < len(group) < len(objects):
            front = tuple(PlannedGoal("in_zone", (t.name, "near_zone")) for t in group)
            words = f"Bring the {many} into the zone at the front."
            yield TaskPlan("select", front, words, f"bring_the_{many}", 0.15 + 0.05 * len(group))


def _groups(objects: Sequence[SceneObject], key: Callable[[SceneObject], str]) -> dict[str, list[SceneObject]]:
    """Return groups of two or more, but not all, with the same key; the smallest first."""
    found: dict[str, list[SceneObject]] = {}
    for member in objects:
        found.setdefault(key(member), []).append(member)
    return _small_groups(found, objects)


def _small_groups(
    found: Mapping[str, list[SceneObject]], objects: Sequence[SceneObject]
) -> dict[str, list[SceneObject]]:
    """Return the groups of two or more objects, but not all; the smallest first."""
    some = {word: group for word, group in found.items() if 2 <= len(group) < len(objects)}
    return dict(sorted(some.items(), key=lambda item: (len(item[1]), sum(t.width for t in item[1]))))


def _mirror_tasks(objects: Sequence[SceneObject], table: TableTop) -> Iterator[TaskPlan]:
    for group in combinations(sorted(objects, key=carry_risk)[:5], 3):
        names = tuple(t.name for t in sorted(group, key=lambda t: np.dot(t.position[:2], table.right)))
        crowd = sum(_crowded(mirror_images(group, table)[t.name], t, group, objects) for t in group)
        words = f"Mirror {listed(names)}: exchange left and right."
        yield TaskPlan("mirror", (PlannedGoal("mirrored", names),), words, f"mirror_{len(names)}", 0.2 + 0.3 * crowd)


def _crowded(
    place: np.ndarray, placed: SceneObject, group: Sequence[SceneObject], objects: Sequence[SceneObject]
) -> bool:
    """Return whether another object stands at a place."""
    return any(
        float(np.hypot(*(place - t.position[:2]))) < (placed.diagonal + t.diagonal) / 2 + 0.01
        for t in objects
        if t not in group
    )


def _room_tasks(objects: Sequence[SceneObject], table: TableTop) -> Iterator[TaskPlan]:
    for zone, group in clearable_zones(objects, table).items():
        goals = tuple(PlannedGoal("outside", (t.name, zone)) for t in group)
        place, names = SIDES[zone.removesuffix("_zone")], listed([t.name for t in group])
        words = f"Make room {place}: move {names} out of the marked zone."
        yield TaskPlan("make_room", goals, words, f"make_room_{len(group)}", 0.1 + 0.05 * len(group))


def _place_tasks(objects: Sequence[SceneObject], table: TableTop) -> Iterator[TaskPlan]:
    calm = sorted(objects, key=carry_risk)
    if len(calm) < 2:
        return

    def far(other: SceneObject) -> float:
        return float(np.hypot(*np.subtract(calm[0].position[:2], other.position[:2])))

    a, b, names = calm[0], calm[1], f"{calm[0].name}_{calm[1].name}"
    swap = PlannedGoal("where", (a.name, b.name)), PlannedGoal("where", (b.name, a.name))
    yield TaskPlan("swap", swap, f"Swap the places of {a.name} and {b.name}.", f"swap_{names}", 0.3)
    b = max(calm[1:], key=far)
    near = (PlannedGoal("near", (a.name, b.name)),)
    yield TaskPlan("move_near", near, f"Move {a.name} next to {b.name}.", f"{a.name}_next_to_{b.name}", 0.12)
    b = min(calm[1:], key=far)
    away = (PlannedGoal("away", (a.name, b.name)),)
    yield TaskPlan("move_away", away, f"Move {a.name} well away from {b.name}.", f"{a.name}_away_from_{b.name}", 0.1)


def _furniture_tasks(objects: Sequence[SceneObject], table: TableTop) -> Iterator[TaskPlan]:
    """Yield the task to put the smallest object on furniture with drawers or doors."""
    able = [(t, low) for low in objects if low.parts for t in objects if not t.parts and not why_not_on(t, low)]
    if able:
        up, low = min(able, key=lambda p: stack_risk(*p) + carry_risk(p[0]))
        yield _put_on(up, low, 0.3 + stack_risk(up, low))


def _part_tasks(objects: Sequence[SceneObject], table: TableTop) -> Iterator[TaskPlan]:
    """Yield tasks to open and shut drawers and doors, and to fill drawers."""
    for owner in objects:
        for order, part in enumerate(part for part in owner.parts if part.upright):
            names_of_part, part_words = (owner.name, part.name), part.name.replace("_", " ")
            name, risk = "_".join((part.name, "of", owner.name)), 0.1 + 0.01 * order
            turns = part.name.endswith("knob")
            opens, shuts = ("Turn", "Turn back") if turns else ("Open", "Shut")
            words = f"{opens} the {part_words} of {owner.name}."
            yield TaskPlan("open", (PlannedGoal("opened", names_of_part),), words, f"open_{name}", risk)
            start = "turned" if turns else "open"
            words = f"{shuts} the {part_words} of {owner.name}, which starts {start}."
            yield TaskPlan("close", (PlannedGoal("closed", names_of_part),), words, f"shut_{name}", risk)
            fits = [t for t in objects if not why_not_in_part(t, owner, part.name) and max(t.size) < 0.9 * part.size[2]]
            if fits:
                placed = min(fits, key=lambda t: carry_risk(t) + t.width)
                goals = PlannedGoal("inside_part", (placed.name, *names_of_part)), PlannedGoal("closed", names_of_part)
                words = f"Put {placed.name} into the {part_words} of {owner.name} and shut it."
                yield TaskPlan("put_in_drawer", goals, words, f"{placed.name}_into_{name}", risk + 0.1)


_FAMILIES = (
    _move_tasks,
    _container_tasks,
    _stack_tasks,
    _sort_tasks,
    _mirror_tasks,
    _room_tasks,
    _place_tasks,
)
_SET_FAMILIES = _gather_tasks, _by_class
"""Tasks about all objects of a kind: none where the robot cannot pick up one of them."""
