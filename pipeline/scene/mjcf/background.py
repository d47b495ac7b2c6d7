"""What the photograph shows behind and beside the table, as a mesh that is drawn and touches nothing.

Every pixel that is neither table nor object is put at its measured depth. What objects hide of it, and what has no
depth, is filled from around, softly; so is a border beyond the photograph, for cameras beside its own.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import cv2
import mujoco
import numpy as np

from pipeline.frame import Observation
from pipeline.scene.mjcf.builder import Slab
from pipeline.scene.mjcf.table_picture import blurred
from pipeline.segmentation import Segment
from pipeline.store import StoreError, read_json, write_bytes, write_text

NAME = "background"
CELLS = 128
"""Cells of the mesh along the photograph's longer side: some 25,000 triangles in a file of 1.2 MB."""
BORDER = 0.25
"""Share of the photograph's width and height that is filled beyond each side: a turn of 15 degrees shows it."""
MAX_SIDE_PX = 2048
"""Of the texture."""
PAINTED_SIDE_PX = 256
"""Of the picture in which hidden colours are filled: a tenth of the time, and what is filled is soft anyway."""
BEHIND_M = 0.02
"""Least distance in metres of what is filled behind the object that hides it."""
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
    covered = _covered(observation, slab, np.arange(width)[None], np.arange(height)[:, None])
    objects = _objects(segments, (height, width))
    known = _is_background(observation, covered, objects)
    shown = known | (objects & ~covered)
    if np.count_nonzero(known) < 0.005 * known.size:  # a table that fills the picture
        return None
    has_depth = known & (frame.depth > 0)
    step = max(1.0, max(width, height) / CELLS)
    columns, rows = _grid(width, step), _grid(height, step)
    if has_depth.any():
        depth = _depth_on_grid(frame.depth, has_depth, objects, (columns, rows), step)
    else:  # beyond the sensor's reach: on a plane across the view, just behind the table
        depth = np.full((len(rows), len(columns)), _farthest(observation, slab) + BEHIND_M)
    world = _world_points(observation, depth, columns, rows)
    faces = _faces(_is_shown(observation, slab, shown, columns, rows, step))
    if not len(faces):
        return None
    texture = _texture(frame.rgb, objects)
    return Background(
        _obj(world, columns, rows, (width, height), faces), texture, 1 - float(has_depth.sum() / shown.sum())
    )


def add_background(spec: mujoco.MjSpec, folder: Path) -> bool:
    """Add the background in a twin's folder to its specification, in place of the floor; return whether it has one."""
    obj, png = folder / f"{NAME}.obj", folder / f"{NAME}.png"
    if not (obj.is_file() and png.is_file()) or spec.geom(NAME) is not None:
        return False
    spec.add_texture(name=NAME, type=mujoco.mjtTexture.mjTEXTURE_2D, file=png.name)
    material = spec.add_material(name=NAME, specular=0, emission=1 - HEADLIGHT_AMBIENT)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = NAME
    spec.add_mesh(name=NAME, file=obj.name, inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL)
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
    return compile_with_background(spec)


def keep_background(path: Path) -> None:
    """Write the background beside a model's file into the model, if there is one, for who reads it without us."""
    spec = mujoco.MjSpec.from_file(str(path))
    if add_background(spec, path.parent):
        compile_with_background(spec)
        write_text(path, spec.to_xml())


def compile_with_background(spec: mujoco.MjSpec) -> mujoco.MjModel:
    """Compile a specification with a background, and set its middle and extent to those of all else that it shows."""
    model = spec.compile()
    shown = (model.geom_rbound > 0) & (np.arange(model.ngeom) != model.geom(NAME).id)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    low = (data.geom_xpos - model.geom_rbound[:, None])[shown].min(0)
    high = (data.geom_xpos + model.geom_rbound[:, None])[shown].max(0)
    spec.stat.center[:], spec.stat.extent = (low + high) / 2, (high - low).max()
    model.stat.center[:], model.stat.extent = spec.stat.center, spec.stat.extent
    return model


def write_background(made: Background | None, folder: Path) -> None:
    """Write the background's files to a twin's folder, or remove those of an earlier one."""
    about = made and json.dumps({"filled": round(made.filled, 4)}).encode()
    for suffix, content in (("obj", made and made.obj), ("png", made and made.png), ("json", about)):
        file = folder / f"{NAME}.{suffix}"
        if content is None:
            file.unlink(missing_ok=True)
        else:
            write_bytes(file, content)


def filled_share(folder: Path) -> float | None:
    """Return the share of a background that has no depth of its own; None without one, or if that was not kept."""
    try:
        about = read_json(folder / f"{NAME}.json")
    except StoreError:
        return None
    share = about.get("filled") if isinstance(about, dict) else None
    return float(share) if isinstance(share, int | float) else None


