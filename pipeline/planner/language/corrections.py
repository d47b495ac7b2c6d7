"""Corrections by a second sentence: "no, the other bowl", "the other way round", "and the can as well"."""

from collections.abc import Sequence
from dataclasses import replace

from pipeline.planner.language.clauses import clauses_of, is_later, leaves_alone
from pipeline.planner.language.coverage import has_content
from pipeline.planner.language.errors import RefusedClause, UnclearPhrase, UnparsedClause
from pipeline.planner.language.instruction_reader import InstructionReader
from pipeline.planner.language.phrases.noun_phrases import Mentions
from pipeline.planner.language.phrases.phrase_words import name_words
from pipeline.planner.language.statements.sentence_parts import modifier_of, split_segments, without_relative
from pipeline.planner.language.tokens import Token, text_of
from pipeline.planner.language.wording import instruction_of
from pipeline.planner.plans import TaskPlan
from pipeline.planner.scene_objects import SceneObject
from pipeline.simulation.goals.spec import PlannedGoal

MAX_PARTS = 60
"""Most parts of a sentence that are read as corrections."""
INVERSE = {"left_of": "right_of", "right_of": "left_of", "in_front_of": "behind", "behind": "in_front_of"}
OTHER_SIDE = {"left_zone": "right_zone", "right_zone": "left_zone", "near_zone": "far_zone", "far_zone": "near_zone"}


def corrected_plan(reader: InstructionReader, text: str, before: Sequence[PlannedGoal]) -> TaskPlan | None:
    """Return the plan of a sentence that corrects or continues a task; None for a sentence that does neither.

    Raises UnclearPhrase where it does, but cannot be understood.
    """
    reader.reset()
    tokens = reader.tokens(text)
    rest, kind = _without_markers(tokens)
    goals = _changed(reader, rest, kind, before)
    if goals is None:
        return None
    goals = tuple(dict.fromkeys(goals))
    plan = TaskPlan("several", goals, instruction_of(goals, reader.names))
    if not any(t.value("corrections") == "other_way" for t in tokens):
        reader.refuse_unread(rest, plan)
    return plan


def is_correction(reader: InstructionReader, text: str) -> bool:
    """Return whether a sentence begins as one that corrects an earlier one."""
    tokens = [t for t in reader.tokens(text) if not t.has("comma")]
    return bool(tokens) and tokens[0].text in ("no", "nope", "wait", "sorry", "oops", "actually", "i meant", "rather")


def _without_markers(tokens: Sequence[Token]) -> tuple[list[Token], str]:
    """Return a sentence without the words that make it a correction, and its kind: "replace", "add" or empty."""
    rest, kind = list(tokens), ""

    def strip(at: int) -> bool:
        nonlocal kind
        token = rest[at]
        found = token.value("corrections")
        verb = token.has("verbs") and len(rest) > 1 and at == 0
        if token.has("comma", "stop") or (token.has("fillers") and not found and not token.has("scene")):
            rest.pop(at)
            return True
        if (
            found in ("replace", "add")
            and not (verb and token.text in ("take", "use", "add") and kind == "")
            and not token.has("scene")
        ):
            kind = kind or found
            rest.pop(at)
            return True
        return False

    while rest and strip(0):
        pass
    while rest and strip(-1):
        pass
    return rest, kind


def _changed(
    reader: InstructionReader, rest: list[Token], kind: str, before: Sequence[PlannedGoal]
) -> list[PlannedGoal] | None:
    known = {o.name: o for o in reader.objects}
    carried = [known[n] for goal in before for n in goal.carried if n in known]
    phrases = reader.statements.phrases
    named = tuple(known[n] for goal in before for n in goal.objects if n in known)
    phrases.mentions = Mentions(tuple(dict.fromkeys(carried)), tuple(dict.fromkeys(named)))
    if not rest:
        if kind:
            raise RefusedClause("what is to be different? name the object or the place")
        return None
    if rest[0].value("corrections") == "other_way" or any(t.value("corrections") == "other_way" for t in rest[:2]):
        return _other_way(before)
    if (kept := _left_alone(reader, rest)) is not None:
        left = [goal for goal in before if not kept & set(goal.carried)]
        if not left or len(left) == len(before):
            raise RefusedClause(f'"{text_of(rest)}": say what to do instead')
        return left
    if rest[0].has("exceptions", "negations"):
        left = _without(reader, rest[1:], before)
        if left is not None:
            return left
    if kind in ("", "add") and rest[0].has("sequence"):
        later = reader.plan(rest[1:])
        stage = 1 + max(goal.stage for goal in before)
        return [*before, *(replace(goal, stage=goal.stage + stage) for goal in later.goals)]
    if any(t.has("verbs", "modals", "relations", "places", "arrangements", "gerunds") for t in rest):
        goals = _statement(reader, rest, kind, before)
        if goals is not None:
            return goals
        if not kind:
            return None
    if kind == "add":
        return [*before, *_same_for(reader, rest, before)]
    return _replaced(reader, rest, before, kind)


