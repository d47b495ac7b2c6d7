"""Plain names of objects: "the blue box"; equal ones are told apart as people do ("the left blue box")."""

from collections.abc import Iterator, Sequence
from itertools import count

from pipeline.planner.language.errors import UnclearPhrase
from pipeline.planner.language.normalisation import plain
from pipeline.planner.language.phrases.noun_phrases import NounPhrases
from pipeline.planner.language.phrases.phrase_words import name_list
from pipeline.planner.language.phrases.start_state import StartState
from pipeline.planner.language.tokens import tokenize
from pipeline.planner.plans import TableTop
from pipeline.planner.scene_objects import SceneObject

SIZE_RATIO = 1.5
"""Ratio of two volumes from which the size tells two objects apart."""


def scene_words(objects: Sequence[SceneObject]) -> frozenset[str]:
    """Return the words of the objects' names and captions."""
    words = {
        word for o in objects for word in (*name_list(o), o.name, *o.caption.replace("_", " ").split(), o.category)
    }
    return frozenset(word for word in words if word.replace("-", "").replace("_", "").isalnum() and not word.isdigit())


def plain_names(objects: Sequence[SceneObject], table: TableTop) -> dict[str, str]:
    """Return a plain name of each object by its name, without "the"; the offline planner reads it as that object."""
    start = StartState(tuple(objects), table)
    words = scene_words(objects)
    names: dict[str, str] = {}
    for o in objects:
        for candidate in _candidates(o, start):
            if candidate not in names.values() and _is_read_as(candidate, o, start, words):
                names[o.name] = candidate
                break
    return names


def _is_read_as(candidate: str, o: SceneObject, start: StartState, words: frozenset[str]) -> bool:
    reader = NounPhrases(start, {})
    try:
        return reader.select(tokenize(plain(f"the {candidate}"), words)).objects == (o,)
    except UnclearPhrase:
        return False


def _candidates(o: SceneObject, start: StartState) -> Iterator[str]:
    words = name_list(o) or ["object"]
    base = " ".join(words)
    alike = [other for other in start.objects if other != o and (name_list(other) or ["object"]) == words]
    if not alike:
        yield base
    yield from _told_apart(base, o, [o, *alike], start)
    if o.colour and o.colour not in words:
        yield f"{o.colour} {base}"
        yield from _told_apart(f"{o.colour} {base}", o, [o, *alike], start)
    if alike:
        yield base
    kind = words[-1]
    if len(words) > 1:
        same = [other for other in start.objects if kind in name_list(other)]
        yield from _told_apart(kind, o, same, start)
    yield from _told_apart("object", o, list(start.objects), start)


def _told_apart(base: str, o: SceneObject, alike: list[SceneObject], start: StartState) -> Iterator[str]:
    if len(alike) < 2:
        return
    two = len(alike) == 2
    by_size = sorted(alike, key=lambda other: other.volume)
    if by_size[-1] is o and o.volume > SIZE_RATIO * by_size[-2].volume:
        yield f"{'bigger' if two else 'biggest'} {base}"
    if by_size[0] is o and o.volume * SIZE_RATIO < by_size[1].volume:
        yield f"{'smaller' if two else 'smallest'} {base}"
    across = start.ranked(alike, "right")
    yield from _at_end(across, o, base, ("left", "right") if two else ("leftmost", "rightmost"))
    yield from _at_end(start.ranked(alike, "away"), o, base, ("front", "back") if two else ("nearest", "farthest"))
    ordinals = ("first", "second", "third", "fourth", "fifth")
    for number, other in zip(count(), across, strict=False):
        if other is o and number < len(ordinals):
            yield f"{ordinals[number]} {base} from the left"
    from_right = across[::-1]
    if from_right.index(o) < len(ordinals):
        yield f"{ordinals[from_right.index(o)]} {base} from the right"


def _at_end(ordered: list[SceneObject], o: SceneObject, base: str, words: tuple[str, str]) -> Iterator[str]:
    if ordered[0] is o:
        yield f"{words[0]} {base}"
    if ordered[-1] is o:
        yield f"{words[1]} {base}"
