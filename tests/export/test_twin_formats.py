"""The twin and its masks in other programs' formats, loaded by these and by docs/exports.md's lines; in `make soak`,
each in an environment of its own (bench/consumers).
"""

import functools
import io
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest
import trimesh
import yaml
from ready_projects import ROOT, ready_project
from reference_frames import reference_frame
from scipy.spatial.transform import Rotation
from twins import DOC, DOCUMENTED

from bench.consumers import CONSUMERS, READERS, differences, kept, opened, truth
from bench.measurement import NotMeasured
from pipeline.export import ExportError, export_formats, export_project
from pipeline.export.formats.glb import Y_UP_FROM_Z_UP
from pipeline.export.formats.masks import export_coco, export_label_studio
from pipeline.export.formats.urdf import _rpy, link_name
from pipeline.geometry import Pose, transform
from pipeline.project import Project
from pipeline.segmentation.exchange import read_masks


@pytest.fixture(scope="module")
def urdf(twin_folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("urdf") / "twin"
    return out / "twin.urdf", export_project(twin_folder, "urdf", out)


def poses(model, joint_values=None):
    """Return world_from_body (4, 4) by body name, with the joints of these names set."""
    data = mujoco.MjData(model)
    for name, value in (joint_values or {}).items():
        data.joint(name).qpos = value
    mujoco.mj_forward(model, data)
    bodies = range(model.nbody)
    return {model.body(b).name: np.hstack([data.xmat[b].reshape(3, 3), data.xpos[b][:, None]]) for b in bodies}


def test_the_mjcf_loads_alone_is_the_twin_and_has_only_the_files_that_it_names(twin_folder, twin, tmp_path):
    export_project(twin_folder, "mjcf", tmp_path / "twin")
    alone = mujoco.MjModel.from_xml_path(str(tmp_path / "twin" / "scene.xml"))
    assert (alone.nq, alone.ngeom, alone.ncam) == (twin.nq, twin.ngeom, twin.ncam)
    assert np.array_equal(alone.body_pos, twin.body_pos) and np.array_equal(alone.body_mass, twin.body_mass)
    assert not (tmp_path / "twin" / "solution.xml").exists()
    text = (tmp_path / "twin" / "scene.xml").read_text()
    assert 'multiccd="enable"' in text and text.count("<inertial") == twin.nbody - 1
    assert "colorspace" not in text and set(re.findall(r'solref="[^"]*"', text)) == {'solref="0.01 1"'}
    others = {"scene.xml", "export.json", "LICENCES.md"}
    assert {file.name for file in (tmp_path / "twin").iterdir()} - others == set(re.findall(r' file="([^"]*)"', text))
    assert json.loads((tmp_path / "twin" / "export.json").read_text())["needs"] == "MuJoCo 3.3.0 or newer"


def test_mujoco_reads_the_urdf_with_the_same_poses_masses_inertias_and_joints(twin, urdf):
    model = mujoco.MjModel.from_xml_path(str(urdf[0]))
    there, here = poses(model), poses(twin)
    for b in range(1, twin.nbody):
        name = twin.body(b).name
        read = model.body(link_name(name))
        assert np.abs(there[link_name(name)] - here[name]).max() < 1e-6, name
        assert float(read.mass[0]) == pytest.approx(float(twin.body(b).mass[0]), rel=1e-6)
        assert np.sort(read.inertia) == pytest.approx(np.sort(twin.body_inertia[b]), rel=1e-4, abs=1e-12)
    opened = {"cabinet/upper_slide": 0.08, "cabinet/lower_slide": 0.12, "oven/flap": -1.0}
    there = poses(model, {f"{link_name(name)}_joint": value for name, value in opened.items()})
    here = poses(twin, opened)
    for name in opened:
        body = name.removesuffix("_slide")
        assert np.abs(there[link_name(body)] - here[body]).max() < 1e-6, name
        assert model.joint(f"{link_name(name)}_joint").range == pytest.approx(twin.joint(name).range, abs=1e-6)


def test_each_objects_urdf_and_its_pose_give_the_bodies_where_they_are_in_the_twin(twin, urdf):
    folder, here, seen = urdf[0].parent, poses(twin), set()
    listed = json.loads((folder / "poses.json").read_text())["objects"]
    assert yaml.safe_load((folder / "poses.yaml").read_text())["objects"] == listed
    for one in listed:
        text = (folder / one["urdf"]).read_text()
        assert next(ElementTree.fromstring(text).iter("link")).get("name") == one["link"]
        keeps = '<mujoco><compiler fusestatic="false" discardvisual="false"/></mujoco></robot>'
        files = {file.name: file.read_bytes() for file in folder.iterdir() if file.suffix in (".obj", ".png")}
        alone = mujoco.MjModel.from_xml_string(text.replace("</robot>", keeps), files)
        if one["mass"]:  # the ground has none
            assert sum(alone.body_mass) == pytest.approx(one["mass"], rel=1e-4)
        world_from_root = Pose(np.array(one["pos"]), np.array(one["quat_wxyz"])).matrix
        there = {name: (world_from_root @ np.vstack([pose, [0, 0, 0, 1]]))[:3] for name, pose in poses(alone).items()}
        for name in (name for name in here if link_name(name) in there and name != "world"):
            assert np.abs(there[link_name(name)] - here[name]).max() < 1e-6, name
            seen.add(name)
    assert seen == set(here) - {"world"}
    loaders = {file.name for file in folder.glob("load_*.py")}
    assert loaders == {f"load_{name}.py" for name in ("drake", "genesis", "newton", "pybullet", "sapien")}


@pytest.mark.filterwarnings("ignore:.*Scene.dump")
def test_the_urdf_is_a_tree_whose_links_keep_collision_pieces_materials_and_textures(twin, urdf):
    robot = ElementTree.parse(urdf[0]).getroot()
    links = {link.get("name") for link in robot.iter("link")}
    children = [child.get("link") for child in robot.iter("child")]
    assert len(children) == len(set(children)) and links - set(children) == {"world"}
    kinds = {joint.get("name"): joint.get("type") for joint in robot.iter("joint")}
    assert kinds["cabinet_upper_slide_joint"] == "prismatic" and kinds["oven_flap_joint"] == "revolute"
    assert kinds["picture_joint"] == "fixed" and kinds["ball_joint"] == "floating"
    collide = sum(1 for g in range(twin.ngeom) if twin.geom_contype[g] and twin.geom(g).name != "floor")
    assert len(list(robot.iter("collision"))) == collide
    named = {str(element.get("filename")) for tag in ("mesh", "texture") for element in robot.iter(tag)}
    assert any(name.endswith(".png") for name in named)
    assert all((urdf[0].parent / name).is_file() for name in named)
    assert robot.find("link[@name='picture']/visual/material/texture") is not None
    import yourdfpy

    read = yourdfpy.URDF.load(str(urdf[0]), load_collision_meshes=True, build_collision_scene_graph=True)
    assert read.validate()
    assert np.abs(read.get_transform("picture", "world")[:3] - poses(twin)["picture"]).max() < 1e-6


def test_what_a_format_cannot_hold_is_said_and_the_glb_shows_every_body_in_its_place(twin_folder, urdf, tmp_path, twin):
    assert any("camera" in sentence for sentence in urdf[1]) and "floor: a URDF has no planes" in urdf[1]
    assert json.loads((urdf[0].parent / "export.json").read_text())["left_out"] == list(urdf[1])
    assert any("joints" in sentence for sentence in export_project(twin_folder, "glb", tmp_path / "twin.glb"))
    scene, here = trimesh.load_scene(tmp_path / "twin.glb"), poses(twin)
    for b in range(1, twin.nbody):
        name = twin.body(b).name
        shown = np.linalg.inv(Y_UP_FROM_Z_UP) @ scene.graph.get(name)[0]
        assert np.abs(shown[:3] - here[name]).max() < 1e-6, name
    import open3d

    model = open3d.io.read_triangle_model(tmp_path / "twin.glb")
    assert sum(len(one.mesh.triangles) for one in model.meshes) == len(scene.triangles)
    skin = scene.geometry["picture:look"].visual
    assert skin.material.baseColorTexture.size[0] >= 8
    assert skin.uv[:, 1].min() >= 0 and len(np.unique(skin.uv, axis=0)) > 2
    textures = {tuple(np.asarray(skin.material.to_color(skin.uv))[i][:3]) for i in range(len(skin.uv))}
    skin = trimesh.load(twin_folder / "scene" / "picture.obj", force="mesh", process=False).visual
    assert textures == {tuple(colour[:3]) for colour in np.asarray(skin.material.to_color(skin.uv))}


def test_the_ply_holds_the_measured_points_with_their_segments(twin_folder, tmp_path):
    export_project(twin_folder, "ply", tmp_path / "points.ply")
    cloud = trimesh.load(tmp_path / "points.ply")
    row = cloud.metadata["_ply_raw"]["vertex"]["data"]
    placements = {p["name"]: p for p in json.loads((twin_folder / "scene.json").read_text())["placements"]}
    on_can = cloud.vertices[np.asarray(row["segment"]).ravel() == placements["can"]["segment_id"]]
    centre = placements["can"]["world_from_object"]["pos"]
    assert len(on_can) > 20 and np.abs(on_can - centre).max() < 0.06
    assert b"comment segment 3 can" in (tmp_path / "points.ply").read_bytes()[:1000]
    import open3d

    assert len(open3d.io.read_point_cloud(tmp_path / "points.ply").points) == len(cloud.vertices)


@pytest.mark.parametrize("name", ["mjcf", "urdf", "glb", "ply", "usd", "zip"])
def test_equal_projects_give_equal_bytes(twin_folder, tmp_path, name):
    for folder in ("a", "b"):
        export_project(twin_folder, name, tmp_path / folder / f"twin{export_formats()[name].extension}")
    first, second = tmp_path / "a", tmp_path / "b"
    files = {path.relative_to(first): path.read_bytes() for path in first.rglob("*.*")}
    assert files and files == {path.relative_to(second): path.read_bytes() for path in second.rglob("*.*")}


def test_an_export_replaces_an_earlier_one_and_nothing_else(twin_folder, tmp_path):
    export_project(twin_folder, "mjcf", tmp_path / "twin")
    (tmp_path / "twin" / "old.obj").touch()
    export_project(twin_folder, "mjcf", tmp_path / "twin")
    assert not (tmp_path / "twin" / "old.obj").exists() and sorted(p.name for p in tmp_path.iterdir()) == ["twin"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(ExportError, match="holds other files; choose a new folder"):
        export_project(twin_folder, "urdf", tmp_path / "mine")
    assert (tmp_path / "mine" / "letter.txt").read_text() == "dear"
    with pytest.raises(ExportError, match="is a file; this format writes a folder"):
        export_project(twin_folder, "mjcf", tmp_path / "mine" / "letter.txt")
    zipfile.ZipFile(tmp_path / "t.zip", "w").close()
    export_project(twin_folder, "mjcf", tmp_path / "t.zip")
    assert "t/scene.xml" in zipfile.ZipFile(tmp_path / "t.zip").namelist()


def test_every_built_in_format_is_described_and_refuses_a_project_without_a_twin_or_a_solution(twin_folder, tmp_path):
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "project.json").write_text("{}")
    bare = "has no scene yet, so there is nothing to export; build the scene first"
    unsolved = "twin has no solution yet, which this format needs; solve the task first"
    for name in ("mjcf", "urdf", "glb", "zip", "gymnasium", "lerobot"):
        needs = name in ("gymnasium", "lerobot")
        with pytest.raises(ExportError, match=unsolved if needs else bare):
            export_project(twin_folder if needs else tmp_path / "bare", name, tmp_path / "out" / "twin")
        assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())
    listed = set(re.findall(r"`([\w-]+)`", DOC.split("More formats")[0]))
    undocumented = set(export_formats()) - set(DOCUMENTED)
    assert set(export_formats()) <= listed
    assert undocumented <= {"html", "mp4", "coco", "label-studio", "rrd", "mcap", "vla-eval", "envhub"}