def _statement(
    reader: InstructionReader, rest: list[Token], kind: str, before: Sequence[PlannedGoal]
) -> list[PlannedGoal] | None:
    """Return the goals of a correction that is a statement, also one without its object: "behind it"."""
    has_verb = rest[0].has("verbs", "gerunds", "wishes")
    if not kind and has_verb and not any(t.has("pronouns") for t in rest):
        return None  # an instruction of its own
    saved = reader.saved_state()
    if kind == "replace" and not has_verb and rest[0].has("determiners") and any(t.has("anything") for t in rest[:3]):
        exchanged = _exchanged_only(reader, rest, before)
        if exchanged is not None:  # "the one at the back" names an object, it does not say where to put it
            return exchanged
        reader.restore(saved)
    try:
        plan = reader.plan(rest)
    except UnparsedClause:
        reader.restore(saved)
        return None
    if kind == "add":
        shift = 1 + max(goal.stage for goal in before) if is_later(rest) else 0
        return [*before, *(replace(goal, stage=goal.stage + shift) for goal in plan.goals)]
    others = [goal for goal in before if not set(goal.carried) & {n for one in plan.goals for n in one.carried}]
    return [*others, *plan.goals] if len(before) > 1 and others and not has_verb else list(plan.goals)


def _left_alone(reader: InstructionReader, rest: Sequence[Token]) -> frozenset[str] | None:
    """Return the names of the objects of "the cylinder can stay where it was"; None for other sentences."""
    clauses = clauses_of(rest)
    if not all(leaves_alone(clause.tokens) for clause in clauses):
        return None
    for clause in clauses:
        reader.statements.read(clause.tokens)
    return reader.statements.phrases.kept


def correction_offers(reader: InstructionReader, text: str, before: Sequence[PlannedGoal]) -> tuple[str, ...]:
    """Return tasks that parts of a sentence may correct an earlier task to, by their longest parts."""
    reader.reset()
    tokens = reader.tokens(text)
    edges = [i for i, t in enumerate(tokens) if t.has("stop", "comma", "conjunctions", "corrections")]
    starts, ends = [0, *(i + 1 for i in edges)], [*edges, len(tokens)]
    spans = sorted(((i, j) for i in starts for j in ends if j > i), key=lambda span: span[0] - span[1])
    found: list[str] = []
    for i, j in spans[:MAX_PARTS]:
        reader.reset()
        rest, kind = _without_markers(tokens[i:j])
        if not rest or not any(has_content(t) or t.has("relations", "places", "arrangements", "orders") for t in rest):
            continue
        try:
            goals = _changed(reader, rest, kind or "replace", before)
            if goals:
                plan = TaskPlan("several", tuple(dict.fromkeys(goals)))
                reader.refuse_unread(rest, plan)
                found.append(instruction_of(plan.goals, reader.names))
        except UnclearPhrase as error:
            found += [one for one in error.alternatives if one.endswith(".")]
    return tuple(dict.fromkeys(found))


def _exchanged_only(
    reader: InstructionReader, tokens: list[Token], before: Sequence[PlannedGoal]
) -> list[PlannedGoal] | None:
    """Return the goals with one object exchanged for the one that a phrase with its relations names, or None."""
    head, segments = split_segments(tokens)
    known = {o.name: o for o in reader.objects}
    phrases = reader.statements.phrases
    for name in before[-1].objects[:2]:
        phrases.mentions.noun = tuple(reader.tokens(reader.names[name])[-1:])
        try:
            found = phrases.select(without_relative(head), [modifier_of(*s) for s in segments]).objects
        except UnclearPhrase:
            continue
        if len(found) == 1 and found[0].name not in before[-1].names and name_words(found[0]) & name_words(known[name]):
            return [_exchanged(goal, name, found[0].name) for goal in before]
    return None


def _other_way(before: Sequence[PlannedGoal]) -> list[PlannedGoal]:
    """Return goals with the roles of their objects exchanged."""
    found = []
    for goal in before:
        if goal.kind in ("stacked", "in_row"):
            found.append(replace(goal, names=goal.names[::-1]))
        elif goal.kind == "in_zone" and goal.names[1] in OTHER_SIDE:
            found.append(replace(goal, names=(goal.names[0], OTHER_SIDE[goal.names[1]])))
        elif len(goal.objects) == 2 and goal.kind != "where":
            found.append(replace(goal, names=(goal.names[1], goal.names[0], *goal.names[2:])))
        else:
            raise RefusedClause("it is not clear what the other way round is here: say the task in full")
    return found


