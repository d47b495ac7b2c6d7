"""Physics, recordings, layouts and joints: seeking is exact, pushing moves bodies, a recording shows its poses.

What is packed for the browser is the model, and its camera is the one that took the photograph.
"""

import json
import struct

import cv2
import mujoco
import numpy as np
import pytest

from pipeline.frame.frame import Intrinsics
from pipeline.scene.articulation import moving_parts
from pipeline.scene.scene_files import read_scene
from studio.viewer import PhotoCamera
from studio.viewer.geometry import free_bodies, movable_joints, moving_bodies, pack
from studio.viewer.motion import Layout, LivePhysics, RecordedMotion, Trajectory, ViewerError
from studio.viewer.view_session import ViewSession


def test_seeking_gives_the_same_bits_as_running_and_keeps_the_newest_state_until_a_step(twin):
    physics = LivePhysics(twin)
    physics.step(100)
    physics.seek(0.1)
    start = physics.state()
    physics.step(400)
    first, time = physics.state(), physics.time
    physics.seek(0.1)
    assert np.array_equal(physics.state(), start)
    physics.seek(99)
    assert physics.time == time and np.array_equal(physics.state(), first)
    physics.seek(0.1)
    physics.step(400)
    assert np.array_equal(physics.state(), first)
    for wanted in np.linspace(0, time, 23):
        physics.seek(wanted)
        assert wanted - 0.0171 <= physics.time <= wanted + 1e-9
    physics.seek(0.5)
    physics.step(1)
    assert physics.span[1] == physics.time < 0.51


def test_pushing_drags_a_body_to_the_mouse_and_diverging_physics_is_reset(twin):
    physics = LivePhysics(twin)
    physics.step(300)
    before = physics.data.xpos.copy()
    physics.push(twin.body("cube").id, np.zeros(3), before[twin.body("cube").id] + [0.08, -0.08, 0])
    physics.step(500)
    moved = np.linalg.norm(physics.data.xpos - before, axis=1)
    assert moved[twin.body("cube").id] > 0.06
    assert moved[twin.body("carton").id] < 0.002
    physics.release()
    physics.step(500)
    assert not physics.data.xfrc_applied.any()
    physics.data.qvel[:] = 1e12
    with pytest.raises(ViewerError, match=r"unstable.*reset to its start"):
        physics.step(10)
    assert physics.time == 0


def test_a_recording_shows_recorded_poses_and_between_them_only_while_it_plays(twin):
    rng = np.random.default_rng(1)
    times = np.cumsum(rng.uniform(0.01, 0.05, 40))
    qpos = np.tile(mujoco.MjData(twin).qpos, (40, 1)) + rng.normal(size=(40, twin.nq)) * 0.01
    recording = RecordedMotion(twin, Trajectory(times, qpos))
    for at in (0, 17, 39):
        recording.seek(times[at])
        assert np.array_equal(recording.data.qpos, qpos[at])
        recording.seek(times[at] + 0.004)
        assert np.array_equal(recording.data.qpos, qpos[at])
    recording.seek(times[5])
    recording.step(1)
    assert recording.time == times[6] and not recording.finished
    qpos = np.tile(twin.qpos0, (3, 1))
    qpos[1:, 0] += 0.1, 0.1
    qpos[1:, 3:7] = np.sqrt(0.5), 0, 0, np.sqrt(0.5)
    recording = RecordedMotion(twin, Trajectory(np.array([0, 1.0, 2.0]), qpos))
    recording.advance(0.5)
    assert recording.data.qpos[0] == pytest.approx(twin.qpos0[0] + 0.05)
    assert recording.data.qpos[3:7] == pytest.approx([np.cos(np.pi / 8), 0, 0, np.sin(np.pi / 8)])
    recording.advance(9)
    assert recording.finished and np.array_equal(recording.data.qpos, qpos[-1])