@pytest.mark.parametrize("name", [name for name in DOCUMENTED if name != "lerobot"])  # which test_harnesses loads
def test_the_documented_lines_load_the_export(solved, tmp_path, name):
    out, code = DOCUMENTED[name]
    assert len([line for line in code.strip().splitlines() if line]) <= 4
    export_project(solved, name, tmp_path / out)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["twin.usdz", "twin.usda", "twin.usdc", "twin.usd"])
def test_openusd_is_one_stage_that_finds_its_textures(name: str, tmp_path: Path):
    from pxr import Sdf, Usd, UsdUtils

    export_project(ready_project("blocks"), "usd", tmp_path / name)
    assert Usd.Stage.Open(str(tmp_path / name)).GetPrimAtPath("/World/red_cube")
    _, textures, unresolved = UsdUtils.ComputeAllDependencies(Sdf.AssetPath(str(tmp_path / name)))
    assert len(textures) == 8 and not unresolved
    if name.endswith(".usdz"):
        assert [file.name for file in tmp_path.iterdir()] == [name]
        assert all(one.compress_type == zipfile.ZIP_STORED for one in zipfile.ZipFile(tmp_path / name).infolist())


def test_masks_for_annotation_tools_are_those_of_the_project_by_name(tmp_path: Path):
    project = Project.open(ready_project("blocks"))
    segments = {one.id: one.mask for one in project.segments() or ()}
    for export, file in ((export_coco, tmp_path / "masks.json"), (export_label_studio, tmp_path / "masks.zip")):
        export(project.folder, file)
        masks = read_masks(file.read_bytes(), project.frame.depth.shape)
        assert "red_cube" in {one.name for one in masks}
        assert sorted(int(one.mask.sum()) for one in masks) == sorted(int(mask.sum()) for mask in segments.values())
    task = json.loads(zipfile.ZipFile(tmp_path / "masks.zip").read("tasks.json"))[0]
    assert task["data"]["image"].startswith("data:image/jpeg;base64,")


