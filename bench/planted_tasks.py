"""Tasks that are planted to measure the judge of generated tasks: impossible, trivial and good ones.

The cases are made from the shapes and sizes of a twin's objects by rules of their own, not by those of the planner.
They were written before the judge was first run on them. A person would call the good ones sensible: the objects are
loose, upright, of a size for one hand, and there is room.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, permutations

import numpy as np

from pipeline.simulation import kit
from pipeline.tasks import Task

ROUND = ("sphere",)
SOLID = ("cube", "block", "box", "can", "cylinder", "book", "ball")
SMALL_M, APART_M, CLOSE_M = 0.12, 0.25, 0.08
ROOM_M, EDGE_M, FAR_M = 0.05, 0.07, 0.15
"""Kept free around a place, its distance from the table's edge, and from where the object stands now."""
LEVEL_M = 0.02
"""Across a row, within which objects stand in a row already."""


@dataclass(frozen=True)
class Planted:
    """A task, and why it is planted."""

    why: str
    task: Task


def planted(why: str, instruction: str, objects: Sequence[str], *goals: str) -> Planted:
    """Return a planted task."""
    return Planted(why, Task(why.replace(" ", "_"), instruction, tuple(dict.fromkeys(objects)), goals, "planted"))


def width(o: kit.Object) -> float:
    """Return the larger extent across, in metres."""
    return float(max(o.size[:2]))


def narrow(o: kit.Object) -> float:
    """Return the smaller extent across, in metres."""
    return float(min(o.size[:2]))


def bad_tasks(scene: kit.Scene) -> Iterator[Planted]:
    """Yield impossible and trivial tasks of a twin, each kind at most twice."""
    kinds = (_impossible_of_one, _impossible_of_two, _impossible_of_several, _trivial_of_one, _trivial_of_two)
    for cases in kinds:
        yield from limited(cases(scene))


def good_tasks(scene: kit.Scene) -> Iterator[Planted]:
    """Yield tasks that a person would call sensible and possible, each kind at most twice."""
    for cases in (_good_of_one, _good_of_two, _good_with_room, _good_of_three):
        yield from limited(cases(scene))


def limited(cases: Iterator[Planted], most: int = 2) -> Iterator[Planted]:
    """Yield the first cases of each kind."""
    counts: dict[str, int] = {}
    for case in cases:
        counts[case.why] = counts.get(case.why, 0) + 1
        if counts[case.why] <= most:
            yield case


def _loose(scene: kit.Scene) -> list[kit.Object]:
    return [o for o in scene.objects if not o.fixed and not o.parts]


def _standing(scene: kit.Scene) -> list[kit.Object]:
    """Return what stands upright and wholly on the table."""
    standing = [o for o in _loose(scene) if o.bottom < 0.005 and o.tilt < 0.1]
    return [o for o in standing if scene.table.depth(o.outline).min() > 0]


def _easy(scene: kit.Scene) -> list[kit.Object]:
    """Return what stands, fits a hand, and does not topple easily."""
    return [
        o for o in _standing(scene)
        if 0.03 < width(o) < SMALL_M and o.size[2] < 2.5 * narrow(o) and not o.container
    ]  # fmt: skip


def _easy_and_still(scene: kit.Scene) -> list[kit.Object]:
    """Return what is easy and does not roll."""
    return [o for o in _easy(scene) if o.shape not in ROUND]


def _places(scene: kit.Scene, moved: kit.Object) -> np.ndarray:
    """Return where an object has room, away from where it stands, of shape (N, 2)."""
    low, high = scene.table.polygon.min(0), scene.table.polygon.max(0)
    axes = [np.arange(a, b, 0.03) for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes), -1).reshape(-1, 2)
    reach = width(moved) / 2 + ROOM_M
    free = scene.table.depth(grid) > width(moved) / 2 + EDGE_M
    for other in scene.objects:
        if other.name != moved.name:
            free &= np.array([other.distance_outside(xy) for xy in grid]) > reach
    free &= np.linalg.norm(grid - moved.position[:2], axis=1) > FAR_M
    return grid[free]


def _apart(a: kit.Object, b: kit.Object) -> np.ndarray:
    return a.position[:2] - b.position[:2]


