"""Words of a noun phrase by what they do in it, and the words by which an object may be called."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pipeline.description.colour_names import COLOUR_WORDS
from pipeline.planner.language import lexicon
from pipeline.planner.language.errors import UnparsedClause
from pipeline.planner.language.lexicon import singular, synonyms
from pipeline.planner.language.tokens import Token, text_of
from pipeline.planner.scene_objects import SceneObject

MEASURED_CAPTION = re.compile(r"^(?:\(mark \d+\) )?[\w -]+, [\d. x]+ cm\b")
"""Caption that only repeats the measured colour, shape and size."""
UNTOLD = ("thing", "object", "cylinder", "box", "ball", "cube", "sphere")
"""Categories that only repeat a shape, which is measured better."""


@dataclass
class PhraseWords:
    """The words of one phrase by what they do."""

    nouns: list[Token] = field(default_factory=list)
    filters: list[tuple[Callable[[SceneObject], bool], str]] = field(default_factory=list)
    exclusions: list[tuple[Callable[[SceneObject], bool], str]] = field(default_factory=list)
    ranks: list[tuple[str, bool]] = field(default_factory=list)
    """Measure and end, and whether the word may pick several."""
    count: int = 0
    quantity: str = ""
    ordinal: int = 0
    counted_from: str = "left"
    several: bool = False
    definite: bool = False
    picks: bool = False
    """Any of them will do."""
    other: bool = False
    is_one: bool = False
    is_anything: bool = False
    is_bare_side: bool = False
    """Only a side of the table is named, without an article or a noun: "left"."""

    @staticmethod
    def read(tokens: Sequence[Token]) -> "PhraseWords":
        """Return the words of a phrase by what they do. Raises UnclearPhrase for a word that does nothing in it."""
        phrase = PhraseWords(is_bare_side=bool(tokens) and all(t.has("places") and not t.has("scene") for t in tokens))
        tokens = phrase._without_ordinal(list(tokens))
        negated = False
        for index, token in enumerate(tokens):
            last = index == len(tokens) - 1
            if token.has("negations"):
                negated = True
                continue
            phrase._read_word(token, tokens[index + 1 :], last, negated)
        return phrase

    def _without_ordinal(self, tokens: list[Token]) -> list[Token]:
        """Take "second ... from the left" out of the tokens."""
        texts = [t.text for t in tokens]
        if "from" not in texts:
            return tokens
        at = texts.index("from")
        tail = [t for t in tokens[at + 1 :] if not t.has("determiners")]
        place = (
            tail[0].value("places") or {"right_low": "left", "right_high": "right"}.get(tail[0].value("ranks"), "")
            if tail
            else ""
        )
        ordinal = next((t for t in tokens[:at] if t.has("ordinals")), None)
        if not ordinal or place not in ("left", "right", "near", "far"):
            raise UnparsedClause(f'"{text_of(tokens)}" is not understood')
        self.ordinal, self.counted_from = int(ordinal.value("ordinals")), place
        return [t for t in tokens[:at] if t is not ordinal]

    def _read_word(self, token: Token, rest: Sequence[Token], last: bool, negated: bool) -> None:
        bare = singular(token.text)
        colour_noun = token.has("colours") and token.has("scene") and not any(t.has("scene", "nouns") for t in rest)
        into = self.exclusions if negated else self.filters
        if token.has("colours") and not (colour_noun and token.text == "orange"):
            colour = token.value("colours")
            word = token.text
            into.append((lambda o: o.colour == colour or word in name_list(o), word))
        elif token.has("shapes"):
            shapes = token.value("shapes").split()
            into.append((lambda o: o.shape in shapes, token.text))
        elif token.has("numbers") and self.picks and self.count:  # "one of the two", "two of the three cubes"
            return
        elif token.has("numbers") and not (token.text == "one" and not rest):
            self.count = int(token.value("numbers"))
            self.picks = self.picks or bool(rest and rest[0].text == "of")
            self.several = self.several or self.count > 1
        elif token.has("quantities") and (rest and (rest[0].has("numbers") or rest[0].text == "one")):
            self.quantity, self.picks = token.value("quantities"), True
        elif token.has("determiners") and (rest or token.value("determiners") == "definite"):
            self._read_determiner(token, rest)
        elif token.has("others"):
            self.other = True
            self.several = self.several or token.text in ("others", "remaining", "rest", "everything else")
            self.is_anything = True
            self.picks = self.picks or token.text == "another"
        elif token.has("extremes"):
            self.ranks.append((token.value("extremes"), False))
        elif token.has("ranks") and not token.has("scene"):
            self.ranks.append((token.value("ranks"), token.has("graded")))
        elif token.has("anything"):
            self.is_anything = True
            self.is_one = bare in ("one",)
            self.several = self.several or token.value("anything") == "plural" or token.text != bare
        elif token.has("materials") and rest and not token.has("scene"):
            word = {"wood": "wooden"}.get(token.text, token.text)
            into.append((lambda o: word in all_words(o) or (word == "wooden" and o.colour == "brown"), word))
        elif token.has("affordances"):
            klass = token.value("affordances")
            members = lexicon.class_members()[klass]
            into.append((lambda o: bool(members & name_words(o)) or (klass == "container" and o.container), token.text))
        elif (
            token.has("relative", "copulas", "modals", "fillers", "place_nouns") and not token.has("scene")
        ) or token.text in ("of", "you", "one can", "you can", "we can", "i", "we", "there", "in"):
            return
        elif token.has("mass"):
            self.nouns.append(token)
            self.several = True
        elif negated:
            noun = bare
            into.append((lambda o: noun in name_words(o) or bool(synonyms(noun) & name_words(o)), noun))
        else:
            self._read_noun(token, bare, last)

    def _read_noun(self, token: Token, bare: str, last: bool) -> None:
        if not token.has("scene", "nouns", "known", "class_words", "impossible") and token.tags:
            raise UnparsedClause(f'"{token.text}" is not understood here', token.text)
        self.nouns.append(token)
        if last or not self.several:
            self.several = self.several or (token.text != bare and bare not in ("glasse", "crackers"[:-1]))

    def _read_determiner(self, token: Token, rest: Sequence[Token]) -> None:
        kind = token.value("determiners")
        if token.text in ("these", "those", "both"):
            self.several = True
            self.count = 2 if token.text == "both" else self.count
        self.several = self.several or kind == "every"
        self.definite = self.definite or kind == "definite"
        if kind == "any" and token.text not in ("one",):
            self.picks = True
            counted = any(t.has("numbers") for t in rest)
            self.count = self.count or (0 if counted and not token.text.startswith("one of") else 1)
        elif token.text == "one":
            self.picks, self.count = True, 1


def noun_of(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """Return the words of a phrase that name its kind."""
    return tuple(
        t for t in tokens
        if (t.has("scene", "nouns", "known", "class_words") or not t.tags)
        and not (t.has("colours", "ranks", "numbers", "materials") and t.text != "orange")
        and not (t.text == "orange" and t is not tokens[-1])
        and not t.has("determiners", "anything", "others", "fillers", "negations", "relative", "copulas", "exceptions")
        and t.text not in ("of",)
    )  # fmt: skip


def name_list(o: SceneObject) -> list[str]:
    """Return the words of an object's name, without its number."""
    return [word for word in o.name.lower().split("_") if not word.isdigit()]