def test_a_dragged_object_follows_the_mouse_and_rests_on_the_table(twin):
    layout = Layout(twin, twin.qpos0)
    before = {name: layout.data.body(name).xpos.copy() for name in ("cube", "ball", "carton")}
    assert layout.dragged_positions == {}
    layout.push(twin.body("ball").id, np.array([0, 0, 0.01]), np.array([-0.2, 0.15, 0.4]))
    assert layout.data.body("ball").xpos == pytest.approx([-0.2, 0.15, 0.03], abs=1e-6)
    assert layout.dragged_positions == {"ball": pytest.approx((-0.2, 0.15))}
    layout.advance(1.0)
    for name in ("cube", "carton"):
        assert layout.data.body(name).xpos == pytest.approx(before[name])
    layout.reset()
    assert layout.dragged_positions == {} and layout.data.body("ball").xpos == pytest.approx(before["ball"])
    with pytest.raises(ViewerError, match="is fixed"):
        layout.push(twin.body("lamp").id, np.zeros(3), np.zeros(3))


CABINET = """<mujoco><worldbody><geom type="plane" size="2 2 0.1"/>
  <body name="cabinet" pos="0 0 0.1"><freejoint name="cabinet"/>
    <geom type="box" size="0.1 0.1 0.1" mass="2"/>
    <body name="cabinet/drawer">
      <joint name="cabinet/drawer_slide" type="slide" axis="0 -1 0" range="-0.01 0.15" damping="5"/>
      <geom type="box" size="0.08 0.08 0.03" mass="0.2"/></body>
    <body name="cabinet/knob" pos="0 -0.1 0.08"><joint name="cabinet/knob" type="hinge" axis="0 1 0" damping="0.1"/>
      <geom type="box" size="0.01 0.01 0.01" mass="0.01"/></body>
  </body>
  <body name="robot" pos="1 0 1"><joint name="arm" axis="1 0 0"/><geom size="0.1"/></body>
</worldbody></mujoco>"""  # fmt: skip


@pytest.fixture
def model():
    return mujoco.MjModel.from_xml_string(CABINET)


def drawer(model, data) -> float:
    return float(data.qpos[model.joint("cabinet/drawer_slide").qposadr[0]])


def test_joints_of_objects_are_offered_and_no_others_and_seeking_restores_them(model):
    slide, hinge = movable_joints(model, ["cabinet"])
    assert (slide["name"], slide["kind"], slide["range"]) == ("drawer_slide", "slide", [-0.01, 0.15])
    assert hinge["kind"] == "hinge" and hinge["range"] == pytest.approx([-np.pi, np.pi])
    assert not movable_joints(model, []) and {one["object"] for one in (slide, hinge)} == {"cabinet"}
    physics = LivePhysics(model)
    physics.step(200)
    physics.articulate(slide["number"], 0.1)
    assert drawer(model, physics.data) == pytest.approx(0.1)
    physics.seek(0.2)
    assert abs(drawer(model, physics.data)) < 0.005
    physics.seek(99)
    assert drawer(model, physics.data) == pytest.approx(0.1)


@pytest.mark.parametrize(("value", "reached"), [(0.1, 0.1), (9.0, 0.15), (-9.0, -0.01)])
@pytest.mark.parametrize("kind", ["physics", "layout"])
def test_a_drawer_moves_to_the_value_within_its_limits(model, value, reached, kind):
    motion = LivePhysics(model) if kind == "physics" else Layout(model, mujoco.MjData(model).qpos)
    before = motion.data.xpos[model.body("cabinet").id].copy()
    motion.articulate(movable_joints(model, ["cabinet"])[0]["number"], value)
    assert drawer(model, motion.data) == pytest.approx(reached)
    motion.step(200)
    assert drawer(model, motion.data) == pytest.approx(reached, abs=0.002)
    np.testing.assert_allclose(motion.data.xpos[model.body("cabinet").id], before, atol=0.002)


def executed(session: ViewSession, **command) -> dict:
    session.enqueue(command)
    session._execute_commands()
    session._publish()
    return json.loads(session.status)


def test_a_valid_request_moves_a_joint_and_the_status_shows_its_value_but_not_of_a_recording(model):
    session = ViewSession(model)
    number = movable_joints(model, session.names)[0]["number"]
    for invalid, message in (
        ({"number": 0, "value": 0.1}, "not a joint of an object"),
        ({"number": 99, "value": 0.1}, "not a joint of an object"),
        ({"number": number, "value": "far"}, "did not understand"),
    ):
        with pytest.raises(ViewerError, match=message):
            session.enqueue({"op": "joint", **invalid})
    assert executed(session, op="pause")["joints"] == [0, 0]
    assert executed(session, op="joint", number=number, value=0.12)["joints"] == pytest.approx([0.12, 0.0])
    assert b'"drawer_slide"' in session.geometry
    qpos = np.tile(mujoco.MjData(model).qpos, (3, 1))
    session = ViewSession(model, Trajectory(np.arange(3.0), qpos))
    with pytest.raises(ViewerError, match="recording"):
        session.enqueue({"op": "joint", "number": 1, "value": 0.1})


