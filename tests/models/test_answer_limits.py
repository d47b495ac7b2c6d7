"""A server's answer is bounded in bytes, nesting and time, leads to no other server, and is read if it is clear."""

import contextlib
import gzip
import json
import subprocess
import sys
from typing import Any

import pytest
from hostile import SSE, HostileServer, answer, completion, error_reply
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from pipeline.models import ModelError, ModelSettings, Question
from pipeline.models.client.json_recovery import MAX_REPLY_CHARS, UnreadableJson, recover_json, replace_surrogates
from pipeline.models.client.openai_client import OpenAIModel

KEY = "sk-very-secret-0123456789"


class Colour(BaseModel):
    colour: str
    sure: float = 0.5


def ask(server: HostileServer, **settings: Any) -> BaseModel:
    settings = {"timeout": 20.0, "retries": 0, **settings}
    chosen = ModelSettings(service="openai", model="m", base_url=server.url, **settings)
    return OpenAIModel(chosen, KEY).ask(Question("name_colour", {}, Colour, prompt_text="What colour?"))


def raw(body: bytes, **headers: str):
    """A reply of these bytes with these headers, and no length: its end is the end of the connection."""

    def behave(handler: Any) -> None:
        handler.send_response(200)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)
        handler.close_connection = True

    return behave


def endless_line(handler: Any) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", SSE)
    handler.end_headers()
    handler.wfile.write(b"data: ")
    while not handler.hostile.cut_off.is_set():
        handler.wfile.write(b"[" * 65536)


def endless_headers(handler: Any) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while not handler.hostile.cut_off.is_set():
        handler.wfile.write(b"X-More: and more\r\n" * 1000)


DEEP = b'{"choices": ' + b"[" * 500_000
WIDE = json.dumps(completion("{}", {}))[:-1].encode() + b', "more": [' + b"[]," * 5_000_000
BOMB = gzip.compress(b" " * 200_000_000, 9)
ENDLESS = {
    "a line without end": (endless_line, "more than 2 MB in one line"),
    "headers without end": (endless_headers, "cannot be reached"),
    "brackets half a million deep": (raw(DEEP), "does not speak the OpenAI API"),
    "fifteen megabytes of empty lists": (raw(WIDE), "more than 2 MB in one line"),
    "two hundred megabytes in a small gzip": (raw(BOMB, Content_Encoding="gzip"), "compressed reply"),
    "a compressed error": (raw(BOMB, Content_Encoding="br"), "compressed reply"),
}


@pytest.mark.parametrize("case", ENDLESS)
def test_an_answer_without_end_is_cut_off_and_said_in_one_line(case: str):
    behave, message = ENDLESS[case]
    with HostileServer(behave) as server, pytest.raises(ModelError, match=message) as failure:
        ask(server)
    assert "\n" not in str(failure.value) and len(failure.value.raw) < 300_000


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_with_pictures_or_key(status: int):
    with HostileServer(answer("{}")) as other:
        redirect = error_reply(status, "moved", Location=other.url + "/chat/completions")
        with (
            HostileServer(redirect) as server,
            pytest.raises(ModelError, match=r"redirects to 127\.0\.0\.1, which is not"),
        ):
            ask(server)
        assert other.requests == []


def test_the_server_gets_no_header_of_the_machine_and_the_clients_address_variable_is_not_read(monkeypatch):
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: token-of-another-server")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-mine")
    with HostileServer(answer('{"colour": "red"}')) as server:
        ask(server)
    [headers] = server.headers
    assert not [name for name in headers if name.startswith(("x-", "openai-"))]
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert "api.openai.com" in str(OpenAIModel(ModelSettings(service="openai"), KEY)._client.base_url)


@pytest.mark.parametrize(
    "address", ["http://[::1", "http://host:99999999/v1", "http://", "https://h/v1?api-key=sk-1", "https://h/v1#sk-1"]
)
def test_an_address_that_is_not_one_is_refused_in_one_line(address: str):
    with pytest.raises(ModelError, match="must begin with http"):
        ModelSettings(service="openai", base_url=address)


LONG = MAX_REPLY_CHARS - 20
FRAGMENTS = ("/*", "{ /*", '{"', '"a\\', ", ", "{ ", "```", "<think>", "[{", "//\n", '{"a":1}', "9", "/**/", "\\", "'")
READ_THEM = """
import sys
from pipeline.models.client.json_recovery import recover_json
for fragment in %r:
    for start in ('', '{"a": 1 ', '{"a": "', '{"a": [1'):
        for end in ('', '}', '"}', ']}'):
            try:
                recover_json(start + fragment * (%d // len(fragment)) + end, ("a",))
            except ValueError:
                pass
"""


