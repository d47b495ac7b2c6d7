"""The controls that the page disables are those of what the server refuses."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from people import PEOPLE, logged_in

from studio.accounts.refusals import refusals
from studio.accounts.roles import Role
from studio.server.gradio_internals import gradio_app

STATIC = Path(__file__).parents[3] / "static"
MARK = re.compile(r'"data-sends": "([^"]+)"')
"""A control of a script, or the element around several, with the name of what it sends."""


def marks() -> set[str]:
    scripts = [path for path in STATIC.rglob("*.js") if "vendor" not in path.parts]
    return {name for path in scripts for name in MARK.findall(path.read_text())}


def test_every_control_names_something_that_the_server_refuses_to_somebody(studio: SimpleNamespace):
    refused = set(refusals(gradio_app(studio.app).get_blocks(), Role.VISIT)["refused"])
    assert len(marks()) > 40 and marks() <= refused, marks() - refused


def test_every_component_that_sends_what_lookers_may_not_has_a_control_that_says_so(studio: SimpleNamespace):
    blocks = gradio_app(studio.app).get_blocks()
    refused = refusals(blocks, Role.LOOK)["refused"]
    components = {name.partition(".")[0] for name in refused if not name.startswith("#")}
    marked = {name.partition(".")[0] for name in marks()}
    assert components - marked == {"top-bar"}, "its undo and redo have states of their own"
    assert {"#generate", "#task-text", "#drop", "#run-edited"} <= set(refused)


def test_who_looks_while_another_edits_is_refused_what_concerns_the_project(studio: SimpleNamespace):
    editors = set(refusals(gradio_app(studio.app).get_blocks(), Role.WORK)["editors"])
    assert {"inspector.decide", "#generate", "mask-canvas.import", "results.share"} <= editors
    assert not editors & {"top-bar.take_over", "gallery.judge", "library.import", "#drop", "results.links"}


@pytest.mark.parametrize("user", PEOPLE)
async def test_a_page_learns_what_its_person_may_not_send(user: str, studio: SimpleNamespace):
    async with logged_in(studio, user) as http:
        account = (await http.get("/account.json")).json()
        refused = set(account["refused"])
        assert ("inspector.decide" in refused) == (PEOPLE[user] < Role.WORK)
        assert ("models-panel.use" in refused) == (PEOPLE[user] < Role.ADMINISTER)
        assert "top-bar.home" not in refused
