"""Words of a clause as the reader compares them: one word for each meaning, and the ways in which they fit a form."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from string import Formatter

from pipeline.planner.language.lexicon import tables, values, words_of
from pipeline.simulation.goals.spec import SentenceForm


def normalised(text: str) -> str:
    """Return a sentence in lower case with one word for each relation, and without words that say nothing."""
    text = re.sub(r"[\"“”!?]+|\((?![-\d])|(?<!\d)\)", " ", text.lower().replace("’", "'"))
    text = " ".join(re.sub(r"'s\b", " 's", re.sub(r"\n", " ; ", text)).split())
    text = re.sub(r"\.(?=$| )", " ;", text).strip(" ;,.").replace(" ;", ";").replace(" ,", ",")
    return _without_polite(_with_relations(text))


def _without_polite(text: str) -> str:
    begin, end = (f"(?:{'|'.join(words_of(tables()['polite'][key]))})" for key in ("begin", "end"))
    text = re.sub(rf"(?:^(?:{begin}\b[,:]? ?)+)|(?:,? {end})+$", "", re.sub(rf"(?:,? {end})+$", "", text))
    return text.strip()


def _with_relations(text: str) -> str:
    return _relation_words().sub(lambda found: values("relations")[found[0]], text)


@cache
def _relation_words() -> re.Pattern[str]:
    words = "|".join(map(re.escape, sorted(values("relations"), key=len, reverse=True)))
    return re.compile(rf"\b(?:{words})\b(?! (?:the )?(?:table|desk)\b)")


def with_verb(text: str) -> str:
    """Return a clause with one verb for all that mean the same, at its beginning."""
    for words in sorted(values("verbs"), key=len, reverse=True):
        if re.match(rf"{words}\b", text):
            return values("verbs")[words] + text[len(words) :]
    return text


def tokens_of(text: str) -> list[str]:
    """Return words, signs and places such as "(0.1, 0.2)"."""
    return re.findall(r"\([^)]*\)|[\w'-]+|[,;:]", text)


@cache
def segments_of(form: SentenceForm) -> tuple[tuple[tuple[str, ...], str], ...]:
    """Return a form as its words and the slot after each of them, numbered."""
    found, number = [], 0
    for literal, slot, _, _ in Formatter().parse(form.template):
        words = tuple(tokens_of(_with_relations(literal if found else with_verb(literal)).replace("'s", " 's")))
        found.append((words, "" if slot is None else slot or str(number)))
        number += slot == ""
    return tuple(found)


def matches(segments: Sequence[tuple[tuple[str, ...], str]], tokens: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield every way in which tokens fit a form: the text of each slot by its number."""
    if not segments:
        if not tokens:
            yield {}
        return
    (words, slot), *rest = segments
    if tuple(tokens[: len(words)]) != words:
        return
    tokens = tokens[len(words) :]
    if not slot:
        yield from matches(rest, tokens)
        return
    for end in range(1, len(tokens) + 1):
        for others in matches(rest, tokens[end:]):
            yield {slot: " ".join(tokens[:end]).replace(" ,", ","), **others}
