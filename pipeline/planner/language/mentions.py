"""Objects that words may name, in sentences that cannot be read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby, pairwise

from pipeline.description.colour_names import COLOUR_WORDS
from pipeline.planner.language.lexicon import (
    has_colour,
    kind_words,
    loose_words,
    name_list,
    name_words,
    singular,
    synonyms,
    tables,
    values,
    words_of,
)
from pipeline.planner.language.noun_phrases import ALL, ARTICLES, GENERIC, QUANTIFIERS
from pipeline.planner.language.reader import InstructionReader
from pipeline.planner.scene_objects import SceneObject, carry_risk


@dataclass(frozen=True)
class Mention:
    """Words that may name objects."""

    start: int
    end: int
    choices: tuple[tuple[SceneObject, ...], ...]
    """What they may mean, best first."""
    kept: bool = False
    """It is to be left alone."""


class Mentions:
    """Finds the mentions of objects in tokens; `moved` are the objects that the task before moves."""

    def __init__(self, reader: InstructionReader, tokens: Sequence[str], moved: set[str]):
        self.reader, self.tokens, self.moved = reader, tokens, moved
        self.start = reader.phrases.start
        self._seen: list[Mention] = []

    def all(self) -> list[Mention]:
        """Return the mentions in order."""
        return list(self._mentions())

    def _mentions(self) -> Iterator[Mention]:
        last: tuple[tuple[SceneObject, ...], ...] = ()
        earlier = last
        for start, end in self._runs():
            run = self.tokens[start:end]
            seen = {o.name for m in self._seen for o in m.choices[0]}
            if choices := self._choices(run, seen):
                kept = self._is_kept(start, end)
                self._seen.append(Mention(start, end, choices, kept))
                earlier, last = last[:1], choices
                yield Mention(start, end, choices, kept)
            elif last and set(run) & {"it", "them", "that", "they"}:
                yield Mention(start, end, (*last, *earlier))

    def _runs(self) -> Iterator[tuple[int, int]]:
        at = 0
        for is_part, group in groupby(self.tokens, key=self._is_part):
            full = end = at + len(list(group))
            if is_part:
                while end > at + 1 and self.tokens[end - 1] in values("sides") and self._has_content(at, end - 1):
                    end -= 1  # "boxes left, tins right"
                cuts = [
                    i for i in range(at + 1, end) if self.tokens[i] in ("the", "a", "my") and self._has_content(at, i)
                ]
                yield from pairwise((at, *cuts, end))
            at = full

    def _has_content(self, start: int, end: int) -> bool:
        return any(self._fit(word, o) for word in self.tokens[start:end] for o in self.reader.objects)

    def _is_part(self, word: str) -> bool:
        return (
            word in ARTICLES | QUANTIFIERS | {*ALL, "it", "them", "they", "other", "others", "rest", "stuff"}
            or word in COLOUR_WORDS
            or word in values("ranks")
            or word in values("numbers")
            or singular(word) in GENERIC
            or (any(self._fit(word, o) for o in self.reader.objects) and word not in values("kinds"))
        )

    def _fit(self, word: str, o: SceneObject) -> float:
        """Return how well a word fits an object, in [0, 1]."""
        one = singular(word)
        if {word, one} & {*name_words(o), o.name}:
            return 1.0
        if word in COLOUR_WORDS:
            return 0.9 if has_colour(o, word) else 0.0
        if one in kind_words(o):
            return 0.8
        if synonyms(one) & {*name_words(o), *kind_words(o)}:
            return 0.7
        return 0.6 if {word, one} & loose_words(o) else 0.0

    def _choices(self, run: Sequence[str], seen: set[str]) -> tuple[tuple[SceneObject, ...], ...]:
        objects = [o for o in self.reader.objects if not o.parts] or list(self.reader.objects)
        content = [w for w in run if any(self._fit(w, o) for o in self.reader.objects)]
        every = bool({"all", "everything", "every", "others", "rest", "stuff"} & set(run))
        ranks = [w for w in run if w in values("ranks") and w != "middle"]
        if not content and not (every or ((ranks or "other" in run) and any(singular(w) in GENERIC for w in run))):
            return ()
        if not content and every and (seen or {"others", "rest", "stuff"} & set(run)):  # "all go", "the rest"
            others = tuple(o for o in objects if o.name not in seen and not o.container)
            return (others,) if {"others", "rest", "stuff"} & set(run) and others else ()
        score = {o.name: sum(self._fit(w, o) for w in content) for o in self.reader.objects}
        pool = objects if not content else [o for o in self.reader.objects if score[o.name] == max(score.values())]
        like = self._seen[-1].choices[0] if self._seen else [o for o in objects if o.name in self.moved]
        if not content and "one" in run and like:  # "the other one": of the kind that was named last
            pool = [o for o in objects if any(name_list(o)[-1] == name_list(one)[-1] for one in like)]
        if "other" in run and len(pool) > 1:
            pool = [o for o in pool if o.name not in (seen or self.moved)] or pool
        count = next(
            (int(values("numbers").get(w, 0)) for w in run if w in values("numbers")), 2 if "both" in run else 0
        )
        plural = every or count > 1 or any(w != singular(w) and not any(w in o.name for o in pool) for w in content)
        for word in ranks if not plural else ():
            key, end = values("ranks")[word].split("_")
            pool = self.start.ranked(pool, key)[-1 if end == "high" else 0 :][:1] if pool else pool
        if not plural:
            return tuple((o,) for o in pool[:4])
        wide = [o for o in self.reader.objects if content and score[o.name] >= 0.7 * len(content)]
        if count:
            return tuple(combinations(sorted(wide or pool, key=carry_risk), min(count, len(wide or pool))))[:3]
        return tuple(dict.fromkeys((tuple(wide or pool), tuple(pool))))

    def _is_kept(self, start: int, end: int) -> bool:
        """Return whether the words around a mention say that its objects are to be left alone."""
        before, after = self.tokens[:start], self.tokens[end:]
        low = max((i + 1 for i, t in enumerate(before) if t in (",", ";", ":", "but", "then")), default=0)
        if "not" in before[low:]:  # "not the juice the blue cylinder"
            low = max([low, *(m.end for m in self._seen if m.kept)])
        high = next((i for i, t in enumerate(after) if t in (",", ";", ":", "but", "then", "and")), len(after))
        follows, beside = (set(words_of(tables()["keeping"][key])) for key in ("after", "beside"))
        lead = [t for t in before[low:] if t not in ("the",)]
        return (
            any(t in follows or t.endswith("n't") for t in lead)
            or any(t in beside for t in after[:high])
            or after[:high][-1:] == ["not"]
        )
