"""Pairs of tasks, written by hand, that a person would call the same or different, and drawn pairs of sets of tasks.

`CALIBRATION` chooses the similarity from which a task repeats another one; `ASIDE` was looked at once, afterwards, and
`LAST` once after the rule that the same goals are the same task.
`python -m bench.task_pairs` prints the similarities, the chosen threshold, and how both groups are told apart.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.task_generation.similarity import REPEATED, TaskProfile, profile_of, repeats, similarity
from pipeline.tasks import Task
from pipeline.variation import wilson

NAMES = {
    "red_cube": "cube", "blue_cube": "cube", "green_cube": "cube", "banana": "fruit", "apple": "fruit", "mug": "mug",
    "bowl": "bowl", "plate": "plate", "drill": "tool", "hammer": "tool", "can": "can", "book": "book", "cup": "cup",
}  # fmt: skip
BIN = "is inside bin, set out on the table"
LEFT, RIGHT, NEAR, FAR = (f"is in {side}_zone, marked on the table" for side in ("left", "right", "near", "far"))


@dataclass(frozen=True)
class TaskPair:
    """Two tasks, each as (instruction, goals), and whether a person would call them the same."""

    why: str
    one: tuple[str, tuple[str, ...]]
    other: tuple[str, tuple[str, ...]]

    @property
    def profiles(self) -> list[TaskProfile]:
        """What the judge compares."""
        return [profile_of(Task("a", words, (), goals), NAMES) for words, goals in (self.one, self.other)]

    @property
    def similarity(self) -> float:
        """As the judge measures it."""
        return similarity(*self.profiles)

    @property
    def is_repeat(self) -> bool:
        """As the judge decides."""
        return repeats(*self.profiles)


def _said(why: str, one: str, other: str, *goals: str) -> TaskPair:
    """Return two instructions for the same goals."""
    return TaskPair(why, (one, goals), (other, goals))


def _pair(why: str, one: str, goals: Sequence[str] | str, other: str, others: Sequence[str] | str) -> TaskPair:
    first, second = ((found,) if isinstance(found, str) else tuple(found) for found in (goals, others))
    return TaskPair(why, (one, first), (other, second))


SAME = (
    _said("paraphrase", "Put the red cube into the bowl.", "Place the red cube in the bowl.",
          "red_cube is inside bowl"),
    _said("paraphrase", "Put the apple on the plate.", "The apple should end up on the plate.", "apple rests on plate"),
    _said("paraphrase", "Discard the banana.", "Throw the banana into the bin.", f"banana {BIN}"),
    _said("paraphrase", "Move the mug next to the book.", "Bring the mug close to the book.", "mug is next to book"),
    _said("paraphrase", "Clear the drill away to the left.", "Move the drill into the left zone.", f"drill {LEFT}"),
    _said("paraphrase", "Set the can down behind the mug.", "I want the can behind the mug.", "can is behind mug"),
    _said("polite", "Stack the red cube and the blue cube.", "Please build a tower of the red and the blue cube.",
          "red_cube and blue_cube are stacked, bottom first"),
    _said("polite", "Move the hammer well away from the cup.", "Could you keep the hammer at a distance from the cup?",
          "hammer is well away from cup"),
    _said("noise", "Put the cup left of the plate.", "Robot, carefully put the cup left of the plate, then stop.",
          "cup is left of plate"),
    _said("noise", "Line the can and the mug up.", "Now line up the can and the mug from left to right. Thanks!",
          "can and mug stand in a row from left to right"),
    _pair("order of goals", "Put the apple and the banana into the bin.", (f"apple {BIN}", f"banana {BIN}"),
          "Put the banana and the apple into the bin.", (f"banana {BIN}", f"apple {BIN}")),
    _pair("order of goals", "Put the red cube left and the blue cube right.",
          (f"red_cube {LEFT}", f"blue_cube {RIGHT}"),
          "Put the blue cube right and the red cube left.", (f"blue_cube {RIGHT}", f"red_cube {LEFT}")),
    _said("paraphrase of steps", "First put the apple into the bowl, then move the can into the left zone.",
          "Begin with the apple, which goes into the bowl; the can goes left afterwards.",
          "apple is inside bowl", f"then can {LEFT}"),
    _pair("another kind for the same", "Put the green cube on the book.", "green_cube rests on book",
          "Stack the book and the green cube.", "book and green_cube are stacked, bottom first"),
)  # fmt: skip
DIFFERENT = (
    _pair("swapped", "Put the red cube on the book.", "red_cube rests on book",
          "Put the book on the red cube.", "book rests on red_cube"),
    _pair("swapped", "Put the mug left of the can.", "mug is left of can", "Put the can left of the mug.",
          "can is left of mug"),
    _pair("swapped", "Stack the red cube and the blue cube.", "red_cube and blue_cube are stacked, bottom first",
          "Stack the blue cube and the red cube.", "blue_cube and red_cube are stacked, bottom first"),
    _pair("another of its kind", "Put the red cube into the bowl.", "red_cube is inside bowl",
          "Put the blue cube into the bowl.", "blue_cube is inside bowl"),
    _pair("another of its kind", "Discard the apple.", f"apple {BIN}", "Discard the banana.", f"banana {BIN}"),
    _pair("another of its kind", "Move the hammer next to the mug.", "hammer is next to mug",
          "Move the drill next to the mug.", "drill is next to mug"),
    _pair("another goal", "Put the apple into the bowl.", "apple is inside bowl",
          "Put the apple next to the bowl.", "apple is next to bowl"),
    _pair("another goal", "Put the can behind the mug.", "can is behind mug", "Put the can in front of the mug.",
          "can is in front of mug"),
    _pair("another side", "Move the book into the left zone.", f"book {LEFT}", "Move the book into the right zone.",
          f"book {RIGHT}"),
    _pair("one more object", "Put the apple into the bin.", f"apple {BIN}", "Put the apple and the can into the bin.",
          (f"apple {BIN}", f"can {BIN}")),
    _pair("another order of steps", "First put the apple into the bowl, then the can into the bin.",
          ("apple is inside bowl", f"then can {BIN}"), "First put the can into the bin, then the apple into the bowl.",
          (f"can {BIN}", "then apple is inside bowl")),
    _pair("another last step", "First put the apple into the bowl, then move the can into the left zone.",
          ("apple is inside bowl", f"then can {LEFT}"),
          "First put the apple into the bowl, then move the can next to the mug.",
          ("apple is inside bowl", "then can is next to mug")),
    _pair("another object in one of three steps",
          "First put the apple into the bin, then the can on the book, and finally the red cube into the bowl.",
          (f"apple {BIN}", "then can rests on book", "then red_cube is inside bowl"),
          "First put the apple into the bin, then the can on the book, and finally the blue cube into the bowl.",
          (f"apple {BIN}", "then can rests on book", "then blue_cube is inside bowl")),
    _pair("another order of a row", "Line up the red, the blue and the green cube.",
          "red_cube, blue_cube and green_cube stand in a row from left to right",
          "Line up the green, the blue and the red cube.",
          "green_cube, blue_cube and red_cube stand in a row from left to right"),
)  # fmt: skip
CALIBRATION = (SAME, DIFFERENT)

SAME_ASIDE = (
    _said("paraphrase", "Put the hammer into the bin.", "Get rid of the hammer.", f"hammer {BIN}"),
    _said("paraphrase", "Move the cup to the front.", "The cup belongs in the zone at the front.", f"cup {NEAR}"),
    _said("paraphrase", "Set the drill to the right of the book.", "Shift the drill so that it is right of the book.",
          "drill is right of book"),
    _said("paraphrase", "Put the blue cube in the cup.", "Drop the blue cube into the cup.", "blue_cube is inside cup"),
    _said("polite", "Put the banana on the plate.", "Would you please lay the banana onto the plate for me?",
          "banana rests on plate"),
    _said("polite", "Take the can away from the mug.", "Kindly separate the can and the mug.",
          "can is well away from mug"),
    _said("noise", "Put the apple in front of the bowl.", "Task 3: put the apple in front of the bowl, slowly.",
          "apple is in front of bowl"),
    _said("short", "Tidy up: the red cube, the blue cube and the can go into the bin.", "Three things into the bin.",
          f"red_cube {BIN}", f"blue_cube {BIN}", f"can {BIN}"),
    _pair("order of goals", "Put the mug left and the cup at the back.", (f"mug {LEFT}", f"cup {FAR}"),
          "Put the cup at the back and the mug left.", (f"cup {FAR}", f"mug {LEFT}")),
    _said("paraphrase of steps", "First the can goes behind the mug, then put the apple on the book.",
          "Put the can behind the mug. When that is done, lay the apple on the book.",
          "can is behind mug", "then apple rests on book"),
)  # fmt: skip
DIFFERENT_ASIDE = (
    _pair("swapped", "Put the cup in front of the can.", "cup is in front of can",
          "Put the can in front of the cup.", "can is in front of cup"),
    _pair("swapped", "Place the plate on the book.", "plate rests on book", "Place the book on the plate.",
          "book rests on plate"),
    _pair("another of its kind", "Put the green cube on the plate.", "green_cube rests on plate",
          "Put the red cube on the plate.", "red_cube rests on plate"),
    _pair("another of its kind", "First put the drill into the bin, then the apple on the plate.",
          (f"drill {BIN}", "then apple rests on plate"),
          "First put the hammer into the bin, then the apple on the plate.",
          (f"hammer {BIN}", "then apple rests on plate")),
    _pair("another goal", "Move the drill next to the hammer.", "drill is next to hammer",
          "Move the drill well away from the hammer.", "drill is well away from hammer"),
    _pair("another side", "Move the mug into the zone at the front.", f"mug {NEAR}",
          "Move the mug into the zone at the back.", f"mug {FAR}"),
    _pair("one more object", "Put the red cube and the blue cube into the bowl.",
          ("red_cube is inside bowl", "blue_cube is inside bowl"),
          "Put the red cube, the blue cube and the green cube into the bowl.",
          ("red_cube is inside bowl", "blue_cube is inside bowl", "green_cube is inside bowl")),
    _pair("another order of steps", "First move the mug left, then put the can into the bin.",
          (f"mug {LEFT}", f"then can {BIN}"), "First put the can into the bin, then move the mug left.",
          (f"can {BIN}", f"then mug {LEFT}")),
    _pair("another object in one of three steps",
          "First put the apple into the bowl, then the drill into the bin, and finally the can next to the mug.",
          ("apple is inside bowl", f"then drill {BIN}", "then can is next to mug"),
          "First put the banana into the bowl, then the drill into the bin, and finally the can next to the mug.",
          ("banana is inside bowl", f"then drill {BIN}", "then can is next to mug")),
    _pair("another direction of a row", "Line up the can and the mug from left to right.",
          "can and mug stand in a row from left to right", "Line up the can and the mug from near to far.",
          "can and mug stand in a row from near to far"),
)  # fmt: skip
ASIDE = (SAME_ASIDE, DIFFERENT_ASIDE)


SAME_LAST = (
    _said("few common words", "Throw the cup away.", "Put the cup into the bin.", f"cup {BIN}"),
    _said("few common words", "Make the book the base of the plate.", "Put the plate on it.", "plate rests on book"),
    _said("few common words", "Free the left side for the can.", "The can goes there.", f"can {LEFT}"),
    _pair("another kind for the same", "Build a tower: the book, the red cube, the blue cube.",
          "book, red_cube and blue_cube are stacked, bottom first",
          "Put the blue cube on the red one, which is on the book.",
          ("blue_cube rests on red_cube", "red_cube rests on book")),
    _said("paraphrase", "Put the banana in front of the mug.", "The banana is wanted in front of the mug.",
          "banana is in front of mug"),
    _pair("order of goals", "The apple into the bowl, the can next to the cup.",
          ("apple is inside bowl", "can is next to cup"), "Put the can next to the cup and the apple into the bowl.",
          ("can is next to cup", "apple is inside bowl")),
)  # fmt: skip
DIFFERENT_LAST = (
    _pair("at once or in order", "Put the apple into the bowl and the can on the book.",
          ("apple is inside bowl", "can rests on book"),
          "First put the apple into the bowl, then the can on the book.",
          ("apple is inside bowl", "then can rests on book")),
    _pair("another middle step", "First the cup goes left, then the can right, and finally the mug onto the plate.",
          (f"cup {LEFT}", f"then can {RIGHT}", "then mug rests on plate"),
          "First the cup goes left, then the can to the back, and finally the mug onto the plate.",
          (f"cup {LEFT}", f"then can {FAR}", "then mug rests on plate")),
    _pair("another of its kind", "Line up the apple, the can and the mug.",
          "apple, can and mug stand in a row from left to right", "Line up the banana, the can and the mug.",
          "banana, can and mug stand in a row from left to right"),
    _pair("another goal", "Put the blue cube on the plate.", "blue_cube rests on plate",
          "Put the blue cube left of the plate.", "blue_cube is left of plate"),
    _pair("one more object", "Stack the book and the red cube.", "book and red_cube are stacked, bottom first",
          "Stack the book, the red cube and the green cube.",
          "book, red_cube and green_cube are stacked, bottom first"),
    _pair("another place", "Move the drill to (0.10, 0.05).", "drill stands at (0.100, 0.050)",
          "Move the drill to (-0.20, 0.05).", "drill stands at (-0.200, 0.050)"),
)  # fmt: skip
LAST = (SAME_LAST, DIFFERENT_LAST)
GROUPS = {"calibration": CALIBRATION, "aside": ASIDE, "last": LAST}


FORMS = (
    ("Put {a} into {b}.", "{a} is inside {b}"),
    ("Place {a} on {b}.", "{a} rests on {b}"),
    ("Move {a} next to {b}.", "{a} is next to {b}"),
    ("Bring {a} far away from {b}.", "{a} is well away from {b}"),
    ("Set {a} left of {b}.", "{a} is left of {b}"),
    ("Swap {a} for where {b} was.", "{a} stands where {b} stood"),
    ("Move {a} into the zone at the front.", "{a} is in near_zone, marked on the table"),
    ("Discard {a}.", "{a} is inside bin, set out on the table"),
    ("Stack {a} and {b}.", "{a} and {b} are stacked, bottom first"),
    ("Line {a} and {b} up.", "{a} and {b} stand in a row from left to right"),
)
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


def best_threshold(same: Sequence[TaskPair], different: Sequence[TaskPair]) -> float:
    """Return the threshold that puts most pairs on their side; the middle of the widest such interval."""
    values = np.unique([0.0, 1.0, *(one.similarity for one in (*same, *different))])
    middles = (values[1:] + values[:-1]) / 2
    right = [right_of(middle, same, different)[0] for middle in middles]
    widths = np.where(np.array(right) == max(right), np.diff(values), 0)
    return float(middles[widths.argmax()])


def right_of(threshold: float, same: Sequence[TaskPair], different: Sequence[TaskPair]) -> tuple[int, int]:
    """Return how many pairs are on their side of a threshold, and how many there are."""
    hits = sum(one.similarity >= threshold for one in same) + sum(one.similarity < threshold for one in different)
    return hits, len(same) + len(different)


def main() -> int:
    """Print every pair and all groups."""
    for title, (same, different) in GROUPS.items():
        for label, pairs in (("same", same), ("different", different)):
            for one in sorted(pairs, key=lambda pair: pair.similarity):
                print(f"{title} {label} {one.similarity:.3f} [{one.why}] {one.one[0]} | {one.other[0]}")
    for threshold, name in ((REPEATED, "in use"), (best_threshold(*CALIBRATION), "best on the calibration pairs")):
        for title, pairs in GROUPS.items():
            _print(f"similarity from {threshold:.3f} ({name}), {title}", *right_of(threshold, *pairs))
    for title, (same, different) in GROUPS.items():
        hits = sum(one.is_repeat for one in same) + sum(not one.is_repeat for one in different)
        _print(f"the judge, {title}", hits, len(same) + len(different))
    return 0


def _print(title: str, hits: int, count: int) -> None:
    share = wilson(hits, count)
    print(f"{title}: {hits} of {count} pairs on their side ({share.low:.0%} to {share.high:.0%})")


if __name__ == "__main__":
    sys.exit(main())
