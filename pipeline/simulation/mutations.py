"""Mutated tasks that a program's checks must catch: the oracle does something else, and the run claims success.

Mutation testing of checks (DeMillo et al., 1978): the goals of an arranged simulation are inverted, swapped, given to
another object and so on. Checks that pass all the same do not test the goals.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from pipeline.simulation import rollout
from pipeline.simulation.goals.at import elsewhere
from pipeline.simulation.goals.goal import CLEAR_MISS, Goal, PartGoal
from pipeline.simulation.goals.stages import lasting
from pipeline.simulation.objects import Object
from pipeline.simulation.rollout import Stages
from pipeline.simulation.state import State

DISPLACED = "displaced"
"""Name of this mutation."""


def roll_out_mutated(sim: Any, kind: str) -> dict[str, Any]:
    """Roll out a kit.Simulation under mutated goals, so that its checks see that outcome.

    Return {"kind", "outcome": what happens instead, "applies": whether the original goals are clearly missed then, or
    its stages were not completed in order}.
    The run claims a reward of 1, except for the kind "nothing", which claims the true one.
    """
    original = sim.stages
    mutated = distinct_mutations(sim).get(kind)
    if mutated is None:
        return {"kind": kind, "outcome": "", "applies": False}
    run = rollout.roll_out(sim.bench(), mutated)
    description = "; ".join(goal.name for _, goals in mutated for goal in goals) or "nothing moves"
    claim = rollout.reward(run.state_at_end, original, 1) if kind == "nothing" else 1.0
    applies = _clearly_missed(original, run.state_at_end) or bool(run.why_not_in_order(*(g for _, g in original)))
    # The checks call sim.rollout(), which returns what has been rolled out already.
    sim._run = replace(run, reward=claim, rewards=np.full(len(run.times), claim), why="" if claim else "nothing moved")
    return {"kind": kind, "outcome": description, "applies": applies}


def distinct_mutations(sim: Any) -> dict[str, Stages]:
    """Return the mutated goals by kind, without those that mean the same as the original or as an earlier kind."""
    known, distinct = [_canonical(sim.stages)], {}
    for kind, mutate in MUTATIONS.items():
        mutated = mutate(sim, sim.stages)
        if mutated is not None and _canonical(mutated) not in known:
            known.append(_canonical(mutated))
            distinct[kind] = mutated
    return distinct


def _canonical(stages: Stages) -> list[Any]:
    """Return the goals without their stages' names, each in its canonical form."""
    return [[step.canonical() for goal in goals for step in goal.steps] for _, goals in stages]


def _clearly_missed(stages: Stages, end: State) -> bool:
    parts = [part for goal in lasting([goals for _, goals in stages]) for part in goal.parts]
    return any(part.miss(end) > part.clear_miss for part in parts)


def _do_nothing(sim: Any, stages: Stages) -> Stages:
    return (("nothing", ()),)


def _invert(sim: Any, stages: Stages) -> Stages | None:
    """Replace every goal that has an opposite by it."""
    return _changed(stages, lambda goal: goal.opposite(sim))


def _swap_objects(sim: Any, stages: Stages) -> Stages | None:
    """Exchange the first two objects that the goals move."""
    owners = _owners_of_parts(stages)
    movable = [name for name in _named_objects(stages) if not sim[name].fixed and name not in owners]
    return _renamed(stages, {movable[0]: movable[1], movable[1]: movable[0]}) if len(movable) > 1 else None


def _use_another_object(sim: Any, stages: Stages) -> Stages | None:
    """Replace the first object by one that no goal names."""
    named, owners = _named_objects(stages), _owners_of_parts(stages)
    others = [o.name for o in sim.objects if o.name not in named and not o.fixed]
    first = next((name for name in named if not sim[name].fixed and name not in owners), None)
    return _renamed(stages, {first: others[0]}) if others and first else None


def _use_another_part(sim: Any, stages: Stages) -> Stages | None:
    """Replace every moving part by another part of the same object, where it has one."""
    return _changed(stages, lambda goal: _with_another_part(sim, goal))


def _owners_of_parts(stages: Stages) -> set[str]:
    """Return the objects whose parts the goals name: another object would have no such part."""
    return {owner for _, goals in stages for goal in goals for owner, _ in goal.joints}


def _with_another_part(sim: Any, goal: Goal) -> Goal:
    if not isinstance(goal, PartGoal):
        return goal
    names = [part.name for part in sim[goal.objects[-1]].parts]
    return replace(goal, part=names[(names.index(goal.part) + 1) % len(names)])  # type: ignore[type-var]


def _misplace(sim: Any, stages: Stages) -> Stages | None:
    """Put the first carried object somewhere else, and leave the rest undone."""
    moved = [name for _, goals in stages for goal in goals for name in goal.carried if not sim[name].fixed]
    return (("elsewhere", (elsewhere(sim, moved[0]),)),) if moved else None


