"""Makes the sample scenes: synthetic RGB-D frames of tables with built-in assets and the errors of a depth camera.

`python sample_scenes/make_scenes.py [NAME ...]` writes sample_scenes/<name>/{rgb.png, depth.png, camera.json,
expected.json, README.md}. Deterministic: every run writes the same frames.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import mujoco
import numpy as np
from PIL import Image
from scipy import ndimage

from pipeline.assets import Library
from pipeline.frame import Intrinsics
from pipeline.geometry import Pose, bounding_box, quat_about_z, rotation_about_z
from pipeline.scene import fidelity, rendering
from pipeline.scene.mjcf import builder
from pipeline.scene.placement import Placement, Scene
from pipeline.scene.settle import settle
from pipeline.segmentation import encode_rle

SCENES_FOLDER = Path(__file__).resolve().parent
DEPTH_SCALE = 0.001
BASELINE_M = 0.05
"""Distance between the two cameras of the simulated stereo camera."""


@dataclass(frozen=True)
class Item:
    """An object on the table: x and y in metres, yaw in degrees."""

    asset: str
    x: float
    y: float
    turn: float = 0.0
    on: str = ""
    """Name of the item it stands on; empty for the table."""
    is_lying: bool = False


@dataclass(frozen=True)
class SceneRecipe:
    """A table, the objects on it, the camera and the light."""

    name: str
    about: str
    items: tuple[Item, ...]
    size: tuple[int, int] = (640, 480)
    distance: float = 0.9
    azimuth: float = 0.0
    """Degrees of the camera around the table, anticlockwise from above."""
    elevation: float = 40.0
    """Degrees by which the camera looks down."""
    look_at: tuple[float, float, float] = (0.0, 0.0, 0.03)
    table: str = "oak"
    half: tuple[float, float] = (0.6, 0.4)
    """Half extents of the table in metres."""
    wall: float | None = None
    """Distance of a wall behind the table's centre in metres; None without a wall."""
    lamp: tuple[float, float] = (-0.5, -0.6)
    """x and y of the light above the table."""
    pose_known: bool = False
    """Whether camera.json contains the camera's pose."""


RECIPES = (
    SceneRecipe("blocks", "Coloured cubes, cylinders and a ball on an oak table.", (
        Item("red_cube", -0.18, 0.02, 20), Item("green_cube", -0.04, 0.12, -35), Item("blue_cube", 0.10, -0.05, 10),
        Item("yellow_block", 0.20, 0.10, 60), Item("purple_cube", -0.09, -0.12, 50),
        Item("red_cylinder", 0.02, -0.02), Item("red_ball", -0.24, 0.17),
    ), distance=0.8),
    SceneRecipe("pantry", "Cans, cartons and bottles on a white table before a wall; the camera's pose is known.", (
        Item("cracker_box", -0.24, 0.16, 25), Item("soup_can", -0.08, -0.02, 40),
        Item("mustard_bottle", 0.16, 0.10, -30),
        Item("sugar_box", -0.02, 0.18, -20), Item("tuna_can", 0.05, -0.12, 80), Item("pudding_box", 0.26, -0.04, 35),
        Item("soda_can", -0.20, -0.08, 10),
    ), size=(1280, 720), distance=1.05, azimuth=-12, elevation=34, table="white", wall=0.75, lamp=(0.5, -0.5),
        pose_known=True),
    SceneRecipe("kitchen", "A bowl, a mug, a plate, a cup and a bottle on a walnut table.", (
        Item("teal_bowl", -0.16, -0.02), Item("white_mug", 0.03, 0.09, 215), Item("blue_plate", 0.17, -0.06),
        Item("ketchup_bottle", -0.02, 0.24, 30), Item("yellow_cup", 0.21, 0.17), Item("orange", -0.24, 0.19),
    ), distance=0.95, azimuth=18, elevation=47, table="walnut", lamp=(0.3, -0.7)),
    SceneRecipe("desk", "A book, tools, tape and a marker on a dark desk; the floor shows behind it.", (
        Item("red_book", -0.17, 0.10, 15), Item("screwdriver", 0.10, -0.06, 40), Item("tape_roll", 0.03, 0.13),
        Item("hammer", 0.22, 0.10, 100), Item("blue_marker", -0.08, -0.12, -20), Item("tea_box", -0.27, -0.07, 70),
    ), distance=0.85, azimuth=-20, elevation=52, table="slate", half=(0.48, 0.34), lamp=(-0.6, 0.2)),
    SceneRecipe("sizes", "Five wooden and coloured things to sort from small to big, on a checked cloth.", (
        Item("small_wooden_cube", 0.16, -0.04, 15), Item("large_wooden_cube", -0.15, 0.10, 35),
        Item("red_cube", 0.02, 0.13, -10), Item("blue_cylinder", -0.06, -0.07), Item("juice_carton", 0.20, 0.16, 20),
    ), distance=0.8, azimuth=8, elevation=38, table="cloth", lamp=(-0.2, -0.8), pose_known=True),
    SceneRecipe("stack", "A small stack beside loose blocks and an empty bin.", (
        Item("blue_block", -0.13, 0.03, 25), Item("red_cube", -0.13, 0.03, 40, on="blue_block"),
        Item("green_cylinder", -0.02, -0.10), Item("yellow_cube", 0.02, 0.14, 55), Item("white_bin", 0.19, 0.04, -15),
    ), distance=0.85, azimuth=-6, elevation=43, table="birch", lamp=(0.4, -0.3)),
    SceneRecipe("workshop", "Nine household things close together, one lying, some hidden behind others.", (
        Item("drill", 0.20, 0.14, 150), Item("mustard_bottle", 0.02, 0.20, 15), Item("cereal_box", -0.28, 0.20, -25),
        Item("meat_tin", -0.26, -0.04, 30), Item("wooden_bowl", -0.05, -0.03), Item("red_mug", 0.13, -0.07, 130),
        Item("bean_can", -0.13, 0.16), Item("foam_brick", 0.29, -0.03, 65),
        Item("crisp_tube", 0.11, -0.19, 8, is_lying=True),
    ), size=(1280, 720), distance=1.1, azimuth=10, elevation=42, table="oak", half=(0.7, 0.45), wall=0.9,
        lamp=(-0.4, -0.5)),
)  # fmt: skip


