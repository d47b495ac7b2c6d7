"""Coloured point clouds and scans (PLY, GLB), photographed by a camera of ours."""

import math
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
from scipy import ndimage

from pipeline.frame.assemble import assemble
from pipeline.frame.camera import Camera, check_intrinsics
from pipeline.frame.formats.bundle import read_bytes
from pipeline.frame.formats.recording import Recording
from pipeline.frame.frame import Frame, FrameError, Intrinsics
from pipeline.frame.reprojection import project
from pipeline.geometry import transform

OPENGL = np.diag([1.0, -1, -1, 1])
"""OpenCV's camera axes in OpenGL's, and back."""
Z_UP_FROM_Y_UP = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
FEWEST, MOST = 2_000, 20_000_000
"""Points."""
SAMPLES = 600_000
"""Points drawn on a scan that has faces."""
WIDEST, NARROWEST = 640, 160
"""Pixels across the picture, as many as the points can fill."""
TILT = math.radians(40)
"""How steeply a camera of our own choice looks down."""
VIEW = math.radians(60)
UNSEEN = 128
"""Grey of what the cloud does not show."""
GAP = 3
"""Pixels: holes no wider are filled from what surrounds them."""


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points with colour, in whatever axes the file has."""

    points: np.ndarray
    """Of shape (N, 3), float64."""
    colours: np.ndarray
    """Of shape (N, 3), uint8."""
    camera: np.ndarray | None = None
    """Where the file's own camera stands, cloud_from_camera, of shape (4, 4), OpenCV axes."""
    view: float = VIEW
    """Horizontal opening angle of that camera, in radians."""


def open_cloud(path: Path) -> Recording:
    """The picture of a cloud. Raises FrameError."""
    cloud = read_cloud(read_bytes(path), path.suffix.lower()[1:], path.name)
    return Recording("point cloud", (path.name,), lambda _: photograph(cloud, path.suffix.lower() == ".glb", path.name))


def read_cloud(raw: bytes, kind: str, name: str) -> Cloud:
    """The points of a PLY or GLB; where it has faces, points drawn evenly on them. Raises FrameError."""
    try:
        scene = trimesh.load_scene(BytesIO(raw), file_type=kind)
        parts = [_coloured(part) for part in scene.dump()]
        own = scene.camera_transform @ OPENGL if scene.has_camera else None
        view = math.radians(scene.camera.fov[0]) if scene.has_camera else VIEW
    except Exception:  # trimesh raises whatever it meets in a broken file
        raise FrameError(f"{name} is not a {kind.upper()} that can be read, or cut short.") from None
    parts = [part for part in parts if part is not None]
    if not parts:
        raise FrameError(f"{name} holds no coloured points; export it with colours at its vertices, or a texture.")
    points, colours = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    sound = np.isfinite(points).all(1) & (np.abs(points) < 1e6).all(1)
    if not FEWEST <= np.count_nonzero(sound) <= MOST:
        raise FrameError(f"{name} holds {np.count_nonzero(sound)} points; {FEWEST} to {MOST} make a picture.")
    return Cloud(points[sound].astype(float), colours[sound], own, view)


