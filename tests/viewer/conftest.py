"""A small twin for the viewer: a table, a textured mesh, simple bodies, the photograph's camera off its middle."""

import mujoco
import numpy as np
import pytest
import trimesh
from PIL import Image

TWIN = """
<mujoco>
  <compiler meshdir="{folder}" texturedir="{folder}"/>
  <option timestep="0.002" integrator="implicitfast" jacobian="dense"/>
  <asset>
    <mesh name="carton" file="carton.obj"/>
    <texture name="print" type="2d" file="print.png"/>
    <material name="print" texture="print"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" pos="0 0 -.7" size="0 0 .1"/>
    <geom name="table" type="box" size=".5 .35 .02" pos="0 0 -.02" rgba=".7 .6 .5 1"/>
    <camera name="photo" pos=".05 -.75 .6" xyaxes="1 0 0 0 .62 .78" resolution="640 480" sensorsize=".0064 .0048"
            focalpixel="600 590" principalpixel="12 -9"/>
    <body name="cube" pos="-.1 0 .03"><freejoint/><geom type="box" size=".03 .03 .03" mass=".1"/></body>
    <body name="ball" pos=".1 .1 .2"><freejoint/><geom type="sphere" size=".03" mass=".1"/></body>
    <body name="carton" pos=".1 -.1 .05">
      <freejoint/>
      <geom type="mesh" mesh="carton" material="print" group="2" contype="0" conaffinity="0" mass="0"/>
      <geom type="box" size=".03 .02 .05" group="3" mass=".2"/>
    </body>
    <body name="lamp" pos=".3 .2 0">
      <geom type="cylinder" size=".02 .1" pos="0 0 .1"/>
      <body name="shade" pos="0 0 .2"><joint type="hinge"/><geom type="sphere" size=".03" pos=".05 0 0"/>
        <camera name="wrist" pos="0 -.1 .2" xyaxes="0 1 0 -.5 0 .5" fovy="70"/></body>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.fixture(scope="session")
def twin(tmp_path_factory) -> mujoco.MjModel:
    folder = tmp_path_factory.mktemp("twin")
    box = trimesh.creation.box((0.06, 0.04, 0.1))
    corners = trimesh.Trimesh(box.triangles.reshape(-1, 3), np.arange(36).reshape(-1, 3), process=False)
    corners.visual = trimesh.visual.TextureVisuals(uv=np.tile([[0, 0], [1, 0], [0.25, 1]], (12, 1)))
    corners.export(folder / "carton.obj")
    Image.fromarray(np.arange(4 * 8 * 3, dtype=np.uint8).reshape(4, 8, 3)).save(folder / "print.png")
    return mujoco.MjModel.from_xml_string(TWIN.format(folder=folder))
