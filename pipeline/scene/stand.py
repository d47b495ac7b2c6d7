"""One asset alone on a small table, as a MuJoCo model: to be turned, pushed and opened, and for its inertia."""

from dataclasses import dataclass

import mujoco
import numpy as np

from pipeline.assets.asset import Asset
from pipeline.geometry import Pose
from pipeline.scene import mjcf
from pipeline.scene.placement import Placement, Scene

ROOM = 0.6
"""Metres of table to each side of an asset, as a share of its longest side."""
TABLE = (206, 203, 198)
NAME = "asset"
"""Of its body."""


@dataclass(frozen=True, eq=False)
class Body:
    """What MuJoCo makes of an asset, all its parts together at the home pose."""

    mass: float
    """In kg."""
    centre: np.ndarray
    """Centre of mass, of shape (3,), in metres, from the middle of its box."""
    inertia: np.ndarray
    """About that centre in the asset's axes, of shape (3, 3), in kg m^2."""


def stand(asset: Asset) -> mujoco.MjModel:
    """The asset as the body "asset", its box on the table: free, or fixed with its own joints where it has some.

    Raises SceneError where MuJoCo cannot compile it.
    """
    reach = (0.5 + ROOM) * float(max(asset.size))
    table = reach * np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]])
    return mjcf.compile_spec(mjcf.build(Scene(np.eye(4), table, TABLE, (_placement(asset),))))


def body(model: mujoco.MjModel) -> Body:
    """Of a model that `stand` made: parts added up by the parallel axis theorem."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    top = model.body(NAME).id
    parts = [b for b in range(model.nbody) if _below(model, b, top)]
    masses = model.body_mass[parts]
    mass = float(masses.sum())
    centre = masses @ data.xipos[parts] / max(mass, 1e-12)
    total = np.zeros((3, 3))
    for part, own in zip(parts, masses, strict=True):
        turn, away = data.ximat[part].reshape(3, 3), data.xipos[part] - centre
        total += turn @ np.diag(model.body_inertia[part]) @ turn.T
        total += own * (away @ away * np.eye(3) - np.outer(away, away))
    return Body(mass, centre - data.xpos[top], total)


def _below(model: mujoco.MjModel, b: int, top: int) -> bool:
    while b != top and b:
        b = int(model.body_parentid[b])
    return b == top


def _placement(asset: Asset) -> Placement:
    return Placement(
        name=NAME, segment_id=0, asset_id=asset.id, scale=1.0, size=np.asarray(asset.size, float),
        world_from_object=Pose.from_rotation(np.array([0, 0, asset.size[2] / 2]), np.eye(3)), mesh=asset.mesh,
        collision=asset.collision, mass=asset.mass, friction=asset.friction, container=asset.container,
        fixed=asset.model is not None, model=asset.model, joints=asset.joints,
    )  # fmt: skip