def _leave_half_done(sim: Any, stages: Stages) -> Stages | None:
    """Leave the last part of the goals undone."""
    parts = [part for _, goals in stages for goal in goals for part in goal.parts]
    return (("half", tuple(parts[:-1])),) if len(parts) > 1 else None


def _rotate_order(sim: Any, stages: Stages) -> Stages | None:
    """Rotate orders of three or more by one."""
    return _changed(stages, _rotated)


def _reverse_steps(sim: Any, stages: Stages) -> Stages | None:
    """Do the last stage first."""
    return tuple(reversed(stages)) if len(stages) > 1 else None


MUTATIONS: Mapping[str, Callable[[Any, Stages], Stages | None]] = {
    "nothing": _do_nothing,
    "inverted": _invert,
    "swapped": _swap_objects,
    "another object": _use_another_object,
    "another part": _use_another_part,
    "misplaced": _misplace,
    "half done": _leave_half_done,
    "order": _rotate_order,
    "steps": _reverse_steps,
}
"""Each takes a simulation and its stages and returns the mutated stages; None where it does not apply."""


def _changed(stages: Stages, change: Callable[[Goal], Goal]) -> Stages | None:
    """Return the stages with every goal changed, or None where none is."""
    changed = tuple((name, tuple(change(goal) for goal in goals)) for name, goals in stages)
    return None if changed == tuple(stages) else changed


def _rotated(goal: Goal) -> Goal:
    names = getattr(goal, "names", ())
    return replace(goal, names=(*names[1:], names[0])) if len(names) > 2 else goal  # type: ignore[call-arg]


def _named_objects(stages: Stages) -> tuple[str, ...]:
    """Return every object that a goal names, once, in order."""
    return tuple(dict.fromkeys(name for _, goals in stages for goal in goals for name in goal.objects))


def _renamed(stages: Stages, names: Mapping[str, str]) -> Stages:
    return tuple((name, tuple(_with_names(goal, names) for goal in goals)) for name, goals in stages)


def _with_names(value: Any, names: Mapping[str, str]) -> Any:
    """Return a goal, or a value that a goal holds, with names exchanged."""
    if isinstance(value, Goal):
        return replace(value, **{f.name: _with_names(getattr(value, f.name), names) for f in fields(value)})
    if isinstance(value, tuple):
        return tuple(_with_names(item, names) for item in value)
    return names.get(value, value) if isinstance(value, str) else value


def displaced_runs(sim: Any) -> Iterator[tuple[str, rollout.Run]]:
    """Yield what is different and the run: each object that the goals carry or keep where it started, or to one side.

    The object then stands on the table, clearly beside what the goals put it in or on. Runs that still claim to be
    solved; none where the original is not. They are counterfactuals without physics, so every carried object can be
    tried at several places in one process; the other mutations miss checks that look at one coordinate, at the sign or
    at some of the objects only.
    """
    run = sim.rollout()
    if not run.solved:
        return
    end = run.state_at_end
    named = (name for _, goals in sim.stages for goal in goals for name in (*goal.carried, *goal.kept))
    carried = dict.fromkeys(named)
    for name in (name for name in carried if not sim[name].fixed):
        place, holders = end[name].position[:2], _holders(sim.stages, end, name)
        sides = {
            "too far right": end.right,
            "too far left": -end.right,
            "too far away": end.away,
            "too near": -end.away,
        }
        places = {"where it started": run.start(name).position[:2]}
        for words, side in sides.items():
            # How far an object is displaced: more than any tolerance of a goal or a sensible check, and so far that it
            # lies beside what holds it, such as a long bin
            steps = np.arange(0.15, 0.6, 0.05)
            step = next((s for s in steps if _is_beside(place + s * side, holders)), None)
            if step is not None:
                places[f"{step * 100:.0f} cm {words}"] = place + step * side
        for words, xy in places.items():
            state = end.put(name, xy)
            if _clearly_missed(sim.stages, state):
                yield f"{name} ends {words}", replace(run, state_at_end=state, qpos=_moved(run, name, state))


def _holders(stages: Stages, end: State, name: str) -> list[Object]:
    """Return what the goals put an object in or on."""
    return [
        end[goal.holder]
        for _, goals in stages
        for goal in goals
        if goal.rests and name in goal.carried and goal.holder in end.objects
    ]


def _is_beside(xy: np.ndarray, holders: list[Object]) -> bool:
    """Whether a place (2,) is clearly beside all of these, so that no honest check takes the object for held by one."""
    return all(holder.distance_outside(xy) > CLEAR_MISS for holder in holders)


def _moved(run: rollout.Run, name: str, state: State) -> np.ndarray:
    """Return the trajectory with the object's last place changed, so that its path ends there, too."""
    qpos, first = run.qpos.copy(), run._addresses.get(name)
    if first is not None:
        qpos[-1, first : first + 3] = state[name].position
    return qpos
