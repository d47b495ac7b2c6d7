"""Random tables of known truth: primitives and library assets that stand, lie, touch and occlude each other.

`draw_table` writes a frame folder with truth/{truth.json, masks.png}, with or without a stereo camera's depth errors.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
from PIL import Image
from scipy.spatial import KDTree
from scipy.spatial.transform import Rotation

from pipeline.assets import Asset, Library, solids
from pipeline.assets.library import write_asset
from pipeline.geometry import Pose
from pipeline.scene import fidelity
from pipeline.scene.mjcf import builder, mesh_export
from pipeline.scene.placement import Placement, Scene
from pipeline.scene.settle import settle
from sample_scenes import make_scenes as studio

KINDS = ("apart", "stacked", "lying", "touching", "crowded", "hidden")
COUNTS = {"crowded": 8, "hidden": 8}
"""Number of objects on a table of a kind; 6 on any other."""
COLOURS = ((196, 60, 48), (52, 104, 190), (70, 150, 72), (226, 180, 60), (130, 80, 160), (210, 120, 50), (60, 150, 160))
AXIS_ROTATIONS = Rotation.create_group("O").as_matrix()
MAX_ASSET_SIZE_M = 0.24
"""Longest side of the assets on a table."""
SYMMETRY_TOLERANCE = 0.012
"""A shape is symmetric under a rotation if its rotated points lie this close to it, relative to its longest side."""


def draw_table(kind: str, seed: int, library: Library, folder: Path, noisy: bool = True) -> None:
    """Write one frame of a kind with its truth. The same kind and seed always give the same frame."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    recipe = random_recipe(kind, rng)
    scene = arrange_scene(
        kind, recipe, _random_assets(rng, library, folder / "truth" / "meshes", COUNTS.get(kind, 6)), rng
    )
    photograph_scene(scene, recipe, rng, folder, noisy)


def photograph_scene(
    scene: Scene, recipe: studio.SceneRecipe, rng: np.random.Generator, folder: Path, noisy: bool = True
) -> None:
    """Write the frame folder of a scene with its truth."""
    folder.mkdir(parents=True, exist_ok=True)
    model = studio.build_model(scene, recipe)
    k = studio.camera_intrinsics(recipe)
    labels, depth = fidelity.raycast_image(model, k, scene.world_from_camera)
    rgb = studio.photograph(model, recipe.size, rng)
    measured = studio.depth_camera(depth, rgb, k, rng) if noisy else depth
    Image.fromarray(rgb).save(folder / "rgb.png")
    Image.fromarray(np.round(measured / 1e-4).astype(np.uint16)).save(folder / "depth.png")
    camera = {name: getattr(k, name) for name in ("width", "height", "fx", "fy", "cx", "cy")} | {"depth_scale": 1e-4}
    (folder / "camera.json").write_text(json.dumps(camera))
    _write_truth(scene, model, labels, folder / "truth")


def random_recipe(kind: str, rng: np.random.Generator) -> studio.SceneRecipe:
    recipe = studio.SceneRecipe(
        kind, "", (), distance=float(rng.uniform(0.7, 1.0)), azimuth=float(rng.uniform(-30, 30)),
        elevation=float(rng.uniform(32, 58)), table=str(rng.choice(["oak", "walnut", "birch", "white", "slate"])),
        wall=0.9 if rng.random() < 0.3 else None, lamp=(float(rng.uniform(-0.6, 0.6)), float(rng.uniform(-0.6, 0.2))),
        half=(0.6, 0.42),
    )  # fmt: skip
    if kind != "hidden":
        return recipe
    # A camera so low and near that the front row hides the back row, and the picture's edge cuts the outer columns
    distance, elevation, aside = (float(rng.uniform(*limits)) for limits in ((0.5, 0.75), (18, 36), (-0.16, 0.16)))
    return replace(recipe, distance=distance, elevation=elevation, look_at=(aside, 0.0, 0.03))


# ---------------------------------------------------------------------- objects


def _random_assets(rng: np.random.Generator, library: Library, folder: Path, count: int) -> list[Asset]:
    """Return primitives of random sizes and assets of the library, alternating."""
    small = sorted(a.id for a in library if max(a.size) < MAX_ASSET_SIZE_M and min(a.size) > 0.02)
    ids = rng.choice(small, count, replace=False)
    return [library[str(ids[n])] if n % 2 else _primitive(rng, n, folder) for n in range(count)]


