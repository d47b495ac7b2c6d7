"""A table of simple objects, written as a project folder that the kit loads."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pipeline.geometry import quat_about_z

if TYPE_CHECKING:
    from pipeline.frame import Frame
    from pipeline.project import Project

CAMERA = np.array([[1, 0, 0, 0], [0, -0.6, 0.8, -0.6], [0, -0.8, -0.6, 0.5], [0, 0, 0, 1.0]])
"""world_from_camera: looks along +y and down; right is +x."""

RGB = {
    "red": (200, 40, 40), "green": (50, 160, 70), "blue": (40, 70, 200), "yellow": (230, 200, 50),
    "white": (235, 235, 230), "orange": (235, 130, 40), "purple": (130, 60, 160),
}  # fmt: skip

OBJECTS = {
    # name: (category, shape, colour, size, (x, y), mass)
    "red_cube": ("cube", "cube", "red", (0.05, 0.05, 0.05), (-0.18, -0.05), 0.1),
    "green_cube": ("cube", "cube", "green", (0.04, 0.04, 0.04), (-0.05, -0.12), 0.05),
    "blue_cube": ("cube", "cube", "blue", (0.06, 0.06, 0.06), (0.1, -0.05), 0.15),
    "yellow_can": ("can", "cylinder", "yellow", (0.066, 0.066, 0.1), (0.22, 0.05), 0.35),
    "orange_ball": ("ball", "sphere", "orange", (0.045, 0.045, 0.045), (-0.02, 0.02), 0.06),
    "white_bowl": ("bowl", "bowl", "white", (0.15, 0.15, 0.055), (-0.12, 0.14), 0.3),
    "purple_carton": ("box", "box", "purple", (0.07, 0.05, 0.16), (0.1, 0.15), 0.4),
}


def blank_frame() -> "Frame":
    from pipeline.frame import Frame, Intrinsics

    return Frame(np.zeros((24, 32, 3), np.uint8), np.ones((24, 32), np.float32), Intrinsics(32, 24, 40, 40, 16, 12))


def project(folder: Path) -> "Project":
    from pipeline.project import Project

    made = Project.create(folder, blank_frame())
    write(folder)
    return made


def write(folder: Path, turn: float = 0.0, objects: dict = OBJECTS) -> Path:
    """Write scene.json and scene/scene.xml, the table turned by `turn` radians about z; return the folder."""
    c, s = np.cos(turn), np.sin(turn)
    spin = np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    placements, bodies = [], []
    for i, (name, (category, shape, colour, size, xy, mass)) in enumerate(objects.items()):
        x, y = spin[:2, :2] @ np.array(xy)
        pos, quat = [float(x), float(y), size[2] / 2], quat_about_z(turn).tolist()
        placements.append({
            "name": name, "segment_id": i + 1, "asset_id": None, "scale": 1.0, "size": list(size), "mass": mass,
            "world_from_object": {"pos": pos, "quat_wxyz": quat}, "friction": 0.8, "fixed": False,
            "category": category, "shape": shape, "colour": colour, "rgb": RGB[colour], "container": shape == "bowl",
            "mesh": f"scene/{name}.obj", "collision": [],
        })  # fmt: skip
        bodies.append(
            f'<body name="{name}" pos="{pos[0]} {pos[1]} {pos[2]}" quat="{" ".join(map(str, quat))}">'
            f"<freejoint/>{_geoms(shape, size, RGB[colour], mass)}</body>"
        )
    table = [[-0.35, -0.25], [0.35, -0.25], [0.35, 0.3], [-0.35, 0.3]]
    scene = {"world_from_camera": (spin @ CAMERA).tolist(), "table": (np.array(table) @ spin[:2, :2].T).tolist()}
    scene |= {"table_rgb": [153, 128, 102], "placements": placements}
    (folder / "scene").mkdir(parents=True, exist_ok=True)
    (folder / "scene.json").write_text(json.dumps(scene))
    (folder / "scene" / "scene.xml").write_text(f"""<mujoco model="scene">
  <option timestep="0.002" integrator="implicitfast" jacobian="dense"/>
  <worldbody>
    <light pos="0 0 2"/>
    <geom name="table" type="box" size="0.6 0.6 0.02" pos="0 0 -0.02" rgba="0.6 0.5 0.4 1"/>
    {"".join(bodies)}
  </worldbody>
</mujoco>""")
    return folder


def _geoms(shape: str, size: tuple, rgb: tuple, mass: float) -> str:
    paint = f'rgba="{" ".join(f"{v / 255:.3f}" for v in rgb)} 1" friction="0.8 0.005 0.001"'
    x, y, z = (v / 2 for v in size)
    if shape == "cylinder":
        return f'<geom type="cylinder" size="{x} {z}" mass="{mass}" {paint}/>'
    if shape == "sphere":
        return f'<geom type="sphere" size="{x}" mass="{mass}" condim="6" {paint}/>'
    if shape == "bowl":
        return _bowl(x, z, mass, paint)
    return f'<geom type="box" size="{x} {y} {z}" mass="{mass}" {paint}/>'


def _bowl(radius: float, half: float, mass: float, paint: str) -> str:
    """Return the geoms of a bowl: a floor and twelve upright walls around it."""
    geoms = [f'<geom type="cylinder" size="{radius * 0.8} 0.003" pos="0 0 {0.003 - half}" mass="{mass / 2}" {paint}/>']
    for angle in np.arange(12) * np.pi / 6:
        x, y = (radius - 0.004) * np.cos(angle), (radius - 0.004) * np.sin(angle)
        geoms.append(
            f'<geom type="box" size="0.004 {radius * 0.27} {half}" pos="{x} {y} 0" euler="0 0 {np.degrees(angle)}" '
            f'mass="{mass / 24}" {paint}/>'
        )
    return "".join(geoms)
