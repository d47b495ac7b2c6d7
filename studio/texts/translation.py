"""Translation of texts, with their placeholders filled."""

import re
from functools import cache, lru_cache
from typing import Any

from studio.texts.catalogue import catalogue
from studio.texts.language import current_language

PLACEHOLDER = re.compile(r"\{(\w+)\}")


def t(text: str, /, **values: Any) -> str:
    """Return an English text in the current language, with its {placeholders} filled.

    A text "{n} object|{n} objects" has a form for one and a form for other numbers; `n` chooses.
    """
    found = catalogue(current_language.get()).get(text, text)
    if "n" in values and "|" in found:
        one, _, others = found.partition("|")
        found = one if values["n"] == 1 else others
    return PLACEHOLDER.sub(lambda hole: str(values.get(hole[1], hole[0])), found) if values else found


def translated(message: str) -> str:
    """Return a finished English message, such as an error of the pipeline, in the current language.

    The message is looked up as it is, then among the texts with placeholders; what stands in the placeholders is
    translated in the same way. A message that no text fits is translated by its clauses, as far as these are known.
    """
    return _translated(message, current_language.get())


@lru_cache(maxsize=4096)
def _translated(message: str, language: str) -> str:
    texts = catalogue(language)
    if not texts or message in texts:
        return texts.get(message, message)
    for pattern, names, translation in _patterns(language):
        if found := pattern.fullmatch(message):
            values = {name: _translated(value, language) for name, value in zip(names, found.groups(), strict=True)}
            return PLACEHOLDER.sub(lambda hole, values=values: values.get(hole[1], hole[0]), translation)
    for separator in ("; ", ", "):
        if separator in message:
            return separator.join(_translated(clause, language) for clause in message.split(separator))
    return message


@cache
def _patterns(language: str) -> list[tuple[re.Pattern[str], list[str], str]]:
    """Return (pattern, names of the placeholders, translation) of the messages with placeholders {1}, {2} and so on,
    the most specific first. Texts with named placeholders are `t`'s."""
    messages = [(english, text) for english, text in catalogue(language).items() if "{1}" in english]
    messages.sort(key=lambda message: -len(PLACEHOLDER.sub("", message[0])))
    return [(_pattern(english), PLACEHOLDER.findall(english), translation) for english, translation in messages]


def _pattern(english: str) -> re.Pattern[str]:
    literals = PLACEHOLDER.split(english)[::2]
    return re.compile("(.+?)".join(map(re.escape, literals)), re.DOTALL)
