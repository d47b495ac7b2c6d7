"""Altered tasks: what a program's checks must notice. The oracle does something else, and says that it succeeded.

Mutation testing (DeMillo et al., 1978) of checks: the goals of an arranged simulation are inverted, exchanged, given to
another object ...; checks that pass all the same do not ask for the goals.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from pipeline.simulation import rollout, spots
from pipeline.simulation.goals import At, Away, Beside, Goal, Inside, InZone, Near, On, Side
from pipeline.simulation.part_goals import Closed, InsidePart, Opened
from pipeline.simulation.rollout import Stages
from pipeline.simulation.state import State

CLEAR = 0.05
"""Metres by which a goal is missed so that no careful check can take it for met."""
CONTACT = 0.01
"""The same for what has to rest on or in another, and for what has to be open or shut."""
EXACT = (On, Inside, InsidePart, Opened, Closed)
OPPOSITE: Mapping[str, Side] = {
    "left of": "right of",
    "right of": "left of",
    "in front of": "behind",
    "behind": "in front of",
}


def perform(sim: Any, kind: str) -> dict[str, Any]:
    """Rolls out a kit.Simulation under altered goals, so that its checks see what came of them.

    Answers {"kind", "told": what happens instead, "applies": whether the meant goals are clearly missed then}.
    The run claims a reward of 1, but for the kind "nothing", which tells the truth.
    """
    meant = sim.stages
    changed = distinct(sim).get(kind)
    if changed is None:
        return {"kind": kind, "told": "", "applies": False}
    run = rollout.roll_out(sim.bench(), changed)
    told = "; ".join(goal.name for _, goals in changed for goal in goals) or "nothing moves"
    claim = rollout.reward(run.state_at_end, meant, 1) if kind == "nothing" else 1.0
    # The checks ask sim.rollout(), which answers with what has been rolled out already.
    sim._run = replace(run, reward=claim, rewards=np.full(len(run.times), claim), why="" if claim else "nothing moved")
    return {"kind": kind, "told": told, "applies": _missed(meant, run.state_at_end)}


def distinct(sim: Any) -> dict[str, Stages]:
    """The altered goals by kind; without those that ask for the same as the meant ones, or as an earlier kind."""
    seen, found = [_plain(sim.stages)], {}
    for kind, alter in KINDS.items():
        changed = alter(sim, sim.stages)
        if changed is not None and _plain(changed) not in seen:
            seen.append(_plain(changed))
            found[kind] = changed
    return found


def _plain(stages: Stages) -> list[Any]:
    """The goals without their stages' names; what can be said in two ways is said in one."""
    return [[_said(part) for goal in goals for part in _steps(goal)] for _, goals in stages]


def _steps(goal: Goal) -> Sequence[Goal]:
    return goal.parts if all(isinstance(part, On) for part in goal.parts) else (goal,)


def _said(goal: Goal) -> Goal:
    match goal:
        case Beside(a=a, b=b, side="right of" | "behind" as side):
            return Beside(b, a, OPPOSITE[side])
        case Near(a=a, b=b) | Away(a=a, b=b):
            return replace(goal, a=min(a, b), b=max(a, b))
    return goal


def _missed(stages: Stages, end: State) -> bool:
    parts = [part for _, goals in stages for goal in goals for part in goal.parts]
    return any(part.miss(end) > (CONTACT if isinstance(part, EXACT) else CLEAR) for part in parts)


def _nothing(sim: Any, stages: Stages) -> Stages:
    return (("nothing", ()),)


def _inverted(sim: Any, stages: Stages) -> Stages | None:
    """Every goal that has an opposite is turned round."""
    turned = tuple((name, tuple(_opposite(sim, goal) for goal in goals)) for name, goals in stages)
    return None if turned == tuple(stages) else turned


def _opposite(sim: Any, goal: Goal) -> Goal:
    match goal:
        case Beside(side=side):
            return replace(goal, side=OPPOSITE[side])
        case Near(a=a, b=b, distance=distance):
            return Away(a, b, max(0.25, distance + 0.1))
        case Away(a=a, b=b):
            return Near(a, b, sim[a].reach + sim[b].reach + 0.03)
        case On(a=a, b=b):
            return replace(goal, a=b, b=a)
        case Opened(a=a, part=part):
            return Closed(a, part)
        case Closed(a=a, part=part):
            return Opened(a, part)
        case Inside(a=a) | InsidePart(a=a) | InZone(a=a) | At(a=a):
            return At(a, _elsewhere(sim, a))
    names = getattr(goal, "names", None)
    return replace(goal, names=tuple(reversed(names))) if names else goal  # type: ignore[call-arg]


