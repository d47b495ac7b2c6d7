"""Ways from one posture to another: straight where nothing is hit, else what OMPL's RRT-Connect finds."""

from collections.abc import Callable

import numpy as np
from ompl import base, geometric, util

APART = 0.05
"""Radians between two postures that are looked at on a straight way."""
LOOKS = 6000
"""Postures OMPL may look at before it gives up."""
ROOM = 1.3
"""Radians OMPL may leave the span between both ends by."""

Free = Callable[[np.ndarray], bool]


def straight(start: np.ndarray, end: np.ndarray, free: Free) -> bool:
    """Whether every posture between both, joint angles (6,) in radians, is free; the end is looked at first."""
    count = max(1, int(np.ceil(np.abs(end - start).max() / APART)))
    shares = np.linspace(1, 0, count, endpoint=False)
    return all(free(start + share * (end - start)) for share in shares)


def path(start: np.ndarray, end: np.ndarray, free: Free, limits: np.ndarray, seed: int = 1) -> list[np.ndarray] | None:
    """Postures from start to end, both included; None where no way was found. Limits are of shape (6, 2)."""
    if straight(start, end, free):
        return [start, end]
    return _planned(start, end, free, limits, seed) if free(end) and free(start) else None


def _planned(start: np.ndarray, end: np.ndarray, free: Free, limits: np.ndarray, seed: int) -> list[np.ndarray] | None:
    util.noOutputHandler()
    util.RNG.setSeed(seed)
    size, looks = len(start), [0]
    space = base.RealVectorStateSpace(size)
    bounds = base.RealVectorBounds(size)
    for i in range(size):
        bounds.setLow(i, float(max(limits[i, 0], min(start[i], end[i]) - ROOM)))
        bounds.setHigh(i, float(min(limits[i, 1], max(start[i], end[i]) + ROOM)))
    space.setBounds(bounds)

    def valid(state) -> bool:
        looks[0] += 1
        return bool(free(np.array([state[i] for i in range(size)])))

    setup = geometric.SimpleSetup(space)
    setup.setStateValidityChecker(valid)
    setup.getSpaceInformation().setStateValidityCheckingResolution(APART / space.getMaximumExtent())
    ends = []
    for q in (start, end):
        state = space.allocState()
        for i in range(size):
            state[i] = float(q[i])  # pyright: ignore[reportIndexIssue]  a state of real vectors has these
        ends.append(state)
    setup.setStartAndGoalStates(*ends)
    setup.setPlanner(geometric.RRTConnect(setup.getSpaceInformation()))
    setup.solve(base.PlannerTerminationCondition(lambda: looks[0] > LOOKS))
    if not setup.haveExactSolutionPath():
        return None
    states = setup.getSolutionPath().getStates()
    corners = [np.array([s[i] for i in range(size)]) for s in states]  # pyright: ignore[reportIndexIssue]
    return _shortened(corners, free)


def _shortened(way: list[np.ndarray], free: Free) -> list[np.ndarray]:
    """Leaves out postures between which a straight way is free."""
    kept, at = [way[0]], 0
    while at < len(way) - 1:
        at = next((j for j in range(len(way) - 1, at + 1, -1) if straight(way[at], way[j], free)), at + 1)
        kept.append(way[at])
    return kept
