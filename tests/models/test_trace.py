"""The trace of questions, also after a crash cut it off anywhere; replays, and the choice of a model."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, create_model

from pipeline.models import ModelError, Question, open_model
from pipeline.models.trace.call_log import CallLog
from pipeline.models.trace.recorder import TracingModel, annotate, fingerprint, read_trace
from pipeline.models.trace.replay import ReplayModel
from pipeline.planner import PlannerModel


class Number(BaseModel):
    value: int


class CountingModel:
    name = "counting"

    def __init__(self):
        self.count = 0

    def ask(self, question):
        annotate(llm__token_count__total=7)
        if question.data.get("break"):
            raise ModelError("It broke.", raw="<html>\ud83d")
        self.count += 1
        return question.answer_type(value=self.count)


def question(pictures=(), **data) -> Question:
    return Question("count", data, Number, pictures)


def calls(log: CallLog) -> list[tuple]:
    return [(one.id, one.ended, one.attributes) for one in log.read()]


def test_a_replay_answers_the_recorded_questions_in_order_and_no_others(tmp_path):
    model = TracingModel(CountingModel(), tmp_path / "trace.jsonl")
    picture = np.zeros((2, 2, 3), np.uint8)
    recorded = [model.ask(question(a=1)), model.ask(question(a=1)), model.ask(question((picture,), a=1))]
    replay = ReplayModel(tmp_path / "trace.jsonl")
    assert (replay.name, replay.label) == ("counting", "replay of counting")
    assert [replay.ask(question(a=1)), replay.ask(question(a=1)), replay.ask(question((picture,), a=1))] == recorded
    assert replay.ask(question(a=1)) == recorded[1]
    assert fingerprint(question(a=1, b=2)) == fingerprint(question(b=2, a=1))
    for other in (question(a=2), question((picture + 1,), a=1), Question("weigh", {"a": 1}, Number)):
        with pytest.raises(ModelError, match="not in the trace"):
            replay.ask(other)
    with pytest.raises(ModelError, match="no longer fits"):
        replay.ask(Question("count", {"a": 1}, create_model("Text", text=(str, ...))))


@pytest.mark.parametrize("text", ["", "not json\n", '{"event": "start", "span_id": "1", "question": "x"}\n'])
def test_a_file_that_is_not_a_trace_is_rejected(tmp_path, text):
    (tmp_path / "trace.jsonl").write_text(text)
    with pytest.raises(ModelError):
        ReplayModel(tmp_path / "trace.jsonl")
    with pytest.raises(ModelError, match="choose offline, openai, or replay"):
        open_model("gpt", PlannerModel)


def test_a_question_has_a_start_and_an_end_and_a_failure_its_raw_reply(tmp_path):
    model = TracingModel(CountingModel(), path := tmp_path / "deep" / "trace.jsonl")
    model.ask(question((np.zeros((2, 2, 3), np.uint8),), a=1))
    start, end = read_trace(path)
    assert (start["openinference.span.kind"], start["llm.model_name"]) == ("LLM", "counting")
    assert json.loads(start["input.value"]) == {"a": 1} and json.loads(end["output.value"]) == {"value": 1}
    assert (end["llm.token_count.total"], end["status_code"]) == (7, "OK")
    assert start["span_id"] == end["span_id"] and start["session.id"] == end["session.id"]
    assert start["start_time"] <= end["end_time"]
    with pytest.raises(ModelError, match="It broke"):
        model.ask(question(**{"break": 1}))
    assert [(call.ended, call.failed) for call in CallLog(path).read()] == [(True, False), (True, True)]
    *_, failed = read_trace(path)
    assert failed["status_code"] == "ERROR" and "It broke" in failed["status_message"]
    assert failed["output.value"] == "<html>\ud83d", "half a letter, as it came"


@given(st.integers(0, 3), st.integers(0, 2000), st.text(max_size=20))
def test_the_line_after_a_cut_is_read_and_so_are_those_before(tmp_path_factory, asked, cut, text):
    path = tmp_path_factory.mktemp("trace") / "trace.jsonl"
    log = CallLog(path)
    assert log.read() == ()
    for number in range(asked):
        TracingModel(CountingModel(), path).ask(question(n=number, text=text))
        assert not cut % 2 or calls(log) == calls(CallLog(path))
    whole = path.read_bytes() if asked else b""
    path.write_bytes(whole[: max(0, len(whole) - cut)])
    complete = path.read_bytes().count(b"\n")
    if cut % 2:
        assert calls(log) == calls(CallLog(path))  # a page looked in between
    TracingModel(CountingModel(), path).ask(question(n=9))
    data = path.read_bytes()
    assert data.endswith(b"\n") and all(json.loads(line) for line in data.splitlines())
    assert len(list(read_trace(path))) >= complete + 2
    (*_, last) = log.read()
    assert calls(log) == calls(CallLog(path)) and last.ended and json.loads(last.input_json) == {"n": 9}
