"""What cannot be saved is not kept and said so; one process writes a project; no ended one leaves anything behind."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest
from offline_studio import offline_services, wait_until

from pipeline.assets.library import Library
from pipeline.export import export_project
from pipeline.project import Project, ProjectError
from pipeline.store import (
    LOCK_FILE,
    StoreError,
    WriterLock,
    append_lines,
    atomic_write,
    check_writable,
    file_lock,
    files,
    memoise,
    write_json,
)
from pipeline.store.cache_folder import made_once, user_cache_folder
from studio.__main__ import main
from studio.board.board import Board
from studio.pages.status import top_bar_record
from studio.sessions.session_registry import SessionRegistry
from studio.web.errors import error_message


@pytest.fixture
def fail(monkeypatch):
    """Return a function that lets every flush to the disk fail with an error number from now on; 0 ends it."""
    flush = os.fsync

    def begin(error: int) -> None:
        refuse = Mock(side_effect=OSError(error, os.strerror(error)))
        monkeypatch.setattr(files.os, "fsync", refuse if error else flush)

    return begin


def test_a_decision_or_a_stage_that_cannot_be_saved_is_not_kept_and_said_so(project, fail):
    project.decide("rename", id=1, name="mug")
    before, stages = (project.folder / "decisions.jsonl").read_bytes(), project.stages()
    for number, words in (
        (errno.ENOSPC, "the disk is full. Free some space"),
        (errno.EROFS, "the disk is read-only. Make it writable"),
        (errno.EACCES, "you may not write there. Change the folder's permissions"),
        (errno.EIO, "the disk reports an error"),
    ):
        fail(number)
        with pytest.raises(StoreError) as refused:
            project.decide("rename", id=1, name="cup")
        notice = error_message(refused.value)
        assert notice.startswith("The decision was not saved: ") and words in notice and "\n" not in notice
        assert len(project.decisions) == 1 and (project.folder / "decisions.jsonl").read_bytes() == before
    with pytest.raises(StoreError, match=r"project\.json was not saved"):
        project.finish("scene", "key", "measured", 1.0)
    fail(0)
    assert project.stages() == stages == Project.open(project.folder).stages()
    project.decide("rename", id=1, name="bowl")
    assert [one.data["name"] for one in Project.open(project.folder).decisions] == ["mug", "bowl"]


def test_masks_that_cannot_be_written_are_written_when_the_disk_has_space_again(project, monkeypatch):
    saved = lambda: len(json.loads((project.folder / "segments" / "coco.json").read_text())["annotations"])  # noqa: E731
    full = Mock(side_effect=StoreError("masks.png was not saved: the disk is full."))
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.project.project_masks.write_segments", full)
        with pytest.raises(StoreError, match=r"The decision is saved, but masks\.png was not saved"):
            project.decide("delete_segment", id=2)
    assert [one.id for one in project.segments()] == [1] and len(Project.open(project.folder).decisions) == 1
    assert saved() == 2
    project.update_mask_files()
    assert saved() == 1


def test_a_read_only_workspace_is_noticed_and_looked_at_and_errors_of_the_disk_are_told(project, capsys, monkeypatch):
    project.close()
    workspace, opened = project.folder.parent, os.open

    def open_(path, flags, *arguments, **options):
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and str(path).startswith(str(workspace)):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return opened(path, flags, *arguments, **options)

    monkeypatch.setattr(os, "open", open_)
    assert "the disk is read-only" in check_writable(workspace)
    opened_again = Project.open(project.folder)
    with pytest.raises(StoreError, match=r"small can only be looked at: the disk is read-only\. Make it writable"):
        opened_again.decide("not_object", id=1, value=True)
    assert not opened_again.decisions and len(opened_again.segments()) == 2
    error = OSError(errno.ENOSPC, "No space left on device", "/somewhere/solution.npz")
    assert error_message(error) == "solution.npz was not saved: the disk is full. Free some space, then try again."
    monkeypatch.setattr("studio.commands.run.run", Mock(side_effect=error))
    assert main(["run", "frame", "--out", "out"]) == 2 and "the disk is full" in capsys.readouterr().err


def test_values_that_cannot_be_cached_are_computed_and_a_failed_append_leaves_a_log_as_it_was(tmp_path, fail):
    assert check_writable(tmp_path) == "" or "MB are free" in check_writable(tmp_path)
    assert not list(tmp_path.iterdir()) and "Nothing can be saved" in check_writable(tmp_path / "missing")
    fail(errno.ENOSPC)
    assert memoise(tmp_path, "sum", lambda: 5) == 5
    with pytest.raises(StoreError):
        write_json(tmp_path / "sum.json", 5)
    log = tmp_path / "log.jsonl"
    for tail in ("", '{"n": 2', '{"n": 2}', '{"n": 2}\n'):
        log.write_text(f'{{"n": 1}}\n{tail}')
        fail(errno.ENOSPC)
        with pytest.raises(StoreError):
            append_lines(log, [{"n": 3}])
        fail(0)
        append_lines(log, [{"n": 3}])
        numbers = [json.loads(line)["n"] for line in log.read_text().splitlines()]
        assert numbers == ([1, 2, 3] if tail.startswith('{"n": 2}') else [1, 3])


WORK = """
import signal, sys, tempfile, time
from pathlib import Path
from studio.__main__ import _clean_up_on_signals
from pipeline.store import atomic_write, use_private_folder
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
_clean_up_on_signals()
print(use_private_folder(), flush=True)
with tempfile.TemporaryDirectory(prefix="grs-") as scratch, atomic_write(Path(sys.argv[1]) / "scene.json") as file:
    (Path(scratch) / "dropped.zip").write_text("x")
    file.write_text("half")
    print("working", flush=True)
    while True: time.sleep(0.1)  # a signal right before a long sleep is heard at its end