def _primitive(rng: np.random.Generator, number: int, folder: Path) -> Asset:
    paint = solids.plain_texture(COLOURS[int(rng.integers(len(COLOURS)))])
    shape = str(rng.choice(["box", "box", "cylinder", "sphere"]))
    a, b, c = rng.uniform(0.03, 0.11, 3)
    if shape == "box":
        solid = solids.box([a, b, c], paint)
    elif shape == "cylinder":
        solid = solids.lathe([(0, -c / 2), (a / 2, -c / 2), (a / 2, c / 2), (0, c / 2)], paint)
    else:
        solid = solids.ball(float(a) / 2, paint)
    about = {"name": shape, "caption": shape, "category": shape, "mass": 0.1, "friction": 0.8, "provenance": "drawn"}
    return write_asset(solid, folder / f"{shape}_{number}", about)


def arrange_scene(kind: str, recipe: studio.SceneRecipe, assets: Sequence[Asset], rng: np.random.Generator) -> Scene:
    """Return the assets arranged as the kind requires, then settled."""
    x, y = recipe.half
    placements: list[Placement] = []
    for number, asset in enumerate(assets):
        lying = kind == "lying" and rng.random() < 0.6 and not asset.container
        rotation = _rotation_about_z(rng.uniform(0, 2 * np.pi)) @ (
            AXIS_ROTATIONS[int(rng.integers(24))] if lying else np.eye(3)
        )
        half = np.abs(rotation) @ asset.size / 2
        pos = _next_position(kind, number, half, placements, assets, rng)
        placements.append(asset_placement(asset, number + 1, Pose.from_rotation(pos, rotation)))
    scene = Scene(
        world_from_camera=studio.camera_pose(recipe),
        table=np.array([[-x, -y], [x, -y], [x, y], [-x, y]]) * 0.999,
        table_rgb=(150, 130, 110),
        placements=tuple(placements),
        intrinsics=studio.camera_intrinsics(recipe),
    )
    settled, _ = settle(scene)
    on_table = [p for p in settled.placements if p.world_from_object.pos[2] > 0]
    return Scene(scene.world_from_camera, scene.table, scene.table_rgb, tuple(on_table), scene.intrinsics)


def _next_position(
    kind: str,
    number: int,
    half: np.ndarray,
    placed: Sequence[Placement],
    assets: Sequence[Asset],
    rng: np.random.Generator,
) -> np.ndarray:
    """Return the centre of the next object, a millimetre above its support."""
    if kind == "stacked" and number % 2 and placed:
        below = placed[-1]
        if assets[number - 1].category == "box" and below.world_from_object.rotation[2, 2] > 0.9:
            at = below.world_from_object.pos
            return np.array([*(at[:2] + rng.normal(0, 0.004, 2)), at[2] + below.size[2] / 2 + half[2] + 0.001])
    columns, pitch = {"crowded": (4, 0.105), "hidden": (4, 0.115), "touching": (3, 0.0)}.get(kind, (3, 0.19))
    row, column = divmod(number, columns)
    if kind == "touching" and column:
        previous = placed[-1].world_from_object.pos
        reach = (np.abs(placed[-1].world_from_object.rotation) @ placed[-1].size / 2)[0]
        return np.array([previous[0] + reach + half[0] + rng.uniform(-0.004, 0.006), previous[1], half[2] + 0.001])
    x = -0.2 if kind == "touching" else pitch * (column - (columns - 1) / 2)
    y = {"crowded": 0.13, "hidden": 0.12}.get(kind, 0.2) * (row - 0.5) + rng.normal(0, 0.012)
    return np.array([x + rng.normal(0, 0.012), y, half[2] + 0.001])


def asset_placement(asset: Asset, number: int, pose: Pose) -> Placement:
    return Placement(
        name=f"{number}_{asset.id}", segment_id=number, asset_id=asset.id, scale=1.0, size=asset.size,
        provenance=asset.provenance,
        world_from_object=pose, mesh=asset.mesh, collision=asset.collision, mass=asset.mass, friction=asset.friction,
        category=asset.category, container=asset.container,
    )  # fmt: skip


def _rotation_about_z(angle: float) -> np.ndarray:
    return Rotation.from_euler("z", angle).as_matrix()


# ---------------------------------------------------------------------- the truth


