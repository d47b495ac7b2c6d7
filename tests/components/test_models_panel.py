"""What the Models panel keeps and gives away: settings in the workspace, keys nowhere, prompts against ours."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.assets.library import Library
from pipeline.matching import Features
from pipeline.models import ModelError
from pipeline.models.prompts import FOLDER, load
from pipeline.models.rules import RulesModel
from pipeline.models.settings import ModelSettings
from pipeline.run import Services
from pipeline.segmentation import DepthSegmenter
from pipeline.simulation.sandbox import Sandbox
from studio import notices, own_prompts, spending
from studio.model_choice import ModelChoice
from studio.pages.models import answer, shown
from studio.session import SessionError
from studio.sessions import Sessions
from studio.shell import Shell

KEY = "sk-known-to-nobody"
MINE, THEIRS = "http://127.0.0.1:9/v1", "http://127.0.0.2:9/v1"


@pytest.fixture
def choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelChoice:
    for name in ("GRS_MODEL", "GRS_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    services = Services(
        DepthSegmenter(), RulesModel(), Library(()), features=lambda: Features.of(Library(())), sandbox=Sandbox()
    )
    return ModelChoice(Sessions(tmp_path, services), tmp_path)


def sent(choice: ModelChoice) -> str:
    """The key that the model in use sends to its server."""
    return choice._sessions.services.model._client.api_key  # type: ignore[attr-defined]


def test_a_typed_key_is_used_and_neither_kept_nor_shown(choice: ModelChoice, tmp_path: Path):
    choice.use({"service": "openai", "base_url": MINE, "model": "m"}, KEY)
    assert sent(choice) == KEY and choice.key_from() == "typed"
    assert KEY not in json.dumps(shown(None, choice))
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and KEY in file.read_text()]
    assert KEY not in repr(choice.settings)
    choice.forget_key()
    assert sent(choice) != KEY and choice.key_from() == ""


def test_a_key_goes_to_the_server_it_was_given_for_and_to_no_other(
    choice: ModelChoice, monkeypatch: pytest.MonkeyPatch
):
    choice.use({"service": "openai", "base_url": MINE}, KEY)
    choice.use({"service": "openai", "base_url": THEIRS})
    assert sent(choice) != KEY
    choice.use({"service": "openai", "base_url": MINE})
    assert sent(choice) == KEY
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-house")
    choice.use({"service": "openai", "base_url": THEIRS})
    assert sent(choice) == "none" and choice.key_from() == ""


def test_settings_that_cannot_work_change_nothing_and_say_why(choice: ModelChoice):
    choice.use({"service": "openai", "base_url": MINE, "model": "m"})
    before = choice.settings
    for words in (
        {"service": "openai", "base_url": "ftp://x"},
        {"service": "openai", "temperature": "hot"},
        {"service": "openai"},
        {"service": "astrology"},
        {"service": "replay", "trace": "../../etc/passwd"},
        {"service": "replay", "trace": ""},
        {"nonsense": "1"},
    ):
        with pytest.raises(ModelError) as told:
            choice.use(words)
        assert "\n" not in str(told.value)
        assert choice.settings == before
    with pytest.raises(SessionError):
        choice.use("everything")


def test_what_is_chosen_is_found_again_and_a_lost_key_is_said_to_be_lost(choice: ModelChoice, tmp_path: Path):
    choice.use({"service": "openai", "model": "gpt-x", "ceiling_usd": "0.5"}, KEY)
    again = ModelChoice(choice._sessions, tmp_path)
    assert again.settings == choice.settings and again.settings.ceiling_usd == 0.5
    assert "OPENAI_API_KEY" in again.problem
    again.use({"service": "offline"})
    assert again.problem == "" and ModelChoice(choice._sessions, tmp_path).problem == ""


def test_who_does_not_come_from_our_page_is_refused(choice: ModelChoice):
    shell = Shell(choice._sessions)
    asked = {"kind": "use", "settings": {"service": "openai", "base_url": THEIRS}}
    for door in (None, "", "guessed"):
        assert "reload" in answer(shell, choice, asked | {"door": door})["error"]
    assert choice.settings.service == "offline"
    assert "error" not in answer(shell, choice, asked | {"door": choice.door})
    assert "error" in answer(shell, choice, {"door": choice.door, "kind": "everything"})
    assert "error" in answer(shell, choice, {"door": choice.door, "kind": "findings", "test": "none"})


@pytest.mark.parametrize("kind", sorted(path.stem for path in FOLDER.glob("*.md")))
def test_an_own_prompt_stands_for_ours_until_it_is_dropped(kind: str, tmp_path: Path):
    ours = load(kind)
    assert not own_prompts.one(tmp_path, kind)["changed"]
    told = own_prompts.keep(tmp_path, kind, ours.text + "\nBe brief.")
    assert told["changed"] and told["rows"] and load(kind, tmp_path).text.endswith("Be brief.")
    assert [one["kind"] for one in told["known"] if one["changed"]] == [kind]
    assert own_prompts.drop(tmp_path, kind)["text"] == ours.text
    assert not own_prompts.keep(tmp_path, kind, ours.text)["changed"]


def test_a_prompt_that_cannot_work_is_refused(tmp_path: Path):
    kind = own_prompts.known(tmp_path)[0]["kind"]
    for text in ("", "   ", "{{what_nobody_knows}}", None, "x" * 200_000):
        with pytest.raises(ModelError):
            own_prompts.keep(tmp_path, kind, text)
    assert not list(tmp_path.iterdir())


@settings(max_examples=30)
@given(st.text(max_size=12) | st.sampled_from(["../route", "/etc/passwd", "route.md"]))
def test_only_prompts_that_there_are_can_be_written(name: str):
    folder = Path("/nowhere")
    if (FOLDER / f"{name}.md").is_file() and "/" not in name:
        return
    with pytest.raises(ModelError):
        own_prompts.keep(folder, name, "text")


def asked(**more) -> ModelSettings:
    return ModelSettings(service="openai", usd_per_million_in=2.5, usd_per_million_out=10, **more)


def test_what_is_dear_is_asked_about_first_and_what_is_free_or_ones_own_is_not():
    assert "14 objects" in spending.first(asked(), 14) and "$" in spending.first(asked(), 14)
    assert spending.first(asked(pictures=False), 1) == ""  # one question without pictures costs next to nothing
    assert spending.first(ModelSettings(), 14) == "" and spending.first(None, 14) == ""
    unknown = ModelSettings(service="openai", model="nobody-knows-it")
    for own in (
        "http://127.0.0.1:8000/v1",
        "http://localhost:8000/v1",
        "http://192.168.1.7/v1",
        "http://gpu-box:8000/v1",
    ):
        assert spending.first(replace(unknown, base_url=own), 14) == ""
    assert "price unknown" in spending.first(replace(unknown, base_url="https://models.example.com/v1"), 14)


def test_a_notice_is_text_whatever_a_model_said(monkeypatch: pytest.MonkeyPatch):
    shown: list[str] = []
    monkeypatch.setattr(notices.gr, "Warning", lambda text, **_: shown.append(text))
    notices.notify("<img src=x onerror=alert(1)> said the model")
    assert shown == ["&lt;img src=x onerror=alert(1)&gt; said the model"]
