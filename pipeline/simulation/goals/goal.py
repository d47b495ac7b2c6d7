"""Base classes of goals: frozen predicates on a state, each measured by how many metres it misses.

A goal is met exactly when its `miss` is zero. Distances between objects are between their centres on the ground.
Each goal also says which move of a robot brings it nearer; a `Planner` looks for the place.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from pipeline.simulation.objects import KitError, Object
from pipeline.simulation.state import State

CONTACT_GAP = 0.01
"""Objects this close count as resting on each other, in metres."""
VALUE_SCALE = 0.1
"""Miss in metres over which `value` falls to 1/e."""
CLEAR_MISS = 0.05
"""Metres by which a goal about places is missed beyond the tolerance of any careful check."""
CLEAR_CONTACT_MISS = 0.01
"""The same for goals about what rests on or in another object, and for what is open or shut."""


class StatedGoal(Protocol):
    """A goal as a task states it (`PlannedGoal` in spec.py)."""

    @property
    def kind(self) -> str: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def objects(self) -> tuple[str, ...]: ...
    @property
    def measured_by(self) -> "type[Goal]":
        """The class that measures it."""
        ...


class Phase(IntEnum):
    """When the oracle pursues a goal: an open drawer covers those below it, so drawers are opened last."""

    TABLE = 0
    STACK = 1
    CONTAINER = 2
    SHUT = 3
    OPEN = 4


@dataclass(frozen=True)
class Goal:
    """One condition on the state at the end."""

    object_fields: ClassVar[tuple[str, ...]] = ("a",)
    """Names of the fields that hold the names of objects."""
    label: ClassVar[str] = ""
    """Text for people, a format of the fields; a goal that needs more than a format has a `name` of its own."""
    phase: ClassVar[Phase] = Phase.TABLE
    """When the oracle pursues it."""
    rests: ClassVar[Literal["", "on", "in"]] = ""
    """How the first object has to rest relative to the second; empty where no contact decides."""
    fills_zone: ClassVar[bool] = False
    """The object has to lie in the zone that `holder` names."""
    constrains_place: ClassVar[bool] = False
    """A place on the table is chosen so that this goal holds there."""
    measured_after_release: ClassVar[bool] = False
    """A placement has succeeded when the goal is met, not when the object is near the chosen place."""
    clear_miss: ClassVar[float] = CLEAR_MISS
    """Metres beyond which no careful check takes it for met."""
    sets_place: ClassVar[bool] = True
    """It says where its carried objects have to be; False for goals about other properties."""
    throughout: ClassVar[bool] = False
    """It has to hold at every instant of a rollout, not only at the end."""
    about_hand: ClassVar[bool] = False
    """About the hand: met while things move and while something is held."""

    @property
    def name(self) -> str:
        """Text for people."""
        return self.label.format_map(vars(self))

    @property
    def objects(self) -> tuple[str, ...]:
        """Names of the objects that it constrains."""
        return tuple(getattr(self, field) for field in self.object_fields)

    @property
    def parts(self) -> "tuple[Goal, ...]":
        """The goals it consists of; itself where it is simple."""
        return (self,)

    @property
    def steps(self) -> "tuple[Goal, ...]":
        """The goals that the oracle pursues one by one instead of this one."""
        return (self,)

    @property
    def carried(self) -> tuple[str, ...]:
        """Names of the objects that have to be carried."""
        return self.objects[:1]

    @property
    def kept(self) -> tuple[str, ...]:
        """Names of the objects that have to end where they started."""
        return ()

    @property
    def zones(self) -> tuple[str, ...]:
        """Names of the zones that it refers to."""
        return ()

    @property
    def joints(self) -> tuple[tuple[str, str], ...]:
        """Names of the moving parts that it refers to: (object, part)."""
        return ()

    @property
    def holder(self) -> str:
        """Name of the zone, container or base that the first object is put in or on."""
        return self.objects[-1]

    @property
    def fixed_place(self) -> tuple[float, float] | None:
        """World x and y in metres, where it names a place by coordinates."""
        return None

    def miss(self, state: State) -> float:
        """Return how far it is from being met, in metres; zero when met."""
        raise NotImplementedError

    def missed(self, state: State) -> float:
        """Return `miss`, measured once for a state."""
        if self not in state.misses:
            state.misses[self] = self.miss(state)
        return state.misses[self]

    def met(self, state: State) -> bool:
        """Return whether it holds."""
        return bool(self.missed(state) <= 0)

    def share(self, state: State) -> float:
        """Return the share of its parts that are met, in [0, 1]; one counts as missed if they are not met together."""
        met = [part.met(state) for part in self.parts]
        return sum(met) / len(met) if not all(met) or self.met(state) else 1 - 1 / len(met)

    def bound(self, objects: Mapping[str, Object], right: np.ndarray, away: np.ndarray) -> "Goal":
        """Return the same goal with every order that a sort key gives written out in names."""
        return self

    def value(self, state: State) -> float:
        """Return a value in [0, 1]: 1 when met, falling smoothly with the miss."""
        miss = self.missed(state)
        return 1.0 if miss <= 0 else float(0.9 * np.exp(-miss / VALUE_SCALE))

    def next_move(self, planner: "Planner", state: State, goals: "list[Goal]") -> "Move | PartMotion":
        """Return the oracle's next move towards it. Raises BlockedError with the reason where there is none.

        The default looks for a place on the table where this goal and all other goals about the object hold.
        """
        return planner.place_on_table(state, self, goals)

    def candidate_places(self, state: State) -> list[np.ndarray]:
        """Return the only places where it can hold, arrays of shape (N, 2), best first; empty for the whole table."""
        return []

    def pursued(self, state: State, refused: "Container[Goal]") -> "list[Goal]":
        """Return the goals that the oracle pursues for it; `refused` are those it gave up."""
        return [self]

    def surplus(self, state: State) -> "list[Goal]":
        """Return goals that hold and must not."""
        return []

    def opposite(self, sim: Any) -> "Goal":
        """Return a goal that is clearly missed where this one is met; itself where it has no opposite.

        `sim` is the kit.Simulation. The default reverses an order of names.
        """
        names = getattr(self, "names", None)
        return replace(self, names=tuple(reversed(names))) if names else self  # type: ignore[call-arg]

    def canonical(self) -> "Goal":
        """Return the one form of goals that mean the same, such as a left of b and b right of a."""
        return self

    def agreement(self, planned: "StatedGoal", ordered: bool) -> bool | None:
        """Return True where it asks for the same as a task's goal, False for the contrary, None for neither.

        `ordered`: the task's instruction gives an order, so that another one is not the same.
        """
        same = type(self) is planned.measured_by and self.objects == planned.objects
        return True if same else None


@dataclass(frozen=True, eq=False)
class Move:
    """Carry one object to one place."""

    object: str
    xy: np.ndarray
    """World place of its centre, of shape (2,)."""
    yaw: float | None
    """World yaw in radians; None keeps the present one."""
    verb: str
    """"place" for a goal, "move aside" to make room, "hand over" to where another arm takes the object."""
    target: str
    """What it is carried to, text for people."""
    goal: Goal


@dataclass(frozen=True)
class PartMotion:
    """Open or shut one part of an object."""

    object: str
    part: str
    share: float
    """How far it is to be open afterwards: 0 shut, 1 fully open."""
    goal: Goal

    @property
    def verb(self) -> str:
        """ "open" or "shut"."""
        return "open" if self.share > 0 else "shut"

    @property
    def target(self) -> str:
        """Text for people."""
        return self.part.replace("_", " ")


class BlockedError(Exception):
    """A goal or move is impossible; its text is the reason. Caught within planning."""


class Planner(Protocol):
    """Finds the next move towards a goal, given all goals that are pursued. Each method raises BlockedError."""

    def place_on_table(self, state: State, goal: Any, goals: list[Goal]) -> Move:
        """Return the move to a place on the table where all goals about that object hold."""
        ...

    def place_on_top(self, state: State, goal: Any, goals: list[Goal]) -> Move:
        """Return the move that puts a on b."""
        ...

    def place_in_container(self, state: State, goal: Any, goals: list[Goal]) -> Move:
        """Return the move that puts a into a container."""
        ...

    def place_in_row(self, state: State, goal: Any, goals: list[Goal]) -> Move:
        """Return the move that brings one member of a row to its place."""
        ...

    def place_in_part(self, state: State, goal: Any, goals: list[Goal]) -> Move | PartMotion:
        """Return the move that puts a into a drawer."""
        ...

    def move_part(self, state: State, goal: Any, goals: list[Goal]) -> Move | PartMotion:
        """Return the motion that opens or shuts a part."""
        ...


class RestingGoal(Goal):
    """A goal about an object that rests on or in a second one; its subclasses set `rests`."""

    measured_after_release: ClassVar[bool] = True
    clear_miss: ClassVar[float] = CLEAR_CONTACT_MISS

    def agreement(self, planned: "StatedGoal", ordered: bool) -> bool | None:
        if planned.kind in ("on", "inside") and set(self.objects) == set(planned.names):
            return self.objects[0] == planned.names[0]
        return None


class PartGoal(Goal):
    """A goal about a moving part of its last object; its subclasses declare the field `part` in their own order."""

    part: str
    clear_miss: ClassVar[float] = CLEAR_CONTACT_MISS

    @property
    def joints(self) -> tuple[tuple[str, str], ...]:
        return ((self.objects[-1], self.part),)


def height_off_table(state: State, name: str) -> float:
    """Return how far an object is from standing on the table, in metres."""
    return 0.0 if state.touches(name, "table") else max(0.0, abs(state[name].bottom) - CONTACT_GAP)


def centre_distance(state: State, a: str, b: str) -> float:
    """Return the ground distance between two centres, in metres."""
    return float(np.linalg.norm(state[a].position[:2] - state[b].position[:2]))


def two_objects(a: str, b: str) -> str:
    """Return b. Raises KitError where it is a."""
    if a == b:
        raise KitError(f"a goal needs two different objects, not {a!r} twice")
    return b


def several_objects(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names as a tuple. Raises KitError for fewer than two and for repeated names."""
    names = (names,) if isinstance(names, str) else tuple(names)
    if len(names) < 2 or len(set(names)) < len(names):
        raise KitError(f"needs at least two different objects, got: {', '.join(map(str, names)) or 'none'}")
    return names


def length(value: float) -> float:
    """Return a tolerance or distance as a float. Raises KitError for what is not a number of zero or more."""
    if not (isinstance(value, int | float | np.number) and np.isfinite(value) and value >= 0):
        raise KitError(f"a tolerance or distance is a number of metres, zero or more, not {value!r}")
    return float(value)
