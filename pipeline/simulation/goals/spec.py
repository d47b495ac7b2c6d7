"""Kinds of goals: all that the kit, the planner and the router know about a kind, in one `GoalSpec` each.

Every module of this package that defines `SPECS` adds its kinds; nothing else lists them. A new kind is one file here.
"""

import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, Literal

from pipeline.simulation import goals as package
from pipeline.simulation.goals.goal import Goal

NameRange = tuple[int, int | None]
"""Indices of some of a goal's names: from the first number up to, not including, the second."""
FIRST: NameRange = (0, 1)
ALL: NameRange = (0, None)
NONE: NameRange = (0, 0)


@dataclass(frozen=True)
class PlannedGoal:
    """A goal as a task states it: its kind, and the values that fill its sentence."""

    kind: str
    """A key of `goal_specs()`."""
    names: tuple[str, ...]
    """Objects, then the zone, container or part where the kind has one."""
    along: str = ""
    """Direction of a row: "right" or "away"."""
    new_container: bool = False
    """The container is not on the photograph: the program adds it."""
    stage: int = 0
    xy: tuple[float, float] | None = None
    """World x and y of the centre in metres, for the kind "at"."""

    @property
    def spec(self) -> "GoalSpec":
        """What is known about its kind."""
        return goal_specs()[self.kind]

    @property
    def measured_by(self) -> type[Goal]:
        """The class that measures it."""
        return self.spec.goal

    @property
    def objects(self) -> tuple[str, ...]:
        """The names that are objects of the photograph."""
        return self.names[slice(*(FIRST if self.new_container else self.spec.objects))]

    @property
    def carried(self) -> tuple[str, ...]:
        """The names that the robot has to carry."""
        return self.names[slice(*self.spec.carried)]


@dataclass(frozen=True)
class Tolerance:
    """How exactly a goal has to be met."""

    default: float
    """Of the kit's function, in metres (radians where `radians`)."""
    widest: float | None = None
    """The largest that still means the goal; None: repairs leave it alone."""
    radians: bool = False


@dataclass(frozen=True)
class SentenceForm:
    """One way to write a planned goal in words, which can be read back."""

    template: str
    """`{}` stands for one name, `{list}` for all names ("a, b and c"), `{xy}` for a place "(0.100, 0.200)"."""
    along: str = ""
    """The row direction that this form states."""
    new_container: bool = False
    """This form states that the container is added."""

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        text = re.escape(self.template).replace(r"\{\}", r"(\w+)").replace(r"\{list\}", r"(\w+(?:, \w+)* and \w+)")
        return re.compile(text.replace(r"\{xy\}", r"\((-?[0-9.]+), (-?[0-9.]+)\)") + r"\.?$")

    def write(self, goal: PlannedGoal) -> str:
        """Return the sentence of a goal."""
        xy = "" if goal.xy is None else f"({goal.xy[0]:.3f}, {goal.xy[1]:.3f})"
        return self.template.format(*goal.names, list=listed(goal.names), xy=xy)

    def read(self, kind: str, sentence: str) -> PlannedGoal | None:
        """Return the goal that a sentence states, or None where it has another form. Inverse of `write`."""
        found = self._pattern.match(sentence)
        if found is None:
            return None
        values, xy = found.groups(), None
        if "{xy}" in self.template:
            *values, x, y = values
            xy = (round(float(x), 3), round(float(y), 3))
        names = re.split(r", | and ", values[0]) if "{list}" in self.template else values
        return PlannedGoal(kind, tuple(names), self.along, self.new_container, xy=xy)


def default_call(goal: PlannedGoal, objects: Mapping[str, Any]) -> str:
    """Return `kit.KIND("a", "b")` as source."""
    return f"kit.{goal.kind}({quoted(goal.names)})"


def default_measure(goal: PlannedGoal) -> str:
    """Return the call that the kind writes into simulations, with the kit's usual distances."""
    return goal.spec.call(goal, {})


