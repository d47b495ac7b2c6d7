"""Render coloured point clouds and scans (PLY, PCD, GLB) to a frame."""

import math
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from pipeline.frame.assemble import assemble_frame
from pipeline.frame.camera import CameraFile, check_intrinsics
from pipeline.frame.formats.archive import check_size, read_bytes
from pipeline.frame.formats.recording import Recording
from pipeline.frame.frame import Frame, FrameError, Intrinsics
from pipeline.frame.reprojection import project
from pipeline.geometry import transform

OPENGL_FROM_OPENCV = np.diag([1.0, -1, -1, 1])
"""Between the camera axes of OpenCV and OpenGL; its own inverse."""
Z_UP_FROM_Y_UP = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
MIN_POINTS, MAX_POINTS = 2_000, 20_000_000
SURFACE_SAMPLES = 600_000
"""Points sampled on a scan with faces."""
CAMERA_TILT = math.radians(40)
"""Angle below the horizon of a camera placed by us."""
FIELD_OF_VIEW = math.radians(60)
"""Horizontal, of a camera placed by us."""
MAX_HOLE = 3
"""Pixels; holes up to this wide are filled from their surroundings."""


@dataclass(frozen=True, eq=False)
class ColouredCloud:
    """Points with colour, in the file's axes."""

    points: np.ndarray
    """Of shape (N, 3), float64."""
    colours: np.ndarray
    """Of shape (N, 3), uint8."""
    cloud_from_camera: np.ndarray | None = None
    """Pose of the file's camera, of shape (4, 4), OpenCV axes; None without one."""
    field_of_view: float = FIELD_OF_VIEW
    """Horizontal field of view of that camera, in radians."""


def open_cloud(path: Path) -> Recording:
    """Open a cloud as a recording of one rendered frame. Raises FrameError."""
    kind = path.suffix.lower()[1:]
    cloud = read_pcd(path) if kind == "pcd" else read_cloud(read_bytes(path), kind, path.name)
    return Recording(
        "point cloud", (path.name,), lambda _: render_cloud(cloud, path.suffix.lower() == ".glb", path.name)
    )


def read_cloud(raw: bytes, kind: str, name: str) -> ColouredCloud:
    """Read the points of a PLY or GLB; faces are sampled evenly. Raises FrameError."""
    import trimesh  # takes half a second; every reader of a frame imports this file

    try:
        scene = trimesh.load_scene(BytesIO(raw), file_type=kind)
        parts = [_coloured_points(part) for part in scene.dump()]
        camera = scene.camera_transform @ OPENGL_FROM_OPENCV if scene.has_camera else None
        field_of_view = math.radians(scene.camera.fov[0]) if scene.has_camera else FIELD_OF_VIEW
    except Exception:  # trimesh raises errors of many kinds for a broken file
        raise FrameError(f"{name} is not a {kind.upper()} that can be read, or is cut short.") from None
    parts = [part for part in parts if part is not None]
    if not parts:
        raise FrameError(f"{name} holds no coloured points; export it with colours at its vertices, or a texture.")
    points, colours = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    return replace(_valid_points(points, colours, name), cloud_from_camera=camera, field_of_view=field_of_view)


def _valid_points(points: np.ndarray, colours: np.ndarray, name: str) -> ColouredCloud:
    """Return the finite points, without those at exactly the origin: a camera writes them where it saw nothing."""
    valid = np.isfinite(points).all(1) & (np.abs(points) < 1e6).all(1) & points.any(1)
    if not MIN_POINTS <= np.count_nonzero(valid) <= MAX_POINTS:
        raise FrameError(f"{name} holds {np.count_nonzero(valid)} points; {MIN_POINTS} to {MAX_POINTS} make a frame.")
    return ColouredCloud(points[valid].astype(float), colours[valid])


def read_pcd(path: Path) -> ColouredCloud:
    """Read the points of a PCD. Raises FrameError."""
    import open3d as o3d  # slow to import; only these files need it

    check_size(path)
    with o3d.utility.VerbosityContextManager(o3d.utility.VerbosityLevel.Error):
        cloud = o3d.io.read_point_cloud(path, format="pcd")
    if not cloud.has_points() or not cloud.has_colors():
        raise FrameError(f"{path.name} holds no coloured points that can be read; export it with the fields x y z rgb.")
    return _valid_points(np.asarray(cloud.points), np.rint(np.asarray(cloud.colors) * 255).astype(np.uint8), path.name)