def test_rotations_about_several_axes_are_about_the_fixed_axes_as_urdf_has_them():
    roll, pitch, yaw = map(Rotation.from_rotvec, np.diag([0.7, 0.5, 0.3]))
    pose = Pose.from_rotation(np.zeros(3), (yaw * pitch * roll).as_matrix())
    np.testing.assert_allclose([float(angle) for angle in _rpy(pose).split()], [0.7, 0.5, 0.3])


@pytest.mark.soak
def test_the_log_for_foxglove_has_every_body_where_it_is_and_other_readers_find_no_fault(solved, tmp_path):
    from mcap.reader import make_reader
    from mcap_protobuf.decoder import DecoderFactory

    export_project(solved, "mcap", tmp_path / "twin.mcap")
    command = [Path(sys.executable).with_name("rerun"), "mcap", "check", tmp_path / "twin.mcap"]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0 and "ok" in checked.stdout and "warn" not in checked.stdout.lower(), checked
    messages: dict[str, list] = {}
    with (tmp_path / "twin.mcap").open("rb") as file:
        for _, channel, _, found in make_reader(file, decoder_factories=[DecoderFactory()]).iter_decoded_messages():
            messages.setdefault(channel.topic, []).append(found)
    project = Project.open(solved)
    (depth,), (cloud,), shown = messages["/photograph/depth"], messages["/photograph/points"], project.solution().shown
    assert np.array_equal(np.frombuffer(depth.data, "<f4").reshape(depth.height, depth.width), project.frame.depth)
    points = np.frombuffer(cloud.data, [("at", "<f4", 3), ("colour", "u1", 4)])
    known = project.frame.depth > 0
    assert np.array_equal(points["colour"][:, :3], project.frame.rgb[known]) and (points["colour"][:, 3] == 255).all()
    at = transform(project.support.world_from_camera, project.frame.points[known])
    assert points["at"] == pytest.approx(at, abs=1e-5)
    assert {one.text for one in messages["/photograph/masks"][0].texts} == {p.name for p in project.scene().placements}
    model = mujoco.MjModel.from_xml_path(str(solved / "scene" / "solution.xml"))
    data = mujoco.MjData(model)
    data.qpos[:] = shown.qpos[-1]
    mujoco.mj_forward(model, data)
    last = messages["/solution/frames"][-1].transforms
    assert [one.child_frame_id for one in last] == [f"solution/{model.body(n).name}" for n in range(model.nbody)]
    assert last[0].timestamp.ToNanoseconds() == round(shown.times[-1] * 1e9)
    at = [[one.translation.x, one.translation.y, one.translation.z] for one in last]
    assert np.array(at) == pytest.approx(data.xpos, abs=1e-9)
    turned = Rotation.from_quat([[one.rotation.x, one.rotation.y, one.rotation.z, one.rotation.w] for one in last])
    assert turned.as_matrix().reshape(-1, 9) == pytest.approx(data.xmat, abs=1e-6)
    (bodies,) = messages["/solution/bodies"]
    looks = {one.id.partition("/")[2]: one.models[0].data for one in bodies.entities}
    size = trimesh.load(io.BytesIO(looks["red_cube"]), file_type="glb").extents
    assert size[1] == pytest.approx(np.ptp(np.array(truth(solved)["red_cube"]["visible"])[:, 2]), abs=1e-4), "y is up"


