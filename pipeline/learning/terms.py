"""Reward terms: their base class, every kind, and the closed registry.

A term is a potential: a value in [0, 1] of the state alone, that rises as the subtask comes nearer to success. The
environment pays the weighted change of potentials (Ng, Harada and Russell 1999, "Policy invariance under reward
transformations"), so no sum of terms changes which policy is best, and none can stand in for success.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from pydantic import TypeAdapter, ValidationError

from pipeline.learning.reward_code import AXES, compiled, manual
from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.goals.hand import LIFT, grasp_point, hand_of
from pipeline.simulation.objects import KitError
from pipeline.simulation.recipe import from_json, to_json
from pipeline.simulation.state import State

HALF_M = 0.1
"""Distance in metres at which the nearness is one half."""


@dataclass(frozen=True, eq=False)
class Moment:
    """What terms are measured on."""

    state: State
    """Now, with the hand."""
    start: State
    """At the start of the episode."""
    effort: float
    """Sum of squared actions so far, per component, in control steps."""
    shifts: Mapping[str, float] = field(default_factory=dict)
    """Metres that each object of the world is from where it was at the start, by name."""
    misses: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Metres by which each goal of the success is missed, of shape (G,)."""


@dataclass(frozen=True)
class RewardTerm(ABC):
    """One term; its fields are the arguments."""

    term: ClassVar[str] = ""
    """Name in subtasks.json."""
    summary: ClassVar[str] = ""
    """What it rewards, for people and models; begins with its arguments."""

    @property
    def objects(self) -> tuple[str, ...]:
        """Names of the objects that it measures."""
        return tuple(value for name in ("a", "b") if (value := getattr(self, name, "")))

    @property
    def bystanders(self) -> tuple[str, ...]:
        """Names of the other objects whose shifts it measures."""
        return ()

    @property
    def joints(self) -> tuple[tuple[str, str], ...]:
        """Names of the moving parts and affordances that it measures: (object, part)."""
        part = getattr(self, "part", "")
        return ((self.objects[0], part),) if part else ()

    @property
    def moving_parts(self) -> tuple[tuple[str, str], ...]:
        """Those of `joints` that have to be moving parts."""
        return self.joints

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The goals that it measures."""
        goal = getattr(self, "goal", None)
        return (goal,) if goal is not None else ()

    @abstractmethod
    def potential(self, moment: Moment) -> float:
        """Return a value in [0, 1]."""


@dataclass(frozen=True)
class GoalTerm(RewardTerm):
    """A term about one goal of the registry."""

    goal: Goal

    @property
    def objects(self) -> tuple[str, ...]:
        return self.goal.objects

    @property
    def joints(self) -> tuple[tuple[str, str], ...]:
        return self.goal.joints

    @property
    def moving_parts(self) -> tuple[tuple[str, str], ...]:
        return () if self.goal.about_hand else self.goal.joints


def nearness(metres: float) -> float:
    """Return 1 at no distance, one half at HALF_M, with a slope at every distance."""
    return HALF_M / (HALF_M + max(0.0, metres))


@dataclass(frozen=True)
class Approach(RewardTerm):
    """Rises as an object comes over its place, also where the goal's own distance is flat."""

    goal: Goal
    term: ClassVar = "approach"
    summary: ClassVar = (
        "(goal): the goal's first object is near the middle of its place: container, base, zone or point"
    )

    @property
    def objects(self) -> tuple[str, ...]:
        return self.goal.objects

    def potential(self, moment: Moment) -> float:
        """Return the nearness of the object's centre to the middle of the place, on the ground."""
        a = moment.state[self.goal.objects[0]]
        return nearness(float(np.linalg.norm(a.position[:2] - place_of(self.goal, moment.state))))


def place_of(goal: Goal, state: State) -> np.ndarray:
    """Return world x and y (2,) of the middle of a goal's place. Raises KitError where it names none."""
    if goal.fixed_place is not None:
        return np.array(goal.fixed_place)
    if goal.holder in state.zones:
        return state.zones[goal.holder].xy
    if len(goal.objects) < 2:
        raise KitError(f"the goal {goal.name} names no place; reward goal_distance instead")
    return state[goal.holder].position[:2]


