"""Base class of reward terms, and the closed registry of their kinds.

A term is a potential: a value in [0, 1] of the state alone, that rises as the subtask comes nearer to success. The
environment pays the weighted change of potentials (Ng, Harada and Russell 1999, "Policy invariance under reward
transformations"), so no sum of terms changes which policy is best, and none can stand in for success.
"""

import dataclasses
import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from pydantic import TypeAdapter, ValidationError

from pipeline.learning import terms as package
from pipeline.simulation.goals.goal import Goal
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
        """Names of the moving parts that it measures: (object, part)."""
        part = getattr(self, "part", "")
        return ((self.objects[0], part),) if part else ()

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


def nearness(metres: float) -> float:
    """Return 1 at no distance, one half at HALF_M, with a slope at every distance."""
    return HALF_M / (HALF_M + max(0.0, metres))


@cache
def reward_terms() -> Mapping[str, type[RewardTerm]]:
    """Return every kind of term by name; every module of the package that defines `TERM` adds one."""
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    return MappingProxyType({m.TERM.term: m.TERM for m in modules if hasattr(m, "TERM")})


def term_manual() -> str:
    """Return one line for each kind of term: its name, its arguments, what it rewards."""
    return "\n".join(f"{name}{kind.summary}" for name, kind in reward_terms().items())


def term_from_json(name: str, args: Mapping[str, Any]) -> RewardTerm:
    """Return a term. Raises KitError that lists the kinds or arguments there are. Inverse of `args_to_json`."""
    kind = reward_terms().get(name)
    if kind is None:
        raise KitError(f"there is no reward term {name!r}; there are: {', '.join(reward_terms())}")
    try:
        return TypeAdapter(kind).validate_python({key: from_json(value) for key, value in args.items()})
    except ValidationError as error:
        fields = ", ".join(field.name for field in dataclasses.fields(kind))
        raise KitError(f"the reward term {name} takes {fields}: {error.errors()[0]['msg']}") from None


def args_to_json(term: RewardTerm) -> dict[str, Any]:
    """Return the arguments of a term as JSON values."""
    return {field.name: to_json(getattr(term, field.name)) for field in dataclasses.fields(term)}
