"""Batches of the board: dropped frames become projects, each in a process of its own."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from gradio.utils import get_upload_folder
from offline_studio import offline_services, wait_until

from pipeline.frame import load
from pipeline.models.settings import ModelSettings
from pipeline.project import Project
from studio.batch.frame_process import FrameProcess
from studio.board import batches as batches_module
from studio.board.batch_requests import batch_record
from studio.board.batches import Batches, run_options
from studio.sessions.session_registry import SessionRegistry
from studio.web.errors import RequestError

SAMPLES = Path(__file__).resolve().parents[2] / "sample_scenes"
FILES = ("rgb.png", "depth.png", "camera.json")


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
    folder = Path(get_upload_folder())
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name in names:
        for file in FILES:
            path = folder / f"{name}-{file}"
            if name == "broken":
                path.write_bytes(b"no picture")
            else:
                shutil.copy(SAMPLES / name.partition("-")[0] / file, path)
            files.append({"path": str(path), "name": f"tables/{name}/{file}"})
    return files


def ended(batches: Batches) -> dict[str, Any]:
    """Wait for the end of the newest batch, and return its record for the page."""
    wait_until(lambda: batches.all()[0][1] is None, "the end of the batch")
    return batch_record(*batches.all()[0])


def test_each_good_frame_becomes_a_project_and_a_broken_one_says_why(sessions: SessionRegistry, batches: Batches):
    sessions.workspace.mkdir()
    shutil.copytree(SAMPLES / "blocks", sessions.workspace / "blocks")  # the name is taken
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


def test_only_one_batch_runs_at_a_time_and_one_that_runs_is_not_removed(batches: Batches, monkeypatch: Any):
    began: list[str] = []
    monkeypatch.setattr(FrameProcess, "run", lambda self: began.append(self.task.out) or _wait_for_kill(self))
    first = batches.start(uploads("blocks"), "frame", "")
    wait_until(lambda: bool(began), "the first frame")
    second = batches.start(uploads("stack"), "frame", "")
    states = {one[0].folder.name: batch_record(*one)["state"] for one in batches.all()}
    assert states == {first: "running", second: "waiting"} and len(began) == 1
    with pytest.raises(RequestError, match="Stop the batch first"):
        batches.remove(first)
    with pytest.raises(RequestError, match="running already"):
        batches.resume(second)
    batches.stop(second)
    batches.stop(first)
    wait_until(lambda: not any(running for _, running, _ in batches.all()), "the end of both")
    batches.remove(first)
    assert [record.folder.name for record, *_ in batches.all()] == [second] and len(began) == 1


def _wait_for_kill(process: FrameProcess) -> str:
    wait_until(lambda: process._killed, "the stop")
    return "it was stopped"


@pytest.mark.parametrize("files", [None, [], [{"path": "/etc/hostname", "name": "a.zip"}], [{"name": "../x"}]])
def test_what_is_no_upload_starts_nothing_and_leaves_nothing(files: Any, sessions: SessionRegistry, batches: Batches):
    with pytest.raises(RequestError):
        batches.start(files, "frame", "")
    assert not batches.all() and not any((sessions.workspace / ".batches").iterdir())


def test_frames_are_sent_to_another_machine_only_where_no_project_has_to_be_asked_for(sessions):
    for address, send, model in (
        ("https://example.org/v1", "ask", "offline"),
        ("https://example.org/v1", "never", "offline"),
        ("https://example.org/v1", "allow", "openai"),
        ("http://127.0.0.1:1/v1", "ask", "openai"),
    ):
        asked = SimpleNamespace(name="m", settings=ModelSettings(service="openai", model="m", base_url=address))
        services = sessions.services
        services = type(services)(**{**vars(services), "model": asked, "send": send})
        assert f"--model={model}" in run_options(services, "solution", "")
        assert batches_module.sends_nothing(services) == (model == "offline")
