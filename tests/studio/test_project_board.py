"""The project board: its index says what the folders say, and every act on projects can be undone."""

import itertools
import json
import os
import random
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from offline_studio import FRAME, offline_services

from bench.planted_projects import plant_projects
from pipeline.decisions import Decision, append
from pipeline.errors import StudioError
from pipeline.project import STAGES, Project
from pipeline.project.curation import FILE as CURATION_FILE
from pipeline.project.curation import Curation, read_curation, save_curation
from pipeline.segmentation import ScriptedSegmenter
from pipeline.store.folder_sync import folder_hashes
from studio.accounts.current_user import current_user
from studio.board import bin_requests, board_requests
from studio.board.board import Board
from studio.board.board_requests import HANDLERS, project_record
from studio.board.project_facts import ProjectFacts, read_facts
from studio.board.project_index import FILE, GROUPS, ORDERS, BoardQuery, ProjectIndex
from studio.sessions.session_registry import SessionRegistry

EVERY = BoardQuery(limit=1000, sort="title", descending=False)
COUNT = 14
"""Projects of the workspace."""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    plant_projects(tmp_path / "work", COUNT)
    return tmp_path / "work"


@pytest.fixture
def board(workspace: Path) -> Iterator[Board]:
    board = Board(SessionRegistry(workspace, offline_services(segmenter=ScriptedSegmenter(()))))
    yield board
    board.index.close()


def scanned(workspace: Path) -> dict[str, ProjectFacts]:
    folders = [path.parent for path in workspace.glob("*/project.json") if not path.parent.name.startswith(".")]
    return {folder.name: facts for folder in folders if (facts := read_facts(folder))}


def every_hash(workspace: Path) -> dict[str, dict[str, str]]:
    return {name: dict(folder_hashes(workspace / name)) for name in scanned(workspace)}


def indexed(index: ProjectIndex) -> dict[str, ProjectFacts]:
    index.refresh()
    return dict(index.find(EVERY).rows)


