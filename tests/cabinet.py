"""A cabinet with three drawers and an oven with a door among simple objects, written as a project folder."""

from pathlib import Path

import drawn_scene as make
import mujoco
import trimesh

from pipeline.assets.importers.model_import import _convex_parts, _joints
from pipeline.scene import Placement, Scene
from pipeline.scene.scene_files import write_scene
from pipeline.scene.settle import settle

DRAWERS = {"lower": 0.045, "centre": 0.115, "upper": 0.185}
"""Heights of the drawers' centres in metres, by the name of their bodies."""


def box(size, at, more="") -> str:
    half = " ".join(f"{s / 2:.4f}" for s in size)
    return f'<geom type="box" size="{half}" pos="{at[0]:.4f} {at[1]:.4f} {at[2]:.4f}" {more}/>'


def drawer(name: str, z: float) -> str:
    """Return the MJCF of an open box with a handle: a bar on two posts."""
    walls = [((0.196, 0.17, 0.004), (0, 0, -0.026)), ((0.004, 0.17, 0.056), (-0.096, 0, 0)),
             ((0.004, 0.17, 0.056), (0.096, 0, 0)), ((0.196, 0.004, 0.056), (0, 0.083, 0)),
             ((0.2, 0.006, 0.064), (0, -0.088, 0)), ((0.08, 0.008, 0.012), (0, -0.112, 0)),
             ((0.008, 0.02, 0.008), (-0.035, -0.1, 0)), ((0.008, 0.02, 0.008), (0.035, -0.1, 0))]  # fmt: skip
    geoms = "".join(box(size, at, 'rgba="0.75 0.6 0.4 1"') for size, at in walls)
    joint = f'<joint name="{name}_slide" type="slide" axis="0 -1 0" range="0 0.15" limited="true" damping="10"/>'
    return f'<body name="{name}" pos="0 0 {z - 0.116:.4f}">{joint}{geoms}</body>'


CABINET = f"""<mujoco><worldbody><body name="case">
  {box((0.22, 0.18, 0.008), (0, 0, -0.112))}{box((0.22, 0.18, 0.008), (0, 0, 0.112))}
  {box((0.22, 0.006, 0.232), (0, 0.092, 0))}
  {box((0.006, 0.18, 0.232), (-0.107, 0, 0))}{box((0.006, 0.18, 0.232), (0.107, 0, 0))}
  {"".join(drawer(*one) for one in DRAWERS.items())}
</body></worldbody></mujoco>"""
OVEN = f"""<mujoco><compiler angle="degree"/><worldbody><body name="case">
  {box((0.2, 0.14, 0.16), (0, 0.015, 0))}
  <body name="flap" pos="-0.1 -0.06 0">
    <joint name="flap" axis="0 0 1" range="-110 0" limited="true" damping="0.3"/>
    {box((0.19, 0.012, 0.15), (0.097, -0.006, 0))}{box((0.012, 0.02, 0.08), (0.18, -0.02, 0))}</body>
</body></worldbody></mujoco>"""


def articulated(folder: Path, name: str, xml: str, mass: float, at: tuple[float, float], number: int) -> Placement:
    """Return a placement of the model at x, y; its visual mesh is its bounding box."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.xml").write_text(xml)
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    mesh = trimesh.util.concatenate([*_convex_parts(model, data, [*range(model.ngeom)])]).bounding_box.to_mesh()
    return make.placement(
        make.shape(folder, name, mesh), name, at=at, number=number, mass=mass, category=name,
        model=folder / f"{name}.xml", joints=tuple(_joints(model)), asset_id=name,
    )  # fmt: skip


def scene(folder: Path) -> Scene:
    paint = {"red": (200, 40, 40), "blue": (40, 70, 200)}
    cubes = [
        make.placement(make.box(folder, (0.05, 0.05, 0.05)), f"{colour}_cube", at=at, number=n, category="cube",
                   shape="cube", colour=colour, rgb=paint[colour], mass=0.1)
        for n, (colour, at) in enumerate({"red": (-0.3, -0.2), "blue": (0.35, -0.22)}.items(), 1)
    ]  # fmt: skip
    can = make.placement(make.can(folder, 0.03, 0.08), "can", (0.05, -0.28), number=3, category="can", shape="cylinder")
    cabinet = articulated(folder, "cabinet", CABINET, 4.0, (-0.15, 0.2), 4)
    oven = articulated(folder, "oven", OVEN, 3.0, (0.25, 0.2), 5)
    return settle(make.scene(*cubes, can, cabinet, oven))[0]


def write(folder: Path) -> Path:
    (folder / "made").mkdir(parents=True)
    write_scene(scene(folder / "made"), folder)
    return folder
