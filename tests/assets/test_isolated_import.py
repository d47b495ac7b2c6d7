"""Isolated imports report one line per file, leave no files behind, and reach no key, network or other file."""

import json
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
import trimesh

from pipeline.assets import AssetError, Library
from pipeline.assets.importers import isolated_import
from pipeline.assets.importers.import_staging import staging_folder, take_over
from pipeline.assets.importers.isolated_import import MEMORY_LIMIT_MB, ImportProgress, import_isolated
from pipeline.assets.library import BUILTIN_LIBRARY
from pipeline.confinement import platform_coverage
from pipeline.untrusted.worker_process import network_environment

IMPORTED_IDS = {"ball", "ball_2", "holed_2", "red_cube"}


def import_events(tmp_path: Path, *files: Path, **options) -> list[ImportProgress]:
    steps = import_isolated(files, tmp_path / "given", tmp_path / "library", options, threading.Event(), ("holed",))
    return [step for step in steps if step.id or step.error]


def input_file(tmp_path: Path, name: str) -> Path:
    (tmp_path / "given").mkdir(exist_ok=True)
    return tmp_path / "given" / name


def test_each_dropped_file_becomes_an_asset_or_one_line(tmp_path):
    trimesh.creation.box([80, 60, 120]).export(input_file(tmp_path, "carton.stl"))
    trimesh.creation.icosphere(2, 0.04).export(input_file(tmp_path, "ball.ply"))
    input_file(tmp_path, "broken.glb").write_bytes(b"glTF" + bytes(40))
    input_file(tmp_path, "nothing.obj").write_text("v nan nan nan\nv nan nan nan\nv nan nan nan\nf 1 2 3\n")
    input_file(tmp_path, "thief.xml").write_text(
        '<mujoco><asset><mesh name="m" file="/etc/hostname"/></asset><worldbody/></mujoco>'
    )
    with (
        zipfile.ZipFile(input_file(tmp_path, "bomb.zip"), "w", zipfile.ZIP_DEFLATED) as bomb,
        bomb.open("a.obj", "w") as one,
    ):
        for _ in range(320):
            one.write(bytes(1 << 20))
    with zipfile.ZipFile(input_file(tmp_path, "out.zip"), "w") as out:
        out.writestr("../out.obj", "v 0 0 0")
    holed = trimesh.creation.box([0.1, 0.1, 0.1])
    holed.update_faces(np.arange(len(holed.faces)) > 1)
    holed.export(input_file(tmp_path, "holed.obj"))
    shutil.copytree(BUILTIN_LIBRARY / "red_cube", input_file(tmp_path, "red_cube"))
    (tmp_path / "given" / "more").mkdir()
    shutil.copy(input_file(tmp_path, "ball.ply"), tmp_path / "given" / "more")
    steps = import_events(tmp_path, *sorted((tmp_path / "given").iterdir()), provenance="a friend")
    assert {one.id for one in steps if one.id} == IMPORTED_IDS, "an id that is taken is not taken again"
    errors = {one.source: one for one in steps if one.error}
    assert set(errors) == {"broken.glb", "nothing.obj", "thief.xml", "bomb.zip", "out.zip", "carton.stl"}
    assert not [one for one in errors.values() if "\n" in one.error or len(one.error) > 250]
    assert errors["carton.stl"].longest == pytest.approx(120)
    assert "hundreds of times" in errors["bomb.zip"].error and "leads out" in errors["out.zip"].error
    assert {folder.name for folder in (tmp_path / "library").iterdir()} == IMPORTED_IDS
    assert not [one for one in tmp_path.rglob("*") if one.name in ("out.obj", "a.obj")]
    library, (before,) = Library.open([tmp_path / "library"]), Library.open([BUILTIN_LIBRARY / "red_cube"])
    assert any("holes" in warning for warning in library["holed_2"].warnings), "what is wrong is kept with the asset"
    cube = library["red_cube"]
    assert cube.provenance == "a friend" and cube.folder == tmp_path / "library" / "red_cube"
    assert (cube.name, cube.caption, cube.licence) == (before.name, before.caption, before.licence)
    np.testing.assert_allclose(cube.size, before.size, atol=1e-4)


