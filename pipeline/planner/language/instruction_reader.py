"""The task plan of an instruction: clauses in their order, with conditions, results and sets left alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

from pipeline.planner.articulation_phrases import PartReference, parse_opening
from pipeline.planner.language.clauses import clauses_of, leaves_alone
from pipeline.planner.language.conditions import take_condition
from pipeline.planner.language.coverage import unread_words, unstated_words
from pipeline.planner.language.errors import RefusedClause, UnclearPhrase, UnparsedClause
from pipeline.planner.language.normalisation import plain
from pipeline.planner.language.phrases.noun_phrases import Mentions, NounPhrases
from pipeline.planner.language.phrases.object_names import plain_names, scene_words
from pipeline.planner.language.phrases.start_state import StartState
from pipeline.planner.language.statements.orders import take_order
from pipeline.planner.language.statements.sentence_parts import (
    Sentence,
    content_of,
    place_of,
    split_segments,
    stripped,
    take_apart,
)
from pipeline.planner.language.statements.statement_reader import SET_VERBS, Goals, StatementReader
from pipeline.planner.language.tokens import COMMA, Token, text_of, tokenize
from pipeline.planner.language.wording import instruction_of
from pipeline.planner.plans import TableTop, TaskPlan
from pipeline.planner.scene_objects import SceneObject
from pipeline.simulation.goals.spec import PlannedGoal

MAX_SPLITS = 7
"""Most "and"s and commas of a clause of which every combination is tried."""


Memory = tuple[Mentions, frozenset[str], tuple[PartReference, ...], dict[str, str]]


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
        plan = self.plan(tokens)
        self.refuse_unread(tokens, plan)
        return plan

    def refuse_unread(self, tokens: Sequence[Token], plan: TaskPlan) -> None:
        """Raise UnclearPhrase, with the plan as an offer, where a word that carries content was not read."""
        mentions = self.statements.phrases.mentions
        unread = [
            *unread_words(tokens, mentions.words, plan.kind),
            *unstated_words(tokens, plan, mentions.sides),
        ]
        if unread:
            quoted = ", ".join(f'"{word}"' for word in dict.fromkeys(unread))
            offer = instruction_of(plan.goals, self.names)
            raise UnclearPhrase(f"not understood: {quoted}; say it without, or in other words", alternatives=[offer])

    def tokens(self, text: str) -> list[Token]:
        """Return the tokens of an instruction."""
        return tokenize(plain(text), self.words)

    def plan(self, tokens: Sequence[Token]) -> TaskPlan:
        """Return the plan of an instruction's tokens, with what was named so far in mind."""
        goals: list[PlannedGoal] = []
        kinds: list[str] = []
        unmet = ""
        clauses = clauses_of(tokens)
        for clause in [c for c in clauses if leaves_alone(c.tokens)]:
            self._clause(clause.tokens)
        for clause in clauses:
            if leaves_alone(clause.tokens):
                self._clause(clause.tokens)
                continue
            body, later = stripped(clause.tokens), 0
            if body and body[0].value("conditions") == "else":
                if not unmet:
                    continue
                body, unmet = body[1:], ""
            elif body and body[0].has("conditions"):
                stated, rest, unmet = take_condition(self.statements, body)
                sooner = self._sooner(body[0], stated) if unmet else []
                goals += [replace(goal, stage=clause.stage) for goal in sooner]
                if unmet and not sooner:
                    continue
                body, unmet, later = rest, "", int(bool(sooner))
            kind, found = self._clause(body)
            if kind:
                kinds.append(kind)
            staged = [replace(goal, stage=clause.stage + later) for goal in found]
            goals += [goal for goal in staged if goal not in goals]
        if not goals:
            raise RefusedClause(unmet or "the words name no action: say what to do with which object")
        self._refuse_contradiction(goals)
        self._refuse_taken_place(goals)
        return _plan(kinds, self._without_kept(goals))

    def _sooner(self, when: Token, stated: Sequence[Token]) -> list[PlannedGoal]:
        """Return the goals of "when the orange is in the bowl, ...", which is to be done first; none for an "if"."""
        if when.text not in ("when", "whenever"):
            return []
        try:
            return self._clause(stated)[1]
        except UnclearPhrase:
            return []

    def _refuse_contradiction(self, goals: Sequence[PlannedGoal]) -> None:
        """Raise UnclearPhrase where one object is to be at two places at a time, or one side was dropped."""
        for one, other in combinations([goal for goal in goals if goal.kind == "in_zone"], 2):
            if (one.names[0], one.stage) == (other.names[0], other.stage) and one.names[1] != other.names[1]:
                offers = [instruction_of([replace(goal, stage=0)], self.names) for goal in (one, other)]
                name = self.names[one.names[0]]
                raise UnclearPhrase(f"the {name} is to be at two places: say which", name, alternatives=offers)

    def _refuse_taken_place(self, goals: Sequence[PlannedGoal]) -> None:
        """Raise UnclearPhrase where an object is to stand in the place of one that no goal moves away."""
        carried = {name for goal in goals for name in goal.carried}
        for goal in goals:
            if goal.kind == "where" and goal.names[1] not in carried:
                offers = [f"Swap the {self.names[goal.names[0]]} and the {self.names[goal.names[1]]}."]
                name = self.names[goal.names[1]]
                raise UnclearPhrase(f"the {name} stands there: say where it is to go", name, alternatives=offers)

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

    # Clauses

    def _clause(self, tokens: Sequence[Token]) -> Goals:
        """Return the goals of one clause: a statement, or several joined by "and"."""
        tokens = stripped(tokens)
        late = next((i for i, t in enumerate(tokens) if i and t.has("conditions") and not t.has("soon")), None)
        if late is not None:
            _, _, reason = take_condition(self.statements, [*tokens[late:], COMMA])
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
        is_one = sum(_states(tokens, i) for i in range(len(tokens))) < 2
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


def _states(tokens: Sequence[Token], at: int) -> bool:
    """Return whether a word may be the core of a statement: a verb, a relation, or a place at the end of a piece."""
    token = tokens[at]
    if token.has("scene"):
        return False
    ends = at + 1 == len(tokens) or tokens[at + 1].has("comma", "conjunctions", "stop")
    return token.has("relations", "verbs", "gerunds") or (token.has("places") and ends)


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
    whole = [s for s in segments if content_of(s[1]) and not _is_order(s[1])]
    places = any(t.has("places", "arrangements") and not t.has("scene") for t in tokens[1:] or tokens)
    tops = any(relation == "on" and not content_of(rest) for relation, rest, _ in segments)
    return bool(whole) or places or (tops and index > 0) or any(t.has("relative") for t in tokens[:0])


def _relates(tokens: Sequence[Token]) -> bool:
    """Return whether a piece states a relation to objects, not only to a side of the table."""
    segments = split_segments(tokens)[1]
    return any(
        content_of(rest) and not place_of(rest) and relation != "to" and not _is_order(rest)
        for relation, rest, _ in segments
    )


def _is_order(tokens: Sequence[Token]) -> bool:
    """Return whether the words after "in" state an order: "in this order, bottom first"."""
    return any(t.text == "order" for t in tokens[:3])


def _only_orders(tokens: Sequence[Token], before: Sequence[Sequence[Token]]) -> bool:
    """Return whether a piece states the order of a row or a tower named before: "smallest on top"."""
    arranged = any(
        t.has("arrangements") or t.value("verbs") in ("stack", "row", "sort")
        or t.text in ("tower", "row", "line", "arrange", "order")
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