# ---------------------------------------------------------------------- the scene


def compose(recipe: SceneRecipe, library: Library) -> Scene:
    """Return the recipe's objects, settled, with its camera."""
    x, y = recipe.half
    placements: dict[str, Placement] = {}
    for item in recipe.items:
        placements[item.asset] = _place_item(item, library, placements, len(placements) + 1)
    scene = Scene(
        world_from_camera=camera_pose(recipe),
        table=np.array([[-x, -y], [x, -y], [x, y], [-x, y]]) * 0.999,
        table_rgb=(150, 130, 110),
        placements=tuple(placements.values()),
        intrinsics=camera_intrinsics(recipe),
    )
    scene, changes = settle(scene)
    for change in changes:
        print(f"  {change.message}")
    return scene


def _place_item(item: Item, library: Library, below: dict[str, Placement], number: int) -> Placement:
    asset = library[item.asset]
    bottom = 0.0 if not item.on else below[item.on].world_from_object.pos[2] + below[item.on].size[2] / 2
    angle = np.radians(item.turn)
    turn = Pose(np.zeros(3), quat_about_z(angle))
    side = Pose(np.zeros(3), np.array([np.sqrt(0.5), 0, np.sqrt(0.5), 0]))
    pose = turn @ side if item.is_lying else turn
    height = np.abs(pose.rotation[2]) @ asset.size
    return Placement(
        name=item.asset, segment_id=number, asset_id=asset.id, scale=1.0, size=asset.size,
        world_from_object=Pose(np.array([item.x, item.y, bottom + height / 2]), pose.quat_wxyz), mesh=asset.mesh,
        collision=asset.collision, mass=asset.mass, friction=asset.friction, category=asset.category,
        container=asset.container,
    )  # fmt: skip


def camera_intrinsics(recipe: SceneRecipe) -> Intrinsics:
    width, height = recipe.size
    f = 0.955 * width if width == 640 else 0.712 * width  # as wide as common depth cameras see
    return Intrinsics(width, height, round(f, 3), round(f * 1.0004, 3), width / 2 - 4.3, height / 2 + 5.1)


