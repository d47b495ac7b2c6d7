"""Where the camera's rays meet boxes, cylinders and balls, and these moved and resized until the rays agree best."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from pipeline.assets.reconstruct.evidence import Evidence
from pipeline.assets.reconstruct.proposal import SMALLEST, about_z

TRIES = 160
"""Shapes that are asked about while one is looked for."""
HOLD, SHRINK = 0.01, 0.04
"""How much a shape is held to what was measured, and from getting smaller: it decides where the rays say nothing."""

Met = tuple[np.ndarray, np.ndarray]
"""Along each ray, of shape (N,), infinite where it misses, and the normals there, of shape (N, 3), world axes."""


def agreed(
    evidence: Evidence,
    meets: Callable[[np.ndarray], Met],
    start: np.ndarray,
    sizes: slice,
    tries: int = TRIES,
    measured: np.ndarray | None = None,
) -> np.ndarray:
    """The numbers near `start` with which a shape errs least; those in `sizes` are lengths and stay above SMALLEST.

    It is held to what was `measured`, the start where nothing is said.
    """
    held_to = start if measured is None else measured

    def error(x: np.ndarray) -> float:
        held = HOLD * float(np.linalg.norm(x - held_to))
        held += SHRINK * float(np.linalg.norm(np.minimum(x - held_to, 0)[sizes]))
        return 1.0 if min(x[sizes]) < SMALLEST / 2 else evidence.error(*meets(x)) + held

    steps = np.full(len(start), 0.006)
    steps[sizes] = -0.05 * start[sizes]
    simplex = np.vstack([start, start + np.diag(steps)])
    options = {"initial_simplex": simplex, "maxfev": tries, "xatol": 2e-4, "fatol": 1e-6}
    return minimize(error, start, method="Nelder-Mead", options=options).x


def meets_box(evidence: Evidence, middle: np.ndarray, yaw: float, size: np.ndarray) -> Met:
    """A box with its size (3,) along its own axes."""
    turn = about_z(yaw)
    eye, rays = (evidence.eye - middle) @ turn, _nonzero(evidence.rays @ turn)
    ends = np.stack([(-size / 2 - eye) / rays, (size / 2 - eye) / rays])
    near, far = ends.min(0), ends.max(0)
    along = near.max(1)
    return np.where((along < far.min(1)) & (along > 0), along, np.inf), turn.T[near.argmax(1)]


def meets_cylinder(evidence: Evidence, middle: np.ndarray, turn: np.ndarray, radius: float, length: float) -> Met:
    """A cylinder about the z of `turn`, (3, 3)."""
    eye, rays = (evidence.eye - middle) @ turn, _nonzero(evidence.rays @ turn)
    a = (rays[:, :2] ** 2).sum(1)
    b = rays[:, :2] @ eye[:2]
    room = b**2 - a * (eye[:2] @ eye[:2] - radius**2)
    side = np.where(room > 0, (-b - np.sqrt(room.clip(0))) / a, np.inf)
    at = eye + np.where(np.isfinite(side), side, 0)[:, None] * rays
    side = np.where(np.abs(at[:, 2]) < length / 2, side, np.inf)
    end = (np.sign(eye[2]) * length / 2 - eye[2]) / rays[:, 2]
    on_end = ((eye[:2] + end[:, None] * rays[:, :2]) ** 2).sum(1) < radius**2
    end = np.where(on_end & (abs(eye[2]) > length / 2) & (end > 0), end, np.inf)
    normals = np.where((end < side)[:, None], [0.0, 0, 1], np.c_[at[:, :2] / radius, np.zeros(len(at))])
    return np.minimum(side, end), normals @ turn.T


def meets_ball(evidence: Evidence, middle: np.ndarray, radius: float) -> Met:
    eye, rays = evidence.eye - middle, evidence.rays
    a, b = (rays**2).sum(1), rays @ eye
    room = b**2 - a * (eye @ eye - radius**2)
    along = np.where(room > 0, (-b - np.sqrt(room.clip(0))) / a, np.inf)
    return along, (eye + np.where(np.isfinite(along), along, 0)[:, None] * rays) / radius


def meets_mesh(evidence: Evidence, vertices: np.ndarray, faces: np.ndarray) -> Met:
    return evidence.cast(vertices, faces, evidence.rays)


def _nonzero(rays: np.ndarray) -> np.ndarray:
    return np.where(np.abs(rays) < 1e-9, 1e-9, rays)
