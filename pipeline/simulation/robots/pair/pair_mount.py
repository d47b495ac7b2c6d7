"""Place the bases of two arms at the table, so that at least one of them reaches each object."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.geometry import planar_rotation
from pipeline.simulation.objects import Object, Region
from pipeline.simulation.robots.arm.mount import BASE_CLEARANCE_M, MAX_OFF_TABLE_M
from pipeline.simulation.robots.description import ArmModel
from pipeline.simulation.robots.robot import Mount

PLACE_STEP_M = 0.08


@dataclass(frozen=True, eq=False)
class PairMount(Mount):
    """Where the bases of a left and a right arm stand; `base` and `yaw` are those of the robot's frame."""

    bases: np.ndarray
    """World x and y of both bases in metres, of shape (2, 2)."""
    rings: np.ndarray
    """Inner and outer radius of the ring around each base, in metres, of shape (2, 2)."""

    def reaches(self, points: np.ndarray) -> np.ndarray:
        """Return which points (N, 2) lie in the ring of one arm and not too near to the other, of shape (N,)."""
        return np.any(_is_reached(_distances(points, self.bases[None])[0], self.rings), axis=-1)


def place_pair(
    objects: Sequence[Object], table: Region, away: np.ndarray, arms: tuple[ArmModel, ArmModel]
) -> PairMount:
    """Return the mount from which both arms together reach the objects and most of the table.

    The bases may stand on the table, clear of the objects: arms of tabletop pairs are short. `away` is the camera's
    viewing direction on the table, of shape (2,).
    """
    places, yaws, bases = _candidates(table, arms)
    points = bases.reshape(-1, 2)
    free = np.ones(len(points), bool)
    for item in objects:
        free &= Region(item.outline).distance(points) > BASE_CLEARANCE_M
    depth = table.depth(points)
    usable = (free & (depth > -MAX_OFF_TABLE_M)).reshape(-1, 2).all(1)
    if usable.any():
        places, yaws, bases, depth = places[usable], yaws[usable], bases[usable], depth.reshape(-1, 2)[usable].ravel()
    rings = np.array([[arm.reach.near, arm.reach.far] for arm in arms])
    xmin, ymin, xmax, ymax = table.bounds
    x, y = np.meshgrid(np.linspace(xmin, xmax, 13), np.linspace(ymin, ymax, 13))
    ground = np.stack([x.ravel(), y.ravel()], -1)
    ground = ground[table.depth(ground) > 0.03]
    positions = np.array([o.position[:2] for o in objects]).reshape(-1, 2)
    of_ground, of_objects = _distances(ground, bases), _distances(positions, bases)
    shared = _is_reached(of_ground, rings).all(-1).any(-1)
    sides = bases - table.centre
    sides /= np.maximum(np.linalg.norm(sides, axis=-1, keepdims=True), 1e-9)
    costs = (
        _error(of_ground, rings).mean(-1)
        + 4 * _error(of_objects, rings).max(-1, initial=0.0)
        # 0.02: cost of a base that stands on the table, as a mean error of reach: beside it is preferred, as for one
        # arm
        + 0.02 * (depth.reshape(-1, 2) > -0.06).sum(1)
        # Cost of a mount from which both arms reach no common place of the table: nothing could be handed over
        + 0.2 * ~shared
        # Cost of an object straight behind the arm that is nearer to it, half of it beside: arms face what they work on
        + 0.05 * _behind(positions, bases, yaws, arms)
        # Cost of a base straight between the camera and the middle of the table
        + 0.02 * np.maximum(0.0, -(sides @ away)).sum(1)
    )
    best = int(np.argmin(costs))
    near, far = (float(value) for value in rings[0])
    return PairMount(places[best], float(yaws[best]), near, far, bases[best], rings)


def _candidates(table: Region, arms: tuple[ArmModel, ArmModel]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return places (N, 2) and yaws (N,) of the robot's frame, and the bases (N, 2, 2) of its arms."""
    half = float(np.ptp(table.polygon, axis=0).max()) / 2 + MAX_OFF_TABLE_M
    steps = np.arange(-half, half, PLACE_STEP_M)
    x, y, yaw = np.meshgrid(
        # Directions that are tried at each place
        table.centre[0] + steps,
        table.centre[1] + steps,
        np.linspace(-np.pi, np.pi, 16, endpoint=False),
    )
    places, yaws = np.stack([x.ravel(), y.ravel()], -1), yaw.ravel()
    turns = np.array([planar_rotation(angle) for angle in yaws.tolist()])
    bases = places[:, None] + np.einsum("nij,aj->nai", turns, np.array([arm.place[:2] for arm in arms]))
    return places, yaws, bases


def _distances(points: np.ndarray, bases: np.ndarray) -> np.ndarray:
    """Return the distances of points (P, 2) from bases (N, 2, 2), of shape (N, P, 2)."""
    return np.linalg.norm(points[None, :, None] - bases[:, None], axis=-1)


def _is_reached(distances: np.ndarray, rings: np.ndarray) -> np.ndarray:
    """Return which of two arms reaches points at distances (..., 2) from their bases, of shape (..., 2)."""
    beside = (distances >= rings[:, 0]).all(-1, keepdims=True)
    return beside & (distances <= rings[:, 1])


def _error(distances: np.ndarray, rings: np.ndarray) -> np.ndarray:
    """Return by how many metres the nearer arm misses points at distances (..., 2), of shape (...)."""
    far = np.maximum(distances - rings[:, 1], 0.0).min(-1)
    return far + 2 * np.maximum(rings[:, 0] - distances, 0.0).max(-1)


def _behind(
    points: np.ndarray, bases: np.ndarray, yaws: np.ndarray, arms: tuple[ArmModel, ArmModel]
) -> np.ndarray | float:
    """Return how far points (P, 2) are behind the nearer arm, 0 (ahead) to 1 (behind) in the mean, of shape (N,)."""
    if not len(points):
        return 0.0
    offsets = points[None, :, None] - bases[:, None]
    distances = np.linalg.norm(offsets, axis=-1)
    ahead = yaws[:, None] + np.array([arm.place[2] for arm in arms])
    directions = np.stack([np.cos(ahead), np.sin(ahead)], -1)
    cosines = (offsets * directions[:, None]).sum(-1) / np.maximum(distances, 1e-9)
    nearer = np.take_along_axis(cosines, distances.argmin(-1)[..., None], -1)[..., 0]
    return (1 - nearer).mean(-1) / 2
