"""Clauses of an instruction in the order of time: steps, "before" and "after", and what is left alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pipeline.planner.language.statements.sentence_parts import split_segments, stripped
from pipeline.planner.language.tokens import COMMA, Token

LEAVE = Token("leave", {"verbs": "ignore"})
STATING = ("verbs", "relations", "places", "arrangements", "gerunds")
"""Tags: a statement has a word with at least one of them."""


@dataclass(frozen=True)
class Clause:
    """A part of an instruction that is to be done in one stage."""

    stage: int
    """Its rank in the order of time; equal stages may be done in any order."""
    tokens: list[Token]


def clauses_of(tokens: Sequence[Token]) -> list[Clause]:
    """Return the clauses of an instruction with their stages: "then" begins a new one."""
    clauses = [part for clause in _split(tokens) for part in _without_constraint(clause)]
    return list(_in_order_of_time(clauses))


def leaves_alone(tokens: Sequence[Token]) -> bool:
    """Return whether a clause only says what is left alone: "don't move the bowl"."""
    body = stripped(tokens)
    if not body or body[0].value("verbs") != "ignore":
        return False
    if body[0].text not in ("leave", "keep"):
        return not any(t.has("comma") for t in body)
    return not any(t.has("relations") and not t.has("unmoved") for t in body) or any(t.has("unmoved") for t in body)


def _split(tokens: Sequence[Token]) -> Iterator[Clause]:
    """Yield the pieces between stops, words for a later or an earlier step, and words that leave something alone."""
    tokens, is_last_later = _without_trailing_step(tokens)
    stage, current, conditional, found = 0, [], False, False
    is_earlier = False
    for index, token in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        conditional = conditional or (token.has("conditions") and not stripped(current))
        later = token.has("sequence") and not (token.has("scene") or (current and current[-1].has("determiners")))
        introduces = conditional and later and token.text in ("then", "and then")
        if introduces and any(not t.has("conditions") for t in current):
            current.append(COMMA)
            conditional = False
            continue
        otherwise = token.value("conditions") == "else" and bool(stripped(current))
        ends = (
            token.has("stop")
            or later
            or token.has("earlier")
            or otherwise
            or _ends_constraint(current, token, following)
        )
        if not ends:
            current.append(token)
            if not _begins_constraint(current, following):
                continue
        if stripped(current):
            yield Clause(stage - 1 if is_earlier else stage, current)
            found, is_earlier = True, False
        current = [token] if otherwise else []
        conditional = False
        stage += 2 * int(later and found)
        is_earlier = is_earlier or token.has("earlier")
    if stripped(current):
        stage += 2 * int(is_last_later and found)
        yield Clause(stage - 1 if is_earlier else stage, current)


def _without_trailing_step(tokens: Sequence[Token]) -> tuple[list[Token], bool]:
    """Return a text without the "after that" at its end, and whether there was one: its last clause is a later step."""
    kept, found = list(tokens), False
    while kept and (kept[-1].has("stop", "comma", "sequence", "exceptions") and not kept[-1].has("scene")):
        found = kept.pop().has("sequence") or found
    return kept, found


def is_later(tokens: Sequence[Token]) -> bool:
    """Return whether a text ends with "after that": what it asks for is a later step."""
    return _without_trailing_step(tokens)[1]


def _ends_constraint(current: Sequence[Token], token: Token, following: Token | None) -> bool:
    """Return whether "don't touch the bowl" ends here: at a comma, or at "but" and a verb."""
    if not leaves_alone(current):
        return False
    joins = (
        token.has("conjunctions") and following is not None and following.has("verbs") and not following.has("scene")
    )
    return token.has("comma") or joins


def _begins_constraint(current: Sequence[Token], following: Token | None) -> bool:
    """Return whether the next word begins what is left alone: ", don't touch the bowl", "without moving it"."""
    if following is None or following.value("verbs") != "ignore" or not stripped(current):
        return False
    return current[-1].has("comma", "conjunctions", "exceptions") or following.text.startswith(
        ("do not", "without", "avoid", "refrain", "never")
    )


def _without_constraint(clause: Clause) -> Iterator[Clause]:
    """Yield a clause without what it leaves alone, and that as a clause: "..., and the boxes may stay"."""
    tokens = list(clause.tokens)
    at = next((i for i, t in enumerate(tokens) if i and t.has("stays") and _says_no_more(tokens[i + 1 :])), None)
    if tokens[0].has("exceptions") and not tokens[0].has("conjunctions") and (end := _first_comma(tokens)):
        yield replace(clause, tokens=[LEAVE, *tokens[1:end]])
        yield replace(clause, tokens=tokens[end + 1 :])
        return
    if at is None or leaves_alone(tokens):
        yield clause
        return
    joints = [i for i in range(at) if tokens[i].has("comma", "conjunctions")]
    begin = at
    for low in (*reversed(joints), -1):
        part = tokens[low + 1 : begin]
        if any(t.has(*STATING) and not t.has("scene") and (not t.has("ranks") or t is part[-1]) for t in part):
            break
        begin = low + 1
        if low == -1:
            begin = 0
    subject = [t for t in tokens[begin:at] if not t.has("modals", "copulas", "negations") or t.has("scene")]
    if begin and stripped(tokens[:begin]):
        yield replace(clause, tokens=tokens[:begin])
    end = next((i for i in range(at, len(tokens)) if tokens[i].has("comma", "conjunctions")), len(tokens))
    if not subject:
        yield clause
        return
    yield replace(clause, tokens=[LEAVE, *subject])
    if stripped(tokens[end:]):
        yield from _without_constraint(replace(clause, tokens=tokens[end + 1 :]))


def _first_comma(tokens: Sequence[Token]) -> int:
    """Return the index of the first comma; 0 without one."""
    return next((i for i, t in enumerate(tokens) if t.has("comma")), 0)


def _says_no_more(rest: Sequence[Token]) -> bool:
    rest = rest[: next((i for i, t in enumerate(rest) if t.has("comma", "conjunctions")), len(rest))]
    return all(t.has("unmoved", "fillers", "stays", "comma", "pronouns") for t in rest)


def _in_order_of_time(clauses: Sequence[Clause]) -> Iterator[Clause]:
    """Yield clauses with "before you do a, do b", "after a, b" and "b after a" as two stages in the order of time."""
    shift = 0
    for clause in clauses:
        pair = _first_and_second(stripped(clause.tokens))
        if pair is None:
            yield replace(clause, stage=clause.stage + shift)
            continue
        yield Clause(clause.stage + shift, pair[0])
        shift += 2
        yield Clause(clause.stage + shift, pair[1])


def _first_and_second(body: list[Token]) -> tuple[list[Token], list[Token]] | None:
    """Return the two clauses of a temporal sentence, the sooner first; None for other sentences."""
    for at, token in enumerate(body):
        soon = token.value("soon")
        if not soon or token.has("scene"):
            continue
        if at == 0:
            for joint in _joints(body):
                if _is_temporal(token, body[1:joint]):
                    stated, other = body[1:joint], body[joint:]
                    return (stated, other) if soon == "after" else _with_its_names(stated, other)
        elif _is_temporal(token, body[at + 1 :]) and any(t.has(*STATING) for t in body[:at]):
            return (body[:at], body[at + 1 :]) if soon == "before" else (body[at + 1 :], body[:at])
    return None


def _joints(body: Sequence[Token]) -> list[int]:
    """Return where a subordinate clause may end: at its first comma, or else at the verb of the main clause."""
    commas = [i for i, t in enumerate(body) if t.has("comma") and i > 2]
    verbs = [
        i for i, t in enumerate(body)
        if i > 2 and t.has("verbs") and not t.has("scene", "relations", "places")
        and not body[i - 1].has("determiners", "relations", "modals", "negations", "copulas", "soon")
    ]  # fmt: skip
    return [*commas, *verbs]


def _is_temporal(soon: Token, stated: Sequence[Token]) -> bool:
    """Return whether "before" or "after" introduces a statement: "before the mug" alone is a place."""
    if not stated:
        return False
    explicit = soon.text not in ("before", "after") or stated[0].has("gerunds")
    states = any(t.has("copulas", "modals", "participles") and not t.has("scene", "relations") for t in stated)
    return explicit or states


def _with_its_names(later: list[Token], sooner: list[Token]) -> tuple[list[Token], list[Token]]:
    """Return two clauses, the sooner first, in which its "it" stands for what was said first."""
    _, segments = split_segments(later)
    if segments and any(t.text == "it" for t in sooner):
        target = segments[-1][1]
        at = next(i for i, t in enumerate(sooner) if t.text == "it")
        sooner = [*sooner[:at], *target, *sooner[at + 1 :]]
    return sooner, later
