"""A statement taken apart: verb, objects, relations, places, and the ways to attach them to each other."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipeline.planner.language.phrases.noun_phrases import SIDE_OF_RANK, Modifier
from pipeline.planner.language.tokens import Token, text_of

Attachment = tuple[Sequence[Token], Sequence[Modifier], str, Sequence[Token], Sequence[Modifier]]
"""Subject, its modifiers, the relation to bring about, target, its modifiers."""
PLACE_WORDS = ("of", "far", "very", "extreme", "on", "possible", "as", "hand", "most", "in")
"""Words that a phrase for a place may contain besides nouns."""
SUPERLATIVE = re.compile(
    r"(?:the |be |as far |as far to the |furthest to the |the most )*\w+?(?:most)?"
    r"(?: one| as possible| of all| of them all)*"
)
"""An outermost place: "the leftmost one", "as far left as possible"."""


@dataclass
class Sentence:
    """A statement taken apart."""

    verb: str
    """A key of the lexicon's verbs; empty for "the mug on the plate"."""
    verb_text: str
    body: list[Token]
    boundary: int = 0
    """Index in `body` from which the relation to bring about may begin; relations before belong to the subject."""
    negated: bool = False


LIGHT = ("relations", "places", "determiners", "fillers", "conjunctions", "pronouns", "copulas", "modals")


def stripped(tokens: Sequence[Token]) -> list[Token]:
    """Return a statement without polite frames, commas and empty words at its ends."""
    kept = list(tokens)
    while kept and (kept[0].has("wishes", "beginning", "comma", "conjunctions", "stop")
                    or (kept[0].has("fillers") and not kept[0].has("scene", "nouns", "ranks", "verbs"))):  # fmt: skip
        rest = kept[1:]
        if (
            kept[0].has("verbs")
            and rest
            and rest[0].has("determiners", "scene", "numbers", "colours", "pronouns", "ranks", "quantities")
            and kept[0].text not in ("want", "need", "have")
        ):
            break
        kept = rest
    while kept and (kept[-1].has("comma", "conjunctions", "stop") or (
        kept[-1].has("fillers") and not kept[-1].has("scene", "nouns", "ranks", "places", "unmoved"))):  # fmt: skip
        kept.pop()
    is_step = len(kept) > 1 and kept[-1].has("beginning") and not kept[-2].has("ranks", "determiners")
    if is_step and kept[-2].text not in ("bottom", "top"):
        kept.pop()  # "the orange into the bowl first", not "bottom first"
    return kept


def take_apart(tokens: list[Token]) -> Sentence:
    """Split a statement into its verb and the words after it."""
    first, *rest = tokens
    verb = first.value("verbs") or first.value("gerunds")
    noun_like = (
        first.has("scene", "nouns", "known")
        and rest
        and rest[0].has("relations", "copulas", "modals", "places", "arrangements")
    )
    if verb and not noun_like and (rest or verb in ("tidy", "clear")):
        rest = rest[1:] if len(rest) > 1 and rest[0].has("addressee") else rest
        return Sentence(verb, first.text, list(rest))
    at = next((i for i in range(1, len(tokens)) if _is_predicate(tokens, i)), None)
    if at is None:
        return Sentence("", "", tokens)
    subject, rest = tokens[:at], tokens[at:]
    negated, kind = False, ""
    while rest:
        token = rest[0]
        if token.has("negations"):
            negated = True
        elif token.has("participles") and not token.has("arrangements"):
            kind = token.value("participles")
        elif not token.has("modals", "copulas", "fillers") or token.has("relations", "places", "scene"):
            break
        rest = rest[1:]
    if not kind and rest and rest[0].has("verbs", "gerunds") and not rest[0].has("places", "ranks"):
        kind, rest = rest[0].value("verbs") or rest[0].value("gerunds"), rest[1:]
    return Sentence(kind or "put", "", [*subject, *rest], len(subject), negated)


def _is_predicate(tokens: Sequence[Token], i: int) -> bool:
    """Return whether a subject ends before token i: a modal or a copula that is not part of a relative clause."""
    token, before = tokens[i], tokens[i - 1]
    if before.has("relative") or any(t.has("relative") for t in tokens[max(0, i - 2) : i]):
        return False
    if token.text == "can" and not (i + 1 < len(tokens) and tokens[i + 1].has("copulas")):
        return False
    if token.text == "to" and not (i + 1 < len(tokens) and tokens[i + 1].has("copulas", "verbs")):
        return False
    if token.has("participles") and not token.has("arrangements") and not token.has("relations"):
        return True
    return (token.has("modals", "copulas") and not token.has("relations", "scene", "nouns")) or (
        token.text == "to" and token.has("modals"))  # fmt: skip


