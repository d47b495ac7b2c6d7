"""What is done on the board with many projects: batches of dropped frames, sets of accepted ones, and their review."""

import json
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from offline_studio import FRAME, offline_services, wait_until

from bench.planted_projects import plant_projects
from pipeline import project_sets
from pipeline.decisions import read_log
from pipeline.errors import StudioError
from pipeline.frame import load
from pipeline.models.settings import ModelSettings
from pipeline.project import Project
from pipeline.project.curation import Curation, read_curation, save_curation
from pipeline.project.stage_record import STAGE_DECISIONS
from pipeline.project_sets import SetError, SetSettings, export_set, make_set, read_set, read_sets, split_projects
from pipeline.resources import SAMPLE_SCENES
from pipeline.segmentation import Segment
from studio.__main__ import main
from studio.batch.frame_process import FrameProcess
from studio.board import batches as batches_module
from studio.board.batch_requests import batch_record
from studio.board.batches import Batches, run_options
from studio.board.board import Board
from studio.board.board_requests import HANDLERS
from studio.board.project_facts import read_facts
from studio.board.review_queue import apply_review, review_record
from studio.sessions.session_registry import SessionRegistry
from studio.web.errors import RequestError
from studio.web.upload_folder import upload_folder


@pytest.fixture
def sessions(tmp_path: Path) -> SessionRegistry:
    return SessionRegistry(tmp_path / "work", offline_services())


@pytest.fixture
def batches(sessions: SessionRegistry) -> Iterator[Batches]:
    made = Batches(sessions, jobs=2)
    yield made
    for record, running, _ in made.all():
        if running:
            made.stop(record.folder.name)
    wait_until(lambda: not any(running for _, running, _ in made.all()), "the end of the batches")


def uploads(*names: str) -> list[dict[str, str]]:
    """Return uploads [{path, name}] of a folder with frames of those names; of "broken", only a false picture."""
    folder = upload_folder().path
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name in names:
        for file in ("rgb.png", "depth.png", "camera.json"):
            path = folder / f"{name}-{file}"
            path.write_bytes(b"no picture" if name == "broken" else (SAMPLE_SCENES / name / file).read_bytes())
            files.append({"path": str(path), "name": f"tables/{name}/{file}"})
    return files


def ended(batches: Batches) -> dict[str, Any]:
    """Wait for the end of the newest batch, and return its record for the page."""
    wait_until(lambda: batches.all()[0][1] is None, "the end of the batch")
    return batch_record(*batches.all()[0])


def test_each_good_frame_becomes_a_project_and_a_broken_one_says_why(sessions: SessionRegistry, batches: Batches):
    sessions.workspace.mkdir()
    shutil.copytree(SAMPLE_SCENES / "blocks", sessions.workspace / "blocks")  # the name is taken
    batches.start(uploads("blocks", "broken"), "frame", "")
    record = ended(batches)
    assert (record["state"], record["done"], record["failed"], record["of"]) == ("ended", 1, 1, 2)
    by_name = {frame["name"]: frame for frame in record["frames"]}
    broken = by_name["broken"]
    assert broken["message"] and "\n" not in broken["message"] and not broken["project"]
    assert by_name["blocks"]["project"] == "blocks_2"
    assert json.loads((sessions.workspace / "blocks_2" / "project.json").read_text())["stages"]["frame"] == "done"
    sessions.open("blocks_2").close()


