"""The robots of a comparison as a model that the viewer shows: bodies that move freely, with shapes and no physics."""

from dataclasses import replace
from typing import TYPE_CHECKING

import mujoco
import numpy as np

if TYPE_CHECKING:  # a second to import
    from pipeline.divergence.confined.confined_comparison import DrawnShape, Playback

SKY_RGB = (0.93, 0.94, 0.95)


def drawn_model(playback: "Playback", copies: int = 1) -> mujoco.MjModel:
    """Return the model of the robot at its first pose. Its qpos has 7 numbers a body.

    A second copy is the simulated robot, drawn as a translucent ghost.
    """
    spec = mujoco.MjSpec()
    spec.visual.global_.offwidth = 640
    spec.visual.headlight.ambient, spec.visual.headlight.diffuse = [0.45] * 3, [0.6] * 3  # there is no other light
    spec.add_texture(
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX, builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT, rgb1=SKY_RGB, rgb2=SKY_RGB,
        width=8, height=48,
    )  # fmt: skip
    for number, (vertices, faces) in enumerate(playback.meshes):
        spec.add_mesh(
            name=f"mesh_{number}",
            uservert=vertices.astype(float).ravel(),
            userface=faces.ravel(),
            inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
        )
    for copy in range(copies):
        first = (playback.sim if copy else playback.real)[0].astype(float)
        bodies = [_add_body(spec, f"{copy}_{number}", pose) for number, pose in enumerate(first)]
        for shape in playback.shapes:
            if shape.kind != "plane":
                _add_shape(bodies[shape.body], shape, bool(copy))
            elif not copy:  # MuJoCo has planes on what does not move only
                _add_shape(spec.worldbody, replace(shape, pose=_composed(first[shape.body], shape.pose)), False)
    return spec.compile()


def drawn_positions(playback: "Playback", *poses: np.ndarray) -> np.ndarray:
    """Return qpos over time, of shape (T, 7 B copies), for the poses (T, B, 7) of each copy of the robot."""
    count = len(playback.times)
    return np.concatenate([one.reshape(count, -1) for one in poses], axis=1).astype(float)


def _composed(outer: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Return the pose (7,) in the world of a pose (7,) in a frame."""
    pose = np.empty(7)
    mujoco.mju_mulPose(pose[:3], pose[3:], outer[:3], outer[3:], inner[:3], inner[3:])
    return pose


def _add_body(spec: mujoco.MjSpec, name: str, pose: np.ndarray) -> mujoco.MjsBody:
    body = spec.worldbody.add_body(
        name=name, pos=pose[:3], quat=pose[3:], mass=1.0, inertia=[1.0, 1.0, 1.0], explicitinertial=True
    )
    body.add_freejoint()
    return body


def _add_shape(body: mujoco.MjsBody, shape: "DrawnShape", is_ghost: bool) -> None:
    kind = getattr(mujoco.mjtGeom, f"mjGEOM_{shape.kind.upper()}")
    # Ghost scale of a ghost's solids, so that they show where both robots are at the same place
    size = shape.size * (1.03 if is_ghost else 1.0)
    form = {"meshname": f"mesh_{shape.mesh}"} if shape.kind == "mesh" else {"size": size}
    body.add_geom(
        # (0.16, 0.5, 0.95, 0.45): ghost rgba of the simulated robot where it is drawn over the real one
        type=kind, pos=shape.pose[:3], quat=shape.pose[3:], rgba=(0.16, 0.5, 0.95, 0.45) if is_ghost else shape.rgba,
        contype=0, conaffinity=0, mass=0.0, **form,
    )  # fmt: skip
