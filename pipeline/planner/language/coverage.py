"""Coverage: every word of a sentence that carries content has to be read before its task is carried out."""

from collections.abc import Sequence

from pipeline.planner.language.tokens import Token

NAMING = ("scene", "nouns", "known", "class_words", "colours", "shapes", "materials", "common", "affordances",
          "impossible", "unsupported_relations", "negations", "extremes")  # fmt: skip
"""Tags of words that name or describe objects, or change what is asked for."""
STRUCTURE = ("verbs", "gerunds", "arrangements", "places", "place_nouns", "table", "relations", "addressee", "parts",
             "wishes", "corrections", "conditions", "soon", "sequence", "beginning", "exceptions", "results",
             "relative", "anything", "pronouns", "unmoved", "modals", "copulas", "participles", "fillers", "stays",
             "conjunctions", "determiners", "others", "question_words", "groupings", "earlier")  # fmt: skip
"""Tags of words that are read by their place in the sentence."""
ORDERING = ("stack", "sort_by_size", "sort_by_colour", "sort_by_height", "line_up", "group", "several", "mirror",
            "swap", "gather", "make_room")  # fmt: skip
"""Kinds of tasks whose words state an order or a group."""
ORDER_TAGS = ("orders", "reverse", "ranks", "groupings", "numbers", "shapes")
ARRANGING = ("row", "line", "queue", "column", "tower", "stack", "pile", "heap", "order", "group", "groups", "piles",
             "heaps", "place", "places", "position", "positions", "space", "room", "spot", "spots", "bottom", "top",
             "level", "base", "same", "location", "locations", "zones", "middle", "new", "separate")  # fmt: skip
"""Words that a statement about a row, a tower, a group or free room may contain."""
FUNCTION_WORDS = ("of", "from", "than", "as", "for", "at", "no", "s", "its", "their", "how", "with", "possible",
                  "extreme", "hand", "most")  # fmt: skip
"""Words without content of their own."""


def unread_words(tokens: Sequence[Token], read: frozenset[str], kind: str) -> list[str]:
    """Return the words of a sentence that carry content and were not read; `read` are those that were."""
    return [t.text for t in tokens if has_content(t) and t.text not in read and not _orders(t, kind)]


def dropped_sides(tokens: Sequence[Token]) -> list[str]:
    """Return the sides of the table that stand at the end of a part of a sentence before the last part."""
    ends = [i for i, t in enumerate(tokens[:-1]) if tokens[i + 1].has("comma", "conjunctions", "stop")]
    return [tokens[i].value("places") for i in ends if tokens[i].has("places") and not tokens[i].has("scene")]


def unknown_words(tokens: Sequence[Token]) -> list[str]:
    """Return the words that the lexicon does not know, or knows as no object, verb or relation."""
    return [
        t.text
        for t in tokens
        if (not t.tags and t.text not in FUNCTION_WORDS)
        or (t.has("common") and not t.has(*STRUCTURE, "scene", "nouns"))
    ]


def has_content(token: Token) -> bool:
    if not token.tags:
        return token.text not in FUNCTION_WORDS
    if token.has("scene"):
        return not token.has("relations", "table") or not token.has(*STRUCTURE)
    return token.has(*NAMING) and not token.has(*STRUCTURE)


def _orders(token: Token, kind: str) -> bool:
    return kind in ORDERING and (token.has(*ORDER_TAGS) or token.text in ARRANGING)
