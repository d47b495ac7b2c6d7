"""The camera's pose from points of the world and the pixels that show them."""

from dataclasses import dataclass

import cv2
import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from pipeline.errors import StudioError
from pipeline.frame import Intrinsics
from pipeline.geometry import transform

PIXEL_STD = 2.0
"""Standard deviation in pixels of a careful click."""
MIN_POINTS = 4
MIN_SPREAD = 0.03
"""Extent of the clicks across their longest direction, relative to the picture's diagonal, below which a pose is
arbitrary."""
ROBUST_STD = 2.5
"""Standard deviations beyond which a click counts less (Huber)."""


class AlignmentError(StudioError):
    """Points, pixels or files from which no pose can be computed."""


class AlignmentStopped(AlignmentError):
    """A person stopped the alignment."""


@dataclass(frozen=True, eq=False)
class CameraClicks:
    """Points of the world and the pixels that show them."""

    points: np.ndarray
    """Of shape (N, 3), in metres."""
    pixels: np.ndarray
    """Of shape (N, 2)."""
    pixel_std: float = PIXEL_STD


@dataclass(frozen=True, eq=False)
class CameraAlignment:
    """A camera's pose with its uncertainty."""

    world_from_camera: np.ndarray
    """Of shape (4, 4)."""
    covariance: np.ndarray
    """Of shape (6, 6): rotation vector in radians, then the camera's position in metres, both in camera axes."""
    residuals_px: np.ndarray
    """Distance in pixels of each click from its point as the camera sees it, of shape (N,)."""
    evidence: tuple[str, ...] = ("clicks",)
    """What the pose was computed from: "clicks", "table" and names of objects."""

    @property
    def rotation_std_deg(self) -> np.ndarray:
        """Standard deviations in degrees about the camera's x, y and z, of shape (3,)."""
        return np.degrees(np.sqrt(np.diag(self.covariance)[:3]))

    @property
    def position_std_m(self) -> np.ndarray:
        """Standard deviations in metres along the camera's x, y and z, of shape (3,)."""
        return np.sqrt(np.diag(self.covariance)[3:])


def align_camera(
    points_world: np.ndarray,
    pixels: np.ndarray,
    intrinsics: Intrinsics,
    guess: np.ndarray | None = None,
    pixel_std: float = PIXEL_STD,
) -> CameraAlignment:
    """Return the camera's pose from N >= 4 clicks: OpenCV's PnP solvers, refined by robust least squares.

    Args:
        points_world: of shape (N, 3), in metres.
        pixels: of shape (N, 2).
        guess: world_from_camera, of shape (4, 4); decides between two poses that explain the clicks equally well.
        pixel_std: standard deviation of a click; the residuals' own is used if it is larger.

    Raises AlignmentError if the clicks determine no pose.
    """
    points, pixels = check_clicks(points_world, pixels, intrinsics)
    starts = [*_solutions(points, pixels, intrinsics), *([] if guess is None else [np.asarray(guess, float)])]
    found = [_refined(start, points, pixels, intrinsics, pixel_std) for start in starts]
    found = [(pose, cost, jacobian) for pose, cost, jacobian in found if _in_front(pose, points)]
    if not found:
        raise AlignmentError("No camera in front of these points shows them there; are points and pixels in one order?")
    best = min(cost for _, cost, _ in found)
    # Difference of chi squared below which two poses explain the clicks equally well; the one near the guess is taken
    likely = [one for one in found if one[1] <= best + 6.0 / 2]
    near = np.asarray(guess, float) if guess is not None else min(likely, key=lambda one: one[1])[0]
    pose, _, jacobian = min(likely, key=lambda one: pose_distance(one[0], near))
    residuals = np.linalg.norm(project(pose, points, intrinsics) - pixels, axis=1)
    rms = float(np.sqrt(np.mean(residuals**2) / 2))
    # Residual (RMS) relative to the picture's diagonal above which points and pixels do not belong together
    if rms > 0.05 * np.hypot(intrinsics.width, intrinsics.height):
        raise AlignmentError(
            f"The best camera is {rms:.0f} pixels off (worst: click {int(residuals.argmax()) + 1}); "
            "check that each point has its own pixel."
        )
    spare = 2 * len(points) - 6
    measured = np.sqrt(np.sum(residuals**2) / spare) if spare else 0.0
    covariance = np.linalg.inv(jacobian.T @ jacobian) * max(1.0, measured / pixel_std) ** 2
    return CameraAlignment(pose, covariance, residuals)


def check_clicks(points: np.ndarray, pixels: np.ndarray, k: Intrinsics) -> tuple[np.ndarray, np.ndarray]:
    """Return both as floats. Raises AlignmentError in one line if they determine no pose."""
    points, pixels = np.asarray(points, float), np.asarray(pixels, float)
    if points.ndim != 2 or points.shape[1:] != (3,) or pixels.shape != (len(points), 2):
        raise AlignmentError(
            f"Points of shape {points.shape} and pixels of shape {pixels.shape} do not pair; (N, 3) and (N, 2) do."
        )
    if len(points) < MIN_POINTS:
        raise AlignmentError(f"{len(points)} clicks determine no pose; give at least {MIN_POINTS}, better 6.")
    if not (np.isfinite(points).all() and np.isfinite(pixels).all()):
        raise AlignmentError("A point or a pixel is not a finite number; remove that click.")
    outside = ((pixels < -0.5) | (pixels > [k.width - 0.5, k.height - 0.5])).any(axis=1)
    if outside.any():
        u, v = pixels[int(outside.argmax())]
        raise AlignmentError(f"Pixel ({u:g}, {v:g}) lies outside the picture of {k.width} x {k.height}.")
    spread = np.linalg.svd(points - points.mean(0), compute_uv=False)
    if spread[1] < max(0.02 * spread[0], 1e-3):
        raise AlignmentError("The points lie on one line, about which the camera could turn; click points beside it.")
    extent = np.linalg.svd(pixels - pixels.mean(0), compute_uv=False) / np.sqrt(len(pixels))
    if extent[1] < MIN_SPREAD * np.hypot(k.width, k.height) / 4 or extent[0] < MIN_SPREAD * np.hypot(k.width, k.height):
        raise AlignmentError("The clicks lie in a small part of the picture or on one line; spread them over it.")
    return points, pixels