@dataclass(frozen=True, eq=False)
class GoalSpec:
    """All that is known about one kind of goal."""

    kind: str
    """Name of the kit's function; for kinds that are written with another function, a name for the planner."""
    goal: type[Goal]
    """The class that measures it."""
    function: Callable[..., Goal] | None = None
    """The kit's function; None for kinds that are written with another one."""
    manual: str = ""
    """Its lines in the kit's manual: a call that runs, then what it means."""
    order: int = 1000
    """Position in the manual; kinds with the same number are listed by name."""
    forms: tuple[SentenceForm, ...] = ()
    """Its sentences; none for kinds that only programs use."""
    objects: NameRange = ALL
    """Which names are objects of the photograph."""
    carried: NameRange = FIRST
    """Which names the robot has to carry."""
    holds_others: bool = False
    """The last name is what the others rest on or in; a container there stays where it is photographed."""
    zone: Literal["", "fill", "clear"] = ""
    """The second name is a zone that the program marks: free for the objects to come, or where they start."""
    tolerance: Tolerance | None = None
    """Of the argument `tolerance`; None where the function has none."""
    call: Callable[[PlannedGoal, Mapping[str, Any]], str] = default_call
    """Returns the kit's call as source; the second argument holds the planner's scene objects by name."""
    measure: Callable[[PlannedGoal], str] = default_measure
    """Returns the kit's call as source for a check, where `sim` is the simulation and `run` its rollout."""
    setup: Callable[[Sequence[PlannedGoal], Sequence[PlannedGoal], Mapping[str, Any]], list[str]] | None = None
    """Returns lines of build() that come before the goals, from the goals of this kind, all goals, and the planner's
    scene objects by name."""
    checks: Callable[[PlannedGoal], str] = lambda goal: ""
    """Returns functions of checks.py as source, which measure the goal from poses and not by its own predicate."""
    compatible: tuple[str, ...] = ()
    """Other kinds of goals by which a program may mean this one."""
    commands: tuple[SentenceForm, ...] = ()
    """Its instructions; the first of its values is the one that is written. `{0}`, `{1}` number the names, and a part's
    owner, or an owner's only part, may be left out."""

    @property
    def lists_names(self) -> bool:
        """Whether its names are one list of any length."""
        return any("{list}" in form.template for form in self.forms)

    @property
    def instructions(self) -> tuple[SentenceForm, ...]:
        """Its commands; its sentences where it has none."""
        return self.commands or self.forms

    @property
    def needs_setup(self) -> bool:
        """Whether a program needs more than the goal's own call."""
        return self.setup is not None or self.zone == "clear"


@cache
def goal_specs() -> Mapping[str, GoalSpec]:
    """Return every kind of goal by name, in the manual's order."""
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    found = [spec for module in modules for spec in getattr(module, "SPECS", ())]
    specs = {spec.kind: spec for spec in sorted(found, key=lambda spec: (spec.order, spec.kind))}
    if len(specs) < len(found):
        raise ValueError(f"two kinds of goals have the same name: {sorted(spec.kind for spec in found)}")
    return MappingProxyType(specs)


def goal_functions() -> dict[str, Callable[..., Goal]]:
    """Return the kit's functions by name, in the manual's order."""
    return {spec.kind: spec.function for spec in goal_specs().values() if spec.function}


def goal_classes() -> dict[str, type[Goal]]:
    """Return the classes of goals by name: the only ones that a recipe may hold."""
    return {spec.goal.__name__: spec.goal for spec in goal_specs().values()}


def goal_manual() -> str:
    """Return the manual's lines about goals, indented by four."""
    lines = [line for spec in goal_specs().values() for line in spec.manual.splitlines()]
    return "\n".join(f"    {line}" for line in lines)


def listed(names: Sequence[str]) -> str:
    """Return names as a person lists them: "a, b and c"."""
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def quoted(names: Sequence[str]) -> str:
    """Return names as arguments of a call: `"a", "b"`."""
    return ", ".join(f'"{name}"' for name in names)