def _gap(a: kit.Object, b: kit.Object) -> float:
    return float(np.hypot(*_apart(a, b))) - (width(a) + width(b)) / 2


def _impossible_of_one(scene: kit.Scene) -> Iterator[Planted]:
    loose = _loose(scene)
    for o in loose[:2]:
        low, high = scene.table.polygon.min(0), scene.table.polygon.max(0)
        x, y = high + 0.3 * (high - low)
        yield planted(
            "beside the table",
            f"Move {o.name} to ({x:.3f}, {y:.3f}).",
            (o.name,),
            f"{o.name} stands at ({x:.3f}, {y:.3f})",
        )
        yield planted("no such object", f"Put {o.name} on the unicorn.", (o.name,), f"{o.name} rests on unicorn")
    for o in loose:
        yield planted(
            "left and right at once", f"Move {o.name} into the left and into the right zone.", (o.name,),
            f"{o.name} is in left_zone, marked on the table", f"{o.name} is in right_zone, marked on the table",
        )  # fmt: skip
        yield planted(
            "in the bin and in a zone", f"Put {o.name} into the bin and into the zone at the front.", (o.name,),
            f"{o.name} is inside bin, set out on the table", f"{o.name} is in near_zone, marked on the table",
        )  # fmt: skip
        yield planted("no such drawer", f"Open the drawer of {o.name}.", (o.name,), f"{o.name}'s drawer is open")
        x, y = o.position[:2]
        yield planted(
            "stays and goes", f"Leave {o.name} where it is, in the bin.", (o.name,),
            f"{o.name} stands at ({x:.3f}, {y:.3f})", f"{o.name} is inside bin, set out on the table",
        )  # fmt: skip
        yield planted("on itself", f"Put {o.name} on {o.name}.", (o.name,), f"{o.name} rests on {o.name}")


def _impossible_of_two(scene: kit.Scene) -> Iterator[Planted]:
    yield from _impossible_shapes(scene)
    loose = _loose(scene)
    for a, b in pairwise(loose):
        yield planted(
            "each on the other", f"Put {a.name} on {b.name} and {b.name} on {a.name}.", (a.name, b.name),
            f"{a.name} rests on {b.name}", f"{b.name} rests on {a.name}",
        )  # fmt: skip
        yield planted(
            "both sides at once", f"Put {a.name} left and right of {b.name}.", (a.name, b.name),
            f"{a.name} is left of {b.name}", f"{a.name} is right of {b.name}",
        )  # fmt: skip
        yield planted(
            "near and far", f"Put {a.name} next to {b.name} and well away from it.", (a.name, b.name),
            f"{a.name} is next to {b.name}", f"{a.name} is well away from {b.name}",
        )  # fmt: skip
    for a, b in combinations(loose, 2):
        x, y = scene.table.polygon.mean(0)
        yield planted(
            "two at one place", f"Move {a.name} and {b.name} to ({x:.3f}, {y:.3f}).", (a.name, b.name),
            f"{a.name} stands at ({x:.3f}, {y:.3f})", f"{b.name} stands at ({x:.3f}, {y:.3f})",
        )  # fmt: skip
        yield planted(
            "each left of the other", f"Put {a.name} left of {b.name} and {b.name} left of {a.name}.",
            (a.name, b.name), f"{a.name} is left of {b.name}", f"{b.name} is left of {a.name}",
        )  # fmt: skip
        yield planted(
            "in front and behind", f"Put {a.name} in front of {b.name} and behind it.", (a.name, b.name),
            f"{a.name} is in front of {b.name}", f"{a.name} is behind {b.name}",
        )  # fmt: skip
        yield planted(
            "on it and on the table", f"Put {a.name} on {b.name} and on the table.", (a.name, b.name),
            f"{a.name} rests on {b.name}", f"{a.name} is on the table",
        )  # fmt: skip
        if a.shape == "sphere" or b.shape == "sphere":
            ball, other = (a, b) if a.shape == "sphere" else (b, a)
            yield planted(
                "a tower on a ball", f"Stack {ball.name} and {other.name}, {ball.name} at the bottom.",
                (ball.name, other.name), f"{ball.name} and {other.name} are stacked, bottom first",
            )  # fmt: skip
        yield planted(
            "each in the other", f"Put {a.name} into {b.name} and {b.name} into {a.name}.", (a.name, b.name),
            f"{a.name} is inside {b.name}", f"{b.name} is inside {a.name}",
        )  # fmt: skip


