"""A trace that a crash cut off anywhere loses that line only, and every line after it is read."""

import json

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from pipeline.models import Question
from pipeline.models.trace.call_log import CallLog
from pipeline.models.trace.recorder import TracingModel, read_trace
from pipeline.models.trace.trace_lines import append_trace_line


class Number(BaseModel):
    value: int


class Seven:
    name = "seven"

    def ask(self, question):
        return Number(value=7)


@given(st.integers(0, 3), st.integers(0, 2000), st.text(max_size=20))
def test_the_line_after_a_cut_is_read_and_so_are_those_before(tmp_path_factory, asked, cut, text):
    path = tmp_path_factory.mktemp("trace") / "trace.jsonl"
    log = CallLog(path)
    for number in range(asked):
        TracingModel(Seven(), path).ask(Question("count", {"n": number, "text": text}, Number))
    whole = path.read_bytes() if asked else b""
    path.write_bytes(whole[: max(0, len(whole) - cut)])
    complete = path.read_bytes().count(b"\n")
    if cut % 2:
        log.read()  # a page may have looked in between
    TracingModel(Seven(), path).ask(Question("count", {"n": 9}, Number))
    data = path.read_bytes()
    assert data.endswith(b"\n") and all(json.loads(line) for line in data.splitlines())
    assert len(list(read_trace(path))) >= complete + 2
    for reader in (log, CallLog(path)):
        last = reader.read()[-1]
        assert last.ended and json.loads(last.input_json) == {"n": 9}


def test_a_line_that_an_earlier_version_appended_to_a_cut_one_is_read(tmp_path):
    path = tmp_path / "trace.jsonl"
    append_trace_line(path, "start", {"span_id": "a", "name": "count"})
    with path.open("a") as file:
        file.write('{"event": "start", "span_id": "b", "input.value": "half')
        file.write('{"event": "end", "span_id": "a", "status_code": "OK"}\n')
    assert [line["event"] for line in read_trace(path)] == ["start", "end"]
    (call,) = CallLog(path).read()
    assert call.ended and not call.failed
