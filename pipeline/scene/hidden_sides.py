"""End reconstructed objects at their neighbours where nothing was seen of them.

The far side of a reconstruction is a guess. Where two objects overlap in the twin, the photograph shows that the guess
is too long. Its box is shortened on that side, but not beyond its measured points. Balls and cans keep their shape.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import cv2
import mujoco
import numpy as np

from pipeline.scene.placement import Placement, Scene
from pipeline.scene.settle import SettlingWorld

MAX_ROUNDS = 6
"""Rounds in which overlaps are looked for; each costs a compiled model."""
MIN_OVERLAP_M = 0.001
"""Overlap in metres from which a side is shortened. Contacts resolve a smaller one gently."""
MIN_REACH_M = 0.005
"""Overlap in metres from which a wall does not push an object."""
MIN_LEFT = 0.3
"""Share of its extent along an axis that an object keeps."""
POINTS_PERCENT = 1.0
"""Per cent of the measured points that may lie beyond each end, because depth bleeds over edges."""


@dataclass(frozen=True, eq=False)
class _Guess:
    """A reconstructed object and how far each side of its box may move inwards."""

    placement: Placement
    slack: np.ndarray
    """Of shape (2, 3), metres: at the low and the high end of each axis of the box."""

    def towards(self, direction: np.ndarray) -> tuple[int, int]:
        """Return the end (0 or 1) and the axis of the box that face a direction (3,)."""
        local = self.placement.world_from_object.rotation.T @ direction
        axis = int(np.abs(local).argmax())
        return int(local[axis] > 0), axis

    def shortened(self, end: int, axis: int, by: float) -> "_Guess":
        """Return it with one end moved inwards by so many metres; its mass shrinks with its volume."""
        p, size, slack = self.placement, self.placement.size.copy(), self.slack.copy()
        size[axis], slack[end, axis] = size[axis] - by, slack[end, axis] - by
        centre = p.world_from_object.pos + p.world_from_object.rotation[:, axis] * (0.5 - end) * by
        share = 1.0 if p.mass_source.startswith("model ") else float(size[axis] / p.size[axis])
        placement = replace(
            p.with_box(size, centre), mass=p.mass * share,
            mass_range=(p.mass_range[0] * share, p.mass_range[1] * share),
        )  # fmt: skip
        return _Guess(placement, slack)


def fit_together(scene: Scene, points: Mapping[int, np.ndarray]) -> Scene:
    """Return the scene with hidden sides that end at neighbours, and walls that do not push what reaches into them.

    `points` (N, 3) are the measured points of each object, by segment id. Raises SceneError.
    """
    return _apart_from_walls(_end_at_neighbours(scene, points))


def _end_at_neighbours(scene: Scene, points: Mapping[int, np.ndarray]) -> Scene:
    """Return the scene with hidden sides shortened where they reach into what the photograph shows beside them."""
    guesses = {p.name: _Guess(p, _slack(p, points[p.segment_id])) for p in scene.placements if _is_guessed(p, points)}
    placed_by_person = {p.name for p in scene.placements if p.segment_id not in points or p.machine_pose is not None}
    for _ in range(MAX_ROUNDS):
        placements = tuple(guesses[p.name].placement if p.name in guesses else p for p in scene.placements)
        scene = replace(scene, placements=placements)
        if not (_may_overlap(placements, guesses) or scene.walls):
            break
        changed = False
        for (first, second), (direction, depth) in _overlaps(scene).items():
            if {first, second} & placed_by_person:
                continue
            sides = [(name, guesses[name].towards(way)) for name, way in ((first, direction), (second, -direction))
                     if name in guesses]  # fmt: skip
            slack = {name: guesses[name].slack[side] for name, side in sides}
            total = sum(slack.values())
            for name, side in sides:
                by = slack[name] * min(1.0, depth / total) if total > 0 else 0.0
                if by > MIN_OVERLAP_M / 4:
                    guesses[name], changed = guesses[name].shortened(*side, by), True
        if not changed:
            break
    return scene


def _is_guessed(p: Placement, points: Mapping[int, np.ndarray]) -> bool:
    """Whether an object has guessed sides that may be shortened: a ball or a can would be one no more."""
    measured = len(points.get(p.segment_id, ())) >= 30 and p.machine_pose is None
    return measured and p.asset_id is None and not p.container and p.shape not in ("sphere", "cylinder")


def _apart_from_walls(scene: Scene) -> Scene:
    """Return the scene with walls that do not push what reaches into them: the photograph shows that it stands there.

    Masks that show a strip of the wall, too, make such objects.
    """
    if not scene.walls:
        return scene
    ids = {p.name: p.segment_id for p in scene.placements}
    pairs = [pair for pair, (_, depth) in _overlaps(scene).items() if depth > MIN_REACH_M]
    reaching = {
        wall.name: tuple(sorted(ids[name] for pair in pairs if wall.name in pair for name in pair if name in ids))
        for wall in scene.walls
    }
    return replace(scene, walls=tuple(replace(wall, not_touched=reaching[wall.name]) for wall in scene.walls))


def _slack(p: Placement, points: np.ndarray) -> np.ndarray:
    """Return how far each end of each axis may move inwards, of shape (2, 3), in metres."""
    local = (points - p.world_from_object.pos) @ p.world_from_object.rotation
    low, high = np.percentile(local, (POINTS_PERCENT, 100 - POINTS_PERCENT), axis=0)
    slack = np.clip([low + p.size / 2, p.size / 2 - high], 0, None)
    return slack * np.minimum(1, (1 - MIN_LEFT) * p.size / np.maximum(slack.sum(axis=0), 1e-9))


def _may_overlap(placements: Sequence[Placement], guesses: Mapping[str, _Guess]) -> bool:
    """Whether the boxes of a reconstructed object and another one overlap."""
    boxes = [(p, cv2.minAreaRect(p.footprint.astype(np.float32))) for p in placements]
    return any(
        (a.name in guesses or b.name in guesses)
        and min(a.top, b.top) - max(a.bottom, b.bottom) > MIN_OVERLAP_M
        and cv2.rotatedRectangleIntersection(one, other)[0] != cv2.INTERSECT_NONE
        for i, (a, one) in enumerate(boxes)
        for b, other in boxes[i + 1 :]
    )


def _overlaps(scene: Scene) -> dict[tuple[str, str], tuple[np.ndarray, float]]:
    """Return the level direction (3,) from one thing to another and their overlap in metres, by both names."""
    world = SettlingWorld(scene)
    mujoco.mj_forward(world.model, world.data)
    names = {int(world.model.body(one.name).id): one.name for one in (*scene.placements, *scene.walls)}
    found: dict[tuple[str, str], tuple[np.ndarray, float]] = {}
    for contact in world.data.contact[: world.data.ncon]:
        first, second = (names.get(int(world.model.geom_bodyid[geom])) for geom in contact.geom)
        normal, depth = contact.frame[:3].copy(), -float(contact.dist)
        # A steeper contact is one object on another
        if first is None or second is None or depth < MIN_OVERLAP_M or abs(normal[2]) > 0.7:
            continue
        if depth > found.get((first, second), (normal, 0.0))[1]:
            level = np.array([normal[0], normal[1], 0.0])
            found[first, second] = level / np.linalg.norm(level), depth
    return found
