"""An exported project runs without GRS Studio, an object is the same wherever it is loaded, a film needs no network."""

import io
import json
import re
import subprocess
import sys
import zipfile
from xml.etree import ElementTree

import drawn_scene as make
import imageio.v2 as imageio
import mujoco
import numpy as np
import pytest
import tabletop
import trimesh
from scipy.spatial.transform import Rotation

from pipeline.assets import Library
from pipeline.decisions import Decision, append
from pipeline.export import ExportError, export_zip, film
from pipeline.export.film import mp4
from pipeline.export.film.chapters import Chapter, _labelled, chapters
from pipeline.export.object_zip import object_zip
from pipeline.motion_pictures import FPS, TURN_FRAMES, play_rollout, turn_model
from pipeline.project import Project
from pipeline.router import Round, write_round
from pipeline.scene import scene_files
from pipeline.scene.mjcf import builder
from pipeline.segmentation import Segment
from pipeline.simulation import CheckResult, Program, Report
from pipeline.store import write_json
from pipeline.tasks import Task, task_to_json


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    box = make.placement(make.box(tmp_path), "box", asset_id="oak_box", licence="MIT", provenance="made here")
    scene_files.write_scene(make.scene(box, make.placement(make.can(tmp_path), "can", (0.2, 0.1), number=2)), folder)
    task = {"name": "stack_them", "instruction": "Stack {them}.", "objects": [], "goals": []}
    write_json(folder / "task.json", task)
    for number, passed in enumerate((False, True, False)):
        report = Report((CheckResult("a", passed, ""),), (1.0,))
        route = "done" if passed else "give_up"
        write_round(Round(number, None, Program(f"# round {number}\n", ""), report, route, "", 0.0), folder)
    (folder / "scene" / "solution.xml").write_text((folder / "scene" / "scene.xml").read_text())
    qpos = mujoco.MjModel.from_xml_path(str(folder / "scene" / "scene.xml")).qpos0
    path = np.repeat(qpos[None], 3, 0)
    path[2, 2] += 0.5
    np.savez_compressed(folder / "solution.npz", times=np.arange(3) / 30, qpos=path, actions=np.zeros((3, 0)))
    (folder / "solution.json").write_text(json.dumps({"solved": True, "reward": [1.0, 0.5], "source": "oracle"}))
    append(folder / "decisions.jsonl", Decision("rename", {"id": 1, "name": "box"}))
    (folder / "trace.jsonl").write_text("{}\n")
    return folder


def unzip(project, tmp_path):
    zipfile.ZipFile(export_zip(project, tmp_path / "exported.zip")).extractall(tmp_path)
    return tmp_path / "exported"


def test_the_export_plays_its_solution_with_nothing_but_mujoco_and_numpy_or_its_scene_without_one(project, tmp_path):
    folder = unzip(project, tmp_path)
    blocked = "import sys; sys.modules.update(dict.fromkeys(['trimesh', 'scipy', 'pipeline', 'PIL', 'cv2'])); "
    code = blocked + "import runpy; runpy.run_path(sys.argv.pop(1), run_name='__main__')"
    command = [sys.executable, "-I", "-c", code, str(folder / "run.py"), "--seconds", "0.5"]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    assert "2 objects, simulated for 0.5 s" in done.stdout and "solved True" in done.stdout
    assert "0.54" in done.stdout  # where the box ends
    for name in ("solution.npz", "solution.json", "task.json"):
        (project / name).unlink()
    command[4] = str(unzip(project, tmp_path / "bare") / "run.py")
    assert "none was recorded" in subprocess.run(command, capture_output=True, text=True, cwd="/").stdout


def test_the_export_holds_the_round_that_passed_or_is_pinned_its_readme_licences_and_names(project, tmp_path):
    folder = unzip(project, tmp_path)
    assert (folder / "program" / "simulation.py").read_text() == "# round 1\n"
    assert not list(folder.rglob("decisions.jsonl")) + list(folder.rglob("trace.jsonl"))
    readme, licences = (folder / "README.md").read_text(), (folder / "LICENCES.md").read_text()
    assert "python run.py" in readme and "Stack {them}." in readme
    assert "solved; reward per seed 1.00, 0.50" in readme and "box: asset oak_box. MIT; made here" in licences
    assert "can: made from the photograph" in licences
    append(project / "decisions.jsonl", Decision("pin", {"round": 2}))
    folder = unzip(project, tmp_path)
    assert (folder / "program" / "simulation.py").read_text() == "# round 2\n"
    assert "round 002" in (folder / "README.md").read_text()
    assert not (unzip(project, tmp_path / "unnamed") / "names.json").exists()
    Project(project).decide("display_name", id=2, name="Würfel 🐸")
    assert json.loads((unzip(project, tmp_path / "named") / "names.json").read_text()) == {"can": "Würfel 🐸"}


