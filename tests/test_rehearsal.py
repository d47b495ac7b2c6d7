"""A proposed task is tried before anyone chooses it: its picture is of a layout that physics reached."""

import json

import numpy as np
import pytest
import tabletop
from PIL import Image

from pipeline.models.rules import RulesModel
from pipeline.rehearsal import known, picture, rehearse
from pipeline.simulation.kit import Scene
from pipeline.tasks import Task, propose, understand

CAMERA = '<camera name="photo" pos="0 -0.8 0.6" xyaxes="1 0 0 0 0.6 0.8" fovy="50"/>'


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tabletop.write(tmp_path_factory.mktemp("table"))
    scene = folder / "scene" / "scene.xml"
    scene.write_text(scene.read_text().replace("<worldbody>", f"<worldbody>{CAMERA}"))
    return folder


def test_a_task_that_can_be_done_has_its_goal_layout_and_a_picture_of_it(project, sandbox):
    task = understand("put the green cube on the blue cube", Scene.load(project), RulesModel())
    assert known(task, project) is None
    done = rehearse(task, project, sandbox)
    assert done.solved and done.why == "" and done.carries >= 1
    up, low = done.poses["green_cube"].pos, done.poses["blue_cube"].pos
    assert np.hypot(*(up - low)[:2]) < 0.03 and up[2] - low[2] == pytest.approx(0.05, abs=0.003)
    assert set(done.poses) == set(tabletop.THINGS)
    assert known(task, project).poses["green_cube"].pos == pytest.approx(up)
    path = picture(done.key, project)
    assert path is not None and Image.open(path).size == (360, 240)
    assert len(Image.open(path).convert("RGB").getcolors(100_000)) > 50
    assert rehearse(task, project, None).poses.keys() == done.poses.keys()  # found again, not run again


def test_what_cannot_be_done_says_why_and_has_no_picture(project, sandbox):
    task = Task("stack", "Stack them.", ("red_cube", "orange_ball"), ("red_cube rests on orange_ball",))
    done = rehearse(task, project, sandbox)
    assert done.solved is None and "nothing stays on a sphere" in done.why
    assert not done.poses and picture(done.key, project) is None


def test_another_scene_is_tried_anew(project, sandbox, tmp_path):
    (task, *_) = propose(Scene.load(project), RulesModel())
    other = tabletop.write(tmp_path, things={k: v for k, v in tabletop.THINGS.items() if k in task.objects})
    rehearse(task, other, sandbox)
    assert known(task, other) is not None
    scene = json.loads((other / "scene.json").read_text())
    scene["placements"][0]["world_from_object"]["pos"][0] += 0.01
    (other / "scene.json").write_text(json.dumps(scene))
    assert known(task, other) is None


def test_a_picture_is_only_ever_one_of_the_project(project):
    assert picture("../scene/scene", project) is None and picture("../../etc/passwd", project) is None