def _impossible_shapes(scene: kit.Scene) -> Iterator[Planted]:
    loose = _loose(scene)
    for a, b in permutations(loose, 2):
        if b.container and min(sorted(a.size)[1:]) > 1.15 * width(b) and min(a.size) > b.size[2]:
            yield planted(
                "too large for it", f"Put {a.name} into {b.name}.", (a.name, b.name), f"{a.name} is inside {b.name}"
            )
        if not b.container and b.category in SOLID:
            yield planted(
                "not hollow", f"Put {a.name} into {b.name}.", (a.name, b.name), f"{a.name} is inside {b.name}"
            )
        if b.shape in ROUND:
            yield planted(
                "round on top", f"Balance {a.name} on {b.name}.", (a.name, b.name), f"{a.name} rests on {b.name}"
            )
        if a.shape in ROUND and b.category in ("cube", "bottle", "can"):
            yield planted("rolls off", f"Put {a.name} on {b.name}.", (a.name, b.name), f"{a.name} rests on {b.name}")


def _impossible_of_several(scene: kit.Scene) -> Iterator[Planted]:
    loose = _loose(scene)
    if len(loose) > 3:
        names = [o.name for o in sorted(loose, key=lambda o: (o.category in SOLID, width(o)))]
        words = ", ".join(names[:-1]) + " and " + names[-1]
        yield planted("the worst tower", f"Stack {words}.", names, f"{words} are stacked, bottom first")
    for a, b, c in combinations(loose, 3):
        yield planted(
            "in a circle", f"Put {a.name} left of {b.name}, {b.name} left of {c.name}, {c.name} left of {a.name}.",
            (a.name, b.name, c.name), f"{a.name} is left of {b.name}", f"{b.name} is left of {c.name}",
            f"{c.name} is left of {a.name}",
        )  # fmt: skip


def _trivial_of_one(scene: kit.Scene) -> Iterator[Planted]:
    loose = _loose(scene)
    for o in loose:
        if o.bottom < 0.005:
            yield planted("on the table already", f"Put {o.name} on the table.", (o.name,), f"{o.name} is on the table")
        if o.tilt < 0.1:
            yield planted("upright already", f"Stand {o.name} up.", (o.name,), f"{o.name} is upright")
        x, y = o.position[:2]
        yield planted(
            "stands there already",
            f"Move {o.name} to ({x:.3f}, {y:.3f}).",
            (o.name,),
            f"{o.name} stands at ({x:.3f}, {y:.3f})",
        )
        yield planted(
            "where it stood", f"Put {o.name} where {o.name} was.", (o.name,), f"{o.name} stands where {o.name} stood"
        )


