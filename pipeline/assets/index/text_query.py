"""Converts a person's words to queries of SQLite's full-text search (https://www.sqlite.org/fts5.html)."""

import re

COLUMN_WEIGHTS = {"id": 2.0, "name": 6.0, "caption": 3.0, "category": 4.0, "licence": 1.0, "provenance": 1.0}
"""The columns that are searched, and the weight of a word in each."""
NAME_COLUMNS = "id name category"
"""The columns that name an asset."""
STOP_WORDS = {"a", "an", "the", "with", "and", "of", "in", "on", "for", "some", "that", "has"}
NUMBER_WORDS = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8"}
SYNONYMS = {
    "tin": "can", "jug": "bottle", "flask": "bottle", "basket": "bin", "crate": "bin", "skillet": "pan", "pot": "pan",
    "tumbler": "cup", "beaker": "cup", "sphere": "ball", "brick": "block", "saucer": "plate", "dish": "plate",
    "carton": "box", "package": "box", "packet": "box", "notebook": "book", "notepad": "book", "cupboard": "cabinet",
    "dresser": "cabinet", "chest": "cabinet", "oven": "microwave", "refrigerator": "fridge", "hob": "stove",
}  # fmt: skip
"""Words for a category that an asset's files may not use."""


def build_queries(words: str) -> tuple[str, str]:
    """Return two FTS5 queries: one that requires all words, one that requires any. Empty without words.

    Words match as prefixes, so that a search works while it is typed. A number must precede the word that follows it.
    """
    tokens: list[str] = re.findall(r"\w+", words.lower())
    tokens = [NUMBER_WORDS.get(word, word) for word in tokens]
    tokens = [word for word in tokens if word not in STOP_WORDS] or tokens
    terms, number = [], ""
    for word in tokens:
        if word.isdigit():
            number = f"{number} {word}".strip()
            continue
        terms.append(_query_term(f"{number} {word}" if number else word, word))
        number = ""
    if number:
        terms.append(f'"{number}"')
    return " AND ".join(terms), " OR ".join(terms)


def _query_term(phrase: str, word: str) -> str:
    """Return the phrase, its prefixes, and the category that the word is a synonym of."""
    category = SYNONYMS.get(word) or SYNONYMS.get(word.removesuffix("s"))
    synonym = f' OR category : "{category}"' if category else ""
    return f'("{phrase}" OR "{phrase}"*{synonym})'
