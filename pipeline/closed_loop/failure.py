"""Why an episode of a policy failed, in seven classes, from what the robot touched and where the objects went."""

from collections.abc import Collection

import numpy as np

from pipeline.divergence import Episode

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
LATE_S, STILL_SHARE = 0.5, 0.01
"""The robot is at work if a joint moved by more than this share of its whole travel in the last seconds."""


def failure_class(episode: Episode, missing: Collection[str], placed: Collection[str]) -> str:
    """Return the class of a failed episode, one of `CLASSES`.

    Args:
        episode: with poses of objects, and contacts (T, 2) by name.
        missing: objects that goals have to move which do not hold at the end.
        placed: objects that goals have to move which hold at the end.
    """
    carried = {name: _carried(episode, name) for name in episode.objects}
    touched = [name for name in missing if name in carried and episode.contacts[name][:, 0].any()]
    lifted = [name for name in touched if carried[name].any()]
    pushed = [name for name in carried if name not in touched and not carried[name].any() and _pushed(episode, name)]
    if lifted:
        return _after_lift(episode, max(lifted, key=lambda name: int(np.flatnonzero(carried[name])[-1])))
    if not touched and any(carried[name].any() for name in carried if name not in (*missing, *placed)):
        return "wrong_object"
    if pushed:
        return "collision"
    if touched:
        return "missed_grasp"
    has_progress = any(carried[name].any() for name in placed if name in carried)
    return "time" if _is_at_work(episode) and (has_progress or not missing) else "never_reached"


def _carried(episode: Episode, name: str) -> np.ndarray:
    """Return at which samples the robot carries an object, of shape (T,), bool."""
    heights = episode.objects[name][:, 2] - episode.objects[name][0, 2]
    robot, other = episode.contacts[name].T
    return robot & (heights > np.where(other, 2 * LIFTED_M, LIFTED_M))  # what lies in a bowl rises with it


def _after_lift(episode: Episode, name: str) -> str:
    """Return the class of an episode whose last lift was that of an object."""
    last = int(np.flatnonzero(episode.contacts[name][:, 0])[-1])
    heights = episode.objects[name][:, 2]
    if last == len(heights) - 1 and _carried(episode, name)[last]:
        return "time"
    return "dropped" if heights[last] - heights[-1] > DROP_M else "wrong_place"


def _pushed(episode: Episode, name: str) -> bool:
    moved = np.linalg.norm(episode.objects[name][:, :3] - episode.objects[name][0, :3], axis=1)
    return bool(moved.max() > PUSHED_M)


def _is_at_work(episode: Episode) -> bool:
    positions = episode.positions
    late = positions[episode.times >= episode.times[-1] - LATE_S]
    return bool((np.ptp(late, axis=0) > STILL_SHARE * np.maximum(np.ptp(positions, axis=0), 1e-9)).any())
