"""What is packed for the browser is the model, and its camera is the one that took the photograph."""

import json
import struct

import cv2
import mujoco
import numpy as np
import pytest

from pipeline.frame.frame import Intrinsics
from studio.viewer import PhotoCamera
from studio.viewer.geometry import free_bodies, moving_bodies, pack


def unpacked(blob: bytes) -> tuple[dict, bytes]:
    (length,) = struct.unpack_from("<I", blob)
    return json.loads(blob[4 : 4 + length]), blob[4 + length :]


def array(kind, rest: bytes, at: list[int]) -> np.ndarray:
    return np.frombuffer(rest, kind, at[1], at[0])


def test_a_mesh_comes_out_with_every_triangle_and_a_texture_with_its_first_row_first(twin):
    header, rest = unpacked(pack(twin, free_bodies(twin), None, False))
    mesh = header["meshes"][0]
    vertices = array("<f4", rest, mesh["vertices"]).reshape(-1, 3)
    faces = array("<u4", rest, mesh["faces"]).reshape(-1, 3)
    assert np.array_equal(vertices[faces], twin.mesh_vert[twin.mesh_face])
    uvs = array("<f4", rest, mesh["uvs"]).reshape(-1, 2)
    assert np.array_equal(uvs[faces], twin.mesh_texcoord[twin.mesh_facetexcoord])
    assert len(array("<f4", rest, mesh["normals"])) == vertices.size
    header, rest = unpacked(pack(twin, (), None, False))
    png = rest[header["textures"][0]["png"][0] :][: header["textures"][0]["png"][1]]
    image = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_COLOR_RGB)
    assert np.array_equal(image.ravel(), twin.tex_data)


def test_bodies_belong_to_their_object_only_moving_ones_are_streamed_and_shapes_keep_their_groups(twin):
    header, _ = unpacked(pack(twin, ("cube", "lamp"), None, False))
    owners = {body["name"]: body["object"] for body in header["bodies"]}
    assert owners["shade"] == owners["lamp"] == "lamp" and owners["ball"] == ""
    moving = [body["name"] for body in header["bodies"] if body["moving"] >= 0]
    assert moving == ["cube", "ball", "carton", "shade"] == [twin.body(b).name for b in moving_bodies(twin)]
    assert free_bodies(twin) == ("cube", "ball", "carton")
    header, _ = unpacked(pack(twin, (), None, False))
    carton = [g for g in header["geoms"] if header["bodies"][g["body"]]["name"] == "carton"]
    assert {(g["shape"], g["group"]) for g in carton} == {("mesh", 2), ("box", 3)}
    hidden = mujoco.MjModel.from_xml_string("<mujoco><worldbody><geom size='1' group='4'/></worldbody></mujoco>")
    assert unpacked(pack(hidden, (), None, False))[0]["geoms"] == []


def test_a_calibrated_camera_projects_like_its_intrinsics():
    rng = np.random.default_rng(0)
    k = Intrinsics(640, 480, 610.0, 605.0, 331.5, 222.0)
    world_from_camera = np.eye(4)
    world_from_camera[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    world_from_camera[:3, :3] *= np.sign(np.linalg.det(world_from_camera[:3, :3]))
    world_from_camera[:3, 3] = rng.normal(size=3)
    local = rng.uniform([-0.3, -0.3, 0.5], [0.3, 0.3, 2], (50, 3))
    expected = (local @ k.matrix.T)[:, :2] / local[:, 2:]
    world = local @ world_from_camera[:3, :3].T + world_from_camera[:3, 3]
    projected = PhotoCamera.from_intrinsics(k, world_from_camera).project(world)
    assert projected == pytest.approx(expected + 0.5, abs=1e-6), "pixel centres are whole numbers, edges are not"


def test_the_models_camera_projects_where_mujoco_draws_unless_there_is_no_photograph(twin):
    data = mujoco.MjData(twin)
    mujoco.mj_forward(twin, data)
    renderer = mujoco.Renderer(twin, 480, 640)
    renderer.enable_segmentation_rendering()
    renderer.update_scene(data, camera="photo")
    labels = renderer.render()
    renderer.close()
    ball = twin.body("ball").geomadr[0]
    rows, columns = np.nonzero((labels[..., 0] == ball) & (labels[..., 1] == mujoco.mjtObj.mjOBJ_GEOM))
    camera = PhotoCamera.from_model(twin)
    assert camera is not None
    middle = camera.project(data.body("ball").xpos)
    assert middle == pytest.approx([columns.mean() + 0.5, rows.mean() + 0.5], abs=1.0)
    assert PhotoCamera.from_model(mujoco.MjModel.from_xml_string("<mujoco/>")) is None
