"""The log of decisions, an open project, and what survives a crash; memoised values and atomic writes."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import drawn_scene as make
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from pipeline.decisions import DECISION_DATA, Decision, DecisionError, append, read_log
from pipeline.project import Project
from pipeline.router import Round, write_round
from pipeline.scene import scene_files
from pipeline.segmentation import Segment
from pipeline.simulation import CheckResult, Program, Report
from pipeline.store import memoise, read_json, write_json

ids = st.integers(1, 9)
made = st.one_of(
    st.builds(lambda i: Decision("delete_segment", {"id": i}), ids),
    st.builds(lambda i, n: Decision("rename", {"id": i, "name": n}), ids, st.text(max_size=8)),
    st.builds(lambda i, v: Decision("not_object", {"id": i, "value": v}), ids, st.booleans()),
)
steps = st.one_of(made, st.just(Decision("undo", {})), st.just(Decision("redo", {})))
logs = st.lists(steps, max_size=20).map(tuple)


@given(logs, made, st.integers(1, 30))
def test_a_log_reads_back_as_it_was_written_and_an_incomplete_last_line_loses_only_itself(
    tmp_path_factory, log, decision, cut
):
    path = tmp_path_factory.mktemp("log") / "decisions.jsonl"
    for one in (*log, decision):
        append(path, one)
    assert read_log(path) == (*log, decision)
    path.write_bytes(path.read_bytes()[: -cut - 1])
    assert read_log(path) == log
    append(path, decision)
    assert read_log(path) == (*log, decision)


def test_half_a_surrogate_pair_is_saved_as_typed_and_damaged_lines_and_unknown_decisions_are_refused(tmp_path):
    typed = Decision("rename", {"id": 1, "name": "cup \ud83d"})  # a browser cuts text between UTF-16's halves
    append(tmp_path / "decisions.jsonl", typed)
    assert read_log(tmp_path / "decisions.jsonl") == (typed,)
    path = tmp_path / "decisions.jsonl"
    line = json.dumps({"kind": "undo", "data": {}, "at": 0, "by": "human"})
    path.write_text(f"{line}\nnonsense\n{line}\n")
    with pytest.raises(DecisionError, match="line 2"):
        read_log(path)
    for kind, data in (("teleport", {}), ("rename", {"id": 3})):
        with pytest.raises(DecisionError, match=r"there are:|lacks name"):
            Decision(kind, data)
    for wrong in ({"pixel": [1, 2.5]}, {"pixel": [1, 2], "also": None}, {"pixel": [1, 2], "also": [[1]]}):
        with pytest.raises(DecisionError, match="cannot be saved"):
            append(tmp_path / "grounds.jsonl", Decision("ground", wrong))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(sorted(set(DECISION_DATA) - {"undo", "redo"})), st.data())
def test_whatever_is_accepted_can_be_read_again(tmp_path_factory, kind, data):
    path = tmp_path_factory.mktemp("log") / "decisions.jsonl"
    try:
        append(path, Decision(kind, {key: data.draw(json_values) for key in DECISION_DATA[kind]}))
    except DecisionError as refused:
        assert "cannot be saved" in str(refused) and not path.exists()
    else:
        assert len(read_log(path)) == 1


def test_threads_that_ask_for_the_same_value_compute_it_once_and_others_do_not_wait(tmp_path):
    begun, go_on, computed = threading.Event(), threading.Event(), []

    def slowly():
        begun.set()
        assert go_on.wait(20)
        computed.append(5)
        return 5

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(memoise, tmp_path, "sum", slowly)
        assert begun.wait(20)
        second = pool.submit(memoise, tmp_path, "sum", slowly)
        assert memoise(tmp_path, "other", lambda: 6) == 6
        go_on.set()
        assert first.result() == second.result() == 5 and computed == [5]


def test_a_damaged_memoised_value_is_computed_again_and_a_failed_write_changes_nothing(tmp_path):
    write_json(tmp_path / "one.json", 1)
    with pytest.raises(UnicodeEncodeError):
        write_json(tmp_path / "one.json", "\ud800")
    assert read_json(tmp_path / "one.json") == 1 and [path.name for path in tmp_path.iterdir()] == ["one.json"]
    assert memoise(tmp_path, "sum", lambda: 5) == 5 == memoise(tmp_path, "sum", lambda: 6)
    (tmp_path / "sum.json").write_text("{")
    assert memoise(tmp_path, "sum", lambda: 7) == 7 == read_json(tmp_path / "sum.json")


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


def test_a_round_counts_after_its_object_was_renamed_and_masks_on_disk_follow_their_decisions(project, tmp_path):
    task = {"name": "lift", "instruction": "Lift the white_cube.", "objects": ["white_cube"], "goals": []}
    project.decide("task", **task, kind="", source="human")
    add_round(0, "Lift the white_cube.", "done", project)
    mug = make.placement(make.box(tmp_path), "white_mug", aliases=("white_cube",))
    scene_files.write_scene(make.scene(mug), project.folder)
    best = project.best_round()
    assert best is not None and best.number == 0
    assert project.program_in_current_names(best.program).simulation == 'thing("Lift the white_mug.")'
    mask = np.zeros((24, 32), bool)
    mask[4:9, 5:12] = True
    project.save_segments((Segment(1, mask, 1.0, "depth"), Segment(2, ~mask, 1.0, "depth")))
    file = project.folder / "segments" / "masks.png"

    first = file.stat().st_ino
    project.decide("rename", id=1, name="mug")
    assert file.stat().st_ino == first
    decide = lambda: project.decide("delete_segment", id=2)  # noqa: E731
    for act, labels in ((lambda: None, {1, 2}), (decide, {0, 1}), (project.undo, {1, 2}), (project.redo, {0, 1})):
        act()
        assert set(np.unique(np.asarray(Image.open(file))).tolist()) == labels


def test_threads_that_ask_for_the_same_key_do_not_wait_for_each_other_forever(project):
    drawing = Thread(target=lambda: project.frame_key, daemon=True)

    def prepare():
        with project._lock:
            drawing.start()
            drawing.join(0.2)  # it waits for the lock, perhaps with one of its own
            assert project.key("rounds") != project.key("task")

    preparing = Thread(target=prepare, daemon=True)
    preparing.start()
    preparing.join(60)
    drawing.join(60)
    assert not preparing.is_alive() and not drawing.is_alive()
