"""End states in which one object lies elsewhere than a solved run left it: a program's checks must fail in each.

They are counterfactuals without physics, so every carried object can be tried at several places in one process. The
other mutations (mutations.py) miss checks that look at one coordinate, at the sign or at some of the objects only.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from pipeline.simulation.goals.stages import lasting
from pipeline.simulation.rollout import Run

DISPLACED = "displaced"
"""Name of this mutation."""
STEP_M = 0.15
"""How far an object is displaced; more than any tolerance of a goal or a sensible check."""


def displaced_runs(sim: Any) -> Iterator[tuple[str, Run]]:
    """Yield what is different and the run: each object that the goals carry where it started, or to one side.

    The object then stands on the table. Runs that still claim to be solved; none where the original is not.
    """
    run = sim.rollout()
    if not run.solved:
        return
    end = run.state_at_end
    carried = dict.fromkeys(name for _, goals in sim.stages for goal in goals for name in goal.carried)
    for name in (name for name in carried if not sim[name].fixed):
        place, step = end[name].position[:2], f"{STEP_M * 100:.0f} cm"
        places = {
            "where it started": run.start(name).position[:2],
            f"{step} too far right": place + STEP_M * end.right,
            f"{step} too far left": place - STEP_M * end.right,
            f"{step} too far away": place + STEP_M * end.away,
            f"{step} too near": place - STEP_M * end.away,
        }
        for words, xy in places.items():
            state = end.put(name, xy)
            if _is_missed(sim, state):
                yield f"{name} ends {words}", replace(run, state_at_end=state, qpos=_moved(run, name, state))


def _is_missed(sim: Any, state: Any) -> bool:
    parts = [part for goal in lasting([goals for _, goals in sim.stages]) for part in goal.parts]
    return any(part.miss(state) > part.clear_miss for part in parts)


def _moved(run: Run, name: str, state: Any) -> np.ndarray:
    """Return the trajectory with the object's last place changed, so that its path ends there, too."""
    qpos, first = run.qpos.copy(), run._addresses.get(name)
    if first is not None:
        qpos[-1, first : first + 3] = state[name].position
    return qpos
