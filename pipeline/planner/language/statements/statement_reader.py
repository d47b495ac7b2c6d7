"""Goals of one statement: a verb with its objects and a relation, a place or an arrangement."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

from pipeline.planner import articulation_phrases
from pipeline.planner.language.errors import RefusedClause, UnclearPhrase, UnparsedClause
from pipeline.planner.language.normalisation import plain
from pipeline.planner.language.phrases.noun_phrases import Modifier, NounPhrases, Selection, with_noun
from pipeline.planner.language.statements import arrangements
from pipeline.planner.language.statements.places import Goals, between, placed
from pipeline.planner.language.statements.sentence_parts import (
    LIGHT,
    Sentence,
    attachments,
    content_of,
    is_table,
    modifier_of,
    split_segments,
    stripped,
    take_apart,
    without_relative,
    without_result_words,
)
from pipeline.planner.language.statements.targets import (
    CONTAINER_RELATIONS,
    new_container,
    refuse_bare_target,
    targets_of,
)
from pipeline.planner.language.tokens import Token, text_of, tokenize
from pipeline.planner.language.wording import instruction_of
from pipeline.planner.scene_objects import SceneObject
from pipeline.simulation.goals.spec import PlannedGoal, goal_specs

NOTHING: Goals = ("", [])
SET_VERBS = ("stack", "row", "sort", "group", "separate", "mirror", "swap", "clear", "discard", "tidy")
THROWN = ("throw", "toss", "chuck", "lob", "sling", "fling")


@dataclass
class StatementReader:
    """Reads statements about one scene."""

    phrases: NounPhrases
    parts: tuple[articulation_phrases.PartReference, ...] = field(default=())
    """Parts that were opened, shut or filled last, for "it"."""
    towers: dict[str, str] = field(default_factory=dict)
    """Name of the object that was put on another one last, by the name of the lowest object."""

    def read(self, tokens: Sequence[Token]) -> Goals:
        """Return the kind of task and the goals of one statement. Raises UnclearPhrase."""
        tokens = stripped(tokens)
        if not tokens:
            raise UnparsedClause("the words name no action")
        text = text_of(tokens)
        for reading in (self._command, self._opening):
            if (goals := reading(text)) is not None:
                self.phrases.mentions.words |= {t.text for t in tokens}
                return goals
        self._refuse_impossible(tokens)
        sentence = take_apart(tokens)
        if sentence.negated:
            raise RefusedClause(f'"{text}" says what not to do; say what to do')
        if sentence.verb == "ignore":
            return self._leave(sentence)
        if sentence.verb_text in THROWN and any(t.has("addressee") for t in sentence.body):
            raise RefusedClause(f'the robot cannot "{sentence.verb_text}": it only picks objects up and puts them down')
        kept = self.phrases.kept
        sentence = self._without_exception(sentence)
        try:
            special = arrangements.read(self, sentence)
            return special if special is not None else self._related(sentence)
        finally:
            self.phrases.kept = kept

    def _without_exception(self, sentence: Sentence) -> Sentence:
        """Return a statement without the exception after its relation ("..., all but the red one"), which is kept."""
        body = sentence.body
        stated = next((i for i, t in enumerate(body) if t.has("relations", "places") and not t.has("scene")), len(body))
        at = next(
            (i for i, t in enumerate(body) if i > stated and t.has("exceptions") and not t.has("relations")), None
        )
        if at is None:
            return sentence
        end = next((i for i in range(at, len(body)) if body[i].has("comma")), len(body))
        named = self.phrases.select(with_noun(body[at + 1 : end], body[:stated]))
        self.phrases.kept |= {o.name for o in named.objects}
        before = (
            body[: at - 1] if body[at - 1].has("comma") or body[at - 1].value("determiners") == "every" else body[:at]
        )
        return replace(sentence, body=[*before, *body[end:]])

    def _command(self, text: str) -> Goals | None:
        """Read a command that a kind of goal defines itself (`GoalSpec.commands`)."""
        for spec in goal_specs().values():
            for pattern in spec.commands:
                if m := re.fullmatch(pattern, text):
                    chosen = [self.one(tokenize(plain(phrase), self.phrases.words)) for phrase in m.groups()]
                    return spec.kind, [PlannedGoal(spec.kind, tuple(o.name for o in chosen))]
        return None

    def _opening(self, text: str) -> Goals | None:
        """Read "open ..." and "shut ..."."""
        parsed = articulation_phrases.parse_opening(text)
        if parsed is None or (parsed[0] == "opened" and re.search(r"\b(up|out) (the|some) (space|room)", text)):
            return None
        verb, phrase = parsed
        if not re.fullmatch(r"\s*(?:it|them|that|this)\s*", phrase) or not self.parts:
            self.parts = articulation_phrases.resolve_parts(phrase, self.phrases, self.parts)
        goals = [PlannedGoal(verb, (owner.name, part.name)) for owner, part in self.parts]
        return ("open" if verb == "opened" else "close"), goals

    def _refuse_impossible(self, tokens: Sequence[Token]) -> None:
        first, *rest = tokens
        is_noun = first.has("scene") and not (rest and rest[0].has("determiners", "pronouns", "quantities"))
        if first.has("impossible") and not first.has("verbs") and not is_noun:
            raise RefusedClause(
                f'the robot cannot "{first.text}": it only picks objects up, carries them and puts them down'
            )
        after = {"impossible": "from", "verbs": ""}
        late = next((t for t in rest if t.has("impossible") and not t.has(*LIGHT, *after) and not t.has("scene")), None)
        if late and late.has("impossible") and not late.has("nouns", "known", "scene"):
            raise RefusedClause(
                f'the robot cannot "{late.text}": it only picks objects up, carries them and puts them down'
            )

    def _leave(self, sentence: Sentence) -> Goals:
        """Read "leave the mug where it is": nothing to do, but no set contains the mug."""
        body = [t for t in sentence.body if not t.has("unmoved") or t.has("scene")]
        chosen = self.phrases.select([t for t in body if not t.has("relations") or t.has("scene")])
        self.phrases.kept |= {o.name for o in chosen.objects}
        self.mention(chosen)
        return NOTHING

    # Phrases

    def one(self, tokens: Sequence[Token], modifiers: Sequence[Modifier] = ()) -> SceneObject:
        """Return the one object that a phrase refers to. Raises UnclearPhrase."""
        chosen = self.phrases.select(tokens, modifiers)
        if len(chosen.objects) != 1:
            names = [self.phrases.called(o) for o in chosen.objects]
            text = text_of(tokens)
            raise UnclearPhrase(f'"{text}" may mean {" or ".join(names)}: say which', text, alternatives=names)
        return chosen.objects[0]

    def mention(self, chosen: Selection) -> None:
        """Note what was named, for "it", "one" and "the other"."""
        mentions = self.phrases.mentions
        mentions.last = chosen.objects
        mentions.named = (*mentions.named, *chosen.objects)
        mentions.noun = chosen.noun or mentions.noun

    def some(self, tokens: Sequence[Token]) -> tuple[SceneObject, ...]:
        """Return the objects that a phrase refers to; all loose objects for an empty phrase."""
        tokens = [t for t in tokens if not (t.has("table") and not t.has("scene")) and t.text != "of"]
        tokens = tokens[1:] if tokens and tokens[0].text == "from" else tokens
        bare = [t for t in tokens if not t.has("determiners", "fillers", "comma") or t.text in ("everything",)]
        if not bare and len(self.phrases.mentions.last) > 1:
            return self.phrases.mentions.last
        if not bare:
            every = tuple(o for o in self.phrases.objects if not o.parts and o.name not in self.phrases.kept)
            chosen = Selection(every, True)
        else:
            chosen = self.with_modifiers(tokens)
        self.mention(chosen)
        return chosen.objects

    def with_modifiers(self, tokens: Sequence[Token]) -> Selection:
        """Return what a phrase with relations inside refers to: "the cubes on the left"."""
        head, segments = split_segments(tokens)
        return self.phrases.select(without_relative(head), [modifier_of(*s) for s in segments])

    # Relations and places

    def _related(self, sentence: Sentence) -> Goals:
        """Return the goals of "put a on b" and of every other relation of objects to a target."""
        body = without_result_words(sentence.body)
        readings = list(attachments(body, sentence))
        found: list[Goals] = []
        errors: list[UnclearPhrase] = []
        saved = replace(self.phrases.mentions), self.parts
        outcomes = []
        for reading in readings:
            self.phrases.mentions, self.parts = replace(saved[0]), saved[1]
            try:
                goals = self._attached(*reading)
            except UnclearPhrase as error:
                errors.append(error)
            else:
                if goals not in found:
                    found.append(goals)
                    outcomes.append((self.phrases.mentions, self.parts))
        if not found:
            self.phrases.mentions, self.parts = saved
            raise _most_telling(errors) or self._without_relation(sentence, body)
        if len(found) > 1:
            raise UnclearPhrase(f'"{text_of(sentence.body)}" can be read in {len(found)} ways: say it in two sentences')
        self.phrases.mentions, self.parts = outcomes[0]
        return found[0]

    def _without_relation(self, sentence: Sentence, body: Sequence[Token]) -> UnclearPhrase:
        """Return the error for a statement that names no place: an object that nothing is to be done with."""
        if not sentence.verb:
            unknown = [t.text for t in body if not t.tags]
            quoted = " ".join(unknown) or text_of(body)
            if len(unknown) == len(body):
                return UnparsedClause(f'the offline rules do not understand "{quoted[:80]}"', quoted)
            try:
                self.phrases.select(body)
            except UnparsedClause:
                pass
            except UnclearPhrase as error:
                return error
            return UnparsedClause(
                f'the offline rules do not understand "{quoted[:80]}": say what to do with it', quoted
            )
        self.with_modifiers(body)
        return UnparsedClause(f'"{sentence.verb_text} {text_of(body)}" does not say where: name a place or an object')

    def _attached(
        self, head: Sequence[Token], before: Sequence[Modifier], relation: str, target: Sequence[Token],
        after: Sequence[Modifier],
    ) -> Goals:  # fmt: skip
        if relation == "select":
            subject = self._subject(head, before)
            return "select", [PlannedGoal("in_zone", (o.name, "near_zone")) for o in subject.objects]
        earlier = [o for o in self.phrases.mentions.last or self.phrases.mentions.named[-1:]]
        subject = self._subject(head, before)
        named = self.phrases.mentions.named
        self.mention(subject)
        if relation == "place":
            return placed(self.phrases, subject.objects, target[0].text)
        other = [o for o in (*named, *earlier) if o not in subject.objects]
        if other:  # "put the can on it": not on itself
            before_last = tuple(o for o in earlier if o not in subject.objects) or other[-1:]
            self.phrases.mentions.last = tuple(before_last)
        self.phrases.mentions.named = (*subject.objects, *named)  # "it" in the target is what was named before
        goals = self._relation(relation, subject, target, after)
        self.phrases.mentions.last = subject.objects
        return goals

    def _subject(self, head: Sequence[Token], modifiers: Sequence[Modifier]) -> Selection:
        if not content_of(head) and not modifiers:
            if not self.phrases.mentions.last:
                raise UnparsedClause("no object is named; " + self.phrases.objects_present())
            return Selection(self.phrases.mentions.last, False, self.phrases.mentions.noun)
        return self.phrases.select(without_relative(head), modifiers)

    def _relation(self, relation: str, subject: Selection, target: Sequence[Token], after: Sequence[Modifier]) -> Goals:
        """Return the goals of bringing objects into a relation to what a phrase refers to."""
        objects, text = subject.objects, text_of(target)
        has_parts = any(o.parts for o in self.phrases.objects)
        names_part = articulation_phrases.names_part(text) or (text == "it" and self.parts and relation == "inside")
        if relation in CONTAINER_RELATIONS and has_parts and names_part:
            return self._drawer(objects, text)
        if relation == "out":
            return "put_on_table", [PlannedGoal("on_table", (o.name,)) for o in objects]
        content = content_of(target)
        if relation in CONTAINER_RELATIONS and is_table(target):
            return "put_on_table", [PlannedGoal("on_table", (o.name,)) for o in objects]
        if content and all(t.has("addressee") for t in content):
            return "select", [PlannedGoal("in_zone", (o.name, "near_zone")) for o in objects]
        if text in ("each other", "one another"):
            return self.mutual(relation, objects)
        if relation == "inside" and not content:
            return self._into_last(objects)
        if relation == "on" and not content:
            return self._on_top(objects)
        target = self._named_again(target, subject)
        if (new := new_container(self.phrases, relation, target)) is not None:
            self.phrases.mentions.words |= {t.text for t in target}
            return "put_in", [PlannedGoal("inside", (o.name, new), new_container=True) for o in objects]
        if relation == "between":
            return between(self.phrases, objects, target, after)
        if relation == "to":
            refuse_bare_target(self.phrases, objects, target, after)
        if relation in ("to", "nearest", "farthest") or relation == "":
            raise UnparsedClause(f'"{text}" is no place the rules know: say a side, a zone, or an object', text)
        if relation == "where":
            return self._in_place_of(objects, target, after)
        if base := self._built(relation, target):
            return self.beside(relation, objects, base, subject)
        bases = targets_of(self.phrases, relation, target, after, objects)
        goals = [self.beside(relation, objects, base, subject) for base in bases]
        return goals[0][0], [goal for _, found in goals for goal in found]

    def _built(self, relation: str, target: Sequence[Token]) -> SceneObject | None:
        """Return the end of the tower built last that "the tower" stands for; None for other phrases."""
        content = content_of(target)
        if not self.towers or len(content) != 1 or content[0].text not in ("tower", "stack", "pile", "heap"):
            return None
        low, top = list(self.towers.items())[-1]
        self.phrases.mentions.words |= {content[0].text}
        return next(o for o in self.phrases.objects if o.name == (top if relation == "on" else low))

    def beside(self, relation: str, objects: Sequence[SceneObject], base: SceneObject, subject: Selection) -> Goals:
        """Return the goals of a relation between objects and one other object."""
        moved = [o for o in objects if o != base or len(objects) == 1]
        if relation == "inside" or (relation == "on" and base.container):
            return "put_in", [PlannedGoal("inside", (o.name, base.name)) for o in moved]
        if relation == "on":
            if len(moved) > 1 and sum(o.diagonal**2 for o in moved) > base.size[0] * base.size[1]:
                raise UnclearPhrase(
                    f"{self.phrases.called(base)} has no room for {self.phrases.list_of(moved)} side by side: "
                    "stack them, or name fewer",
                )
            self.towers[base.name] = moved[-1].name
            return "put_on", [PlannedGoal("on", (o.name, base.name)) for o in moved]
        kind = {"near": "move_near", "away": "move_away"}.get(relation, "place_beside")
        return kind, [PlannedGoal(relation, (o.name, base.name)) for o in moved]

    def mutual(self, relation: str, objects: Sequence[SceneObject]) -> Goals:
        """Return the goals of "next to each other"."""
        if len(objects) < 2:
            raise UnclearPhrase(f"only one object ({self.phrases.list_of(objects)}): it needs two")
        kind = "away" if relation == "away" else "near"
        pairs = list(combinations(objects, 2)) if kind == "away" else list(pairwise(objects))
        return ("move_away" if kind == "away" else "gather"), [PlannedGoal(kind, (b.name, a.name)) for a, b in pairs]

    def _on_top(self, objects: Sequence[SceneObject]) -> Goals:
        """Return the goal of "put a on top": on what was put last."""
        if not self.towers:
            raise UnparsedClause("on top of what? name an object")
        name = next(reversed(self.towers.values()))
        base = next(o for o in self.phrases.objects if o.name == name)
        return self.beside("on", objects, base, Selection(tuple(objects), len(objects) > 1))

    def _into_last(self, objects: Sequence[SceneObject]) -> Goals:
        """Return the goals of "put a in": into the container that was named last, or the only one."""
        able = [o for o in self.phrases.objects if o.container and o not in objects]
        named = [o for o in self.phrases.mentions.named if o in able]
        if not named and len(able) != 1:
            offers = [instruction_of([PlannedGoal("inside", (o.name, b.name)) for o in objects], self.phrases.names)
                      for b in able]  # fmt: skip
            raise UnclearPhrase("into what? name a container", alternatives=offers)
        base = (named or able)[-1]
        return "put_in", [PlannedGoal("inside", (o.name, base.name)) for o in objects]

    def _drawer(self, objects: Sequence[SceneObject], target: str) -> Goals:
        """Return the goals of putting objects into a drawer."""
        if not re.fullmatch(r"it|that", target):
            self.parts = articulation_phrases.resolve_parts(target, self.phrases, self.parts)
        self.phrases.mentions.words |= set(target.split()) | {target}
        if len(self.parts) > 1:
            raise UnclearPhrase(f'"{target}" means several drawers: say which')
        owner, part = next(iter(self.parts))
        return "put_in_drawer", [PlannedGoal("inside_part", (o.name, owner.name, part.name)) for o in objects]

    def _in_place_of(self, objects: Sequence[SceneObject], target: Sequence[Token], after: Sequence[Modifier]) -> Goals:
        """Return the goal that one object stands where another one stood at the start."""
        other = self.one(target, after)
        if len(objects) != 1 or other == objects[0]:
            raise UnclearPhrase(f'"{text_of(target)}" is one place: say what goes there')
        return "several", [PlannedGoal("where", (objects[0].name, other.name))]

    def _named_again(self, target: Sequence[Token], subject: Selection) -> list[Token]:
        """Return a target phrase in which "it" stands for what was named before the subject."""
        return [t for t in target if t.text != "both"] if target and target[0].text == "both" else list(target)


def _most_telling(errors: Sequence[UnclearPhrase]) -> UnclearPhrase | None:
    """Return the error that names what is unclear best."""
    named = [e for e in errors if e.alternatives or e.suggested]
    other = [e for e in errors if not isinstance(e, UnparsedClause)]
    return next(iter([*named, *other, *errors]), None)
