"""Conditions of an instruction: "if there is a mug", "unless the bowl is full"; they are decided by the photograph."""

from collections.abc import Sequence

from pipeline.planner.language.errors import UnclearPhrase, UnparsedClause
from pipeline.planner.language.statements.sentence_parts import modifier_of, place_of, split_segments, without_relative
from pipeline.planner.language.statements.statement_reader import StatementReader
from pipeline.planner.language.tokens import Token, text_of
from pipeline.planner.scene_objects import SceneObject

EXISTENCE = ("you", "see", "find", "can", "we", "i", "have", "available", "present", "can see", "exists", "exist",
             "visible", "around", "already", "any")  # fmt: skip
"""Words of a condition that only say that something is there."""
ANY_ONE = Token("any", {"determiners": "any"})
EVERY = Token("all", {"determiners": "every"})


def take_condition(statements: StatementReader, tokens: Sequence[Token]) -> tuple[list[Token], list[Token], str]:
    """Return a condition, the clause that it introduces, and why it is not met (empty if it is).

    Raises UnclearPhrase for a condition that cannot be decided.
    """
    unless = tokens[0].value("conditions") == "unless"
    error: UnclearPhrase = UnparsedClause(f'the condition "{text_of(tokens)}" is not understood')
    for at in _ends(tokens):
        try:
            reason = why_unmet(statements, tokens[1:at])
        except UnclearPhrase as unclear:
            error = unclear
            continue
        if unless:
            reason = "" if reason else f'"{text_of(tokens[1:at])}" holds already'
        return list(tokens[1:at]), list(tokens[at:]), reason
    raise error


def _ends(tokens: Sequence[Token]) -> list[int]:
    """Return where the condition may end: at a comma or before the verb of the clause that it introduces."""
    verbs = [
        i for i, t in enumerate(tokens)
        if i > 2 and t.has("verbs") and not t.has("scene", "relations", "places", "empty")
        and not tokens[i - 1].has("determiners", "relations", "modals", "negations", "conditions", "copulas")
        and tokens[i - 1].text not in EXISTENCE
    ]  # fmt: skip
    commas = [i for i, t in enumerate(tokens) if t.has("comma")]
    first = commas[0] if commas else len(tokens)
    return [*[i for i in verbs if i < first], *commas]


def why_unmet(statements: StatementReader, tokens: Sequence[Token]) -> str:
    """Return why a condition does not hold in the photograph; empty if it holds. Raises UnclearPhrase."""
    text = text_of(tokens)
    body = [t for t in tokens if not (t.has("fillers") and not t.has("scene", "ranks")) or t.has("empty")]
    body = [t for t in body if t.text not in EXISTENCE]
    negated = any(t.has("negations") or t.text == "no" for t in body)
    body = [t for t in body if not t.has("negations") and t.text != "no"]
    while body and (body[0].has("copulas") and not body[0].has("scene")):
        body = body[1:]
    more = [i for i, t in enumerate(body) if t.has("comparisons")]
    phrases = statements.phrases
    if more:
        at = more[0]
        number = int(body[at + 1].value("numbers") or (1 if body[at + 1].text == "one" else 0))
        return _why_not_number(statements, body[at].text, number, body[at + 2 :], text)
    copula = next((i for i, t in enumerate(body) if i and t.has("copulas") and not body[i - 1].has("relative")
                   and not t.has("relations", "places", "scene")), None)  # fmt: skip
    subject, rest = (body[:copula], body[copula + 1 :]) if copula else (body, [])
    try:
        head, segments = split_segments(subject)
        any_one = [] if rest else [ANY_ONE]
        chosen = phrases.select([*any_one, *without_relative(head)], [modifier_of(*s) for s in segments])
    except UnparsedClause:
        raise
    except UnclearPhrase as unclear:
        if unclear.alternatives and rest:
            raise
        return "" if negated else f'"{text}" is not the case: {unclear}'
    statements.mention(chosen)
    if not rest:
        return f'"{text}" is not the case' if negated else ""
    holds = _holds(statements, chosen.objects, rest)
    return "" if holds != negated else f'"{text}" is not the case here, so there is nothing to do'


def _why_not_number(statements: StatementReader, comparison: str, number: int, noun: Sequence[Token], text: str) -> str:
    phrases = statements.phrases
    every = phrases.select([EVERY, *noun])
    phrases.mentions.noun = every.noun
    more = comparison in ("more than", "over")
    holds = len(every.objects) > number if more else len(every.objects) < number
    return "" if holds else f'"{text}" is not the case: there are {len(every.objects)}'


def _holds(statements: StatementReader, objects: Sequence[SceneObject], rest: Sequence[Token]) -> bool:
    """Return whether objects are as a predicate says: on the plate, on the left, red, empty."""
    phrases, start = statements.phrases, statements.phrases.start
    if any(t.text == "empty" for t in rest):
        return not any(start.support(o) in objects for o in start.objects)
    _, segments = split_segments(rest)
    if not segments:
        named = phrases.select([*rest, Token("things", {"anything": "anything"})])
        return set(objects) <= set(named.objects)
    relation, tokens, _ = segments[0]
    if place := place_of(tokens):
        return all(start.is_at(place, o) for o in objects)
    if any(t.has("table") for t in tokens):
        return all(start.support(o) is None for o in objects)
    others = phrases.select(tokens).objects
    return all(any(start.holds(relation, o, other) for other in others) for o in objects)
