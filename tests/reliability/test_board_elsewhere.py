"""The board leaves alone what another process writes."""

from offline_studio import offline_services
from other_process import open_elsewhere

from pipeline.assets.library import Library
from studio.board.board import Board
from studio.sessions.session_registry import SessionRegistry


def test_the_board_says_where_a_project_is_open_and_leaves_it_as_it_is(project):
    project.close()
    board = Board(SessionRegistry(project.folder.parent, offline_services(Library(()))))
    with open_elsewhere(project.folder):
        before = sorted(path.name for path in project.folder.iterdir())
        for act in (board.delete, board.duplicate, lambda names: board.judge(names, "accepted", "")):
            (problem,) = act([project.folder.name])[1].problems
            assert "is open in process" in problem and "\n" not in problem
        assert sorted(path.name for path in project.folder.iterdir()) == before
    assert not board.judge([project.folder.name], "accepted", "")[1].problems
    board.index.close()
