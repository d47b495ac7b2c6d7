"""Goals that the objects, relations and places of a text suggest where the text itself cannot be read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

from pipeline.planner.language.clauses import leaves_alone
from pipeline.planner.language.instruction_reader import InstructionReader
from pipeline.planner.language.spans import MAX_CHOICES, Span, spans_of
from pipeline.planner.language.statements.arrangements import ordered_objects
from pipeline.planner.language.statements.orders import take_order
from pipeline.planner.language.statements.sentence_parts import SIDE_OF_RANK
from pipeline.planner.language.tokens import STOP, Token, text_of
from pipeline.planner.plans import by_colour, stacking_order
from pipeline.planner.scene_objects import SceneObject
from pipeline.simulation.goals.spec import PlannedGoal

Goals = tuple[PlannedGoal, ...]
PAIR_RELATIONS = ("inside", "on", "near", "left_of", "right_of", "behind", "in_front_of", "away")
SIDES = ("left", "right", "near", "far", "middle")
ROW_WORDS = {"row", "line", "align", "queue", "column", "sort", "order", "arrange", "rank", "lineup", "sorted",
             "ordered", "lined", "rows", "sequence", "ascending", "descending", "rainbow"}  # fmt: skip
TOWER_WORDS = {"tower", "stack", "pile", "heap", "stacked", "piled", "skyscraper",
               "bottom", "layer", "layers", "base"}  # fmt: skip
SWAP_WORDS = {"swap", "switch", "exchange", "trade", "places", "swapped", "interchange", "positions", "where"}
LOW_WORDS = {"bottom", "lowest", "base", "undermost", "lowermost", "foundation", "underneath"}
HIGH_WORDS = {"top", "uppermost", "topmost", "highest", "tip", "crown"}
ORDER_WORDS = {"first", "then", "last", "second", "third", "finally", "next", "lastly"}
TOGETHER_WORDS = {"together", "gather", "group", "cluster", "collect", "assemble"}
NEW_CONTAINERS = {"crate": "bin", "bin": "bin", "basket": "bin", "trash": "bin", "rubbish": "bin", "tray": "tray",
                  "container": "tray", "box": "bin", "bucket": "bin"}  # fmt: skip


@dataclass(frozen=True)
class NamedObjects:
    """Names of the objects of a text: those to move or to use as targets, and those to leave alone."""

    moved: frozenset[str]
    kept: frozenset[str]


def named_objects(tokens: Sequence[Token], reader: InstructionReader) -> NamedObjects:
    """Return the names of the objects that a text names."""
    named: set[str] = set()
    kept: set[str] = set()
    for clause, _ in _clauses(tokens):
        into = kept if leaves_alone(clause) else named
        into |= {o.name for span in spans_of(clause, reader) for o in span.objects}
    return NamedObjects(frozenset(named - kept), frozenset(kept))


@dataclass(frozen=True)
class Suggestion:
    """Goals that words suggest."""

    goals: Goals | str
    """Goals, or an instruction that states them."""
    weight: float
    """Score of the kind of suggestion; `offers.py` adds the score for objects and relations that the text names."""


def suggested_goals(tokens: Sequence[Token], reader: InstructionReader) -> Iterator[Suggestion]:
    """Yield goals that the words of a text suggest, all its clauses together first."""
    reader.reset()
    frames: list[list[Goals]] = []
    last: list[Span] = []
    for clause, stage in _clauses(tokens):
        if leaves_alone(clause):
            continue
        spans = spans_of(clause, reader)
        spans = [_resolved(span, spans[: max(0, i - 1)] or last) for i, span in enumerate(spans)]
        spans = [span for span in spans if span.choices]
        found = [list(_staged(options, stage)) for options in _frames(clause, spans, last)]
        frames += [options for options in found if options]
        last = [span for span in spans if not span.is_pronoun] or last
    if len(frames) > 1:
        yield Suggestion(_one_stage_each(tuple(goal for options in frames for goal in options[0])), 2.0)
    for options in frames:
        for goals in options:
            yield Suggestion(tuple(replace(goal, stage=0) for goal in goals), 1.0)
    for words in _between(tokens, reader):
        yield Suggestion(words, 2.0)
    arranged = list(_arrangements(tokens, reader))
    for goals in arranged:
        yield Suggestion(goals, 1.0)
    for goals in _pairs(tokens, reader):
        yield Suggestion(goals, 0.0 if not (frames or arranged) else -2.0)


def _one_stage_each(goals: Goals) -> Goals:
    stages = sorted({goal.stage for goal in goals})
    return tuple(dict.fromkeys(replace(goal, stage=stages.index(goal.stage)) for goal in goals))


def _staged(options: Sequence[Goals], stage: int) -> Iterator[Goals]:
    for goals in options:
        if goals:
            yield tuple(replace(goal, stage=stage) for goal in goals)


def _clauses(tokens: Sequence[Token]) -> Iterator[tuple[list[Token], int]]:
    """Yield the pieces of a text between stops and words for a later step, with their stages."""
    clause: list[Token] = []
    stage, found = 0, False
    for token in (*tokens, STOP):
        if token.has("stop", "sequence", "earlier") and not token.has("scene"):
            if clause:
                yield clause, stage
                found = True
            stage += int(token.has("sequence") and found)
            clause = []
        else:
            clause.append(token)


# Relations and places


def _resolved(span: Span, last: Sequence[Span]) -> Span:
    """Return a pronoun's span with what was named before; other spans as they are."""
    if not span.is_pronoun:
        return span
    known = [one for one in last if not one.is_pronoun][-2:]
    return replace(span, choices=tuple(choice for one in known for choice in one.choices[:1])[:MAX_CHOICES])


