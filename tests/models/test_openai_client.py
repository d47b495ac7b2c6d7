"""The client and its test of a connection, against a small local server that imitates the OpenAI API."""

import gzip
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import hostile
import numpy as np
import pytest
from hostile import USAGE, HostileServer, answer, called, error_reply, message, refuses_form, sends, unstreamed
from openai import _base_client
from pydantic import BaseModel

from pipeline.models import CallCancelled, ModelError, ModelSettings, Question, StageCancelled
from pipeline.models.client import openai_client
from pipeline.models.client.openai_client import OpenAIModel
from pipeline.models.client.probe import CHECKS, probe
from pipeline.models.client.request import RequestFormat
from pipeline.models.in_flight import InFlightCalls
from pipeline.models.trace.recorder import TracingModel, read_trace

KEY = "sk-very-secret"
GOOD = '{"colour": "red", "sure": 0.9}'


class Colour(BaseModel):
    colour: str
    sure: float = 0.5


@pytest.fixture
def server():
    with HostileServer(answer(GOOD)) as server:
        yield server


@pytest.fixture
def model(server, tmp_path):
    (tmp_path / "name_colour.md").write_text("What colour is {{thing}}?")

    def make(**more) -> OpenAIModel:
        url = server.url.replace("http://", "http://user:pass@")
        settings = {"model": "m", "base_url": url, "timeout": 5.0, "retries": 0, **more}
        return OpenAIModel(ModelSettings(service="openai", **settings), KEY, tmp_path)

    return make


def question(**more) -> Question:
    return Question("name_colour", {"thing": "the cube"}, Colour, **more)


