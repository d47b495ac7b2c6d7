"""Draws cluttered tables for training and tuning masks: heaps, stacks, touching cartons, full bowls, thin tools.

`python -m scripts.training.make_clutter FOLDER FIRST LAST` writes FOLDER/<layout>_<seed>/ in the plain format with
expected.json: one frame of each layout for every seed in FIRST ... LAST - 1. Synthetic; not part of the sample scenes.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import cv2
import make_scenes
import mujoco
import numpy as np
from make_scenes import SceneRecipe
from PIL import Image

from pipeline.assets import Library
from pipeline.frame import Intrinsics
from pipeline.geometry import Pose, quat_about_z
from pipeline.scene import fidelity
from pipeline.scene.placement import Placement, Scene
from pipeline.scene.settle import SettlingWorld
from pipeline.segmentation import encode_rle

THIN_ASSETS = ["screwdriver", "blue_marker", "scissors", "hammer", "tape_roll", "banana", "toy_plane", "red_book"]
HOLLOW_ASSETS = [
    "teal_bowl", "wooden_bowl", "white_bowl", "red_bowl", "square_red_bowl", "white_bin", "blue_bin", "grey_tray",
    "frying_pan",
]  # fmt: skip
TABLE_HALF_EXTENTS = (0.6, 0.42)
"""Half the sides of the table, in metres."""
MIN_VISIBLE_PIXELS = 150
"""Visible pixels below which an object is left out of expected.json."""
UPRIGHT = np.array([1.0, 0, 0, 0])


@dataclass
class ClutterTable:
    """Collects objects to put on a table."""

    library: Library
    rng: np.random.Generator
    poses: dict[str, Pose] = field(default_factory=dict)
    """Poses by asset id, in the order in which they were put."""

    def ids(self, largest: float, excluded: Sequence[str] = ()) -> list[str]:
        """Return the ids of assets up to `largest` metres long, sorted."""
        return sorted(a.id for a in self.library if max(a.size) < largest and a.id not in excluded)

    @property
    def small(self) -> list[str]:
        """Ids of small assets that are not hollow."""
        return self.ids(0.13, HOLLOW_ASSETS)

    @property
    def boxes(self) -> list[str]:
        """Ids of assets that can be stacked."""
        words = ("box", "carton", "block", "cube", "tin", "brick")
        return [i for i in self.ids(np.inf) if any(word in i for word in words) or "can" in i.split("_")]

    def pick(self, count: int, pool: Sequence[str]) -> list[str]:
        """Draw ids without repeats."""
        return list(self.rng.choice(sorted(pool), min(count, len(pool)), replace=False))

    def put(self, id: str, x: float, y: float, z: float, quat: np.ndarray) -> None:
        """Put an asset with its centre at x, y, z, unless it was put before."""
        if id not in self.poses:
            self.poses[id] = Pose(np.array([x, y, z]), quat)

    def turned(self) -> np.ndarray:
        """Return a random yaw, as a quaternion (wxyz)."""
        return quat_about_z(self.rng.uniform(0, 2 * np.pi))

    def tumbled(self) -> np.ndarray:
        """Return a random rotation, as a quaternion (wxyz)."""
        q = self.rng.normal(size=4)
        return q / np.linalg.norm(q)


# ---------------------------------------------------------------------- what lies where


def heap_layout(table: ClutterTable) -> None:
    """Drop objects on one another."""
    for n, id in enumerate(table.pick(int(table.rng.integers(8, 14)), table.ids(0.28, ["beach_ball"]))):
        table.put(
            id,
            *table.rng.normal(0, 0.09, 2),
            0.08 + 0.07 * n,
            table.tumbled() if table.rng.random() < 0.6 else table.turned(),
        )


def touching_layout(table: ClutterTable) -> None:
    """Put objects in rows, side by side."""
    x, row = -0.25, 0
    for id in table.pick(
        int(table.rng.integers(7, 12)), table.boxes if table.rng.random() < 0.5 else table.ids(0.28, THIN_ASSETS)
    ):
        size = table.library[id].size
        if x > 0.2:
            x, row = -0.25 + table.rng.uniform(0, 0.06), row + 1
        y = -0.12 + 0.14 * row + table.rng.uniform(-0.02, 0.02)
        table.put(id, x + size[0] / 2, y, size[2] / 2, UPRIGHT if table.rng.random() < 0.5 else table.turned())
        x += size[0] + table.rng.uniform(0, 0.012)


def stacks_layout(table: ClutterTable) -> None:
    """Build towers of two or three objects, the widest lowest."""
    for n in range(int(table.rng.integers(3, 5))):
        x, y, z = -0.22 + 0.15 * n, table.rng.uniform(-0.1, 0.12), 0.0
        tower = table.pick(int(table.rng.integers(2, 4)), table.boxes)
        for id in sorted(tower, key=lambda i: -table.library[i].size[0] * table.library[i].size[1]):
            if id not in table.poses:
                height = table.library[id].size[2]
                table.put(
                    id,
                    x + table.rng.normal(0, 0.005),
                    y + table.rng.normal(0, 0.005),
                    z + height / 2 + 0.001,
                    table.turned(),
                )
                z += height


def full_bowls_layout(table: ClutterTable) -> None:
    """Put objects into two bowls, and some beside them."""
    for n, bowl in enumerate(table.pick(2, [i for i in HOLLOW_ASSETS if i != "frying_pan"])):
        x, y = -0.15 + 0.3 * n, table.rng.uniform(-0.05, 0.08)
        size = table.library[bowl].size
        table.put(bowl, x, y, size[2] / 2, table.turned())
        fits = [i for i in table.small if max(table.library[i].size) < min(size[:2]) * 0.8]
        for k, id in enumerate(table.pick(int(table.rng.integers(1, 4)), fits)):
            if id not in table.poses:
                table.put(
                    id, x + table.rng.normal(0, 0.01), y + table.rng.normal(0, 0.01), 0.1 + 0.08 * k, table.tumbled()
                )
    for id in table.pick(3, table.ids(0.25, HOLLOW_ASSETS)):
        if id not in table.poses:
            x, y = table.rng.uniform(-0.3, 0.3), table.rng.choice([-0.18, 0.2]) + table.rng.normal(0, 0.02)
            table.put(id, x, y, table.library[id].size[2] / 2, table.turned())


def thin_layout(table: ClutterTable) -> None:
    """Put tools and other flat objects, with a few small ones."""
    for n, id in enumerate(table.pick(6, THIN_ASSETS) + table.pick(3, table.small)):
        x, y = -0.27 + 0.18 * (n % 4) + table.rng.normal(0, 0.02), -0.15 + 0.15 * (n // 4) + table.rng.normal(0, 0.02)
        table.put(id, x, y, table.library[id].size[2] / 2 + 0.002, table.turned())


def spaced_layout(table: ClutterTable) -> None:
    """Put six objects with space between them. The gripper holds a seventh."""
    for n, id in enumerate(table.pick(6, table.ids(0.25))):
        x, y = -0.22 + 0.2 * (n % 3) + table.rng.normal(0, 0.03), -0.1 + 0.2 * (n // 3) + table.rng.normal(0, 0.03)
        table.put(id, x, y, table.library[id].size[2] / 2, table.turned())


LAYOUTS: dict[str, Callable[[ClutterTable], None]] = {
    "heap": heap_layout,
    "touch": touching_layout,
    "stack": stacks_layout,
    "full": full_bowls_layout,
    "thin": thin_layout,
    "held": spaced_layout,
}


# ---------------------------------------------------------------------- the scene


def random_recipe(name: str, rng: np.random.Generator) -> SceneRecipe:
    """Return a random camera, table and lamp."""
    return SceneRecipe(
        name,
        "",
        (),
        distance=float(rng.uniform(0.7, 1.05)),
        azimuth=float(rng.uniform(-30, 30)),
        elevation=float(rng.uniform(30, 62)),
        table=str(rng.choice(["oak", "walnut", "birch", "cloth", "white", "slate"])),
        wall=float(rng.uniform(0.6, 1)) if rng.random() < 0.4 else None,
        lamp=tuple(rng.uniform(-0.7, 0.7, 2)),
        half=TABLE_HALF_EXTENTS,
    )


def asset_placement(library: Library, id: str, pose: Pose, number: int) -> Placement:
    """Return an asset at a pose."""
    asset = library[id]
    return Placement(
        name=id, segment_id=number, asset_id=id, scale=1.0, size=asset.size, world_from_object=pose, mesh=asset.mesh,
        collision=asset.collision, mass=asset.mass, friction=asset.friction, category=asset.category,
        container=asset.container,
    )  # fmt: skip


def settled_scene(placements: tuple[Placement, ...], recipe: SceneRecipe) -> Scene:
    """Return the scene at rest, without objects that fell off the table."""
    x, y = TABLE_HALF_EXTENTS
    scene = Scene(
        world_from_camera=make_scenes.camera_pose(recipe),
        table=np.array([[-x, -y], [x, -y], [x, y], [-x, y]]) * 0.999,
        table_rgb=(150, 130, 110),
        placements=placements,
        intrinsics=make_scenes.camera_intrinsics(recipe),
    )
    world = SettlingWorld(scene)
    world.separate_overlaps()
    world.simulate_to_rest(((8, 1.2), (0, 1.2)))
    rested = world.current_scene()
    on_table = [p for p in rested.placements if (pos := p.world_from_object.pos)[2] > 0 and abs(pos[:2]).max() < 0.5]
    return replace(rested, placements=tuple(on_table))


@dataclass(frozen=True, eq=False)
class Gripper:
    """A gripper drawn from boxes and a tube; it has no physics."""

    pos: np.ndarray
    half: float
    """Half the distance between the fingers, in metres."""
    up: float
    """Height of the hand above the object's centre, in metres."""

    def add_to(self, spec: mujoco.MjSpec) -> None:
        """Add the gripper's geoms to a model."""

        def add(kind: mujoco.mjtGeom, size: list[float], offset: list[float], shade: list[float]) -> None:
            spec.worldbody.add_geom(type=kind, size=size, pos=self.pos + offset, rgba=[*shade, 1])

        box, tube = mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_CYLINDER
        for side in (-1, 1):
            add(box, [0.008, 0.011, 0.045], [side * (self.half + 0.008), 0, 0.03], [0.16, 0.16, 0.17])
        add(box, [self.half + 0.02, 0.03, 0.03], [0, 0, 0.07 + self.up * 0.5], [0.85, 0.85, 0.85])
        add(tube, [0.045, 0.3, 0], [0, 0, 0.4 + self.up * 0.5], [0.9, 0.9, 0.9])


