"""Selection of the language model: settings in the workspace, keys nowhere, prompts that override ours."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from offline_studio import offline_services

from pipeline.models import ModelError
from pipeline.models.prompt_templates import FOLDER, load_prompt
from pipeline.models.settings import ModelSettings
from studio.models import cost_estimates, prompt_overrides
from studio.models.model_choice import ModelSelection
from studio.models.model_requests import panel_endpoint, panel_record
from studio.server import notices
from studio.server.errors import RequestError
from studio.sessions.session_registry import SessionRegistry

KEY = "sk-known-to-nobody"
MINE, THEIRS = "http://127.0.0.1:9/v1", "http://127.0.0.2:9/v1"


@pytest.fixture
def choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelSelection:
    for name in ("GRS_MODEL", "GRS_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    services = offline_services()
    return ModelSelection(SessionRegistry(tmp_path, services), tmp_path)


def sent(choice: ModelSelection) -> str:
    """The key that the model in use sends to its server."""
    return choice._sessions.services.model._client.api_key  # type: ignore[attr-defined]


def test_a_typed_key_is_used_but_never_stored_or_shown(choice: ModelSelection, tmp_path: Path):
    choice.use({"service": "openai", "base_url": MINE, "model": "m"}, KEY)
    assert sent(choice) == KEY and choice.key_source() == "typed"
    assert KEY not in json.dumps(panel_record(None, choice))
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and KEY in file.read_text()]
    assert KEY not in repr(choice.settings)
    choice.forget_key()
    assert sent(choice) != KEY and choice.key_source() == ""


def test_a_key_goes_to_the_server_it_was_given_for_and_to_no_other(choice, monkeypatch):
    choice.use({"service": "openai", "base_url": MINE}, KEY)
    choice.use({"service": "openai", "base_url": THEIRS})
    assert sent(choice) != KEY
    choice.use({"service": "openai", "base_url": MINE})
    assert sent(choice) == KEY
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-house")
    choice.use({"service": "openai", "base_url": THEIRS})
    assert sent(choice) == "none" and choice.key_source() == ""


def test_invalid_settings_change_nothing_and_give_the_reason(choice: ModelSelection):
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
        with pytest.raises(ModelError) as record:
            choice.use(words)
        assert "\n" not in str(record.value)
        assert choice.settings == before
    with pytest.raises(RequestError):
        choice.use("everything")


def test_the_choice_survives_a_restart_and_a_missing_key_is_reported(choice: ModelSelection, tmp_path: Path):
    choice.use({"service": "openai", "model": "gpt-x", "ceiling_usd": "0.5"}, KEY)
    reopened = ModelSelection(choice._sessions, tmp_path)
    assert reopened.settings == choice.settings and reopened.settings.ceiling_usd == 0.5
    assert "OPENAI_API_KEY" in reopened.problem
    reopened.use({"service": "offline"})
    assert reopened.problem == "" and ModelSelection(choice._sessions, tmp_path).problem == ""


def test_a_request_without_the_pages_token_is_refused(choice: ModelSelection):
    ask = panel_endpoint(choice._sessions, choice)
    request = {"kind": "use", "settings": {"service": "openai", "base_url": THEIRS}}
    for page_token in (None, "", "guessed"):
        assert "reload" in ask(request | {"page_token": page_token})["error"]
    assert choice.settings.service == "offline"
    assert "error" not in ask(request | {"page_token": choice.page_token.value})
    assert "error" in ask({"page_token": choice.page_token.value, "kind": "everything"})
    assert "error" in ask({"page_token": choice.page_token.value, "kind": "findings", "test": "none"})


@pytest.mark.parametrize("kind", sorted(path.stem for path in FOLDER.glob("*.md")))
def test_a_users_prompt_replaces_ours_until_it_is_removed(kind: str, tmp_path: Path):
    ours = load_prompt(kind)
    assert not prompt_overrides.prompt_record(tmp_path, kind)["changed"]
    record = prompt_overrides.save_prompt(tmp_path, kind, ours.text + "\nBe brief.")
    assert record["changed"] and record["rows"] and load_prompt(kind, tmp_path).text.endswith("Be brief.")
    assert [one["kind"] for one in record["known"] if one["changed"]] == [kind]
    assert prompt_overrides.reset_prompt(tmp_path, kind)["text"] == ours.text
    assert not prompt_overrides.save_prompt(tmp_path, kind, ours.text)["changed"]


def test_a_prompt_that_cannot_work_is_refused(tmp_path: Path):
    kind = prompt_overrides.list_prompts(tmp_path)[0]["kind"]
    for text in ("", "   ", "{{what_nobody_knows}}", None, "x" * 200_000):
        with pytest.raises(ModelError):
            prompt_overrides.save_prompt(tmp_path, kind, text)
    assert not list(tmp_path.iterdir())


@settings(max_examples=30)
@given(st.text(max_size=12) | st.sampled_from(["../route", "/etc/passwd", "route.md"]))
def test_only_existing_prompts_can_be_overridden(name: str):
    folder = Path("/nowhere")
    if (FOLDER / f"{name}.md").is_file() and "/" not in name:
        return
    with pytest.raises(ModelError):
        prompt_overrides.save_prompt(folder, name, "text")


def paid_settings(**more) -> ModelSettings:
    return ModelSettings(service="openai", usd_per_million_in=2.5, usd_per_million_out=10, **more)


def test_the_cost_of_the_automatic_questions_is_estimated_in_a_sentence():
    assert "14 objects" in (text := cost_estimates.automatic_estimate(paid_settings(), 14)) and "$" in text
    unknown = ModelSettings(service="openai", model="nobody-knows-it")
    assert "price unknown" in cost_estimates.automatic_estimate(unknown, 14)


def test_the_password_in_an_address_is_not_sent_to_the_page_and_survives_a_change(choice: ModelSelection):
    address = "http://ada:p4ssw0rd@127.0.0.1:9/v1"
    choice.use({"service": "openai", "base_url": address, "model": "m"})
    record = panel_record(None, choice)
    assert "p4ssw0rd" not in json.dumps(record) and record["settings"]["base_url"] == MINE
    choice.use(record["settings"] | {"model": "other"})
    assert (choice.settings.base_url, choice.settings.model) == (address, "other")


def test_a_team_may_forbid_other_machines(choice: ModelSelection, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GRS_SEND", "never")
    choice.use({"service": "openai", "base_url": MINE})
    with pytest.raises(ModelError, match=r"GRS_SEND=never: nothing may be sent to https://models\.example\.com"):
        choice.use({"service": "openai", "base_url": "https://models.example.com/v1"})
    assert choice.settings.base_url == MINE
    monkeypatch.setenv("GRS_SEND", "perhaps")
    with pytest.raises(ModelError, match="it takes ask, allow, never"):
        choice.use({"service": "openai", "base_url": "https://models.example.com/v1"})


def test_a_notice_is_plain_text_whatever_a_model_answers(monkeypatch: pytest.MonkeyPatch):
    shown: list[str] = []
    monkeypatch.setattr(notices.gr, "Warning", lambda text, **_: shown.append(text))
    notices.show_notice("<img src=x onerror=alert(1)> said the model")
    assert shown == ["&lt;img src=x onerror=alert(1)&gt; said the model"]