@dataclass(frozen=True)
class Code(RewardTerm):
    """Rises as a reward that is written as code rises (`reward_code.py`)."""

    source: str
    term: ClassVar = "code"

    def __post_init__(self) -> None:
        compiled(self.source)  # raises KitError

    @property
    def objects(self) -> tuple[str, ...]:
        return compiled(self.source).objects

    @property
    def joints(self) -> tuple[tuple[str, str], ...]:
        return compiled(self.source).joints

    @property
    def moving_parts(self) -> tuple[tuple[str, str], ...]:
        return compiled(self.source).moving_parts

    def potential(self, moment: Moment) -> float:
        """Return one half at the reward of the episode's start, more above it and less below, in (0, 1).

        So any source is a potential, whatever its scale: it leads towards more, and cannot stand in for success.
        """
        run = compiled(self.source).run
        risen = float(run(MomentEnv(moment.state, moment.start))[0] - run(MomentEnv(moment.start, moment.start))[0])
        return 0.5 + 0.5 * risen / (HALF_M + abs(risen))


@dataclass(frozen=True, eq=False)
class MomentEnv:
    """What a reward's code measures, of one world: `reward_code.ENV`. All of it is copied: code may add to arrays."""

    state: State
    start: State

    def get_pose_by_link_name(self, a: str, link: str) -> np.ndarray:
        return _link_position(self.state, a, link)[None].copy()

    def get_start_pose_by_link_name(self, a: str, link: str) -> np.ndarray:
        return _link_position(self.start, a, link)[None].copy()

    def get_state_by_joint_name(self, a: str, part: str) -> np.ndarray:
        return np.array([self.state[a].part(part).value])

    def get_limits_by_joint_name(self, a: str, part: str) -> dict[str, np.ndarray]:
        return {"lower": np.zeros(1), "upper": np.array([self.state[a].part(part).end])}

    def get_robot_gripper_pose(self) -> np.ndarray:
        return hand_of(self.state).tip[None].copy()

    def get_size(self, a: str) -> np.ndarray:
        return np.array([self.state[a].size], float)

    def get_axis(self, a: str, axis: str) -> np.ndarray:
        return self.state[a].rotation[None, :, AXES.index(axis)].copy()

    def get_top(self, a: str) -> np.ndarray:
        return np.array([self.state[a].top])

    def get_bottom(self, a: str) -> np.ndarray:
        return np.array([self.state[a].bottom])

    def is_held(self, a: str) -> np.ndarray:
        return np.array([hand_of(self.state).holding.split(" ")[0] == a])

    def in_contact(self, a: str, b: str) -> np.ndarray:
        return np.array([self.state.touches(a, b)])


def _link_position(state: State, a: str, link: str) -> np.ndarray:
    return state[a].position if link in ("", a, "base") else grasp_point(state, a, link)


@dataclass(frozen=True)
class Energy(RewardTerm):
    """Falls with every action, so that small actions are worth more."""

    allowance: float = 50.0
    term: ClassVar = "energy"
    summary: ClassVar = "(allowance=50): little effort was spent, of so many control steps at full speed"

    def potential(self, moment: Moment) -> float:
        """Return the share of the allowance that is left."""
        return max(0.0, 1 - moment.effort / max(self.allowance, 1.0))


@dataclass(frozen=True)
class GoalDistance(GoalTerm):
    """Rises as a goal of the registry comes nearer to being met."""

    term: ClassVar = "goal_distance"
    summary: ClassVar = "(goal): the goal is missed by little; goal is written as among the success conditions"

    def potential(self, moment: Moment) -> float:
        """Return the nearness of the metres by which the goal is missed."""
        return nearness(self.goal.miss(moment.state))


@dataclass(frozen=True)
class HandDistance(RewardTerm):
    """Rises as the hand comes near."""

    a: str
    part: str = ""
    term: ClassVar = "hand_distance"
    summary: ClassVar = "(a, part=''): the hand is near the top of a, or near the grasp point of its part"

    @property
    def moving_parts(self) -> tuple[tuple[str, str], ...]:
        return ()

    def potential(self, moment: Moment) -> float:
        """Return the nearness of the tip to the middle of the object's top, or to the part's grasp point."""
        state = moment.state
        if self.part:
            target = grasp_point(state, self.a, self.part)
        else:
            target = np.array([*state[self.a].position[:2], state[self.a].top])
        return nearness(float(np.linalg.norm(hand_of(state).tip - target)))