def content_of(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens that say something."""
    return [
        t for t in tokens
        if not t.has("determiners", "comma", "conjunctions")
        and (not t.has("fillers") or t.has("scene", "nouns", "ranks"))
    ]  # fmt: skip


def without_relative(tokens: Sequence[Token]) -> list[Token]:
    """Return a phrase without the "that is" at its end, which belongs to the modifier after it."""
    kept = list(tokens)
    while kept and kept[-1].has("relative", "copulas", "negations", "modals") and not kept[-1].has("scene"):
        if kept[-1].text == "that" and len(kept) == 1:
            break
        kept.pop()
    return kept


def without_result_words(tokens: Sequence[Token]) -> list[Token]:
    return [t for t in tokens if not t.has("results")]


def split_segments(tokens: Sequence[Token]) -> tuple[list[Token], list[tuple[str, list[Token], bool]]]:
    """Return the tokens before the first relation, and (relation, tokens, negated) for each relation."""
    head: list[Token] = []
    segments: list[tuple[str, list[Token], bool]] = []
    for token in tokens:
        is_relation = token.has("relations") and not (token.has("scene") and token.text not in ("on", "in"))
        if is_relation:
            before = segments[-1][1] if segments else head
            negated = any(t.has("negations") for t in before[-2:]) and any(t.has("relative") for t in before[-4:])
            segments.append((token.value("relations"), [], negated))
        elif segments:
            segments[-1][1].append(token)
        else:
            head.append(token)
    return head, segments


def modifier_of(relation: str, tokens: Sequence[Token], negated: bool) -> Modifier:
    if place := place_of(tokens):
        return Modifier("place", (Token(place),), negated)
    return Modifier(relation, tuple(without_relative(tokens)), negated)


def place_of(tokens: Sequence[Token]) -> str:
    """Return the side of the table that tokens name, and nothing else: "left", "middle", "aside"; or empty."""
    found = ""
    for token in tokens:
        place = token.value("places") or SIDE_OF_RANK.get(token.value("ranks"), "")
        if token.has("scene") and not token.has("places", "ranks"):
            return ""
        if place:
            if found and found != place and not (token.has("places") and "far" in {t.text for t in tokens}):
                return ""
            found = place
        elif token.text in ("edge", "corner", "rim", "border") and not found:
            found = "aside"
        elif not token.has("determiners", "place_nouns", "table", "fillers", "comma") and token.text not in PLACE_WORDS:
            return ""
    return found


def attachments(body: Sequence[Token], sentence: Sentence) -> Iterator[Attachment]:
    """Yield the ways to read a statement: head, its modifiers, the relation to bring about, target, its modifiers."""
    head, place = _trailing_place(body, sentence.boundary)
    if not place and body and body[-1].has("extremes") and not any(t.has("relations", "places") for t in body):
        head, place = list(body[:-1]), SIDE_OF_RANK[body[-1].value("extremes")]
    if place:
        start, segments = split_segments(head)
        yield start, [modifier_of(*s) for s in segments], "place", [Token(place)], []
    head, segments = split_segments(body)
    segments = _merged_places(segments)
    length = len(head)
    if sentence.verb == "select":
        yield head, [modifier_of(*s) for s in segments], "select", [], []
    for index, (relation, tokens, _) in enumerate(segments):
        position = length
        length += 1 + len(tokens)
        if position < sentence.boundary or any(
            t.has("relative") for t in _tail(segments[index - 1][1] if index else head)
        ):
            continue
        before = [modifier_of(*s) for s in segments[:index]]
        after = [modifier_of(*s) for s in segments[index + 1 :]]
        place = place_of(tokens)
        if place and relation in ("on", "inside", "to", "near", "away", "between", "out"):
            if not after:
                yield head, before, "place", [Token(place)], []
            continue
        if relation in ("left_of", "right_of", "behind", "in_front_of", "between") and is_table(tokens) and not after:
            side = {"left_of": "left", "right_of": "right", "behind": "far", "in_front_of": "near", "between": "middle"}
            yield head, before, "place", [Token(side[relation])], []
            continue
        yield head, before, relation, tokens, after


def _merged_places(segments: list[tuple[str, list[Token], bool]]) -> list[tuple[str, list[Token], bool]]:
    """Return segments in which "into the zone" and "on the left" after it are one place."""
    merged: list[tuple[str, list[Token], bool]] = []
    for segment in segments:
        last = merged[-1] if merged else None
        if (
            last
            and content_of(last[1])
            and all(t.has("place_nouns") for t in content_of(last[1]))
            and place_of(segment[1])
        ):
            merged[-1] = (last[0], [*last[1], *segment[1]], last[2])
        elif last and place_of(last[1]) and segment[0] in ("on", "inside", "to") and is_table(segment[1]):
            continue
        else:
            merged.append(segment)
    return merged


def _tail(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return the last tokens of a phrase, back to its "that is"."""
    tail = []
    for token in reversed(tokens):
        if not token.has("relative", "copulas", "negations", "modals"):
            break
        tail.append(token)
    return [] if len(tail) == len(tokens) and tokens and tokens[0].has("pronouns") else tail


def is_table(tokens: Sequence[Token]) -> bool:
    content = content_of(tokens)
    return bool(content) and all(t.has("table") and not t.has("scene") for t in content)


def _trailing_place(body: Sequence[Token], boundary: int) -> tuple[list[Token], str]:
    """Return a statement without the place at its end that no preposition introduces: "push the mug left"."""
    texts = [t.text for t in body]
    for start in range(max(1, boundary), len(body)):
        tail = list(body[start:])
        superlative = SUPERLATIVE.fullmatch(text_of(tail))
        most = superlative and (texts[start] == "as" or re.search(r"most\b|furthest|farthest|as far", text_of(tail)))
        if most and (place := _most_place(tail)):
            return list(body[:start]), place
        if any(t.has("relations") for t in tail) or body[start - 1].has("determiners", "relations", "ranks", "colours"):
            continue
        may_be_place = tail[0].has("places") or (tail[0].has("ranks") and boundary)
        if may_be_place and not tail[0].has("scene") and (place := place_of(tail)):
            return list(body[:start]), place
    return list(body), ""


def _most_place(tail: Sequence[Token]) -> str:
    for token in tail:
        side = token.value("places") or SIDE_OF_RANK.get(token.value("ranks"), "")
        if side in ("left", "right", "near", "far"):
            return f"{side}most"
    return ""