@pytest.mark.parametrize("words", [GOOD, f"```json\n{GOOD}\n```", f"Sure! {GOOD} Anything else?"])
@pytest.mark.parametrize("behaviour", [answer, unstreamed])
def test_a_valid_answer_is_returned_as_its_type_streamed_or_not(server, model, words, behaviour):
    server.behave(behaviour(words))
    assert model().ask(question()) == Colour(colour="red", sure=0.9)
    [request] = server.requests
    assert "What colour is the cube?" in request["messages"][0]["content"]
    schema = request["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["colour", "sure"] and "default" not in schema["properties"]["sure"]


DRAFT = '{"colour": "blue", "sure": 0.1}'
PARTS = [{"type": "thinking", "thinking": [{"type": "text", "text": DRAFT}]}, {"type": "text", "text": GOOD}]
MESSAGES = {
    "answer among the thoughts of vLLM": message({"content": None, "reasoning_content": GOOD}),
    "answer among the thoughts of Ollama": message({"content": "", "reasoning": GOOD}),
    "thoughts beside the answer": message({"content": GOOD, "reasoning_content": DRAFT}),
    "parts": message({"content": PARTS}),
    "an object": message({"content": json.loads(GOOD)}),
    "arguments as an object": called(json.loads(GOOD)),
    "arguments of a call of the older kind": message({"function_call": {"name": "f", "arguments": GOOD}}),
    "a stream under another type": sends(f'data: {{"choices": [{{"delta": {{"content": {json.dumps(GOOD)}}}}}]}}\n\n'),
    "no streaming": hostile.unable_to_stream(400),
}


@pytest.mark.parametrize("dropped", [(), ("stream",)], ids=["streamed", "whole"])
@pytest.mark.parametrize("case", MESSAGES)
def test_an_answer_is_found_wherever_a_server_puts_it(server, model, case, dropped):
    server.behave(MESSAGES[case])
    one = model()
    one._formats["m"] = RequestFormat("schema", "max_tokens", frozenset(dropped))
    assert one.ask(question()) == Colour(colour="red", sure=0.9)


def test_pictures_are_sent_resized_settings_and_prompts_unchanged_and_code_to_its_own_model(server, model, tmp_path):
    (tmp_path / "route.md").write_text("Which?")
    one = model(code_model="coder", temperature=0.2, reasoning_effort="low", picture_side=64)
    one.ask(question(pictures=(np.zeros((40, 160, 3), np.uint8),)))
    one.ask(Question("route", {}, Colour))
    one.ask(question(prompt_text="Say {{this}}."))
    first, code, edited = server.requests
    picture = first["messages"][0]["content"][1]["image_url"]["url"]
    assert picture.startswith("data:image/jpeg;base64,/9j/") and len(picture) < 3000
    assert (first["model"], code["model"]) == ("m", "coder")
    assert (first["temperature"], first["reasoning_effort"]) == (0.2, "low")
    assert edited["messages"][0]["content"].startswith("Say {{this}}.")


@pytest.mark.parametrize("bad", ["red", '{"colour": 7}', '{"colour": "red", "sure": "very"}', '{"colour": '])
def test_an_invalid_answer_is_asked_for_again_with_the_reason_and_kept_after_three_times(server, model, bad):
    server.behave(answer(bad), answer(GOOD))
    assert model().ask(question()).colour == "red"
    assert server.requests[1]["messages"][-2]["content"] == bad
    assert "cannot be used" in server.requests[1]["messages"][-1]["content"]
    server.behave(answer(bad))
    with pytest.raises(ModelError, match="answered 3 times with an answer that cannot be used") as failure:
        model().ask(question())
    assert len(server.requests) == 2 + 3 and failure.value.raw == bad


@pytest.mark.parametrize("refused", [1, 2, 3])
def test_a_server_without_schemas_gets_a_tool_then_json_then_words_once(server, model, refused):
    forms = ("json_schema", "tools", "json_object", "")
    server.behave(refuses_form(*forms[:refused]))
    one = model()
    assert one.ask(question()).colour == "red"
    last = server.requests[-1]
    form = (last.get("response_format") or {}).get("type") or ("tools" if last.get("tools") else "")
    assert form == forms[refused]
    before = len(server.requests)
    one.ask(question())
    assert len(server.requests) == before + 1


@pytest.mark.parametrize("name", ["temperature", "reasoning_effort", "stream_options", "max_tokens"])
def test_a_rejected_parameter_is_left_out(server, model, name):
    server.behave(error_reply(400, f"Unsupported parameter: '{name}'"), answer(GOOD))
    assert model(temperature=0.1, reasoning_effort="low").ask(question()).colour == "red"
    assert name in server.requests[0] and name not in server.requests[1]


def test_an_answer_may_come_after_an_interruption_or_a_servers_delay(server, model, monkeypatch):
    server.behave(hostile.resets, answer(GOOD))
    assert model(retries=1).ask(question()).colour == "red"
    server.behave(error_reply(429, "slow down", **{"Retry-After": "7"}), answer(GOOD))
    waits = []
    monkeypatch.setattr(_base_client, "anyio", SimpleNamespace(sleep=AsyncMock(side_effect=waits.append)))
    assert model(retries=1).ask(question()).colour == "red"
    assert waits == [7]


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


def endless_headers(handler: Any) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while not handler.hostile.cut_off.is_set():
        handler.wfile.write(b"X-More: and more\r\n" * 1000)


SECONDS = {"stalls": 0.5, "stalls mid-stream": 2, "slow drip": 2, "a slow drip of headers": 2}
HOSTILE = {
    "401": (error_reply(401, "Incorrect key"), r"refused the key \(401\): Incorrect key; check OPENAI_API_KEY"),
    "404": (sends({"error": "no m, try pulling it"}, status=404), r"no model m \(404\): no m, try pulling it; check"),
    "a gateway's page": (sends("<h1>502 Bad Gateway</h1>", "text/html", 502), r"internal error \(502\): 502 Bad Gat"),
    "an error with status 200": (sends({"error": {"message": "model is loading"}}), "answered: model is loading"),
    "vLLM's older error": (sends({"object": "error", "message": "no such model"}), "answered: no such model"),
    "an error in the stream": (sends('data: {"error": "out of memory"}\n\n', hostile.SSE), "answered: out of memory"),
    "thoughts up to the limit": (message({"content": "<think>Perhaps"}, "length"), "do not end.*GRS_LONGEST_ANSWER"),
    "a content filter": (message({"content": ""}, "content_filter"), "content filter stopped it"),
    "429 with Retry-After": (error_reply(429, "Slow down", **{"Retry-After": "3600"}), "asks to wait 3600 s"),
    "resets mid-stream": (hostile.resets, "closed the connection in the middle of its answer"),
    "stalls": (hostile.stalls, "did not answer within 0.5 s; raise GRS_TIMEOUT"),
    "stalls mid-stream": (hostile.stalls_midway, "did not finish its answer within 2 s"),
    "slow drip": (hostile.drips, "did not finish its answer within 2 s"),
    "a slow drip of headers": (hostile.drips_headers, "did not answer within 2 s"),
    "HTML instead of JSON": (hostile.html, "does not speak the OpenAI API; check GRS_BASE_URL"),
    "a 20 MB reply": (hostile.huge, "sent a reply of more than 12 MB, which cannot be an answer"),
    "a 20 MB body": (sends(hostile.completion("x" * 20_000_000, USAGE)), "more than 2 MB in one line, which cannot be"),
    "a script tag and terminal codes": (answer(hostile.NASTY), "there is no JSON object in it"),
    "headers without end": (endless_headers, "cannot be reached"),
    "brackets half a million deep": (raw(b'{"choices": ' + b"[" * 500_000), "does not speak the OpenAI API"),
    "200 MB in a small gzip": (raw(gzip.compress(b" " * 200_000_000), Content_Encoding="gzip"), "compressed reply"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_reply_is_one_line_and_the_raw_reply_is_kept(server, model, tmp_path, case):
    behaviour, expected = HOSTILE[case]
    server.behave(behaviour)
    with pytest.raises(ModelError, match=expected) as failure:
        TracingModel(model(timeout=SECONDS.get(case, 20)), tmp_path / "trace.jsonl").ask(question())
    message = str(failure.value)
    assert "\n" not in message and "\x1b" not in message and len(message) < 500
    start, end = read_trace(tmp_path / "trace.jsonl")
    assert "the cube" in start["llm.input_messages.0.message.contents.0.message_content.text"]
    assert json.loads(start["llm.invocation_parameters"])["model"] == "m"
    assert end["status_code"] == "ERROR" and message in end["status_message"]
    assert len(end["output.value"]) < 300_000
    for text in (message, (tmp_path / "trace.jsonl").read_text()):
        assert KEY not in text and "user:pass" not in text
    assert "mid-stream" not in case or end["output.value"] == '{"colour": "re'


def test_tokens_and_cost_of_all_attempts_are_recorded_and_impossible_counts_are_not(server, model, tmp_path):
    server.behave(answer("red"), answer(GOOD))
    TracingModel(model(usd_per_million_in=100, usd_per_million_out=1000), tmp_path / "trace.jsonl").ask(question())
    _, end = read_trace(tmp_path / "trace.jsonl")
    assert (end["llm.token_count.prompt"], end["llm.token_count.completion"]) == (60, 8)
    assert end["llm.cost.total"] == pytest.approx(60 * 100e-6 + 8 * 1000e-6)
    assert end["attempts"][0]["output"] == "red" and "no JSON object" in end["attempts"][0]["problem"]
    server.behave(answer(GOOD, {"prompt_tokens": -5, "completion_tokens": 10**12, "total_tokens": "many"}))
    TracingModel(model(usd_per_million_in=1, usd_per_million_out=1), tmp_path / "wrong.jsonl").ask(question())
    _, end = read_trace(tmp_path / "wrong.jsonl")
    assert not [name for name in end if name.startswith(("llm.token_count", "llm.cost"))], "unknown, not zero"


def test_the_answer_can_be_read_as_it_arrives_and_an_equal_request_is_answered_from_the_trace(server, model, tmp_path):
    texts: list[str] = []
    calls = InFlightCalls(on_change=lambda call: texts.append(call.text))
    TracingModel(model(), tmp_path / "trace.jsonl", calls).ask(question())
    assert texts[-1] == GOOD and len(set(texts)) > 3
    assert all(GOOD.startswith(text) for text in texts) and calls.calls() == ()
    for _ in range(2):
        assert TracingModel(model(), tmp_path / "trace.jsonl").ask(question()).colour == "red"
    assert len(server.requests) == 1
    TracingModel(model(), tmp_path / "trace.jsonl").ask(question(attempt=1))
    TracingModel(model(temperature=1.0), tmp_path / "trace.jsonl").ask(question())
    assert len(server.requests) == 3


@pytest.mark.parametrize("behaviour", [hostile.stalls, hostile.stalls_midway, hostile.drips])
def test_a_cancelled_call_closes_its_connection_and_a_stopped_stage_makes_no_calls(server, model, tmp_path, behaviour):
    server.behave(behaviour)
    calls = InFlightCalls()
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(TracingModel(model(timeout=60), tmp_path / "trace.jsonl", calls).ask, question())
        while not server.requests:
            time.sleep(0.01)
        calls.calls()[0].cancel()
        error = asked.exception(60)
    assert isinstance(error, CallCancelled) and not isinstance(error, StageCancelled)
    assert server.cut_off.wait(60)
    stop, before = threading.Event(), len(server.requests)
    stop.set()
    with pytest.raises(StageCancelled):
        TracingModel(model(), tmp_path / "trace.jsonl", InFlightCalls(stop)).ask(question())
    assert len(server.requests) == before


def test_concurrent_calls_stay_within_the_limit(server, model):
    running, counts, pair = [], [], threading.Barrier(2)

    def behave(handler):
        running.append(1)
        counts.append(len(running))
        pair.wait(10)
        time.sleep(0.05)  # would let a third call in, if there were one
        answer(GOOD)(handler)
        running.pop()

    server.behave(behave)
    with ThreadPoolExecutor(6) as threads:
        assert len(list(threads.map(model(concurrency=2).ask, [question()] * 6))) == 6
    assert max(counts) == 2


def test_a_server_that_keeps_failing_is_not_called_for_a_while(server, model, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(openai_client, "time", SimpleNamespace(monotonic=lambda: now[0]))
    server.behave(error_reply(500, "no"))
    one = model(give_up_after=2, rest=30)
    for _ in range(2):
        with pytest.raises(ModelError, match="internal error"):
            one.ask(question())
    now[0] += 29
    with pytest.raises(ModelError, match="failed 2 times in a row and is not called for another"):
        one.ask(question())
    assert len(server.requests) == 2
    server.behave(answer(GOOD))
    now[0] += 2
    assert one.ask(question()).colour == one.ask(question()).colour == "red"


def test_a_call_that_may_exceed_the_ceiling_or_has_no_price_is_not_made(server, model, tmp_path):
    priced = {"usd_per_million_in": 1.0, "usd_per_million_out": 100.0, "longest_answer": 100}
    TracingModel(model(ceiling_usd=0.0104 + 0.0005, **priced), tmp_path / "trace.jsonl").ask(question())
    with pytest.raises(ModelError, match=r"of the ceiling of \$0\.01 are spent"):
        TracingModel(model(ceiling_usd=0.0104, **priced), tmp_path / "trace.jsonl").ask(question(attempt=1))
    with pytest.raises(ModelError, match="price of this model is unknown"):
        TracingModel(model(ceiling_usd=1.0), tmp_path / "unpriced.jsonl").ask(question())
    assert len(server.requests) == 1


def test_a_model_without_vision_gets_no_more_pictures(server, model):
    server.behave(hostile.refuses_pictures)
    one = model()
    picture = (np.zeros((20, 20, 3), np.uint8),)
    for _ in range(2):
        with pytest.raises(ModelError, match=r"does not accept pictures|image input is not supported"):
            one.ask(question(pictures=picture, needs_vision=True))
    assert len(server.requests) == 1
    assert one.ask(question(pictures=picture)).colour == "red", "pictures that are not needed are left out"
    assert model().ask(question(pictures=picture)).colour == "red" and len(server.requests) == 4


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_with_pictures_or_key(server, model, status):
    with HostileServer(answer("{}")) as other:
        server.behave(error_reply(status, "moved", Location=other.url + "/chat/completions"))
        with pytest.raises(ModelError, match=r"redirects to 127\.0\.0\.1, which is not"):
            model().ask(question())
        assert other.requests == []


def test_the_environment_adds_no_header_or_address_and_what_is_not_there_is_named(server, model, monkeypatch):
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: token-of-another-server")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-mine")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    model().ask(question())
    [headers] = server.headers
    assert not [name for name in headers if name.startswith(("x-", "openai-"))]
    assert "api.openai.com" in str(OpenAIModel(ModelSettings(service="openai"), KEY)._client.base_url)
    none = "http://[::1 http://host:99999999/v1 http:// https://h/v1?api-key=sk-1 https://h/#sk-1"
    for address in none.split():
        with pytest.raises(ModelError, match="must begin with http"):
            ModelSettings(service="openai", base_url=address)
    url = hostile.refusing()
    with pytest.raises(ModelError, match=rf"{url[7:-3]} cannot be reached"):
        model(base_url=url).ask(question())
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        OpenAIModel(ModelSettings(service="openai"))


COUNT = json.dumps({"numbers": [1, 2], "who": "me"})
COLOURS = json.dumps({"left": "blue", "right": "yellow"})


def results_of(server: HostileServer, *behaviours, **more) -> dict:
    server.behave(*behaviours)
    server.models = ["m", KEY]
    settings = ModelSettings(service="openai", **{"model": "m", "base_url": server.url, "timeout": 5.0, **more})
    results = list(probe(settings, KEY))
    assert not any(KEY in result.message or "\n" in result.message for result in results)
    return {result.check: result for result in results}


SIGHTLESS = hostile.refuses_pictures_after(unstreamed(COUNT))


def NEEDS_800(handler) -> None:
    """A model that thinks for 800 tokens before it answers."""
    thinking = message({"content": "", "reasoning_content": "hm"}, "length")
    (answer(COUNT) if handler.body["max_tokens"] >= 800 else thinking)(handler)


def test_a_good_server_passes_every_check_and_what_another_lacks_is_said_by_the_check_that_finds_it(server):
    results = results_of(server, answer(COUNT), answer(COLOURS))
    assert tuple(results) == CHECKS
    assert [result.ok for result in results.values()] == [True, True, True, True, True, None]
    both_red = json.dumps({"left": "red", "right": "red"})
    for behaviours, check, ok, words, more in (
        ([SIGHTLESS], "streaming", False, "", {}),
        ([SIGHTLESS], "vision", False, "image input is not supported", {}),
        ([answer(COUNT), answer(both_red)], "vision", False, "called blue and yellow red and red", {}),
        ([answer(COUNT), answer(COLOURS)], "reachable", None, "it lists: m", {"model": "other"}),
        ([answer("well"), answer(COUNT), answer(COLOURS)], "structured output", False, "2 attempts", {}),
        ([NEEDS_800], "answers", True, "", {}),
        ([hostile.unable_to_stream(400)], "streaming", False, "all at once", {}),
        ([error_reply(401, "Incorrect API key provided")], "answers", False, "refused the key", {}),
        ([answer(COUNT)], "reachable", False, "cannot be reached", {"base_url": hostile.refusing()}),
    ):
        results = results_of(server, *behaviours, **more)
        assert results[check].ok is ok and words in results[check].message
        assert ("streaming" in results) == (words not in ("refused the key", "cannot be reached")), "these end the test"
    assert [result.ok for result in probe(ModelSettings())] == [True], "offline there is nothing to test"
