"""Hard tables for tuning masks: heaps, stacks, touching cartons, full bowls, thin tools, things in a gripper.

`python sample_scenes/make_clutter.py FOLDER FIRST LAST` writes FOLDER/<kind>_<seed>/ in the plain form with
expected.json, one frame of each kind for every seed in FIRST ... LAST - 1. Synthetic; not part of the sample scenes.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import cv2
import make_scenes as ms
import mujoco
import numpy as np
from make_scenes import Recipe
from PIL import Image

from pipeline.assets import Library
from pipeline.geometry import Pose
from pipeline.scene import fidelity, mjcf
from pipeline.scene.placement import Scene
from pipeline.scene.settle import _World
from pipeline.segmentation import rle

THIN = ["screwdriver", "blue_marker", "scissors", "hammer", "tape_roll", "banana", "toy_plane", "red_book"]
HOLLOW = "teal_bowl wooden_bowl white_bowl red_bowl square_red_bowl white_bin blue_bin grey_tray frying_pan".split()  # noqa: SIM905 a list of ten names reads better as one
KINDS = ("heap", "touch", "stack", "full", "thin", "held")


def pick(lib, rng, n, pool=None):
    return list(rng.choice(sorted(pool or lib), n, replace=False))


def things(kind, lib, rng):
    ids = sorted(a.id for a in lib)
    small = [i for i in ids if max(lib[i].size) < 0.13 and i not in HOLLOW]
    boxes = [
        i
        for i in ids
        if lib[i].category
        and (
            "box" in i
            or "carton" in i
            or "block" in i
            or "cube" in i
            or "tin" in i
            or "brick" in i
            or "can" in i.split("_")
        )
    ]
    out = []

    def put(i, x, y, z, quat):
        if all(i != o[0] for o in out):
            out.append((i, np.array([x, y, z]), quat))

    def up():
        a = rng.uniform(0, 2 * np.pi)
        return np.array([np.cos(a / 2), 0, 0, np.sin(a / 2)])

    def any_():
        q = rng.normal(size=4)
        return q / np.linalg.norm(q)

    if kind == "heap":
        for n, i in enumerate(
            pick(lib, rng, int(rng.integers(8, 14)), [i for i in ids if i != "beach_ball" and max(lib[i].size) < 0.28])
        ):
            put(i, *rng.normal(0, 0.09, 2), 0.08 + 0.07 * n, any_() if rng.random() < 0.6 else up())
    elif kind == "touch":
        x = -0.25
        row = 0
        for i in pick(
            lib,
            rng,
            int(rng.integers(7, 12)),
            boxes if rng.random() < 0.5 else [i for i in ids if max(lib[i].size) < 0.28 and i not in THIN],
        ):
            s = lib[i].size
            if x > 0.2:
                x = -0.25 + rng.uniform(0, 0.06)
                row += 1
            put(
                i,
                x + s[0] / 2,
                -0.12 + 0.14 * row + rng.uniform(-0.02, 0.02),
                s[2] / 2,
                np.array([1.0, 0, 0, 0]) if rng.random() < 0.5 else up(),
            )
            x += s[0] + rng.uniform(0, 0.012)
    elif kind == "stack":
        for n in range(int(rng.integers(3, 5))):
            x, y, z = -0.22 + 0.15 * n, rng.uniform(-0.1, 0.12), 0.0
            tower = sorted(
                pick(lib, rng, int(rng.integers(2, 4)), boxes), key=lambda i: -lib[i].size[0] * lib[i].size[1]
            )
            for i in tower:
                if any(i == o[0] for o in out):
                    continue
                put(i, x + rng.normal(0, 0.005), y + rng.normal(0, 0.005), z + lib[i].size[2] / 2 + 0.001, up())
                z += lib[i].size[2]
    elif kind == "full":
        for n, b in enumerate(pick(lib, rng, 2, [i for i in HOLLOW if i != "frying_pan"])):
            x = -0.15 + 0.3 * n
            y = rng.uniform(-0.05, 0.08)
            put(b, x, y, lib[b].size[2] / 2, up())
            for k, i in enumerate(
                pick(
                    lib,
                    rng,
                    int(rng.integers(1, 4)),
                    [i for i in small if max(lib[i].size) < min(lib[b].size[:2]) * 0.8],
                )
            ):
                if any(i == o[0] for o in out):
                    continue
                put(i, x + rng.normal(0, 0.01), y + rng.normal(0, 0.01), 0.1 + 0.08 * k, any_())
        for i in pick(lib, rng, 3, [i for i in ids if i not in HOLLOW and max(lib[i].size) < 0.25]):
            if any(i == o[0] for o in out):
                continue
            put(i, rng.uniform(-0.3, 0.3), rng.choice([-0.18, 0.2]) + rng.normal(0, 0.02), lib[i].size[2] / 2, up())
    elif kind == "thin":
        for n, i in enumerate(pick(lib, rng, 6, THIN) + pick(lib, rng, 3, small)):
            put(
                i,
                -0.27 + 0.18 * (n % 4) + rng.normal(0, 0.02),
                -0.15 + 0.15 * (n // 4) + rng.normal(0, 0.02),
                lib[i].size[2] / 2 + 0.002,
                up(),
            )
    else:
        for n, i in enumerate(pick(lib, rng, 6, [i for i in ids if max(lib[i].size) < 0.25])):
            put(
                i,
                -0.22 + 0.2 * (n % 3) + rng.normal(0, 0.03),
                -0.1 + 0.2 * (n // 3) + rng.normal(0, 0.03),
                lib[i].size[2] / 2,
                up(),
            )
    return out


def make(kind, seed, folder, lib):
    rng = np.random.default_rng(seed)
    r = Recipe(
        f"{kind}_{seed}",
        "",
        (),
        distance=float(rng.uniform(0.7, 1.05)),
        azimuth=float(rng.uniform(-30, 30)),
        elevation=float(rng.uniform(30, 62)),
        table=str(rng.choice(["oak", "walnut", "birch", "cloth", "white", "slate"])),
        wall=float(rng.uniform(0.6, 1)) if rng.random() < 0.4 else None,
        lamp=tuple(rng.uniform(-0.7, 0.7, 2)),
        half=(0.6, 0.42),
    )
    from pipeline.scene.placement import Placement

    P = [
        Placement(
            name=a,
            segment_id=n,
            asset_id=a,
            scale=1.0,
            size=lib[a].size,
            world_from_object=Pose(p, q),
            mesh=lib[a].mesh,
            collision=lib[a].collision,
            mass=lib[a].mass,
            friction=lib[a].friction,
            category=lib[a].category,
            container=lib[a].container,
        )
        for n, (a, p, q) in enumerate(things(kind, lib, rng), 1)
    ]
    x, y = r.half
    scene = Scene(
        world_from_camera=ms._look(r),
        table=np.array([[-x, -y], [x, -y], [x, y], [-x, y]]) * 0.999,
        table_rgb=(150, 130, 110),
        placements=tuple(P),
        intrinsics=ms._camera(r),
    )
    w = _World(scene)
    w.part()
    w.model.dof_damping[:] = 8 * w._inertia()
    w._step(1.2)
    w.model.dof_damping[:] = 0
    w._step(1.2)
    scene = w.placed()
    scene = replace(
        scene,
        placements=tuple(
            p
            for p in scene.placements
            if p.world_from_object.pos[2] > 0 and abs(p.world_from_object.pos[:2]).max() < 0.5
        ),
    )
    grip = None
    if kind == "held":
        ids = [
            a.id
            for a in lib
            if max(a.size) < 0.2 and a.id not in {p.name for p in scene.placements} and a.id not in HOLLOW
        ]
        a = str(rng.choice(ids))
        q = rng.normal(size=4) * [1, 0.3, 0.3, 1]
        pos = np.array([*rng.uniform(-0.12, 0.12, 2), rng.uniform(0.16, 0.26)])
        scene = replace(
            scene,
            placements=(
                *scene.placements,
                Placement(
                    name=a,
                    segment_id=99,
                    asset_id=a,
                    scale=1.0,
                    size=lib[a].size,
                    world_from_object=Pose(pos, q / np.linalg.norm(q)),
                    mesh=lib[a].mesh,
                    collision=(),
                    mass=0.1,
                    friction=1.0,
                    fixed=True,
                ),
            ),
        )
        grip = pos, min(lib[a].size[:2].max() / 2, 0.05), lib[a].size.max() / 2
    build = mjcf.build

    def with_gripper(s, *rest):
        spec = build(s, *rest)
        if grip is not None:
            pos, half, up_ = grip
            B = mujoco.mjtGeom.mjGEOM_BOX
            dark = [0.16, 0.16, 0.17, 1]
            for side in (-1, 1):
                spec.worldbody.add_geom(
                    type=B,
                    size=[0.008, 0.011, 0.045],
                    pos=[pos[0] + side * (half + 0.008), pos[1], pos[2] + 0.03],
                    rgba=dark,
                )
            spec.worldbody.add_geom(
                type=B,
                size=[half + 0.02, 0.03, 0.03],
                pos=[pos[0], pos[1], pos[2] + 0.07 + up_ * 0.5],
                rgba=[0.85, 0.85, 0.85, 1],
            )
            spec.worldbody.add_geom(
                type=mujoco.mjtGeom.mjGEOM_CYLINDER,
                size=[0.045, 0.3, 0],
                pos=[pos[0], pos[1], pos[2] + 0.4 + up_ * 0.5],
                rgba=[0.9, 0.9, 0.9, 1],
            )
        return spec

    mjcf.build = with_gripper
    try:
        model = ms.dress(scene, r)
    finally:
        mjcf.build = build
    k = ms._camera(r)
    labels, depth = fidelity.cast(model, k, scene.world_from_camera)
    rgb = ms.photograph(model, r.size, rng)
    gain = rng.uniform(0.75, 1.15) * rng.uniform(0.94, 1.06, 3)
    rgb = (rgb * gain).clip(0, 255).astype(np.uint8)
    rgb = cv2.imdecode(cv2.imencode(".jpg", rgb[..., ::-1], [1, 88])[1], 1)[..., ::-1]
    folder.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.ascontiguousarray(rgb)).save(folder / "rgb.png")
    d = ms.depth_camera(depth, rgb, k, rng)
    Image.fromarray(np.round(d * 1000).astype(np.uint16)).save(folder / "depth.png")
    (folder / "camera.json").write_text(
        json.dumps(dict(width=k.width, height=k.height, fx=k.fx, fy=k.fy, cx=k.cx, cy=k.cy, depth_scale=0.001))
    )
    objs = [
        dict(name=p.name, mask=rle(labels == model.body(p.name).id))
        for p in scene.placements
        if (labels == model.body(p.name).id).sum() > 150
    ]
    (folder / "expected.json").write_text(json.dumps(dict(objects=objs)))
    print(folder.name, len(objs), flush=True)


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
