"""Plain names of objects: "the blue box"; equal ones are told apart as people do ("the left blue box")."""

import re
from collections.abc import Iterable, Iterator, Sequence

from pipeline.planner.language.lexicon import UnclearPhrase, name_list
from pipeline.planner.language.noun_phrases import ORDINALS, NounPhrases
from pipeline.planner.scene_objects import Arrangement, SceneObject, TableTop

SIZE_RATIO = 1.5
"""Ratio of two volumes from which the size tells two objects apart."""


def plain_names(objects: Sequence[SceneObject], table: TableTop) -> dict[str, str]:
    """Return a plain name of each object by its name, without "the"; the offline reader reads it as that object."""
    start = Arrangement(tuple(objects), table)
    names: dict[str, str] = {}
    for o in objects:
        read_as = (name for name in _candidates(o, start) if name not in names.values() and _is_read(name, o, start))
        names[o.name] = next(read_as, o.name)
    return names


def with_ids(text: str, names: Iterable[str]) -> str:
    """Return a text in which objects that are called with a number, such as "red cube 2", have their ids."""
    called = {name.replace("_", " "): name for name in names if name.rpartition("_")[2].isdigit()}
    if not called:
        return text
    found = "|".join(map(re.escape, sorted(called, key=len, reverse=True)))
    return re.sub(rf"\b(?:{found})\b", lambda match: called[match[0].lower()], text, flags=re.IGNORECASE)


def _is_read(candidate: str, o: SceneObject, start: Arrangement) -> bool:
    try:
        return NounPhrases(start).read(f"the {candidate}").objects == (o,)
    except UnclearPhrase:
        return False


def _candidates(o: SceneObject, start: Arrangement) -> Iterator[str]:
    words = name_list(o) or ["object"]
    base = " ".join(words)
    alike = [other for other in start.objects if other != o and (name_list(other) or ["object"]) == words]
    if not alike:
        yield base
    yield from _told_apart(base, o, [o, *alike], start)
    if o.colour and o.colour not in words:
        yield f"{o.colour} {base}"
        yield from _told_apart(f"{o.colour} {base}", o, [o, *alike], start)
    if len(words) > 1:
        same = [other for other in start.objects if words[-1] in name_list(other)]
        yield from _told_apart(words[-1], o, same, start)
    yield from _told_apart("object", o, list(start.objects), start)


def _told_apart(base: str, o: SceneObject, alike: list[SceneObject], start: Arrangement) -> Iterator[str]:
    if len(alike) < 2:
        return
    two = len(alike) == 2
    by_size = sorted(alike, key=lambda other: other.volume)
    if by_size[-1] is o and o.volume > SIZE_RATIO * by_size[-2].volume:
        yield f"{'bigger' if two else 'biggest'} {base}"
    if by_size[0] is o and o.volume * SIZE_RATIO < by_size[1].volume:
        yield f"{'smaller' if two else 'smallest'} {base}"
    across, away = start.ranked(alike, "right"), start.ranked(alike, "away")
    yield from _at_end(across, o, base, ("left", "right") if two else ("leftmost", "rightmost"))
    yield from _at_end(away, o, base, ("front", "back") if two else ("nearest", "farthest"))
    for side, ordered in (("left", across), ("right", across[::-1])):
        yield from (
            f"{ordinal} {base} from the {side}" for ordinal, other in zip(ORDINALS, ordered, strict=False) if other is o
        )


def _at_end(ordered: list[SceneObject], o: SceneObject, base: str, words: tuple[str, str]) -> Iterator[str]:
    if ordered[0] is o:
        yield f"{words[0]} {base}"
    if ordered[-1] is o:
        yield f"{words[1]} {base}"
