"""The client against a small local server that imitates the OpenAI API, and the connection test."""

import json
import threading
import time

import hostile
import numpy as np
import pytest
from hostile import HostileServer, answer, called, error_reply, refuses_form, unstreamed
from pydantic import BaseModel

from pipeline.models import CallCancelled, ModelError, ModelSettings, Question, StageCancelled
from pipeline.models.client.openai_client import OpenAIModel
from pipeline.models.client.probe import CHECKS, probe
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

    def make(timeout=5.0, base_url="", **more) -> OpenAIModel:
        url = base_url or server.url.replace("http://", "http://user:pass@")
        more = {"retries": 0, **more}
        settings = ModelSettings(service="openai", model="m", base_url=url, timeout=timeout, **more)
        return OpenAIModel(settings, KEY, tmp_path)

    return make


def question(**more) -> Question:
    return Question("name_colour", {"thing": "the cube"}, Colour, **more)


def ends(path) -> list[dict]:
    return [line for line in read_trace(path) if line["event"] == "end"]


@pytest.mark.parametrize("words", [GOOD, f"```json\n{GOOD}\n```", f"Sure! {GOOD} Anything else?"])
@pytest.mark.parametrize("behaviour", [answer, unstreamed])
def test_a_valid_answer_is_returned_as_its_type_streamed_or_not(server, model, words, behaviour):
    server.behave(behaviour(words))
    assert model().ask(question()) == Colour(colour="red", sure=0.9)
    [request] = server.requests
    assert "What colour is the cube?" in request["messages"][0]["content"]
    schema = request["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["colour", "sure"] and "default" not in schema["properties"]["sure"]


def test_pictures_are_sent_resized(server, model):
    model(picture_side=64).ask(question(pictures=(np.zeros((40, 160, 3), np.uint8),)))
    picture = server.requests[0]["messages"][0]["content"][1]["image_url"]["url"]
    assert picture.startswith("data:image/jpeg;base64,/9j/") and len(picture) < 3000


def test_settings_are_sent_and_code_goes_to_its_own_model(server, model, tmp_path):
    (tmp_path / "route.md").write_text("Which?")
    one = model(code_model="coder", temperature=0.2, reasoning_effort="low")
    one.ask(question())
    one.ask(Question("route", {}, Colour))
    assert [request["model"] for request in server.requests] == ["m", "coder"]
    assert (server.requests[0]["temperature"], server.requests[0]["reasoning_effort"]) == (0.2, "low")


@pytest.mark.parametrize("bad", ["red", '{"colour": 7}', '{"colour": "red", "sure": "very"}', '{"colour": '])
def test_an_invalid_answer_is_asked_for_again_with_the_reason(server, model, bad):
    server.behave(answer(bad), answer(GOOD))
    assert model().ask(question()).colour == "red" and server.requests[1]["messages"][-2]["content"] == bad
    assert "cannot be used" in server.requests[1]["messages"][-1]["content"]


def test_after_three_invalid_answers_the_raw_reply_is_kept(server, model):
    server.behave(answer("no idea"))
    with pytest.raises(ModelError, match="answered 3 times with an answer that cannot be used") as failure:
        model().ask(question())
    assert len(server.requests) == 3 and failure.value.raw == "no idea"


@pytest.mark.parametrize(
    ("refused", "then"),
    [
        (("json_schema",), "tools"),
        (("json_schema", "tools"), "json_object"),
        (("json_schema", "tools", "json_object"), ""),
    ],
)
def test_a_server_without_schemas_gets_a_tool_then_json_then_words_once(server, model, refused, then):
    server.behave(refuses_form(*refused))
    one = model()
    assert one.ask(question()).colour == "red"
    last = server.requests[-1]
    form = (last.get("response_format") or {}).get("type") or ("tools" if last.get("tools") else "")
    assert form == then
    before = len(server.requests)
    one.ask(question())
    assert len(server.requests) == before + 1


def test_an_answer_may_be_a_tool_call(server, model):
    server.behave(error_reply(400, "response_format is not supported"), called(GOOD))
    assert model().ask(question()).colour == "red"


@pytest.mark.parametrize("name", ["temperature", "reasoning_effort", "stream_options", "max_tokens"])
def test_a_rejected_parameter_is_left_out(server, model, name):
    server.behave(error_reply(400, f"Unsupported parameter: '{name}'"), answer(GOOD))
    assert model(temperature=0.1, reasoning_effort="low").ask(question()).colour == "red"
    assert name in server.requests[0] and name not in server.requests[1]


def test_a_busy_server_is_retried_after_its_delay_and_an_interrupted_answer_at_once(server, model):
    server.behave(error_reply(429, "slow down", **{"Retry-After": "1"}), answer(GOOD))
    began = time.monotonic()
    assert model(retries=1).ask(question()).colour == "red" and time.monotonic() - began >= 1
    server.behave(hostile.resets, answer(GOOD))
    assert model(retries=1).ask(question()).colour == "red"


MESSAGES = {
    "401": r"refused the key \(401\); check OPENAI_API_KEY",
    "429": r"is busy \(429\)",
    "429 with Retry-After": r"asks to wait 3600 s",
    "500s in a row": r"internal error \(500\): The server had an error",
    "resets mid-stream": "closed the connection in the middle of its answer",
    "stalls": "did not answer within 0.5 s; raise GRS_TIMEOUT",
    "stalls mid-stream": "did not finish its answer within 0.5 s",
    "slow drip": "did not finish its answer within 0.5 s",
    "HTML instead of JSON": "does not speak the OpenAI API; check GRS_BASE_URL",
    "empty choices": "does not speak the OpenAI API; check GRS_BASE_URL",
    "truncated JSON": "cut off in the middle of a text",
    "wrong types": "colour: Input should be a valid string",
    "a 20 MB reply": "sent a reply of more than 12 MB, which cannot be an answer",
    "a 20 MB body": "sent a reply of more than 2 MB in one line, which cannot be an answer",
    "a script tag and terminal codes": "there is no JSON object in it",
}


@pytest.mark.parametrize("case", MESSAGES)
def test_a_hostile_reply_is_one_line_and_the_raw_reply_is_kept(server, model, tmp_path, case):
    server.behave(hostile.CASES[case])
    quick = case in ("stalls", "stalls mid-stream", "slow drip")
    with pytest.raises(ModelError, match=MESSAGES[case]) as failure:
        TracingModel(model(timeout=0.5 if quick else 5), tmp_path / "trace.jsonl").ask(question())
    message = str(failure.value)
    assert "\n" not in message and "\x1b" not in message and len(message) < 500
    [end] = ends(tmp_path / "trace.jsonl")
    assert end["status_code"] == "ERROR" and message in end["status_message"]
    assert len(end["output.value"]) < 300_000
    for text in (message, (tmp_path / "trace.jsonl").read_text()):
        assert KEY not in text and "user:pass" not in text
    if "mid-stream" in case:
        assert end["output.value"] == '{"colour": "re'


def test_an_unreachable_server_and_a_missing_key_are_named(model):
    url = hostile.refusing()
    with pytest.raises(ModelError, match=rf"{url[7:-3]} cannot be reached"):
        model(base_url=url).ask(question())
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        OpenAIModel(ModelSettings(service="openai"))


def test_impossible_token_counts_are_unknown_and_not_zero(server, model, tmp_path):
    server.behave(hostile.CASES["wrong token counts"])
    TracingModel(model(usd_per_million_in=1, usd_per_million_out=1), tmp_path / "trace.jsonl").ask(question())
    [end] = ends(tmp_path / "trace.jsonl")
    assert not [name for name in end if name.startswith(("llm.token_count", "llm.cost"))]


def test_tokens_and_cost_are_recorded_and_the_answer_can_be_read_as_it_arrives(server, model, tmp_path):
    server.behave(answer("red"), answer(GOOD))
    TracingModel(model(usd_per_million_in=100, usd_per_million_out=1000), tmp_path / "trace.jsonl").ask(question())
    [end] = ends(tmp_path / "trace.jsonl")
    assert (end["llm.token_count.prompt"], end["llm.token_count.completion"]) == (60, 8)
    assert end["llm.cost.total"] == pytest.approx(60 * 100e-6 + 8 * 1000e-6)
    assert end["attempts"][0]["output"] == "red" and "no JSON object" in end["attempts"][0]["problem"]
    texts: list[str] = []
    calls = InFlightCalls(on_change=lambda call: texts.append(call.text))
    TracingModel(model(), tmp_path / "trace.jsonl", calls).ask(question(attempt=1))
    assert texts[-1] == GOOD and len(set(texts)) > 3 and all(GOOD.startswith(text) for text in texts)
    assert calls.calls() == ()


@pytest.mark.parametrize("behaviour", [hostile.stalls, hostile.stalls_midway, hostile.drips])
def test_a_cancelled_call_closes_its_connection(server, model, tmp_path, behaviour):
    server.behave(behaviour)
    calls, errors = InFlightCalls(), []

    def ask():
        try:
            TracingModel(model(timeout=60), tmp_path / "trace.jsonl", calls).ask(question())
        except ModelError as error:
            errors.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    while not server.requests:
        time.sleep(0.01)
    calls.calls()[0].cancel()
    thread.join(5)
    assert isinstance(errors[0], CallCancelled) and not isinstance(errors[0], StageCancelled)
    assert server.cut_off.wait(5)


def test_no_call_is_made_in_a_stopped_stage_or_under_a_ceiling_at_an_unknown_price(server, model, tmp_path):
    stop = threading.Event()
    stop.set()
    with pytest.raises(StageCancelled):
        TracingModel(model(), tmp_path / "trace.jsonl", InFlightCalls(stop)).ask(question())
    assert not server.requests
    with pytest.raises(ModelError, match="price of this model is unknown"):
        TracingModel(model(ceiling_usd=1.0), tmp_path / "trace.jsonl").ask(question())
    assert not server.requests


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
    one = model(concurrency=2)
    threads = [threading.Thread(target=one.ask, args=[question()]) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(counts) == 2


def until_called_again(model: OpenAIModel) -> Colour:
    """Ask until the circuit breaker closes; fail after ten seconds."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            return model.ask(question())
        except ModelError as error:
            assert "is not called for another" in str(error)
            time.sleep(0.02)
    raise AssertionError("the circuit breaker stayed open")


def test_a_server_that_keeps_failing_is_not_called_for_a_while(server, model):
    server.behave(error_reply(500, "no"))
    one = model(give_up_after=2, rest=0.3)
    for _ in range(2):
        with pytest.raises(ModelError, match="internal error"):
            one.ask(question())
    with pytest.raises(ModelError, match="failed 2 times in a row and is not called for another"):
        one.ask(question())
    assert len(server.requests) == 2
    server.behave(answer(GOOD))
    assert until_called_again(one).colour == "red" and one.ask(question()).colour == "red"


def test_a_call_that_may_exceed_the_ceiling_is_not_made(server, model, tmp_path):
    priced = {"usd_per_million_in": 1.0, "usd_per_million_out": 100.0, "longest_answer": 100}
    TracingModel(model(ceiling_usd=0.0104 + 0.0005, **priced), tmp_path / "trace.jsonl").ask(question())
    second = TracingModel(model(ceiling_usd=0.0104, **priced), tmp_path / "trace.jsonl")
    with pytest.raises(ModelError, match=r"of the ceiling of \$0\.01 are spent"):
        second.ask(question(attempt=1))
    assert len(server.requests) == 1


def test_a_model_without_vision_gets_no_more_pictures(server, model):
    server.behave(hostile.refuses_pictures)
    one = model()
    picture = (np.zeros((20, 20, 3), np.uint8),)
    for _ in range(2):
        with pytest.raises(ModelError, match=r"does not accept pictures|image input is not supported"):
            one.ask(question(pictures=picture, needs_vision=True))
    assert len(server.requests) == 1 and one.ask(question(pictures=picture)).colour == "red"


def test_optional_pictures_are_left_out_for_a_model_without_vision(server, model):
    server.behave(hostile.refuses_pictures)
    assert model().ask(question(pictures=(np.zeros((20, 20, 3), np.uint8),))).colour == "red"
    assert len(server.requests) == 2


def test_an_equal_request_is_answered_from_the_trace_until_retried(server, model, tmp_path):
    for _ in range(2):
        assert TracingModel(model(), tmp_path / "trace.jsonl").ask(question()).colour == "red"
    assert len(server.requests) == 1
    TracingModel(model(), tmp_path / "trace.jsonl").ask(question(attempt=1))
    TracingModel(model(temperature=1.0), tmp_path / "trace.jsonl").ask(question())
    assert len(server.requests) == 3


def test_an_edited_prompt_is_sent_unchanged(server, model):
    model().ask(question(prompt_text="Say {{this}}."))
    assert server.requests[0]["messages"][0]["content"].startswith("Say {{this}}.")


def test_the_start_line_has_the_request_before_the_reply(server, model, tmp_path):
    server.behave(hostile.stalls)
    with pytest.raises(ModelError):
        TracingModel(model(timeout=0.2), tmp_path / "trace.jsonl").ask(question())
    start = json.loads((tmp_path / "trace.jsonl").read_text().splitlines()[0])
    assert "the cube" in start["llm.input_messages.0.message.contents.0.message_content.text"]
    assert json.loads(start["llm.invocation_parameters"])["model"] == "m"


COUNT = json.dumps({"numbers": [1, 2], "who": "me"})
COLOURS = json.dumps({"left": "blue", "right": "yellow"})


def results_of(server: HostileServer, *behaviours, key="sk-secret-key", **more) -> dict:
    server.behave(*behaviours)
    settings = ModelSettings(service="openai", **{"model": "m", "base_url": server.url, "timeout": 5.0, **more})
    results = list(probe(settings, key))
    assert not any("sk-secret-key" in result.message or "\n" in result.message for result in results)
    return {result.check: result for result in results}


def test_a_good_server_passes_every_check(server):
    results = results_of(server, answer(COUNT), answer(COLOURS))
    assert tuple(results) == CHECKS
    assert [result.ok for result in results.values()] == [True, True, True, True, True, None]


def test_missing_or_wrong_capabilities_are_reported(server):
    results = results_of(server, hostile.refuses_pictures_after(unstreamed(COUNT)))
    assert results["streaming"].ok is False
    assert results["vision"].ok is False and "image input is not supported" in results["vision"].message
    results = results_of(server, answer(COUNT), answer(json.dumps({"left": "red", "right": "red"})))
    assert results["vision"].ok is False and "called blue and yellow red and red" in results["vision"].message
    results = results_of(server, answer(COUNT), answer(COLOURS), model="other")
    assert results["reachable"].ok is None and "it lists: m" in results["reachable"].message
    results = results_of(server, answer("well"), answer(COUNT), answer(COLOURS))
    assert results["structured output"].ok is False and "2 attempts" in results["structured output"].message


def test_an_unreachable_server_or_a_refused_key_ends_the_test(server):
    settings = ModelSettings(service="openai", model="m", base_url=hostile.refusing(), timeout=5)
    [result] = probe(settings, "k")
    assert result.ok is False and "cannot be reached" in result.message
    [offline] = probe(ModelSettings())
    assert offline.ok
    results = results_of(server, hostile.CASES["401"])
    assert results["answers"].ok is False and "refused the key" in results["answers"].message
    assert "streaming" not in results