def render_cloud(cloud: ColouredCloud, y_up: bool, name: str) -> Frame:
    """Render the cloud from its camera, from its origin, or from in front and above. Raises FrameError."""
    points, field_of_view, pose, notes = _points_in_camera(cloud, y_up)
    front = points[:, 2] > 1e-3
    if np.count_nonzero(front) < MIN_POINTS:
        raise FrameError(f"{name}: no points lie in view of its camera; remove the camera to have one placed.")
    points, colours = points[front], cloud.colours[front]
    # Pixels; the image is as wide as the points can fill
    width = int(np.clip(math.sqrt(len(points) * 4 / 3), 160, 640)) // 4 * 4
    focal = width / 2 / math.tan(field_of_view / 2)
    k = Intrinsics(width, width * 3 // 4, focal, focal, (width - 1) / 2, (width * 3 // 4 - 1) / 2)
    check_intrinsics(k, name)
    rgb, depth = splat_points(points, colours, k)
    return assemble_frame(rgb, depth, CameraFile(k, None, pose, notes=notes), name)


def splat_points(points: np.ndarray, colours: np.ndarray, k: Intrinsics) -> tuple[np.ndarray, np.ndarray]:
    """Render points in camera axes to colour (H, W, 3) and depth (H, W). Small holes are filled."""
    pixels, inside = project(points, k)
    # Far points first, so that near ones overwrite them.
    order = np.flatnonzero(inside)[np.argsort(-points[inside, 2], kind="stable")]
    rows, cols = pixels[order, 1], pixels[order, 0]
    rgb, depth = np.zeros((k.height, k.width, 3), np.uint8), np.zeros((k.height, k.width))
    rgb[rows, cols], depth[rows, cols] = colours[order], points[order, 2]
    known = depth > 0
    inner = slice(MAX_HOLE, -MAX_HOLE)
    closed = (
        np.asarray(ndimage.binary_closing(np.pad(known, MAX_HOLE), iterations=MAX_HOLE), bool)[inner, inner] | known
    )
    if known.any():
        row, col = np.asarray(ndimage.distance_transform_edt(~known, return_distances=False, return_indices=True))
        # Colour of pixels without points
        rgb, depth = np.where(closed[..., None], rgb[row, col], 128), np.where(closed, depth[row, col], 0)
    return rgb.astype(np.uint8), depth


def _points_in_camera(cloud: ColouredCloud, y_up: bool) -> tuple[np.ndarray, float, np.ndarray | None, tuple[str, ...]]:
    """Return points in camera axes, the field of view, the camera's pose if up is known, and notes on the choice."""
    points = cloud.points
    if cloud.cloud_from_camera is not None:
        in_camera = transform(np.linalg.inv(cloud.cloud_from_camera), points)
        return in_camera, cloud.field_of_view, None, ("Seen from the file's own camera.",)
    for axes, matrix in (("x right, y down, z forward", np.eye(4)), ("x right, y up, z backward", OPENGL_FROM_OPENCV)):
        in_camera = transform(matrix, points)
        field_of_view = _field_of_view(in_camera)
        if field_of_view is not None:
            note = f"Seen from the cloud's origin, for it lies before a camera there ({axes})."
            return in_camera, field_of_view, None, (note,)
    up = "y" if y_up else "z"
    points = transform(Z_UP_FROM_Y_UP, points) if y_up else points
    pose = _pose_in_front(points)
    note = f"Seen by a camera of our choice, from in front and above, for the cloud names none; {up} was taken as up."
    return transform(np.linalg.inv(pose), points), FIELD_OF_VIEW, pose, (note,)


def _field_of_view(points: np.ndarray) -> float | None:
    """Return the field of view of a camera at the origin that shows the whole cloud; None if there is none."""
    z = points[:, 2]
    if np.quantile(z, 0.001) <= 0.05 * np.median(z):
        return None
    reach = np.abs(points[:, :2]) / np.maximum(z, 1e-9)[:, None]
    width, height = np.quantile(reach, 0.999, axis=0)
    slope = max(width, height * 4 / 3)
    return 2 * math.atan(1.02 * slope) if 0.1 < slope < 1.6 else None


def _pose_in_front(points: np.ndarray) -> np.ndarray:
    """Return world_from_camera of a camera above the cloud, on its -y side, that shows all of it."""
    forward, right = np.array([0, math.cos(CAMERA_TILT), -math.sin(CAMERA_TILT)]), np.array([1.0, 0, 0])
    pose = np.eye(4)
    pose[:3, :3] = np.stack([right, np.cross(forward, right), forward], 1)
    pose[:3, 3] = np.quantile(points, [0.01, 0.99], axis=0).mean(0)
    in_camera = transform(np.linalg.inv(pose), points)
    reach = np.abs(in_camera[:, :2]) / (math.tan(FIELD_OF_VIEW / 2) * np.array([1, 0.75])) - in_camera[:, 2:]
    pose[:3, 3] -= forward * np.quantile(reach, 0.99) * 1.05
    return pose


def _coloured_points(part: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Return points (N, 3) and colours (N, 3), uint8, of one mesh or cloud; None without colour."""
    if len(getattr(part, "faces", ())):
        return _sample_surface(part)
    colours = getattr(part, "colors", None)
    if colours is None or len(colours) != len(part.vertices):
        colours = getattr(getattr(part, "visual", None), "vertex_colors", None)
    if colours is None or len(colours) != len(part.vertices):
        return None
    return np.asarray(part.vertices), np.asarray(colours)[:, :3].astype(np.uint8)


def _sample_surface(mesh: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Sample points evenly on a mesh's faces, with colours of its texture or interpolated between its vertices."""
    import trimesh

    if mesh.visual.kind == "texture":
        samples: Any = trimesh.sample.sample_surface(mesh, SURFACE_SAMPLES, sample_color=True, seed=0)
        return np.asarray(samples[0]), np.asarray(samples[2])[:, :3].astype(np.uint8)
    if mesh.visual.kind is None:
        return None
    samples = trimesh.sample.sample_surface(mesh, SURFACE_SAMPLES, seed=0)
    weights = trimesh.triangles.points_to_barycentric(mesh.triangles[samples[1]], samples[0])
    corners = np.asarray(mesh.visual.vertex_colors)[mesh.faces[samples[1]], :3].astype(float)
    return np.asarray(samples[0]), np.clip(np.rint((corners * weights[..., None]).sum(1)), 0, 255).astype(np.uint8)
