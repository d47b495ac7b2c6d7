"""The shapes of a MuJoCo model, packed once for the browser.

The pack is a little-endian uint32 with the length of a JSON header, the header, padding to 4 bytes, then the arrays
that the header refers to by [offset, count]: float32 vertices, normals and texture coordinates, uint32 faces, PNG
textures.
"""

import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import cv2
import mujoco
import numpy as np

from pipeline.scene.mjcf import background
from pipeline.scene.mjcf.builder import MAIN_LIGHT
from studio.viewer.photo_camera import PhotoCamera

_MAX_TEXTURE_SIDE = 1024
_SHOWN_GROUPS = 4  # 0-2 are visual, 3 is collision, as in MuJoCo's own viewer; 4 and 5 are never sent
_GREY = np.array([0.5, 0.5, 0.5, 1], np.float32)

_KINDS = {int(mujoco.mjtJoint.mjJNT_HINGE): "hinge", int(mujoco.mjtJoint.mjJNT_SLIDE): "slide"}
_DEFAULT_LIMITS = {"hinge": np.pi, "slide": 0.3}
"""Radians and metres to each side, for joints without limits."""


class _Arrays:
    """Byte blobs one after the other, each on a 4-byte boundary."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0

    def add(self, blob: bytes, count: int | None = None) -> list[int]:
        """Append a blob and return [offset, count]; the count is its number of bytes if not given."""
        offset = self._length
        padded = blob + b"\0" * (-len(blob) % 4)
        self._parts.append(padded)
        self._length += len(padded)
        return [offset, len(blob) if count is None else count]

    def floats(self, values: np.ndarray) -> list[int]:
        return self.add(np.ascontiguousarray(values, "<f4").tobytes(), values.size)

    def integers(self, values: np.ndarray) -> list[int]:
        return self.add(np.ascontiguousarray(values, "<u4").tobytes(), values.size)

    def joined(self) -> bytes:
        return b"".join(self._parts)


def moving_bodies(model: mujoco.MjModel) -> np.ndarray:
    """Return the indices of the bodies that can move in the world, of shape (N,); poses are sent in this order."""
    return np.flatnonzero((model.body_weldid != 0) | (model.body_mocapid >= 0))


def free_bodies(model: mujoco.MjModel) -> tuple[str, ...]:
    """Return the names of the bodies with a free joint, the objects."""
    joints = np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE)
    return tuple(name for j in joints if (name := model.body(model.jnt_bodyid[j]).name))


def pack(
    model: mujoco.MjModel,
    objects: Sequence[str],
    camera: PhotoCamera | None,
    picture: bool,
    grasps: bool = False,
    splats: Sequence[str] = (),
    filled: float | None = None,
) -> bytes:
    """Return everything of the model that does not change while it runs.

    Args:
        objects: names of the bodies that a click can select; their child bodies belong to them.
        camera: of the photograph.
        picture: whether there is a photograph to show behind the model.
        grasps: whether candidate grasps of an object can be asked for.
        splats: names of the bodies that Gaussian splats draw.
        filled: share of the photograph's background that was filled in.
    """
    arrays = _Arrays()
    geoms = [g for g in range(model.ngeom) if model.geom_group[g] < _SHOWN_GROUPS]
    meshes = sorted({int(model.geom_dataid[g]) for g in geoms if _shape(model, g) == "mesh"})
    textures = sorted({t for g in geoms if (t := _texture(model, g)) >= 0})
    header = {
        "bodies": _bodies(model, objects),
        "joints": movable_joints(model, objects),
        "geoms": [_geom(model, g, meshes, textures) for g in geoms],
        "meshes": [_mesh(model, m, arrays) for m in meshes],
        "textures": [{"png": arrays.add(_png(model, t))} for t in textures],
        "camera": camera and camera.to_json(),
        "cameras": list(_cameras(model)),
        "picture": picture,
        "grasps": grasps,
        "filled": filled,
        "splats": [{"body": mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name)} for name in splats],
        "centre": model.stat.center.tolist(),
        "extent": float(model.stat.extent),
        "light": _towards_light(model),
    }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 4)
    return struct.pack("<I", len(text)) + text + arrays.joined()


def _towards_light(model: mujoco.MjModel) -> list[float] | None:
    """Return the unit vector towards the twin's main light in world axes; None for a model without it."""
    if mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_LIGHT, MAIN_LIGHT) < 0:
        return None
    return (-model.light(MAIN_LIGHT).dir).tolist()


def _bodies(model: mujoco.MjModel, objects: Sequence[str]) -> list[dict]:
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    moving = {int(body): at for at, body in enumerate(moving_bodies(model))}
    owners = [""] * model.nbody
    bodies = []
    for b in range(model.nbody):
        name = model.body(b).name
        owners[b] = name if name in objects else owners[model.body_parentid[b]]
        pose = {"pos": data.xpos[b].tolist(), "quat_wxyz": data.xquat[b].tolist()}
        bodies.append({"name": name, "object": owners[b], "moving": moving.get(b, -1), **pose})
    return bodies


