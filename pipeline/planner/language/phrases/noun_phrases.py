"""Objects that a phrase refers to: "the smallest cube", "all red boxes except the tall one", "the mug on the plate"."""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pipeline.planner.language import lexicon
from pipeline.planner.language.errors import RepeatedObject, UnclearPhrase, UnparsedClause
from pipeline.planner.language.lexicon import lookalikes, singular, synonyms
from pipeline.planner.language.normalisation import plain
from pipeline.planner.language.phrases.phrase_words import (
    PhraseWords,
    all_words,
    looks_like,
    match_words,
    name_list,
    name_words,
    noun_of,
    number_of_list,
    shape_words,
    split_list,
    trimmed,
    with_noun,
)
from pipeline.planner.language.phrases.selections import SIDE_OF_RANK, Mentions, Modifier, Selection
from pipeline.planner.language.phrases.start_state import StartState
from pipeline.planner.language.tokens import Token, text_of, tokenize
from pipeline.planner.scene_objects import SceneObject, carry_risk
from pipeline.simulation.goals.spec import listed

MIN_SPELLING_RATIO = 0.65
"""Smallest similarity in spelling (difflib) of words of which one may stand for the other."""
CLEARLY = 1.08
"""Ratio of two measures from which people see the difference."""


@dataclass
class NounPhrases:
    """Resolves phrases about one scene."""

    start: StartState
    names: dict[str, str]
    """Plain name of each object by its name, without "the"."""
    words: frozenset[str] = frozenset()
    """Words of the objects' names."""
    mentions: Mentions = field(default_factory=Mentions)
    kept: frozenset[str] = frozenset()
    """Names of objects that are to be left alone: no set contains them."""

    @property
    def objects(self) -> tuple[SceneObject, ...]:
        return self.start.objects

    def called(self, o: SceneObject) -> str:
        """Return the plain phrase for an object: "the left blue box"."""
        return f"the {self.names.get(o.name, o.name)}"

    def read(self, text: str) -> tuple[SceneObject, ...]:
        """Return the objects that a text refers to, at least one. Raises UnclearPhrase."""
        return self.select(tokenize(plain(text), self.words)).objects

    def select(self, tokens: Sequence[Token], modifiers: Sequence[Modifier] = ()) -> Selection:
        """Return what a phrase with its modifiers refers to, at least one object. Raises UnclearPhrase."""
        tokens = trimmed(tokens)
        if not tokens:
            raise UnparsedClause("no object is named; " + self.objects_present())
        said = {t.text for t in tokens}
        cut = next((i for i, token in enumerate(tokens) if token.has("exceptions") and i), None)
        excepted: set[str] = set()
        if cut is not None:
            excepted = {o.name for o in self.select(with_noun(tokens[cut + 1 :], tokens[:cut])).objects}
            tokens = trimmed(tokens[:cut])
        parts = split_list(tokens)
        is_list = len(parts) > 1
        self._refuse_choice(tokens, parts)
        number, first = number_of_list(parts[0])
        if is_list and number:
            parts[0] = first
            union = self._union(parts, modifiers)
            chosen = self._first_of(union, number, text_of(tokens))
        else:
            chosen = self._union(parts, modifiers) if is_list else self._single(parts[0], modifiers, bool(excepted))
        excepted |= self.kept if chosen.several else set()
        kept = tuple(o for o in chosen.objects if o.name not in excepted)
        if not kept:
            raise UnclearPhrase(f'"{text_of(tokens)}" leaves nothing')
        negations = {"not", "never", "no longer"} if any(m.negated for m in modifiers) else set()
        self.mentions.words |= said | negations
        return Selection(kept, chosen.several or bool(excepted), chosen.noun)

    def _first_of(self, union: Selection, number: int, text: str) -> Selection:
        """Return so many objects of a list ("two of the mug, the brick and the tin"), the easiest to carry."""
        if number > len(union.objects):
            raise UnclearPhrase(f'"{text}": only {len(union.objects)} here: {self.list_of(union.objects)}', text)
        easiest = sorted(union.objects, key=carry_risk)[:number]
        return Selection(tuple(o for o in union.objects if o in easiest), number > 1, union.noun)

    def _refuse_choice(self, tokens: Sequence[Token], parts: Sequence[Sequence[Token]]) -> None:
        """Raise UnclearPhrase for "the mug or the cup": a choice between single objects, not a set."""
        is_set = any(
            t.value("determiners") == "every" or t.value("anything") == "plural" or t.text != singular(t.text)
            or t.text == "anything"
            for t in tokens if t.has("determiners", "anything", "nouns", "scene", "class_words", "mass")
        )  # fmt: skip
        if len(parts) > 1 and any(t.text == "or" for t in tokens) and not is_set:
            names = [self.called(o) for part in parts for o in self._single(part, (), False).objects]
            raise UnclearPhrase(f'"{text_of(tokens)}" is a choice: say which', text_of(tokens), alternatives=names)

    def _union(self, parts: list[list[Token]], modifiers: Sequence[Modifier]) -> Selection:
        noun = noun_of(parts[-1])
        head = noun_of(parts[0])
        everything = any(t.value("determiners") == "every" or t.value("anything") == "plural" for t in parts[0])
        found: dict[str, SceneObject] = {}
        several = True
        for index, part in enumerate(parts):
            own = any(t.has("pronouns") or t.text in ("object", "thing") for t in part)  # needs no other part's noun
            if not noun_of(part) and not own:
                if noun and index < len(parts) - 1:
                    part = [*part, *noun]
                elif everything and not any(t.has("determiners") for t in part):
                    every = [t for t in parts[0] if t.has("determiners")]
                    part = [*every, *part, *(head or [Token("things", {"anything": "anything"})])]
                elif head:
                    part = [*part, *head]
                elif all(t.has("colours", "determiners") for t in part):
                    part = [*part, Token("one", {"anything": "anything"})]
            elif everything and index and not any(t.has("determiners", "scene", "nouns") for t in part):
                part = [*[t for t in parts[0] if t.has("determiners")], *part]
            chosen = self._single(part, modifiers, False).objects
            if again := [o for o in chosen if o.name in found]:
                raise RepeatedObject(f"{self.list_of(again)}: named twice; say what is to be done with it")
            found |= {o.name: o for o in chosen}
        return Selection(tuple(found.values()), several, tuple(noun or head))

    def _single(self, tokens: Sequence[Token], modifiers: Sequence[Modifier], universal: bool) -> Selection:
        """Return what one phrase without a list refers to."""
        text = text_of(tokens)
        pronoun = next((t for t in tokens if t.has("pronouns")), None)
        content = [t for t in tokens if not t.has("fillers") or t.has("scene", "nouns", "ranks", "colours")]
        if pronoun and len(content) == 1 and not modifiers:
            return self._pronoun(pronoun)
        by_name = "_".join(text.replace("the ", "", 1).split())
        exact = next((o for o in self.objects if o.name in (by_name, *(t.text for t in tokens))), None)
        if exact and "_" not in text and any(name_list(o) == name_list(exact) for o in self.objects if o != exact):
            exact = None  # "wooden cube" of two wooden cubes: the name without a number is no plain name of either
        if exact and (exact.name in text or not any(t.has("ranks", "numbers") for t in tokens)) and not modifiers:
            return Selection((exact,), False, noun_of(tokens))
        return self._described(PhraseWords.read(content), modifiers, universal, text)

    def _pronoun(self, token: Token) -> Selection:
        last = self.mentions.last
        if not last:
            raise UnclearPhrase(f'"{token.text}" may be anything here: say which; {self.objects_present()}', token.text)
        if token.value("pronouns") == "one" and len(last) > 1 and token.text in ("it", "this one", "that one", "that"):
            last = tuple(o for o in self.mentions.named[-1:] if o not in last)
            if not last:
                names = [self.called(o) for o in self.mentions.last]
                raise UnclearPhrase(f'"{token.text}" may mean {" or ".join(names)}: say which', token.text, (), names)
        return Selection(last, len(last) > 1, self.mentions.noun)

    def _described(self, phrase: PhraseWords, modifiers: Sequence[Modifier], universal: bool, text: str) -> Selection:
        nouns = list(phrase.nouns)
        if phrase.is_bare_side:
            raise UnparsedClause(f'"{text}" names no object; ' + self.objects_present())
        if phrase.is_one and self.mentions.noun and not nouns:
            nouns = list(self.mentions.noun)
        several = phrase.several or universal
        pool = list(self.objects)
        for keep, word in phrase.filters:
            pool = self._filtered(pool, keep, word, phrase, text)
        for index, noun in enumerate(nouns):
            pool = self._named(pool, noun, [t.text for t in nouns[index:]], phrase, several)
        for keep, word in phrase.exclusions:
            pool = [o for o in pool if not keep(o)]
            if not pool:
                raise UnclearPhrase(f"there is nothing here that is not {word}; {self.objects_present()}", word)
        for modifier in modifiers:
            pool = self._modified(pool, modifier, text)
        if phrase.other:
            rest = [o for o in pool if o not in self.mentions.named]
            pool = rest if rest or not pool else pool
            if not rest:
                raise UnclearPhrase(f'there is no other one: "{text}"', text)
        restricted = bool(phrase.filters or nouns or phrase.ranks or phrase.exclusions or modifiers or phrase.other)
        if not restricted and not phrase.is_anything:
            raise UnparsedClause(f'"{text}" names no object; ' + self.objects_present())
        return self._counted(pool, phrase, several, text, tuple(nouns))

    def _counted(
        self, pool: list[SceneObject], phrase: PhraseWords, several: bool, text: str, nouns: tuple[Token, ...]
    ) -> Selection:
        for rank, graded in phrase.ranks:
            pool = self._ranked(pool, rank, several and graded, phrase.count, text)
        if phrase.ordinal:
            pool = self._ordinal(pool, phrase, text)
        count = phrase.count
        if count and len(pool) < count and phrase.quantity != "at_most":
            raise UnclearPhrase(f'"{text}": only {len(pool)} here: {self.list_of(pool)}', text)
        if count and len(pool) > count:
            if phrase.definite and not phrase.picks:
                raise self._which(pool, text, nouns, f"there are {len(pool)} of them")
            named = self.mentions.named
            pool = sorted(pool, key=lambda o: (o in named, self.start.support(o) is not None, carry_risk(o)))[:count]
        elif len(pool) > 1 and not several:
            if not phrase.picks:
                raise self._which(pool, text, nouns)
            pool = sorted(pool, key=carry_risk)[:1]
        return Selection(tuple(pool), several or count > 1, nouns)

    def _which(self, pool: Sequence[SceneObject], text: str, nouns: Sequence[Token], why: str = "") -> UnclearPhrase:
        names = [self.called(o) for o in pool]
        why = f" ({why})" if why else ""
        return UnclearPhrase(f'"{text}" may mean {" or ".join(names)}{why}: say which', text, alternatives=names)

    def _ordinal(self, pool: list[SceneObject], phrase: PhraseWords, text: str) -> list[SceneObject]:
        ordered = self.start.ranked(pool, "right" if phrase.counted_from in ("left", "right") else "away")
        self.mentions.sides |= {phrase.counted_from}
        if phrase.counted_from in ("right", "far"):
            ordered.reverse()
        if phrase.ordinal > len(ordered):
            raise UnclearPhrase(f'"{text}": only {len(pool)} here: {self.list_of(pool)}', text)
        return [ordered[phrase.ordinal - 1]]

    def _ranked(self, pool: list[SceneObject], rank: str, graded: bool, count: int, text: str) -> list[SceneObject]:
        key, end = rank.rsplit("_", 1)
        ordered = self.start.ranked(pool, key)
        self.mentions.sides |= {SIDE_OF_RANK.get(rank, "")}
        if end == "middle":
            if len(ordered) % 2 == 0:
                raise self._which(pool, text, ())
            return [ordered[len(ordered) // 2]]
        if end == "high":
            ordered.reverse()
        if graded and not count:
            half = len(ordered) // 2
            if half == 1:  # "the little cubes" are not one cube
                raise self._which(pool, text, (), "several are meant")
            return ordered[: half or 1]
        number = max(count, 1)
        edge = ordered[number - 1 : number + 1]
        if len(edge) == 2 and key not in ("right", "away"):
            low, high = sorted(self.start.measure(o, key) for o in edge)
            if high < low * (CLEARLY if key != "volume" else CLEARLY**2):
                tied = [
                    o for o in ordered if abs(self.start.measure(o, key) / self.start.measure(edge[0], key) - 1) < 0.17
                ]
                raise self._which(tied, text, (), "they are as large as each other")
        return ordered[:number]

    def _filtered(
        self, pool: list[SceneObject], keep: Callable[[SceneObject], bool], word: str, phrase: PhraseWords, text: str
    ) -> list[SceneObject]:
        chosen = [o for o in pool if keep(o)]
        if not chosen:
            noun = " ".join(t.text for t in phrase.nouns)
            what = f"{word} {noun}".strip() if noun else f"nothing {word}"
            lead = "there is no" if noun else "there is"
            fits = []
            if noun:
                try:
                    fits = self._named(list(self.objects), phrase.nouns[-1], [noun], phrase, True)
                except UnclearPhrase:
                    what = f"{word} {singular(noun)}"
            alternatives = [self.called(o) for o in fits]
            raise UnclearPhrase(f"{lead} {what} here; {self.objects_present()}", text, alternatives=alternatives)
        return chosen

    def _modified(self, pool: list[SceneObject], modifier: Modifier, text: str) -> list[SceneObject]:
        """Return those of the pool that stand in a relation, or at a place."""
        words = text_of(modifier.tokens)
        if modifier.relation == "place":
            place = modifier.tokens[-1].text
            self.mentions.sides |= {place}
            ordered = {"left": ("right", 1), "right": ("right", -1), "near": ("away", 1), "far": ("away", -1)}
            chosen = [o for o in pool if self.start.is_at(place, o)]
            if modifier.negated:
                chosen = [o for o in pool if o not in chosen]
            elif len(pool) > 1 and place in ordered and len(chosen) != 1:
                key, sign = ordered[place]
                extreme = sorted(pool, key=lambda o: sign * self.start.measure(o, key))
                chosen = chosen if len(chosen) > 1 else extreme[:1]
        elif modifier.relation in ("nearest", "farthest"):
            others = self.select(modifier.tokens).objects
            pool = [o for o in pool if o not in others]
            ordered_by = sorted(pool, key=lambda o: self.start.distance(o, others[0]))
            chosen = ordered_by[:1] if modifier.relation == "nearest" else ordered_by[-1:]
        elif any(t.has("table") for t in modifier.tokens):
            chosen = [o for o in pool if (self.start.support(o) is None) != modifier.negated]
            chosen = chosen or ([] if modifier.negated else list(pool))
        else:
            others = self.select(modifier.tokens).objects
            relation = modifier.relation
            if relation == "between":
                chosen = [o for o in pool if self._is_between(o, others)]
            elif relation == "near" and not modifier.negated:
                chosen = [o for o in pool if all(self.start.holds(relation, o, other) for other in others)]
                rest = [o for o in pool if o not in others]
                chosen = chosen or sorted(rest, key=lambda o: self.start.distance(o, others[0]))[:1] * (len(rest) > 1)
            else:
                chosen = [o for o in pool if any(self.start.holds(relation, o, other) for other in others)]
            if modifier.negated:
                chosen = [o for o in pool if o not in chosen]
        if not chosen:
            not_ = "not " if modifier.negated else ""
            relation = modifier.relation.replace("_", " ").replace("inside", "in")
            raise UnclearPhrase(
                f'"{text}": nothing of it is {not_}{relation} {words} here; {self.objects_present()}', text
            )
        return chosen

    def _is_between(self, o: SceneObject, ends: Sequence[SceneObject]) -> bool:
        if len(ends) != 2 or o in ends:
            return False
        keys = ("right", "away")
        key = max(keys, key=lambda k: abs(self.start.measure(ends[0], k) - self.start.measure(ends[1], k)))
        low, high = sorted(self.start.measure(end, key) for end in ends)
        return low < self.start.measure(o, key) < high

    def _named(
        self, pool: list[SceneObject], noun: Token, nouns: Sequence[str], phrase: PhraseWords, several: bool
    ) -> list[SceneObject]:
        """Return those of the pool that a noun fits; `nouns` are it and the words that follow: "tomato", "soup"."""
        bare = singular(noun.text)
        klass = noun.value("class_words")
        members = lexicon.class_members().get(klass, frozenset())
        also = synonyms(bare) | synonyms(noun.text)
        exact: list[Callable[[SceneObject], bool]] = [lambda o: bool({noun.text, bare} & name_words(o))]
        if (several or noun.text != bare or phrase.ranks) and sum(
            exact[0](o) for o in pool
        ) < 2:  # "the cans": tins, too
            exact = [lambda o: bool(({noun.text, bare} | also) & name_words(o))]
        readings: list[Callable[[SceneObject], bool]] = [
            *exact,
            lambda o: bool(also & name_words(o)) or bool({noun.text, bare} & name_words(o)),
            lambda o: bool(members & name_words(o)) and klass != "",
            lambda o: bool({noun.text, bare} & match_words(o)),
            lambda o: bool(members & match_words(o)) and klass != "",
            lambda o: bare == "container" and o.container,
            lambda o: bool({bare} & shape_words(o)),
            lambda o: bool(also & shape_words(o)),
            lambda o: bare in ("cylinder", "sphere", "cube") and bare == o.shape,
        ]
        if klass == "container" or bare == "container":
            readings = [lambda o: o.container]
        for fits in readings:
            if chosen := [o for o in pool if fits(o)]:
                return chosen
        raise self._no_such_object(nouns, pool, lexicon.class_looks(klass), phrase)

    def _no_such_object(
        self, nouns: Sequence[str], pool: list[SceneObject], wanted_looks: frozenset[str], phrase: PhraseWords
    ) -> UnclearPhrase:
        """Return the error for words that fit no object, with suggestions that look alike, or else are spelt alike."""
        noun = nouns[-1]
        bare = singular(noun)
        look = lexicon.product_look(bare) or lexicon.product_look(noun)
        suggested = [o for o in pool if wanted_looks & all_words(o)] or [
            o for o in pool if look and looks_like(o, *look)
        ]
        if len(suggested) < 1 + (noun != bare):
            suggested = [o for o in pool if lookalikes(bare) & {o.category, o.shape}] or suggested
        known = {word: o for o in self.objects for word in (o.name, *all_words(o))}
        spelling = difflib.get_close_matches(bare, known, 1, MIN_SPELLING_RATIO)
        suggested = suggested or [o for o in self.objects if spelling and spelling[0] in {o.name, *all_words(o)}]
        suggested = suggested or (pool if len(pool) == 1 < len(self.objects) else [])
        is_plural = noun != bare
        names = [self.called(o) for o in (suggested if is_plural or len(suggested) < 4 else suggested[:3])]
        quoted = [f'"{name}"' for name in names]
        joined = (listed(quoted) if is_plural else " or ".join(quoted)) if names else ""
        hint = f"; did you mean {'all of ' if is_plural and len(names) > 1 else ''}{joined}?" if names else ""
        one = names if len(names) == 1 or is_plural else ()
        colours = " ".join(word for _, word in phrase.filters)
        lacking = " ".join(filter(None, [colours, *nouns[:-1], bare]))
        unknown = " ".join(nouns)
        return UnclearPhrase(f"there is no {lacking} here; {self.objects_present()}{hint}", unknown, one, names)

    def list_of(self, objects: Sequence[SceneObject]) -> str:
        """Return plain phrases for objects as a list."""
        return listed([self.called(o) for o in objects]) if objects else "none"

    def objects_present(self) -> str:
        """Return a sentence that lists the objects."""
        if not self.objects:
            return "no object was found on this table"
        return f"there {'are' if len(self.objects) > 1 else 'is'}: " + ", ".join(self.called(o) for o in self.objects)