def _write_truth(scene: Scene, model: mujoco.MjModel, labels: np.ndarray, folder: Path) -> None:
    masks = np.zeros(labels.shape, np.uint16)
    contacts = _contacts(model)
    objects = []
    for p in scene.placements:
        mask = labels == model.body(p.name).id
        masks[mask] = p.segment_id
        full = _unoccluded_pixels(scene, p)
        if mask.sum() > 150 and mask.sum() > 0.25 * full:
            objects.append(_object_truth(p, mask.sum() / max(full, 1), contacts.get(p.name, {})))
    folder.mkdir(parents=True, exist_ok=True)
    Image.fromarray(masks).save(folder / "masks.png")
    truth = {"world_from_camera": scene.world_from_camera.tolist(), "objects": objects}
    (folder / "truth.json").write_text(json.dumps(truth, indent=1))


def _unoccluded_pixels(scene: Scene, p: Placement) -> float:
    """Return the number of pixels that would show the object if nothing else were there and the picture were larger."""
    single = Scene(scene.world_from_camera, scene.table, scene.table_rgb, (p,), scene.intrinsics)
    model = builder.compile_spec(builder.build_spec(single))
    k = scene.intrinsics
    assert k is not None
    x, y = k.width // 2, k.height // 2
    larger = replace(k, width=k.width + 2 * x, height=k.height + 2 * y, cx=k.cx + x, cy=k.cy + y)
    labels, _ = fidelity.raycast_image(model, larger, scene.world_from_camera, 3)
    return 9.0 * float((labels == model.body(p.name).id).sum())


def _contacts(model: mujoco.MjModel) -> dict[str, dict[str, bool]]:
    """Return what each body touches, by name, and whether it is supported by that from below."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    contacts: dict[str, dict[str, bool]] = {}
    for contact in data.contact[: data.ncon]:
        a, b = (model.body(int(model.geom_bodyid[g])).name for g in contact.geom)
        for name, other, up in ((a, b, -contact.frame[2]), (b, a, contact.frame[2])):
            contacts.setdefault(name, {})[other] = contacts.get(name, {}).get(other, False) or bool(up > 0.5)
    return contacts


def _object_truth(p: Placement, visible: float, contacts: Mapping[str, bool]) -> dict:
    up = np.abs(p.world_from_object.rotation[2])
    supports = [name for name, from_below in contacts.items() if from_below and name != "world"]
    drawn = p.provenance == "drawn"
    kind, rotations = symmetry(p)
    return {
        "id": p.segment_id, "name": p.name, "asset_id": None if drawn else p.asset_id, "scale": 1,
        "size": p.size.tolist(), "visible_fraction": round(min(visible, 1.0), 3), "on": supports or ["table"],
        "touching": [name for name, from_below in contacts.items() if not from_below and name != "world"],
        "rest": "upright" if p.world_from_object.rotation[2, 2] > 0.97 else "lying" if up.max() > 0.97 else "tilted",
        "symmetry": kind, "symmetry_rotations": Rotation.from_matrix(rotations).as_quat(scalar_first=True).tolist(),
        "world_from_object": {"pos": p.world_from_object.pos.tolist(),
                              "quat_wxyz": p.world_from_object.quat_wxyz.tolist()},
    }  # fmt: skip


def symmetry(p: Placement) -> tuple[str, np.ndarray]:
    """Return "sphere", "axis" or "none", and the rotations under which the shape is symmetric, of shape (N, 3, 3)."""
    mesh = mesh_export.read_mesh(p.mesh)
    points = mesh.sample(20_000, seed=0) if len(mesh.faces) else mesh.vertices
    points = (np.asarray(points) - mesh.bounds.mean(0)) * p.size / mesh.extents
    tree, limit = KDTree(points), SYMMETRY_TOLERANCE * p.size.max()

    def symmetric(rotation: np.ndarray) -> bool:
        return bool(np.quantile(tree.query(points[::20] @ rotation.T)[0], 0.95) < 2 * limit)

    if p.category == "sphere" or all(symmetric(Rotation.from_euler(a, 35, degrees=True).as_matrix()) for a in "xz"):
        return "sphere", np.eye(3)[None]
    rotations = np.array([r for r in AXIS_ROTATIONS if symmetric(r)])
    return ("axis" if all(symmetric(_rotation_about_z(a)) for a in (0.6, 1.1, 2.0)) else "none"), rotations
