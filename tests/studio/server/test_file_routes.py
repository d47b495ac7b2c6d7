"""Files of a project over HTTP: who gets them, and what a wrong address gets."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from offline_studio import FRAME

from pipeline.assets.library import Library
from pipeline.project import Project
from studio.server import file_routes
from studio.sessions.session import Session


@pytest.mark.parametrize("name", ["crop/abc.jpg", "crop/77.jpg", "window/x.jpg", "candidate/..", "object/9_urdf", "no"])
def test_an_unknown_address_is_answered_in_one_line(name: str, tmp_path: Path):
    app, project = FastAPI(), Project.create(tmp_path / "one", FRAME)
    session = Session(project, SimpleNamespace(library=Library(())))  # type: ignore[arg-type]
    file_routes.mount(app, SimpleNamespace(get=lambda _: session, workspace=tmp_path))  # type: ignore[arg-type]
    answer = TestClient(app).get(f"/project/token/{name}")
    assert answer.status_code == 404 and answer.text.strip() and "\n" not in answer.text
