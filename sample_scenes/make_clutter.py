"""Hard tables for tuning masks: heaps, stacks, touching cartons, full bowls, thin tools, things in a gripper.

`python sample_scenes/make_clutter.py FOLDER FIRST LAST` writes FOLDER/<kind>_<seed>/ in the plain form with
expected.json, one frame of each kind for every seed in FIRST ... LAST - 1. Synthetic; not part of the sample scenes.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import cv2
import make_scenes as table
import mujoco
import numpy as np
from make_scenes import Recipe
from PIL import Image

from pipeline.assets import Library
from pipeline.frame import Intrinsics
from pipeline.geometry import Pose
from pipeline.scene import fidelity, mjcf
from pipeline.scene.placement import Placement, Scene
from pipeline.scene.settle import _World
from pipeline.segmentation import rle

THIN = ["screwdriver", "blue_marker", "scissors", "hammer", "tape_roll", "banana", "toy_plane", "red_book"]
HOLLOW = ["teal_bowl", "wooden_bowl", "white_bowl", "red_bowl", "square_red_bowl", "white_bin", "blue_bin", "grey_tray",
          "frying_pan"]  # fmt: skip
HALF = (0.6, 0.42)
"""Half the table's sides, in metres."""
LEAST = 150
"""Pixels that must be seen of a thing for it to count."""
UPRIGHT = np.array([1.0, 0, 0, 0])


@dataclass
class Table:
    """What is being put on it, in order."""

    library: Library
    rng: np.random.Generator
    put_down: dict[str, Pose] = field(default_factory=dict)

    def ids(self, largest: float, but: Sequence[str] = ()) -> list[str]:
        """Things up to so many metres, sorted."""
        return sorted(a.id for a in self.library if max(a.size) < largest and a.id not in but)

    @property
    def small(self) -> list[str]:
        return self.ids(0.13, HOLLOW)

    @property
    def boxes(self) -> list[str]:
        """What can be stacked."""
        words = ("box", "carton", "block", "cube", "tin", "brick")
        return [i for i in self.ids(np.inf) if any(word in i for word in words) or "can" in i.split("_")]

    def pick(self, count: int, pool: Sequence[str]) -> list[str]:
        return list(self.rng.choice(sorted(pool), count, replace=False))

    def put(self, id: str, x: float, y: float, z: float, quat: np.ndarray) -> None:
        """Each asset once, its middle there."""
        if id not in self.put_down:
            self.put_down[id] = Pose(np.array([x, y, z]), quat)

    def turned(self) -> np.ndarray:
        """Standing, turned anyhow."""
        a = self.rng.uniform(0, 2 * np.pi)
        return np.array([np.cos(a / 2), 0, 0, np.sin(a / 2)])

    def tumbled(self) -> np.ndarray:
        q = self.rng.normal(size=4)
        return q / np.linalg.norm(q)


# ---------------------------------------------------------------------- what lies where


def heap(t: Table) -> None:
    """Dropped on one another."""
    for n, id in enumerate(t.pick(int(t.rng.integers(8, 14)), t.ids(0.28, ["beach_ball"]))):
        t.put(id, *t.rng.normal(0, 0.09, 2), 0.08 + 0.07 * n, t.tumbled() if t.rng.random() < 0.6 else t.turned())


def touching(t: Table) -> None:
    """In rows, side against side."""
    x, row = -0.25, 0
    for id in t.pick(int(t.rng.integers(7, 12)), t.boxes if t.rng.random() < 0.5 else t.ids(0.28, THIN)):
        size = t.library[id].size
        if x > 0.2:
            x, row = -0.25 + t.rng.uniform(0, 0.06), row + 1
        y = -0.12 + 0.14 * row + t.rng.uniform(-0.02, 0.02)
        t.put(id, x + size[0] / 2, y, size[2] / 2, UPRIGHT if t.rng.random() < 0.5 else t.turned())
        x += size[0] + t.rng.uniform(0, 0.012)


def stacks(t: Table) -> None:
    """Towers of two or three, the widest below."""
    for n in range(int(t.rng.integers(3, 5))):
        x, y, z = -0.22 + 0.15 * n, t.rng.uniform(-0.1, 0.12), 0.0
        tower = t.pick(int(t.rng.integers(2, 4)), t.boxes)
        for id in sorted(tower, key=lambda i: -t.library[i].size[0] * t.library[i].size[1]):
            if id not in t.put_down:
                height = t.library[id].size[2]
                t.put(id, x + t.rng.normal(0, 0.005), y + t.rng.normal(0, 0.005), z + height / 2 + 0.001, t.turned())
                z += height


