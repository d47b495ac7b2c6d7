"""The task plan of an instruction: clauses in their order, with conditions, results and sets left alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

from pipeline.planner.articulation_phrases import PartReference, parse_opening
from pipeline.planner.language.errors import RefusedClause, UnclearPhrase, UnparsedClause
from pipeline.planner.language.noun_phrases import Mentions, NounPhrases
from pipeline.planner.language.object_names import plain_names, scene_words
from pipeline.planner.language.orders import take_order
from pipeline.planner.language.start_state import StartState
from pipeline.planner.language.statements import (
    SET_VERBS,
    Goals,
    Sentence,
    StatementReader,
    content_of,
    modifier_of,
    place_of,
    split_segments,
    stripped,
    take_apart,
    without_relative,
)
from pipeline.planner.language.tokens import Token, plain, text_of, tokenize
from pipeline.planner.plans import TableTop, TaskPlan
from pipeline.planner.scene_objects import SceneObject
from pipeline.simulation.goals.spec import PlannedGoal

MAX_SPLITS = 7
"""Most "and"s and commas of a clause of which every combination is tried."""


Memory = tuple[Mentions, frozenset[str], tuple[PartReference, ...], dict[str, str]]


@dataclass
class Clause:
    """A part of an instruction that is to be done in one stage."""

    stage: int
    tokens: list[Token]


@dataclass
class InstructionReader:
    """Reads instructions about one scene."""

    objects: tuple[SceneObject, ...]
    table: TableTop
    names: dict[str, str] = field(init=False)
    """Plain name of each object by its name."""
    words: frozenset[str] = field(init=False)
    statements: StatementReader = field(init=False)

    def __post_init__(self) -> None:
        self.names = plain_names(self.objects, self.table)
        self.words = scene_words(self.objects)
        self.reset()

    def reset(self) -> None:
        """Forget what was named."""
        phrases = NounPhrases(StartState(self.objects, self.table), self.names, self.words)
        self.statements = StatementReader(phrases)

    def read(self, text: str) -> TaskPlan:
        """Return the plan of an instruction. Raises UnclearPhrase."""
        self.reset()
        tokens = self.tokens(text)
        self._refuse_question(tokens)
        return self.plan(tokens)

    def tokens(self, text: str) -> list[Token]:
        """Return the tokens of an instruction."""
        return tokenize(plain(text), self.words)

    def plan(self, tokens: Sequence[Token]) -> TaskPlan:
        """Return the plan of an instruction's tokens, with what was named so far in mind."""
        goals: list[PlannedGoal] = []
        kinds: list[str] = []
        unmet = ""
        clauses = list(_reordered(list(_clauses(tokens))))
        for clause in [c for c in clauses if _leaves_alone(c.tokens)]:
            self._clause(clause.tokens)
        for clause in clauses:
            if _leaves_alone(clause.tokens):
                self._clause(clause.tokens)
                continue
            body = stripped(clause.tokens)
            if body and body[0].value("conditions") == "else":
                if not unmet:
                    continue
                body, unmet = body[1:], ""
            elif body and body[0].has("conditions"):
                body, unmet = self._condition(body)
                if unmet:
                    continue
            kind, found = self._clause(body)
            if kind:
                kinds.append(kind)
            staged = [replace(goal, stage=clause.stage) for goal in found]
            goals += [goal for goal in staged if goal not in goals]
        if not goals:
            raise RefusedClause(unmet or "the words name no action: say what to do with which object")
        return _plan(kinds, self._without_kept(goals))

    def _without_kept(self, goals: list[PlannedGoal]) -> list[PlannedGoal]:
        """Return the goals; raise where one of them moves what is to be left alone."""
        kept = self.statements.phrases.kept
        for goal in goals:
            if moved := kept & set(goal.carried):
                name = self.names.get(next(iter(moved)), "")
                raise UnclearPhrase(f"the {name} is to be moved and to be left alone: say which", name)
        return goals

    def _refuse_question(self, tokens: Sequence[Token]) -> None:
        rest = [t for t in tokens if not (t.has("fillers") or t.has("comma"))]
        if not rest or not rest[0].has("question_words") or rest[0].has("wishes"):
            return
        if len(rest) > 1 and rest[1].has("negations") and rest[0].text in ("do", "does"):
            return
        raise RefusedClause("that is a question; say what to do with which object")

    # Conditions

    def _condition(self, tokens: list[Token]) -> tuple[list[Token], str]:
        """Return the clause that a condition introduces, and why the condition is not met (empty if it is)."""
        unless = tokens[0].value("conditions") == "unless"
        splits = [i for i, t in enumerate(tokens) if t.has("comma")] or [
            i for i, t in enumerate(tokens) if i > 2 and t.has("verbs") and not t.has("scene", "relations", "places")
            and not tokens[i - 1].has("determiners", "relations", "modals", "negations")
        ]  # fmt: skip
        error: UnclearPhrase = UnparsedClause(f'the condition "{text_of(tokens)}" is not understood')
        for at in splits:
            try:
                reason = self._why_unmet(tokens[1:at])
            except UnclearPhrase as unclear:
                error = unclear
                continue
            if unless:
                reason = "" if reason else f'"{text_of(tokens[1:at])}" holds already'
            return tokens[at:], reason
        raise error

    def _why_unmet(self, tokens: Sequence[Token]) -> str:
        """Return why a condition does not hold in the photograph; empty if it holds. Raises UnclearPhrase."""
        text = text_of(tokens)
        body = [t for t in tokens if not (t.has("fillers") and not t.has("scene", "ranks")) or t.has("empty")]
        body = [
            t
            for t in body
            if t.text
            not in (
                "you",
                "see",
                "find",
                "can",
                "we",
                "i",
                "have",
                "available",
                "present",
                "can see",
                "exists",
                "exist",
                "visible",
            )
        ]
        negated = any(t.has("negations") or t.text == "no" for t in body)
        body = [t for t in body if not t.has("negations") and t.text != "no"]
        while body and (body[0].has("copulas") and not body[0].has("scene")):
            body = body[1:]
        more = [i for i, t in enumerate(body) if t.has("comparisons")]
        phrases = self.statements.phrases
        if more:
            at = more[0]
            number = int(body[at + 1].value("numbers") or (1 if body[at + 1].text == "one" else 0))
            return self._why_not_number(body[at].text, number, body[at + 2 :], text)
        copula = next((i for i, t in enumerate(body) if i and t.has("copulas") and not body[i - 1].has("relative")
                       and not t.has("relations", "places", "scene")), None)  # fmt: skip
        subject, rest = (body[:copula], body[copula + 1 :]) if copula else (body, [])
        try:
            head, segments = split_segments(subject)
            any_one = [] if rest else [Token("any", {"determiners": "any"})]
            chosen = phrases.select([*any_one, *without_relative(head)], [modifier_of(*s) for s in segments])
        except UnparsedClause:
            raise
        except UnclearPhrase as unclear:
            if unclear.alternatives and rest:
                raise
            return "" if negated else f'"{text}" is not the case: {unclear}'
        self.statements.mention(chosen)
        if not rest:
            return f'"{text}" is not the case' if negated else ""
        holds = self._holds(chosen.objects, rest, text)
        return "" if holds != negated else f'"{text}" is not the case here, so there is nothing to do'

    def _why_not_number(self, comparison: str, number: int, noun: Sequence[Token], text: str) -> str:
        phrases = self.statements.phrases
        every = phrases.select([Token("all", {"determiners": "every"}), *noun])
        phrases.mentions.noun = every.noun
        more = comparison in ("more than", "over")
        holds = len(every.objects) > number if more else len(every.objects) < number
        return "" if holds else f'"{text}" is not the case: there are {len(every.objects)}'

    def _holds(self, objects: Sequence[SceneObject], rest: Sequence[Token], text: str) -> bool:
        """Return whether objects are as a predicate says: on the plate, on the left, red, empty."""
        start = self.statements.phrases.start
        if any(t.text == "empty" for t in rest):
            return not any(start.support(o) in objects for o in start.objects)
        _, segments = split_segments(rest)
        if not segments:
            named = self.statements.phrases.select([*rest, Token("things", {"anything": "anything"})])
            return set(objects) <= set(named.objects)
        relation, tokens, _ = segments[0]
        if place := place_of(tokens):
            return all(start.is_at(place, o) for o in objects)
        if any(t.has("table") for t in tokens):
            return all(start.support(o) is None for o in objects)
        others = self.statements.phrases.select(tokens).objects
        return all(any(start.holds(relation, o, other) for other in others) for o in objects)

    # Clauses

    def _clause(self, tokens: Sequence[Token]) -> Goals:
        """Return the goals of one clause: a statement, or several joined by "and"."""
        tokens = stripped(tokens)
        late = next((i for i, t in enumerate(tokens) if i and t.has("conditions") and not t.has("soon")), None)
        if late is not None:
            _, reason = self._condition([*tokens[late:], Token(",", {"comma": ","})])
            if reason:
                raise RefusedClause(reason)
            return self._clause(tokens[:late])
        results = next((i for i, t in enumerate(tokens) if i and t.has("results")), None)
        if results is not None:
            return self._with_result(tokens[:results], tokens[results + 1 :])
        return self._joined(tokens)

    def _with_result(self, first: Sequence[Token], second: Sequence[Token]) -> Goals:
        """Return the goals of "place a such that it is behind b"."""
        kind, goals = "", []
        sentence = take_apart(stripped(first))
        head, segments = split_segments(sentence.body)
        if segments or any(t.has("arrangements") for t in sentence.body):
            kind, goals = self._joined(first)
        elif sentence.body and sentence.verb in ("put", "take", "select", ""):
            self.statements.mention(self.statements.phrases.select(head))
        else:
            kind, goals = self._joined(first)
        other, more = self._joined(second)
        return (kind if kind in ("", other) and kind else other), [*goals, *more]

    def _joined(self, tokens: Sequence[Token]) -> Goals:
        """Return the goals of statements joined by "and" or commas: of the finest split that can be read."""
        joints = [
            i
            for i, t in enumerate(tokens)
            if i and i < len(tokens) - 1 and t.has("comma", "conjunctions") and t.text != "or"
        ]
        first_error: UnclearPhrase | None = None
        saved = self.saved_state()
        is_one = sum(t.has("relations", "verbs", "gerunds") and not t.has("scene") for t in tokens) < 2
        for cuts in sorted(_cuts(joints[:MAX_SPLITS]), key=len, reverse=not is_one):
            self.restore(saved)
            pieces = [stripped(piece) for piece in _split_at(tokens, cuts)]
            pieces = [piece for piece in pieces if piece]
            if any(_only_orders(piece, pieces[:index]) for index, piece in enumerate(pieces)):
                continue
            if any(not _is_statement(piece, index) for index, piece in enumerate(pieces)) and len(pieces) > 1:
                continue
            try:
                return self._all(pieces)
            except UnclearPhrase as error:
                if not isinstance(error, UnparsedClause) and (error.alternatives or isinstance(error, RefusedClause)):
                    raise
                if first_error is None or (
                    isinstance(first_error, UnparsedClause) and not isinstance(error, UnparsedClause)
                ):
                    first_error = error
        self.restore(saved)
        raise first_error or UnparsedClause(f'the offline rules do not understand "{text_of(tokens)[:80]}"')

    def _all(self, pieces: Sequence[Sequence[Token]]) -> Goals:
        kinds: list[str] = []
        goals: list[PlannedGoal] = []
        verb: list[Token] = []
        for index, piece in enumerate(pieces):
            sentence = take_apart(list(piece))
            if not sentence.verb and verb and not sentence.boundary and parse_opening(text_of(piece)) is None:
                if verb[0].value("verbs") in SET_VERBS and not _relates(piece):
                    raise UnparsedClause(f'"{text_of(piece)}" names no action')
                piece = [*verb, *piece]
            elif sentence.verb and sentence.verb_text:
                verb = list(piece[:1])
            following = pieces[index + 1] if index + 1 < len(pieces) else []
            if _only_takes(sentence) and following:
                self.statements.mention(self.statements.with_modifiers(sentence.body))
                continue
            kind, found = self.statements.read(piece)
            if kind:
                kinds.append(kind)
            goals += found
        return common_kind(kinds), goals

    def saved_state(self) -> Memory:
        """Return what was named so far."""
        s = self.statements
        return replace(s.phrases.mentions), s.phrases.kept, s.parts, dict(s.towers)

    def restore(self, saved: Memory) -> None:
        """Set what was named so far."""
        s = self.statements
        s.phrases.mentions, s.phrases.kept, s.parts, s.towers = replace(saved[0]), saved[1], saved[2], dict(saved[3])


