"""An open project: which round counts, masks on disk, threads, and damaged files."""

from threading import Thread

import drawn_scene as make
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from pipeline.frame import Frame, Intrinsics
from pipeline.project import Project
from pipeline.router import Round, write_round
from pipeline.scene import scene_files
from pipeline.segmentation import Segment
from pipeline.simulation import CheckResult, Program, Report


@pytest.fixture
def project(tmp_path):
    frame = Frame(np.zeros((24, 32, 3), np.uint8), np.ones((24, 32), np.float32), Intrinsics(32, 24, 40, 40, 16, 12))
    return Project.create(tmp_path / "one", frame)


def add_round(number, task, route, project):
    report = Report((CheckResult("check_it", route == "done", ""),), (1.0,))
    write_round(Round(number, None, Program(f'thing("{task}")', ""), report, route, "", 0.0, task=task), project.folder)


@given(st.lists(st.tuples(st.sampled_from(["Lift it.", "Turn it."]), st.booleans()), max_size=6), st.integers(0, 7))
def test_the_best_round_is_the_pinned_one_or_the_last_that_passed(tmp_path_factory, rounds, pinned):
    project = Project(tmp_path_factory.mktemp("rounds"))
    project.decide("task", name="lift", instruction="Lift it.", objects=[], goals=[], kind="", source="human")
    for number, (task, passed) in enumerate(rounds):
        add_round(number, task, "done" if passed else "give_up", project)
    project.decide("pin", round=pinned)
    best, mine = project.best_round(), [n for n, (task, _) in enumerate(rounds) if task == "Lift it."]
    passed = [n for n in mine if rounds[n][1]]
    assert (best.number if best else None) == next((n for n in (pinned, *passed[-1:], *mine[-1:]) if n in mine), None)


def test_a_round_counts_and_runs_after_its_object_was_renamed(project, tmp_path):
    task = {"name": "lift", "instruction": "Lift the white_cube.", "objects": ["white_cube"], "goals": []}
    project.decide("task", **task, kind="", source="human")
    add_round(0, "Lift the white_cube.", "done", project)
    mug = make.placement(make.box(tmp_path), "white_mug", aliases=("white_cube",))
    scene_files.write_scene(make.scene(mug), project.folder)
    best = project.best_round()
    assert best is not None and best.number == 0
    assert project.program_in_current_names(best.program).simulation == 'thing("Lift the white_mug.")'


def test_masks_on_disk_follow_decisions_about_masks_only(project):
    mask = np.zeros((24, 32), bool)
    mask[4:9, 5:12] = True
    project.save_segments((Segment(1, mask, 1.0, "depth"), Segment(2, ~mask, 1.0, "depth")))
    file = project.folder / "segments" / "masks.png"

    def labels_and_inode():
        return set(np.unique(np.asarray(Image.open(file))).tolist()), file.stat().st_ino

    both, first = labels_and_inode()
    assert both == {1, 2}
    project.decide("rename", id=1, name="mug")
    assert labels_and_inode() == (both, first)
    project.decide("delete_segment", id=2)
    assert labels_and_inode()[0] == {0, 1}
    project.undo()
    assert labels_and_inode()[0] == both
    project.redo()
    assert labels_and_inode()[0] == {0, 1}


def test_threads_that_ask_for_the_same_key_do_not_wait_for_each_other_forever(project):
    drawing = Thread(target=lambda: project.frame_key, daemon=True)

    def prepare():
        with project._lock:
            drawing.start()
            drawing.join(0.2)  # it waits for the lock, perhaps with one of its own
            assert project.key("rounds") != project.key("task")

    preparing = Thread(target=prepare, daemon=True)
    preparing.start()
    preparing.join(10)
    drawing.join(10)
    assert not preparing.is_alive() and not drawing.is_alive()
