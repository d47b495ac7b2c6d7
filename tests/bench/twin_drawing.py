"""Tables of known truth: primitives and library assets that stand, lie, touch and hide each other.

`draw` writes a frame folder with truth/{truth.json, masks.png} in it. The frame has a stereo camera's faults, or none.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import mujoco
import numpy as np
from PIL import Image
from scipy.spatial import KDTree
from scipy.spatial.transform import Rotation

from pipeline.assets import Asset, Library, shapes
from pipeline.assets.library import write_asset
from pipeline.geometry import Pose
from pipeline.scene import fidelity, meshes, mjcf
from pipeline.scene.placement import Placement, Scene
from pipeline.scene.settle import settle
from sample_scenes import make_scenes as studio

KINDS = ("apart", "stacked", "lying", "touching", "crowded")
COLOURS = ((196, 60, 48), (52, 104, 190), (70, 150, 72), (226, 180, 60), (130, 80, 160), (210, 120, 50), (60, 150, 160))
SWAPS = Rotation.create_group("O").as_matrix()
LARGEST = 0.24
"""Metres: what is longer leaves no room for others."""
ALIKE = 0.012
"""A turned surface is the same when its points lie within this share of its length on it."""


def draw(kind: str, seed: int, library: Library, folder: Path, noisy: bool = True) -> None:
    """One frame of a kind, with its truth; the same numbers always make the same frame."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    recipe = recipe_of(kind, rng)
    scene = scene_of(
        kind, recipe, _things(rng, library, folder / "truth" / "meshes", 8 if kind == "crowded" else 6), rng
    )
    photographed(scene, recipe, rng, folder, noisy)


def photographed(
    scene: Scene, recipe: studio.Recipe, rng: np.random.Generator, folder: Path, noisy: bool = True
) -> None:
    """The frame folder of a scene, its truth in it."""
    folder.mkdir(parents=True, exist_ok=True)
    model = studio.dress(scene, recipe)
    k = studio._camera(recipe)
    labels, depth = fidelity.cast(model, k, scene.world_from_camera)
    rgb = studio.photograph(model, recipe.size, rng)
    seen = studio.depth_camera(depth, rgb, k, rng) if noisy else depth
    Image.fromarray(rgb).save(folder / "rgb.png")
    Image.fromarray(np.round(seen / 1e-4).astype(np.uint16)).save(folder / "depth.png")
    camera = {name: getattr(k, name) for name in ("width", "height", "fx", "fy", "cx", "cy")} | {"depth_scale": 1e-4}
    (folder / "camera.json").write_text(json.dumps(camera))
    _write_truth(scene, model, labels, folder / "truth")


def recipe_of(kind: str, rng: np.random.Generator) -> studio.Recipe:
    return studio.Recipe(
        kind, "", (), distance=float(rng.uniform(0.7, 1.0)), azimuth=float(rng.uniform(-30, 30)),
        elevation=float(rng.uniform(32, 58)), table=str(rng.choice(["oak", "walnut", "birch", "white", "slate"])),
        wall=0.9 if rng.random() < 0.3 else None, lamp=(float(rng.uniform(-0.6, 0.6)), float(rng.uniform(-0.6, 0.2))),
        half=(0.6, 0.42),
    )  # fmt: skip


# ---------------------------------------------------------------------- what stands there


def _things(rng: np.random.Generator, library: Library, folder: Path, count: int) -> list[Asset]:
    """Primitives of random sizes and assets of the library, in turn."""
    fit = sorted(a.id for a in library if max(a.size) < LARGEST and min(a.size) > 0.02)
    ids = rng.choice(fit, count, replace=False)
    return [library[str(ids[n])] if n % 2 else _primitive(rng, n, folder) for n in range(count)]