def _trivial_of_two(scene: kit.Scene) -> Iterator[Planted]:
    loose = _loose(scene)
    for a, b in permutations(loose, 2):
        right, away = float(_apart(a, b) @ scene.right), float(_apart(a, b) @ scene.away)
        if right < -0.12 and abs(away) < abs(right):
            yield planted(
                "left of it already",
                f"Move {a.name} left of {b.name}.",
                (a.name, b.name),
                f"{a.name} is left of {b.name}",
            )
        if away > 0.12 and abs(right) < away:
            yield planted(
                "behind it already", f"Move {a.name} behind {b.name}.", (a.name, b.name), f"{a.name} is behind {b.name}"
            )
        if _gap(a, b) > 1.2 * APART_M:
            yield planted(
                "far already",
                f"Move {a.name} well away from {b.name}.",
                (a.name, b.name),
                f"{a.name} is well away from {b.name}",
            )
        if right > 0.12 and abs(away) < right:
            yield planted(
                "right of it already", f"Move {a.name} right of {b.name}.", (a.name, b.name),
                f"{a.name} is right of {b.name}",
            )  # fmt: skip
        if away < -0.12 and abs(right) < -away:
            yield planted(
                "in front already", f"Move {a.name} in front of {b.name}.", (a.name, b.name),
                f"{a.name} is in front of {b.name}",
            )  # fmt: skip
        if _gap(a, b) < 0.02 and min(a.bottom, b.bottom) < 0.005 > max(a.bottom, b.bottom):
            yield planted(
                "next to it already",
                f"Put {a.name} next to {b.name}.",
                (a.name, b.name),
                f"{a.name} is next to {b.name}",
            )
        if (
            a.bottom > 0.01
            and not b.container
            and abs(a.bottom - b.top) < 0.005
            and b.distance_outside(a.position[:2]) <= 0
        ):
            yield planted(
                "on it already", f"Put {a.name} on {b.name}.", (a.name, b.name), f"{a.name} rests on {b.name}"
            )
        if right > 0.12 and abs(away) < LEVEL_M and max(a.bottom, b.bottom) < 0.005:
            yield planted(
                "in a row already", f"Put {b.name} and {a.name} into a row.", (b.name, a.name),
                f"{b.name} and {a.name} stand in a row from left to right",
            )  # fmt: skip
    standing = [o for o in loose if o.bottom < 0.005 and o.tilt < 0.1]
    for a, b in pairwise(standing):
        yield planted(
            "two things that hold", f"See that {a.name} and {b.name} stand upright.", (a.name, b.name),
            f"{a.name} is upright", f"{b.name} is upright",
        )  # fmt: skip