def camera_pose(recipe: SceneRecipe) -> np.ndarray:
    """Return world_from_camera (4, 4): on a sphere around `look_at`, rolled by one degree like a hand-held camera."""
    a, e, roll = np.radians([recipe.azimuth, recipe.elevation, 1.0])
    back = np.array([np.cos(e) * np.sin(a), -np.cos(e) * np.cos(a), np.sin(e)])
    right = np.array([np.cos(a), np.sin(a), 0])
    down = np.cross(-back, right)
    rotation = np.stack([right, down, -back], 1)
    pose = np.eye(4)
    pose[:3, :3] = rotation @ rotation_about_z(roll)
    pose[:3, 3] = np.array(recipe.look_at) + recipe.distance * back
    return pose


# ---------------------------------------------------------------------- what it looks like


def build_model(
    scene: Scene, recipe: SceneRecipe, additions: Sequence[Callable[[mujoco.MjSpec], None]] = ()
) -> mujoco.MjModel:
    """Return the model of the scene with the recipe's table top, wall and lamp.

    `additions` may add geoms to the spec before it is compiled.
    """
    spec = builder.build_spec(scene)
    for add in additions:
        add(spec)
    return builder.compile_spec(furnish(spec, recipe))


def furnish(spec: mujoco.MjSpec, recipe: SceneRecipe) -> mujoco.MjSpec:
    """Give the model of a scene the recipe's table top, wall and lamp; return it."""
    table = spec.geom("table")
    table.size[:2] = recipe.half
    table.pos[:2] = 0
    table.quat = [1, 0, 0, 0]
    _set_texture(spec, table, "table", _surface_texture(recipe.table, seed=len(recipe.name)))
    _set_texture(spec, spec.geom("floor"), "floor", _surface_texture("floor", seed=7))
    if recipe.wall is not None:
        wall = spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[3, 0.02, 1.5], pos=[0, recipe.wall, 0.6])
        _set_texture(spec, wall, "wall", _surface_texture("plaster", seed=3))
    spec.lights[0].pos = [*recipe.lamp, 1.8]
    spec.lights[0].dir = [-recipe.lamp[0], -recipe.lamp[1], -1.8]
    spec.lights[0].diffuse = [0.58, 0.56, 0.53]
    spec.worldbody.add_light(type=mujoco.mjtLightType.mjLIGHT_SPOT, pos=[-2 * recipe.lamp[0], -1.2, 2], cutoff=70,
                             dir=[recipe.lamp[0], 0.6, -1], diffuse=[0.22, 0.24, 0.27], castshadow=False)  # fmt: skip
    spec.visual.headlight.ambient = [0.34, 0.34, 0.35]
    spec.visual.headlight.diffuse = [0.12] * 3
    return spec


def _set_texture(spec: mujoco.MjSpec, geom: mujoco.MjsGeom, name: str, image: np.ndarray) -> None:
    png = cv2.imencode(".png", image[..., ::-1])[1].tobytes()
    spec.assets |= {f"{name}_top.png": png}
    spec.add_texture(name=f"{name}_top", type=mujoco.mjtTexture.mjTEXTURE_2D, file=f"{name}_top.png")
    material = spec.add_material(name=f"{name}_top", specular=0.15, shininess=0.2)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = f"{name}_top"
    material.texrepeat = [1, 1] if name != "floor" else [6, 6]
    geom.material, geom.rgba = f"{name}_top", [1, 1, 1, 1]


WOODS = {"oak": (168, 128, 88), "walnut": (98, 68, 48), "birch": (196, 170, 132)}


