"""One asset alone on a small table as a MuJoCo model: to look at, push and open, and for its mass properties."""

import mujoco
import numpy as np

from pipeline.assets.asset import Asset
from pipeline.geometry import Pose
from pipeline.scene.mjcf import builder
from pipeline.scene.mjcf.articulated_body import MassProperties, composite_inertia
from pipeline.scene.placement import Placement, Scene

TABLE_RGB = (206, 203, 198)
BODY_NAME = "asset"
"""Name of the asset's body."""


def asset_model(asset: Asset) -> mujoco.MjModel:
    """Return a model with the asset as the body BODY_NAME on a table: free, or fixed if it has joints of its own.

    Raises SceneError if MuJoCo cannot compile it.
    """
    # 0.6: width of the table on each side of the asset, relative to the asset's longest side
    reach = (0.5 + 0.6) * float(max(asset.size))
    table = reach * np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]])
    return builder.compile_spec(builder.build_spec(Scene(np.eye(4), table, TABLE_RGB, (_placement(asset),))))


def mass_properties(model: mujoco.MjModel) -> MassProperties:
    """Return the mass properties of the asset in a model from `asset_model`, relative to the centre of its box."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    root = model.body(BODY_NAME).id
    total = composite_inertia(model, data, [b for b in range(model.nbody) if _is_below(model, b, root)])
    return MassProperties(total.mass, total.centre - data.xpos[root], total.inertia)


def _is_below(model: mujoco.MjModel, body: int, root: int) -> bool:
    """Whether a body is `root` or attached to it."""
    while body != root and body:
        body = int(model.body_parentid[body])
    return body == root


def _placement(asset: Asset) -> Placement:
    return Placement(
        name=BODY_NAME, segment_id=0, asset_id=asset.id, scale=1.0, size=np.asarray(asset.size, float),
        world_from_object=Pose.from_rotation(np.array([0, 0, asset.size[2] / 2]), np.eye(3)), mesh=asset.mesh,
        collision=asset.collision, mass=asset.mass, friction=asset.friction, container=asset.container,
        fixed=asset.model is not None, model=asset.model, joints=asset.joints,
    )  # fmt: skip
