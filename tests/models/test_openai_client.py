"""The client against a small server on this machine that stands in for the OpenAI API."""

import json
import threading
import time

import hostile
import numpy as np
import pytest
from hostile import Hostile, answer, called, fault, refuses_form, whole
from pydantic import BaseModel

from pipeline.models import CallCancelled, ModelError, ModelSettings, Question, Stopped
from pipeline.models.live import Live
from pipeline.models.openai_client import OpenAIModel
from pipeline.models.trace import Traced, read

KEY = "sk-very-secret"
GOOD = '{"colour": "red", "sure": 0.9}'


class Colour(BaseModel):
    colour: str
    sure: float = 0.5


@pytest.fixture
def server():
    with Hostile(answer(GOOD)) as one:
        yield one


@pytest.fixture
def model(server, tmp_path):
    """Makes a model on the server, its prompt in place."""
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
    return [line for line in read(path) if line["event"] == "end"]


@pytest.mark.parametrize("words", [GOOD, f"```json\n{GOOD}\n```", f"Sure! {GOOD} Anything else?"])
@pytest.mark.parametrize("given", [answer, whole])
def test_a_good_answer_comes_back_as_its_type_streamed_or_not(server, model, words, given):
    server.behave(given(words))
    assert model().ask(question()) == Colour(colour="red", sure=0.9)
    [asked] = server.asked
    assert "What colour is the cube?" in asked["messages"][0]["content"]
    schema = asked["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["colour", "sure"] and "default" not in schema["properties"]["sure"]


def test_pictures_go_along_resized(server, model):
    model(picture_side=64).ask(question(pictures=(np.zeros((40, 160, 3), np.uint8),)))
    picture = server.asked[0]["messages"][0]["content"][1]["image_url"]["url"]
    assert picture.startswith("data:image/jpeg;base64,/9j/") and len(picture) < 3000


def test_settings_reach_the_server_and_code_goes_to_its_own_model(server, model, tmp_path):
    (tmp_path / "route.md").write_text("Which?")
    one = model(code_model="coder", temperature=0.2, reasoning_effort="low")
    one.ask(question())
    one.ask(Question("route", {}, Colour))
    assert [asked["model"] for asked in server.asked] == ["m", "coder"]
    assert (server.asked[0]["temperature"], server.asked[0]["reasoning_effort"]) == (0.2, "low")


@pytest.mark.parametrize("bad", ["red", '{"colour": 7}', '{"colour": "red", "sure": "very"}', '{"colour": '])
def test_an_answer_that_does_not_fit_is_asked_for_again_with_the_reason(server, model, bad):
    server.behave(answer(bad), answer(GOOD))
    assert model().ask(question()).colour == "red"
    assert server.asked[1]["messages"][-2]["content"] == bad
    assert "cannot be used" in server.asked[1]["messages"][-1]["content"]


def test_after_three_useless_answers_the_reply_is_there_to_read(server, model):
    server.behave(answer("no idea"))
    with pytest.raises(ModelError, match="answered 3 times with what cannot be used") as failure:
        model().ask(question())
    assert len(server.asked) == 3
    assert failure.value.raw == "no idea"


@pytest.mark.parametrize(
    ("refused", "then"),
    [
        (("json_schema",), "tools"),
        (("json_schema", "tools"), "json_object"),
        (("json_schema", "tools", "json_object"), ""),
    ],
)
def test_a_server_without_schemas_is_asked_by_tool_then_for_json_then_in_words_and_only_learns_once(
    server, model, refused, then
):
    server.behave(refuses_form(*refused))
    one = model()
    assert one.ask(question()).colour == "red"
    last = server.asked[-1]
    form = (last.get("response_format") or {}).get("type") or ("tools" if last.get("tools") else "")
    assert form == then
    before = len(server.asked)
    one.ask(question())
    assert len(server.asked) == before + 1


def test_an_answer_may_be_a_tool_call(server, model):
    server.behave(fault(400, "response_format is not supported"), called(GOOD))
    assert model().ask(question()).colour == "red"


@pytest.mark.parametrize("name", ["temperature", "reasoning_effort", "stream_options", "max_tokens"])
def test_what_a_server_does_not_take_is_left_out(server, model, name):
    server.behave(fault(400, f"Unsupported parameter: '{name}'"), answer(GOOD))
    assert model(temperature=0.1, reasoning_effort="low").ask(question()).colour == "red"
    assert name in server.asked[0] and name not in server.asked[1]


def test_a_busy_server_is_asked_again_when_it_says(server, model):
    server.behave(fault(429, "slow down", **{"Retry-After": "1"}), answer(GOOD))
    began = time.monotonic()
    assert model(retries=1).ask(question()).colour == "red"
    assert time.monotonic() - began >= 1


def test_an_answer_that_breaks_off_is_asked_for_again(server, model):
    server.behave(hostile.resets, answer(GOOD))
    assert model(retries=1).ask(question()).colour == "red"


SAID = {
    "401": r"refused the key \(401\); check OPENAI_API_KEY",
    "429": r"is busy \(429\)",
    "429 with Retry-After": r"asks to wait 3600 s",
    "500s in a row": r"in trouble \(500\): The server had an error",
    "resets mid-stream": "broke off in the middle of its answer",
    "stalls": "did not answer within 0.5 s; raise GRS_TIMEOUT",
    "stalls mid-stream": "did not finish its answer within 0.5 s",
    "slow drip": "did not finish its answer within 0.5 s",
    "HTML instead of JSON": "does not speak the OpenAI API; check GRS_BASE_URL",
    "empty choices": "does not speak the OpenAI API; check GRS_BASE_URL",
    "truncated JSON": "cut short in the middle of a text",
    "wrong types": "colour: Input should be a valid string",
    "a 20 MB reply": "sent a reply of more than 12 MB, which is no answer",
    "a 20 MB body": "sent a reply of more than 12 MB, which is no answer",
    "a script tag and terminal codes": "there is no JSON object in it",
}


@pytest.mark.parametrize("case", SAID)
def test_a_hostile_server_is_told_of_in_one_line_and_what_came_is_kept(server, model, tmp_path, case):
    server.behave(hostile.CASES[case])
    quick = case in ("stalls", "stalls mid-stream", "slow drip")
    with pytest.raises(ModelError, match=SAID[case]) as failure:
        Traced(model(timeout=0.5 if quick else 5), tmp_path / "trace.jsonl").ask(question())
    said = str(failure.value)
    assert "\n" not in said and "\x1b" not in said and len(said) < 500
    [end] = ends(tmp_path / "trace.jsonl")
    assert end["status_code"] == "ERROR" and said in end["status_message"]
    assert len(end["output.value"]) < 300_000
    for text in (said, (tmp_path / "trace.jsonl").read_text()):
        assert KEY not in text and "user:pass" not in text
    if "mid-stream" in case:
        assert end["output.value"] == '{"colour": "re'


def test_a_server_that_is_not_there_is_named(model):
    url = hostile.refusing()
    with pytest.raises(ModelError, match=rf"{url[7:-3]} cannot be reached"):
        model(base_url=url).ask(question())


def test_token_counts_that_cannot_be_are_unknown_not_zero(server, model, tmp_path):
    server.behave(hostile.CASES["wrong token counts"])
    Traced(model(usd_per_million_in=1, usd_per_million_out=1), tmp_path / "trace.jsonl").ask(question())
    [end] = ends(tmp_path / "trace.jsonl")
    assert not [name for name in end if name.startswith(("llm.token_count", "llm.cost"))]


def test_tokens_and_cost_of_all_repetitions_are_on_record(server, model, tmp_path):
    server.behave(answer("red"), answer(GOOD))
    Traced(model(usd_per_million_in=100, usd_per_million_out=1000), tmp_path / "trace.jsonl").ask(question())
    [end] = ends(tmp_path / "trace.jsonl")
    assert (end["llm.token_count.prompt"], end["llm.token_count.completion"]) == (60, 8)
    assert end["llm.cost.total"] == pytest.approx(60 * 100e-6 + 8 * 1000e-6)
    assert end["attempts"][0]["output"] == "red" and "no JSON object" in end["attempts"][0]["problem"]


def test_the_answer_can_be_watched_as_it_arrives(server, model, tmp_path):
    seen: list[str] = []
    live = Live(watch=lambda flight: seen.append(flight.text))
    Traced(model(), tmp_path / "trace.jsonl", live).ask(question())
    assert seen[-1] == GOOD and len(set(seen)) > 3
    assert all(GOOD.startswith(text) for text in seen)
    assert live.flights() == ()


@pytest.mark.parametrize("behaviour", [hostile.stalls, hostile.stalls_midway, hostile.drips])
def test_a_cancelled_call_closes_its_connection_at_once(server, model, tmp_path, behaviour):
    server.behave(behaviour)
    live, failed = Live(), []

    def ask():
        try:
            Traced(model(timeout=60), tmp_path / "trace.jsonl", live).ask(question())
        except ModelError as error:
            failed.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    while not server.asked:
        time.sleep(0.01)
    live.flights()[0].cancel()
    thread.join(5)
    assert isinstance(failed[0], CallCancelled) and not isinstance(failed[0], Stopped)
    assert server.cut_off.wait(5)


def test_a_stop_ends_every_call_and_lets_none_begin(server, model, tmp_path):
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped):
        Traced(model(), tmp_path / "trace.jsonl", Live(stop)).ask(question())
    assert not server.asked