def _frames(clause: Sequence[Token], spans: Sequence[Span], last: Sequence[Span]) -> Iterator[list[Goals]]:
    """Yield, for each relation and place of a clause, the goals that it may state."""
    targets: set[int] = set()
    inside = {i for span in spans for i in range(span.start, span.end)}
    for at, token in enumerate(clause):
        if at in inside or (token.has("scene") and not token.has("relations")):
            continue
        relation = token.value("relations")
        place = token.value("places") or SIDE_OF_RANK.get(token.value("extremes"), "")
        before = [s for s in spans if s.end <= at and s.start not in targets]
        after = [s for s in spans if s.start > at]
        subject = _joined_with(before[-1], before, clause) if before else list(last[:1])
        if relation in ("inside", "on") and not after and len(before) > 1:  # "two cubes, one bin: both of them in"
            holders = [s for s in before if all(o.container or relation == "on" for o in s.objects)][-1:]
            moved = [s for s in before if s not in holders][:1]
            yield _related(relation, moved, holders) if holders and moved else []
        elif relation in PAIR_RELATIONS and after:
            target = after[:1]
            subject = subject or after[1:2]
            targets |= {s.start for s in target}
            if subject:
                yield _related(relation, subject, target)
        elif place in SIDES:
            moved = subject or _joined_with_next(after, clause)
            if moved:
                yield [_zoned(objects, place) for objects in _options(moved)]


def _joined_with(span: Span, before: Sequence[Span], clause: Sequence[Token]) -> list[Span]:
    """Return a span with those before it that "and" or a comma joins to it."""
    joined = [span]
    for earlier in reversed([s for s in before if s.end <= span.start]):
        between = clause[earlier.end : joined[0].start]
        if not between or not all(t.has("comma", "conjunctions", "determiners", "fillers") for t in between):
            break
        joined.insert(0, earlier)
    return joined


def _joined_with_next(after: Sequence[Span], clause: Sequence[Token]) -> list[Span]:
    if not after:
        return []
    joined = [after[0]]
    for later in after[1:]:
        between = clause[joined[-1].end : later.start]
        if not all(t.has("comma", "conjunctions", "determiners", "fillers") for t in between):
            break
        joined.append(later)
    return joined


