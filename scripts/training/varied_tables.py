"""Draws varied RGB-D frames for training: tables, floors, bins, seats and shelves, seen by many cameras.

`python -m scripts.training.varied_tables FOLDER FIRST LAST` writes FOLDER/<ground>_<layout>_<seed>_<view>/ in the plain
format with truth/masks.png (object numbers, 0 elsewhere), truth/surfaces.png (0 other, 1 ground, 2 wall or side,
3 object, 4 robot, hand or person) and truth/truth.json. `--populated` draws robots, hands, persons, full containers,
packed bins and towers, too. Folders that exist are left out, so that a run can be continued. No photograph is used.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2
import mujoco
import numpy as np

from pipeline.scene.rendering import open_renderer
from scripts.training.depth_sensors import DepthSensor, TrueSurface, measure_depth, smooth_noise
from scripts.training.intruders import add_intruders
from scripts.training.varied_scenes import (
    CLEAR_GROUP,
    COLLISION_GROUP,
    CONTAINED,
    GROUND_PROBABILITIES,
    GROUNDS,
    VariedScene,
    fill,
)

SIZE = (640, 480)
VIEWS = 4
LAYOUTS = ("spaced", "heap", "touching", "stack", "boxes", "flat", "parts", "clear")
LAYOUT_PROBABILITIES = (0.16, 0.16, 0.12, 0.1, 0.13, 0.13, 0.08, 0.12)
MIN_VISIBLE_PIXELS = 120
"""Visible pixels below which an object belongs to what it lies on."""
POPULATED_LAYOUTS = (*LAYOUTS, *CONTAINED)
POPULATED_PROBABILITIES = (0.12, 0.11, 0.1, 0.07, 0.1, 0.11, 0.07, 0.1, 0.08, 0.07, 0.07)
OTHER, GROUND, WALL, OBJECT, INTRUDER = range(5)


@dataclass(frozen=True, eq=False)
class View:
    """One view of a scene, as rendered."""

    rgb: np.ndarray
    """Of shape (H, W, 3), float32, 0 to 255, without clear objects."""
    depth: np.ndarray
    depth_behind: np.ndarray
    """As `depth`, without clear objects."""
    labels: np.ndarray
    """Number of the visible object, of shape (H, W), uint8, 0 elsewhere."""
    surfaces: np.ndarray
    """OTHER, GROUND, WALL, OBJECT or INTRUDER, of shape (H, W), uint8."""
    focal: float


@dataclass(frozen=True)
class Conditions:
    """What is not left to chance in a frame; None leaves it."""

    ground: str | None = None
    """One of GROUNDS."""
    layout: str | None = None
    """One of LAYOUTS."""
    sensor: DepthSensor | None = None
    """One of SENSORS."""
    elevation: float | None = None
    """Of the camera, from 0 to 1 in the range that the ground allows."""
    populated: bool = False
    """Whether robots, hands and persons may be seen, and the objects lie in POPULATED_LAYOUTS."""


ANY = Conditions()


def random_scene(seed: int, conditions: Conditions = ANY) -> tuple[str, VariedScene]:
    """Return a scene and its kind, <ground>_<layout>."""
    random = np.random.default_rng([6 if conditions.populated else 5, seed])
    ground = str(random.choice(list(GROUNDS), p=GROUND_PROBABILITIES))
    layouts = (POPULATED_LAYOUTS, POPULATED_PROBABILITIES) if conditions.populated else (LAYOUTS, LAYOUT_PROBABILITIES)
    layout = str(random.choice(layouts[0], p=np.array(layouts[1]) / sum(layouts[1])))
    ground, layout = conditions.ground or ground, conditions.layout or layout
    scene = VariedScene(random)
    scene.spec.option.timestep, scene.spec.option.iterations = 0.004, 20
    scene.spec.visual.quality.shadowsize, scene.spec.visual.quality.offsamples = 1024, 4
    GROUNDS[ground](scene)
    fill(scene, layout)
    if conditions.populated:
        add_intruders(scene)
    else:
        _add_distractors(scene)
    _add_lights(scene)
    scene.spec.worldbody.add_camera(name="view")
    return f"{ground}_{layout}", scene


def _add_distractors(scene: VariedScene) -> None:
    """Add an arm that reaches into the scene now and then; it is no object."""
    random = scene.random
    if random.random() < 0.12:
        start, end = random.normal((0, 0, 0.3), 0.25), random.normal((0, 0, 0.9), 0.6)
        geom = scene.spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_CAPSULE, contype=0, conaffinity=0)
        geom.size, geom.fromto = [random.uniform(0.02, 0.06), 0, 0], [*start, *end]
        geom.name, geom.rgba = "other:arm", [*random.uniform(0.05, 0.95, 3), 1]


def _add_lights(scene: VariedScene) -> None:
    random = scene.random
    scene.spec.visual.headlight.ambient = [float(random.uniform(0.1, 0.5))] * 3
    scene.spec.visual.headlight.diffuse = [float(random.uniform(0, 0.3))] * 3
    for number in range(int(random.integers(1, 4))):
        pos = np.array([*random.normal(0, 1.0, 2), random.uniform(0.7, 2.5)])
        warm = random.uniform(0.85, 1.15, 3)
        scene.spec.worldbody.add_light(
            type=mujoco.mjtLightType.mjLIGHT_SPOT, pos=pos, dir=-pos + random.normal(0, 0.2, 3), castshadow=number == 0,
            cutoff=float(random.uniform(35, 85)), exponent=float(random.uniform(0, 12)),
            diffuse=(warm * random.uniform(0.15, 0.7)).clip(0, 1), specular=[float(random.uniform(0, 0.5))] * 3,
        )  # fmt: skip


def settle(model: mujoco.MjModel, seconds: float = 1.2) -> mujoco.MjData:
    """Return the state after the objects have settled; what fell off is moved far away."""
    data = mujoco.MjData(model)
    steps = int(seconds / model.opt.timestep)
    for step in range(steps):
        mujoco.mj_step(model, data)
        if step % 20 == 0 and step > 0.8 * steps:
            data.qvel *= 0.7
    fallen = model.nq and np.flatnonzero((data.qpos.reshape(-1, 7)[:, 2] < -0.03) | ~np.isfinite(data.qpos[2::7]))
    for number in fallen if model.nq else ():
        data.qpos[7 * number : 7 * number + 3] = [0, 0, -50 - number]
    mujoco.mj_kinematics(model, data)
    return data


def aim_camera(
    model: mujoco.MjModel, data: mujoco.MjData, scene: VariedScene, ground: str, conditions: Conditions = ANY
) -> float:
    """Move the camera to a random place that looks at the objects; return its focal length in pixels.

    Populated scenes are also seen from farther away.
    """
    random, elevation = scene.random, conditions.elevation
    positions = data.qpos.reshape(-1, 7)[:, :3]
    middle = np.median(positions[positions[:, 2] > -1], 0) if (positions[:, 2] > -1).any() else np.zeros(3)
    middle = middle + random.normal(0, 0.04, 3)
    low, high = {"bin": (45, 90), "seat": (20, 85), "shelf": (0, 60)}.get(ground, (6, 90))
    a, e = random.uniform(0, 2 * np.pi), np.radians(random.uniform(low, high))
    e = e if elevation is None else np.radians(low + elevation * (high - low))
    if ground in ("shelf", "seat"):
        a = random.normal(-np.pi / 2, 0.5)
    back = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    right = np.array([-np.sin(a), np.cos(a), 0])
    roll = random.normal(0, 0.07) + random.choice([0, np.pi, random.uniform(0, 2 * np.pi)], p=[0.8, 0.08, 0.12])
    up = np.cross(back, right)
    right, up = right * np.cos(roll) + up * np.sin(roll), up * np.cos(roll) - right * np.sin(roll)
    focal = SIZE[0] * random.uniform(0.72, 1.12)
    camera = model.camera("view")
    distance = np.exp(random.uniform(np.log(0.38), np.log(1.35)))
    if conditions.populated and random.random() < 0.3:
        distance *= random.uniform(1, 1.7)
    camera.pos[:] = middle + back * distance
    mujoco.mju_mat2Quat(camera.quat, np.stack([right, up, back], 1).ravel())
    camera.fovy[:] = np.degrees(2 * np.arctan(SIZE[1] / 2 / focal))
    return float(focal)


def render(renderer: mujoco.Renderer, model: mujoco.MjModel, data: mujoco.MjData, scene: VariedScene, focal: float):
    """Return the view of the camera."""
    options = mujoco.MjvOption()
    options.geomgroup[:] = 1
    options.geomgroup[COLLISION_GROUP] = 0
    mujoco.mj_camlight(model, data)
    has_clear = any(one.clear for one in scene.objects)

    def draw() -> np.ndarray:
        renderer.update_scene(data, "view", options)
        return renderer.render().copy()

    renderer.enable_segmentation_rendering()
    geoms = draw()[..., 0]
    renderer.disable_segmentation_rendering()
    renderer.enable_depth_rendering()
    depth = draw()
    options.geomgroup[CLEAR_GROUP] = 0
    behind = draw() if has_clear else depth
    renderer.disable_depth_rendering()
    rgb = draw()
    kinds, numbers = _geom_labels(model)
    surfaces, labels = kinds[geoms], numbers[geoms]
    depth, behind = (np.where(one < 20, one, 0).astype(np.float32) for one in (depth, behind))
    up = data.cam_xmat[0].reshape(3, 3)[2] * [1, -1, -1]  # in OpenCV's camera axes
    surfaces[(surfaces == GROUND) & (np.abs(_normals(depth, focal) @ up.astype(np.float32)) < 0.6)] = WALL
    return View(rgb.astype(np.float32), depth, behind, labels, surfaces, focal)


def _geom_labels(model: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray]:
    """Return the surface and the object number of each geom; the last entry is that of no geom."""
    names = [model.geom(i).name for i in range(model.ngeom)] + ["other:none"]
    words = {"ground": GROUND, "wall": WALL, "object": OBJECT, "intruder": INTRUDER}
    kinds = np.array([words.get(name.split(":")[0], OTHER) for name in names], np.uint8)
    numbers = [int(name.split(":")[1]) if name.startswith("object") else 0 for name in names]
    return kinds, np.array(numbers, np.uint8)


def camera_image(view: View, scene: VariedScene) -> np.ndarray:
    """Return the colour image (H, W, 3), uint8: clear and shiny surfaces, light that falls off, a camera's faults."""
    random, (h, w) = scene.random, view.depth.shape
    wall = random.uniform(20, 240) + random.normal(0, 12, 3) + 10 * smooth_noise((h, w), 80, random)[..., None]
    image = np.where((view.depth_behind > 0)[..., None], view.rgb, wall.astype(np.float32))
    clear = [n for n, one in enumerate(scene.objects, 1) if one.clear]
    shiny = [n for n, one in enumerate(scene.objects, 1) if one.shiny]
    if clear or shiny:
        normals = _normals(view.depth, view.focal)
        room = cv2.GaussianBlur(random.uniform(0, 1, (64, 64, 3)).astype(np.float32) ** 3, (0, 0), 3)
        room = 255 * (room - room.min()) / (np.ptp(room) + 1e-6) * random.uniform(0.5, 1)
        at = [((normals[..., i] + 1) * 31.5).astype(np.float32) for i in range(2)]
        reflected = cv2.remap(room, at[0], at[1], cv2.INTER_LINEAR)
        facing = np.abs(normals[..., 2])[..., None]
        if clear:
            rows, cols = np.indices((h, w), dtype=np.float32)
            bend = random.uniform(2, 18)
            seen = cv2.remap(image, cols + bend * normals[..., 0], rows + bend * normals[..., 1], cv2.INTER_LINEAR,
                             borderMode=cv2.BORDER_REPLICATE)  # fmt: skip
            rim = (1 - facing) ** random.uniform(2, 4) * random.uniform(0.3, 0.9) + random.uniform(0.02, 0.12)
            glass = seen * random.uniform(0.75, 1) * (1 - rim) + rim * reflected * 1.2
            image = np.where(np.isin(view.labels, clear)[..., None], glass, image)
        mirror = random.uniform(0.2, 0.7) + 0.3 * (1 - facing)
        image = np.where(np.isin(view.labels, shiny)[..., None], image * (1 - mirror) + mirror * reflected, image)
    light = 1 + random.uniform(0, 0.25) * smooth_noise((h, w), random.uniform(120, 300), random)
    image = image * light.clip(0.25, 1.8)[..., None] * random.normal(1, 0.05, 3)
    image *= random.uniform(70, 175) / max(8.0, float(np.percentile(image.mean(-1), 60)))  # automatic exposure
    image = cv2.GaussianBlur(
        255 * np.clip(image / 255, 0, 1) ** random.uniform(0.7, 1.35), (0, 0), random.uniform(0.2, 1.0)
    )
    image = image + random.normal(0, random.uniform(0.5, 6), image.shape)
    packed = cv2.imencode(".jpg", image.clip(0, 255).astype(np.uint8)[..., ::-1], [1, int(random.integers(70, 97))])[1]
    return np.asarray(cv2.imdecode(packed, cv2.IMREAD_COLOR))[..., ::-1].copy()