def test_every_joint_that_can_be_moved_by_hand_has_the_name_of_its_part(furniture):
    scene = read_scene(furniture)
    model = mujoco.MjModel.from_xml_path(str(furniture / "scene" / "scene.xml"))
    names = {p.name: {one.joint: one.name for one in moving_parts(p)} for p in scene.placements}
    sliders = movable_joints(model, [p.name for p in scene.placements])
    labels = [(one["object"], names[one["object"]][one["name"]]) for one in sliders]
    drawers = [("cabinet", f"{level}_drawer") for level in ("top", "middle", "bottom")]
    assert sorted(labels) == sorted([*drawers, ("oven", "door")])


def unpacked(blob: bytes) -> tuple[dict, bytes]:
    (length,) = struct.unpack_from("<I", blob)
    return json.loads(blob[4 : 4 + length]), blob[4 + length :]


def test_meshes_come_out_with_every_triangle_and_row_and_bodies_belong_to_their_object_moving_ones_are_streamed(twin):
    header, rest = unpacked(pack(twin, free_bodies(twin), None, False))
    mesh = header["meshes"][0]
    kinds = {"vertices": "<f4", "faces": "<u4", "uvs": "<f4", "normals": "<f4"}
    arrays = {name: np.frombuffer(rest, kind, *mesh[name][::-1]) for name, kind in kinds.items()}
    vertices, faces = arrays["vertices"].reshape(-1, 3), arrays["faces"].reshape(-1, 3)
    assert np.array_equal(vertices[faces], twin.mesh_vert[twin.mesh_face])
    assert np.array_equal(arrays["uvs"].reshape(-1, 2)[faces], twin.mesh_texcoord[twin.mesh_facetexcoord])
    assert len(arrays["normals"]) == vertices.size
    png = rest[header["textures"][0]["png"][0] :][: header["textures"][0]["png"][1]]
    image = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_COLOR_RGB)
    assert np.array_equal(image.ravel(), twin.tex_data)
    header, _ = unpacked(pack(twin, ("cube", "lamp"), None, False))
    owners = {body["name"]: body["object"] for body in header["bodies"]}
    assert owners["shade"] == owners["lamp"] == "lamp" and owners["ball"] == ""
    moving = [body["name"] for body in header["bodies"] if body["moving"] >= 0]
    assert moving == ["cube", "ball", "carton", "shade"] == [twin.body(b).name for b in moving_bodies(twin)]
    assert free_bodies(twin) == ("cube", "ball", "carton")
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


def test_cameras_project_where_mujoco_draws_wherever_their_bodies_are(twin):
    data = mujoco.MjData(twin)
    data.joint(twin.njnt - 1).qpos[:] = 0.4  # of the shade, which carries the camera wrist
    mujoco.mj_forward(twin, data)
    ball, found = twin.body("ball").geomadr[0], []
    with mujoco.Renderer(twin, 480, 640) as renderer:
        renderer.enable_segmentation_rendering()
        for row in unpacked(pack(twin, (), None, False))[0]["cameras"]:
            renderer.update_scene(data, camera=row["name"])
            labels = renderer.render()
            at = np.nonzero((labels[..., 0] == ball) & (labels[..., 1] == mujoco.mjtObj.mjOBJ_GEOM))[::-1]
            found.append((row.pop("name"), twin.body(number := row.pop("body")).name))
            pos, quat = np.zeros(3), np.zeros(4)
            mujoco.mju_mulPose(pos, quat, data.xpos[number], data.xquat[number], row["pos"], row["quat_wxyz"])
            camera = PhotoCamera(**row | {"pos": tuple(pos), "quat_wxyz": tuple(quat)})
            assert camera.project(data.body("ball").xpos) == pytest.approx([xs.mean() + 0.5 for xs in at], abs=1.2)
    assert found == [("photo", "world"), ("wrist", "shade")]
    assert PhotoCamera.from_model(mujoco.MjModel.from_xml_string("<mujoco/>")) is None
