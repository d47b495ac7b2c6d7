"""A simulation as a recipe: the calls that arranged it, told in JSON and followed again elsewhere.

Generated code arranges in one process; another, in which no generated code has run, follows the recipe by the kit's own
rules and lets the oracle act there. So nobody can tell a reward that no robot earned.
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from pipeline.simulation.goals import Goal
from pipeline.simulation.objects import KitError

QUESTIONS = frozenset(("rollout", "reward_at_start", "state", "bench", "free_spot"))
"""What a simulation is asked; every other public method of it arranges."""
KIND = "goal"
"""The key that tells a goal among JSON values."""
_Kind = TypeVar("_Kind", bound=type)


class Call(BaseModel):
    """One call of a method of kit.Simulation that came to its end."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    verb: str = Field(max_length=60)
    arguments: list[JsonValue]
    named: dict[str, JsonValue] = Field(default_factory=dict)


class Recipe(BaseModel):
    """A simulation as data: its seed, and all that was done to it."""

    model_config = ConfigDict(extra="forbid")
    seed: int
    calls: list[Call] = Field(max_length=2000)


def recorded(kind: _Kind) -> _Kind:
    """Class decorator: instances keep, in `_calls`, every arranging call made from outside."""
    for name, method in list(vars(kind).items()):
        if inspect.isfunction(method) and not name.startswith("_") and name not in QUESTIONS:
            setattr(kind, name, _recording(name, method))
    return kind


def _recording(name: str, method: Callable) -> Callable:
    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        kept, self._calls = self._calls, None  # what a method calls of its own is part of it
        try:
            answer = method(self, *arguments, **named)
        finally:
            self._calls = kept
        if kept is not None:
            kept.append((name, arguments, named))
        return answer

    return call


def recipe(sim: Any) -> Recipe:
    """What was done to a kit.Simulation so far. Raises KitError where it cannot be told."""
    try:
        calls = [
            Call(verb=verb, arguments=[told(a) for a in arguments], named={k: told(a) for k, a in named.items()})
            for verb, arguments, named in sim._calls
        ]
        return Recipe(seed=sim.seed, calls=calls)
    except ValidationError as error:
        raise KitError(f"the simulation cannot be told as data: {error.errors()[0]['msg']}") from error


def follow(sim: Any, said: Recipe) -> None:
    """Makes the same calls on a fresh kit.Simulation. Raises KitError where the kit refuses one."""
    known = {name for name in dir(type(sim)) if not name.startswith("_") and name not in QUESTIONS}
    for call in said.calls:
        if call.verb not in known or not callable(getattr(sim, call.verb)):
            raise KitError(f"the kit's simulation has no {call.verb}()")
        try:
            getattr(sim, call.verb)(*map(meant, call.arguments), **{k: meant(a) for k, a in call.named.items()})
        except (TypeError, ValueError) as error:
            raise KitError(f"{call.verb}(...) was given what it cannot take: {error}") from error


def kinds_of_goals() -> dict[str, type[Goal]]:
    """The kit's own goals by the names of their classes."""
    found, open_ = {}, [Goal]
    while open_:
        for kind in open_.pop().__subclasses__():
            open_.append(kind)
            if kind.__module__.startswith("pipeline.simulation."):
                found[kind.__name__] = kind
    return found


def told(value: Any) -> Any:
    """A goal, or what a call was given, as JSON. Raises KitError where it cannot be told."""
    if isinstance(value, Goal):
        name = type(value).__name__
        if kinds_of_goals().get(name) is not type(value):
            raise KitError(f"a goal of the kind {name} is not the kit's; compose the kit's own goals")
        return {KIND: name} | {f.name: told(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [told(item) for item in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise KitError(f"{type(value).__name__} {str(value)[:60]!r} is nothing the kit takes: give names, numbers, goals")


def meant(value: Any) -> Any:
    """What `told` told. Raises KitError where it is nothing the kit has."""
    if isinstance(value, list):
        return [meant(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind = kinds_of_goals().get(str(value.get(KIND)))
    if kind is None:
        raise KitError(f"there is no goal of the kind {value.get(KIND)!r}")
    fields = {key: _tuple(meant(item)) for key, item in value.items() if key != KIND}
    try:
        return TypeAdapter(kind).validate_python(fields)
    except ValidationError as error:
        raise KitError(f"a goal of the kind {kind.__name__} with other values than it takes") from error


def _tuple(value: Any) -> Any:
    return tuple(map(_tuple, value)) if isinstance(value, list) else value