def photograph(cloud: Cloud, y_up: bool, name: str) -> Frame:
    """The cloud seen from its own camera, from where it was taken, or from in front and above. Raises FrameError."""
    points, view, pose, told = _placed(cloud, y_up)
    front = points[:, 2] > 1e-3
    if np.count_nonzero(front) < FEWEST:
        raise FrameError(f"{name}: its camera sees none of its points; leave the camera out to have one chosen.")
    points, colours = points[front], cloud.colours[front]
    width = int(np.clip(math.sqrt(len(points) * 4 / 3), NARROWEST, WIDEST)) // 4 * 4
    focal = width / 2 / math.tan(view / 2)
    k = Intrinsics(width, width * 3 // 4, focal, focal, (width - 1) / 2, (width * 3 // 4 - 1) / 2)
    check_intrinsics(k, name)
    rgb, depth = draw(points, colours, k)
    return assemble(rgb, depth, Camera(k, None, pose, notes=told), name)


def draw(points: np.ndarray, colours: np.ndarray, k: Intrinsics) -> tuple[np.ndarray, np.ndarray]:
    """Colour (H, W, 3) and depth (H, W) of points in camera axes; the nearest wins, small holes are filled."""
    pixels, inside = project(points, k)
    order = np.flatnonzero(inside)[np.argsort(-points[inside, 2], kind="stable")]  # far first, so that near ones stay
    rows, cols = pixels[order, 1], pixels[order, 0]
    rgb, depth = np.zeros((k.height, k.width, 3), np.uint8), np.zeros((k.height, k.width))
    rgb[rows, cols], depth[rows, cols] = colours[order], points[order, 2]
    known = depth > 0
    closed = np.asarray(ndimage.binary_closing(np.pad(known, GAP), iterations=GAP), bool)[GAP:-GAP, GAP:-GAP] | known
    if known.any():
        row, col = np.asarray(ndimage.distance_transform_edt(~known, return_distances=False, return_indices=True))
        rgb, depth = np.where(closed[..., None], rgb[row, col], UNSEEN), np.where(closed, depth[row, col], 0)
    return rgb.astype(np.uint8), depth


def _placed(cloud: Cloud, y_up: bool) -> tuple[np.ndarray, float, np.ndarray | None, tuple[str, ...]]:
    """Points in camera axes, the opening angle, the camera's pose if the cloud knows up, and what was assumed."""
    points = cloud.points
    if cloud.camera is not None:
        return _moved(points, np.linalg.inv(cloud.camera)), cloud.view, None, ("Seen from the file's own camera.",)
    for axes, turn in (("x right, y down, z forward", np.eye(4)), ("x right, y up, z backward", OPENGL)):
        seen = _moved(points, turn)
        view = _view_of(seen)
        if view is not None:
            return seen, view, None, (f"Seen from the cloud's origin, for it lies before a camera there ({axes}).",)
    up = "y" if y_up else "z"
    points = _moved(points, Z_UP_FROM_Y_UP) if y_up else points
    pose = _in_front(points)
    told = f"Seen by a camera of our choice, from in front and above, for the cloud names none; {up} was taken as up."
    return _moved(points, np.linalg.inv(pose)), VIEW, pose, (told,)


def _view_of(points: np.ndarray) -> float | None:
    """The opening angle that holds the cloud, where all of it lies before a camera at the origin; else None."""
    z = points[:, 2]
    if np.quantile(z, 0.001) <= 0.05 * np.median(z):
        return None
    reach = np.abs(points[:, :2]) / np.maximum(z, 1e-9)[:, None]
    wide, high = np.quantile(reach, 0.999, axis=0)
    slope = max(wide, high * 4 / 3)
    return 2 * math.atan(1.02 * slope) if 0.1 < slope < 1.6 else None


def _in_front(points: np.ndarray) -> np.ndarray:
    """world_from_camera of a camera at the cloud's -y side, above it, that sees all of it."""
    forward, right = np.array([0, math.cos(TILT), -math.sin(TILT)]), np.array([1.0, 0, 0])
    pose = np.eye(4)
    pose[:3, :3] = np.stack([right, np.cross(forward, right), forward], 1)
    pose[:3, 3] = np.quantile(points, [0.01, 0.99], axis=0).mean(0)
    seen = _moved(points, np.linalg.inv(pose))
    reach = np.abs(seen[:, :2]) / (math.tan(VIEW / 2) * np.array([1, 0.75])) - seen[:, 2:]
    pose[:3, 3] -= forward * np.quantile(reach, 0.99) * 1.05
    return pose


def _moved(points: np.ndarray, turn: np.ndarray) -> np.ndarray:
    return transform(turn, points)


def _coloured(part: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Points (N, 3) and colours (N, 3) uint8 of one mesh or cloud; None without colour."""
    if isinstance(part, trimesh.Trimesh) and len(part.faces):
        return _sampled(part)
    colours = getattr(part, "colors", None)
    if colours is None or len(colours) != len(part.vertices):
        colours = getattr(getattr(part, "visual", None), "vertex_colors", None)
    if colours is None or len(colours) != len(part.vertices):
        return None
    return np.asarray(part.vertices), np.asarray(colours)[:, :3].astype(np.uint8)


def _sampled(mesh: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Points evenly on a mesh's faces, with the colour of its texture or between those of the corners."""
    if mesh.visual.kind == "texture":
        drawn: Any = trimesh.sample.sample_surface(mesh, SAMPLES, sample_color=True, seed=0)
        return np.asarray(drawn[0]), np.asarray(drawn[2])[:, :3].astype(np.uint8)
    if mesh.visual.kind is None:
        return None
    drawn = trimesh.sample.sample_surface(mesh, SAMPLES, seed=0)
    share = trimesh.triangles.points_to_barycentric(mesh.triangles[drawn[1]], drawn[0])
    corners = np.asarray(mesh.visual.vertex_colors)[mesh.faces[drawn[1]], :3].astype(float)
    return np.asarray(drawn[0]), np.clip(np.rint((corners * share[..., None]).sum(1)), 0, 255).astype(np.uint8)