def _without(reader: InstructionReader, tokens: list[Token], before: Sequence[PlannedGoal]) -> list[PlannedGoal] | None:
    """Return the goals without those about some objects: "but not the red one"; "not a, b" replaces a by b."""
    comma = next((i for i, t in enumerate(tokens) if t.has("comma", "conjunctions", "exceptions") and i), None)
    known = {o.name: o for o in reader.objects}
    wrong = _among(reader, tokens[:comma], [known[n] for goal in before for n in goal.objects if n in known])
    if comma is not None:
        (new,) = _one(reader, tokens[comma + 1 :])
        return [_exchanged(goal, wrong.name, new.name) for goal in before]
    left = [goal for goal in before if wrong.name not in goal.carried]
    if not left or len(left) == len(before):
        raise RefusedClause(f"without the {reader.names[wrong.name]} nothing is left to do: say what to do instead")
    return left


def _among(reader: InstructionReader, tokens: Sequence[Token], objects: Sequence[SceneObject]) -> SceneObject:
    """Return the one of some objects that a phrase fits."""
    every = [Token("all", {"determiners": "every"}), *[t for t in tokens if not t.has("determiners")]]
    fits = [o for o in reader.statements.phrases.select(every).objects if o in objects]
    if len(fits) != 1:
        raise UnclearPhrase(f'"{text_of(tokens)}" is not one object of the task before: say which', text_of(tokens))
    return fits[0]


def _one(reader: InstructionReader, tokens: Sequence[Token]) -> tuple[SceneObject]:
    found = reader.statements.phrases.select(tokens).objects
    if len(found) != 1:
        names = [reader.statements.phrases.called(o) for o in found]
        raise UnclearPhrase(f'"{text_of(tokens)}" may mean {" or ".join(names)}: say which', text_of(tokens), (), names)
    return (found[0],)


def _exchanged(goal: PlannedGoal, old: str, new: str) -> PlannedGoal:
    return replace(goal, names=tuple(new if name == old else name for name in goal.names))


def _same_for(reader: InstructionReader, tokens: list[Token], before: Sequence[PlannedGoal]) -> list[PlannedGoal]:
    """Return the last goal of a task for other objects: "and the green cylinder as well"."""
    phrases = reader.statements.phrases
    last = before[-1]
    sample = next(o for o in reader.objects if o.name == last.names[0])
    phrases.mentions.noun = tuple(reader.tokens(reader.names[sample.name])[-1:])
    new = phrases.select(tokens).objects
    if last.kind in ("stacked", "in_row"):
        return [replace(last, names=(*last.names, *(o.name for o in new)))]
    return [replace(last, names=(o.name, *last.names[1:])) for o in new]


def _replaced(
    reader: InstructionReader, tokens: list[Token], before: Sequence[PlannedGoal], kind: str
) -> list[PlannedGoal] | None:
    """Return the goals with one object exchanged for the one that a phrase names: "no, the other bowl"."""
    known = {o.name: o for o in reader.objects}
    instead = next((i for i, t in enumerate(tokens) if t.has("exceptions", "negations") and i), None)
    if instead is not None:
        return _without(reader, [*tokens[instead + 1 :], Token(",", {"comma": ","}), *tokens[:instead]], before)
    found: dict[str, list[PlannedGoal]] = {}
    texts: dict[str, SceneObject] = {}
    error: UnclearPhrase | None = None
    last = before[-1]
    for role, name in enumerate(last.objects[:2]):
        old = known[name]
        phrases = reader.statements.phrases
        phrases.mentions.noun = tuple(reader.tokens(reader.names[name])[-1:])
        phrases.mentions.named = (old,)
        try:
            (new,) = _one(reader, tokens)
        except UnclearPhrase as unclear:
            error = error or unclear
            continue
        is_alike = bool(name_words(old) & name_words(new)) or (old.container and new.container)
        if new != old and new.name not in last.names and (is_alike or not last.objects[1:]):
            key = f"{role}"
            found[key] = [_exchanged(goal, name, new.name) for goal in before]
            texts[key] = new
    if len(found) == 1:
        return next(iter(found.values()))
    if len(found) > 1:
        offers = [instruction_of(goals, reader.names) for goals in found.values()]
        raise UnclearPhrase(
            f'"{text_of(tokens)}" may change what is moved or where to: say the task in full', "", (), offers
        )
    if not kind and error is not None:
        return None
    if error is not None:
        raise error
    (new,) = _one(reader, tokens)
    if len(before) == 1 and new.name not in last.names:
        role = 1 if last.kind in ("inside",) and new.container and len(last.objects) > 1 else 0
        return [_exchanged(goal, last.objects[role], new.name) for goal in before]
    raise UnclearPhrase(
        f'it is not clear what "{text_of(tokens)}" is to replace: say the task in full', text_of(tokens)
    )
