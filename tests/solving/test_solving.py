"""A program is run on every seed, and its rollouts can be saved and replayed."""

import json
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from pipeline import solving
from pipeline.scene import SceneError
from pipeline.scene.rendering import film_camera
from pipeline.simulation import Program, Report, kit
from pipeline.simulation.run_record import RunRecord
from pipeline.solving.film import write_film


class InProcessRunner:
    def __init__(self, crashing=()):
        self.crashing = crashing

    def run(self, program, project_dir, seeds=(0,), cancel=None):
        if seeds[0] in self.crashing:
            return Report(crash="simulation.py:3 ZeroDivisionError: division by zero"), None
        sim = kit.Simulation(kit.Scene.load(project_dir), seeds[0])
        sim.scatter("red_cube", "blue_cube")
        sim.goal(kit.on("red_cube", "blue_cube"))
        run = sim.rollout()
        recorded = RunRecord(run.times, run.qpos, run.actions, run.reward, run.xml, tuple(vars(e) for e in run.events))
        return Report(reward=(run.reward,), evidence={"why": run.why}), recorded


@pytest.fixture(scope="module")
def solved(table):
    *attempts, solution = solving.solve(Program("", ""), table, InProcessRunner(), seeds=range(3))
    assert [a.seed for a in attempts] == [0, 1, 2]
    assert list(solving.write_solution(solution, table))[-1:] in ([1.0], [])
    return solution


def test_half_of_the_seeds_decide_and_a_solution_without_runs_gives_a_reason(solved, table, tmp_path):
    assert solved.solved and solved.success == (True,) * 3 and solved.shown.seed == 0
    *_, half = solving.solve(Program("", ""), table, InProcessRunner(crashing=(0, 2)), seeds=range(4))
    assert half.solved and half.shown.seed == 1 and half.crashes[0].startswith("simulation.py:3")
    *_, less = solving.solve(Program("", ""), table, InProcessRunner(crashing=(0, 2)), seeds=range(3))
    assert not less.solved and less.reward == (0, 1, 0) and less.reasons[0] == less.crashes[0]
    (tmp_path / "scene").mkdir()
    *_, none = solving.solve(Program("", ""), tmp_path, InProcessRunner(crashing=range(9)), seeds=range(2))
    assert not list(solving.write_solution(none, tmp_path))
    restored = solving.read_solution(tmp_path)
    assert not restored.solved and restored.shown is None and restored.failed is None
    assert solving.read_solution(tmp_path / "nowhere") is None


def test_a_saved_solution_is_read_back_replays_to_the_goal_and_has_a_video_unless_it_is_cancelled(solved, table):
    restored = solving.read_solution(table)
    assert restored.success == solved.success
    assert (restored.shown.xml, restored.shown.events) == (solved.shown.xml, solved.shown.events)
    for name in ("times", "qpos", "actions"):
        assert np.array_equal(getattr(restored.shown, name), getattr(solved.shown, name))
    saved = json.loads((table / "solution.json").read_text())
    assert saved["solved"] is True and saved["source"] == "oracle, floating gripper" and saved["seeds"] == [0, 1, 2]
    model = mujoco.MjModel.from_xml_path(str(table / "scene" / "solution.xml"))
    data = mujoco.MjData(model)
    assert model.nq == solved.shown.qpos.shape[1] and model.nu == solved.shown.actions.shape[1]
    data.qpos[:] = solved.shown.qpos[-1]
    mujoco.mj_forward(model, data)
    gap = data.body("red_cube").xpos - data.body("blue_cube").xpos
    assert np.hypot(*gap[:2]) < 0.02 and gap[2] == pytest.approx(0.055, abs=0.002)
    video = json.loads((table / "solution.json").read_text())["video"]
    assert (table / "solution.mp4").stat().st_size > 2000 if video["speed"] else video["missing"]
    drawing = solving.write_solution(solved, table)
    next(drawing, None)
    drawing.close()  # type: ignore[attr-defined]
    saved = json.loads((table / "solution.json").read_text())
    assert saved["solved"] and saved["video"]["missing"] and not list(table.glob("*solution.mp4"))


@pytest.mark.parametrize(("tilt_deg", "kept"), [(90, False), (80, False), (50, True), (10, True)])
def test_a_film_is_taken_from_beside_a_photograph_that_looks_down_steeply(tilt_deg, kept):
    tilt = np.radians(90 - tilt_deg)
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody>
        <camera name="photo" pos="0.1 0.2 1" xyaxes="1 0 0 0 {np.cos(tilt)} {np.sin(tilt)}"/>
        <body pos="0.1 0.3 0.05"><freejoint/><geom size="0.05"/></body></worldbody></mujoco>"""
    )
    camera = film_camera(model)
    if kept:
        assert camera == 0
    else:
        assert isinstance(camera, mujoco.MjvCamera)
        assert np.allclose(camera.lookat, (0.1, 0.3, 0.05)) and camera.azimuth == pytest.approx(90)


def test_a_portrait_photograph_has_a_film_too(tmp_path):
    (tmp_path / "scene.xml").write_text("""<mujoco><worldbody><camera name="photo" pos="0 0 1" resolution="480 848"/>
    <body><freejoint/><geom size="0.05"/></body></worldbody></mujoco>""")
    qpos = np.tile([0.0, 0, 0, 1, 0, 0, 0], (2, 1))
    try:
        assert list(write_film(np.array([0.0, 0.2]), qpos, tmp_path / "scene.xml", tmp_path / "film.mp4"))
    except SceneError as error:  # no OpenGL here
        assert "framebuffer" not in str(error)


@pytest.mark.parametrize("bad", ['<include file="x.xml"/>', '<mesh file="/etc/passwd"/>', '<mesh file="../a.obj"/>'])
def test_a_model_that_names_files_elsewhere_is_not_saved(solved, tmp_path, bad):
    (tmp_path / "scene").mkdir()
    with pytest.raises(solving.SolvingError, match="names files outside its scene"):
        xml = solved.shown.xml.replace("<worldbody>", f"<worldbody>{bad}")
        list(solving.write_solution(replace(solved, shown=replace(solved.shown, xml=xml)), tmp_path))
