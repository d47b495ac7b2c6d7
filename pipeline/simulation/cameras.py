"""Cameras of a twin beside the photograph's: those that a robot brings, and those that a person placed.

Their axes are MuJoCo's: a camera looks along -z with y up. cameras.json of a project holds those of a person.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

from pipeline.simulation.objects import KitError

FILE = "cameras.json"
WORLD, PHOTO, WRIST = "world", "photo", "wrist"
FIELD_OF_VIEW = float(np.radians(58))
"""Vertical field of view of a RealSense D405, which many wrists carry, in radians."""
NARROWEST, WIDEST = 0.05, 2.8
"""Fields of view that a pinhole camera can have, in radians."""


class Camera(NamedTuple):
    """One camera."""

    name: str
    body: str
    """Name of the body that it moves with; "world" for none."""
    position: tuple[float, float, float]
    """In the body's frame, of shape (3,), in metres."""
    quat_wxyz: tuple[float, float, float, float]
    """In the body's frame, of shape (4,)."""
    field_of_view: float
    """Vertical, in radians."""


def looking_at(name: str, body: str, position: Sequence[float], target: Sequence[float], up: Sequence[float]) -> Camera:
    """Return a camera at a position that looks at a target, all in the body's frame; `up` is up in its picture."""
    back = np.subtract(position, target) / np.linalg.norm(np.subtract(position, target))
    right = np.cross(up, back)
    right /= np.linalg.norm(right)
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, np.stack([right, np.cross(back, right), back], -1).ravel())
    (x, y, z), (w, i, j, k) = map(float, position), quat.tolist()
    return Camera(name, body, (x, y, z), (w, i, j, k), FIELD_OF_VIEW)


def add_cameras(spec: mujoco.MjSpec, cameras: Iterable[Camera]) -> None:
    """Add cameras to a world; one whose name is taken gets a number after it."""
    for camera in cameras:
        name, number = camera.name, 2
        while spec.camera(name) is not None:
            name, number = f"{camera.name}_{number}", number + 1
        body = spec.worldbody if camera.body == WORLD else spec.body(camera.body)
        if body is None:
            raise KitError(f"the camera {camera.name} moves with {camera.body}, which is no body of this world")
        body.add_camera(
            name=name, pos=camera.position, quat=camera.quat_wxyz, fovy=float(np.degrees(camera.field_of_view))
        )


def zoom(path: Path, factor: float) -> None:
    """Multiply the field of view of every camera of a model's file, whose folder has its meshes."""
    if factor == 1:
        return
    spec = mujoco.MjSpec.from_file(str(path))
    for camera in spec.cameras:
        if any(camera.focal_pixel):  # half the picture over the focal length is the tangent of half the field of view
            half = np.arctan(camera.resolution[1] / 2 / camera.focal_pixel[1])
            camera.focal_pixel = np.asarray(camera.focal_pixel) * np.tan(half) / np.tan(factor * half)
        else:
            camera.fovy *= factor
    spec.compile()
    path.write_text(spec.to_xml(), "utf-8")


def to_json(camera: Camera) -> dict[str, Any]:
    """Return a camera as JSON values. Inverse of `from_json`."""
    return {
        "name": camera.name,
        "body": camera.body,
        "pos": list(camera.position),
        "quat_wxyz": list(camera.quat_wxyz),
        "field_of_view": camera.field_of_view,
    }


def from_json(row: Mapping[str, Any]) -> Camera:
    """Return a camera from its JSON values, its quaternion normalised. Raises KitError."""
    try:
        pos, quat = np.array(row["pos"], float), np.array(row["quat_wxyz"], float)
        angle = float(row["field_of_view"])
        usable = pos.shape == (3,) and quat.shape == (4,) and np.isfinite([*pos, *quat, angle]).all()
        if not (usable and np.linalg.norm(quat) > 1e-6 and NARROWEST <= angle <= WIDEST):
            raise ValueError(f"it has 3 numbers, 4 numbers and {NARROWEST} to {WIDEST} rad")
        name, body = str(row["name"]), str(row["body"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise KitError(f"a camera cannot be read: {type(error).__name__}: {error}") from None
    (x, y, z), (w, i, j, k) = pos.tolist(), (quat / np.linalg.norm(quat)).tolist()
    return Camera(name, body, (x, y, z), (w, i, j, k), angle)