@pytest.mark.soak
def test_the_recording_has_the_photograph_every_body_and_the_poses_of_the_solution(solved, tmp_path):
    from rerun.chunk import RrdReader

    export_project(solved, "rrd", tmp_path / "twin.rrd")
    chunks = [chunk for chunk in RrdReader(tmp_path / "twin.rrd").stream() if not chunk.is_empty]
    paths = {chunk.entity_path.replace("\\", "") for chunk in chunks}
    assert {f"/photograph/camera/{name}" for name in ("colour", "depth", "masks")} | {"/photograph/points"} <= paths
    solution = Project.open(solved).solution()
    model = mujoco.MjModel.from_xml_path(str(solved / "scene" / "solution.xml"))
    data = mujoco.MjData(model)
    data.qpos[:] = solution.shown.qpos[-1]
    mujoco.mj_forward(model, data)
    moving = {chunk.entity_path: chunk for chunk in chunks if "seconds" in chunk.timeline_names}
    assert moving
    for number in range(1, model.nbody):
        path = f"/solution/{model.body(number).name}"
        assert path in paths
        if path in moving:
            batch = moving[path].to_record_batch()
            end = float(batch.column("seconds").to_numpy()[-1] / np.timedelta64(1, "s"))
            assert end == pytest.approx(solution.shown.times[-1], abs=1e-6)
            assert np.ravel(batch.column("Transform3D:translation").to_pylist()[-1]) == pytest.approx(
                data.xpos[number], abs=1e-5
            )


