"""Render frames with known labels by ray casting in MuJoCo, without OpenGL."""

from dataclasses import dataclass

import mujoco
import numpy as np

from pipeline.frame import Frame, Intrinsics
from pipeline.geometry import transform
from pipeline.geometry.rays import cast_at_geoms
from tests.drawn_scene import camera_pose

COLOURS = {"table": (150, 110, 70), "floor": (90, 90, 95), "wall": (200, 200, 205)}

OBJECTS = """
<geom name="red_box" type="box" size=".04 .03 .06" pos="-.16 .02 .06" euler="0 0 25"/>
<geom name="blue_cylinder" type="cylinder" size=".035 .05" pos="0 .05 .05"/>
<geom name="green_sphere" type="sphere" size=".04" pos=".15 0 .04"/>
<geom name="yellow_cube" type="box" size=".03 .03 .03" pos="-.02 -.12 .03" euler="0 0 10"/>
"""
OBJECT_COLOURS = {"red_box": (190, 30, 35), "blue_cylinder": (35, 70, 180)}
OBJECT_COLOURS |= {"green_sphere": (40, 150, 60), "yellow_cube": (235, 205, 40)}


@dataclass(frozen=True, eq=False)
class Rendered:
    frame: Frame
    labels: dict[str, np.ndarray]
    """The visible pixels of each object by name, of shape (H, W), bool."""
    world_from_camera: np.ndarray

    def pixel(self, *point: float) -> tuple[int, int]:
        """Return the pixel (x, y) of a world point, whatever is in front of it."""
        x, y, z = transform(np.linalg.inv(self.world_from_camera), np.array(point))
        k = self.frame.intrinsics
        return round(x / z * k.fx + k.cx), round(y / z * k.fy + k.cy)


def render(objects=OBJECTS, eye=(0, -0.6, 0.5), at=(0, 0, 0), width=320, noise=1.0, seed=0) -> Rendered:
    """Render objects (MJCF geoms) on a table 1 m wide, with a floor 0.7 m below and a wall behind.

    Depth has noise that grows with its square, `noise` times that of a usual camera.
    """
    model = mujoco.MjModel.from_xml_string(f"""<mujoco><compiler angle="degree"/><worldbody>
      <geom name="table" type="box" size=".5 .35 .02" pos="0 0 -.02"/>
      <geom name="floor" type="plane" size="5 5 .1" pos="0 0 -.7"/>
      <geom name="wall" type="box" size="3 .05 3" pos="0 1.6 0"/>{objects}</worldbody></mujoco>""")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    height, focal = width * 3 // 4, 0.95 * width
    k = Intrinsics(width, height, focal, focal, (width - 1) / 2, (height - 1) / 2)
    u, v = np.meshgrid(np.arange(width), np.arange(height))
    rays = np.stack([(u - k.cx) / focal, (v - k.cy) / focal, np.ones((height, width))], -1)
    pose = camera_pose(eye, at)
    directions = (rays / np.linalg.norm(rays, axis=-1, keepdims=True)).reshape(-1, 3) @ pose[:3, :3].T
    hit, distance = cast_at_geoms(model, data, pose[:3, 3], directions, cutoff=10.0)
    depth = np.where(hit >= 0, distance, 0).reshape(height, width) / np.linalg.norm(rays, axis=-1)
    random = np.random.default_rng(seed)
    depth = depth + noise * random.normal(0, 0.0015, depth.shape) * depth**2
    depth = np.where(depth < 4, np.round(depth, 3), 0).astype(np.float32)
    hit = hit.reshape(height, width)
    names = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_GEOM, i) for i in range(model.ngeom)]
    rgb = np.full((height, width, 3), 60.0)
    for i, name in enumerate(names):
        rgb[hit == i] = (COLOURS | OBJECT_COLOURS).get(name, (180, 180, 180))
    rgb = np.clip(rgb + random.normal(0, 6, (height, width, 1)), 0, 255).astype(np.uint8)
    labels = {name: hit == i for i, name in enumerate(names) if name not in COLOURS}
    return Rendered(Frame(rgb, depth, k), labels, pose)