def unpack(p, file_format, folder):
    zipfile.ZipFile(io.BytesIO(object_zip(p, file_format))).extractall(folder / file_format)
    (main,) = (folder / file_format).rglob("*.xml" if file_format == "mjcf" else "*.urdf")
    return main


def placements(tmp_path):
    library = Library.open()
    for number, id in enumerate(("red_mug", "mustard_bottle", "cracker_box"), 1):
        asset = library[id]
        more = {"size": 1.1 * asset.size, "number": number, "asset_id": id, "collision": asset.collision}
        yield make.placement(asset.mesh, id, **more)
    yield make.placement(make.can(tmp_path), "can", number=8)
    yield make.placement(make.ball(tmp_path), "ball", number=9, foot=True)
    lopsided: trimesh.Trimesh = trimesh.util.concatenate(  # type: ignore[assignment]
        trimesh.creation.box((0.1, 0.02, 0.02)),
        trimesh.creation.box((0.02, 0.05, 0.02)).apply_translation((0.04, 0.03, 0)),
    )
    yield make.placement(make.shape(tmp_path, "angle", lopsided), "angle", number=10)


def tensor(model, body):
    """Return the inertia about the centre of mass in the body's own axes."""
    rotation = Rotation.from_quat(model.body_iquat[body], scalar_first=True).as_matrix()
    return rotation @ np.diag(model.body_inertia[body]) @ rotation.T


def extents(model, body):
    corners = []
    for g in np.flatnonzero((model.geom_bodyid == body) & (model.geom_type == mujoco.mjtGeom.mjGEOM_MESH)):
        mesh = model.geom_dataid[g]
        rows = slice(model.mesh_vertadr[mesh], model.mesh_vertadr[mesh] + model.mesh_vertnum[mesh])
        rotation = Rotation.from_quat(model.geom_quat[g], scalar_first=True)
        corners.append(rotation.apply(model.mesh_vert[rows]) + model.geom_pos[g])
    return np.ptp(np.vstack(corners), axis=0)


@pytest.mark.parametrize("file_format", ["mjcf", "urdf"])
def test_an_exported_object_has_the_same_mass_inertia_size_and_friction_and_its_own_files(tmp_path, file_format):
    for p in placements(tmp_path):
        twin = builder.compile_spec(builder.build_object(p))
        file = unpack(p, file_format, tmp_path / p.name)
        exported = mujoco.MjModel.from_xml_path(str(file))
        own, body = twin.body(p.name).id, exported.body(p.name).id
        assert exported.body_mass[body] == pytest.approx(p.mass, rel=1e-4)
        scale = np.abs(tensor(twin, own)).max()
        assert np.abs(tensor(exported, body) - tensor(twin, own)).max() < 1e-4 * scale, p.name
        assert np.abs(exported.body_ipos[body] - twin.body_ipos[own]).max() < 1e-6
        assert np.abs(extents(exported, body) - p.size).max() < 1e-5, p.name
        if file_format == "urdf":
            robot = ElementTree.parse(file).getroot()
            named = {mesh.get("filename") for mesh in robot.iter("mesh")}
            assert named and all((file.parent / name).is_file() for name in named)
            assert float(robot.findtext("gazebo/mu1") or 0) == p.friction


def test_an_mjcf_object_comes_to_rest_and_equal_objects_make_equal_zips(tmp_path):
    p = next(placements(tmp_path))
    spec = mujoco.MjSpec.from_file(str(unpack(p, "mjcf", tmp_path)))
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 0.1])
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, nstep=500)
    assert abs(data.body(p.name).xpos[2] - p.size[2] / 2) < 1e-3
    assert object_zip(p, "urdf") == object_zip(p, "urdf")
    with pytest.raises(ExportError, match="usd"):
        object_zip(p, "usd")


FRAMES = tuple(np.full((120, 160, 3), shade, np.uint8) for shade in (0, 80, 160, 240))
PARTS = [
    Chapter("Photograph", ("put <the> cube & bowl",), FRAMES[:1]),
    Chapter("Round 0: failed", ("because",), FRAMES, 2, "the <bowl> tilts", ("--- a", "+++ b", "@@ 1", "-old", "+new")),
    Chapter("Twin", (), ()),
]