def _plan(kinds: Sequence[str], goals: Sequence[PlannedGoal]) -> TaskPlan:
    """Return the plan of goals; what is shut in the end need not be opened by a goal of its own."""
    shut = {goal.names for goal in goals if goal.kind == "closed"}
    remaining = [goal for goal in goals if goal.kind != "opened" or goal.names not in shut]
    stages = sorted({goal.stage for goal in remaining})
    return TaskPlan(common_kind(kinds), tuple(replace(goal, stage=stages.index(goal.stage)) for goal in remaining))


def common_kind(kinds: Sequence[str]) -> str:
    """Return the kind of task of statements of these kinds: "several" where they differ, empty for none."""
    if "put_in_drawer" in kinds and set(kinds) <= {"put_in_drawer", "open", "close"}:
        return "put_in_drawer"
    return kinds[0] if len(set(kinds)) == 1 else "several" if kinds else ""


def _leaves_alone(tokens: Sequence[Token]) -> bool:
    """Return whether a clause only says what is left alone: "don't move the bowl"."""
    body = stripped(tokens)
    if not body or body[0].value("verbs") != "ignore":
        return False
    if body[0].text not in ("leave", "keep"):
        return not any(t.has("comma") for t in body)
    return not any(t.has("relations") and not t.has("unmoved") for t in body) or any(t.has("unmoved") for t in body)


