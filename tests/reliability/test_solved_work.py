"""Solved work never vanishes: whatever is decided, and undone, rounds, solution, film and policies play as recorded."""

from dataclasses import replace
from pathlib import Path

import drawn_scene as make
import mujoco
import numpy as np
import pytest

from pipeline.decisions import DECISION_DATA
from pipeline.project import Project
from pipeline.router import Round, read_record, write_round
from pipeline.run.scene_stage import _complete_recordings
from pipeline.scene.mjcf.recorded_models import with_own_files
from pipeline.scene.scene_files import write_scene
from pipeline.segmentation import encode_rle
from pipeline.simulation import Program, Report
from pipeline.simulation.run_record import RunRecord
from pipeline.solving import save_model, summarize, write_solution
from pipeline.solving.solution import Attempt
from pipeline.store import write_text

POSE = {"pos": [0.1, 0.1, 0.05], "quat_wxyz": [1, 0, 0, 0]}
TASK = {"name": "other", "instruction": "Another.", "objects": [], "goals": [], "kind": "", "source": "human"}
EYE = np.eye(4).tolist()
DATA = {
    "camera": {"fx": 290.0, "fy": 290.0, "cx": 160.0, "cy": 120.0}, "ground": {"pixel": [160, 200]},
    "camera_pose": {"world_from_camera": EYE, "source": "human"}, "robot_base": {"world_from_base": EYE},
    "views": {"views": []}, "found": {"source": "depth", "masks": []}, "delete_segment": {"id": 1},
    "merge_segments": {"ids": [1, 2], "into": 1},
    "mask": {"id": 1, "mask": encode_rle(np.eye(240, 320, dtype=bool)), "clicks": []},
    "not_object": {"id": 1, "value": True}, "rename": {"id": 1, "name": "sphere"}, "make": {"id": 1, "way": "box"},
    "display_name": {"id": 1, "name": "Ball"}, "choose_asset": {"id": 1, "asset_id": "ball"}, "refit": {"id": 1},
    "move": {"id": 1, **POSE}, "resize": {"id": 1, "scale": 2.0}, "physics": {"id": 1, "mass": 1.0, "friction": 0.1},
    "recolour": {"id": 1, "value": True}, "bring": {"asset_id": "ball", "name": "ball_2", **POSE}, "task": TASK,
    "walls": {"value": False}, "vary": {"condition": "0", "values": {"mass": 1.1}},
    "fork": {"parent": 0, "simulation": "", "checks": ""}, "pin": {"round": 0}, "accept": {"stage": "scene"},
    "ask_again": {"kind": "choose_asset", "about": "1", "wording": ""}, "robot": {"name": "arm"},
    "use_measured": {"kind": "choose_asset", "about": "1"}, "calibrate": {"parameters": [], "source": "human"},
    "matcher": {"name": "text"}, "send": {"server": "http://localhost", "allow": True},
    "place_camera": {"name": "side", "pos": [0.5, 0, 0.5], "quat_wxyz": [1, 0, 0, 0], "field_of_view": 0.8},
    "remove_camera": {"name": "side"}, "splats": {"file": "", "name": "", "matrix": EYE, "source": ""}, 
    "review": {"verdict": "accepted"}, "subtasks": {"task": "", "rows": [], "former": [], "change": ""},
}  # fmt: skip
"""Data of a decision of each kind that a person makes."""


def solve(project: Project, seed: int) -> None:
    """Record a round, a solution and a policy's world in the project's twin, as its stages do."""
    xml = (project.folder / "scene" / "scene.xml").read_text()
    qpos = mujoco.MjModel.from_xml_path(str(project.folder / "scene" / "scene.xml")).qpos0
    record = RunRecord(np.array([0.0, 1.0]), np.stack([qpos, qpos]), np.zeros((2, 0)), 1.0, xml, seed=seed)
    passed = Report(reward=(1.0,), records=(record,))
    for stage in ("scene", "task", "rounds"):
        project.finish(stage, project.key(stage), "rules", 0.0)
    write_round(Round(seed, None, Program(f"# {seed}", ""), passed, "done", "", 0.0), project.folder)
    with project.replacing_solution():
        writing = write_solution(summarize([Attempt(seed, 1.0, "", "", record)]), project.folder)
        next(writing, None)
        writing.close()
        write_text(project.folder / "solution.mp4", f"film {seed}")
    project.finish("solution", project.key("solution"), "rules", 0.0)
    write_text(project.folder / "learning" / "world.xml", with_own_files(xml, project.folder / "scene"))


