"""Nothing of a project goes to another machine before a person allowed it; without it, offline rules do the work."""

import base64
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import privacy
import pytest
from offline_studio import wait_until

from pipeline.assets.library import Library
from pipeline.export import export_project
from pipeline.export.object_zip import object_zip
from pipeline.frame import load
from pipeline.matching import LibraryFeatures
from pipeline.models import ModelError, ModelSettings, open_model
from pipeline.models.destination import destination_of
from pipeline.models.images import encode_jpeg
from pipeline.planner import PlannerModel
from pipeline.project import Project
from pipeline.run import Services, may_send, run_stages, tracing_model
from pipeline.segmentation import DepthSegmenter, ScriptedSegmenter
from pipeline.simulation.sandbox.sandbox import Sandbox
from studio.__main__ import main
from studio.models import call_actions, sending, sending_preview
from studio.models.cost_estimates import renewal_choices, renewed_projects
from studio.pages.status import top_bar_record
from studio.sessions.physical_properties import ask_physical_properties
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry
from studio.web.errors import RequestError
from tests.models import hostile
from tests.models.hostile import HostileServer, honest

BLOCKS = Path(__file__).parents[2] / "sample_scenes" / "blocks"
PRICES: dict[str, Any] = {"usd_per_million_in": 1.0, "usd_per_million_out": 1.0}
"""A server on this machine that costs money passes the questions on, so it counts as another machine."""
QUESTIONS = ("descriptions", "matches", "task")
"""Stages that ask a model by themselves."""


