"""Why an episode of a policy failed, in seven classes, from what the robot touched and where the objects went."""

from collections.abc import Callable, Collection, Mapping, Sequence

import mujoco
import numpy as np

from pipeline.divergence import Episode
from pipeline.divergence.events import find_events
from pipeline.simulation.physics import GRIPPER

CLASSES = {
    "never_reached": "it never touched what it had to move",
    "wrong_object": "it carried an object that no goal is about",
    "collision": "it pushed something else aside",
    "missed_grasp": "it touched what it had to move, and never lifted it",
    "dropped": "it let go in the air",
    "wrong_place": "it put the right object in a wrong place",
    "time": "the time was over while it was at work",
}
"""Each class with its sentence."""
LIFTED_M = 0.01
"""Rise above the start at which an object that only the robot touches is carried."""
PUSHED_M = 0.03
"""Distance by which an object that was not carried has been pushed aside."""
DROP_M = 0.03
"""Fall after the robot's last touch from which an object was dropped, not put down."""
GRASP_M, AROUND_M = 0.06, 0.02
"""Gap between robot and object at which a hand that closes misses it: less than a hand's width; and at which a hand is
around or upon it, though it does not close."""
LATE_S, STILL_SHARE = 0.5, 0.01
"""The robot is at work if a joint moved by more than this share of its whole travel in the last seconds."""
IDLE = 0.01
"""Metres or radians: a robot whose joints all moved less did nothing, and no gap needs to be measured."""
APPROACH_M, APPROACH_SHARE = 0.01, 0.5
"""A robot is on its way to an object if it is as near as ever, to this, and this share of the way is behind it."""

GAP_SAMPLES, FAR_M = 4, 1.0
"""One in so many samples, eight a second, at which gaps are measured; the largest one that is told apart."""

Gaps = Callable[[str], np.ndarray]
"""Gap between the robot and an object, by its name, at each sample of an episode: (T,), metres."""


def failure_class(episode: Episode, missing: Collection[str], placed: Collection[str], gaps: Gaps) -> str:
    """Return the class of a failed episode, one of `CLASSES`.

    Args:
        episode: with poses of objects, and contacts (T, 2) by name.
        missing: objects that goals have to move which do not hold at the end.
        placed: objects that goals have to move which hold at the end.
        gaps: asked where the robot touched nothing that it had to move.
    """
    carried = {name: _carried(episode, name) for name in episode.objects}
    touched = [name for name in missing if name in carried and episode.contacts[name][:, 0].any()]
    lifted = [name for name in touched if carried[name].any()]
    others = [name for name in carried if name not in touched and not carried[name].any()]
    pushed = [at for name in others if (at := _pushed_at(episode, name)) is not None]
    if lifted:
        last = max(lifted, key=lambda name: int(np.flatnonzero(carried[name])[-1]))
        by_robot = [_pushed_by_robot_at(episode, name, carried) for name in others if name not in placed]
        return _after_lift(episode, last, [at for at in by_robot if at is not None])
    if not touched and any(carried[name].any() for name in carried if name not in (*missing, *placed)):
        return "wrong_object"
    if pushed:
        return "collision"
    if touched:
        return "missed_grasp"
    return _without_touch(episode, [name for name in missing if name in carried], gaps, _progress(carried, placed))


def _progress(carried: Mapping[str, np.ndarray], placed: Collection[str]) -> bool:
    return any(carried[name].any() for name in placed if name in carried)


def _without_touch(episode: Episode, missing: Sequence[str], gaps: Gaps, has_progress: bool) -> str:
    """Return the class of an episode in which the robot touched nothing that it still had to move."""
    is_at_work = _is_at_work(episode)
    if is_at_work and (has_progress or not missing):
        return "time"
    closed = [hold.grasp for arm in find_events(episode).values() for hold in arm.holds]
    if not closed and np.ptp(episode.positions, axis=0).max() < IDLE:
        return "never_reached"
    for gap in map(gaps, missing):
        if (np.interp(closed, episode.times, gap) < GRASP_M).any():
            return "missed_grasp"
        if is_at_work and gap[-1] < min(gap.min() + APPROACH_M, (1 - APPROACH_SHARE) * gap[0]):
            return "time"
        if gap.min() < AROUND_M:
            return "missed_grasp"
    return "never_reached"


def _carried(episode: Episode, name: str) -> np.ndarray:
    """Return at which samples the robot carries an object, of shape (T,), bool."""
    heights = episode.objects[name][:, 2] - episode.objects[name][0, 2]
    robot, other = episode.contacts[name].T
    return robot & (heights > np.where(other, 2 * LIFTED_M, LIFTED_M))  # what lies in a bowl rises with it


def _after_lift(episode: Episode, name: str, pushed: Sequence[int]) -> str:
    """Return the class of an episode whose last lift was that of an object.

    What the robot pushed aside at samples `pushed` before it let go comes first.
    """
    last = int(np.flatnonzero(episode.contacts[name][:, 0])[-1])
    heights = episode.objects[name][:, 2]
    if any(at < last for at in pushed):
        return "collision"
    if last == len(heights) - 1 and _carried(episode, name)[last]:
        return "time"
    return "dropped" if heights[last] - heights[-1] > DROP_M else "wrong_place"


def _pushed_at(episode: Episode, name: str) -> int | None:
    """Return the first sample at which an object has been pushed aside; None if it never was."""
    moved = np.linalg.norm(episode.objects[name][:, :3] - episode.objects[name][0, :3], axis=1) > PUSHED_M
    return int(moved.argmax()) if moved.any() else None


def _pushed_by_robot_at(episode: Episode, name: str, carried: Mapping[str, np.ndarray]) -> int | None:
    """Return the same of an object that the robot, or what it carries, has pushed; it rolls on without a touch."""
    at = _pushed_at(episode, name)
    touched = episode.contacts[name][:, 0] | np.any([c for other, c in carried.items() if other != name], axis=0)
    return at if at is not None and touched[: at + 1].any() else None


def _is_at_work(episode: Episode) -> bool:
    positions = episode.positions
    late = positions[episode.times >= episode.times[-1] - LATE_S]
    return bool((np.ptp(late, axis=0) > STILL_SHARE * np.maximum(np.ptp(positions, axis=0), 1e-9)).any())


def gaps_between(model: mujoco.MjModel, qpos: np.ndarray) -> Gaps:
    """Return the gaps between a model's robot and its objects over coordinates (T, nq).

    They are measured at one in GAP_SAMPLES of the samples, and linear between.
    """
    data = mujoco.MjData(model)
    tree = model.body_rootid[model.geom_bodyid]
    collide = (model.geom_contype | model.geom_conaffinity).astype(bool)
    own = np.flatnonzero(collide & (tree == model.body_rootid[model.body(GRIPPER).id]))
    chosen = np.unique([*range(0, len(qpos), GAP_SAMPLES), len(qpos) - 1])

    def gaps(name: str) -> np.ndarray:
        geoms, found = np.flatnonzero(collide & (tree == model.body_rootid[model.body(name).id])), []
        for positions in qpos[chosen]:
            data.qpos[:] = positions
            mujoco.mj_kinematics(model, data)
            pairs = [mujoco.mj_geomDistance(model, data, int(a), int(b), FAR_M, None) for a in own for b in geoms]
            found.append(min(pairs))
        return np.interp(np.arange(len(qpos)), chosen, found)

    return gaps
