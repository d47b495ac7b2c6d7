"""The protocol between the page's scripts and Python: each side names only what the other one knows."""

import re
from pathlib import Path
from typing import get_args

import pytest
from offline_studio import offline_services
from served_studio import served

from components.component import STATIC, Component
from pipeline.decisions import DECISION_DATA
from studio.web.endpoints import Endpoint
from studio.web.gradio_internals import gradio_app
from studio.web.jobs import Listing

ROOT = Path(__file__).parents[3]
SENT = re.compile(r"\bsend\(\s*\"(\w+)\"")
KIND = re.compile(r"\bkind: \"([\w ]+)\"")
REQUEST = re.compile(r"\{\s*kind: \"([\w ]+)\"([^{}]*)\}")
FIELD = re.compile(r"(?:^|,)\s*(\w+)\s*(?=[,:]|$)")
JOBS = re.compile(r"\bonJobs\([\w.]+, \"(\w+)\"")
OTHER_KINDS = {"make", "several", "primary", "project"}
"""Kinds of what is no request: candidates, questions and buttons of the pages, and what is opened."""


@pytest.fixture(scope="module")
def components(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Component]:
    """The components of the studio's page, by their folder below static/."""
    with served(offline_services(), tmp_path_factory.mktemp("workspace")) as studio:
        blocks = gradio_app(studio.app).get_blocks().blocks.values()
        return {block.folder: block for block in blocks if isinstance(block, Component)}


def scripts(folder: str) -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in sorted((STATIC / folder).rglob("*.js"))}


def kinds_of(component: Component) -> set[str]:
    return set(component.answer.handlers) if isinstance(component.answer, Endpoint) else set()


def test_scripts_send_the_events_and_requests_that_python_handles_and_python_handles_no_others(components):
    for folder, component in components.items():
        text = "\n".join(scripts(folder).values())
        events, kinds = set(component.event_names), kinds_of(component)
        assert set(SENT.findall(text)) <= events | kinds, folder
        assert set(KIND.findall(text)) <= kinds | OTHER_KINDS | set(DECISION_DATA), folder
        if folder != "widgets":  # the channel's own script sends its event
            assert {name for name in events | kinds if f'"{name}"' not in text} == set(), folder


def test_the_fields_of_requests_and_the_kinds_of_jobs_are_those_of_python(components):
    python = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "studio").rglob("*.py"))
    named = {
        (path.name, kind, field)
        for folder, component in components.items()
        for path, text in scripts(folder).items()
        for kind, fields in REQUEST.findall(text)
        for field in FIELD.findall(fields)
        if kind in kinds_of(component)
    }
    followed = JOBS.findall("\n".join(text for folder in components for text in scripts(folder).values()))
    assert len(followed) > 5 and set(followed) <= set(get_args(Listing.__annotations__["kind"]))
    assert len(named) > 50
    assert {(file, kind, field) for file, kind, field in named if f'"{field}"' not in python} == set()
