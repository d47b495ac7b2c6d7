"""An exported project runs without GRS Studio."""

import json
import subprocess
import sys
import zipfile

import drawn_scene as make
import mujoco
import numpy as np
import pytest

from pipeline.decisions import Decision, append
from pipeline.export import export_zip
from pipeline.project import Project
from pipeline.router import Round, write_round
from pipeline.scene import scene_files
from pipeline.simulation import CheckResult, Program, Report


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    box = make.placement(make.box(tmp_path), "box", asset_id="oak_box", licence="MIT", provenance="made here")
    scene_files.write_scene(make.scene(box, make.placement(make.can(tmp_path), "can", (0.2, 0.1), number=2)), folder)
    (folder / "task.json").write_text(
        json.dumps({"name": "stack_them", "instruction": "Stack {them}.", "objects": [], "goals": []})
    )
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
    with zipfile.ZipFile(export_zip(project, tmp_path / "exported.zip")) as archive:
        archive.extractall(tmp_path)
    return tmp_path / "exported"


def test_the_export_plays_its_solution_with_nothing_but_mujoco_and_numpy(project, tmp_path):
    folder = unzip(project, tmp_path)
    blocked = "import sys; sys.modules.update(dict.fromkeys(['trimesh', 'scipy', 'pipeline', 'PIL', 'cv2'])); "
    code = blocked + "import runpy; runpy.run_path(sys.argv.pop(1), run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(folder / "run.py"), "--seconds", "0.5"],
        capture_output=True,
        text=True,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    assert "2 objects, simulated for 0.5 s" in done.stdout and "solved True" in done.stdout
    assert "0.54" in done.stdout  # where the box ends


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


def test_a_scene_without_task_or_solution_can_be_exported_too(project, tmp_path):
    for name in ("solution.npz", "solution.json", "task.json"):
        (project / name).unlink()
    done = subprocess.run(
        [sys.executable, "-I", str(unzip(project, tmp_path) / "run.py"), "--seconds", "0.1"],
        capture_output=True,
        text=True,
    )
    assert "none was recorded" in done.stdout
