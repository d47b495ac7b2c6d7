"""What a person types, as a question to SQLite's full-text search (https://www.sqlite.org/fts5.html)."""

import re

COLUMNS = {"id": 2.0, "name": 6.0, "caption": 3.0, "category": 4.0, "licence": 1.0, "provenance": 1.0}
"""What is searched, and how much a word counts there."""
NAMES = "id name category"
"""Where a word says what a thing is."""
SILENT = {"a", "an", "the", "with", "and", "of", "in", "on", "for", "some", "that", "has"}
NUMBERS = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8"}
KINDS = {
    "tin": "can", "jug": "bottle", "flask": "bottle", "basket": "bin", "crate": "bin", "skillet": "pan", "pot": "pan",
    "tumbler": "cup", "beaker": "cup", "sphere": "ball", "brick": "block", "saucer": "plate", "dish": "plate",
    "carton": "box", "package": "box", "packet": "box", "notebook": "book", "notepad": "book", "cupboard": "cabinet",
    "dresser": "cabinet", "chest": "cabinet", "oven": "microwave", "refrigerator": "fridge", "hob": "stove",
}  # fmt: skip
"""Words for a kind of thing that its own files may not use."""


def question(words: str) -> tuple[str, str]:
    """Two questions: one that all the words must answer, one that any may. Empty where nothing is asked.

    Words match from their beginning, so that a search answers while it is typed; a number binds to what follows it.
    """
    heard: list[str] = re.findall(r"\w+", words.lower())
    told = [NUMBERS.get(word, word) for word in heard]
    told = [word for word in told if word not in SILENT] or told
    parts, number = [], ""
    for word in told:
        if word.isdigit():
            number = f"{number} {word}".strip()
            continue
        parts.append(_part(f"{number} {word}" if number else word, word))
        number = ""
    if number:
        parts.append(f'"{number}"')
    return " AND ".join(parts), " OR ".join(parts)


def _part(phrase: str, word: str) -> str:
    kind = KINDS.get(word) or KINDS.get(word.removesuffix("s"))
    also = f' OR category : "{kind}"' if kind else ""
    return f'("{phrase}" OR "{phrase}"*{also})'
