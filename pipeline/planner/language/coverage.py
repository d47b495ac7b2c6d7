"""Coverage: every word of a sentence that carries content has to be read before its task is carried out."""

from collections.abc import Sequence

from pipeline.planner.language.tokens import STOP, Token
from pipeline.planner.plans import TaskPlan
from pipeline.simulation.goals.spec import PlannedGoal

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
NAMED = ("scene", "nouns", "known", "class_words", "colours", "shapes", "anything", "ranks", "numbers", "materials")
"""Tags of words that may follow an attribute in an object's name."""


def unread_words(tokens: Sequence[Token], read: frozenset[str], kind: str) -> list[str]:
    """Return the words of a sentence that carry content and were not read; `read` are those that were."""
    return [t.text for t in tokens if has_content(t) and t.text not in read and not _orders(t, kind)]


def unstated_words(tokens: Sequence[Token], plan: TaskPlan, sides_read: frozenset[str]) -> list[str]:
    """Return the sides of the table and the words of order that a sentence contains and its goals do not state."""
    if plan.kind == "mirror":
        return []
    stated = sides_read.union(*(_sides_of(goal) for goal in plan.goals))
    sides = [t.text for i, t in enumerate(tokens) if _is_side(tokens, i) and t.value("places") not in stated]
    order = [t.text for t in tokens if t.has("sequence", "earlier") and not t.has("scene")]
    is_ordered = len(plan.goals) < 2 or any(goal.stage for goal in plan.goals)
    return [*sides, *([] if is_ordered else order[:1])]


def _is_side(tokens: Sequence[Token], at: int) -> bool:
    """Return whether a token names a side of the table, and is not part of an object's name ("the left mug")."""
    token = tokens[at]
    if token.has("scene", "verbs", "parts") or token.value("places") not in ("left", "right", "near", "far"):
        return False
    following = tokens[at + 1] if at + 1 < len(tokens) else STOP
    return not (token.has("ranks") and following.has(*NAMED))


def _sides_of(goal: PlannedGoal) -> set[str]:
    if goal.kind in ("in_zone", "outside"):
        return {
            goal.names[1].removesuffix("_zone"),
            *(("left", "right", "near", "far") if goal.names[1] == "zone" else ()),
        }
    if goal.kind == "in_row":
        return {"left", "right"} if goal.along == "right" else {"near", "far"}
    side = {"left_of": "left", "right_of": "right", "in_front_of": "near", "behind": "far"}.get(goal.kind)
    return {side} if side else set()


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