def _options(spans: Sequence[Span]) -> Iterator[list[SceneObject]]:
    for chosen in list(product(*(s.choices for s in spans)))[:MAX_CHOICES]:
        yield list(dict.fromkeys(o for objects in chosen for o in objects))


def _related(relation: str, subject: Sequence[Span], target: Sequence[Span]) -> list[Goals]:
    found = []
    for objects in _options(subject):
        for bases in _options(target):
            if len(bases) == 1:
                found.append(tuple(_pair(relation, a, bases[0]) for a in objects if a != bases[0]))
            elif relation not in ("on", "inside"):
                found.append(tuple(_pair(relation, a, b) for a in objects for b in bases if a != b))
    return [goals for goals in found if goals][:MAX_CHOICES]


def _pair(relation: str, a: SceneObject, b: SceneObject) -> PlannedGoal:
    kind = "inside" if relation == "on" and b.container else relation
    return PlannedGoal(kind, (a.name, b.name))


def _zoned(objects: Sequence[SceneObject], place: str) -> Goals:
    return tuple(PlannedGoal("in_zone", (o.name, f"{place}_zone")) for o in objects)


# Arrangements


def _between(tokens: Sequence[Token], reader: InstructionReader) -> Iterator[str]:
    """Yield instructions to put one object between two others."""
    at = next((i for i, t in enumerate(tokens) if t.value("relations") == "between"), None)
    if at is None:
        return
    spans = [span for span in spans_of(tokens, reader) if span.choices]
    before, after = [s for s in spans if s.end <= at], [s for s in spans if s.start > at]
    for moved in (*(before[-1:]), *after[2:3]):
        ends = [o for s in after for o in s.objects if o not in moved.objects][:2]
        if len(ends) == 2:
            a, b = (reader.names[o.name] for o in ends)
            for o in moved.objects:
                yield f"Put the {reader.names[o.name]} between the {a} and the {b}."


def _arrangements(tokens: Sequence[Token], reader: InstructionReader) -> Iterator[Goals]:
    """Yield rows, towers, swaps and groups of the objects that a text names, if it has words for one."""
    kept = named_objects(tokens, reader).kept
    named = [
        o for clause, _ in _clauses(tokens) if not leaves_alone(clause)
        for span in spans_of(clause, reader) for o in span.objects
    ]  # fmt: skip
    objects = [o for o in dict.fromkeys(named) if o.name not in kept]
    words = {word for t in tokens for word in t.text.split()}
    if len(objects) < 2:
        return
    if words & SWAP_WORDS and len(objects) == 2:
        a, b = objects
        yield PlannedGoal("where", (a.name, b.name)), PlannedGoal("where", (b.name, a.name))
    order = take_order(text_of(tokens))[1]
    if words & ROW_WORDS or any(t.value("arrangements") in ("row", "column") for t in tokens):
        along = order.along or ("away" if words & {"column", "queue", "depth"} else "right")
        for ordered in (ordered_objects(reader.statements, objects, order), objects):
            for goes in dict.fromkeys((along, "right", "away")):
                yield (PlannedGoal("in_row", tuple(o.name for o in ordered), goes),)
        if len({o.colour for o in objects}) > 1:
            yield (PlannedGoal("in_row", tuple(o.name for o in by_colour(objects)), along),)
    if words & TOWER_WORDS or any(t.value("arrangements") == "tower" for t in tokens):
        flat = [o for o in objects if o.shape in ("cube", "box") and not o.container]
        placed = _by_position(tokens, reader)
        for ordered in (placed, objects, stacking_order(objects), stacking_order(flat), stacking_order(flat)[:3]):
            if len(ordered) > 1:
                yield (PlannedGoal("stacked", tuple(o.name for o in ordered)),)
    elif words & (ORDER_WORDS | {"in", "into", "inside"}):
        yield from _filled(objects, words)
    if words & TOGETHER_WORDS:
        yield tuple(PlannedGoal("in_zone", (o.name, "zone")) for o in objects)
    if words & {"apart", "separate", "distance", "space"}:
        yield tuple(PlannedGoal("away", (a.name, b.name)) for a, b in combinations(objects, 2))


