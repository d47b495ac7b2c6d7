"""Joint paths between postures: straight if collision-free, else by OMPL's RRT-Connect."""

from collections.abc import Callable

import numpy as np
from ompl import base, geometric, util

CHECK_STEP_RAD = 0.05
"""Joint distance between checked postures of a straight path."""
MAX_DETOUR_RAD = 1.3
"""How far OMPL may leave the range between both ends, per joint."""

_LEVEL_JOINTS = np.array([0, 1, 2, 5])

IsFree = Callable[[np.ndarray], bool]


def is_straight_path_free(start: np.ndarray, end: np.ndarray, is_free: IsFree) -> bool:
    """Whether every posture between two, joint angles (6,) in radians, is free; the end is checked first."""
    count = max(1, int(np.ceil(np.abs(end - start).max() / CHECK_STEP_RAD)))
    fractions = np.linspace(1, 0, count, endpoint=False)
    return all(is_free(start + fraction * (end - start)) for fraction in fractions)


def plan_path(
    start: np.ndarray, end: np.ndarray, is_free: IsFree, limits: np.ndarray, seed: int = 1
) -> list[np.ndarray] | None:
    """Return postures from start to end, both included; None if no path was found. `limits` have shape (6, 2)."""
    if is_straight_path_free(start, end, is_free):
        return [start, end]
    return _plan_rrt(start, end, is_free, limits, seed) if is_free(end) and is_free(start) else None


def plan_level_path(
    start: np.ndarray, end: np.ndarray, is_free: IsFree, limits: np.ndarray, seed: int = 1
) -> list[np.ndarray] | None:
    """Return a path on which the tool keeps its tilt, as `plan_path`; None also where both ends differ in tilt.

    The tool keeps its tilt while the sum of the three joints with parallel axes and the second wrist joint stay the
    same, which leaves four joints to plan.
    """
    tilts = [np.array([q[1:4].sum(), q[4]]) for q in (start, end)]
    # Largest change of the tool's tilt along a level path
    if np.abs(tilts[1] - tilts[0]).max() > 0.35:
        return None
    first, way = start[_LEVEL_JOINTS], end[_LEVEL_JOINTS] - start[_LEVEL_JOINTS]

    def all_joints(x: np.ndarray) -> np.ndarray:
        share = float(np.clip((x - first) @ way / max(float(way @ way), 1e-12), 0, 1))
        total, wrist = tilts[0] + share * (tilts[1] - tilts[0])
        return np.array([x[0], x[1], x[2], total - x[1] - x[2], wrist, x[3]])

    def is_level_free(x: np.ndarray) -> bool:
        q = all_joints(x)
        return bool((q > limits[:, 0]).all() and (q < limits[:, 1]).all() and is_free(q))

    path = plan_path(first, end[_LEVEL_JOINTS], is_level_free, limits[_LEVEL_JOINTS], seed)
    return path and [all_joints(x) for x in path]


def _plan_rrt(
    start: np.ndarray, end: np.ndarray, is_free: IsFree, limits: np.ndarray, seed: int
) -> list[np.ndarray] | None:
    util.noOutputHandler()
    util.RNG.setSeed(seed)
    size, checks = len(start), [0]
    space = base.RealVectorStateSpace(size)
    bounds = base.RealVectorBounds(size)
    for i in range(size):
        bounds.setLow(i, float(max(limits[i, 0], min(start[i], end[i]) - MAX_DETOUR_RAD)))
        bounds.setHigh(i, float(min(limits[i, 1], max(start[i], end[i]) + MAX_DETOUR_RAD)))
    space.setBounds(bounds)

    def valid(state) -> bool:
        checks[0] += 1
        return bool(is_free(np.array([state[i] for i in range(size)])))

    setup = geometric.SimpleSetup(space)
    setup.setStateValidityChecker(valid)
    setup.getSpaceInformation().setStateValidityCheckingResolution(CHECK_STEP_RAD / space.getMaximumExtent())
    ends = []
    for q in (start, end):
        state = space.allocState()
        for i in range(size):
            state[i] = float(q[i])  # pyright: ignore[reportIndexIssue]  a state of real vectors has these
        ends.append(state)
    setup.setStartAndGoalStates(*ends)
    setup.setPlanner(geometric.RRTConnect(setup.getSpaceInformation()))
    # Postures that OMPL may check before it gives up
    setup.solve(base.PlannerTerminationCondition(lambda: checks[0] > 6000))
    if not setup.haveExactSolutionPath():
        return None
    states = setup.getSolutionPath().getStates()
    waypoints = [np.array([s[i] for i in range(size)]) for s in states]  # pyright: ignore[reportIndexIssue]
    return _shorten(waypoints, is_free)


def _shorten(path: list[np.ndarray], is_free: IsFree) -> list[np.ndarray]:
    """Remove postures between which a straight path is free."""
    shortened, i = [path[0]], 0
    while i < len(path) - 1:
        candidates = range(len(path) - 1, i + 1, -1)
        i = next((j for j in candidates if is_straight_path_free(path[i], path[j], is_free)), i + 1)
        shortened.append(path[i])
    return shortened