def add_held_object(library: Library, scene: Scene, rng: np.random.Generator) -> tuple[Scene, Gripper]:
    """Add an object in the air, and return the gripper that holds it."""
    present = {p.name for p in scene.placements}
    id = str(
        rng.choice([a.id for a in library if max(a.size) < 0.2 and a.id not in present and a.id not in HOLLOW_ASSETS])
    )
    quat = rng.normal(size=4) * [1, 0.3, 0.3, 1]
    pos = np.array([*rng.uniform(-0.12, 0.12, 2), rng.uniform(0.16, 0.26)])
    held = replace(asset_placement(library, id, Pose(pos, quat / np.linalg.norm(quat)), 99), collision=(), fixed=True)
    size = library[id].size
    return replace(scene, placements=(*scene.placements, held)), Gripper(
        pos, min(size[:2].max() / 2, 0.05), size.max() / 2
    )


def model_with_gripper(scene: Scene, recipe: SceneRecipe, gripper: Gripper | None) -> mujoco.MjModel:
    """Return the model as it is photographed."""
    return make_scenes.build_model(scene, recipe, [] if gripper is None else [gripper.add_to])


# ---------------------------------------------------------------------- the frame


def make_frame(kind: str, seed: int, folder: Path, library: Library) -> None:
    """Write one frame with its expected objects."""
    rng = np.random.default_rng(seed)
    recipe = random_recipe(f"{kind}_{seed}", rng)
    table = ClutterTable(library, rng)
    LAYOUTS[kind](table)
    placements = [asset_placement(library, id, pose, n) for n, (id, pose) in enumerate(table.poses.items(), 1)]
    scene, gripper = settled_scene(tuple(placements), recipe), None
    if kind == "held":
        scene, gripper = add_held_object(library, scene, rng)
    model, k = model_with_gripper(scene, recipe, gripper), make_scenes.camera_intrinsics(recipe)
    labels, depth = fidelity.raycast_image(model, k, scene.world_from_camera)
    rgb = photograph(model, recipe, rng)
    write_frame(folder, rgb, make_scenes.depth_camera(depth, rgb, k, rng), k)
    masks = {p.name: labels == model.body(p.name).id for p in scene.placements}
    objects = [
        {"name": name, "mask": encode_rle(mask)} for name, mask in masks.items() if mask.sum() > MIN_VISIBLE_PIXELS
    ]
    (folder / "expected.json").write_text(json.dumps({"objects": objects}))
    print(folder.name, len(objects), flush=True)


