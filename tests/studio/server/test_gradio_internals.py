"""What the studio needs of Gradio's private parts. A failure here names the file that has to follow Gradio's change."""

import json
import subprocess
import sys
from pathlib import Path

import gradio as gr
from fastapi import FastAPI
from fastapi.testclient import TestClient
from gradio.routes import templates
from gradio.utils import get_upload_folder
from starlette.requests import HTTPConnection

from studio.server.gradio_internals import ICON, ValidLogins, allow_streams, event_data, name_icon, uploaded_file

STARTUP = """
import json, sys, pathlib
from studio.server import gradio_fast_import
gradio_fast_import.install()
import gradio, gradio.component_meta as meta, components.component as ours
from components.page_frame import Gallery
stubs = [str(path) for path in pathlib.Path(ours.__file__).parent.glob("*.pyi")]
print(json.dumps({"writer": meta.create_or_modify_pyi.__module__, "stubs": stubs}))
"""


def test_the_import_hook_replaces_gradios_writer_of_stubs(tmp_path: Path):
    from gradio import component_meta

    writer = "studio/server/gradio_fast_import.py needs gradio.component_meta.create_or_modify_pyi"
    assert hasattr(component_meta, "create_or_modify_pyi"), writer
    done = subprocess.run([sys.executable, "-c", STARTUP], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["writer"] == "studio.server.gradio_fast_import", writer


def test_an_events_data_can_be_read():
    assert event_data(gr.EventData(None, {"kind": "move"})) == {"kind": "move"}, "gr.EventData no longer has _data"
    assert event_data(gr.EventData(None, None)) == {}


def test_a_login_is_found_in_gradios_cookies_until_its_password_changes():
    app = FastAPI()
    users: list[str | None] = []
    password = ["first"]
    logins = ValidLogins(lambda user: password[0] if user == "ada" else "")

    @app.middleware("http")
    async def check(request, call_next):
        users.append(logins.user_of(app, HTTPConnection(request.scope)))
        return await call_next(request)

    with gr.Blocks() as blocks:
        gr.Markdown("page")
    gr.mount_gradio_app(app, blocks, path="/", auth=("ada", "secret"))
    with TestClient(app) as client:
        client.get("/config")
        client.post("/login", data={"username": "ada", "password": "secret"})
        client.get("/config")
        assert (users[0], users[-1]) == (None, "ada"), "gradio_internals.py needs App.tokens and App.cookie_id"
        password[0] = "second"
        client.get("/config")
        password[0] = "first"
        client.get("/config")
    assert users[-2:] == [None, None], "a login that ended does not come back"


def test_gradios_queue_takes_the_number_of_streams():
    with gr.Blocks() as blocks:
        gr.Markdown("page")
    assert hasattr(blocks._queue, "max_thread_count"), "gradio_internals.py needs Queue.max_thread_count"
    allow_streams(blocks, 7)
    blocks._queue.active_jobs = [None] * blocks._queue.max_thread_count  # as Queue.start does
    assert len(blocks._queue.active_jobs) == 7
    assert len(blocks._queue.pending_messages_per_session) == 0, "gradio_internals.py needs the queue's open pages"


def test_only_files_in_the_upload_folder_are_uploads(tmp_path: Path):
    folder = Path(get_upload_folder())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "some.txt").write_text("x")
    (tmp_path / "other.txt").write_text("x")
    assert uploaded_file(str(folder / "some.txt")) == (folder / "some.txt").resolve()
    for path in (tmp_path / "other.txt", folder / "missing.txt", folder / ".." / "other.txt", None, 7):
        assert uploaded_file(path) is None


def test_the_page_names_the_studios_icon_and_not_gradios_app():
    name_icon()
    loader = templates.env.loader
    assert loader is not None
    page = loader.get_source(templates.env, "frontend/index.html")[0]
    assert ICON in page and "manifest" not in page