def _clauses(tokens: Sequence[Token]) -> Iterator[Clause]:
    """Yield the clauses of an instruction with their stages: "then" begins a new one."""
    stage, current, found = 0, [], False
    conditional = False
    for index, token in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        gerund = following is not None and (following.has("gerunds") or following.text == "you")
        conditional = conditional or (token.has("conditions") and not current)
        starts = token.has("sequence") and not (token.has("scene") or (current and current[-1].has("determiners")))
        if (
            conditional
            and starts
            and token.text in ("then", "and then")
            and any(not t.has("conditions") for t in current)
        ):
            current.append(Token(",", {"comma": ","}))
            conditional = False
            continue
        before = token.text == "before" and gerund
        leaves = token.has("comma") and _leaves_alone(current)
        leaves = leaves or (
            token.has("comma", "conjunctions") and following is not None and following.value("verbs") == "ignore"
        )
        if token.has("stop") or starts or before or leaves:
            if stripped(current):
                yield Clause(stage, current)
                found = True
            current = []
            conditional = False
            if (starts or before) and found:
                stage += 1
        else:
            current.append(token)
    if stripped(current):
        yield Clause(stage, current)


def _reordered(clauses: Sequence[Clause]) -> Iterator[Clause]:
    """Yield clauses with "before you do a, do b" and "after a, b" as two stages in the order of time."""
    shift = 0
    for clause in clauses:
        body = stripped(clause.tokens)
        soon = body[0].value("soon") if body else ""
        comma = next((i for i, t in enumerate(body) if t.has("comma") and i > 2), None)
        if not soon or comma is None or (body[0].text == "before" and not body[1].has("gerunds")):
            yield replace(clause, stage=clause.stage + shift)
            continue
        first, second = body[1:comma], body[comma + 1 :]
        if soon == "before":
            second, first = _with_its_names(first, second)
        yield Clause(clause.stage + shift, first)
        shift += 1
        yield Clause(clause.stage + shift, second)