def test_a_batch_that_is_stopped_is_still_there_after_a_restart_and_goes_on(sessions, monkeypatch):
    first, is_restarted = Batches(sessions, jobs=1), False

    def stop_at_the_second(self: FrameProcess) -> str:
        if self.task.out.endswith("stack") and not is_restarted:
            first.stop(id)
            return "it was stopped"
        Project.create(Path(self.task.out), load(Path(self.task.frame))).close()
        return ""

    monkeypatch.setattr(FrameProcess, "run", stop_at_the_second)
    id = first.start(uploads("blocks", "stack"), "frame", "")
    assert ended(first)["state"] == "stopped"
    is_restarted = True
    again = Batches(sessions)
    record = batch_record(*again.all()[0])
    assert (record["id"], record["state"], record["done"], record["of"]) == (id, "stopped", 1, 2)
    again.resume(id)
    assert ended(again)["done"] == 2
    assert sorted(path.name for path in sessions.workspace.iterdir() if path.name[0] != ".") == ["blocks", "stack"]


def test_of_two_batches_one_waits_and_one_that_runs_is_neither_removed_nor_begun_again(batches, monkeypatch):
    monkeypatch.setattr(FrameProcess, "run", lambda self: wait_until(lambda: self._killed, "the stop") or "stopped")
    first, second = (batches.start(uploads(name), "frame", "") for name in ("blocks", "stack"))
    states = lambda: {one[0].folder.name: batch_record(*one)["state"] for one in batches.all()}  # noqa: E731
    wait_until(lambda: states() == {first: "running", second: "waiting"}, "the first")
    with pytest.raises(RequestError, match="Stop the batch first"):
        batches.remove(first)
    with pytest.raises(RequestError, match="running already"):
        batches.resume(second)
    batches.stop(second)
    batches.stop(first)
    wait_until(lambda: states() == {first: "stopped", second: "stopped"}, "the end of both")
    batches.remove(first)
    assert [*states()] == [second]


@pytest.mark.parametrize("files", [None, [], [{"path": "/etc/hostname", "name": "a.zip"}], [{"name": "../x"}]])
def test_what_is_no_upload_starts_nothing_and_leaves_nothing(files: Any, sessions: SessionRegistry, batches: Batches):
    with pytest.raises(RequestError):
        batches.start(files, "frame", "")
    assert not batches.all() and not any((sessions.workspace / ".batches").iterdir())


def test_frames_are_sent_to_another_machine_only_where_no_project_has_to_be_asked_for(sessions):
    elsewhere, here = "https://example.org/v1", "http://127.0.0.1:1/v1"
    answered = ((elsewhere, "ask", "offline"), (elsewhere, "never", "offline"), (elsewhere, "allow", "openai"))
    for address, send, model in (*answered, (here, "ask", "openai")):
        asked: Any = SimpleNamespace(name="m", settings=ModelSettings(service="openai", model="m", base_url=address))
        services = replace(sessions.services, model=asked, send=send)
        assert f"--model={model}" in run_options(services, "solution", "")
        assert batches_module.sends_nothing(services) == (model == "offline")


sources = st.dictionaries(st.text("abcdefgh", min_size=1, max_size=3), st.sampled_from("uvwxyz"), min_size=1)


@given(sources, st.floats(0, 0.95), st.integers(0, 99), st.booleans())
def test_every_project_is_in_one_split_that_the_seed_alone_decides(sources, share, seed, by_source):
    settings = SetSettings(share, seed, by_source)
    split = split_projects(sources, settings)
    assert set(split) == set(sources) and set(split.values()) <= {"train", "test"}
    assert split == split_projects(dict(reversed(sources.items())), settings), "the order does not matter"
    many = dict.fromkeys(map(str, range(50)), "")
    assert split_projects(many, SetSettings(0.3, seed)) != split_projects(many, SetSettings(0.3, seed + 1))
    test = [name for name, one in split.items() if one == "test"]
    if not by_source:
        assert len(test) == round(share * len(sources))
    else:
        assert all(len({split[name] for name in split if sources[name] == one}) == 1 for one in sources.values())
        wanted = round(share * len(sources))
        assert len(test) <= wanted or (wanted and len({sources[name] for name in test}) == 1)
        assert bool(test) == bool(wanted and len(set(sources.values())) > 1) or len(set(sources.values())) == 1


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    plant_projects(tmp_path / "work", 20)
    for number, folder in enumerate(sorted((tmp_path / "work").iterdir())):
        save_curation(folder, Curation(verdict="accepted", by="ada") if number < 6 else Curation())
    return tmp_path / "work"


