"""Tasks that are planted to measure the judge of generated tasks: impossible, trivial and good ones, and sets.

The cases are made from the shapes and sizes of a twin's objects by rules of their own, not by those of the planner.
They were written before the judge was first run on them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations

import numpy as np

from pipeline.simulation import kit
from pipeline.tasks import Task

ROUND = ("sphere",)
SOLID = ("cube", "block", "box", "can", "cylinder", "book", "ball")
SMALL_M, APART_M, CLOSE_M = 0.12, 0.25, 0.08


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
    yield from limited(_impossible(scene))
    yield from limited(_trivial(scene))


def limited(cases: Iterator[Planted], most: int = 2) -> Iterator[Planted]:
    """Yield the first cases of each kind."""
    counts: dict[str, int] = {}
    for case in cases:
        counts[case.why] = counts.get(case.why, 0) + 1
        if counts[case.why] <= most:
            yield case


def _impossible(scene: kit.Scene) -> Iterator[Planted]:
    loose = [o for o in scene.objects if not o.fixed and not o.parts]
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
    if len(loose) > 3:
        names = [o.name for o in sorted(loose, key=lambda o: (o.category in SOLID, width(o)))]
        words = ", ".join(names[:-1]) + " and " + names[-1]
        yield planted("the worst tower", f"Stack {words}.", names, f"{words} are stacked, bottom first")


def _trivial(scene: kit.Scene) -> Iterator[Planted]:
    loose = [o for o in scene.objects if not o.fixed and not o.parts]
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
    for a, b in permutations(loose, 2):
        apart = a.position[:2] - b.position[:2]
        gap = float(np.hypot(*apart)) - (width(a) + width(b)) / 2
        right, away = float(apart @ scene.right), float(apart @ scene.away)
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
        if gap > 1.2 * APART_M:
            yield planted(
                "far already",
                f"Move {a.name} well away from {b.name}.",
                (a.name, b.name),
                f"{a.name} is well away from {b.name}",
            )


def good_tasks(scene: kit.Scene) -> Iterator[Planted]:
    """Yield tasks that a person would call sensible and possible, each kind at most twice."""
    yield from limited(_good(scene))


def _good(scene: kit.Scene) -> Iterator[Planted]:
    on_table = [o for o in scene.objects if not o.fixed and not o.parts and o.bottom < 0.005 and o.tilt < 0.1]
    inside = [o for o in on_table if scene.table.depth(o.outline).min() > 0]
    easy = [o for o in inside if 0.03 < width(o) < SMALL_M and o.size[2] < 2.5 * narrow(o) and not o.container]
    for o in easy:
        yield planted(
            "to a marked zone",
            f"Move {o.name} into the zone on the left.",
            (o.name,),
            f"{o.name} is in left_zone, marked on the table",
        )
        yield planted(
            "into a bin", f"Put {o.name} into the bin.", (o.name,), f"{o.name} is inside bin, set out on the table"
        )
    for a, b in permutations(easy, 2):
        apart = a.position[:2] - b.position[:2]
        gap, right = float(np.hypot(*apart)) - (width(a) + width(b)) / 2, float(apart @ scene.right)
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
    for a, b in permutations(inside, 2):
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


NAMES = {
    "red_cube": "cube", "blue_cube": "cube", "green_cube": "cube", "banana": "fruit", "apple": "fruit", "mug": "mug",
    "bowl": "bowl", "plate": "plate", "drill": "tool", "hammer": "tool", "can": "can", "book": "book", "cup": "cup",
}  # fmt: skip
FORMS = (
    ("Put {a} into {b}.", "{a} is inside {b}"), ("Place {a} on {b}.", "{a} rests on {b}"),
    ("Move {a} next to {b}.", "{a} is next to {b}"), ("Bring {a} far away from {b}.", "{a} is well away from {b}"),
    ("Set {a} left of {b}.", "{a} is left of {b}"), ("Swap {a} for where {b} was.", "{a} stands where {b} stood"),
    ("Move {a} into the zone at the front.", "{a} is in near_zone, marked on the table"),
    ("Discard {a}.", "{a} is inside bin, set out on the table"),
    ("Stack {a} and {b}.", "{a} and {b} are stacked, bottom first"),
    ("Line {a} and {b} up.", "{a} and {b} stand in a row from left to right"),
)  # fmt: skip
WORDINGS = ("{}", "Please {}", "{} Be careful.", "Robot: {}", "Now {}", "{} Then stop.", "Kindly {}", "{} Thanks.")


def set_pairs(count: int = 20) -> Iterator[tuple[list[Task], list[Task]]]:
    """Yield a diverse and a repetitive set of as many tasks each.

    A repetitive set has one or two kinds of goals on two or three objects, in many wordings. A diverse one has as many
    kinds as there are, on all objects. Later pairs are closer to each other.
    """
    random = np.random.default_rng(18)
    names = list(NAMES)
    for number in range(count):
        size = int(random.integers(6, 13))
        few = random.choice(names, 2 + number % 2, replace=False)
        kinds = random.choice(len(FORMS), 1 + number % 2, replace=False)
        repetitive = [_drawn(random, few, kinds, WORDINGS[int(random.integers(len(WORDINGS)))]) for _ in range(size)]
        order = random.permutation(len(FORMS))[: max(4, len(FORMS) - number // 3)]
        diverse = [_drawn(random, names, [order[i % len(order)]], "{}") for i in range(size)]
        yield diverse, repetitive


def _drawn(random: np.random.Generator, names: Sequence[str], kinds: Sequence[int], wording: str) -> Task:
    a, b = random.choice(names, 2, replace=False)
    words, goal = FORMS[int(random.choice(kinds))]
    instruction = wording.format(words.format(a=a, b=b))
    objects = tuple(
        name for name in (a, b) if name in goal.format(a=a, b=b).split() or f"{name} " in goal.format(a=a, b=b)
    )
    return Task("planted", instruction, objects, (goal.format(a=a, b=b),), "planted")
