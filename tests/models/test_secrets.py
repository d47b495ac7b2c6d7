"""A key goes to its server and nowhere else: not into texts, records, child processes or other addresses."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hostile import HostileServer, answer, error_reply, unstreamed
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from pipeline.models import ModelError, ModelSettings, Question, open_model
from pipeline.models.client.openai_client import OpenAIModel
from pipeline.models.client.redaction import Redactor, secrets_of
from pipeline.models.in_flight import InFlightCalls
from pipeline.models.trace.recorder import TracingModel
from pipeline.planner import PlannerModel

KEY = "sk-Very/secret+0123&456789"
ROOT = Path(__file__).resolve().parents[2]
ECHOES = {
    "plain": KEY,
    "as a header": f"Authorization: Bearer {KEY}",
    "in an address": quote(KEY, safe=""),
    "in a path": quote(KEY),
    "in base64": base64.b64encode(KEY.encode()).decode(),
    "in base64 after a name": base64.b64encode(f"user:{KEY}".encode()).decode(),
    "in base64 after Bearer": base64.urlsafe_b64encode(f"Bearer {KEY}!".encode()).decode(),
    "in hexadecimal": KEY.encode().hex().upper(),
    "in HTML": KEY.replace("&", "&amp;"),
}


class Colour(BaseModel):
    colour: str


def question(**more: Any) -> Question:
    return Question("name_colour", {}, Colour, prompt_text="What colour?", **more)


def spellings() -> list[str]:
    """Every echo, and the part of it that only the key decides."""
    return [*ECHOES.values(), KEY[5:], base64.b64encode(KEY.encode()).decode()[4:20]]


def told(folder: Path, texts: list[str]) -> list[str]:
    """The spellings of the key that occur in these texts or in a file of the folder."""
    kept = [file.read_text(errors="replace") for file in folder.rglob("*") if file.is_file()]
    return [one for one in spellings() if any(one.lower() in text.lower() for text in [*texts, *kept])]


BEHAVIOURS: dict[str, Any] = {
    "answered": lambda text: answer(json.dumps({"colour": f"red {text}"})),
    "streamed in pieces": lambda text: answer(json.dumps({"colour": f"red {text}"}), chunks=40),
    "not streamed": lambda text: unstreamed(json.dumps({"colour": f"red {text}"})),
    "no answer": lambda text: answer(f"I cannot: {text}"),
    "401": lambda text: error_reply(401, f"Incorrect API key provided: {text}"),
    "where messages are cut": lambda text: error_reply(400, "x" * 190 + text),
    "500": lambda text: error_reply(500, f"panic: {text}"),
    "redirected": lambda text: error_reply(307, "moved", Location=f"http://other.example/?key={text}"),
}


@pytest.mark.parametrize(
    ("behaviour", "echo"),
    [("streamed in pieces", echo) for echo in ECHOES]
    + [(name, echo) for name in BEHAVIOURS for echo in ("plain", "in base64 after a name")],
)
def test_a_server_that_repeats_the_key_does_not_spread_it(echo: str, behaviour: str, tmp_path: Path):
    texts: list[str] = []
    calls = InFlightCalls(on_change=lambda call: texts.append(call.text))
    with HostileServer(BEHAVIOURS[behaviour](ECHOES[echo])) as server:
        settings = ModelSettings(service="openai", model="m", base_url=server.url, retries=0, timeout=20)
        model = TracingModel(OpenAIModel(settings, KEY), tmp_path / "trace.jsonl", calls)
        try:
            texts.append(str(model.ask(question())))
        except ModelError as error:
            texts += [str(error), error.raw, repr(error.__cause__), repr(error.__context__ and "suppressed")]
    assert told(tmp_path, texts) == []


def test_while_the_key_arrives_letter_by_letter_no_part_of_it_is_shown_and_ordinary_text_is_left_alone():
    redact = Redactor([KEY])
    for end in range(4, len(KEY) + 1):
        assert KEY[:4] not in redact.unfinished(f"red {KEY[:end]}")
    assert redact.unfinished("a disk") == "a disk"
    text = "none of the none, a plain sentence."
    assert Redactor(secrets_of("none", "http://127.0.0.1:9/v1"))(text) == text


@given(st.text(max_size=20), st.text(max_size=20), st.sampled_from([KEY, "k3y-ünicode-ß", "0" * 12]))
def test_no_encoding_of_a_secret_survives_between_any_texts(before: str, after: str, secret: str):
    redact, data = Redactor([secret]), secret.encode()
    for text in (secret, quote(secret), data.hex(), json.dumps(secret)):
        assert text not in redact(f"{before}{text}{after}")
    packed = base64.b64encode(before.encode() + data + after.encode()).decode()
    alone = base64.b64encode(data).decode()[2:-4]
    assert len(alone) < 8 or alone not in redact(packed)


def test_a_password_in_the_address_is_in_no_message(tmp_path: Path):
    address = "http://ada:p4ssw0rd-of-ada@127.0.0.1:1/v1"
    settings = ModelSettings(service="openai", model="m", base_url=address, retries=0, timeout=5)
    with pytest.raises(ModelError) as failure:
        TracingModel(OpenAIModel(settings, KEY), tmp_path / "trace.jsonl").ask(question())
    assert "p4ssw0rd" not in str(failure.value) + (tmp_path / "trace.jsonl").read_text()
    encoded = base64.b64encode(b"ada:p4ssw0rd-of-ada").decode()
    assert encoded not in Redactor(secrets_of(KEY, address))(f"Basic {encoded}")


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