@pytest.fixture
def plain_exporter(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An exporter for projects that have no results: a zip with the record."""

    def export(folder: Path, name: str, out: Path) -> tuple[str, ...]:
        out.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(out, "w") as file:
            file.write(folder / "project.json")
        return ("Colours are left out",)

    monkeypatch.setattr(project_sets, "export_project", export)
    return monkeypatch


@pytest.mark.usefixtures("plain_exporter")
@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
def test_a_set_of_all_accepted_projects_is_kept_and_exported_with_its_splits_and_card(workspace: Path, packed: bool):
    made = make_set(workspace, "first", [], SetSettings(0.5, 3, about="Tables", licence="CC-BY-4.0"))
    assert set(made.split) == set(project_sets.accepted_projects(workspace)) and len(made.split) == 6
    assert read_set(workspace, "first") == made and read_sets(workspace) == [made]
    out = workspace.parent / ("out.zip" if packed else "out")
    steps = list(export_set(workspace, made, "zip", out))
    assert set(made.split) <= set(steps)
    if packed:
        zipfile.ZipFile(out).extractall(workspace.parent / "unpacked")
        out = workspace.parent / "unpacked" / "first"
    for name, split in made.split.items():
        assert zipfile.is_zipfile(out / split / f"{name}.zip")
    card = (out / project_sets.CARD).read_text()
    assert all(text in card for text in ("Tables", "CC-BY-4.0", "3 train, 3 test", "seed 3", "ada", "| Projects | 6 |"))
    assert json.loads((out / "set.json").read_text())["split"] == made.split


def test_an_export_that_is_stopped_or_of_a_project_that_cannot_be_exported_leaves_nothing(workspace, plain_exporter):
    made = make_set(workspace, "first", [], SetSettings())
    steps = export_set(workspace, made, "zip", workspace.parent / "out")
    assert next(steps) == "frame_00000: Colours are left out"
    steps.close()
    plain_exporter.undo()
    with pytest.raises(StudioError, match="frame_00000 has no scene"):
        list(export_set(workspace, made, "usd", workspace.parent / "out"))
    assert [path.name for path in workspace.parent.iterdir()] == ["work"]


def test_a_set_is_made_listed_and_removed_by_the_command_line_and_bad_input_is_one_line(workspace, refused, capsys):
    for arguments, message in (
        (["make", "a/b"], "letters"),
        (["make", "first", "frame_00009"], "not accepted: frame_00009"),
        (["make", "first", "--test", "1.5"], "from 0 to below 1"),
        (["export", "none", "--out", "x"], "no set none"),
        (["remove", ".."], "no set"),
    ):
        assert message in refused("set", arguments[0], "--workspace", workspace, *arguments[1:])
        assert not read_sets(workspace)
    place = ["--workspace", str(workspace)]
    assert main(["set", "make", *place, "mine", "--test", "0.34", "--by-source"]) == 0
    assert main(["set", "make", *place, "mine"]) == 2, "the name is taken"
    assert main(["set", "list", *place]) == 0
    assert "mine: " in capsys.readouterr().out
    assert main(["set", "remove", *place, "mine"]) == 0
    with pytest.raises(SetError):
        read_set(workspace, "mine")


def mask(left: int) -> np.ndarray:
    return np.isin(np.arange(60), range(left, left + 9)) & np.ones((40, 1), bool)


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    """A workspace of forty planted projects, and one with two objects that is open."""
    workspace = tmp_path_factory.mktemp("work")
    plant_projects(workspace, 40)
    Project.create(workspace / "real", FRAME, "real").close()
    two = SimpleNamespace(automatic=lambda *_: (Segment(1, mask(5)), Segment(2, mask(30))))
    services: Any = offline_services(segmenter=SimpleNamespace(name="two", open=lambda _: two))
    board = Board(SessionRegistry(workspace, services))
    session = board.sessions.open("real")
    wait_until(lambda: session.idle, "an idle project")
    for id in (1, 2):
        session.decisions.record("not_object", id=id, value=False)
    wait_until(lambda: session.idle, "an idle project")
    yield board
    board.sessions.take_out("real", lambda: None)
    board.index.close()


@pytest.mark.parametrize("search", [{}, {"words": "red"}, {"state": "twin"}, {"names": ["frame_00003", "frame_00008"]}])
def test_the_least_sure_project_without_a_verdict_comes_first_and_unknown_ones_last(search: dict, board: Board):
    workspace = board.sessions.workspace
    facts = {name: read_facts(workspace / name) for name in HANDLERS["queue"](board, search)["names"]}
    assert all(one and one.verdict in ("", "unsure") for one in facts.values())
    scores = [one.confidence for one in facts.values() if one]
    known = [score for score in scores if score is not None]
    assert known == sorted(known) and scores == known + [None] * (len(scores) - len(known))
    shown = {one["name"] for one in HANDLERS["find"](board, {**search, "limit": 200})["projects"]}
    open_ones = {name for name in shown if (one := read_facts(workspace / name)) and one.verdict in ("", "unsure")}
    assert set(facts) == open_ones & set(search.get("names", open_ones))


values = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.integers())
messages = st.fixed_dictionaries(
    {
        "id": st.sampled_from([None, 1, 2, 3]) | values,
        "verdict": st.sampled_from(["accepted", "rejected", "skipped"]) | values,
        "reason": st.sampled_from(["blurred", " ", "x" * 500]) | values,
    }
)


def reviews_of(record: dict) -> tuple[dict, int]:
    """Return what a record says was reviewed. The order of objects follows scores that arrive in the background."""
    return {one["id"]: one["review"] for one in record["objects"]}, record["frame_reviews"]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages)
def test_a_review_is_one_line_in_the_log_that_undo_takes_back_or_it_is_refused(board: Board, message: dict):
    session = board.sessions.find_open("real")
    assert session
    project = session.project
    log, before = project.folder / "decisions.jsonl", review_record(session)
    lines, curation = len(read_log(log)), read_curation(project.folder)
    try:
        apply_review(board, {"project": "real", **message})
    except StudioError as refused:
        assert "\n" not in str(refused)
        assert len(read_log(log)) == lines and read_curation(project.folder) == curation
        return
    decision = read_log(log)[-1]
    assert len(read_log(log)) == lines + 1 and decision.kind == "review"
    assert (decision.data["verdict"] == "rejected") == bool(decision.data.get("reason"))
    if message["id"] is None and message["verdict"] != "skipped":
        assert read_curation(project.folder).verdict == message["verdict"]
    session.decisions.undo()
    assert reviews_of(review_record(session)) == reviews_of(before)


def test_a_reviewed_object_leaves_the_queue_and_no_stage_depends_on_it(board: Board):
    session = board.sessions.find_open("real")
    assert session
    for id, verdict in ((1, "accepted"), (2, "skipped")):
        apply_review(board, {"project": "real", "id": id, "verdict": verdict})
    left = [one["id"] for one in review_record(session)["objects"] if not one["review"]]
    assert left == [2]
    assert not any("review" in kinds for kinds in STAGE_DECISIONS.values())
    reviews = review_record(session)["frame_reviews"]
    for verdict in ("skipped", "accepted"):
        apply_review(board, {"project": "real", "id": None, "verdict": verdict})
    assert review_record(session)["frame_reviews"] == reviews + 2
    with pytest.raises(StudioError, match="no longer open"):
        apply_review(board, {"project": "frame_00001", "id": None, "verdict": "accepted"})
