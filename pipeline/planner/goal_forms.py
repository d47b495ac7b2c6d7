"""Forms of goals to fill in: one of each kind's instructions as words and holes, as a task builder shows them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pipeline.planner.scene_objects import NEW_CONTAINERS, SceneObject
from pipeline.simulation.goals.spec import GoalSpec, PlannedGoal, SentenceForm, goal_specs

HoleType = Literal["object", "objects", "list", "zone", "container", "part", "place"]
"""What fills a hole: one object, one or more (a goal each), two or more in order, a zone, an added container, a part of
the object before it, or a place on the table."""
HOLE = re.compile(r"\{(\w*)\}")
BEFORE_HOLE = {"container": "a new ", "zone": "the zone ", "place": "the place "}
"""Words before a hole, by its type."""


@dataclass(frozen=True)
class Hole:
    """A hole of a form."""

    type: HoleType
    index: int
    """Of the goal's name that fills it; of the first one of a list; -1 for a place."""


@dataclass(frozen=True)
class GoalForm:
    """An instruction with holes. Filled in, it is a planned goal."""

    kind: str
    words: str
    """The instruction, with "…" for each hole: "move … into the zone …"."""
    holes: tuple[Hole, ...]
    """In the order of the words."""
    along: str = ""
    new_container: bool = False

    @property
    def key(self) -> str:
        """A name that no other form has."""
        return "-".join(filter(None, (self.kind, self.along, "new" if self.new_container else "")))

    def is_filled_by(self, goal: PlannedGoal, objects: Mapping[str, SceneObject]) -> bool:
        """Return whether a goal fills every hole with what may stand there; `objects` are the scene's by name."""
        if (goal.kind, goal.along, goal.new_container) != (self.kind, self.along, self.new_container):
            return False
        if self.holes[0].type == "list":
            return len(set(goal.names)) == len(goal.names) > 1 and objects.keys() >= set(goal.names)
        named = [hole for hole in self.holes if hole.type != "place"]
        if len(goal.names) != len(named) or (goal.xy is not None) != (len(named) < len(self.holes)):
            return False
        return all(_may_fill(hole, goal, objects) for hole in named)


def _may_fill(hole: Hole, goal: PlannedGoal, objects: Mapping[str, SceneObject]) -> bool:
    name = goal.names[hole.index]
    if hole.type == "zone":
        return re.fullmatch(r"(\w+_)?zone", name) is not None
    if hole.type == "container":
        return name in NEW_CONTAINERS
    if hole.type == "part":
        owner = objects.get(goal.names[hole.index - 1])
        return owner is not None and name in {part.name for part in owner.parts}
    return name in objects


def is_fillable(goal: PlannedGoal, objects: Mapping[str, SceneObject]) -> bool:
    """Return whether some form is filled by the goal."""
    return any(form.is_filled_by(goal, objects) for form in goal_forms())


def goal_forms() -> tuple[GoalForm, ...]:
    """Return the form of each kind of goal, and of each of its directions and containers, in the manual's order."""
    found: dict[str, GoalForm] = {}
    for spec in goal_specs().values():
        for sentence in spec.instructions:
            holes = _holes(spec, sentence)
            types = iter(hole.type for hole in holes)
            words = HOLE.sub(lambda _, types=types: f"{BEFORE_HOLE.get(next(types), '')}…", sentence.template)
            form = GoalForm(spec.kind, words, holes, sentence.along, sentence.new_container)
            found.setdefault(form.key, form)
    return tuple(found.values())


def _holes(spec: GoalSpec, sentence: SentenceForm) -> tuple[Hole, ...]:
    names = HOLE.findall(sentence.template)
    objects, carried = range(99)[slice(*spec.objects)], range(99)[slice(*spec.carried)]

    def hole(position: int, name: str) -> Hole:
        if name in ("list", "xy"):
            return Hole("list", 0) if name == "list" else Hole("place", -1)
        index = int(name or position)
        if index and (sentence.new_container or spec.zone):
            return Hole("container" if sentence.new_container else "zone", index)
        if index not in objects:
            return Hole("part", index)
        return Hole("object" if index or index not in carried or "xy" in names else "objects", index)

    return tuple(hole(position, name) for position, name in enumerate(names))
