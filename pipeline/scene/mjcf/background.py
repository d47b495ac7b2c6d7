"""What the photograph shows behind and beside the table, as a mesh that is drawn and touches nothing.

Every pixel that is neither table nor object is put at its measured depth. What objects hide of it, and what has no
depth, is filled from around, softly; so is a border beyond the photograph, for cameras beside its own.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import cv2
import mujoco
import numpy as np

from pipeline.frame import Observation
from pipeline.scene.mjcf.builder import Slab
from pipeline.segmentation import Segment
from pipeline.store import write_bytes

NAME = "background"
CELLS = 128
"""Cells of the mesh along the photograph's width: 16,000 triangles, which draw as fast as the objects do."""
BORDER = 0.25
"""Share of the photograph's width and height that is filled beyond each side: a turn of 15 degrees shows it."""
MAX_SIDE_PX = 1024
"""Of the texture."""
TABLE_BAND_M = 0.02
"""Height up to which a measured point over the slab is the table's, and below it noise; twice `table_picture`'s."""
HEADLIGHT_AMBIENT = 0.1
"""MuJoCo's default, which adds to what a material emits."""


class Background(NamedTuple):
    """The files of the background."""

    obj: bytes
    png: bytes
    filled: float
    """Share of its pixels within the photograph that have no depth of their own."""


def make_background(observation: Observation, segments: Iterable[Segment], slab: Slab) -> Background | None:
    """Return what of the photograph the twin does not draw, in world axes and metres; None if that is nothing."""
    frame = observation.frame
    height, width = frame.depth.shape
    covered = _covered(observation, slab, *np.meshgrid(np.arange(width), np.arange(height)))
    objects = _objects(segments, (height, width))
    known = _is_background(observation, covered, objects)
    shown = known | (objects & ~covered)
    if np.count_nonzero(known) < 0.005 * known.size:  # a table that fills the picture
        return None
    has_depth = known & (frame.depth > 0)
    if not has_depth.any():
        return None
    step = max(1.0, width / CELLS)
    columns, rows = _grid(width, step), _grid(height, step)
    depth = _depth_on_grid(frame.depth, has_depth, columns, rows, step)
    world = _world_points(observation, depth, columns, rows)
    faces = _faces(_is_shown(observation, slab, shown, columns, rows, step))
    if not len(faces):
        return None
    texture = _texture(frame.rgb, objects)
    return Background(_obj(world, columns, rows, (width, height), faces), texture, 1 - has_depth.sum() / shown.sum())


def add_background(spec: mujoco.MjSpec, folder: Path) -> bool:
    """Add the background in a twin's folder to its specification, in place of the floor; return whether it has one."""
    obj, png = folder / f"{NAME}.obj", folder / f"{NAME}.png"
    if not (obj.is_file() and png.is_file()) or spec.geom(NAME) is not None:
        return False
    spec.add_texture(name=NAME, type=mujoco.mjtTexture.mjTEXTURE_2D, file=str(png.absolute()))
    material = spec.add_material(name=NAME, specular=0, emission=1 - HEADLIGHT_AMBIENT)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = NAME
    spec.add_mesh(name=NAME, file=str(obj.absolute()), inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL)
    spec.worldbody.add_geom(name=NAME, type=mujoco.mjtGeom.mjGEOM_MESH, meshname=NAME, material=NAME, group=1,
                            contype=0, conaffinity=0, mass=0)  # fmt: skip
    if (floor := spec.geom("floor")) is not None:
        floor.rgba[3] = 0
    return True


def load_model(path: Path) -> mujoco.MjModel:
    """Compile a model of a twin with the background beside its file, if there is one; raises ValueError as MuJoCo does.

    Its middle and extent, after which cameras and lights are set, stay those of the twin.
    """
    spec = mujoco.MjSpec.from_file(str(path))
    if not add_background(spec, path.parent):
        return mujoco.MjModel.from_xml_path(str(path))
    model = spec.compile()
    shown = (model.geom_rbound > 0) & (np.arange(model.ngeom) != model.geom(NAME).id)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    low = (data.geom_xpos - model.geom_rbound[:, None])[shown].min(0)
    high = (data.geom_xpos + model.geom_rbound[:, None])[shown].max(0)
    model.stat.center[:], model.stat.extent = (low + high) / 2, (high - low).max()
    return model