"""


def working_process(folder: Path, temporary: Path) -> tuple[subprocess.Popen[str], Path]:
    command, environment = [sys.executable, "-c", WORK, str(folder)], os.environ | {"TMPDIR": str(temporary)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout
    private = Path(process.stdout.readline().strip())
    assert process.stdout.readline() == "working\n" and private.parent == temporary and len(list(private.iterdir())) > 1
    return process, private


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    return folder


def start_and_end(folder: Path, temporary: Path, number: int = signal.SIGTERM) -> None:
    process, _ = working_process(folder, temporary)
    process.send_signal(number)
    assert process.wait(120) == (-number if number == signal.SIGINT else 128 + number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_process_that_is_asked_to_end_leaves_nothing(tmp_path, temporary, number):
    start_and_end(tmp_path, temporary, number)
    assert not list(temporary.iterdir()) and list(tmp_path.iterdir()) == [temporary]


def test_what_a_killed_process_left_is_removed_by_the_next_and_nothing_else(tmp_path, temporary):
    (temporary / "grs-studio.of_a_person").mkdir()
    live, its_folder = working_process(tmp_path, temporary)
    killed, left = working_process(tmp_path, temporary)
    killed.kill()
    killed.wait()
    assert left.exists()
    start_and_end(tmp_path, temporary)
    assert not left.exists() and its_folder.exists() and (temporary / "grs-studio.of_a_person").exists()
    live.kill()
    live.wait()
    start_and_end(tmp_path, temporary)
    assert [path.name for path in temporary.iterdir()] == ["grs-studio.of_a_person"]


def test_half_written_files_of_ended_processes_go_when_the_project_is_next_written(project):
    project.close()
    ended, running = (f".scene.json.{pid}-0123abcd.part" for pid in (os.getpid(), os.getppid()))
    for name in (ended, running, ".part"):
        (project.folder / name).write_text("half")
    with atomic_write(project.folder / "task.json") as ours:
        ours.write_text("{}")
        Project.open(project.folder).begin_writing()
        assert {path.name for path in project.folder.glob(".*part")} == {running, ".part", ours.name}
    project.close()
    place, other = project.folder.parent / "out", f".other.json.{os.getpid()}-0123abcd.part"
    for name in (other.replace("other", "twin"), other):
        (place / name / "scene").mkdir(parents=True)
    export_project(project.folder, "coco", place / "twin.json")
    assert {path.name for path in place.iterdir()} == {"twin.json", other}


def test_a_cache_that_cannot_be_written_is_a_temporary_one_and_a_folder_in_it_is_complete_or_absent(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/nowhere")
    assert user_cache_folder().is_dir() and user_cache_folder() == user_cache_folder()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = user_cache_folder() / "meshes" / "a"

    def killed(part: Path) -> None:
        (part / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made_once(folder, killed)
    assert not any((tmp_path / "cache" / "grs-studio" / "meshes").iterdir())
    for content in ("first", "second"):
        made_once(folder, lambda part, content=content: (part / "mesh").write_text(content))
    assert (folder / "mesh").read_text() == "first"


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
        assert bar["saved"] == "view only"
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

    refuse = Mock(side_effect=OSError(errno.EOPNOTSUPP, "Operation not supported"))
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
