"""Goals of statements about several objects together: towers, rows, groups, swaps, room, what is thrown away."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from pipeline.planner.language.errors import RefusedClause, RepeatedObject, UnclearPhrase
from pipeline.planner.language.statements.free_room import clear
from pipeline.planner.language.statements.orders import Order, take_order
from pipeline.planner.language.tokens import Token, text_of, tokenize
from pipeline.planner.plans import by_colour, stacking_order
from pipeline.planner.scene_objects import SceneObject
from pipeline.simulation.goals.spec import PlannedGoal

if TYPE_CHECKING:
    from pipeline.planner.language.statements.sentence_parts import Sentence
    from pipeline.planner.language.statements.statement_reader import Goals, StatementReader

TOWER_NOUN = re.compile(r"^(?:a |one |the )?(?:single )?(?:tower|stack|pile|heap)(?: (?:out of|of|from|with|using))?\b")
ROW_NOUN = re.compile(r"^(?:a |one |the )?(?:straight )?(?:row|line|queue|column)(?: (?:out of|of|from|with|using))?\b")
GROUPS = re.compile(
    r"^(.*?)(?:,? ?\b(?:in|into|to)? ?(?:different |separate )?(?:groups?|piles?|heaps?|zones?|clusters?)\b)?"
    r"(?: of (?:the )?same| ?\bby| according to| based on)(?: their| the)?"
    r" (colou?rs?|shapes?|kinds?|types?|category|categories)(?: together)?(?: (?:in|into) (?:groups?|piles?|heaps?))?$"
)
"""Objects, and what they are grouped by."""
MAKING = ("build", "make", "form", "create", "construct", "erect", "have", "")
ORDER_KINDS = {"height": "sort_by_height", "colour": "sort_by_colour"}


def read(reader: "StatementReader", sentence: "Sentence") -> "Goals | None":
    """Return the goals of a statement about several objects together; None for other statements."""
    body = sentence.body
    arrangement = next((t.value("arrangements") for t in body if t.has("arrangements")), "")
    rest = [t for t in body if not t.has("arrangements")]
    text = text_of(body)
    if sentence.verb == "swap" or arrangement == "swapped":
        return _swap(reader, rest)
    if sentence.verb == "mirror" or arrangement == "mirrored":
        return _mirror(reader, rest)
    if sentence.verb == "clear" or (sentence.verb == "tidy" and _names_side(reader, body)):
        return clear(reader, sentence)
    if sentence.verb == "tidy":
        raise RefusedClause('"tidy" may mean many tasks: say what goes where')
    makes = sentence.verb_text in MAKING or sentence.verb in ("stack", "row", "put")
    if (makes and (found := TOWER_NOUN.match(text))) or arrangement == "tower" or sentence.verb == "stack":
        found = TOWER_NOUN.match(text)
        stacked = _tower(
            reader, text[found.end() :] if found else text_of(rest), found is not None or bool(arrangement)
        )
        if stacked is not None:
            return stacked
    if makes and (found := ROW_NOUN.match(text)):
        return _row(reader, text[found.end() :], "row", _column(text))
    if arrangement in ("row", "column"):
        return _row(reader, text_of(rest), "row", arrangement == "column")
    if sentence.verb == "row":
        return _row(reader, text_of(rest), "row", _column(text))
    if (groups := _groups(reader, sentence, text_of(rest))) is not None:
        return groups
    if sentence.verb == "sort" or (arrangement == "" and _states_sorting(sentence, text)):
        return _row(reader, text_of(rest), "sort", _column(text))
    if sentence.verb == "discard" and not any(
        t.has("relations") and t.value("relations") in ("inside", "on", "near") for t in body
    ):
        return _discard(reader, rest)
    if sentence.verb == "separate" or arrangement == "apart":
        return _apart(reader, rest)
    if arrangement == "beside":
        return reader.mutual("near", reader.some(rest))
    if arrangement == "together" or (sentence.verb == "group" and not any(t.has("relations") for t in rest)):
        return _gather(reader, rest)
    if arrangement == "upright":
        return "several", [PlannedGoal("upright", (o.name,)) for o in reader.some(rest)]
    return None


def _tokens(reader: "StatementReader", text: str) -> list[Token]:
    return tokenize(text, reader.phrases.words)


def _column(text: str) -> bool:
    return bool(re.search(r"\b(?:column|queue)\b", text))


def _names_side(reader: "StatementReader", body: Sequence[Token]) -> bool:
    return any(t.has("places") for t in body)


def _states_sorting(sentence: "Sentence", text: str) -> bool:
    """Return whether a statement with another verb is about a sorted row: "arrange the cubes by size"."""
    if sentence.verb not in ("put", "stack", "group") or re.search(r"\bgroups?|piles?|heaps?\b", text):
        return False
    _, order = take_order(text)
    return bool(order.key) and (
        sentence.verb_text.startswith("arrang") or bool(re.search(r"\border\b|rainbow|\bfrom\b", text))
    )


def _needs_two(reader: "StatementReader", objects: Sequence[SceneObject], what: str) -> None:
    if len(objects) < 2:
        names = ", ".join(reader.phrases.names.get(o.name, o.name) for o in objects)
        raise UnclearPhrase(f"only one object ({names}), {what} needs two")


def _end_object(reader: "StatementReader", phrase: str, objects: Sequence[SceneObject]) -> SceneObject:
    """Return the object of a group that a phrase means: "green", "the red one", "the second box from the left".

    A phrase that names one object of the scene is about it; any other is read as if there were only the group.
    """
    tokens = _tokens(reader, phrase)
    if not any(t.has("anything", "scene", "nouns") for t in tokens):
        tokens = [*tokens, Token("one", {"anything": "anything"})]
    with suppress(UnclearPhrase):
        found = _select(reader, tokens, reader.phrases.objects)
        if len(found) == 1 and found[0] in objects:
            return found[0]
    found = _select(reader, tokens, objects)
    if len(found) != 1:
        raise UnclearPhrase(f'"{phrase}" may mean {reader.phrases.list_of(found)}: say which', phrase)
    return found[0]


def _select(
    reader: "StatementReader", tokens: Sequence[Token], objects: Sequence[SceneObject]
) -> Sequence[SceneObject]:
    """Return the objects that a phrase means, read as if there were only these. Raises UnclearPhrase."""
    from pipeline.planner.language.phrases.noun_phrases import Mentions, NounPhrases
    from pipeline.planner.language.phrases.start_state import StartState

    start = StartState(tuple(objects), reader.phrases.start.table)
    phrases = NounPhrases(start, reader.phrases.names, reader.phrases.words)
    phrases.mentions = Mentions()
    found = phrases.select(list(tokens)).objects
    reader.phrases.mentions.words |= phrases.mentions.words
    return found


def _ordered(reader: "StatementReader", objects: Sequence[SceneObject], order: Order) -> list[SceneObject]:
    """Return objects in the order that a clause states: the first is at the bottom, on the left or in front."""
    start = reader.phrases.start
    if order.key == "colour":
        if len({o.colour for o in objects}) < 2:
            raise UnclearPhrase(f"all of them are {objects[0].colour}: there is no colour order")
        ordered = by_colour(objects)
    elif order.key == "name":
        ordered = sorted(objects, key=lambda o: o.name)
    else:
        ordered = start.ranked(objects, order.key or "volume")
    if order.falling:
        ordered.reverse()
    return ordered


def ordered_objects(reader: "StatementReader", objects: Sequence[SceneObject], order: Order) -> list[SceneObject]:
    """Return objects in the order that a text states; as they are listed where it states none that can be read."""
    with suppress(UnclearPhrase):
        ordered = _ordered(reader, objects, order) if order.key or order.falling is not None else list(objects)
        if order.reverse:
            ordered.reverse()
        return _with_ends(reader, ordered, order)
    return list(objects)


def _with_ends(reader: "StatementReader", ordered: list[SceneObject], order: Order) -> list[SceneObject]:
    for end, phrase in order.ends.items():
        one = _end_object(reader, phrase, ordered)
        ordered.remove(one)
        ordered.insert(0 if end == "bottom" else len(ordered), one)
    return ordered


def _tower(reader: "StatementReader", text: str, is_tower: bool) -> "Goals | None":
    text, order = take_order(text.strip(" ,"))
    tokens = _tokens(reader, text)
    relation = next((i for i, t in enumerate(tokens) if t.has("relations") and not t.has("scene")), None)
    if relation is not None and not is_tower:
        if tokens[relation].value("relations") not in ("on", "inside", "to") or not tokens[relation + 1 :]:
            return None
        return _stack_on(reader, tokens[:relation], tokens[relation + 1 :], order)
    objects = _objects(reader, tokens, order)
    _needs_two(reader, objects, "stacking")
    if order.as_listed:
        ordered = list(objects)[::-1] if order.reverse else list(objects)
    elif order.key or order.falling is not None:
        ordered = _ordered(reader, objects, order if order.falling is not None else replace(order, falling=True))
    else:
        ordered = stacking_order(objects)
    ordered = _with_ends(reader, ordered, order)
    reader.towers[ordered[0].name] = ordered[-1].name
    return "stack", [PlannedGoal("stacked", tuple(o.name for o in ordered))]


def _stack_on(
    reader: "StatementReader", moved: Sequence[Token], target: Sequence[Token], order: Order
) -> "Goals | None":
    """Return the goals of "stack the cubes on the box": a tower; of one object the relation itself."""
    if not any(t.has("relations") for t in target):
        try:
            objects = reader.phrases.select(moved)
        except UnclearPhrase:
            return None
        if len(objects.objects) > 1:
            reader.mention(objects)
            base = reader.one(target)
            if base.container:
                return None
            rest = [o for o in objects.objects if o != base]
            ordered = _ordered(reader, rest, order) if order else stacking_order(rest)
            return "stack", [PlannedGoal("stacked", (base.name, *(o.name for o in _with_ends(reader, ordered, order))))]
    return None


def _refuse_place(reader: "StatementReader", tokens: Sequence[Token]) -> None:
    """Raise UnclearPhrase for "line up the cans at the front": where they stand, or where they are to go?"""
    from pipeline.planner.language.statements.sentence_parts import place_of, split_segments

    segments = split_segments(tokens)[1]
    if not segments:
        return
    target = segments[-1][1]
    if place_of(target) or any(t.has("pronouns") for t in target):
        text = text_of(tokens)
        raise UnclearPhrase(f'"{text}" may say where they stand or where they are to go: say it in two sentences', text)


def _objects(reader: "StatementReader", tokens: Sequence[Token], order: Order) -> Sequence[SceneObject]:
    """Return the objects of a row or a tower; "bowl and mugs: bowl, rear mug, front mug" states their order."""
    _refuse_place(reader, tokens)
    try:
        return reader.some(tokens)
    except RepeatedObject:
        for at in (i for i, t in enumerate(tokens) if t.has("comma")):
            with suppress(UnclearPhrase):
                named, listed = reader.some(tokens[:at]), reader.some(tokens[at + 1 :])
                if set(named) == set(listed):
                    order.as_listed = True
                    return listed
        raise


def _row(reader: "StatementReader", text: str, verb: str, column: bool) -> "Goals":
    text, order = take_order(text.strip(" ,"))
    text = re.sub(r"\b(?:in|into|to form|to) an? (?:row|line|queue|column)\b|\bin order\b", " ", text)
    tokens = [t for t in _tokens(reader, text) if not (t.has("fillers") and not t.has("scene", "nouns"))]
    objects = _objects(reader, tokens, order)
    _needs_two(reader, objects, "sorting" if verb == "sort" else "a row")
    along = order.along or ("away" if column else "right")
    if verb == "sort" and not order:
        raise UnclearPhrase('sort by what? say "by size", "by height" or "by colour"')
    if order.key or order.falling is not None:
        kind = ORDER_KINDS.get(order.key, "sort_by_size")
        ordered = _ordered(reader, objects, order)
        if order.reverse:
            ordered.reverse()
    elif order.as_listed:
        kind, ordered = "line_up", list(objects)
    else:
        kind, ordered = "line_up", reader.phrases.start.ranked(objects, along)
    ordered = _with_ends(reader, ordered, order)
    return kind, [PlannedGoal("in_row", tuple(o.name for o in ordered), along)]


def _groups(reader: "StatementReader", sentence: "Sentence", text: str) -> "Goals | None":
    """Read "group the objects by colour", "sort the blocks into piles by shape"."""
    found = GROUPS.match(text)
    explicit = found and (
        sentence.verb == "group"
        or re.search(r"\b(group|pile|heap|zone|cluster)s?\b", text)
        or not found[2].startswith("colo")
    )
    if not found or not explicit or sentence.verb not in ("group", "sort", "put", "separate", "stack", ""):
        return None
    objects = reader.some(_tokens(reader, found[1]))

    def key(o: SceneObject) -> str:
        if found[2].startswith("colo"):
            return o.colour
        return o.shape if found[2].startswith("shape") else o.category or o.shape

    members: dict[str, list[SceneObject]] = {}
    for o in objects:
        members.setdefault(key(o), []).append(o)
    if len(members) < 2:
        raise UnclearPhrase(f"all of them are {next(iter(members))}: there is nothing to tell apart by {found[2]}")
    groups = {word: group for word, group in members.items() if len(group) > 1}
    if not groups:
        raise UnclearPhrase(f"no two of them have the same {found[2]}: there is nothing to group")
    return "group", [PlannedGoal("in_zone", (o.name, f"{word}_zone")) for word, group in groups.items() for o in group]


def _swap(reader: "StatementReader", tokens: Sequence[Token]) -> "Goals":
    """Read "swap a and b"."""
    text = re.sub(
        r"^(?:the )?(?:places?|positions?|locations?|spots?) of\b|\b(?:places?|positions?|locations?|spots?)$",
        " ",
        text_of(tokens),
    )
    first, *second = re.split(r"\b(?:with|for)\b", text.split(" so that")[0], maxsplit=1)
    pair = reader.some(_tokens(reader, first))
    if second:
        pair = (*pair, *reader.phrases.select(_tokens(reader, second[0])).objects)
    if len(pair) != 2:
        raise UnclearPhrase(f"swapping needs two objects, the words name {len(pair)}")
    a, b = (o.name for o in pair)
    return "swap", [PlannedGoal("where", (a, b)), PlannedGoal("where", (b, a))]


def _mirror(reader: "StatementReader", tokens: Sequence[Token]) -> "Goals":
    """Read "mirror the cubes"."""
    text = re.sub(
        r"^(?:the )?(?:arrangement|layout|order|positions?|places?)(?: of)?\b", "", text_of(tokens).split(" : ")[0]
    )
    text = re.split(r",? ?\b(?:exchange|so that)\b|,? left and right", text)[0]
    return "mirror", [PlannedGoal("mirrored", tuple(o.name for o in reader.some(_tokens(reader, text))))]


def _discard(reader: "StatementReader", tokens: Sequence[Token]) -> "Goals":
    """Read "discard the cans"."""
    body = [t for t in tokens if not (t.has("relations") or t.has("table"))]
    if not [t for t in body if not t.has("determiners", "fillers")]:
        raise RefusedClause(
            'it is not clear what to throw away: say "put everything into the bin", or name the objects'
        )
    objects = reader.some(body)
    inside = next((o for o in reader.phrases.objects if o.category in ("bin", "basket") and o not in objects), None)
    return "gather", [
        PlannedGoal("inside", (o.name, inside.name if inside else "bin"), new_container=not inside) for o in objects
    ]


def _apart(reader: "StatementReader", tokens: Sequence[Token]) -> "Goals":
    """Read "move the cubes apart", "separate the mug from the cup"."""
    text = text_of(tokens)
    first, *second = re.split(r"\bfrom\b", text, maxsplit=1)
    others = reader.phrases.select(_tokens(reader, second[0])).objects if second else ()
    objects = reader.some(_tokens(reader, first))
    pairs = [(a, b) for a in objects for b in others if a != b] if others else list(combinations(objects, 2))
    if not pairs:
        _needs_two(reader, objects, "moving apart")
    return "move_away", [PlannedGoal("away", (a.name, b.name)) for a, b in pairs]


def _gather(reader: "StatementReader", tokens: Sequence[Token]) -> "Goals":
    """Read "gather the cubes"."""
    objects = reader.some(tokens)
    _needs_two(reader, objects, "gathering")
    return "gather", [PlannedGoal("in_zone", (o.name, "zone")) for o in objects]