def project(world_from_camera: np.ndarray, points_world: np.ndarray, k: Intrinsics) -> np.ndarray:
    """Return the pixels (N, 2) of points (N, 3); NaN for those behind the camera."""
    x, y, z = transform(np.linalg.inv(world_from_camera), points_world).T
    z = np.where(z > 1e-6, z, np.nan)
    return np.stack([x / z * k.fx + k.cx, y / z * k.fy + k.cy], -1)


def moved(world_from_camera: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Return the pose after a rotation vector and a shift, of shape (6,), both in camera axes."""
    turn = np.eye(4)
    turn[:3, :3], turn[:3, 3] = Rotation.from_rotvec(step[:3]).as_matrix(), step[3:]
    return world_from_camera @ turn


def difference(world_from_camera: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the step (6,) by which `moved` leads from the first pose to the other."""
    turn = np.linalg.inv(world_from_camera) @ other
    return np.concatenate([Rotation.from_matrix(turn[:3, :3]).as_rotvec(), turn[:3, 3]])


def pose_distance(pose: np.ndarray, other: np.ndarray) -> float:
    """Return metres between two poses plus radians between their axes, which weigh as at a distance of one metre."""
    step = difference(pose, other)
    return float(np.linalg.norm(step[:3]) + np.linalg.norm(step[3:]))


def click_errors(world_from_camera: np.ndarray, points: np.ndarray, pixels: np.ndarray, k: Intrinsics):
    """Return errors (2N,) in pixels, seen minus clicked, and their derivatives (2N, 6) by a step of `moved`."""
    camera = transform(np.linalg.inv(world_from_camera), points)
    x, y, z = camera.T
    zero = np.zeros_like(z)
    by_point = np.stack(
        [np.stack([k.fx / z, zero, -k.fx * x / z**2], -1), np.stack([zero, k.fy / z, -k.fy * y / z**2], -1)], 1
    )
    by_step = np.concatenate([cross_matrices(camera), np.broadcast_to(-np.eye(3), (len(points), 3, 3))], 2)
    seen = np.stack([x / z * k.fx + k.cx, y / z * k.fy + k.cy], -1)
    return (seen - pixels).ravel(), (by_point @ by_step).reshape(-1, 6)


def cross_matrices(vectors: np.ndarray) -> np.ndarray:
    """Return the matrices (N, 3, 3) that multiply as the cross product with vectors (N, 3) from the left."""
    return np.cross(vectors[:, None, :], np.eye(3)[None]).transpose(0, 2, 1)


def _solutions(points: np.ndarray, pixels: np.ndarray, k: Intrinsics) -> list[np.ndarray]:
    """Return the poses that OpenCV's solvers propose; points in a plane have two."""
    flat = np.linalg.svd(points - points.mean(0), compute_uv=False)
    methods = [cv2.SOLVEPNP_SQPNP, cv2.SOLVEPNP_ITERATIVE]
    if flat[2] < 1e-4 * flat[0]:
        methods.append(cv2.SOLVEPNP_IPPE)
    poses = []
    for method in methods:
        try:
            _, turns, shifts, _ = cv2.solvePnPGeneric(points, pixels, k.matrix, None, flags=method)
        except cv2.error:  # too few points for this method
            continue
        for turn, shift in zip(turns, shifts, strict=True):
            camera_from_world = np.eye(4)
            camera_from_world[:3, :3], camera_from_world[:3, 3] = cv2.Rodrigues(turn)[0], shift.ravel()
            if np.isfinite(camera_from_world).all():
                poses.append(np.linalg.inv(camera_from_world))
    return poses


def _refined(start: np.ndarray, points: np.ndarray, pixels: np.ndarray, k: Intrinsics, std: float):
    """Return the pose with the least robust cost near a start, its cost (half chi squared) and its Jacobian."""

    def errors(step: np.ndarray) -> np.ndarray:
        return np.nan_to_num((project(moved(start, step), points, k) - pixels).ravel() / std, nan=1e4)

    result = least_squares(errors, np.zeros(6), loss="huber", f_scale=ROBUST_STD, x_scale="jac", max_nfev=200)
    pose = moved(start, result.x)
    _, jacobian = click_errors(pose, points, pixels, k)
    weights = np.sqrt(np.minimum(1, ROBUST_STD / np.maximum(np.abs(result.fun), 1e-9)))
    return pose, float(result.cost), jacobian / std * weights[:, None]


def _in_front(world_from_camera: np.ndarray, points: np.ndarray) -> bool:
    return bool((transform(np.linalg.inv(world_from_camera), points)[:, 2] > 0.01).all())
