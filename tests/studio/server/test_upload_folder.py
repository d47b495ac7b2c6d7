"""Uploads: private, of our own pages only, deleted after a day and with the studio."""

import gc
import stat
from pathlib import Path

from fastapi import FastAPI
from fastapi.testclient import TestClient

from studio.server.gradio_internals import gradio_app
from studio.server.upload_folder import MAX_AGE, UploadFolder

HERE = "http://127.0.0.1:7860"
FILES = {"files": ("frame.png", b"pixels")}


def test_an_upload_lies_in_a_private_folder_and_comes_from_our_own_page(app: FastAPI):
    client, folder = TestClient(app, HERE), app.state.uploads.path
    client.post("/login", data={"username": "ada", "password": "secret"})
    assert Path(gradio_app(app).uploaded_file_dir) == folder, (
        "studio/server/upload_folder.py needs App.uploaded_file_dir"
    )
    assert client.post("/gradio_api/upload", files=FILES, headers={"origin": "http://127.0.0.1:9"}).status_code == 403
    assert not list(folder.rglob("frame.png"))
    (path,) = client.post("/gradio_api/upload", files=FILES, headers={"origin": HERE}).json()
    assert Path(path).is_relative_to(folder) and Path(path).read_bytes() == b"pixels"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_uploads_are_deleted_after_a_day_and_with_the_studio():
    uploads = UploadFolder()
    file = uploads.path / "abc" / "frame.png"
    file.parent.mkdir()
    file.write_bytes(b"pixels")
    changed = file.stat().st_ctime
    assert uploads.remove_old(changed + MAX_AGE - 60) == 0 and file.exists()
    assert uploads.remove_old(changed + MAX_AGE + 60) == 1 and not file.exists()
    assert uploads.remove_old(changed + 3 * MAX_AGE) == 0 and not file.parent.exists()
    assert uploads.path.is_dir()
    uploads = UploadFolder()
    path = uploads.path
    (path / "left.part").write_bytes(b"an upload that was cut off")
    del uploads
    gc.collect()
    assert not path.exists()
