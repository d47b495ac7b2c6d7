"""A proposed task is rehearsed; its picture shows the layout that the simulation reached."""

import json

import numpy as np
import pytest
import tabletop
from PIL import Image

from pipeline.planner import PlannerModel
from pipeline.rehearsal import picture_path, read_rehearsal, rehearse
from pipeline.simulation.kit import Scene
from pipeline.tasks import Task, propose, understand_instruction

CAMERA = '<camera name="photo" pos="0 -0.8 0.6" xyaxes="1 0 0 0 0.6 0.8" fovy="50"/>'


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tabletop.write(tmp_path_factory.mktemp("table"))
    scene = folder / "scene" / "scene.xml"
    scene.write_text(scene.read_text().replace("<worldbody>", f"<worldbody>{CAMERA}"))
    return folder


def test_a_solvable_task_has_its_goal_layout_and_a_picture_of_it(project, sandbox):
    task = understand_instruction("put the green cube on the blue cube", Scene.load(project), PlannerModel())
    assert read_rehearsal(task, project) is None
    rehearsal = rehearse(task, project, sandbox)
    assert rehearsal.solved and rehearsal.reason == "" and rehearsal.carries >= 1
    upper, lower = rehearsal.poses["green_cube"].pos, rehearsal.poses["blue_cube"].pos
    assert np.hypot(*(upper - lower)[:2]) < 0.03 and upper[2] - lower[2] == pytest.approx(0.05, abs=0.003)
    assert set(rehearsal.poses) == set(tabletop.OBJECTS)
    assert read_rehearsal(task, project).poses["green_cube"].pos == pytest.approx(upper)
    path = picture_path(rehearsal.key, project)
    assert path is not None and Image.open(path).size == (360, 240)
    assert len(Image.open(path).convert("RGB").getcolors(100_000)) > 50
    assert rehearse(task, project, None).poses.keys() == rehearsal.poses.keys()  # read, not run again
    assert read_rehearsal(task, project, "arm-suction") is None
    by_suction = rehearse(task, project, sandbox, "arm-suction")
    assert by_suction.solved and set(by_suction.poses) == set(tabletop.OBJECTS)


def test_an_unsolvable_proposal_has_a_reason_and_no_picture_and_no_path_leaves_the_project(project, sandbox):
    task = Task("stack", "Stack them.", ("red_cube", "orange_ball"), ("red_cube rests on orange_ball",))
    rehearsal = rehearse(task, project, sandbox)
    assert rehearsal.solved is None and "nothing stays on a sphere" in rehearsal.reason
    assert not rehearsal.poses and picture_path(rehearsal.key, project) is None
    assert picture_path("../scene/scene", project) is None and picture_path("../../etc/passwd", project) is None


def test_a_changed_scene_is_rehearsed_again(project, sandbox, tmp_path):
    (task, *_) = propose(Scene.load(project), PlannerModel())
    other = tabletop.write(tmp_path, objects={k: v for k, v in tabletop.OBJECTS.items() if k in task.objects})
    rehearse(task, other, sandbox)
    assert read_rehearsal(task, other) is not None
    scene = json.loads((other / "scene.json").read_text())
    scene["placements"][0]["world_from_object"]["pos"][0] += 0.01
    (other / "scene.json").write_text(json.dumps(scene))
    assert read_rehearsal(task, other) is None
