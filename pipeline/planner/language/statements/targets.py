"""Targets of relations: the object, or the new container, that others are put in, on or beside."""

from collections.abc import Sequence
from contextlib import suppress

from pipeline.planner.language.errors import UnclearPhrase
from pipeline.planner.language.lexicon import tables, words_of
from pipeline.planner.language.phrases.noun_phrases import Modifier, NounPhrases
from pipeline.planner.language.statements.sentence_parts import content_of, without_relative
from pipeline.planner.language.tokens import Token, text_of
from pipeline.planner.language.wording import instruction_of
from pipeline.planner.scene_objects import SceneObject
from pipeline.simulation.goals.spec import PlannedGoal

CONTAINER_RELATIONS = ("inside", "to", "on")
SIDE_RELATIONS = ("left_of", "right_of", "in_front_of", "behind", "away")
MAX_BASES = 4
"""Most objects beside which one object is put at once: "to the right of the mugs"."""


def target_of(
    phrases: NounPhrases,
    relation: str,
    tokens: Sequence[Token],
    after: Sequence[Modifier],
    moved: Sequence[SceneObject],
) -> SceneObject:
    """Return the object that others are put in, on or beside."""
    try:
        chosen = phrases.select(without_relative(tokens), after)
    except UnclearPhrase as unclear:
        if relation == "inside" and not any(o.container for o in phrases.objects) and unclear.unknown:
            raise UnclearPhrase(
                f"{unclear}. There is no bowl or other container to put objects in; a tray or a bin can be set out"
            ) from None
        if relation == "inside" and (one := _only_container(phrases, tokens, moved)):
            return one
        if (rest := _all_but_moved(phrases, tokens, after, moved)) is not None:
            return rest
        raise
    objects = chosen.objects
    if len(objects) > 1 and relation == "inside" and sum(o.container for o in objects) == 1:
        objects = tuple(o for o in objects if o.container)
    if len(objects) != 1:
        names = [phrases.called(o) for o in objects]
        text = text_of(tokens)
        raise UnclearPhrase(f'"{text}" may mean {" or ".join(names)}: say which', text, alternatives=names)
    phrases.mentions.named = (*phrases.mentions.named, objects[0])
    return objects[0]


def targets_of(
    phrases: NounPhrases,
    relation: str,
    tokens: Sequence[Token],
    after: Sequence[Modifier],
    moved: Sequence[SceneObject],
) -> tuple[SceneObject, ...]:
    """Return the objects beside which others are put: several for "to the right of the mugs"."""
    if relation in SIDE_RELATIONS and len(moved) == 1:
        with suppress(UnclearPhrase):
            chosen = phrases.select(without_relative(tokens), after)
            if chosen.several and 1 < len(chosen.objects) <= MAX_BASES and moved[0] not in chosen.objects:
                return chosen.objects
    return (target_of(phrases, relation, tokens, after, moved),)


def _only_container(phrases: NounPhrases, tokens: Sequence[Token], moved: Sequence[SceneObject]) -> SceneObject | None:
    """Return the one container among several objects that a phrase may mean."""
    try:
        every = phrases.select([Token("all", {"determiners": "every"}), *content_of(tokens)]).objects
    except UnclearPhrase:
        return None
    able = [o for o in every if o.container and o not in moved]
    return able[0] if len(able) == 1 and len(every) > 1 else None


def _all_but_moved(
    phrases: NounPhrases, tokens: Sequence[Token], after: Sequence[Modifier], moved: Sequence[SceneObject]
) -> SceneObject | None:
    """Return the one other object that a phrase fits: "put the red cube on the cube" of two cubes."""
    try:
        every = phrases.select([Token("all", {"determiners": "every"}), *content_of(tokens)], after).objects
    except UnclearPhrase:
        return None
    rest = [o for o in every if o not in moved]
    return rest[0] if len(rest) == 1 < len(every) else None


def new_container(phrases: NounPhrases, relation: str, target: Sequence[Token]) -> str | None:
    """Return the name of the container that a phrase sets out, if no object of the scene is one."""
    if relation not in CONTAINER_RELATIONS:
        return None
    words = [t for t in target if not t.has("determiners")]
    noun = " ".join(t.text for t in words)
    for new, text in tables()["new_containers"].items():
        if noun in words_of(text) or (
            words and words[0].text in ("new", "separate") and words[-1].text in words_of(text)
        ):
            try:
                phrases.select(target)
            except UnclearPhrase as error:
                if "may mean" in str(error):
                    return None
                return new
            return None
    return None


def refuse_bare_target(
    phrases: NounPhrases, objects: Sequence[SceneObject], target: Sequence[Token], after: Sequence[Modifier]
) -> None:
    """Raise UnclearPhrase for "bring the mug to the plate": next to it, or on it?"""
    base = target_of(phrases, "to", target, after, objects)
    relations = ("inside" if base.container else "on", "near")
    offers = [
        instruction_of([PlannedGoal(relation, (o.name, base.name)) for o in objects if o != base], phrases.names)
        for relation in relations
    ]
    raise UnclearPhrase(
        f'"to {text_of(target)}" may mean {relations[0].replace("inside", "into")} it or next to it: say which',
        alternatives=offers,
    )
