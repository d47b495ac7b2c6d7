"""Requests of the library page."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trimesh
from gradio.utils import get_upload_folder
from offline_studio import offline_services, wait_until

from pipeline.assets.library import BUILTIN_LIBRARY, Library
from studio import viewer
from studio.library.import_jobs import import_sources
from studio.library.library_requests import endpoint
from studio.library.shared_library import SharedLibrary
from studio.sessions.session_registry import SessionRegistry
from studio.web.errors import RequestError
from studio.web.upload_folder import collect_uploads
from tests.assets.test_packs import UID, served  # noqa: F401  (a fixture)


@pytest.fixture
def shared(tmp_path, monkeypatch) -> SharedLibrary:
    """A library with one asset of the studio's; the user's own is empty."""
    monkeypatch.setenv("GRS_LIBRARY", str(tmp_path / "user"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    services = offline_services(Library.open([BUILTIN_LIBRARY / "banana"]))
    return SharedLibrary(SessionRegistry(tmp_path / "work", services), viewer.ViewRegistry())


@pytest.fixture
def ask(shared) -> Callable[..., dict[str, Any]]:
    return lambda kind, **data: endpoint(shared)({"page_token": shared.page_token.value, "kind": kind, **data})


def test_only_uploads_are_imported_all_arrive_and_none_leaves_its_folder(tmp_path):
    uploads = Path(get_upload_folder())
    uploads.mkdir(parents=True, exist_ok=True)
    upload = uploads / "some.obj"
    upload.write_text("v 0 0 0")
    names = ("../out.obj", "a/../../b.obj", ".", "x" * 400, "c:\\x.obj")
    for path, name in (("/etc/hostname", "a.obj"), *((str(upload), name) for name in names)):
        with pytest.raises(RequestError):
            collect_uploads([{"path": path, "name": name}], tmp_path / "files")
    collect_uploads([{"path": str(upload), "name": "/etc/x.obj"}], tmp_path / "files")
    assert (tmp_path / "files" / "etc" / "x.obj").exists()
    assert not (tmp_path / "out.obj").exists() and not (tmp_path / "b.obj").exists()
    upload = uploads / "camera.json"  # Gradio keeps files of the same content once
    upload.write_text("{}")
    names = [f"tables/{frame}/camera.json" for frame in "abc"]
    assert collect_uploads([{"path": str(upload), "name": name} for name in names], tmp_path / "more") == ["tables"]
    assert [(tmp_path / "more" / name).read_text() for name in names] == ["{}"] * 3 and not upload.exists()


def test_dropped_files_are_grouped_by_folder_and_zip(tmp_path):
    for name in ("mug.obj", "mug.mtl", "mesh.stl", "bowl/mesh.obj", "many.zip"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    separate = [tmp_path / "bowl", tmp_path / "many.zip"]
    assert import_sources(tmp_path) == [*separate, tmp_path / "mesh.stl", tmp_path / "mug.obj"], "each mesh is an asset"
    (tmp_path / "arm.urdf").touch()
    assert import_sources(tmp_path) == [*separate, tmp_path], "a model needs its meshes"


def finished_job(ask: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    wait_until(lambda: ask("jobs")["jobs"][0]["state"] not in ("waiting", "running"), "the end of the import")
    return ask("jobs")["jobs"][0]


def imported_job(ask: Callable[..., dict[str, Any]], name: str, mesh: trimesh.Trimesh) -> dict[str, Any]:
    """Import an upload; return its job once nothing runs."""
    path = Path(get_upload_folder()) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    mesh.export(path)
    ask("import", files=[{"path": str(path), "name": name}])
    return finished_job(ask)


def test_an_objaverse_object_waits_until_its_terms_are_accepted(ask, served, monkeypatch):  # noqa: F811
    monkeypatch.setenv("GRS_OBJAVERSE", served.as_uri())
    assert "not an Objaverse id" in ask("objaverse", id="mug")["error"]
    assert "error" not in ask("objaverse", id=UID)
    job = finished_job(ask)
    (offer,) = job["questions"]
    assert (job["state"], offer["name"]) == ("questions", "Tea tin")
    assert offer["terms"] == "its author must be named; not for commercial use"
    assert "error" in ask("units", job=job["name"], number=offer["number"], units="m"), "it is another question"
    ask("accept", job=job["name"], number=offer["number"], accepted=False)
    job = finished_job(ask)
    assert job["state"] == "done" and "left out" in job["errors"][0]["error"] and not job["added"]
    assert "error" in ask("accept", job=job["name"], number=offer["number"], accepted=True)


def test_units_are_asked_with_outlines_and_answered_with_the_up_axis(ask):
    job = imported_job(ask, "flat_slab_9.stl", trimesh.creation.box([80, 120, 20]))
    (question,) = job["questions"]
    assert [one["unit"] for one in question["units"] if one["likely"]] == ["mm"]
    outlines = {up: (shape["wide"], shape["tall"]) for up, shape in question["shapes"].items()}
    assert outlines == {"z": (1.0, 0.167), "y": (0.667, 1.0), "x": (1.0, 0.667)}
    assert all(shape["path"].startswith("M") for shape in question["shapes"].values())
    assert "error" in ask("units", job=job["name"], number=question["number"], units="mm", up="w")
    ask("units", job=job["name"], number=question["number"], units="mm", up="y")
    assert finished_job(ask)["added"][0]["id"] == "flat_slab_9"
    assert [round(side, 3) for side in ask("asset", id="flat_slab_9")["size"]] == [0.08, 0.02, 0.12]


def test_an_imported_asset_reaches_every_project_and_running_work_goes_on(shared, ask):
    prepared: list[str] = []
    project = SimpleNamespace(segments=lambda: ())
    idle, busy = (
        SimpleNamespace(runner=SimpleNamespace(current=current), services=None, project=project)
        for current in (None, object())
    )
    idle.prepare, busy.prepare = (lambda name=name: prepared.append(name) for name in ("idle", "busy"))
    shared.sessions._open = {"idle": idle, "busy": busy}  # type: ignore[assignment]
    job = imported_job(ask, "beach_ball_7.stl", trimesh.creation.icosphere(2, 0.03))
    assert job["state"] == "done" and not job["errors"] and [one["id"] for one in job["added"]] == ["beach_ball_7"]
    assert "beach_ball_7" in shared.library
    assert idle.services is busy.services is shared.sessions.services and prepared == ["idle"]
    assert ask("asset", id="beach_ball_7")["own"]
    assert ask("find", words="beach ball")["items"][0]["id"] == "beach_ball_7"
    assert ask("preview", id="beach_ball_7")["mass"] > 0
