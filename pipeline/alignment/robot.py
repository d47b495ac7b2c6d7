"""The robot's base in the world, from clicks on its tool at known joint angles."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from pipeline.alignment.camera import PIXEL_STD, ROBUST_STD, AlignmentError, project
from pipeline.frame import Intrinsics
from pipeline.geometry import transform

MAX_STD = (0.2, 0.1)
"""Radians and metres of uncertainty above which the clicks do not determine the base."""
START_YAWS, REFINED_STARTS = 12, 4
DAMPING = 1e-9
"""Keeps the normal equations solvable where the clicks leave a direction free."""


@dataclass(frozen=True, eq=False)
class ToolClick:
    """A point of the robot's tool, clicked in a photograph."""

    pixel: np.ndarray
    """Of shape (2,)."""
    base_from_point: np.ndarray
    """The point in the base's axes at the photograph's joint angles, of shape (3,), in metres."""
    world_from_camera: np.ndarray
    """Of shape (4, 4)."""
    intrinsics: Intrinsics
    depth: float | None = None
    """Distance along the camera's z in metres; None if not measured."""


@dataclass(frozen=True, eq=False)
class RobotAlignment:
    """The base's pose with its uncertainty."""

    world_from_base: np.ndarray
    """Of shape (4, 4)."""
    covariance: np.ndarray | None = None
    """Of shape (6, 6): rotation vector in radians, then position in metres, in world axes; the cameras are taken as
    exact. None for a pose from a file."""
    residuals_px: np.ndarray | None = None
    """Distance in pixels of each click, of shape (N,); None for a pose from a file."""


def align_robot(clicks: Sequence[ToolClick], upright: bool = True, pixel_std: float = PIXEL_STD) -> RobotAlignment:
    """Return the base's pose that shows the tool where it was clicked, by robust least squares from several starts.

    Args:
        upright: the base's z is the world's, so that two clicks in different postures suffice.

    Raises AlignmentError if the clicks leave the base free to move.
    """
    # (3, 4, 5, 2): parameters of an upright base: position x, y, z and the turn about z
    free = (3, 4, 5, 2) if upright else (0, 1, 2, 3, 4, 5)
    given = sum(2 if click.depth is None else 3 for click in clicks)
    values = [value for c in clicks for value in (*c.pixel, *c.base_from_point, 0 if c.depth is None else c.depth)]
    if len(clicks) < 2 or given < len(free):
        raise AlignmentError(
            f"{len(clicks)} clicks on the tool do not determine the base; click it in at least "
            f"{2 if upright else 3} postures."
        )
    if not np.isfinite(values).all():
        raise AlignmentError("A click on the tool, its depth or a joint angle is not a finite number.")
    flips = (0.0,) if upright else (0.0, np.pi)
    yaws = np.arange(START_YAWS) * 2 * np.pi / START_YAWS
    starts = [_start(clicks, Rotation.from_euler("xz", [flip, yaw]).as_matrix()) for flip in flips for yaw in yaws]
    starts.sort(key=lambda start: float(np.sum(_errors(clicks, start, pixel_std) ** 2)))
    fits = [_fit(clicks, start, free, pixel_std) for start in starts[:REFINED_STARTS]]
    pose, _, jacobian = min(fits, key=lambda fit: fit[1])
    information = jacobian.T @ jacobian
    covariance = np.zeros((6, 6))
    covariance[np.ix_(free, free)] = np.linalg.inv(information + DAMPING * np.eye(len(free)))
    std = np.sqrt(np.diag(covariance))
    if std[:3].max() > MAX_STD[0] or std[3:].max() > MAX_STD[1]:
        raise AlignmentError(
            "The clicks leave the base free to move: click the tool in postures further apart, in another photograph, "
            "or give its depth."
        )
    residuals = np.array([np.linalg.norm(_seen(click, pose) - click.pixel) for click in clicks])
    if not np.isfinite(residuals).all():
        raise AlignmentError(
            "The tool would lie behind the camera; are camera poses and joint angles those of the photographs?"
        )
    spare = given - len(free)
    measured = float(np.sqrt(np.sum(residuals**2) / spare)) if spare else 0.0
    return RobotAlignment(pose, covariance * max(1.0, measured / pixel_std) ** 2, residuals)


def _start(clicks: Sequence[ToolClick], rotation: np.ndarray) -> np.ndarray:
    """Return the pose (4, 4) of this rotation whose position brings the tool nearest to the clicked rays."""
    rows, values = [], []
    for click in clicks:
        ray = click.world_from_camera[:3, :3] @ click.intrinsics.ray_directions(*click.pixel)
        across = np.eye(3) - np.outer(ray, ray) / (ray @ ray)
        rows.append(across)
        values.append(across @ (click.world_from_camera[:3, 3] - rotation @ click.base_from_point))
    pose = np.eye(4)
    pose[:3, :3] = rotation
    pose[:3, 3] = np.linalg.lstsq(np.concatenate(rows), np.concatenate(values), rcond=None)[0]
    return pose


def _fit(clicks: Sequence[ToolClick], start: np.ndarray, free: Sequence[int], std: float):
    """Return the pose with the least cost near a start, its cost, and its Jacobian (N, free)."""

    def errors(parameters: np.ndarray) -> np.ndarray:
        return _errors(clicks, _moved(start, parameters, free), std)

    result = least_squares(errors, np.zeros(len(free)), loss="huber", f_scale=ROBUST_STD, x_scale="jac", max_nfev=100)
    return _moved(start, result.x, free), float(result.cost), result.jac


def _errors(clicks: Sequence[ToolClick], pose: np.ndarray, std: float) -> np.ndarray:
    """Return the errors of pixels and depths in standard deviations."""
    rows = [(_seen(click, pose) - click.pixel) / std for click in clicks]
    # Standard deviation in metres of the depth at a clicked tool, whose point lies inside it
    rows += [[(_depth(c, pose) - c.depth) / 0.005] for c in clicks if c.depth is not None]
    return np.nan_to_num(np.concatenate(rows), nan=1e3)


def _moved(start: np.ndarray, parameters: np.ndarray, free: Sequence[int]) -> np.ndarray:
    step = np.zeros(6)
    step[list(free)] = parameters
    pose = start.copy()
    pose[:3, :3] = Rotation.from_rotvec(step[:3]).as_matrix() @ start[:3, :3]
    pose[:3, 3] += step[3:]
    return pose


def _seen(click: ToolClick, world_from_base: np.ndarray) -> np.ndarray:
    """Return the pixel (2,) in which the point lies; NaN behind the camera."""
    return project(click.world_from_camera, transform(world_from_base, click.base_from_point)[None], click.intrinsics)[
        0
    ]


def _depth(click: ToolClick, world_from_base: np.ndarray) -> float:
    world = transform(world_from_base, click.base_from_point)
    return float(transform(np.linalg.inv(click.world_from_camera), world)[2])