def full(t: Table) -> None:
    """Two bowls with things in them, and some beside."""
    for n, bowl in enumerate(t.pick(2, [i for i in HOLLOW if i != "frying_pan"])):
        x, y = -0.15 + 0.3 * n, t.rng.uniform(-0.05, 0.08)
        size = t.library[bowl].size
        t.put(bowl, x, y, size[2] / 2, t.turned())
        fits = [i for i in t.small if max(t.library[i].size) < min(size[:2]) * 0.8]
        for k, id in enumerate(t.pick(int(t.rng.integers(1, 4)), fits)):
            if id not in t.put_down:
                t.put(id, x + t.rng.normal(0, 0.01), y + t.rng.normal(0, 0.01), 0.1 + 0.08 * k, t.tumbled())
    for id in t.pick(3, t.ids(0.25, HOLLOW)):
        if id not in t.put_down:
            x, y = t.rng.uniform(-0.3, 0.3), t.rng.choice([-0.18, 0.2]) + t.rng.normal(0, 0.02)
            t.put(id, x, y, t.library[id].size[2] / 2, t.turned())


def thin(t: Table) -> None:
    """Tools and other low things, with a few small ones."""
    for n, id in enumerate(t.pick(6, THIN) + t.pick(3, t.small)):
        x, y = -0.27 + 0.18 * (n % 4) + t.rng.normal(0, 0.02), -0.15 + 0.15 * (n // 4) + t.rng.normal(0, 0.02)
        t.put(id, x, y, t.library[id].size[2] / 2 + 0.002, t.turned())


def apart(t: Table) -> None:
    """Six with room between them; a gripper holds a seventh."""
    for n, id in enumerate(t.pick(6, t.ids(0.25))):
        x, y = -0.22 + 0.2 * (n % 3) + t.rng.normal(0, 0.03), -0.1 + 0.2 * (n // 3) + t.rng.normal(0, 0.03)
        t.put(id, x, y, t.library[id].size[2] / 2, t.turned())


KINDS: dict[str, Callable[[Table], None]] = {
    "heap": heap, "touch": touching, "stack": stacks, "full": full, "thin": thin, "held": apart,
}  # fmt: skip


# ---------------------------------------------------------------------- the scene


def recipe(name: str, rng: np.random.Generator) -> Recipe:
    """A camera, a table and a lamp drawn anyhow."""
    return Recipe(
        name, "", (),
        distance=float(rng.uniform(0.7, 1.05)),
        azimuth=float(rng.uniform(-30, 30)),
        elevation=float(rng.uniform(30, 62)),
        table=str(rng.choice(["oak", "walnut", "birch", "cloth", "white", "slate"])),
        wall=float(rng.uniform(0.6, 1)) if rng.random() < 0.4 else None,
        lamp=tuple(rng.uniform(-0.7, 0.7, 2)),
        half=HALF,
    )  # fmt: skip


def placed(library: Library, id: str, pose: Pose, number: int) -> Placement:
    asset = library[id]
    return Placement(
        name=id, segment_id=number, asset_id=id, scale=1.0, size=asset.size, world_from_object=pose, mesh=asset.mesh,
        collision=asset.collision, mass=asset.mass, friction=asset.friction, category=asset.category,
        container=asset.container,
    )  # fmt: skip


def fallen(placements: tuple[Placement, ...], drawn: Recipe) -> Scene:
    """At rest, without what fell off."""
    x, y = HALF
    scene = Scene(
        world_from_camera=table._look(drawn),
        table=np.array([[-x, -y], [x, -y], [x, y], [-x, y]]) * 0.999,
        table_rgb=(150, 130, 110),
        placements=placements,
        intrinsics=table._camera(drawn),
    )
    world = _World(scene)
    world.part()
    for damping in (8, 0):
        world.model.dof_damping[:] = damping * world._inertia()
        world._step(1.2)
    rested = world.placed()
    here = [p for p in rested.placements if (pos := p.world_from_object.pos)[2] > 0 and abs(pos[:2]).max() < 0.5]
    return replace(rested, placements=tuple(here))


@dataclass(frozen=True, eq=False)
class Grip:
    """A gripper's fingers around a thing in the air."""

    pos: np.ndarray
    half: float
    """Half the distance between the fingers, in metres."""
    up: float
    """From the thing's middle to the hand."""

    def add_to(self, spec: mujoco.MjSpec) -> None:
        def add(kind: mujoco.mjtGeom, size: list[float], offset: list[float], shade: list[float]) -> None:
            spec.worldbody.add_geom(type=kind, size=size, pos=self.pos + offset, rgba=[*shade, 1])

        box, tube = mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_CYLINDER
        for side in (-1, 1):
            add(box, [0.008, 0.011, 0.045], [side * (self.half + 0.008), 0, 0.03], [0.16, 0.16, 0.17])
        add(box, [self.half + 0.02, 0.03, 0.03], [0, 0, 0.07 + self.up * 0.5], [0.85, 0.85, 0.85])
        add(tube, [0.045, 0.3, 0], [0, 0, 0.4 + self.up * 0.5], [0.9, 0.9, 0.9])


def held(library: Library, scene: Scene, rng: np.random.Generator) -> tuple[Scene, Grip]:
    """One thing more, held in the air."""
    there = {p.name for p in scene.placements}
    id = str(rng.choice([a.id for a in library if max(a.size) < 0.2 and a.id not in there and a.id not in HOLLOW]))
    quat = rng.normal(size=4) * [1, 0.3, 0.3, 1]
    pos = np.array([*rng.uniform(-0.12, 0.12, 2), rng.uniform(0.16, 0.26)])
    one = replace(placed(library, id, Pose(pos, quat / np.linalg.norm(quat)), 99), collision=(), fixed=True)
    size = library[id].size
    return replace(scene, placements=(*scene.placements, one)), Grip(pos, min(size[:2].max() / 2, 0.05), size.max() / 2)


def dressed(scene: Scene, drawn: Recipe, grip: Grip | None) -> mujoco.MjModel:
    """The model as it is photographed."""
    build = mjcf.build

    def with_grip(*arguments) -> mujoco.MjSpec:
        spec = build(*arguments)
        if grip is not None:
            grip.add_to(spec)
        return spec

    mjcf.build = with_grip
    try:
        return table.dress(scene, drawn)
    finally:
        mjcf.build = build


# ---------------------------------------------------------------------- the frame


def make(kind: str, seed: int, folder: Path, library: Library) -> None:
    """One frame with its truth."""
    rng = np.random.default_rng(seed)
    drawn = recipe(f"{kind}_{seed}", rng)
    top = Table(library, rng)
    KINDS[kind](top)
    things = [placed(library, id, pose, n) for n, (id, pose) in enumerate(top.put_down.items(), 1)]
    scene, grip = fallen(tuple(things), drawn), None
    if kind == "held":
        scene, grip = held(library, scene, rng)
    model, k = dressed(scene, drawn, grip), table._camera(drawn)
    labels, depth = fidelity.cast(model, k, scene.world_from_camera)
    rgb = photograph(model, drawn, rng)
    write(folder, rgb, table.depth_camera(depth, rgb, k, rng), k)
    masks = {p.name: labels == model.body(p.name).id for p in scene.placements}
    objects = [{"name": name, "mask": rle(mask)} for name, mask in masks.items() if mask.sum() > LEAST]
    (folder / "expected.json").write_text(json.dumps({"objects": objects}))
    print(folder.name, len(objects), flush=True)


def photograph(model: mujoco.MjModel, drawn: Recipe, rng: np.random.Generator) -> np.ndarray:
    """Of shape (H, W, 3), uint8: with a white balance of its own and what JPEG leaves of it."""
    rgb = table.photograph(model, drawn.size, rng)
    gain = rng.uniform(0.75, 1.15) * rng.uniform(0.94, 1.06, 3)
    rgb = (rgb * gain).clip(0, 255).astype(np.uint8)
    packed = cv2.imencode(".jpg", rgb[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 88])[1]
    return np.ascontiguousarray(cv2.imdecode(packed, cv2.IMREAD_COLOR)[..., ::-1])


def write(folder: Path, rgb: np.ndarray, depth: np.ndarray, k: Intrinsics) -> None:
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
        for number, kind in enumerate(KINDS):
            make(kind, seed * 10 + number, arguments.folder / f"{kind}_{seed}", library)


if __name__ == "__main__":
    main()