def _primitive(rng: np.random.Generator, number: int, folder: Path) -> Asset:
    paint = shapes.plain(COLOURS[int(rng.integers(len(COLOURS)))])
    shape = str(rng.choice(["box", "box", "cylinder", "sphere"]))
    a, b, c = rng.uniform(0.03, 0.11, 3)
    if shape == "box":
        solid = shapes.box([a, b, c], paint)
    elif shape == "cylinder":
        solid = shapes.lathe([(0, -c / 2), (a / 2, -c / 2), (a / 2, c / 2), (0, c / 2)], paint)
    else:
        solid = shapes.ball(float(a) / 2, paint)
    about = {"name": shape, "caption": shape, "category": shape, "mass": 0.1, "friction": 0.8, "provenance": "drawn"}
    return write_asset(solid, folder / f"{shape}_{number}", about)


def scene_of(kind: str, recipe: studio.Recipe, things: Sequence[Asset], rng: np.random.Generator) -> Scene:
    """The things put where the kind wants them, then let go until they rest."""
    x, y = recipe.half
    placements: list[Placement] = []
    for number, asset in enumerate(things):
        lies = kind == "lying" and rng.random() < 0.6 and not asset.container
        turn = _about_z(rng.uniform(0, 2 * np.pi)) @ (SWAPS[int(rng.integers(24))] if lies else np.eye(3))
        half = np.abs(turn) @ asset.size / 2
        pos = _spot(kind, number, half, placements, things, rng)
        placements.append(_placed(asset, number + 1, Pose.from_rotation(pos, turn)))
    scene = Scene(
        world_from_camera=studio._look(recipe),
        table=np.array([[-x, -y], [x, -y], [x, y], [-x, y]]) * 0.999,
        table_rgb=(150, 130, 110), placements=tuple(placements), intrinsics=studio._camera(recipe),
    )  # fmt: skip
    rested, _ = settle(scene)
    on_table = [p for p in rested.placements if p.world_from_object.pos[2] > 0]
    return Scene(scene.world_from_camera, scene.table, scene.table_rgb, tuple(on_table), scene.intrinsics)


def _spot(
    kind: str,
    number: int,
    half: np.ndarray,
    placed: Sequence[Placement],
    things: Sequence[Asset],
    rng: np.random.Generator,
) -> np.ndarray:
    """Where the next thing's middle goes, a millimetre above what holds it."""
    if kind == "stacked" and number % 2 and placed:
        under = placed[-1]
        if things[number - 1].category == "box" and under.world_from_object.rotation[2, 2] > 0.9:
            at = under.world_from_object.pos
            return np.array([*(at[:2] + rng.normal(0, 0.004, 2)), at[2] + under.size[2] / 2 + half[2] + 0.001])
    columns, pitch = {"crowded": (4, 0.105), "touching": (3, 0.0)}.get(kind, (3, 0.19))
    row, column = divmod(number, columns)
    if kind == "touching" and column:
        before = placed[-1].world_from_object.pos
        reach = (np.abs(placed[-1].world_from_object.rotation) @ placed[-1].size / 2)[0]
        return np.array([before[0] + reach + half[0] + rng.uniform(-0.004, 0.006), before[1], half[2] + 0.001])
    x = -0.2 if kind == "touching" else pitch * (column - (columns - 1) / 2)
    y = (0.13 if kind == "crowded" else 0.2) * (row - 0.5) + rng.normal(0, 0.012)
    return np.array([x + rng.normal(0, 0.012), y, half[2] + 0.001])


def _placed(asset: Asset, number: int, pose: Pose) -> Placement:
    return Placement(
        name=f"{number}_{asset.id}", segment_id=number, asset_id=asset.id, scale=1.0, size=asset.size,
        provenance=asset.provenance,
        world_from_object=pose, mesh=asset.mesh, collision=asset.collision, mass=asset.mass, friction=asset.friction,
        category=asset.category, container=asset.container,
    )  # fmt: skip


def _about_z(angle: float) -> np.ndarray:
    return Rotation.from_euler("z", angle).as_matrix()


# ---------------------------------------------------------------------- the truth