def _with_its_names(later: list[Token], sooner: list[Token]) -> tuple[list[Token], list[Token]]:
    """Return two clauses in the order of time in which "it" of the one said last stands for what was said first."""
    _, segments = split_segments(later)
    if segments and any(t.text == "it" for t in sooner):
        target = segments[-1][1]
        at = next(i for i, t in enumerate(sooner) if t.text == "it")
        sooner = [*sooner[:at], *target, *sooner[at + 1 :]]
    return later, sooner


def _cuts(joints: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield every choice of joints to cut at, the finest first."""
    for size in range(len(joints), -1, -1):
        yield from combinations(joints, size)


def _split_at(tokens: Sequence[Token], cuts: Sequence[int]) -> list[list[Token]]:
    edges = [-1, *cuts, len(tokens)]
    return [list(tokens[low + 1 : high]) for low, high in pairwise(edges)]


def _is_statement(tokens: Sequence[Token], index: int) -> bool:
    """Return whether tokens may be a statement of their own: a verb with an object, or a relation with a target."""
    sentence = take_apart(list(tokens))
    if (sentence.verb and sentence.verb_text) or parse_opening(text_of(tokens)) is not None:
        return True
    if sentence.boundary:
        return True
    _, segments = split_segments(tokens)
    whole = [s for s in segments if content_of(s[1])]
    places = any(t.has("places", "arrangements") and not t.has("scene") for t in tokens[1:] or tokens)
    tops = any(relation == "on" and not content_of(rest) for relation, rest, _ in segments)
    return bool(whole) or places or (tops and index > 0) or any(t.has("relative") for t in tokens[:0])


def _relates(tokens: Sequence[Token]) -> bool:
    """Return whether a piece states a relation to objects, not only to a side of the table."""
    segments = split_segments(tokens)[1]
    return any(content_of(rest) and not place_of(rest) and relation != "to" for relation, rest, _ in segments)


def _only_orders(tokens: Sequence[Token], before: Sequence[Sequence[Token]]) -> bool:
    """Return whether a piece states the order of a row or a tower named before: "smallest on top"."""
    arranged = any(
        t.has("arrangements") or t.value("verbs") in ("stack", "row", "sort") or t.text in ("tower", "row", "line")
        for piece in before for t in piece
    )  # fmt: skip
    if not arranged:
        return False
    rest, order = take_order(f", {text_of(tokens)}")
    return bool(order) and not rest


def _only_takes(sentence: Sentence) -> bool:
    """Return whether a statement only picks something up: "take the ball" (and put it ...)."""
    has_goal = any(t.has("relations", "arrangements", "places") for t in sentence.body)
    return (sentence.verb in ("take",) and not has_goal) or (
        sentence.verb_text
        in ("take", "grab", "pick up", "lift", "get", "fetch", "grasp", "pick", "use", "find", "choose", "select")
        and not any(t.has("arrangements") for t in sentence.body)
    )