def _cameras(model: mujoco.MjModel) -> Iterator[dict]:
    """Yield each camera with a name, placed in the frame of its body, as it is drawn in an inset."""
    for number in range(model.ncam):
        name, is_fixed = model.camera(number).name, model.cam_mode[number] == mujoco.mjtCamLight.mjCAMLIGHT_FIXED
        if name and is_fixed and (camera := PhotoCamera.from_model(model, name)):
            pos, quat_wxyz = (tuple(values[number].tolist()) for values in (model.cam_pos, model.cam_quat))
            body = int(model.cam_bodyid[number])
            yield {"name": name, "body": body} | replace(camera, pos=pos, quat_wxyz=quat_wxyz).to_json()


def _shape(model: mujoco.MjModel, geom: int) -> str:
    return mujoco.mjtGeom(model.geom_type[geom]).name.removeprefix("mjGEOM_").lower()


def _texture(model: mujoco.MjModel, geom: int) -> int:
    """Return the index of the 2D colour texture of a geom, or -1."""
    material = model.geom_matid[geom]
    texture = int(model.mat_texid[material, mujoco.mjtTextureRole.mjTEXROLE_RGB]) if material >= 0 else -1
    return texture if texture >= 0 and model.tex_type[texture] == mujoco.mjtTexture.mjTEXTURE_2D else -1


def _geom(model: mujoco.MjModel, g: int, meshes: list[int], textures: list[int]) -> dict:
    material, texture, shape = model.geom_matid[g], _texture(model, g), _shape(model, g)
    own = material < 0 or not np.array_equal(model.geom_rgba[g], _GREY)
    return {
        "body": int(model.geom_bodyid[g]),
        "background": model.geom(g).name == background.NAME,
        "group": int(model.geom_group[g]),
        "shape": shape,
        "size": model.geom_size[g].tolist(),
        "pos": model.geom_pos[g].tolist(),
        "quat_wxyz": model.geom_quat[g].tolist(),
        "rgba": (model.geom_rgba[g] if own else model.mat_rgba[material]).tolist(),
        "mesh": meshes.index(int(model.geom_dataid[g])) if shape == "mesh" else -1,
        "texture": textures.index(texture) if texture >= 0 else -1,
        "repeat": model.mat_texrepeat[material].tolist() if texture >= 0 else [1, 1],
        "repeat_is_per_metre": bool(texture >= 0 and model.mat_texuniform[material]),
    }


def _mesh(model: mujoco.MjModel, m: int, arrays: _Arrays) -> dict:
    """Return a mesh with one index per corner; MuJoCo stores three (position, normal, texture)."""
    vertex, normal, coordinate = model.mesh_vertadr[m], model.mesh_normaladr[m], model.mesh_texcoordadr[m]
    rows = slice(model.mesh_faceadr[m], model.mesh_faceadr[m] + model.mesh_facenum[m])
    corners = [model.mesh_face[rows].ravel() + vertex, model.mesh_facenormal[rows].ravel() + normal]
    if coordinate >= 0:
        corners.append(model.mesh_facetexcoord[rows].ravel() + coordinate)
    vertices, faces = np.unique(np.stack(corners, 1), axis=0, return_inverse=True)
    return {
        "vertices": arrays.floats(model.mesh_vert[vertices[:, 0]]),
        "normals": arrays.floats(model.mesh_normal[vertices[:, 1]]),
        "uvs": arrays.floats(model.mesh_texcoord[vertices[:, 2]]) if coordinate >= 0 else None,
        "faces": arrays.integers(faces),
    }


def _png(model: mujoco.MjModel, t: int) -> bytes:
    height, width, channels = int(model.tex_height[t]), int(model.tex_width[t]), int(model.tex_nchannel[t])
    start = model.tex_adr[t]
    image = model.tex_data[start : start + height * width * channels].reshape(height, width, channels)
    if (side := max(height, width)) > _MAX_TEXTURE_SIDE:
        scale = _MAX_TEXTURE_SIDE / side
        image = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    order = {3: cv2.COLOR_RGB2BGR, 4: cv2.COLOR_RGBA2BGRA}.get(channels)
    if order is not None:
        image = cv2.cvtColor(image, order)
    return cv2.imencode(".png", image, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1].tobytes()


def movable_joints(model: mujoco.MjModel, objects: Sequence[str]) -> list[dict[str, Any]]:
    """Return {number, object, name, kind, range} of each joint, in radians or metres.

    Args:
        objects: names of the bodies whose parts can be moved.
    """
    joints = []
    for number in np.flatnonzero(np.isin(model.jnt_type, list(_KINDS))):
        owner = _owner(model, int(model.jnt_bodyid[number]), objects)
        if owner:
            kind, name = _KINDS[int(model.jnt_type[number])], model.joint(number).name
            ends = model.jnt_range[number] if model.jnt_limited[number] else np.array([-1, 1]) * _DEFAULT_LIMITS[kind]
            joints.append({"number": int(number), "object": owner, "name": name.removeprefix(f"{owner}/"),
                           "kind": kind, "range": ends.tolist()})  # fmt: skip
    return joints


def _owner(model: mujoco.MjModel, body: int, objects: Sequence[str]) -> str:
    """Return the name of the object that the body is or belongs to, "" if there is none."""
    while body and model.body(body).name not in objects:
        body = int(model.body_parentid[body])
    return model.body(body).name if body else ""
