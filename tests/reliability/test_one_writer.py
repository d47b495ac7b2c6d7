"""One process writes a project; every other one, and the board, can look at it, and is told where it is open."""

import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from offline_studio import offline_services, wait_until

from pipeline.assets.library import Library
from pipeline.project import Project, ProjectError
from pipeline.store import LOCK_FILE, WriterLock, file_lock
from studio.__main__ import main
from studio.board.board import Board
from studio.pages.status import top_bar_record
from studio.sessions.session_registry import SessionRegistry

HOLD = """
import sys
from pathlib import Path
from pipeline.store import WriterLock, announce
announce(sys.argv[2])
lock = WriterLock.acquire(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def open_elsewhere(folder: Path, address: str = "http://127.0.0.1:7861") -> Iterator[subprocess.Popen[str]]:
    """Hold the writer's lock of a project in another process until the end of the block."""
    command, pipe = [sys.executable, "-c", HOLD, str(folder), address], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout and process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


OPEN_IN = r"small is open in process \d+ since \d{4}-\d\d-\d\d \d\d:\d\d, the studio at http://127.0.0.1:7861, and can"


def test_a_second_process_or_command_reads_everything_and_writes_nothing(project, capsys):
    project.decide("not_object", id=1, value=True)
    project.close()
    with open_elsewhere(project.folder):
        before = (project.folder / "decisions.jsonl").read_bytes()
        second = Project.open(project.folder)
        assert len(second.segments()) == 2 and second.next_undo.kind == "not_object"
        finish, save = lambda: second.finish("scene", "", "", 0), lambda: second.save_segments(())
        for act in (lambda: second.decide("rename", id=1, name="mug"), second.undo, second.redo, finish, save):
            with pytest.raises(ProjectError, match=OPEN_IN) as refused:
                act()
            assert "\n" not in str(refused.value)
        assert main(["run", "ignored", "--out", str(project.folder), "--until", "segments"]) == 2
        (line,) = capsys.readouterr().err.strip().splitlines()
        assert re.search(OPEN_IN, line) and (project.folder / "decisions.jsonl").read_bytes() == before


def test_after_a_kill_the_next_writer_sees_what_the_killed_one_decided(project):
    project.close()
    reader = Project.open(project.folder)
    with open_elsewhere(project.folder) as other:
        other.kill()
        other.wait()
        project.decide("rename", id=1, name="mug")  # as the other would have done
        project.close()
        undone = reader.undo()
    assert undone is not None and undone.kind == "rename", "its undo takes back the last decision, whoever made it"
    assert [one.kind for one in Project.open(project.folder).decisions] == ["rename", "undo"]


def test_a_session_of_a_project_open_elsewhere_only_shows_it(project, tmp_path):
    project.close()
    services = offline_services(Library(()))
    registry = SessionRegistry(tmp_path / "workspace", services)
    with open_elsewhere(project.folder):
        session = registry.open("small")
        assert re.search(OPEN_IN, session.log.take_notices()[0]) and session.idle, "nothing is computed"
        bar = top_bar_record(session, services)
        names = ["Depth and colour (stand-in for SAM 2)", "rules (no language model)"]
        assert bar["saved"] == "view only" and [one["name"] for one in bar["services"][:2]] == names
        record = lambda: session.decisions.record("not_object", id=1, value=True)  # noqa: E731
        for act in (record, session.decisions.undo, lambda: session.generate("lift it", "route")):
            with pytest.raises(ProjectError, match=OPEN_IN):
                act()
    assert registry.open("small") is session
    session.runner.stop()
    session.decisions.record("not_object", id=1, value=True)
    assert top_bar_record(session, services)["saved"].startswith("saved")
    assert [one.kind for one in Project.open(project.folder).decisions] == ["not_object"]
    services.sandbox.close()


def test_a_session_that_was_closed_for_room_lets_other_processes_write(project, tmp_path):
    frame, services = project.original_frame, offline_services(Library(()))
    project.close()
    Project.create(tmp_path / "workspace" / "another", frame).close()
    registry = SessionRegistry(tmp_path / "workspace", services, idle_seconds=-1)
    session = registry.open("small")
    assert registry.open("small") is session and session.project.is_writer, "two tabs share it"
    session.runner.stop()
    wait_until(lambda: session.runner.current is None, "the stop")
    registry.open("another").runner.stop()
    with open_elsewhere(project.folder):
        assert not session.project.is_writer
    services.sandbox.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_does_not_keep_a_project_locked(project):
    ready, told = os.pipe()
    go, release = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(told, b"x")
        os.read(go, 1)  # outlives the lock of its parent
        os._exit(0)
    os.read(ready, 1)
    project.close()
    with open_elsewhere(project.folder) as other:
        assert other.poll() is None
    os.write(release, b"x")
    os.waitpid(child, 0)


def test_the_lock_names_no_user_and_a_disk_without_locks_refuses_nobody_and_says_so(project, monkeypatch):
    text = (project.folder / LOCK_FILE).read_text()
    assert set(json.loads(text)) == {"pid", "since", "address"} and "/" not in text
    project.close()

    def refuse(*_):
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(file_lock.fcntl, "flock", refuse)
    opened = Project.open(project.folder)
    opened.decide("not_object", id=1, value=True)
    assert not WriterLock.acquire(project.folder).enforced
    assert any("no file locks" in line for line in opened.warnings)


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
