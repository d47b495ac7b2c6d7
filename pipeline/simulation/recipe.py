"""A simulation as a recipe: the calls that arranged it, as JSON, replayed in another process.

Generated code arranges a simulation in one process. Another process, in which no generated code has run, replays the
recipe by the kit's own rules and runs the oracle. So no program can claim a reward that no robot earned.
"""

import dataclasses
import functools
import inspect
import json
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.goals.spec import goal_classes
from pipeline.simulation.objects import KitError

QUERIES = frozenset(("rollout", "reward_at_start", "state", "bench", "free_spot", "circle_around"))
"""Methods of kit.Simulation that only ask; every other public method arranges."""
GOAL_KEY = "goal"
"""Key that marks a goal among JSON values; its value is the name of the goal's class."""
_Class = TypeVar("_Class", bound=type)


def _require_json(value: JsonValue) -> JsonValue:
    """Return the value. Raises ValueError if it cannot be written as JSON: infinite, or of too many digits."""
    json.dumps(value, allow_nan=False)
    return value


FiniteJson = Annotated[JsonValue, AfterValidator(_require_json)]
"""A JSON value that can be written as JSON again."""


class RecipeCall(BaseModel):
    """One completed call of a method of kit.Simulation."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)
    verb: str = Field(max_length=60)
    arguments: list[FiniteJson]
    named: dict[str, FiniteJson] = Field(default_factory=dict)


class Recipe(BaseModel):
    """A simulation as data: its seed and the calls that arranged it."""

    model_config = ConfigDict(extra="forbid", strict=True)
    seed: Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)]
    calls: list[RecipeCall] = Field(max_length=2000)


def recorded(simulation_class: _Class) -> _Class:
    """Class decorator: record every arranging call made from outside in the instance's `_calls`."""
    for name, method in list(vars(simulation_class).items()):
        if inspect.isfunction(method) and not name.startswith("_") and name not in QUERIES:
            setattr(simulation_class, name, _recording(name, method))
    return simulation_class


def _recording(name: str, method: Callable) -> Callable:
    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        calls, self._calls = self._calls, None  # calls that the method itself makes are not recorded
        try:
            result = method(self, *arguments, **named)
        finally:
            self._calls = calls
        if calls is not None:
            calls.append((name, arguments, named))
        return result

    return call


def recipe(sim: Any) -> Recipe:
    """Return the recipe of a kit.Simulation so far. Raises KitError where a value is not JSON."""
    try:
        calls = [
            RecipeCall(
                verb=verb, arguments=[to_json(a) for a in arguments], named={k: to_json(a) for k, a in named.items()}
            )
            for verb, arguments, named in sim._calls
        ]
        return Recipe(seed=sim.seed, calls=calls)
    except ValidationError as error:
        raise KitError(f"the simulation cannot be written as data: {error.errors()[0]['msg']}") from error


def replay(sim: Any, recipe: Recipe) -> None:
    """Make the calls of a recipe on a new kit.Simulation. Raises KitError where the kit refuses one."""
    known = {name for name in dir(type(sim)) if not name.startswith("_") and name not in QUERIES}
    for call in recipe.calls:
        if call.verb not in known or not callable(getattr(sim, call.verb)):
            raise KitError(f"the kit's simulation has no {call.verb}()")
        try:
            getattr(sim, call.verb)(*map(from_json, call.arguments), **{k: from_json(a) for k, a in call.named.items()})
        except (TypeError, ValueError) as error:
            raise KitError(f"{call.verb}(...) was given what it cannot take: {error}") from error


def to_json(value: Any) -> Any:
    """Return a goal or an argument as JSON values. Raises KitError for what is neither."""
    if isinstance(value, Goal):
        name = type(value).__name__
        if goal_classes().get(name) is not type(value):
            raise KitError(f"a goal of the kind {name} is not the kit's; compose the kit's own goals")
        return {GOAL_KEY: name} | {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise KitError(f"{type(value).__name__} {str(value)[:60]!r} is nothing the kit takes: give names, numbers, goals")


def from_json(value: Any) -> Any:
    """Inverse of `to_json`. Raises KitError for a goal that the kit does not have."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    goal_class = goal_classes().get(str(value.get(GOAL_KEY)))
    if goal_class is None:
        raise KitError(f"there is no goal of the kind {value.get(GOAL_KEY)!r}")
    fields = {key: _tuple(from_json(item)) for key, item in value.items() if key != GOAL_KEY}
    try:
        return TypeAdapter(goal_class).validate_python(fields)
    except ValidationError as error:
        raise KitError(f"a goal of the kind {goal_class.__name__} with other values than it takes") from error


def _tuple(value: Any) -> Any:
    return tuple(map(_tuple, value)) if isinstance(value, list) else value
