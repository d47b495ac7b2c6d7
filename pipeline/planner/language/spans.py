"""Parts of a text that name objects, where the text itself cannot be read."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from pipeline.planner.language.errors import UnclearPhrase
from pipeline.planner.language.instruction_reader import InstructionReader
from pipeline.planner.language.lexicon import class_members
from pipeline.planner.language.phrases.phrase_words import name_words
from pipeline.planner.language.tokens import Token
from pipeline.planner.scene_objects import SceneObject

MAX_PHRASE = 6
"""Most words of a phrase for one object."""
MAX_CHOICES = 3
"""How many objects an unclear phrase may fit for each of them to be tried."""


@dataclass(frozen=True)
class Span:
    """A part of a text that names objects."""

    start: int
    end: int
    choices: tuple[tuple[SceneObject, ...], ...]
    """What it may refer to; several where it is unclear."""
    is_pronoun: bool = False

    @property
    def objects(self) -> tuple[SceneObject, ...]:
        """Return what it refers to most likely."""
        return self.choices[0] if self.choices else ()


def spans_of(tokens: Sequence[Token], reader: InstructionReader) -> list[Span]:
    """Return the parts of a text that name objects, in their order."""
    found: list[Span] = []
    at = 0
    while at < len(tokens):
        span = _span_at(list(tokens), at, reader)
        if span is None and tokens[at].has("pronouns") and not tokens[at].has("scene"):
            span = Span(at, at + 1, (), True)
        if span is not None:
            found.append(span)
            at = span.end
        else:
            at += 1
    return found


def _span_at(tokens: list[Token], at: int, reader: InstructionReader) -> Span | None:
    unclear: Span | None = None
    for size in range(min(MAX_PHRASE, len(tokens) - at), 0, -1):
        piece = tokens[at : at + size]
        if not _may_name(piece):
            continue
        goes_on = at + size < len(tokens) and _is_noun(tokens[at + size])
        try:
            chosen = reader.statements.phrases.select(piece).objects
        except UnclearPhrase as error:
            if unclear is None and (choices := _choices(error, piece, reader)):
                unclear = Span(at, at + size, choices)
            continue
        if not goes_on:
            return Span(at, at + size, (chosen,))
    if (
        unclear
        and unclear.end - at > 1
        and any(_reads(tokens[i : unclear.end], reader) for i in range(at + 1, unclear.end))
    ):
        return None  # "range the four cubes": the words behind the unknown one name objects
    return unclear


def _reads(piece: list[Token], reader: InstructionReader) -> bool:
    try:
        return _may_name(piece) and bool(reader.statements.phrases.select(piece).objects)
    except UnclearPhrase:
        return False


def _may_name(piece: Sequence[Token]) -> bool:
    named = any(t.has("scene", "nouns", "known", "class_words", "colours", "anything", "others") for t in piece)
    joins = ("relations", "comma", "conjunctions", "verbs", "pronouns", "places", "copulas", "modals", "stop")
    ends = piece[-1].has("determiners", "fillers") and not piece[-1].has("scene", "nouns", "anything")
    return (
        named
        and not ends
        and not any(t.has(*joins) and not t.has("scene", "nouns", "class_words", "ranks", "anything") for t in piece)
    )


def _is_noun(token: Token) -> bool:
    return token.has("scene", "nouns", "known", "class_words") and not token.has("places", "relations")


def _choices(
    error: UnclearPhrase, piece: Sequence[Token], reader: InstructionReader
) -> tuple[tuple[SceneObject, ...], ...]:
    is_word = any(t.has("scene", "nouns", "known", "class_words", "colours", "anything") for t in piece[-1:])
    names = [*error.suggested, *error.alternatives] if is_word else []
    found: list[tuple[SceneObject, ...]] = []
    for name in names[:MAX_CHOICES]:
        with suppress(UnclearPhrase):
            found.append(reader.statements.phrases.read(name))
    if found:
        return tuple(dict.fromkeys(found))
    member = next((t.text for t in piece if t.text in class_members()), "")
    alike = tuple(o for o in reader.objects if member and class_members()[member] & name_words(o))
    return (alike,) if alike else ()