def test_the_longest_nonsense_is_read_in_the_time_of_one_call():
    """In a process of its own: a regular expression that runs away cannot be stopped by a thread."""
    script = READ_THEM % (FRAGMENTS, LONG // 4)
    assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == 0


@pytest.mark.parametrize("number", ["1e999", "-1e999", "9" * 5000])
def test_a_number_that_no_float_holds_is_refused(number: str):
    with pytest.raises(UnreadableJson):
        recover_json(f'{{"colour": {number}}}')


VALUE = {"name": "red // mug", "tags": ["a", "b"], "size": 0.5}
PLAIN = json.dumps(VALUE)
CLEAR = {
    "plain": PLAIN,
    "fenced": f"```json\n{PLAIN}\n```",
    "prefixed": f"Sure! Here it is: {PLAIN}",
    "with words after": f"{PLAIN}\nI hope that helps {{really}}.",
    "braces in the words before": f"As {{asked}} for {{}}, hm: {PLAIN}".replace("{}, ", ""),
    "commented": '{"name": "red // mug", // the name\n "tags": ["a", "b"], /* two */ "size": 0.5}',
    "trailing commas": '{"name": "red // mug", "tags": ["a", "b",], "size": 0.5,}',
    "last bracket cut off after a text": '{"size": 0.5, "tags": ["a", "b"], "name": "red // mug"',
    "fence and last bracket cut off": '```json\n{"size": 0.5, "name": "red // mug", "tags": ["a", "b"]\n```',
    "said twice alike": f"{PLAIN}\n\nAgain:\n{PLAIN}",
    "thought about": f'<think>maybe {{"name": 1}}</think>{PLAIN}',
}
AMBIGUOUS = {
    "nothing": "",
    "words": "I cannot do that.",
    "two different objects": '{"name": "a"} or {"name": "b"}',
    "a key twice": '{"name": "a", "name": "b", "tags": [], "size": 1}',
    "cut in a text": '{"size": 0.5, "tags": [], "name": "red mu',
    "cut after a number": '{"name": "a", "tags": [], "size": 0.5',
    "cut in a list": '{"name": "a", "size": 0.5, "tags": ["a", "b"',
    "cut before a field": '{"name": "a", "tags": ["a"]',
    "cut after a colon": '{"name": "a", "tags": ["a"], "size":',
    "not a number": '{"name": "a", "tags": [], "size": NaN}',
    "a value missing": '{"name": , "tags": [], "size": 1}',
    "an inner object that can be read": '{"name": oops, "inner": {"name": "a", "tags": [], "size": 1}}',
    "brackets that do not match": '{"name": "a", "tags": ["a"}, "size": 1}',
    "very deep": '{"a":' * 5000,
    "a list": '["a", "b"]',
    "one quote for strings": "{'name': 'a', 'tags': [], 'size': 1}",
}


@pytest.mark.parametrize("case", CLEAR)
def test_clear_objects_are_recovered(case):
    assert recover_json(CLEAR[case], tuple(VALUE)) == VALUE


@pytest.mark.parametrize("case", AMBIGUOUS)
def test_ambiguous_replies_are_rejected(case):
    with pytest.raises(UnreadableJson):
        recover_json(AMBIGUOUS[case], tuple(VALUE))


def test_a_reply_of_megabytes_is_rejected():
    with pytest.raises(UnreadableJson, match="longer than"):
        recover_json(PLAIN + " " * 2_000_000, tuple(VALUE))


texts = st.text(st.characters(blacklist_categories=("Cs",)), max_size=20)
values = st.dictionaries(texts, st.recursive(texts | st.integers() | st.booleans() | st.none(), st.lists, max_leaves=8))


@settings(max_examples=40, deadline=None)
@given(values, st.sampled_from(["", "Here: ", "```json\n"]), st.sampled_from(["", "\n```", " done"]))
def test_any_object_within_text_is_recovered_unchanged(value, before, after):
    assert recover_json(before + json.dumps(value) + after) == value


@settings(max_examples=60, deadline=None)
@given(values, st.integers(1, 30))
def test_a_truncated_object_is_recovered_completely_or_not_at_all(value, cut):
    with contextlib.suppress(UnreadableJson):
        assert recover_json(json.dumps(value)[:-cut], tuple(value) or ("some",)) == value


@given(st.text("a\u00e9\U0001f600\ud83d\ude00\ufeff", max_size=8), st.booleans())
def test_recovered_texts_can_be_encoded(text, escaped):
    (back,) = recover_json(json.dumps({"a": text}, ensure_ascii=escaped)).values()
    assert back == replace_surrogates(text) and back.encode().decode() == back
    assert back == text or "\ufffd" in back or "\ud83d\ude00" in text