def _normals(depth: np.ndarray, focal: float) -> np.ndarray:
    """Return the true normals (H, W, 3), float32, in camera axes, of depth (H, W)."""
    h, w = depth.shape
    rows, cols = np.indices((h, w), dtype=np.float32)
    points = np.dstack([(cols - w / 2) / focal, (rows - h / 2) / focal, np.ones((h, w), np.float32)])
    points = points * depth[..., None]
    across, down = (cv2.Sobel(points, cv2.CV_32F, dx, 1 - dx) for dx in (1, 0))
    normals = np.cross(down, across)
    return (normals / (np.linalg.norm(normals, axis=-1, keepdims=True) + 1e-12)).astype(np.float32)


def photograph_view(
    view: View, scene: VariedScene, sensor: DepthSensor | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return colour (H, W, 3), uint8, measured depth (H, W) in metres, and object numbers (H, W), uint16.

    `sensor` measures the depth, a random one if None. Objects that are hardly visible have no number.
    """
    clear, shiny = (
        np.isin(view.labels, [n for n, one in enumerate(scene.objects, 1) if getattr(one, what)])
        for what in ("clear", "shiny")
    )
    rgb = camera_image(view, scene)
    true = TrueSurface(view.depth, rgb, shiny, clear, view.depth_behind, view.focal)
    depth = measure_depth(true, scene.random, sensor)
    sizes = np.bincount(view.labels.ravel(), minlength=len(scene.objects) + 1)
    present = [n for n in range(1, len(sizes)) if sizes[n] >= MIN_VISIBLE_PIXELS]
    return rgb, depth, np.where(np.isin(view.labels, present), view.labels, 0).astype(np.uint16)


def write_view(view: View, scene: VariedScene, folder: Path, sensor: DepthSensor | None = None) -> None:
    """Write one frame with its truth."""
    rgb, depth, labels = photograph_view(view, scene, sensor)
    (folder / "truth").mkdir(parents=True)
    cv2.imwrite(str(folder / "rgb.png"), rgb[..., ::-1], [16, 1])
    cv2.imwrite(str(folder / "depth.png"), np.round(depth * 1000).astype(np.uint16), [16, 1])
    cv2.imwrite(str(folder / "truth" / "masks.png"), labels)
    cv2.imwrite(str(folder / "truth" / "surfaces.png"), view.surfaces)
    present = [int(n) for n in np.unique(labels[labels > 0])]
    objects = [{"id": n, "name": f"object_{n}", "clear": scene.objects[n - 1].clear} for n in present]
    (folder / "truth" / "truth.json").write_text(json.dumps({"objects": objects, "complete": True}))
    k = {"width": SIZE[0], "height": SIZE[1], "fx": view.focal, "fy": view.focal, "cx": SIZE[0] / 2, "cy": SIZE[1] / 2}
    (folder / "camera.json").write_text(json.dumps(k | {"depth_scale": 0.001}))  # last: the folder is complete


def make_scene(
    seed: int,
    out: Path,
    conditions: Conditions = ANY,
    views: int = VIEWS,
    save: Callable[[View, VariedScene, Path, DepthSensor | None], None] = write_view,
) -> int:
    """Save the views of one scene, by default in folders; return their number."""
    kind, scene = random_scene(seed, conditions)
    model = scene.spec.compile()
    data, written = settle(model), 0
    if scene.held:
        number, at = scene.held
        data.qpos[7 * (number - 1) : 7 * (number - 1) + 3] = at
        mujoco.mj_kinematics(model, data)
    renderer = open_renderer(model, SIZE)
    try:
        for attempt in range(3 * VIEWS):
            focal = aim_camera(model, data, scene, kind.split("_")[0], conditions)
            view = render(renderer, model, data, scene, focal)
            share, near = (view.labels > 0).mean(), view.depth[view.depth > 0]
            if 0.008 < share < 0.8 and len(near) and np.percentile(near, 1) > 0.16:
                save(view, scene, out / f"{kind}_{seed:06d}_{written}", conditions.sensor)
                written += 1
            if written == views or (attempt == 4 and not written):
                break
    finally:
        renderer.close()
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--populated", action="store_true", help="draw robots, hands, persons and containers, too")
    arguments = parser.parse_args()
    conditions = Conditions(populated=arguments.populated)
    for seed in range(arguments.first, arguments.last):
        if not any(arguments.folder.glob(f"*_{seed:06d}_*")):
            try:
                print(seed, make_scene(seed, arguments.folder, conditions), flush=True)
            except ValueError as error:  # a shape too flat for MuJoCo's hulls
                print(seed, "left out:", error, flush=True)


if __name__ == "__main__":
    main()