def played(project: Project, number: int = 0) -> list[tuple[str, ...]]:
    """Return what the models of the round, the solution and the policies show, and the film."""
    folder, solution = project.folder, project.solution()
    (record,) = read_record(folder / "rounds" / f"{number:03d}")
    models = [record.xml, solution.shown.xml, (folder / "learning" / "world.xml").read_text()]
    shown = [mujoco.MjModel.from_xml_path(str(save_model(xml, folder, "played"))) for xml in models]
    meshes = [(str(model.names), str(model.mesh_vert), str(model.tex_data.sum())) for model in shown]
    return [*meshes, (str(solution.seeds), (folder / "solution.mp4").read_text())]


def states(project: Project) -> tuple[str, str]:
    return project.stages()["rounds"], project.stages()["solution"]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory):
    """A photographed ball and can, and the same scene with their names exchanged and a box for the ball."""
    folder = tmp_path_factory.mktemp("drawn")
    ball, can = make.placement(make.ball(folder), "ball"), make.placement(make.can(folder), "can", (0.2, 0), number=2)
    other = replace(ball, name="can", mesh=make.box(folder)), replace(can, name="ball")
    before = make.scene(ball, can)
    return before, replace(before, placements=other), make.photograph(before)


@pytest.fixture
def solved(drawn, tmp_path: Path) -> Project:
    before, _, (frame, _, segments) = drawn
    project = Project.create(tmp_path / "solved", frame)
    project.save_segments(segments)
    write_scene(before, project.folder)
    solve(project, 0)
    return project


def test_after_any_decision_and_its_undo_rounds_solution_film_and_policies_play_as_recorded(solved: Project, drawn):
    before, changed, _ = drawn
    recorded, done = played(solved), states(solved)
    assert done == ("done", "done") and set(DATA) == set(DECISION_DATA) - {"undo", "redo"}
    for kind, data in DATA.items():
        solved.decide(kind, **data)
        write_scene(changed, solved.folder)
        assert played(solved) == recorded, kind
        solved.undo()
        write_scene(before, solved.folder)
        assert (played(solved), states(solved)) == (recorded, done), kind


@pytest.mark.parametrize("kind", ["move", "task", "robot", "pin"])
def test_what_was_solved_before_an_edit_comes_back_with_undo_and_the_later_with_redo(solved, drawn, kind):
    before, changed, _ = drawn
    first = played(solved)
    solved.decide(kind, **DATA[kind])
    write_scene(changed, solved.folder)
    assert states(solved)[1] == "stale"
    solve(solved, 1)
    second = played(solved, 1)
    assert second[0] != first[0] and second[-1] != first[-1]
    for scene, step, number, expected in ((before, "undo", 0, first), (changed, "redo", 1, second)):
        getattr(solved, step)()
        write_scene(scene, solved.folder)
        assert states(solved) == ("done", "done") and played(solved, number)[1:2] == expected[1:2]
        assert played(solved, number)[-1] == expected[-1]
        assert solved.best_round().number == (0 if kind == "pin" else number)


def test_a_solution_that_is_not_written_to_its_end_leaves_the_one_before(solved: Project):
    recorded = played(solved)
    with pytest.raises(KeyboardInterrupt), solved.replacing_solution():
        (solved.folder / "solution.json").unlink()
        raise KeyboardInterrupt
    assert played(solved) == recorded


def test_a_first_solution_that_was_killed_is_not_kept_beside_the_next(drawn, tmp_path: Path):
    project = Project.create(tmp_path / "project", drawn[2][0])
    write_text(project.folder / "solution.json", "{}")
    with project.replacing_solution():
        pass
    assert not (project.folder / "solutions").exists()


def test_recordings_of_earlier_versions_own_their_files_before_the_twin_is_replaced(solved: Project, drawn):
    recorded, scene = played(solved), solved.folder / "scene"
    xml = (scene / "scene.xml").read_text()
    for path in (scene / "solution.xml", solved.folder / "learning" / "world.xml"):
        path.write_text(xml)
    _complete_recordings(solved)
    write_scene(drawn[1], solved.folder)
    assert played(solved) == recorded
