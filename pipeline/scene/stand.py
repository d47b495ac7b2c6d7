"""One asset alone on a small table, as a MuJoCo model: to be turned, pushed and opened, and for its inertia."""

from dataclasses import dataclass

import mujoco
import numpy as np

from pipeline.assets.asset import Asset
from pipeline.assets.described import visible_geoms
from pipeline.geometry import Pose
from pipeline.scene import mjcf
from pipeline.scene.placement import Placement, Scene, SceneError

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
    if asset.model is None:
        return mjcf.compile_spec(mjcf.build(_scene(asset, (_placement(asset),))))
    return _articulated(asset)


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


def _scene(asset: Asset, placements: tuple[Placement, ...]) -> Scene:
    reach = (0.5 + ROOM) * float(max(asset.size))
    table = reach * np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]])
    return Scene(np.eye(4), table, TABLE, placements)


def _placement(asset: Asset) -> Placement:
    return Placement(
        name=NAME, segment_id=0, asset_id=asset.id, scale=1.0, size=np.asarray(asset.size, float),
        world_from_object=_on_table(asset), mesh=asset.mesh, collision=asset.collision, mass=asset.mass,
        friction=asset.friction,
    )  # fmt: skip


def _on_table(asset: Asset) -> Pose:
    return Pose.from_rotation(np.array([0, 0, asset.size[2] / 2]), np.eye(3))


def _articulated(asset: Asset) -> mujoco.MjModel:
    """Its own model under one fixed body; what only collides is told apart, whatever groups its file uses."""
    spec = mjcf.build(_scene(asset, ()))
    try:
        own = mujoco.MjSpec.from_file(str(asset.model))
        own.njmax = own.nconmax = -1  # the table's are kept; MuJoCo warns where both say something
        there = spec.worldbody.add_body(name=NAME, pos=[0, 0, asset.size[2] / 2])
        spec.attach(own, prefix=f"{NAME}/", frame=there.add_frame())
        model = spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise SceneError(f"MuJoCo refuses the model of {asset.id}: {str(error).splitlines()[0]}") from None
    mine = [g for g in range(model.ngeom) if model.geom_bodyid[g]]
    seen = set(visible_geoms(model))
    bare = not any(model.geom_contype[g] == 0 == model.geom_conaffinity[g] for g in mine)
    for geom in mine:
        model.geom_group[geom] = mjcf.LOOK if bare or geom in seen else mjcf.COLLIDE
    return model
