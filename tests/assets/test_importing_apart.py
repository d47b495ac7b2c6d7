"""Files from anywhere, hostile ones too, read by a process of their own: one line each, and nothing is left behind."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
import trimesh

from pipeline.assets import Library
from pipeline.assets.importing_apart import MEMORY, Happened, bring_apart
from pipeline.assets.library import OWN

BROUGHT = {"ball", "ball_2", "holed_2", "red_cube"}
"""Another library has a "holed"."""


def brought(tmp_path: Path, *files: Path, **told) -> list[Happened]:
    steps = bring_apart(files, tmp_path / "given", tmp_path / "library", told, threading.Event(), taken=("holed",))
    return [step for step in steps if step.id or step.error]


def given(tmp_path: Path, name: str) -> Path:
    (tmp_path / "given").mkdir(exist_ok=True)
    return tmp_path / "given" / name


def test_whatever_is_dropped_together_becomes_assets_or_one_line_each(tmp_path):
    large = trimesh.creation.box([80, 60, 120])
    large.export(given(tmp_path, "carton.stl"))
    trimesh.creation.icosphere(2, 0.04).export(given(tmp_path, "ball.ply"))
    given(tmp_path, "broken.glb").write_bytes(b"glTF" + bytes(40))
    given(tmp_path, "nothing.obj").write_text("v nan nan nan\nv nan nan nan\nv nan nan nan\nf 1 2 3\n")
    given(tmp_path, "thief.xml").write_text(
        '<mujoco><asset><mesh name="m" file="/etc/hostname"/></asset><worldbody/></mujoco>'
    )
    with (
        zipfile.ZipFile(given(tmp_path, "bomb.zip"), "w", zipfile.ZIP_DEFLATED) as bomb,
        bomb.open("a.obj", "w") as one,
    ):
        for _ in range(320):
            one.write(bytes(1 << 20))
    with zipfile.ZipFile(given(tmp_path, "out.zip"), "w") as out:
        out.writestr("../out.obj", "v 0 0 0")
    holed = trimesh.creation.box([0.1, 0.1, 0.1])
    holed.update_faces(np.arange(len(holed.faces)) > 1)
    holed.export(given(tmp_path, "holed.obj"))
    shutil.copytree(OWN / "red_cube", given(tmp_path, "red_cube"))
    (tmp_path / "given" / "more").mkdir()
    shutil.copy(given(tmp_path, "ball.ply"), tmp_path / "given" / "more")
    files = sorted((tmp_path / "given").iterdir())
    steps = brought(tmp_path, *files, provenance="a friend")
    assert {one.id for one in steps if one.id} == BROUGHT, "an id that is taken is not taken again"
    said = {one.source: one for one in steps if one.error}
    assert set(said) == {"broken.glb", "nothing.obj", "thief.xml", "bomb.zip", "out.zip", "carton.stl"}
    assert not [one for one in said.values() if "\n" in one.error or len(one.error) > 250]
    assert said["carton.stl"].longest == pytest.approx(120)
    assert "hundreds of times" in said["bomb.zip"].error and "lead out" in said["out.zip"].error
    assert {folder.name for folder in (tmp_path / "library").iterdir()} == BROUGHT
    assert not [one for one in tmp_path.rglob("*") if one.name in ("out.obj", "a.obj")]
    library, (before,) = Library.open([tmp_path / "library"]), Library.open([OWN / "red_cube"])
    assert any("holes" in fault for fault in library["holed_2"].wrong), "what is wrong is kept with the asset"
    cube = library["red_cube"]
    assert cube.provenance == "a friend" and cube.folder == tmp_path / "library" / "red_cube"
    assert (cube.name, cube.caption, cube.licence) == (before.name, before.caption, before.licence)
    np.testing.assert_allclose(cube.size, before.size, atol=1e-4)


def test_a_stop_ends_the_import_at_once_and_leaves_nothing(tmp_path):
    stop, mesh = threading.Event(), trimesh.creation.annulus(0.05, 0.1, 0.03)
    mesh.export(given(tmp_path, "ring.obj"))
    steps = bring_apart([given(tmp_path, "ring.obj")], tmp_path / "given", tmp_path / "library", {}, stop)
    seen = []
    for step in steps:
        seen.append(step)
        if step.of:
            stop.set()
    assert not any(step.id for step in seen)
    assert not (tmp_path / "library").exists() or not list((tmp_path / "library").iterdir())


def test_an_import_ends_with_the_studio_that_began_it(tmp_path):
    os.mkfifo(given(tmp_path, "endless.zip"))
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline.assets.importing_child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        start_new_session=True, text=True,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    request = {"sources": [str(tmp_path / "given" / "endless.zip")], "root": ".", "told": {}, "library": "."}
    process.stdin.write(json.dumps(request | {"memory": MEMORY, "seconds": 60}) + "\n")
    process.stdin.flush()
    assert "unpacking" in process.stdout.readline()
    process.stdin.close()
    assert process.wait(60) == -signal.SIGKILL
