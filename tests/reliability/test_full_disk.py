"""What cannot be saved is not kept and said so; no ended or killed process leaves anything behind."""

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
from offline_studio import offline_services

from pipeline.assets.library import Library
from pipeline.export import export_project
from pipeline.project import Project
from pipeline.store import StoreError, append_lines, atomic_write, check_writable, files, memoise, write_json
from pipeline.store.cache_folder import made_once, user_cache_folder
from studio.__main__ import main
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


def test_a_decision_that_cannot_be_saved_is_not_kept_and_said_so(project, fail):
    project.decide("rename", id=1, name="mug")
    before = (project.folder / "decisions.jsonl").read_bytes()
    for number, words in (
        (errno.ENOSPC, "the disk is full. Free some space"),
        (errno.EDQUOT, "quota is used up. Free some space"),
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
    fail(0)
    project.decide("rename", id=1, name="bowl")
    assert [one.data["name"] for one in Project.open(project.folder).decisions] == ["mug", "bowl"]


def test_decisions_and_stages_that_cannot_be_saved_leave_what_was(project, fail):
    before, size = (project.folder / "decisions.jsonl").exists(), 300
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))  # the second line does not fit any more
    try:
        with pytest.raises(StoreError, match="The decision was not saved"):
            project.decide_together([("rename", {"id": i, "name": "x" * 100}) for i in (1, 2, 3)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not project.decisions and not before and (project.folder / "decisions.jsonl").read_bytes() == b""
    before = project.stages()
    fail(errno.ENOSPC)
    with pytest.raises(StoreError, match=r"project\.json was not saved"):
        project.finish("scene", "key", "measured", 1.0)
    fail(0)
    assert project.stages() == before == Project.open(project.folder).stages()


def test_masks_that_cannot_be_written_are_written_when_the_disk_has_space_again(project, monkeypatch):
    folder = project.folder / "segments"

    def full(*_):
        raise StoreError("masks.png was not saved: the disk is full. Free some space, then try again.")

    with monkeypatch.context() as patch:
        patch.setattr("pipeline.project.project_masks.write_segments", full)
        with pytest.raises(StoreError, match=r"The decision is saved, but masks\.png was not saved"):
            project.decide("delete_segment", id=2)
    assert [one.id for one in project.segments()] == [1] and len(Project.open(project.folder).decisions) == 1
    assert len(json.loads((folder / "coco.json").read_text())["annotations"]) == 2
    project.update_mask_files()
    assert len(json.loads((folder / "coco.json").read_text())["annotations"]) == 1


def test_an_error_of_the_disk_anywhere_is_told_as_such_and_not_as_ours(capsys, monkeypatch):
    error = OSError(errno.ENOSPC, "No space left on device", "/somewhere/solution.npz")
    assert error_message(error) == "solution.npz was not saved: the disk is full. Free some space, then try again."

    def execute(_):
        raise error

    monkeypatch.setattr("studio.commands.run.run", execute)
    assert main(["run", "frame", "--out", "out"]) == 2 and "the disk is full" in capsys.readouterr().err


def test_a_read_only_workspace_is_noticed_on_start_and_can_be_looked_at(project, monkeypatch):
    project.close()
    workspace, opened = project.folder.parent, os.open

    def open_(path, flags, *arguments, **options):
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and str(path).startswith(str(workspace)):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return opened(path, flags, *arguments, **options)

    monkeypatch.setattr(os, "open", open_)
    assert "the disk is read-only" in check_writable(workspace)
    services = offline_services(Library(()))
    session = SessionRegistry(workspace, services).open("small")
    why = "the disk is read-only. Make it writable, or work on a copy in another folder."
    assert session.log.take_notices() == [f"small can only be looked at: {why}"]
    assert session.idle and len(session.project.segments()) == 2
    with pytest.raises(StoreError, match="small can only be looked at"):
        session.decisions.record("not_object", id=1, value=True)
    assert not session.project.decisions
    services.sandbox.close()


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
    time.sleep(600)
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


def start_and_end(folder: Path, temporary: Path) -> None:
    process, _ = working_process(folder, temporary)
    process.send_signal(signal.SIGTERM)
    assert process.wait(120) == 128 + signal.SIGTERM


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_process_that_is_asked_to_end_leaves_nothing(tmp_path, temporary, number):
    process, _ = working_process(tmp_path, temporary)
    process.send_signal(number)
    process.wait(120)
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


def test_a_project_that_was_killed_while_it_was_made_is_made_in_the_same_folder(project):
    folder, frame = project.folder, project.original_frame
    project.close()
    (folder / "project.json").unlink()
    shutil.rmtree(folder / "segments")
    (folder / ".project.json.4194305-0123abcd.part").write_text("{")
    registry = SessionRegistry(folder.parent, None)  # type: ignore[arg-type]
    registry._add = lambda made: made  # type: ignore[method-assign, assignment]
    made = registry.create(lambda place: Project.create(place, frame), "small")
    assert made.folder == folder and made.stages()["frame"] == "done"
    assert registry.create(lambda place: Project.create(place, frame), "small").folder.name == "small_2"


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