def write_background(made: Background | None, folder: Path) -> None:
    """Write the background's files to a twin's folder, or remove those of an earlier one."""
    for suffix, content in (("obj", made and made.obj), ("png", made and made.png)):
        file = folder / f"{NAME}.{suffix}"
        if content is None:
            file.unlink(missing_ok=True)
        else:
            write_bytes(file, content)


def _covered(observation: Observation, slab: Slab, columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return which pixels (...) the twin's table covers, seen from the photograph's camera, of shape (...), bool."""
    pose = observation.support.world_from_camera
    rays = observation.frame.intrinsics.ray_directions(columns, rows) @ pose[:3, :3].T
    down = rays[..., 2] < -1e-6
    points = pose[:2, 3] - rays[..., :2] * (pose[2, 3] / np.where(down, rays[..., 2], -1.0))[..., None]
    cos, sin = np.cos(slab.yaw), np.sin(slab.yaw)
    own = (points - slab.centre) @ np.array([[cos, -sin], [sin, cos]])
    return down & (np.abs(own) <= slab.half).all(-1)


def _objects(segments: Iterable[Segment], shape: tuple[int, int]) -> np.ndarray:
    """Return the pixels of all objects and of their rim, of shape (H, W), bool."""
    objects = np.zeros(shape, bool)
    for segment in segments:
        objects |= segment.mask
    radius = max(2, round(0.008 * shape[1]))  # pixels whose colour is mixed at an outline
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1, 2 * radius + 1))
    return cv2.dilate(objects.astype(np.uint8), kernel) > 0


def _is_background(observation: Observation, covered: np.ndarray, objects: np.ndarray) -> np.ndarray:
    """Return the pixels that show neither table nor object, of shape (H, W), bool."""
    frame, plane = observation.frame, observation.support.plane
    heights = frame.points @ plane.normal.astype(np.float32) + plane.offset
    stands = (frame.depth > 0) & (np.nan_to_num(heights) > TABLE_BAND_M)
    stands = (
        cv2.morphologyEx((covered & stands & ~objects).astype(np.uint8), cv2.MORPH_OPEN, np.ones((7, 7), np.uint8)) > 0
    )
    return ~objects & (stands | ~covered)


def _grid(length: int, step: float) -> np.ndarray:
    """Return the pixel coordinates of the mesh's columns or rows, the border beyond the photograph included."""
    cells = int(np.ceil(length * (1 + 2 * BORDER) / step))
    return np.linspace(-BORDER * length, (1 + BORDER) * length - 1, cells + 1)


def _depth_on_grid(
    depth: np.ndarray, known: np.ndarray, columns: np.ndarray, rows: np.ndarray, step: float
) -> np.ndarray:
    """Return the depth in metres at each vertex, of shape (R, C); where it is not known, from around."""
    weight = known.astype(np.float32)
    inverse = np.where(known, 1 / np.maximum(depth, 1e-3), 0).astype(np.float32)
    size = round(step) | 1
    area = [cv2.blur(image, (size, size)) for image in (inverse * weight, weight)]
    x, y = (grid.astype(np.float32) for grid in np.meshgrid(columns, rows))
    sampled = [cv2.remap(a, x, y, cv2.INTER_NEAREST, borderMode=cv2.BORDER_CONSTANT, borderValue=0) for a in area]
    return 1 / np.maximum(_filled(sampled[0], sampled[1]), 1e-3)


def _filled(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return weighted sums (R, C) as means; where there is no weight, the mean of a neighbourhood that has some."""
    mean, missing = values / np.maximum(weight, 1e-6), weight < 0.1
    sigma = 1.0
    while missing.any():
        around = cv2.GaussianBlur(values, (0, 0), sigma), cv2.GaussianBlur(weight, (0, 0), sigma)
        reached = missing & (around[1] > 1e-3)
        mean[reached] = (around[0] / np.maximum(around[1], 1e-9))[reached]
        missing &= ~reached
        sigma *= 2
    return mean


def _world_points(observation: Observation, depth: np.ndarray, columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the vertices, of shape (R * C, 3), in world axes."""
    pose = observation.support.world_from_camera
    rays = observation.frame.intrinsics.ray_directions(*np.meshgrid(columns, rows))
    return ((rays * depth[..., None]) @ pose[:3, :3].T + pose[:3, 3]).reshape(-1, 3)


def _is_shown(
    observation: Observation, slab: Slab, shown: np.ndarray, columns: np.ndarray, rows: np.ndarray, step: float
) -> np.ndarray:
    """Return which vertices show something of the background, of shape (R, C), bool."""
    height, width = shown.shape
    x, y = np.meshgrid(columns, rows)
    inside = (x >= 0) & (x <= width - 1) & (y >= 0) & (y <= height - 1)
    size = round(step) | 1
    near = cv2.dilate(shown.astype(np.uint8), np.ones((size, size), np.uint8))
    at = near[y.round().astype(int).clip(0, height - 1), x.round().astype(int).clip(0, width - 1)] > 0
    return np.where(inside, at, ~_covered(observation, slab, x, y))


def _faces(shown: np.ndarray) -> np.ndarray:
    """Return the triangles of the cells that have a shown corner, of shape (F, 3), facing the camera."""
    number = np.arange(shown.size).reshape(shown.shape)
    a, b, c, d = number[:-1, :-1], number[:-1, 1:], number[1:, :-1], number[1:, 1:]
    cells = (shown[:-1, :-1] | shown[:-1, 1:] | shown[1:, :-1] | shown[1:, 1:]).ravel()
    both = np.stack([np.stack([a, c, b], -1), np.stack([b, c, d], -1)], -2)
    return both.reshape(-1, 2, 3)[cells].reshape(-1, 3)


def _texture(rgb: np.ndarray, objects: np.ndarray) -> bytes:
    """Return the photograph with its objects painted over and its border, as a PNG."""
    height, width = objects.shape
    scale = min(1.0, MAX_SIDE_PX / ((1 + 2 * BORDER) * max(width, height)))
    size = (round(width * scale), round(height * scale))
    small = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA)
    hidden = cv2.resize(objects.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST)
    painted = cv2.inpaint(small, hidden, 5, cv2.INPAINT_TELEA)
    x, y = round(BORDER * size[0]), round(BORDER * size[1])
    wide = cv2.copyMakeBorder(painted, y, y, x, x, cv2.BORDER_REFLECT_101)
    soft = cv2.GaussianBlur(cv2.copyMakeBorder(painted, y, y, x, x, cv2.BORDER_REPLICATE), (0, 0), x / 6)
    inside = np.zeros(wide.shape[:2], np.float32)
    inside[y : y + size[1], x : x + size[0]] = 1
    share = np.maximum(inside, cv2.GaussianBlur(inside, (0, 0), x / 8))[..., None]
    picture = (wide * share + soft * (1 - share)).astype(np.uint8)
    return cv2.imencode(".png", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR))[1].tobytes()


def _obj(world: np.ndarray, columns: np.ndarray, rows: np.ndarray, size: tuple[int, int], faces: np.ndarray) -> bytes:
    """Return the OBJ file. All normals point down, away from the twin's lights: the photograph has its own."""
    width, height = size
    u, v = np.meshgrid(
        (columns + 0.5 + BORDER * width) / ((1 + 2 * BORDER) * width),
        1 - (rows + 0.5 + BORDER * height) / ((1 + 2 * BORDER) * height),
    )
    used = np.unique(faces)
    number = np.zeros(len(world), int)
    number[used] = np.arange(1, len(used) + 1)
    lines = [f"v {x:.4f} {y:.4f} {z:.4f}" for x, y, z in world[used].tolist()]
    lines += [f"vt {a:.5f} {b:.5f}" for a, b in np.stack([u.ravel()[used], v.ravel()[used]], -1).tolist()]
    lines.append("vn 0 0 -1")
    lines += [f"f {a}/{a}/1 {b}/{b}/1 {c}/{c}/1" for a, b, c in number[faces].tolist()]
    return ("\n".join(lines) + "\n").encode()
