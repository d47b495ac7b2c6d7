"""Model settings, budgets and keys: a ceiling is never exceeded, and a key goes to its server and nowhere else."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from hostile import HostileServer, answer, error_reply, unstreamed
from hypothesis import given
from hypothesis import strategies as st
from pydantic import create_model

from pipeline.models import ModelError, ModelSettings, Question, open_model
from pipeline.models.budget import Budget, estimate_step, format_usd, model_price, spent_usd
from pipeline.models.client.openai_client import OpenAIModel
from pipeline.models.client.redaction import Redactor, secrets_of
from pipeline.models.in_flight import InFlightCalls
from pipeline.models.settings import ENVIRONMENT_VARIABLES, SETTINGS_FILE, load_settings, parse_settings, save_settings
from pipeline.models.trace.recorder import TracingModel
from pipeline.planner import PlannerModel


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    for name in (*ENVIRONMENT_VARIABLES, "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_flags_override_environment_override_workspace_override_defaults(monkeypatch, tmp_path):
    save_settings(ModelSettings(service="openai", model="kept", base_url="http://kept/v1", timeout=7), tmp_path)
    monkeypatch.setenv("GRS_MODEL", "value")
    monkeypatch.setenv("GRS_BASE_URL", "http://value/v1")
    found = ModelSettings.from_environment(tmp_path, base_url="http://flag/v1")
    assert (found.model, found.base_url, found.timeout, found.retries) == ("value", "http://flag/v1", 7, 2)
    for value, expected in {
        "offline": ("offline", "", ""),
        "gpt-5": ("openai", "gpt-5", ""),
        "replay:/a/t.jsonl": ("replay", "", "/a/t.jsonl"),
    }.items():
        monkeypatch.setenv("GRS_MODEL", value)
        found = ModelSettings.from_environment()
        assert (found.service, found.model, found.trace) == expected


def test_saved_settings_contain_neither_key_nor_password_and_a_broken_file_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    save_settings(ModelSettings(service="openai", base_url="https://me:word@host/v1"), tmp_path)
    text = (tmp_path / SETTINGS_FILE).read_text()
    assert "sk-secret" not in text and "me:word" not in text
    assert load_settings(tmp_path).base_url == "https://host/v1"
    assert "sk-secret" not in repr(ModelSettings.from_environment(tmp_path))
    (tmp_path / SETTINGS_FILE).write_text("{")
    with pytest.raises(ModelError, match=r"model\.json in the workspace cannot be read"):
        load_settings(tmp_path)


def test_form_values_become_settings_and_an_invalid_one_is_reported_with_valid_values():
    form = {"temperature": " 0.2", "concurrency": "3", "ceiling_usd": "", "pictures": "false", "model": " m "}
    values = {"temperature": 0.2, "concurrency": 3, "ceiling_usd": None, "pictures": False, "model": "m"}
    assert vars(parse_settings(form)).items() >= values.items()
    for values, expected in (
        ({"timeout": "soon"}, "GRS_TIMEOUT is 'soon'; it takes seconds"),
        ({"ceiling_usd": "nan"}, "ceiling_usd is nan"),
        ({"reasoning_effort": "much"}, "it takes none, minimal, low"),
        ({"base_url": "localhost:8000"}, "must begin with http"),
        ({"service": "magic"}, "there are: offline, openai, replay"),
        ({"service": "a" * 3000}, r"^There is no model service 'a{59}; there"),
        ({"usd_per_million_in": "a" * 3000}, r"^usd_per_million_in is 'a{59}; it"),
        ({"model": 5}, "model is 5; it takes a text"),
        ({"colour": "red"}, "There is no model setting colour"),
    ):
        with pytest.raises(ModelError, match=expected):
            parse_settings(values)


PRICED = ModelSettings(service="openai", usd_per_million_in=2.5, usd_per_million_out=10.0)
UNKNOWN = ModelSettings(service="openai", model="mine", base_url="http://127.0.0.1:9/v1")


def test_an_estimate_is_one_sentence_and_a_price_that_is_not_known_stays_unknown():
    sentence = estimate_step(PRICED, "descriptions", 14).sentence
    assert sentence.startswith("14 objects, about 29 calls, roughly $0.1")
    assert estimate_step(PRICED, "matches", 5, undescribed=7).calls == 12
    assert estimate_step(ModelSettings(), "descriptions", 5).calls == 0
    assert estimate_step(ModelSettings(service="openai", pictures=False), "matches", 5).calls == 0
    assert model_price(UNKNOWN, "mine") is None and estimate_step(UNKNOWN, "rounds", 3).usd is None
    assert "price unknown" in estimate_step(UNKNOWN, "descriptions", 1).sentence
    assert model_price(UNKNOWN, "gpt-4o") is None, "another server has another price"
    assert [format_usd(usd) for usd in (0, 0.0001, 0.05, 12.3)] == ["$0.00", "less than $0.01", "$0.05", "$12.30"]


def test_calls_in_flight_count_against_the_ceiling():
    budget = Budget(1.0)
    first = budget.reserve(0.6)
    with pytest.raises(ModelError, match=r"may cost \$0\.60, and \$0\.60 of the ceiling of \$1\.00"):
        budget.reserve(0.6)
    budget.settle(first, 0.1)
    assert budget.reserve(0.6) == 0.6
    budget.settle(0.6, None)
    assert budget.spent_usd == pytest.approx(0.7), "a call of unknown cost counts with its maximum"


def test_all_models_of_a_project_share_one_budget(tmp_path):
    paid = SimpleNamespace(name="paid", ceiling_usd=1.0, cache_key=lambda question: "")
    (tmp_path / "trace.jsonl").write_text('{"event": "end", "span_id": "a", "counted_usd": 0.25}\n')
    first, second = (TracingModel(paid, tmp_path / "trace.jsonl") for _ in range(2))
    assert first.budget is second.budget and first.budget.spent_usd == 0.25
    lines = [
        {"event": "start", "span_id": "a", "may_cost_usd": 0.5},
        {"event": "end", "span_id": "a", "counted_usd": 0.1},
        {"event": "start", "span_id": "b", "may_cost_usd": 0.3},
    ]
    assert spent_usd(lines) == pytest.approx(0.4), "a call without an end counts with its maximum"


KEY = "sk-Very/secret+0123&456789"
ROOT = Path(__file__).resolve().parents[2]
ECHOES = {
    "plain": KEY,
    "in base64 after a name": base64.b64encode(f"user:{KEY}".encode()).decode(),
}


BEHAVIOURS: dict[str, Any] = {
    "answered": lambda text: answer(json.dumps({"colour": f"red {text}"})),
    "streamed in pieces": lambda text: answer(json.dumps({"colour": f"red {text}"}), chunks=40),
    "not streamed": lambda text: unstreamed(json.dumps({"colour": f"red {text}"})),
    "no answer": lambda text: answer(f"I cannot: {text}"),
    "401": lambda text: error_reply(401, f"Incorrect API key provided: {text}"),
    "where messages are cut": lambda text: error_reply(400, "x" * 190 + text),
    "redirected": lambda text: error_reply(307, "moved", Location=f"http://other.example/?key={text}"),
}


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
@pytest.mark.parametrize("echo", ECHOES)
def test_a_server_that_repeats_the_key_does_not_spread_it(echo: str, behaviour: str, tmp_path: Path):
    texts: list[str] = []
    calls = InFlightCalls(on_change=lambda call: texts.append(call.text))
    with HostileServer(BEHAVIOURS[behaviour](ECHOES[echo])) as server:
        settings = ModelSettings(service="openai", model="m", base_url=server.url, retries=0, timeout=20)
        model = TracingModel(OpenAIModel(settings, KEY), tmp_path / "trace.jsonl", calls)
        try:
            asked = create_model("Colour", colour=(str, ...))
            texts.append(str(model.ask(Question("name_colour", {}, asked, prompt_text="What colour?"))))
        except ModelError as error:
            texts += [str(error), error.raw, repr(error.__cause__), repr(error.__context__ and "suppressed")]
    texts += [file.read_text(errors="replace") for file in tmp_path.rglob("*") if file.is_file()]
    spellings = [*ECHOES.values(), KEY[5:], base64.b64encode(KEY.encode()).decode()[4:20]]
    assert [one for one in spellings if any(one.lower() in text.lower() for text in texts)] == []


def test_while_the_key_arrives_letter_by_letter_no_part_of_it_is_shown_and_ordinary_text_is_left_alone():
    redact = Redactor([KEY])
    for end in range(4, len(KEY) + 1):
        assert KEY[:4] not in redact.unfinished(f"red {KEY[:end]}")
    assert redact.unfinished("a disk") == "a disk"
    text = "none of the none, a plain sentence."
    assert Redactor(secrets_of("none", "http://127.0.0.1:9/v1"))(text) == text
    encoded = base64.b64encode(b"ada:p4ssw0rd-of-ada").decode()
    assert encoded not in Redactor(secrets_of(KEY, "http://ada:p4ssw0rd-of-ada@127.0.0.1:1/v1"))(f"Basic {encoded}")


@given(st.text(max_size=20), st.text(max_size=20), st.sampled_from([KEY, "k3y-ünicode-ß", "0" * 12]))
def test_no_encoding_of_a_secret_survives_between_any_texts(before: str, after: str, secret: str):
    redact, data = Redactor([secret]), secret.encode()
    html = secret.replace("&", "&amp;")
    for text in (secret, quote(secret, safe=""), data.hex().upper(), json.dumps(secret), html):
        assert text not in redact(f"{before}{text}{after}")
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        packed, alone = encode(before.encode() + data + after.encode()).decode(), encode(data).decode()[2:-4]
        assert len(alone) < 8 or alone not in redact(packed)


@pytest.mark.parametrize("key", ["sk-one\nX-Other: 1", "sk one two", "sk-\u2026ellipsis", "sk-\x00zero"])
def test_a_key_that_is_none_is_refused_without_repeating_it(key: str, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ModelError, match="contains a character that no key has") as failure:
        OpenAIModel(ModelSettings(service="openai"), key)
    assert key not in str(failure.value)
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    assert open_model("openai", PlannerModel)._client.api_key == KEY, "one copied with a line break"  # type: ignore[attr-defined]


CHILDREN = """
import os, subprocess, sys
import imageio_ffmpeg
from studio.__main__ import main
sys.argv = ["grs-studio", "library", "search", "mug"]
assert main() == 0
from pipeline.models import open_model
from pipeline.models.settings import ModelSettings
from pipeline.planner import PlannerModel
model = open_model(ModelSettings.from_environment(), PlannerModel)
print("used", model._client.api_key, model.settings.base_url)
command = [sys.executable, "-c", "import os; print(dict(os.environ))"]
print("child", subprocess.run(command, capture_output=True, text=True).stdout)
"""


def test_no_child_process_inherits_the_key_or_a_password():
    """Whichever way it is started: ffmpeg by imageio, pip, importers, the sandbox, plug-ins."""
    address = "http://ada:p4ssw0rd@127.0.0.1:9/v1"
    environment = os.environ | {"OPENAI_API_KEY": KEY, "GRS_BASE_URL": address, "GRS_MODEL": "m"}
    out = subprocess.check_output([sys.executable, "-c", CHILDREN], cwd=ROOT, env=environment, text=True)
    used, child = out[out.index("used ") :].split("child ", 1)
    assert used.split() == ["used", KEY, address]
    assert "PATH" in child and KEY not in child and "p4ssw0rd" not in child