def name_words(o: SceneObject) -> frozenset[str]:
    """Return the nouns of an object: of its name, its chosen asset and a person's or a model's caption."""
    words = name_list(o)
    if len(words) > 1 and words[0] in COLOUR_WORDS:
        words = words[1:]
    if o.caption and not MEASURED_CAPTION.match(o.caption):
        head = re.split(r"\b(?:in|on|next|behind|with|near|beside|lying|standing)\b", o.caption)[0]
        words += [w for w in re.findall(r"[a-z]+", head) if w not in COLOUR_WORDS]
    return frozenset([*words, *(singular(word) for word in words)])


def match_words(o: SceneObject) -> frozenset[str]:
    """Return the words of the asset that an object may show, also of one that was not chosen, and its category."""
    text = f"{o.caption.rsplit('cm', 1)[-1]} {o.asset} {'' if o.category in UNTOLD else o.category}"
    words = [w for w in re.findall(r"[a-z]+", text) if w not in COLOUR_WORDS]
    return frozenset([*words, *(singular(word) for word in words)])


def shape_words(o: SceneObject) -> frozenset[str]:
    """Return the words for an object's measured shape."""
    return frozenset({o.shape, "ball" if o.shape == "sphere" else o.shape})


def all_words(o: SceneObject) -> frozenset[str]:
    """Return all words by which an object may be called."""
    words = re.findall(r"[a-z]+", f"{o.name} {o.category} {o.shape} {o.colour} {o.about}".lower())
    return frozenset([*words, *(singular(w) for w in words)])


def looks_like(o: SceneObject, colour: str, kind: str) -> bool:
    """Return whether an object looks like a product of a colour, if any, and a kind of the lexicon's looks."""
    return (not colour or o.colour == colour) and bool(lexicon.looks(kind) & {o.category or o.shape, o.shape})


def with_noun(tokens: Sequence[Token], base: Sequence[Token]) -> list[Token]:
    """Return a phrase with the noun of another one in place of "one", or where it has none."""
    if noun_of(tokens) or any(t.has("pronouns") for t in tokens):
        return list(tokens)
    kept = [t for t in tokens if not t.has("anything")]
    noun = list(noun_of(base)) or [Token("one", {"anything": "anything"})]
    plural_form = any(t.text in ("ones", "things") for t in tokens)
    return [*kept, *noun] if plural_form else [*kept, *[_as_singular(t) for t in noun]]


def _as_singular(token: Token) -> Token:
    return Token(singular(token.text), token.tags) if not token.has("anything") else Token("one", token.tags)


def number_of_list(tokens: Sequence[Token]) -> tuple[int, list[Token]]:
    """Return the number of "two of the mug" at the beginning of a list, and the words after it; 0 without one."""
    kept = [t for t in tokens if t.value("quantities") != "exactly"]
    if len(kept) > 1 and kept[0].text in ("one of", "one of the", "any one of", "either of"):
        return 1, kept[1:]
    if len(kept) < 3 or kept[1].text != "of":
        return 0, list(tokens)
    return (1 if kept[0].text == "one" else int(kept[0].value("numbers") or 0)), kept[2:]


def split_list(tokens: Sequence[Token]) -> list[list[Token]]:
    """Return the parts of a list: "a, b and c"."""
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.has("comma", "conjunctions"):
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part] or [[]]


def trimmed(tokens: Sequence[Token]) -> list[Token]:
    """Return tokens without commas and "and" at the ends, and without the words that say nothing at the ends."""
    kept = list(tokens)

    def drops(t: Token) -> bool:
        light = t.has("comma", "conjunctions") or (t.has("fillers") and not t.has("scene", "nouns", "ranks", "colours"))
        return light

    while kept and drops(kept[0]):
        kept.pop(0)
    while kept and drops(kept[-1]):
        kept.pop()
    return kept