def _swapped(sim: Any, stages: Stages) -> Stages | None:
    """The first two things that the goals move change places."""
    loose = [name for name in _named(stages) if not sim[name].fixed and name not in _parted(stages)]
    return _renamed(stages, {loose[0]: loose[1], loose[1]: loose[0]}) if len(loose) > 1 else None


def _another(sim: Any, stages: Stages) -> Stages | None:
    """Something that no goal names is taken instead of the first thing."""
    named = _named(stages)
    others = [thing.name for thing in sim.objects if thing.name not in named and not thing.fixed]
    first = next((name for name in named if not sim[name].fixed and name not in _parted(stages)), None)
    return _renamed(stages, {first: others[0]}) if others and first else None


def _another_part(sim: Any, stages: Stages) -> Stages | None:
    """Of every thing whose parts the goals name, another part is taken, where it has one."""
    turned = tuple((name, tuple(_with_part(sim, goal) for goal in goals)) for name, goals in stages)
    return None if turned == tuple(stages) else turned


def _parted(stages: Stages) -> set[str]:
    """Things whose parts the goals name: taken for something else they would have no such part."""
    goals = [goal for _, goals in stages for goal in goals]
    return {goal.objects[-1] for goal in goals if isinstance(goal, Opened | Closed | InsidePart)}


def _with_part(sim: Any, goal: Goal) -> Goal:
    if not isinstance(goal, Opened | Closed | InsidePart):
        return goal
    names = [part.name for part in sim[goal.objects[-1]].parts]
    return replace(goal, part=names[(names.index(goal.part) + 1) % len(names)])


def _misplaced(sim: Any, stages: Stages) -> Stages | None:
    """One thing is put somewhere else, what has no part in that stays undone."""
    moved = [name for _, goals in stages for goal in goals for name in _moving(goal) if not sim[name].fixed]
    return (("elsewhere", (At(moved[0], _elsewhere(sim, moved[0])),)),) if moved else None


def _half(sim: Any, stages: Stages) -> Stages | None:
    """The last part of the goals is left undone."""
    parts = [part for _, goals in stages for goal in goals for part in goal.parts]
    return (("half", tuple(parts[:-1])),) if len(parts) > 1 else None


def _rotated(sim: Any, stages: Stages) -> Stages | None:
    """Orders of three or more begin with their second: wrong by one."""
    turned = tuple((name, tuple(map(_by_one, goals))) for name, goals in stages)
    return None if turned == tuple(stages) else turned


KINDS: Mapping[str, Callable[[Any, Stages], Stages | None]] = {
    "nothing": _nothing,
    "inverted": _inverted,
    "swapped": _swapped,
    "another object": _another,
    "another part": _another_part,
    "misplaced": _misplaced,
    "half done": _half,
    "order": _rotated,
}
"""What each kind makes of the goals; None where it does not apply to them."""


def _by_one(goal: Goal) -> Goal:
    names = getattr(goal, "names", ())
    return replace(goal, names=(*names[1:], names[0])) if len(names) > 2 else goal  # type: ignore[call-arg]


def _named(stages: Stages) -> tuple[str, ...]:
    """Every object that a goal names, once, in order."""
    return tuple(dict.fromkeys(name for _, goals in stages for goal in goals for name in goal.objects))


def _moving(goal: Goal) -> Sequence[str]:
    """What has to be carried; of a tower all but its lowest, nothing of what is opened or shut."""
    if isinstance(goal, Opened | Closed):
        return ()
    parts = goal.parts if goal.parts != (goal,) else ()
    return [name for part in parts for name in _moving(part)] or goal.objects[:1]


def _renamed(stages: Stages, names: Mapping[str, str]) -> Stages:
    return tuple((name, tuple(_with(goal, names) for goal in goals)) for name, goals in stages)


def _with(value: Any, names: Mapping[str, str]) -> Any:
    """A goal, or what a goal holds, with names exchanged."""
    if isinstance(value, Goal):
        return replace(value, **{f.name: _with(getattr(value, f.name), names) for f in fields(value)})
    if isinstance(value, tuple):
        return tuple(_with(item, names) for item in value)
    return names.get(value, value) if isinstance(value, str) else value


def _elsewhere(sim: Any, name: str) -> tuple[float, float]:
    """A free place on the table, as far from where the thing stands as there is."""
    thing = sim[name]
    places = next(_free(sim, thing), None)
    if places is None:
        return float(thing.position[0]), float(thing.position[1])
    x, y = places[np.linalg.norm(places - thing.position[:2], axis=1).argmax()]
    return float(x), float(y)


def _free(sim: Any, thing: Any) -> Iterator[np.ndarray]:
    for gap in (0.03, 0.01, 0.0):
        places = spots.free(sim.scene.table, sim.objects, thing.reach, gap)
        if len(places):
            yield places
