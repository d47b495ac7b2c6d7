"""Endpoints and files over HTTP: who may send a request, which handler answers it, and what an error looks like."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

from fastapi import FastAPI
from fastapi.testclient import TestClient
from offline_studio import FRAME

from pipeline.assets.library import Library
from pipeline.errors import StudioError
from pipeline.project import Project
from studio.objects import candidate_comparison
from studio.records import file_routes
from studio.sessions.session import Session
from studio.sessions.session_registry import session_context
from studio.web.endpoints import Endpoint, PageToken
from studio.web.errors import RequestError


def echo(*arguments) -> dict:
    return {"arguments": [str(argument) for argument in arguments[:-1]]}


def test_an_answer_repeats_the_number_of_its_request_an_error_is_one_line_and_an_unknown_kind_goes_to_the_default():
    endpoint = Endpoint({"echo": echo}, lambda _: ("a",))
    answer = endpoint({"kind": "echo", "seq": 7})
    assert answer["seq"] == 7 and answer["arguments"] == ["a"] and answer["ms"] >= 0
    assert "seq" not in endpoint({"kind": "echo"})
    fail = Mock(side_effect=RequestError("Two lines\nof an error."))
    answer = Endpoint({"fail": fail}, lambda _: (), format_error=str.upper)({"kind": "fail", "seq": 3})
    assert answer == {"seq": 3, "error": "TWO LINES OF AN ERROR."}
    for kind in (None, "", "other", 7):
        assert "reload the page" in Endpoint({"echo": echo}, lambda _: ())({"kind": kind})["error"]
        assert "arguments" in Endpoint({"echo": echo}, lambda _: (), default_kind="echo")({"kind": kind})


def test_of_requests_that_take_long_few_are_answered_at_once():
    entered, free = threading.Semaphore(0), threading.Event()
    long = lambda *_: {"waited": [entered.release(), free.wait()]}  # noqa: E731
    endpoint = Endpoint({"long": long, "echo": echo}, lambda _: (), long_kinds=("long",))
    with ThreadPoolExecutor(6) as pool:
        answers = [pool.submit(endpoint, {"kind": "long"}) for _ in range(6)]
        for _ in answers:
            entered.acquire()
        assert "busy" in endpoint({"kind": "long"})["error"] and "error" not in endpoint({"kind": "echo"})
        free.set()
    assert not any("error" in answer.result() for answer in answers) and "error" not in endpoint({"kind": "long"})


def test_only_a_page_with_the_token_or_an_open_session_is_answered():
    token = PageToken()
    endpoint = Endpoint({"echo": echo}, token.context("library"))
    assert endpoint({"kind": "echo", "page_token": token.value})["arguments"] == ["library"]
    for other in (None, "", "guess", PageToken().value):
        assert set(endpoint({"kind": "echo", "page_token": other})) == {"error"}

    sessions = Mock(get=Mock(side_effect=["session", StudioError("This project is no longer open.")]))
    endpoint = Endpoint({"echo": echo}, session_context(sessions, "model"))
    assert endpoint({"kind": "echo", "token": "open"})["arguments"] == ["session", "model"]
    assert set(endpoint({"kind": "echo", "token": "closed"})) == {"error"}


def test_an_unknown_address_is_answered_in_one_line(tmp_path: Path):
    app, project = FastAPI(), Project.create(tmp_path / "one", FRAME)
    (project.folder / "cache" / "candidates").mkdir(parents=True)
    session = Session(project, SimpleNamespace(library=Library(()), model=None, send="ask"))  # type: ignore[arg-type]
    sessions = SimpleNamespace(get=lambda _: session, workspace=tmp_path)
    file_routes.mount(app, sessions, candidate_comparison.FILES)  # type: ignore[arg-type]
    record = "candidate/%2e%2e%2f%2e%2e%2fproject.json"
    for name in ("crop/a.jpg", "crop/77.jpg", "window/x.jpg", record, "object/9_urdf", "no"):
        answer = TestClient(app).get(f"/project/token/{name}")
        assert answer.status_code == 404 and answer.text.strip() and "\n" not in answer.text