def _surface_texture(kind: str, seed: int, size: int = 1024) -> np.ndarray:
    """Return a texture of shape (size, size, 3), uint8."""
    rng = np.random.default_rng(seed)
    if kind in WOODS:
        return _wood_texture(rng, np.array(WOODS[kind], float), size)
    if kind == "cloth":
        u, v = np.meshgrid(np.arange(size), np.arange(size))
        checks = ((u // 64) % 2 + (v // 64) % 2)[..., None] / 2
        weave = 4 * ((u + v) % 4 < 2)[..., None] + rng.normal(0, 3, (size, size, 1))
        return (
            (np.array([214, 212, 205]) * (1 - checks) + np.array([150, 172, 196]) * checks + weave)
            .clip(0, 255)
            .astype(np.uint8)
        )
    plain = {"white": (206, 205, 201), "slate": (70, 74, 80), "plaster": (205, 200, 190), "floor": (128, 124, 120)}[
        kind
    ]
    cloud = sum(_value_noise(rng, size, 2**k) * 2.0 for k in (2, 4, 6)) + rng.normal(0, 1.5, (size, size))
    return (np.array(plain) + cloud[..., None]).clip(0, 255).astype(np.uint8)


def _wood_texture(rng: np.random.Generator, colour: np.ndarray, size: int) -> np.ndarray:
    """Return planks of one wood, each with its own grain and tone."""
    image = np.zeros((size, size, 3))
    for top in range(0, size, size // 4):
        height = size // 4
        grain = cv2.resize(rng.normal(0, 1, (height, 5)), (size, height), interpolation=cv2.INTER_CUBIC)
        rings = np.sin(np.cumsum(np.abs(ndimage.gaussian_filter(grain, (2, 30))), 0) * 1.3 + rng.uniform(0, 6))
        fibre = ndimage.gaussian_filter(rng.normal(0, 1, (height, size)), (0.6, 14)) * 5
        shade = 1 + 0.07 * rings + 0.10 * fibre / 5 + rng.uniform(-0.07, 0.07)
        image[top : top + height] = colour * shade[..., None]
        image[top : top + 2] *= 0.55
    return image.clip(0, 255).astype(np.uint8)


def _value_noise(rng: np.random.Generator, size: int, cells: int) -> np.ndarray:
    return cv2.resize(rng.normal(0, 1, (cells, cells)), (size, size), interpolation=cv2.INTER_CUBIC)


def photograph(model: mujoco.MjModel, size: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Return an image rendered at twice the size and averaged, with a lens's vignetting and a sensor's noise."""
    large = rendering.render_model(model, (2 * size[0], 2 * size[1])).rgb
    return through_lens(cv2.resize(large, size, interpolation=cv2.INTER_AREA), rng)


def through_lens(rgb: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an image (H, W, 3), uint8, with a lens's vignetting and a sensor's noise."""
    image, size = rgb.astype(float), rgb.shape[1::-1]
    u, v = np.meshgrid(np.linspace(-1, 1, size[0]), np.linspace(-1, 1, size[1]))
    image *= (1 - 0.12 * (u**2 + v**2))[..., None]
    noise = rng.normal(0, 1.6 if size[0] <= 640 else 0.8, image.shape)
    return (image + noise).clip(0, 255).astype(np.uint8)


# ---------------------------------------------------------------------- what the depth camera makes of it


def depth_camera(depth: np.ndarray, rgb: np.ndarray, k: Intrinsics, rng: np.random.Generator) -> np.ndarray:
    """Return true depth (H, W) as a stereo camera reports it: quantised, noisy, misaligned and ragged at edges.

    Disparity is f B / z: one step of it is z^2 / (f B) in depth, so noise and steps grow with the square of distance.
    """
    height, width = depth.shape
    u, v = np.meshgrid(np.arange(width), np.arange(height))
    drift = ndimage.gaussian_filter(rng.normal(0, 1, (2, height, width)), (0, 1.2, 1.2)) * 2.6
    shifted = depth[
        (v + drift[0]).round().astype(int).clip(0, height - 1), (u + drift[1]).round().astype(int).clip(0, width - 1)
    ]
    has_depth = shifted > 0.1
    disparity = k.fx * BASELINE_M / np.where(has_depth, shifted, 1)
    disparity += ndimage.gaussian_filter(rng.normal(0, 1, depth.shape), 1.5) * 0.32  # errors are alike among neighbours
    disparity = np.round(disparity * 16) / 16
    noisy = np.where(has_depth, k.fx * BASELINE_M / np.maximum(disparity, 1), 0)
    return np.where(_missing_depth(depth, rgb, k, rng), 0, noisy)


def _missing_depth(depth: np.ndarray, rgb: np.ndarray, k: Intrinsics, rng: np.random.Generator) -> np.ndarray:
    """Return pixels without depth: occluded in the second camera, grazing, glossy or dark; (H, W), bool."""
    safe = np.where(depth > 0.1, depth, 20)
    disparity = k.fx * BASELINE_M / safe
    column = np.arange(depth.shape[1]) - disparity  # where the second eye, to the right, would see it
    hidden = column - np.minimum.accumulate(column[:, ::-1], 1)[:, ::-1] > 2.0
    slope = np.hypot(*np.gradient(safe)) * k.fx / safe
    jump = ndimage.maximum_filter(safe, 3) - ndimage.minimum_filter(safe, 3) > 0.03
    patches = ndimage.gaussian_filter(rng.normal(0, 1, depth.shape), 4) * 14
    value = rgb.max(2)
    gloss = (value > 252) & (patches > 1.5)
    dark = (value < 14) & (patches > -0.2)
    border = np.arange(depth.shape[1])[None] < 0.02 * depth.shape[1]
    ragged = jump & (rng.random(depth.shape) < 0.45)
    return hidden | (slope > 7) & (patches > -0.4) | ragged | gloss | dark | border | (patches > 4.3) | (safe > 6)


# ---------------------------------------------------------------------- the files


def make_scene(recipe: SceneRecipe, library: Library, folder: Path) -> None:
    """Write one frame with its expected objects."""
    rng = np.random.default_rng(sum(recipe.name.encode()))
    scene = compose(recipe, library)
    model = build_model(scene, recipe)
    k = camera_intrinsics(recipe)
    labels, depth = fidelity.raycast_image(model, k, scene.world_from_camera)
    rgb = photograph(model, recipe.size, rng)
    folder.mkdir(parents=True, exist_ok=True)
    Image.fromarray(rgb).save(folder / "rgb.png", optimize=True)
    millimetres = np.round(depth_camera(depth, rgb, k, rng) / DEPTH_SCALE).astype(np.uint16)
    Image.fromarray(millimetres).save(folder / "depth.png", optimize=True)
    camera = {
        "width": k.width,
        "height": k.height,
        "fx": k.fx,
        "fy": k.fy,
        "cx": k.cx,
        "cy": k.cy,
        "depth_scale": DEPTH_SCALE,
    }
    if recipe.pose_known:
        camera["world_from_camera"] = scene.world_from_camera.round(6).tolist()
    (folder / "camera.json").write_text(json.dumps(camera, indent=1) + "\n")
    objects = [
        _expected_object(p, item, labels == model.body(p.name).id)
        for p, item in zip(scene.placements, recipe.items, strict=True)
    ]
    expected = {"synthetic": True, "about": recipe.about, "table_z": 0.0,
                "world_from_camera": scene.world_from_camera.round(6).tolist(), "objects": objects}  # fmt: skip
    (folder / "expected.json").write_text(expected_json(expected))
    (folder / "README.md").write_text(README.format(title=recipe.name.capitalize(), about=recipe.about))


def _expected_object(p: Placement, item: Item, mask: np.ndarray) -> dict:
    box = list(bounding_box(mask)) if mask.any() else None
    return {
        "name": p.name, "asset_id": p.asset_id, "category": p.category, "scale": p.scale, "on": item.on or "table",
        "size": p.size.round(5).tolist(), "box": box, "mask": encode_rle(mask),
        "world_from_object": {"pos": p.world_from_object.pos.round(5).tolist(),
                              "quat_wxyz": p.world_from_object.quat_wxyz.round(6).tolist()},
    }  # fmt: skip


def expected_json(expected: dict) -> str:
    """Return expected.json's text, one object per line."""
    head = json.dumps({key: value for key, value in expected.items() if key != "objects"})[:-1]
    return head + ', "objects": [\n' + ",\n".join(json.dumps(item) for item in expected["objects"]) + "\n]}\n"


README = """# {title}

{about}

**Synthetic**: drawn by `sample_scenes/make_scenes.py` from our own library, with the faults of a stereo depth camera
(noise that grows with distance, steps of disparity, torn edges, shadows of the second eye, gloss). No such table was
ever photographed. `expected.json` holds the truth: which asset is where, its size and its visible pixels (COCO run
lengths). MIT, like the rest of this repository.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="which scenes to make; all by default")
    parser.add_argument("--out", type=Path, default=SCENES_FOLDER)
    arguments = parser.parse_args()
    library = Library.open()
    for recipe in RECIPES:
        if not arguments.names or recipe.name in arguments.names:
            print(recipe.name)
            make_scene(recipe, library, arguments.out / recipe.name)


if __name__ == "__main__":
    main()