@pytest.fixture(scope="module")
def services(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Services:
    default = Library.open()
    library = replace(default, assets=default.assets[:2])
    features = LibraryFeatures.compute(library)
    cards = tmp_path_factory.mktemp("cards")
    segmenter = ScriptedSegmenter([one.mask for one in DepthSegmenter().open(load(BLOCKS)).automatic()[:2]])
    return Services(segmenter, PlannerModel(), library, sandbox, lambda: features, cards_folder=cards)


@pytest.fixture(scope="module")
def prepared(services: Services, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project folder up to its proposed tasks, made by the offline rules."""
    project = Project.create(tmp_path_factory.mktemp("sending") / "blocks", load(BLOCKS))
    list(run_stages(project, services, "task"))
    return project.folder


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with HostileServer(honest) as running:
        yield running


def opened(folder: Path, services: Services, **settings: Any) -> Session:
    """Open a project as the app does, with a model on a server, and wait until nothing runs."""
    chosen = ModelSettings(**{"service": "openai", "model": "m", "retries": 0, **PRICES, **settings})
    session = Session(Project.open(folder), replace(services, model=open_model(chosen, PlannerModel)))
    session.prepare()
    wait(session)
    return session


def wait(session: Session) -> None:
    wait_until(lambda: session.idle, "an idle project")


def decide(session: Session, allow: bool) -> None:
    sending.decide(session, {"address": sending.sending_record(session)["address"], "allow": allow})
    wait(session)


def makers(session: Session) -> set[str]:
    return {(session.project.made_with(stage) or "").rpartition(", ")[2] for stage in QUESTIONS}


def test_no_request_leaves_before_a_person_allows_it_whatever_is_asked_for(prepared, services, server, tmp_path):
    session = opened(Path(shutil.copytree(prepared, tmp_path / "p")), services, base_url=server.url)
    assert sending.sending_state(session) == "undecided"
    assert set(session.project.stages().values()) == {"done", "todo"} and "m" not in makers(session)
    one = session.project.scene().placements[0].segment_id  # type: ignore[union-attr]
    with pytest.raises(ModelError, match=r"Nothing was sent to http://127\.0\.0\.1"):
        ask_physical_properties(session, {"id": one})
    with pytest.raises(ModelError, match="not allowed for this project"):
        tracing_model(session.project, session.services)
    with pytest.raises(RequestError, match="Another model has been chosen meanwhile"):
        sending.decide(session, {"address": "https://models.example.com", "allow": True})
    session.decisions.record("matcher", name="image+text")
    session.decisions.record("ask_again", kind="describe_segment", about=f"object {one}", wording="Describe the object")
    session.decisions.record("rename", id=one, name="tower")
    wait(session)
    list(run_stages(session.project, session.services, "task"))
    assert sending._preview(session, {})["pictures"]
    assert server.requests == [] and sending.sending_state(session) == "undecided"


def test_the_dialog_shows_every_picture_that_then_goes_and_the_text_as_it_goes(prepared, services, server, tmp_path):
    session = opened(Path(shutil.copytree(prepared, tmp_path / "p")), services, base_url=server.url)
    questions = sending_preview.next_questions(session)
    groups = sending_preview.pictures_by_group(session, questions)
    shown = sending._preview(session, {})
    assert [len(group["thumbnails"]) for group in shown["pictures"]] == [len(one) for one in groups.values() if one]
    decide(session, True)
    assert "m" in makers(session)
    previewed = {base64.b64encode(encode_jpeg(picture)).decode() for group in groups.values() for picture in group}
    sent = [part for body in server.requests for part in body["messages"][0]["content"] if isinstance(part, dict)]
    pictures = {part["image_url"]["url"].rpartition(",")[2] for part in sent if part["type"] == "image_url"}
    renders = {base64.b64encode(encode_jpeg(picture)).decode() for picture in groups["Library assets, rendered"]}
    photographs = previewed - renders
    assert photographs <= pictures and len(pictures - photographs) <= len(renders)
    assert any(part["text"].startswith(shown["text"]) for part in sent if part["type"] == "text")


def test_the_answer_is_kept_and_can_be_undone_and_holds_for_one_server(prepared, services, server, tmp_path):
    folder = Path(shutil.copytree(prepared, tmp_path / "p"))
    session = opened(folder, services, base_url=server.url)
    decide(session, True)
    asked = len(server.requests)
    assert asked and makers(session) == {"m"}
    assert sending.sending_state(opened(folder, services, base_url=server.url)) == "allowed"
    session.decisions.undo()
    wait(session)
    assert sending.sending_state(session) == "undecided" and "m" not in makers(session)
    session.decisions.redo()
    wait(session)
    assert makers(session) == {"m"} and len(server.requests) == asked  # its recorded answers are used again
    with HostileServer(honest) as other:
        assert sending.sending_state(opened(folder, services, base_url=other.url)) == "undecided"
        assert other.requests == []


def test_a_person_who_declines_is_not_stuck_and_not_asked_again(prepared, services, server, tmp_path):
    folder = Path(shutil.copytree(prepared, tmp_path / "p"))
    session = opened(folder, services, base_url=server.url)
    decide(session, False)
    again = opened(folder, services, base_url=server.url)
    assert sending.sending_state(again) == "declined" and "m" not in makers(again)
    [model] = [one for one in top_bar_record(again, again.services)["services"] if one["what"] == "model"]
    assert model["name"] == "rules (m not asked)" and not model["live"]
    assert again.project.tasks() and not call_actions.failures_record(again)["failures"]
    assert server.requests == []
    decide(again, True)
    assert server.requests


def test_pictures_that_are_switched_off_are_neither_shown_nor_sent(prepared, services, server, tmp_path):
    folder = Path(shutil.copytree(prepared, tmp_path / "p"))
    session = opened(folder, services, base_url=server.url, pictures=False)
    assert sending._preview(session, {})["pictures"] == []
    decide(session, True)
    assert server.requests and "image_url" not in json.dumps(server.requests)


def test_nothing_that_is_kept_sent_or_exported_tells_who_asked(prepared, services, server, tmp_path, monkeypatch):
    for name, value in privacy.identity(tmp_path).items():
        monkeypatch.setenv(name, value)
    folder = Path(shutil.copytree(prepared, tmp_path / f"{privacy.MARK} s" / "p"))
    behaviours = iter([hostile.error_reply(500, "broken"), hostile.error_reply(400, f"no {privacy.ROOT}/x")])
    server.behave(lambda handler: next(behaviours, honest)(handler))
    session = opened(folder, services, base_url=server.url, model=f"{privacy.ROOT}/models/m.gguf")
    decide(session, True)
    assert {body["model"] for body in server.requests} == {f"{privacy.ROOT}/models/m.gguf"}
    with pytest.raises(ModelError):
        list(run_stages(session.project, session.services, "rounds"))
    assert session.project.error("rounds") and len({call.failed for call in session.calls.read()}) == 2
    exported = tmp_path / "exported"
    export_project(folder, "zip", exported / "all.zip")
    for placement in session.project.scene().placements:  # type: ignore[union-attr]
        for form in ("mjcf", "urdf"):
            (exported / f"{placement.name}_{form}.zip").write_bytes(object_zip(placement, form))
    asked = [body | {"model": ""} for body in server.requests]
    (exported / "requests.json").write_text(json.dumps([asked, server.headers]))
    assert privacy.leaks(folder) + privacy.leaks(exported) == []


def test_a_chosen_model_is_asked_about_the_projects_that_are_named_and_no_other_even_after_an_edit(
    prepared, services, server, tmp_path
):
    with HostileServer(honest) as first:
        sessions = SessionRegistry(tmp_path, services)
        for name in ("a", "b", "solved"):
            shutil.copytree(prepared, tmp_path / name)
        own = [opened(tmp_path / name, services, base_url=first.url) for name in ("a", "b", "solved")]
        sessions._open = {one.token: one for one in own}
        for one in own:
            decide(one, True)
    *unsolved, solved = own
    solved.project.finish("solution", solved.project.key("solution"), "oracle", 0.0)
    settings = ModelSettings(service="openai", model="n", base_url=server.url, retries=0, **PRICES)
    choices = {one["scope"]: f"{one['title']}: {one['cost']}" for one in renewal_choices(solved, own, settings)}
    assert choices["project"].startswith("This project, which is solved: about 8 calls, ")
    assert choices["all"].startswith("All 2 open projects not solved yet: about 16 calls, ")
    assert renewed_projects(solved, own, "all") == unsolved and not renewed_projects(solved, own, "none")
    before = [(one.project.folder / "descriptions.json").read_text() for one in own]
    sessions.use(replace(services, model=open_model(settings, PlannerModel), send="allow"), [unsolved[0].token])
    for one in own:
        id = one.project.scene().placements[0].segment_id  # type: ignore[union-attr]
        one.decisions.record("move", id=id, pos=[0.1, 0, 0.03], quat_wxyz=[1, 0, 0, 0])
        wait(one)
    asked = [[one.project.made_with(stage) for stage in QUESTIONS] for one in own]
    assert [[(text or "")[-1] for text in texts] for texts in asked] == [["n", "n", "n"], *[["m", "m", "n"]] * 2]
    assert [(one.project.folder / "descriptions.json").read_text() for one in own[1:]] == before[1:]
    assert [one.is_answered_by_another_model for one in own] == [False, True, True]


HERE = ("http://127.0.0.1:8080/v1", "http://localhost:11434/v1", "http://[::1]:8080/v1")
ELSEWHERE = ("", "https://api.openai.com/v1", "http://gpu-box:8000/v1", "http://127.0.0.1.example.com/v1")


@pytest.mark.parametrize("address", [*HERE, *ELSEWHERE, "http://localhost@example.com/v1", "http://0.0.0.0:8080/v1"])
def test_only_a_loopback_address_without_a_price_is_this_machine(address: str):
    model = open_model(ModelSettings(service="openai", base_url=address), PlannerModel, key="k")
    destination = destination_of(model)
    assert destination and destination.is_this_machine == (address in HERE) and "@" not in destination.address
    priced = open_model(ModelSettings(service="openai", base_url=address, **PRICES), PlannerModel, key="k")
    assert not (destination_of(priced) or destination).is_this_machine
    assert destination_of(PlannerModel()) is None


def test_policies_and_decisions_are_weighed_in_one_order(prepared: Path, tmp_path: Path):
    project = Project.open(Path(shutil.copytree(prepared, tmp_path / "p")))
    model = open_model(ModelSettings(service="openai", base_url="https://models.example.com/v1"), PlannerModel, key="k")
    policies = ("ask", "allow", "never", "always")
    assert [may_send(project, model, one) for one in policies] == [None, True, False, True]
    project.decide("send", server="https://models.example.com", allow=False)
    assert [may_send(project, model, one) for one in policies] == [False, False, False, True]
    project.decide("send", server="https://models.example.com", allow=True)
    assert [may_send(project, model, one) for one in policies] == [True, True, False, True]


def test_a_command_that_names_a_model_says_in_one_line_what_goes_where(server, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GRS_BASE_URL", server.url)
    command = ["run", str(BLOCKS), "--out", str(tmp_path / "out"), "--until", "frame", "--model", "openai"]
    assert main(command) == 0
    [line] = [line for line in capsys.readouterr().err.splitlines() if line.startswith("model: ")]
    assert server.url.removesuffix("/v1") in line and "photograph" in line and "--model offline" in line
    monkeypatch.setenv("GRS_SEND", "never")
    monkeypatch.setenv("GRS_BASE_URL", "https://models.example.com/v1")
    assert main(command) == 2
    assert "GRS_SEND=never: nothing may be sent to https://models.example.com" in capsys.readouterr().err