def photograph(model: mujoco.MjModel, recipe: SceneRecipe, rng: np.random.Generator) -> np.ndarray:
    """Return an image (H, W, 3), uint8, with a random white balance and JPEG artefacts."""
    rgb = make_scenes.photograph(model, recipe.size, rng)
    gain = rng.uniform(0.75, 1.15) * rng.uniform(0.94, 1.06, 3)
    rgb = (rgb * gain).clip(0, 255).astype(np.uint8)
    packed = cv2.imencode(".jpg", rgb[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 88])[1]
    return np.ascontiguousarray(cv2.imdecode(packed, cv2.IMREAD_COLOR)[..., ::-1])


def write_frame(folder: Path, rgb: np.ndarray, depth: np.ndarray, k: Intrinsics) -> None:
    """Write rgb.png, depth.png and camera.json."""
    folder.mkdir(parents=True, exist_ok=True)
    Image.fromarray(rgb).save(folder / "rgb.png")
    Image.fromarray(np.round(depth * 1000).astype(np.uint16)).save(folder / "depth.png")
    camera = {name: getattr(k, name) for name in ("width", "height", "fx", "fy", "cx", "cy")}
    (folder / "camera.json").write_text(json.dumps(camera | {"depth_scale": 0.001}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    arguments = parser.parse_args()
    library = Library.open()
    for seed in range(arguments.first, arguments.last):
        for number, kind in enumerate(LAYOUTS):
            make_frame(kind, seed * 10 + number, arguments.folder / f"{kind}_{seed}", library)


if __name__ == "__main__":
    main()