def _good_of_one(scene: kit.Scene) -> Iterator[Planted]:
    for o in _easy(scene):
        yield planted(
            "to a marked zone",
            f"Move {o.name} into the zone on the left.",
            (o.name,),
            f"{o.name} is in left_zone, marked on the table",
        )
        yield planted(
            "into a bin", f"Put {o.name} into the bin.", (o.name,), f"{o.name} is inside bin, set out on the table"
        )
    for o in _easy_and_still(scene):
        places = _places(scene, o)
        if len(places):
            x, y = places[len(places) // 2]
            yield planted(
                "to a free place",
                f"Move {o.name} to ({x:.3f}, {y:.3f}).",
                (o.name,),
                f"{o.name} stands at ({x:.3f}, {y:.3f})",
            )
        if len(places) > 20:
            yield planted(
                "to the zone on the right", f"Move {o.name} into the zone on the right.", (o.name,),
                f"{o.name} is in right_zone, marked on the table",
            )  # fmt: skip
            yield planted(
                "out of a zone", f"Clear the zone in the middle of {o.name}.", (o.name,),
                f"{o.name} is outside middle_zone, marked on the table",
            )  # fmt: skip


def _good_of_two(scene: kit.Scene) -> Iterator[Planted]:
    easy = _easy(scene)
    for a, b in permutations(easy, 2):
        gap, right = _gap(a, b), float(_apart(a, b) @ scene.right)
        if (
            b.category in SOLID
            and b.shape in ("box", "cube")
            and narrow(b) > 0.8 * narrow(a)
            and a.shape not in ROUND
            and narrow(b) > 0.04
        ):
            yield planted("on a block", f"Put {a.name} on {b.name}.", (a.name, b.name), f"{a.name} rests on {b.name}")
        if gap > APART_M:
            yield planted(
                "next to it", f"Move {a.name} next to {b.name}.", (a.name, b.name), f"{a.name} is next to {b.name}"
            )
        if gap < CLOSE_M:
            yield planted(
                "away from it",
                f"Move {a.name} well away from {b.name}.",
                (a.name, b.name),
                f"{a.name} is well away from {b.name}",
            )
        if right > 0.1:
            yield planted(
                "to the other side",
                f"Move {a.name} left of {b.name}.",
                (a.name, b.name),
                f"{a.name} is left of {b.name}",
            )
    for a, b in permutations(_standing(scene), 2):
        if b.container and b.size[2] > 0.04 and not a.container and a in easy and width(a) < 0.6 * narrow(b):
            yield planted(
                "into a container", f"Put {a.name} into {b.name}.", (a.name, b.name), f"{a.name} is inside {b.name}"
            )
    for a, b in pairwise(easy):
        yield planted(
            "two into a bin", f"Put {a.name} and {b.name} into the bin.", (a.name, b.name),
            f"{a.name} is inside bin, set out on the table", f"{b.name} is inside bin, set out on the table",
        )  # fmt: skip
        yield planted(
            "a row of two",
            f"Put {b.name} and {a.name} into a row.",
            (a.name, b.name),
            f"{b.name} and {a.name} stand in a row from left to right",
        )


def _good_with_room(scene: kit.Scene) -> Iterator[Planted]:
    for a, b in permutations(_easy_and_still(scene), 2):
        right, away = float(_apart(a, b) @ scene.right), float(_apart(a, b) @ scene.away)
        roomy = len(_places(scene, a)) > 20
        if right < -0.1 and roomy:
            yield planted(
                "to its right side", f"Move {a.name} to the right of {b.name}.", (a.name, b.name),
                f"{a.name} is right of {b.name}",
            )  # fmt: skip
        if away < -0.08 and roomy and scene.table.depth(b.position[None, :2] + 0.12 * scene.away[None])[0] > EDGE_M:
            yield planted(
                "to its back", f"Move {a.name} behind {b.name}.", (a.name, b.name), f"{a.name} is behind {b.name}"
            )
        if away > 0.08 and roomy and scene.table.depth(b.position[None, :2] - 0.12 * scene.away[None])[0] > EDGE_M:
            yield planted(
                "to its front",
                f"Move {a.name} in front of {b.name}.",
                (a.name, b.name),
                f"{a.name} is in front of {b.name}",
            )
        if roomy:
            yield planted(
                "one after the other",
                f"First put {a.name} into the bin, then move {b.name} into the zone at the back.",
                (a.name, b.name), f"{a.name} is inside bin, set out on the table",
                f"then {b.name} is in far_zone, marked on the table",
            )  # fmt: skip
            if max(_gap(a, b), abs(right)) > 0.1 and abs(right) > abs(away):
                yield planted(
                    "a row in depth", f"Line {a.name} and {b.name} up, {a.name} nearest.", (a.name, b.name),
                    f"{a.name} and {b.name} stand in a row from near to far",
                )  # fmt: skip
        flat = [o for o in (a, b) if o.category in SOLID and o.shape in ("box", "cube") and narrow(o) > 0.035]
        if len(flat) == 2 and narrow(a) >= 0.9 * narrow(b) and _gap(a, b) > 0.03:
            yield planted(
                "a tower of two",
                f"Stack {a.name} and {b.name}.",
                (a.name, b.name),
                f"{a.name} and {b.name} are stacked, bottom first",
            )
        if a.size[2] < 0.1 and _gap(a, b) > 0.05 and roomy and len(_places(scene, b)) > 20:
            yield planted(
                "takes its place", f"Put {b.name} into the zone on the left, then {a.name} where {b.name} was.",
                (b.name, a.name), f"{b.name} is in left_zone, marked on the table",
                f"then {a.name} stands where {b.name} stood",
            )  # fmt: skip


def _good_of_three(scene: kit.Scene) -> Iterator[Planted]:
    for three in combinations(_easy_and_still(scene), 3):
        names = [o.name for o in three]
        if all(len(_places(scene, o)) > 30 for o in three) and sum(map(width, three)) < 0.25:
            yield planted(
                "three into a bin", f"Put {names[0]}, {names[1]} and {names[2]} into the bin.", names,
                *(f"{name} is inside bin, set out on the table" for name in names),
            )  # fmt: skip


def spread_over_kinds(cases: Sequence[Sequence[Planted]], most: int) -> list[list[Planted]]:
    """Return at most so many cases of all projects together: every kind equally often, as far as there are any.

    Each is of the project that has the fewest so far.
    """
    left: dict[str, list[tuple[int, Planted]]] = {}
    for project, own in enumerate(cases):
        for case in own:
            left.setdefault(case.why, []).append((project, case))
    chosen: list[list[Planted]] = [[] for _ in cases]
    while sum(map(len, chosen)) < most and any(left.values()):
        for queue in filter(None, left.values()):
            if sum(map(len, chosen)) < most:
                project, case = queue.pop(min(range(len(queue)), key=lambda i: len(chosen[queue[i][0]])))
                chosen[project].append(case)
    return chosen
