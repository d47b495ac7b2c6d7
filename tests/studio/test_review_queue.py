"""The review queue: its order, what a verdict leaves in the project, and that no request can do anything else."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from offline_studio import FRAME, offline_services, wait_until

from bench.planted_projects import plant_projects
from pipeline.decisions import read_log
from pipeline.errors import StudioError
from pipeline.frame import Frame
from pipeline.project import Project
from pipeline.project.curation import read_curation
from pipeline.project.stage_record import STAGE_DECISIONS
from pipeline.segmentation import Segment
from studio.board.board import Board
from studio.board.board_requests import HANDLERS
from studio.board.project_facts import read_facts
from studio.board.review_queue import apply_review, review_record
from studio.sessions.session_registry import SessionRegistry


def mask(left: int) -> np.ndarray:
    return np.isin(np.arange(60), range(left, left + 9)) & np.ones((40, 1), bool)


class TwoObjects:
    """Finds the same two objects in any frame."""

    name = "two"

    def open(self, frame: Frame) -> SimpleNamespace:
        return SimpleNamespace(automatic=lambda *_: (Segment(1, mask(5)), Segment(2, mask(30))))


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    """A workspace of forty planted projects, and one with two objects that is open."""
    workspace = tmp_path_factory.mktemp("work")
    plant_projects(workspace, 40)
    Project.create(workspace / "real", FRAME, "real").close()
    services: Any = offline_services(segmenter=TwoObjects())
    board = Board(SessionRegistry(workspace, services))
    session = board.sessions.open("real")
    wait_until(lambda: session.idle, "an idle project")
    for id in (1, 2):
        session.decisions.record("not_object", id=id, value=False)
    wait_until(lambda: session.idle, "an idle project")
    yield board
    board.sessions.take_out("real", lambda: None)
    board.index.close()


def names(board: Board, **request: Any) -> list[str]:
    return HANDLERS["queue"](board, {"kind": "queue", **request})["names"]


@pytest.mark.parametrize("search", [{}, {"words": "red"}, {"state": "twin"}, {"names": ["frame_00003", "frame_00008"]}])
def test_the_least_sure_project_without_a_verdict_comes_first_and_unknown_ones_last(search: dict, board: Board):
    workspace = board.sessions.workspace
    facts = {name: read_facts(workspace / name) for name in names(board, **search)}
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
    with pytest.raises(StudioError, match="no longer open"):
        apply_review(board, {"project": "frame_00001", "id": None, "verdict": "accepted"})
