"""Nothing is left behind: neither by an ended process, nor, once the next one starts, by a killed one."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.project import Project
from pipeline.store import atomic_write, remove_dead_files
from studio.sessions.session_registry import SessionRegistry

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
    """Start a process that is in the middle of its work; return it and its folder of temporary files."""
    environment = os.environ | {"TMPDIR": str(temporary)}
    command = [sys.executable, "-c", WORK, str(folder)]
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


def test_half_written_files_go_when_the_project_is_next_written(project, temporary):
    project.close()
    live, _ = working_process(project.folder, temporary)
    killed, _ = working_process(project.folder, temporary)
    killed.kill()
    killed.wait()
    assert len(list(project.folder.glob(".scene.json.*"))) == 2
    Project.open(project.folder).begin_writing()
    (left,) = project.folder.glob(".scene.json.*")
    assert f".{live.pid}-" in left.name, "that of a process that works is its own"
    live.kill()
    live.wait()


def test_a_file_that_this_process_writes_is_not_taken_for_a_dead_one(tmp_path):
    with atomic_write(tmp_path / "scene.json") as temporary:
        temporary.write_text("{}")
        (tmp_path / f".task.json.{os.getpid()}-0123abcd.part").write_text("of an earlier process with this id")
        (tmp_path / ".part").write_text("somebody's")
        assert remove_dead_files(tmp_path) == 1 and temporary.exists()
    assert {path.name for path in tmp_path.iterdir()} == {"scene.json", ".part"}


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