def test_the_page_holds_everything_itself_stills_without_an_encoder_and_no_more_than_its_limit(monkeypatch, tmp_path):
    page = film._page("scene <1>", PARTS)
    assert not re.findall(r'(?:src|href)="(?!data:)', page) and "<script" not in page
    assert "default-src 'none'" in page
    assert "scene &lt;1&gt;" in page and "the &lt;bowl&gt; tilts" in page and "put &lt;the&gt; cube &amp; bowl" in page
    assert page.count("data:video/mp4") == 1 and page.count("data:image/jpeg") == 2
    assert page.count('poster="data:image/jpeg') == 1, "a video shows its failing moment before it plays"
    assert '<span class="added">+new' in page and '<span class="removed">-old' in page
    monkeypatch.setattr(film, "motion", lambda chapter: None)
    page = film._page("scene", PARTS)
    assert page.count("data:image/jpeg") == 1 + 3 and "data:video" not in page
    monkeypatch.setattr(film, "MAX_BYTES", 100)
    monkeypatch.setattr(film, "chapters", lambda project: PARTS)
    monkeypatch.setattr(film.Project, "open", lambda folder: type("Named", (), {"name": "desk"}))
    with pytest.raises(ExportError, match=r"^The film of desk takes 0 MB; 15 MB is the most. Export mp4.$"):
        film.export_html(tmp_path, tmp_path / "film.html")
    assert not (tmp_path / "film.html").exists()


def test_a_film_is_held_at_the_failing_moment_in_pictures_of_one_size_with_words_in_any_alphabet():
    pictures = [list(mp4._pictures(part)) for part in PARTS]
    assert {picture.shape for part in pictures for picture in part} == {(360 + mp4.BAND_PX, 480, 3)}
    held, diff = round(mp4.HOLD_SECONDS * FPS), round(mp4.DIFF_SECONDS * FPS)
    assert [len(part) for part in pictures] == [round(mp4.STILL_SECONDS * FPS), diff + len(FRAMES) + held, 0]
    assert len(imageio.mimread(mp4.motion(PARTS[1]) or b"", "mp4")) == len(FRAMES) + held
    strips = [_labelled(np.zeros((10, 200, 3), np.uint8), words)[10:] for words in ("Tasse", "Größe", "", "чашка")]
    assert len({strip.tobytes() for strip in strips}) == len(strips) and (strips[2] == 255).all()


def test_a_model_turns_and_a_rollout_is_drawn_without_leaving_a_file(tmp_path):
    project = tabletop.write(tmp_path)
    xml = project / "scene" / "scene.xml"
    turned = turn_model(xml)
    assert len(turned) == TURN_FRAMES and not np.array_equal(turned[0], turned[TURN_FRAMES // 2])
    qpos = np.repeat(mujoco.MjModel.from_xml_path(str(xml)).qpos0[None], 20, 0)
    qpos[:, 2] += np.linspace(0, 0.3, 20)
    before = set((project / "scene").iterdir())
    frames = play_rollout(xml.read_text(), np.linspace(0, 1, 20), qpos, project)
    assert len(frames) == FPS and not np.array_equal(frames[0], frames[-1])
    assert set((project / "scene").iterdir()) == before


def test_a_film_calls_objects_as_a_person_does_and_shows_no_id(tmp_path):
    project = tabletop.project(tmp_path / "one")
    scene = project.scene()
    assert scene
    first, second = scene.placements[:2]
    project.decide("display_name", id=first.segment_id, name="Grandma's mug")
    mask = np.zeros((24, 32), bool)
    mask[4:12, 4:12] = True
    project.save_segments((Segment(first.segment_id, mask, 1.0, "human"),))
    write_json(project.folder / "task.json", task_to_json(Task("t", f"Lift {first.name}.", (first.name,), ())))
    failed = Report((CheckResult("a", False, f"{first.name} fell on {second.name}"),), (0.0,))
    write_round(Round(0, None, Program("", ""), failed, "done", f"{first.name} fell", 0.0), project.folder)
    parts = list(chapters(Project.open(project.folder)))
    texts = [text for part in parts for text in (part.title, part.caption, *part.lines)]
    assert parts[0].lines == ("Lift Grandma's mug.",)
    assert next(part for part in parts if part.title.startswith("Objects")).lines == ("Grandma's mug",)
    assert "Grandma's mug fell on" in parts[-1].caption and "Grandma's mug fell" in parts[-1].lines
    assert not [text for text in texts if first.name in text or second.name in text]
