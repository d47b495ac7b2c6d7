"""Plain words for goals: instructions and sentences in which objects have names that people use, never ids."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby

from pipeline.planner.goals import sentence
from pipeline.simulation.goals.spec import PlannedGoal, listed

ZONES = {
    "left_zone": "the zone on the left", "right_zone": "the zone on the right", "near_zone": "the zone at the front",
    "far_zone": "the zone at the back", "middle_zone": "the zone in the middle",
}  # fmt: skip
"""Plain words for the zones that the planner marks."""
SIDES = {
    "left_zone": "on the left", "right_zone": "on the right", "near_zone": "at the front", "far_zone": "at the back",
    "middle_zone": "in the middle",
}  # fmt: skip
PAIRS = {
    "on": "put {} on {}", "inside": "put {} into {}", "left_of": "put {} to the left of {}",
    "right_of": "put {} to the right of {}", "in_front_of": "put {} in front of {}", "behind": "put {} behind {}",
    "near": "move {} next to {}", "away": "move {} well away from {}",
}  # fmt: skip
ID = re.compile(r"\b[a-z]+(?:_[a-z0-9]+)+\b")
"""Words that only a program would use."""


def in_plain_words(text: str, names: Mapping[str, str]) -> str:
    """Return a text with every object's name replaced by its plain phrase: "red_box_2" by "the left red box".

    What is in plain words already stays.
    """
    return _pattern(tuple(names.items())).sub(lambda match: _in_plain_words(match, names), text)


def _in_plain_words(match: re.Match[str], names: Mapping[str, str]) -> str:
    if name := match["id"] or match["word"]:
        return f"{match['the'] or 'the '}{names[name]}"
    return match[0] if match["phrase"] else match[0].replace("_", " ")


@lru_cache(maxsize=64)
def _pattern(names: tuple[tuple[str, str], ...]) -> re.Pattern[str]:
    """Return the pattern of phrases, ids, ids that are plain words such as "orange", and parts of objects."""
    words = [name for name, phrase in names if name == phrase and "_" not in name]
    ids = [name for name, _ in names if name not in words]
    return re.compile(
        rf"\b[Tt]he (?P<phrase>{_any_of(phrase for _, phrase in names)})\b"
        rf"|(?P<the>\b[Tt]he )?\b(?P<id>{_any_of(ids)})\b"
        rf"|(?<![\w-])(?P<word>{_any_of(words)})\b(?! things)"
        r"|\b\w+_(?:drawer|door|zone|lid|knob|flap|button)\b"
    )


def _any_of(texts: Iterable[str]) -> str:
    """Return a pattern of these texts, the longest first; it matches nothing if there are none."""
    return "|".join(map(re.escape, sorted(texts, key=len, reverse=True))) or "(?!)"


def goal_in_words(goal: PlannedGoal, names: Mapping[str, str]) -> str:
    """Return the sentence of a goal for a card, without ids: "the red cube rests on the blue cube"."""
    form = next(f for f in goal.spec.forms if (f.along, f.new_container) == (goal.along, goal.new_container))
    words = []
    for index, name in enumerate(goal.names):
        if name in names:
            words.append(f"the {names[name]}")
        elif goal.new_container and index == len(goal.names) - 1:
            words.append(f"a {name.replace('_', ' ')}")
        else:
            words.append(
                ZONES.get(name) or (f"the {name.replace('_', ' ')}" if goal.spec.zone else name.replace("_", " "))
            )
    text = form.write(replace(goal, names=tuple(words)))
    return f"then {text}" if goal.stage else text


def sentences_in_words(goals: Sequence[PlannedGoal], names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the sentences of goals for a card; the first goal of each later stage begins with "then"."""
    first = {goal.stage: index for index, goal in reversed(list(enumerate(goals)))}
    return tuple(
        goal_in_words(replace(goal, stage=int(bool(goal.stage) and first[goal.stage] == i)), names)
        for i, goal in enumerate(goals)
    )


def instruction_of(goals: Sequence[PlannedGoal], names: Mapping[str, str]) -> str:
    """Return an instruction in plain words that the offline planner reads as these goals."""
    stages = [list(group) for _, group in groupby(goals, key=lambda goal: goal.stage)]
    texts = [" and ".join(_clauses(group, names)) for group in stages]
    text = ", then ".join(texts)
    return f"{text[:1].upper()}{text[1:]}."


def _clauses(goals: list[PlannedGoal], names: Mapping[str, str]) -> list[str]:
    """Return the clauses of one stage; goals that differ only in the object to move share one."""
    found: list[str] = []
    done: set[int] = set()
    for index, goal in enumerate(goals):
        if index in done:
            continue
        alike = [i for i in range(index, len(goals)) if i not in done and _is_alike(goals[i], goal)] or [index]
        if goal.kind == "where":
            alike = [index, *(i for i in range(index + 1, len(goals)) if _is_back(goals[i], goal))][:2]
        done |= set(alike)
        found.append(_clause([goals[i] for i in alike], names))
    return found


def _is_alike(one: PlannedGoal, other: PlannedGoal) -> bool:
    same = (one.kind, one.names[1:], one.new_container) == (other.kind, other.names[1:], other.new_container)
    return same and one.kind in (*PAIRS, "in_zone", "outside", "on_table", "inside_part")


def _is_back(one: PlannedGoal, other: PlannedGoal) -> bool:
    """Return whether two goals exchange the places of two objects."""
    return one.kind == other.kind == "where" and one.names == other.names[::-1]


def _clause(goals: list[PlannedGoal], names: Mapping[str, str]) -> str:
    goal = goals[0]
    the = [f"the {names.get(name, name)}" for name in goal.names]
    moved = listed([f"the {names.get(one.names[0], one.names[0])}" for one in goals])
    if goal.kind in PAIRS:
        target = f"a {goal.names[1]}" if goal.new_container else the[1]
        return PAIRS[goal.kind].format(moved, target)
    if goal.kind == "in_zone":
        place = ZONES.get(goal.names[1])
        return f"move {moved} into {place}" if place else f"put {moved} together"
    if goal.kind == "outside":
        return f"make room {SIDES.get(goal.names[1], 'in the middle')}: move {moved} out of the marked zone"
    if goal.kind == "stacked":
        return f"stack {listed(the)} in this order, bottom first"
    if goal.kind == "in_row":
        side = "from left to right" if goal.along == "right" else "from near to far"
        return f"put {listed(the)} in a row {side} in this order"
    if goal.kind == "where" and len(goals) == 1:
        return f"put {the[0]} in the place of {the[1]}"
    if goal.kind == "where":
        return f"swap the places of {the[0]} and {the[1]}"
    if goal.kind == "mirrored":
        return f"mirror {listed(the)}"
    if goal.kind == "on_table":
        return f"put {moved} on the table"
    if goal.kind == "inside_part":
        return f"put {moved} into the {goal.names[2].replace('_', ' ')} of {the[1]}"
    if goal.kind in ("opened", "closed"):
        return f"{'open' if goal.kind == 'opened' else 'shut'} the {goal.names[1].replace('_', ' ')} of {the[0]}"
    if goal.kind == "upright":
        return f"stand {the[0]} upright"
    return in_plain_words(sentence(replace(goal, stage=0)), names)
