"""What the library's page may ask, and what a browser that is not ours gets for asking it."""

import gzip
import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trimesh
from gradio.utils import get_upload_folder

from pipeline.assets.library import OWN, Library
from pipeline.matching import Features
from pipeline.models.rules import RulesModel
from pipeline.run import Services
from pipeline.segmentation import DepthSegmenter
from pipeline.simulation.sandbox import Sandbox
from studio import viewing
from studio.library import Shelf
from studio.library_jobs import arranged, given
from studio.pages.library import ANSWERS, answer
from studio.session import SessionError
from studio.sessions import Sessions

JUNK: list[dict[str, Any]] = [
    {},
    {"id": "../../etc"},
    {"id": 7, "said": 3, "job": [], "ids": 1, "files": "x"},
    {"id": "banana", "said": {"mass": "1"}, "axis": "w", "longest": float("nan")},
]


@pytest.fixture
def desk(tmp_path, monkeypatch) -> Any:
    """A shelf with one asset of its own and one of the studio's; `ask` asks as the page does."""
    monkeypatch.setenv("GRS_LIBRARY", str(tmp_path / "user"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    library = Library.open([OWN / "banana"])
    services = Services(DepthSegmenter(), RulesModel(), library, Sandbox(), features=lambda: Features.of(library))
    sessions = Sessions(tmp_path / "work", services)
    shelf = Shelf(sessions, viewing.Sessions())
    shell: Any = SimpleNamespace(sessions=sessions)

    def ask(kind: str, **data: Any) -> dict:
        return answer(shell, shelf, {"door": shelf.door, "kind": kind, **data})

    return SimpleNamespace(ask=ask, shelf=shelf, sessions=sessions, shell=shell, user=tmp_path / "user")


@pytest.mark.parametrize("kind", sorted(ANSWERS))
@pytest.mark.parametrize("junk", JUNK)
def test_whatever_is_asked_is_answered_or_refused_in_one_line(desk, kind, junk):
    said = desk.ask(kind, **junk)
    assert isinstance(said, dict)
    assert "\n" not in said.get("error", "") and "our side" not in said.get("error", "")
    desk.shelf.jobs.close()


def test_a_page_that_is_not_ours_gets_nothing(desk):
    for door in (None, "", "x"):
        assert set(answer(desk.shell, desk.shelf, {"door": door, "kind": "find"})) == {"error"}


def test_only_uploads_are_brought_in_and_they_stay_where_they_are_put(tmp_path):
    uploads = Path(get_upload_folder())
    uploads.mkdir(parents=True, exist_ok=True)
    for name in ("../out.obj", "/etc/x.obj", "a/../../b.obj", "", "x" * 400, "c:\\x.obj"):
        (uploads / "some.obj").write_text("v 0 0 0")
        if name == "/etc/x.obj":
            arranged([{"path": str(uploads / "some.obj"), "name": name}], tmp_path / "files")
            assert (tmp_path / "files" / "etc" / "x.obj").exists()
            continue
        with pytest.raises(SessionError):
            arranged([{"path": str(uploads / "some.obj"), "name": name or "."}], tmp_path / "files")
    with pytest.raises(SessionError):
        arranged([{"path": "/etc/hostname", "name": "a.obj"}], tmp_path / "files")
    assert not (tmp_path / "out.obj").exists() and not (tmp_path / "b.obj").exists()


def test_files_dropped_together_are_told_apart_by_folder_and_zip(tmp_path):
    for name in ("mug.obj", "mug.mtl", "mesh.stl", "bowl/mesh.obj", "many.zip"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    apart = [tmp_path / "bowl", tmp_path / "many.zip"]
    assert given(tmp_path) == [*apart, tmp_path / "mesh.stl", tmp_path / "mug.obj"], "each mesh is a thing of its own"
    (tmp_path / "arm.urdf").touch()
    assert given(tmp_path) == [*apart, tmp_path], "a model's meshes lie beside it"


def over(desk: Any) -> dict[str, Any]:
    """The newest job once nothing runs."""
    for _ in range(1200):
        job = desk.ask("jobs")["jobs"][0]
        if job["state"] not in ("waiting", "running"):
            return job
        time.sleep(0.1)
    raise AssertionError("it never ends")


def test_a_thing_of_objaverse_waits_for_its_terms_to_be_agreed_to(desk, tmp_path, monkeypatch):
    uid, top = "0123456789abcdef0123456789abcdef", tmp_path / "objaverse"
    (top / "metadata").mkdir(parents=True)
    (top / "object-paths.json.gz").write_bytes(gzip.compress(json.dumps({uid: f"glbs/a/{uid}.glb"}).encode()))
    about = {uid: {"name": "Tea tin", "license": "by"}}
    (top / "metadata" / "a.json.gz").write_bytes(gzip.compress(json.dumps(about).encode()))
    monkeypatch.setenv("GRS_OBJAVERSE", top.as_uri())
    assert "no id of Objaverse" in desk.ask("objaverse", id="mug")["error"]
    assert "error" not in desk.ask("objaverse", id=uid)
    job = over(desk)
    (offer,) = job["asks"]
    assert (job["state"], offer["name"], offer["terms"]) == ("asks", "Tea tin", "its author must be named")
    assert "error" in desk.ask("units", job=job["name"], number=offer["number"], units="m"), "it is another question"
    desk.ask("agree", job=job["name"], number=offer["number"], yes=False)
    job = over(desk)
    assert job["state"] == "done" and "left out" in job["errors"][0]["error"] and not job["added"]
    assert "error" in desk.ask("agree", job=job["name"], number=offer["number"], yes=True)


def test_units_are_asked_with_the_outline_and_answered_with_the_side_that_is_up(desk):
    uploads = Path(get_upload_folder())
    uploads.mkdir(parents=True, exist_ok=True)
    trimesh.creation.box([80, 120, 20]).export(uploads / "flat_slab_9.stl")
    desk.ask("bring", files=[{"path": str(uploads / "flat_slab_9.stl"), "name": "flat_slab_9.stl"}])
    job = over(desk)
    (asked,) = job["asks"]
    assert [one["unit"] for one in asked["units"] if one["likely"]] == ["mm"]
    seen = {up: (shape["wide"], shape["tall"]) for up, shape in asked["shapes"].items()}
    assert seen == {"z": (1.0, 0.167), "y": (0.667, 1.0), "x": (1.0, 0.667)}
    assert all(shape["path"].startswith("M") for shape in asked["shapes"].values())
    assert "error" in desk.ask("units", job=job["name"], number=asked["number"], units="mm", up="w")
    desk.ask("units", job=job["name"], number=asked["number"], units="mm", up="y")
    assert over(desk)["added"][0]["id"] == "flat_slab_9"
    assert [round(side, 3) for side in desk.ask("asset", id="flat_slab_9")["size"]] == [0.08, 0.02, 0.12]


def test_a_dropped_file_is_in_every_projects_library_and_work_that_runs_goes_on(desk):
    resting = SimpleNamespace(work=None, services=None, project=SimpleNamespace(segments=lambda: ()), begun=0)
    resting.bring_up_to_date = lambda: setattr(resting, "begun", resting.begun + 1)
    busy = SimpleNamespace(work=object(), services=None)
    desk.sessions._open = {"resting": resting, "busy": busy}
    uploads = Path(get_upload_folder())
    uploads.mkdir(parents=True, exist_ok=True)
    trimesh.creation.icosphere(2, 0.03).export(uploads / "beach_ball_7.stl")
    desk.ask("bring", files=[{"path": str(uploads / "beach_ball_7.stl"), "name": "beach_ball_7.stl"}])
    job = over(desk)
    assert job["state"] == "done" and not job["errors"] and [one["id"] for one in job["added"]] == ["beach_ball_7"]
    assert "beach_ball_7" in desk.shelf.library
    assert resting.services is busy.services is desk.sessions.services and resting.begun == 1
    assert desk.ask("asset", id="beach_ball_7")["own"]
    assert desk.ask("find", words="beach ball")["items"][0]["id"] == "beach_ball_7"
    assert desk.ask("stand", id="beach_ball_7")["weighs"] > 0