def _filled(objects: Sequence[SceneObject], words: set[str]) -> Iterator[Goals]:
    """Yield all objects put into the one container among them, in their order where words of order are named."""
    holders = [o for o in objects if o.container]
    if len(holders) == 1:
        inside = tuple(_pair("inside", o, holders[0]) for o in objects if o not in holders)
        if words & ORDER_WORDS:
            yield tuple(replace(goal, stage=stage) for stage, goal in enumerate(inside))
        yield inside


def _by_position(tokens: Sequence[Token], reader: InstructionReader) -> list[SceneObject]:
    """Return the objects that a text names by the position in a tower that is named beside each, lowest first."""
    ranked: list[tuple[int, SceneObject]] = []
    for span in (span for span in spans_of(tokens, reader) if len(span.objects) == 1):
        beside = {word for t in _until_comma(tokens[span.end :]) for word in t.text.split()}
        rank = 0 if beside & LOW_WORDS else 2 if beside & HIGH_WORDS else 1
        ranked = [(r, o) for r, o in ranked if o != span.objects[0] or rank == 1]
        if span.objects[0] not in [o for _, o in ranked]:
            ranked.append((rank, span.objects[0]))
    return [o for _, o in sorted(ranked, key=lambda one: one[0])]


def _until_comma(tokens: Sequence[Token]) -> Sequence[Token]:
    end = next((i for i, t in enumerate(tokens) if t.has("comma", "stop", "conjunctions", "sequence")), len(tokens))
    return tokens[:end]


def _pairs(tokens: Sequence[Token], reader: InstructionReader) -> Iterator[Goals]:
    """Yield goals of two of the objects that a text names, by the relations that it names, and of one alone."""
    spans = [span for span in spans_of(tokens, reader) if span.choices]
    named = list(dict.fromkeys(o for span in spans for o in span.objects))
    relations = [t.value("relations") for t in tokens if t.value("relations") in PAIR_RELATIONS]
    for relation in (*dict.fromkeys(relations), "inside", "on", "near"):
        for a, b in combinations(named[:6], 2):
            yield (_pair(relation, a, b),)
    for container in (NEW_CONTAINERS[t.text] for t in tokens if t.text in NEW_CONTAINERS):
        yield tuple(PlannedGoal("inside", (o.name, container), new_container=True) for o in named)
    places = [t.value("places") or SIDE_OF_RANK.get(t.value("extremes"), "") for t in tokens]
    for place in dict.fromkeys(p for p in places if p in SIDES):
        for o in named:
            yield _zoned([o], place)
    if len(named) == 1:
        yield from _of_one(named[0], relations, reader)


def _of_one(a: SceneObject, relations: Sequence[str], reader: InstructionReader) -> Iterator[Goals]:
    start = reader.statements.phrases.start
    others = sorted((o for o in reader.objects if o != a), key=lambda b: start.distance(a, b))
    for relation in dict.fromkeys(relations):
        for b in others:
            yield (_pair(relation, a, b),)
    for place in ("near", "left", "right"):
        yield _zoned([a], place)


def kinds_named(tokens: Sequence[Token]) -> Mapping[str, int]:
    """Return how often a text names each relation and each side of the table, but for those that state an order."""
    found: dict[str, int] = {}
    if take_order(text_of(tokens))[1].along:  # "left to right" names no side
        tokens = [t for t in tokens if t.value("places") not in ("left", "right", "near", "far")]
    for token in tokens:
        place = token.value("places") or SIDE_OF_RANK.get(token.value("extremes"), "")
        for key in {token.value("relations"), place} - {""}:
            found[key] = found.get(key, 0) + 1
    return found