def operations(board: Board, chance: random.Random, acts: list[str]) -> list[Callable[[], object]]:
    """What people, other programs and accidents do to a workspace."""
    workspace = board.sessions.workspace
    names = chance.sample(sorted(scanned(workspace)), 3)
    folder = workspace / names[0]
    return [
        lambda: acts.append(board.rename(names[0], chance.choice(["Über mug", "", "x"]))[0]),
        lambda: acts.append(board.tag(names, ["new", "kitchen"], ["wet"])[0]),
        lambda: acts.append(board.judge(names, chance.choice(["accepted", "unsure", ""]), "")[0]),
        lambda: acts.append(board.duplicate(names[:1])[0]),
        lambda: acts.append(board.delete(names[:2])[0]),
        lambda: board.undo(acts.pop()) if acts else None,
        lambda: (folder / "project.json").write_text("{"),
        lambda: (folder / "scene.json").write_text(json.dumps({"placements": [{"name": "mug"}]})),
        lambda: (folder / "solution.json").unlink(missing_ok=True),
        lambda: (folder / CURATION_FILE).write_text("damaged"),
        lambda: shutil.rmtree(folder),
        lambda: folder.rename(workspace / f"{folder.name}_moved"),
        lambda: (workspace / FILE).unlink(missing_ok=True),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_the_index_equals_a_fresh_scan_after_any_sequence_of_operations(seed: int, board: Board, workspace: Path):
    chance, acts = random.Random(seed), []
    for _ in range(25):
        chance.choice(operations(board, chance, acts))()
        assert indexed(board.index) == scanned(workspace)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "deleted": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "cut off": lambda path: os.truncate(path, path.stat().st_size // 2),
    "beginning": lambda path: path.write_bytes(os.urandom(64) + path.read_bytes()[64:]),
    "rows": lambda path: sqlite3.connect(path, isolation_level=None).execute("UPDATE projects SET title = 'other'"),
    "version": lambda path: sqlite3.connect(path).execute("PRAGMA user_version = 99"),
    "folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "open"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_deleting_or_damaging_the_index_changes_nothing_that_is_shown(damage: str, is_open: bool, workspace: Path):
    index = ProjectIndex(workspace)
    before = indexed(index)
    if not is_open or damage == "rows":  # no accident changes rows of an open index and leaves SQLite content
        index.close()
    DAMAGE[damage](workspace / FILE)
    assert indexed(index) == before == scanned(workspace)
    index.close()
    assert indexed(index) == before, "opened again"
    (workspace / "frame_00003" / CURATION_FILE).write_text('{"schema": 1, "verdict": "unsure"}')
    assert indexed(index)["frame_00003"].verdict == "unsure"
    index.close()


def test_projects_that_are_read_later_are_found_later_and_none_twice(workspace: Path):
    index = ProjectIndex(workspace)
    left, seen = index.refresh(0.0), set(dict(index.find(EVERY).rows))
    assert left == COUNT - 1 and seen == {max(scanned(workspace), key=lambda name: scanned(workspace)[name].changed)}
    while left:
        left = index.refresh(0.0)
        assert index.find(EVERY).total == COUNT - left
    assert dict(index.find(EVERY).rows) == scanned(workspace)


QUERIES: list[tuple[BoardQuery, Callable[[str, ProjectFacts], bool]]] = [
    (BoardQuery("mug"), lambda name, one: "mug" in one.words),
    (BoardQuery("RED  mug"), lambda name, one: "red" in one.words and "mug" in one.words),
    (BoardQuery("%"), lambda name, one: "%" in one.words),
    (BoardQuery("frame_0001"), lambda name, one: "frame_0001" in name),
    (BoardQuery(verdict="none"), lambda name, one: not one.verdict),
    (BoardQuery(tag="kitchen"), lambda name, one: "kitchen" in json.loads(one.tags)),
    (BoardQuery(tag="kit"), lambda name, one: False),
    (BoardQuery("table", state="twin", verdict="rejected"),
     lambda name, one: "table" in one.words and one.state == "twin" and one.verdict == "rejected"),
]  # fmt: skip


@pytest.fixture
def index(workspace: Path) -> ProjectIndex:
    index = ProjectIndex(workspace)
    index.refresh()
    return index


@pytest.mark.parametrize(("query", "belongs"), QUERIES, ids=map(str, range(len(QUERIES))))
def test_search_and_filters_find_what_a_look_at_every_project_finds(query, belongs, index, workspace):
    wanted = {name for name, one in scanned(workspace).items() if belongs(name, one)}
    found = index.find(replace(query, limit=1000))
    assert {name for name, _ in found.rows} == wanted and found.total == len(wanted) and found.all == COUNT


def test_a_search_finds_an_object_by_the_name_a_person_gave_it_until_it_is_undone(index: ProjectIndex, workspace: Path):
    project = Project.open(workspace / "frame_00004")
    for words, name in (("grandma's mug", "Grandma’s Mug"), ("杯子", "杯子")):
        project.decide("display_name", id=1, name=name)
        index.refresh()
        assert [found for found, _ in index.find(BoardQuery(words)).rows] == ["frame_00004"]
        project.undo()
        index.refresh()
        assert not index.find(BoardQuery(words)).total


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("order", sorted(ORDERS))
def test_pages_follow_each_other_in_one_order_with_unknown_values_last(order, descending, index, workspace):
    query = BoardQuery(sort=order, descending=descending, limit=5)
    rows = [row for offset in range(0, COUNT, 5) for row in index.find(replace(query, offset=offset)).rows]
    assert sorted(name for name, _ in rows) == sorted(scanned(workspace))
    if order not in ("state", "title"):
        values = [asdict(one)[order] for _, one in rows]
        known = [value for value in values if value not in (None, "", "[]")]
        assert known == sorted(known, reverse=descending) and values[: len(known)] == known


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_is_in_one_place_and_in_the_order_that_was_chosen(group: str, index: ProjectIndex, workspace: Path):
    rows = index.find(replace(EVERY, group=group)).rows
    assert sorted(name for name, _ in rows) == sorted(scanned(workspace))
    values = [asdict(one)[group] for _, one in rows]
    runs = [value for value, _ in itertools.groupby(values)]
    assert len(runs) == len(set(values))
    for value in runs:
        titles = [one.title.lower() for _, one in rows if asdict(one)[group] == value]
        assert titles == sorted(titles)


def test_the_bin_lists_what_was_deleted_brings_it_back_and_empties_only_what_it_was_asked_to(board, workspace):
    names = ["frame_00001", "frame_00002", "frame_00003"]
    before = every_hash(workspace)
    board.delete(names)
    deleted = bin_requests.bin_answer(board, {})["deleted"]
    assert [one["title"] for one in deleted] == ["Frame 00003", "Frame 00002", "Frame 00001"]
    assert abs(time.mktime(time.strptime(deleted[0]["at"], "%Y-%m-%d %H:%M")) - time.time()) < 3600
    answer = bin_requests.restore(board, {"ids": [deleted[0]["id"]]})
    assert len(answer["deleted"]) == 2 and folder_hashes(workspace / "frame_00003") == before["frame_00003"]
    answer = bin_requests.empty(board, {"ids": [deleted[1]["id"], "../frame_00004", "0/frame_00005"]})
    assert [one["id"] for one in answer["deleted"]] == [deleted[2]["id"]]
    bin_requests.restore(board, {"ids": [deleted[2]["id"]]})
    assert every_hash(workspace) == {name: files for name, files in before.items() if name != "frame_00002"}


def test_a_large_workspace_is_shown_as_it_was_and_then_as_it_is(board, workspace, monkeypatch):
    monkeypatch.setattr(board_requests, "MAX_AT_ONCE", 10)
    assert not board_requests.first_page(board)["outdated"]
    shutil.rmtree(workspace / "frame_00001")
    first = board_requests.first_page(board)
    assert first["outdated"] and first["all"] == COUNT
    assert HANDLERS["find"](board, {"refresh": True})["all"] == COUNT - 1


def test_a_search_while_projects_are_still_read_says_how_many_are_left_and_none_fails(board: Board, monkeypatch):
    find = lambda **request: HANDLERS["find"](board, request)  # noqa: E731
    monkeypatch.setattr(board_requests, "FIRST_SECONDS", 0.0)
    assert board_requests.first_page(board)["unread"] == find(sort="title")["unread"] == COUNT - 1
    assert find(refresh=True)["unread"] == find()["unread"] == 0
    wild = {"words": "\ud800", "sort": "1; DROP TABLE projects", "offset": -1, "limit": 10**30, "state": ["x"]}
    assert find(**wild)["all"] == COUNT


def test_time_of_work_leaves_out_breaks_and_a_newest_round_that_failed_is_said(workspace: Path, tmp_path: Path):
    log = workspace / "frame_00001" / "decisions.jsonl"
    log.unlink(missing_ok=True)
    for at in (100.0, 0.0, 30.0, 5000.0, 5010.0):
        append(log, Decision("undo", {}, at))
    assert scanned(workspace)["frame_00001"].seconds == 30 + 70 + 10
    project = Project.create(tmp_path / "whole", FRAME)
    for stage in STAGES:
        project.finish(stage, project.key(stage), "measured", 0.0)
    for lines, words in (
        ('{"number": 3, "clean": false}\n{"number": 4, "clean": true}\n', "not solved"),
        ('{"number": 3, "clean": true}\n{"number": 4, "clean": false}\n', "round 4 failed"),
        ("", "not solved"),
        ("damaged", "not solved"),
    ):
        (project.folder / "rounds.jsonl").write_text(lines)
        facts = read_facts(project.folder)
        assert facts and project_record("whole", facts)["about"].endswith(words)
        (project.folder / "solution.json").write_text('{"solved": true}')
        facts = read_facts(project.folder)
        about = facts and project_record("whole", facts)["about"]
        assert facts and facts.state == "solved" and about.endswith("all stages done"), about
        (project.folder / "solution.json").unlink()


ACTS: dict[str, Callable[[Board, list[str]], tuple[str, Any]]] = {
    "rename": lambda board, names: board.rename(names[0], "Another title"),
    "tag": lambda board, names: board.tag(names, ["new"], ["kitchen", "wet", "lab"]),
    "accept": lambda board, names: board.judge(names, "accepted", ""),
    "duplicate": lambda board, names: board.duplicate(names),
    "delete": lambda board, names: board.delete(names),
}


@pytest.mark.parametrize("act", ACTS)
def test_undo_gives_the_same_projects_with_the_same_bytes(act: str, board: Board, workspace: Path):
    names = ["frame_00001", "frame_00002", "frame_00004"]
    before, facts = every_hash(workspace), scanned(workspace)
    id, done = ACTS[act](board, names)
    assert not done.problems and scanned(workspace) != facts
    assert not board.undo(id).problems
    assert indexed(board.index) == facts
    for hashes in (before, after := every_hash(workspace)):
        for files in hashes.values():
            files.pop(CURATION_FILE, None)
    assert after == before
    with pytest.raises(StudioError, match="no longer be undone"):
        board.undo(id)


def test_a_deleted_project_comes_back_with_every_byte_and_beside_one_that_took_its_name(board: Board, workspace: Path):
    name = "frame_00005"
    before = folder_hashes(workspace / name)
    id, _ = board.delete([name])
    assert not (workspace / name).exists() and name not in indexed(board.index)
    shutil.copytree(workspace / "frame_00006", workspace / name)
    board.undo(id)
    assert folder_hashes(workspace / f"{name}_2") == before and folder_hashes(workspace / name) != before


def test_a_project_open_in_a_session_is_deleted_only_after_a_question_and_its_session_ends(board, workspace):
    Project.create(workspace / "real", FRAME, "real").close()
    session = board.sessions.open("real")
    answer = HANDLERS["delete"](board, {"names": ["real", "frame_00001"]})
    assert "Real is open in this studio" in answer["question"]
    assert (workspace / "real").is_dir() and (workspace / "frame_00001").is_dir()
    answer = HANDLERS["delete"](board, {"names": ["real", "frame_00001"], "confirmed": True})
    assert answer["undo"] and not answer["problems"] and not (workspace / "real").exists()
    with pytest.raises(StudioError, match="no longer open"):
        board.sessions.get(session.token)
    assert not session.project.is_writer and session.idle
    HANDLERS["undo"](board, {"id": answer["undo"]})
    assert board.sessions.open("real").project.name == "real"
    board.sessions.take_out("real", lambda: None)


def test_acts_of_one_user_reach_no_project_of_another(workspace: Path):
    for user in ("ada", "bob"):
        shutil.copytree(workspace / "frame_00001", workspace / "users" / user / f"of_{user}")
    board = Board(SessionRegistry(workspace, offline_services(segmenter=ScriptedSegmenter(())), own=True))
    current_user.set("ada")
    id, _ = board.judge(["of_ada"], "accepted", "")
    current_user.set("bob")
    assert set(indexed(board.index)) == {"of_bob"}
    assert board.delete(["of_ada"])[1].problems
    with pytest.raises(StudioError):
        board.undo(id)
    current_user.set("ada")
    assert indexed(board.index)["of_ada"].by == "ada"


def test_a_wrong_request_is_told_in_a_line_and_changes_nothing(board: Board, workspace: Path):
    for wrong in (
        {"kind": "judge", "names": ["frame_00001"], "verdict": "rejected"},
        {"kind": "judge", "names": ["frame_00001"], "verdict": "fine"},
        {"kind": "tag", "names": ["frame_00001"], "add": ["  "], "remove": 3},
        {"kind": "rename", "names": ["frame_00001", "frame_00002"], "title": "x"},
        {"kind": "rename", "names": ["frame_00001"], "title": "x" * 500},
        {"kind": "delete", "names": []},
        {"kind": "undo", "id": ["1"]},
    ):
        before = scanned(workspace)
        try:
            answer = HANDLERS[wrong["kind"]](board, wrong)
            assert answer["problems"] or wrong.get("add") == ["  "]
        except StudioError as error:
            assert "\n" not in str(error)
        assert scanned(workspace) == before, wrong


def test_what_was_said_about_a_project_is_read_as_it_was_saved_and_a_damaged_file_is_kept(workspace: Path):
    folder = workspace / "frame_00001"
    said = Curation("Ä title", ("a", "b"), "rejected", "too dark", "ada", 12.5)
    save_curation(folder, said)
    assert read_curation(folder) == said
    (folder / CURATION_FILE).write_text('{"verdict": ')
    assert read_curation(folder) == Curation()
    save_curation(folder, said)
    assert (folder / f"{CURATION_FILE}.damaged").read_text() == '{"verdict": '
    save_curation(folder, Curation())
    assert not (folder / CURATION_FILE).exists()