def test_no_more_calls_run_at_once_than_the_settings_say(server, model):
    running, most = [], []

    def behave(handler):
        running.append(1)
        most.append(len(running))
        time.sleep(0.05)
        answer(GOOD)(handler)
        running.pop()

    server.behave(behave)
    one = model(concurrency=2)
    threads = [threading.Thread(target=one.ask, args=[question()]) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 2


def test_a_server_that_fails_again_and_again_is_left_alone_for_a_while(server, model):
    server.behave(fault(500, "no"))
    one = model(give_up_after=2, rest=0.3)
    for _ in range(2):
        with pytest.raises(ModelError, match="in trouble"):
            one.ask(question())
    with pytest.raises(ModelError, match="failed 2 times in a row, so it is left alone for"):
        one.ask(question())
    assert len(server.asked) == 2
    time.sleep(0.35)
    server.behave(answer(GOOD))
    assert one.ask(question()).colour == "red"
    assert one.ask(question()).colour == "red"


def test_what_could_cross_the_ceiling_is_not_asked(server, model, tmp_path):
    priced = {"usd_per_million_in": 1.0, "usd_per_million_out": 100.0, "longest_answer": 100}
    traced = Traced(model(ceiling_usd=0.0104 + 0.0005, **priced), tmp_path / "trace.jsonl")
    traced.ask(question())
    again = Traced(model(ceiling_usd=0.0104, **priced), tmp_path / "trace.jsonl")
    with pytest.raises(ModelError, match=r"of the ceiling of \$0\.01 are spent"):
        again.ask(question(attempt=1))
    assert len(server.asked) == 1


def test_under_a_ceiling_an_unknown_price_asks_nothing(server, model, tmp_path):
    with pytest.raises(ModelError, match="price of this model is unknown"):
        Traced(model(ceiling_usd=1.0), tmp_path / "trace.jsonl").ask(question())
    assert not server.asked


def test_a_model_that_sees_nothing_is_shown_nothing_more(server, model):
    server.behave(hostile.refuses_pictures)
    one = model()
    picture = (np.zeros((20, 20, 3), np.uint8),)
    for _ in range(2):
        with pytest.raises(ModelError, match=r"sees no pictures|image input is not supported"):
            one.ask(question(pictures=picture, must_see=True))
    assert len(server.asked) == 1
    assert one.ask(question(pictures=picture)).colour == "red"


def test_pictures_that_can_be_done_without_are_left_out_for_a_model_that_sees_nothing(server, model):
    server.behave(hostile.refuses_pictures)
    assert model().ask(question(pictures=(np.zeros((20, 20, 3), np.uint8),))).colour == "red"
    assert len(server.asked) == 2


def test_the_same_request_is_answered_from_the_record_until_asked_anew(server, model, tmp_path):
    for _ in range(2):
        assert Traced(model(), tmp_path / "trace.jsonl").ask(question()).colour == "red"
    assert len(server.asked) == 1
    Traced(model(), tmp_path / "trace.jsonl").ask(question(attempt=1))
    Traced(model(temperature=1.0), tmp_path / "trace.jsonl").ask(question())
    assert len(server.asked) == 3


def test_a_persons_own_wording_is_asked_as_it_stands(server, model):
    model().ask(question(wording="Say {{this}}."))
    assert server.asked[0]["messages"][0]["content"].startswith("Say {{this}}.")


def test_a_start_line_shows_what_was_asked_before_anything_came(server, model, tmp_path):
    server.behave(hostile.stalls)
    with pytest.raises(ModelError):
        Traced(model(timeout=0.2), tmp_path / "trace.jsonl").ask(question())
    start = json.loads((tmp_path / "trace.jsonl").read_text().splitlines()[0])
    assert "the cube" in start["llm.input_messages.0.message.contents.0.message_content.text"]
    assert json.loads(start["llm.invocation_parameters"])["model"] == "m"


def test_without_a_key_or_a_server_it_says_what_to_set():
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        OpenAIModel(ModelSettings(service="openai"))