def test_a_stop_ends_the_import_at_once_and_leaves_no_files(tmp_path):
    stop, mesh = threading.Event(), trimesh.creation.annulus(0.05, 0.1, 0.03)
    mesh.export(input_file(tmp_path, "ring.obj"))
    steps = import_isolated([input_file(tmp_path, "ring.obj")], tmp_path / "given", tmp_path / "library", {}, stop)
    events = []
    for step in steps:
        events.append(step)
        if step.total:
            stop.set()
    assert not any(step.id for step in events)
    assert not (tmp_path / "library").exists() or not list((tmp_path / "library").iterdir())


def test_an_import_ends_with_its_parent_process(tmp_path):
    os.mkfifo(input_file(tmp_path, "endless.zip"))
    process = subprocess.Popen(
        [sys.executable, "-c", "from pipeline.assets.importers.import_worker import main; main()"],
        stdin=subprocess.PIPE, env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE, start_new_session=True, text=True,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    (tmp_path / "staging").mkdir()
    given, staging = str(tmp_path / "given"), str(tmp_path / "staging")
    request = {"sources": [f"{given}/endless.zip"], "root": given, "options": {}, "parent": os.getpid()}
    request |= {"staging": staging, "scratch": staging, "unpack": staging, "taken": [], "existing": []}
    process.stdin.write(json.dumps(request | {"memory_mb": MEMORY_LIMIT_MB, "seconds": 60}) + "\n")
    process.stdin.flush()
    assert "unpacking" in process.stdout.readline()
    process.stdin.close()
    assert process.wait(60) == 1


@pytest.mark.skipif(
    not (platform_coverage()["files"] and platform_coverage()["calls"]), reason="needs Landlock and seccomp"
)
def test_a_taken_over_reader_reaches_no_key_network_file_or_other_asset(tmp_path, monkeypatch):
    monkeypatch.setattr(isolated_import, "MODULE", "tests.assets.hostile_worker")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    kept = tmp_path / "library" / "kept"
    kept.mkdir(parents=True)
    (kept / "asset.json").write_text("kept")
    drop = tmp_path / "drop"
    drop.mkdir()
    (drop / "mesh.obj").write_text(str(secret))
    steps = list(import_isolated([drop / "mesh.obj"], drop, tmp_path / "library", {}, threading.Event()))
    assert steps[0].warnings == (), "what a taken-over reader could do"
    assert not [step for step in steps if step.warnings or step.id]
    assert ["may be an attack" in step.error for step in steps[1:2]] == [True]
    assert "took too much memory or time, or crashed" in steps[-1].error
    assert (kept / "asset.json").read_text() == "kept" and secret.read_text() == "secret"
    assert [path.name for path in (tmp_path / "library").iterdir()] == ["kept"]
    assert [path.name for path in drop.iterdir()] == ["mesh.obj"]


def test_staging_takes_over_plain_files_only_and_a_download_gets_the_proxy_but_no_key(tmp_path, monkeypatch):
    dead = tmp_path / ".import.999999999.0123abcd"
    dead.mkdir()
    with staging_folder(tmp_path):
        assert not dead.exists() and len(list(Path(tmp_path).iterdir())) == 1
    with staging_folder(tmp_path / "library") as staging:
        (staging / "leak").mkdir()
        (staging / "leak" / "mesh.obj").symlink_to("/etc/hostname")
        (staging / "good").mkdir()
        (staging / "good" / "mesh.obj").write_text("v 0 0 0")
        for id, message in (("leak", "more than plain files"), ("../x", "id is"), ("none", "cannot be read")):
            with pytest.raises(AssetError, match=message):
                take_over(staging, id, tmp_path / "library", may_replace=True)
        take_over(staging, "good", tmp_path / "library", may_replace=False)
    assert [path.name for path in (tmp_path / "library").iterdir()] == ["good"]
    for name in ("OPENAI_API_KEY", "GRS_AUTH", "AWS_SECRET_ACCESS_KEY", "GRS_PASSWORD"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("https_proxy", "http://proxy:1")
    environment = network_environment()
    assert environment["https_proxy"] == "http://proxy:1" and "secret" not in environment.values()