def _write_truth(scene: Scene, model: mujoco.MjModel, labels: np.ndarray, folder: Path) -> None:
    masks = np.zeros(labels.shape, np.uint16)
    touching = _touching(model)
    objects = []
    for p in scene.placements:
        mask = labels == model.body(p.name).id
        masks[mask] = p.segment_id
        alone = _alone(scene, p)
        if mask.sum() > 150 and mask.sum() > 0.25 * alone:
            objects.append(_told(p, mask.sum() / max(alone, 1), touching.get(p.name, {})))
    folder.mkdir(parents=True, exist_ok=True)
    Image.fromarray(masks).save(folder / "masks.png")
    truth = {"world_from_camera": scene.world_from_camera.tolist(), "objects": objects}
    (folder / "truth.json").write_text(json.dumps(truth, indent=1))


def _alone(scene: Scene, p: Placement) -> float:
    """How many pixels would show it were nothing else there."""
    single = Scene(scene.world_from_camera, scene.table, scene.table_rgb, (p,), scene.intrinsics)
    model = mjcf.compile_spec(mjcf.build(single))
    assert scene.intrinsics is not None
    labels, _ = fidelity.cast(model, scene.intrinsics, scene.world_from_camera, 3)
    return 9.0 * float((labels == model.body(p.name).id).sum())


def _touching(model: mujoco.MjModel) -> dict[str, dict[str, bool]]:
    """Of each body by name: what it touches, and whether that holds it from below."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    found: dict[str, dict[str, bool]] = {}
    for contact in data.contact[: data.ncon]:
        a, b = (model.body(int(model.geom_bodyid[g])).name for g in contact.geom)
        for name, other, up in ((a, b, -contact.frame[2]), (b, a, contact.frame[2])):
            found.setdefault(name, {})[other] = found.get(name, {}).get(other, False) or bool(up > 0.5)
    return found


def _told(p: Placement, visible: float, touched: Mapping[str, bool]) -> dict:
    up = np.abs(p.world_from_object.rotation[2])
    holders = [name for name, below in touched.items() if below and name != "world"]
    made = p.provenance == "drawn"
    kind, turns = symmetry(p)
    return {
        "id": p.segment_id, "name": p.name, "asset_id": None if made else p.asset_id, "scale": 1,
        "size": p.size.tolist(), "visible_fraction": round(min(visible, 1.0), 3), "on": holders or ["table"],
        "touching": [name for name, below in touched.items() if not below and name != "world"],
        "rest": "upright" if p.world_from_object.rotation[2, 2] > 0.97 else "lying" if up.max() > 0.97 else "tilted",
        "symmetry": kind, "symmetry_rotations": Rotation.from_matrix(turns).as_quat(scalar_first=True).tolist(),
        "world_from_object": {"pos": p.world_from_object.pos.tolist(),
                              "quat_wxyz": p.world_from_object.quat_wxyz.tolist()},
    }  # fmt: skip


def symmetry(p: Placement) -> tuple[str, np.ndarray]:
    """ "sphere", "axis" or "none", and the turns that leave the shape the same, of shape (N, 3, 3)."""
    mesh = meshes.load(p.mesh)
    points = mesh.sample(20_000, seed=0) if len(mesh.faces) else mesh.vertices
    points = (np.asarray(points) - mesh.bounds.mean(0)) * p.size / mesh.extents
    tree, limit = KDTree(points), ALIKE * p.size.max()

    def same(turn: np.ndarray) -> bool:
        return bool(np.quantile(tree.query(points[::20] @ turn.T)[0], 0.95) < 2 * limit)

    if p.category == "sphere" or all(same(Rotation.from_euler(a, 35, degrees=True).as_matrix()) for a in "xz"):
        return "sphere", np.eye(3)[None]
    turns = np.array([s for s in SWAPS if same(s)])
    return ("axis" if all(same(_about_z(a)) for a in (0.6, 1.1, 2.0)) else "none"), turns
