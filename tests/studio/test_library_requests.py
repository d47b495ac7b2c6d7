"""Requests of the library page, and the user's library on the command line: import, search, remove and undo."""

import shutil
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import trimesh
from offline_studio import offline_services, wait_until

from pipeline.assets.library import BUILTIN_LIBRARY, Library
from studio import viewer
from studio.__main__ import main
from studio.library.import_jobs import import_sources
from studio.library.library_requests import endpoint
from studio.library.shared_library import SharedLibrary
from studio.sessions.session_registry import SessionRegistry
from studio.web.errors import RequestError
from studio.web.upload_folder import collect_uploads, upload_folder
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
    uploads = upload_folder().path
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
    path = upload_folder().path / name
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


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """A user's library with one imported asset."""
    folder = tmp_path_factory.mktemp("imported")
    trimesh.creation.box([0.1, 0.1, 0.3]).export(folder / "gizmo.stl")
    options = ["--name", "quibble gizmo", "--caption", "a gizmo with three knobs", "--licence", "CC0"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRS_LIBRARY", str(folder / "library"))
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        assert main(["library", "add", str(folder / "gizmo.stl"), *options]) == 0
    return folder / "library"


@pytest.fixture(autouse=True)
def library(imported, tmp_path_factory, monkeypatch):
    """A copy of it, in use."""
    copy = shutil.copytree(imported, tmp_path_factory.mktemp("copied") / "library")
    monkeypatch.setenv("GRS_LIBRARY", str(copy))
    monkeypatch.setenv("XDG_CACHE_HOME", str(imported.parent / "cache"))
    return copy


def ids(capsys, *words):
    capsys.readouterr()
    assert main(["library", "search", *words]) == 0
    return [line.split()[0] for line in capsys.readouterr().out.splitlines()]


def test_an_imported_asset_is_found_by_words_size_category_and_licence(capsys):
    assert ids(capsys, "quib") == ids(capsys, "knobs", "gizmo") == ["gizmo"]
    assert ids(capsys, "gizmo", "--size", "25", "35") == ["gizmo"] == ids(capsys, "gizmo", "--licence", "cc0")
    assert not ids(capsys, "gizmo", "--size", "1", "5") and not ids(capsys, "gizmo", "--articulated")
    assert len(ids(capsys, "--category", "mug")) >= 2  # the studio's own


def test_an_imported_asset_with_a_taken_name_is_listed_beside_it(tmp_path, capsys):
    trimesh.creation.box([0.05, 0.05, 0.25]).export(tmp_path / "hammer.stl")
    assert main(["library", "add", str(tmp_path / "hammer.stl"), "--units", "m"]) == 0
    assert {"hammer", "hammer_2"} <= set(ids(capsys, "hammer"))
    assert main(["library", "add", str(tmp_path / "hammer.stl"), "--id", "hammer"]) == 2
    assert "choose another" in capsys.readouterr().err


@pytest.mark.parametrize("is_zip", [False, True])
def test_a_model_is_imported_and_the_meshes_beside_it_that_it_does_not_name_are_said(tmp_path, capsys, is_zip):
    source = tmp_path / "chest"
    (source / "meshes").mkdir(parents=True)
    for name in ("base", "lid", "variant"):
        trimesh.creation.box([0.1, 0.1, 0.1]).export(source / "meshes" / f"{name}.stl")
    link = '<visual><geometry><mesh filename="package://chest/{}.stl"/></geometry></visual>'
    parts = link.format("meshes/base") + link.format("lid")
    (source / "chest.urdf").write_text(f'<robot name="chest"><link name="chest">{parts}</link></robot>')
    given = shutil.make_archive(str(tmp_path / "drop"), "zip", source) if is_zip else str(source)
    assert main(["library", "add", given]) == 0
    out = capsys.readouterr().out
    assert "[1/1] chest:" in out and "no model names variant.stl, left out; add the files themselves" in out


def test_the_features_of_a_library_folder_are_computed_and_saved(library, monkeypatch, capsys):
    looked, features = [], "pipeline.assets.appearance.features.asset_features"
    monkeypatch.setattr(features, lambda assets, *_: looked.extend(assets) or looked)
    assert main(["library", "look", "--to", str(library)]) == 0
    assert "gizmo" in [asset.id for asset in looked] and f"{len(looked)} assets" in capsys.readouterr().out


def test_assets_are_described_by_measured_words_offline_and_a_persons_words_come_first(library, tmp_path, capsys):
    command = ["library", "describe", "--library", str(library / "own"), "--to", str(tmp_path), "--model", "offline"]
    assert main(command) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("gizmo ")]
    assert " cm [measured]" in line
    assert main([*command, "--set", "gizmo", "A thing of mine."]) == main(command) == 0
    assert "A thing of mine. [human]" in capsys.readouterr().out
    assert main([*command, "--set", "nothing", "words"]) == 2


def test_an_asset_of_the_user_is_removed_and_restored_and_a_pack_removed_completely(capsys, library):
    assert main(["library", "remove", "gizmo"]) == 0
    assert not ids(capsys, "gizmo")
    assert main(["library", "undo"]) == 0
    assert ids(capsys, "gizmo") == ["gizmo"]
    (library / "toys" / "a").mkdir(parents=True)
    assert main(["library", "remove", "--pack", "toys"]) == 0
    assert main(["library", "remove", "--pack", "own"]) == 2, "which is no pack"
    assert not (library / "toys").exists() and (library / "own" / "gizmo").exists()