@dataclass(frozen=True)
class HeldByHand(RewardTerm):
    """1 while it is held."""

    a: str
    part: str = ""
    term: ClassVar = "held"
    summary: ClassVar = "(a, part=''): the hand holds a, or its part"

    def potential(self, moment: Moment) -> float:
        """Return 1 if the hand holds it, else 0."""
        return float(hand_of(moment.state).holding == f"{self.a} {self.part}".strip())


@dataclass(frozen=True)
class JointTarget(RewardTerm):
    """Rises as a drawer, door, lid or knob comes nearer to a share of its travel: a state reward (Gen2Sim 3.2)."""

    a: str
    part: str
    share: float = 1.0
    term: ClassVar = "joint_target"
    summary: ClassVar = "(a, part, share=1.0): the part of a is open by that share of its travel, 0 shut, 1 open"

    def potential(self, moment: Moment) -> float:
        """Return 1 less the share of the travel that is still to go."""
        return 1 - abs(moment.state[self.a].part(self.part).open - min(max(self.share, 0.0), 1.0))


@dataclass(frozen=True)
class Lifted(RewardTerm):
    """Rises with the object's height."""

    a: str
    height: float = LIFT
    term: ClassVar = "lifted"
    summary: ClassVar = "(a, height=0.05): a is that many metres higher than at the start"

    def potential(self, moment: Moment) -> float:
        """Return the share of the height by which the lowest point has risen."""
        risen = moment.state[self.a].bottom - moment.start[self.a].bottom
        return float(min(max(risen / max(self.height, 1e-3), 0.0), 1.0))


@dataclass(frozen=True)
class OthersStill(RewardTerm):
    """Falls when objects other than `a` are pushed from where they stood."""

    a: str
    others: tuple[str, ...]
    term: ClassVar = "others_still"
    summary: ClassVar = "(a, others): the objects in the list others were not pushed while a is handled"

    @property
    def bystanders(self) -> tuple[str, ...]:
        return self.others

    def potential(self, moment: Moment) -> float:
        """Return the nearness of the others to their places, the farthest displacement counting."""
        return nearness(max((moment.shifts[name] for name in self.others), default=0.0))


@dataclass(frozen=True)
class Released(GoalTerm):
    """1 once the goal is met and nothing is held; letting go anywhere else earns nothing."""

    term: ClassVar = "released"
    summary: ClassVar = "(goal): the goal is met and the hand holds nothing"

    def potential(self, moment: Moment) -> float:
        """Return 1 if both hold, else 0."""
        return float(not hand_of(moment.state).holding and self.goal.met(moment.state))


@dataclass(frozen=True)
class UprightObject(RewardTerm):
    """Falls as an object tilts away from how it stood at the start."""

    a: str
    term: ClassVar = "upright"
    summary: ClassVar = "(a): a is not tilted from how it stood at the start"

    def potential(self, moment: Moment) -> float:
        """Return 1 for the vertical of the start, 0 for upside down."""
        now, before = moment.state[self.a].rotation[2], moment.start[self.a].rotation[2]
        return float((1 + min(max(now @ before, -1.0), 1.0)) / 2)


REWARD_TERMS: Mapping[str, type[RewardTerm]] = {
    kind.term: kind
    for kind in (
        Approach,
        Code,
        Energy,
        GoalDistance,
        HandDistance,
        HeldByHand,
        JointTarget,
        Lifted,
        OthersStill,
        Released,
        UprightObject,
    )
}
"""Every kind of term by its name."""


def term_manual() -> str:
    """Return one line for each kind of term: its name, its arguments, what it rewards; last, what code may use."""
    return "\n".join([*(f"{name}{kind.summary}" for name, kind in REWARD_TERMS.items() if kind is not Code), manual()])


def term_from_json(name: str, args: Mapping[str, Any]) -> RewardTerm:
    """Return a term. Raises KitError that lists the kinds or arguments there are. Inverse of `args_to_json`."""
    kind = REWARD_TERMS.get(name)
    if kind is None:
        raise KitError(f"there is no reward term {name!r}; there are: {', '.join(REWARD_TERMS)}")
    try:
        return TypeAdapter(kind).validate_python({key: from_json(value) for key, value in args.items()})
    except ValidationError as error:
        fields = ", ".join(field.name for field in dataclasses.fields(kind))
        raise KitError(f"the reward term {name} takes {fields}: {error.errors()[0]['msg']}") from None


def args_to_json(term: RewardTerm) -> dict[str, Any]:
    """Return the arguments of a term as JSON values."""
    return {field.name: to_json(getattr(term, field.name)) for field in dataclasses.fields(term)}
