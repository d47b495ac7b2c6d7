"""Plain words for goals: instructions and sentences in which objects have names that people use, never ids."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby

from pipeline.simulation.goals.spec import PlannedGoal, SentenceForm, listed

SIDES = {"left": "on the left", "right": "on the right", "near": "at the front", "far": "at the back",
         "middle": "in the middle"}  # fmt: skip
"""Words for the sides of the table."""


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


def sentences_in_words(goals: Sequence[PlannedGoal], names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the sentences of goals for a card; the first goal of each later stage begins with "then"."""
    texts, stage = [], 0
    for goal in goals:
        text = _written(goal.spec.forms, [goal], names)
        texts.append(f"then {text}" if goal.stage > stage else text)
        stage = goal.stage
    return tuple(texts)


def instruction_of(goals: Sequence[PlannedGoal], names: Mapping[str, str]) -> str:
    """Return an instruction in plain words that the offline reader reads as these goals."""
    stages = []
    for _, group in groupby(goals, key=lambda goal: goal.stage):
        alike = groupby(group, key=lambda goal: goal if goal.spec.lists_names else replace(goal, names=goal.names[1:]))
        stages.append(" and ".join(_written(g[0].spec.instructions, g, names) for g in (list(one) for _, one in alike)))
    text = ", then ".join(stages)
    return f"{text[:1].upper()}{text[1:]}."


def _written(forms: Sequence[SentenceForm], goals: Sequence[PlannedGoal], names: Mapping[str, str]) -> str:
    """Return goals that differ only in the first name as one sentence in the first form that fits them."""
    goal = goals[0]
    form = next(f for f in forms if (f.along, f.new_container) == (goal.along, goal.new_container))
    words = [_phrase(goal, index, name, names) for index, name in enumerate(goal.names)]
    if len(goals) > 1:
        words[0] = listed([_phrase(one, 0, one.names[0], names) for one in goals])
    return form.write(replace(goal, names=tuple(words)))


def _phrase(goal: PlannedGoal, index: int, name: str, names: Mapping[str, str]) -> str:
    """Return the words for one name of a goal."""
    if name in goal.objects and not (goal.spec.zone and index):
        return f"the {names.get(name, name)}"
    if goal.new_container:
        return f"a new {name.replace('_', ' ')}"
    if goal.spec.zone:
        side = name.removesuffix("_zone")
        return f"the zone {SIDES[side]}" if side in SIDES else f"the {name.replace('_', ' ')}"
    return name.replace("_", " ")