def _covered(observation: Observation, slab: Slab, columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return which pixels the twin's table covers, seen from the photograph's camera, of shape (H, W), bool.

    Columns have shape (1, W) and rows (H, 1). The slab's axes are linear in a ray times its depth, which spares the
    rays of all pixels.
    """
    k, pose = observation.frame.intrinsics, observation.support.world_from_camera
    x, y = ((columns - k.cx) / k.fx).astype(np.float32), ((rows - k.cy) / k.fy).astype(np.float32)
    cos, sin = np.cos(slab.yaw), np.sin(slab.yaw)
    own = np.array([[cos, sin], [-sin, cos]])
    down = -pose[2, :3]
    along = own @ (np.outer(pose[:2, 3] - slab.centre, down) + pose[:2, :3] * pose[2, 3])
    a, b, c = (form[0] * x + (form[1] * y + form[2]) for form in np.vstack([along, down]).astype(np.float32))
    return (c > 1e-6) & (np.abs(a) <= slab.half[0] * c) & (np.abs(b) <= slab.half[1] * c)


def _farthest(observation: Observation, slab: Slab) -> float:
    """Return the depth in metres of the slab's farthest corner in the photograph's camera."""
    pose = observation.support.world_from_camera
    cos, sin = np.cos(slab.yaw), np.sin(slab.yaw)
    signs = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    corners = np.column_stack([(signs * slab.half) @ np.array([[cos, sin], [-sin, cos]]) + slab.centre, np.zeros(4)])
    return float(((corners - pose[:3, 3]) @ pose[:3, 2]).max())


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
    opened = cv2.morphologyEx((covered & stands & ~objects).astype(np.uint8), cv2.MORPH_OPEN, np.ones((7, 7), np.uint8))
    return ~objects & ((opened > 0) | ~covered)


def _grid(length: int, step: float) -> np.ndarray:
    """Return the pixel coordinates of the mesh's columns or rows, the border beyond the photograph included."""
    cells = int(np.ceil(length * (1 + 2 * BORDER) / step))
    return np.linspace(-BORDER * length, (1 + BORDER) * length - 1, cells + 1)


def _depth_on_grid(
    depth: np.ndarray, known: np.ndarray, objects: np.ndarray, grid: tuple[np.ndarray, np.ndarray], step: float
) -> np.ndarray:
    """Return the depth in metres at each vertex, of shape (R, C); where it is not known, from around, and behind what
    hides it."""
    weight = known.astype(np.float32)
    inverse = np.where(known, 1 / np.maximum(depth, 1e-3), 0).astype(np.float32)
    size = round(step) | 1
    area = [cv2.blur(image, (size, size)) for image in (inverse * weight, weight)]
    hiding = cv2.dilate(np.where(objects, depth, 0).astype(np.float32), np.ones((size, size), np.uint8))
    x, y = (each.astype(np.float32) for each in np.meshgrid(*grid))
    inverse, weight, hiding = (
        cv2.remap(image, x, y, cv2.INTER_NEAREST, borderMode=cv2.BORDER_CONSTANT, borderValue=0)
        for image in (*area, hiding)
    )
    filled = 1 / np.maximum(_filled(inverse, weight), 1e-3)
    return np.where((weight < 0.1) & (hiding > 0), np.maximum(filled, hiding + BEHIND_M), filled)


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
    painted = _painted(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), objects)
    x, y = round(BORDER * size[0]), round(BORDER * size[1])
    wide = cv2.copyMakeBorder(painted, y, y, x, x, cv2.BORDER_REFLECT_101)
    soft = blurred(cv2.copyMakeBorder(painted, y, y, x, x, cv2.BORDER_REPLICATE), x / 6)
    inside = np.zeros(wide.shape[:2], np.float32)
    inside[y : y + size[1], x : x + size[0]] = 1
    share = np.maximum(inside, blurred(inside, x / 8))[..., None]
    middle = slice(y, y + size[1])
    for side in (np.s_[:y], np.s_[y + size[1] :], np.s_[middle, :x], np.s_[middle, x + size[0] :]):
        wide[side] = wide[side] * share[side] + soft[side] * (1 - share[side])
    return cv2.imencode(".png", cv2.cvtColor(wide, cv2.COLOR_RGB2BGR))[1].tobytes()


def _painted(rgb: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    """Return a picture (h, w, 3) whose hidden part, of shape (H, W), has the colours around it."""
    height, width = rgb.shape[:2]
    scale = min(1.0, PAINTED_SIDE_PX / max(height, width))
    size = (round(width * scale), round(height * scale))
    hole = cv2.resize(hidden.astype(np.float32), size, interpolation=cv2.INTER_AREA) > 0
    small = cv2.inpaint(
        cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), hole.astype(np.uint8), 3, cv2.INPAINT_TELEA
    )
    filled = cv2.resize(small, (width, height), interpolation=cv2.INTER_LINEAR)
    share = cv2.resize(hidden.astype(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST)
    return np.where(share[..., None] > 0, filled, rgb)


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
    corners = [f"{n}/{n}/1" for n in range(len(used) + 1)]
    texts = (
        _lines("v %.4f %.4f %.4f", world[used]),
        _lines("vt %.5f %.5f", np.stack([u.ravel()[used], v.ravel()[used]], -1)),
        "vn 0 0 -1\n",
        "".join([f"f {corners[a]} {corners[b]} {corners[c]}\n" for a, b, c in number[faces].tolist()]),
    )
    return "".join(texts).encode()


def _lines(form: str, rows: np.ndarray) -> str:
    """Return one line a row (N, M) of numbers; a single format is four times as fast as one a line."""
    return f"{form}\n" * len(rows) % tuple(rows.ravel().tolist())