@pytest.fixture(scope="module")
def made(twin_folder, tmp_path_factory):
    """Return what gives the truth of a project by its name, and one of its exports by format and file name."""
    exports = tmp_path_factory.mktemp("consumed")

    @functools.cache
    def project(name: str) -> Path:
        if name in ("blocks", "stack"):
            return ready_project(name)
        if name == "furniture":
            return twin_folder
        command = ["-m", "studio", "run", str(reference_frame("m2t2_00")), "--out", str(exports / name)]
        subprocess.run([sys.executable, *command, "--until", "scene"], cwd=ROOT, check=True)
        return exports / name

    @functools.cache
    def export(name: str, file_format: str, file: str) -> Path:
        (exports / f"{name}_files").mkdir(exist_ok=True)
        export_project(project(name), file_format, exports / f"{name}_files" / file)
        return exports / f"{name}_files" / file

    return functools.cache(lambda name: truth(project(name))), export


@pytest.mark.soak
@pytest.mark.parametrize("name", ["furniture", "stack", "blocks", "photograph"])
@pytest.mark.parametrize("consumer", CONSUMERS, ids=lambda one: f"{one.name} {one.export[1]}")
def test_it_reads_every_object_right_and_lets_it_stand_or_says_why_not(consumer, name, made, tmp_path):
    truth_of, export = made
    wanted = truth_of(name)
    try:
        found = opened(consumer, export(name, *consumer.export), wanted, tmp_path)
    except NotMeasured as reason:
        pytest.skip(str(reason))
    if "said" in found:
        assert consumer.refuses and re.search(consumer.refuses, found["said"]), found["said"]
        pytest.skip(f"{consumer.name} cannot read this scene: {consumer.refuses}")
    wrong, figures = differences(consumer, found["objects"], wanted)
    assert not wrong
    kept(consumer, name, found["version"], figures)


@pytest.mark.soak
def test_ppo_of_two_libraries_learns_on_the_environment(environment):
    command = [sys.executable, str(READERS / "learn.py"), str(environment)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(ran.stdout.splitlines()[-1])
    assert found["steps"] >= 20_000 and found["episodes"] > 20, "they are truncated"
    assert found["loop_episodes"] > 0 and np.isfinite(found["loss"])
