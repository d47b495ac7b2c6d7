"""Records of model calls: every call of a trace, whatever its texts are, and nothing of the key."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.models.trace.call_log import Call, CallLog, group_calls, totals
from pipeline.models.trace.code_snippet import python_snippet
from studio.models import call_records


def write_lines(path: Path, *events: dict) -> Path:
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


def start(id: str, **more) -> dict:
    event = {"event": "start", "span_id": id, "name": "route", "about": "round 0", "question": id}
    return event | {"openinference.span.kind": "LLM", "start_time": "2026-01-01T00:00:00+00:00"} | more


def end(id: str, **more) -> dict:
    event = {"event": "end", "span_id": id, "status_code": "OK", "output.value": "{}"}
    return event | {"end_time": "2026-01-01T00:00:02+00:00"} | more


def call(**attributes) -> Call:
    return Call("1", attributes, True)


def test_a_trace_read_while_it_grows_equals_one_read_at_once(tmp_path: Path):
    path = tmp_path / "trace.jsonl"
    log, events = CallLog(path), [start("a"), end("a"), start("b"), start("c"), end("c", status_code="ERROR")]
    assert log.read() == ()
    for length in range(1, len(events) + 1):
        write_lines(path, *events[:length])
        calls = [(one.id, one.ended, one.failed) for one in log.read()]
        assert calls == [(one.id, one.ended, one.failed) for one in CallLog(path).read()]
    assert calls == [("a", True, False), ("b", False, False), ("c", True, True)]


def test_a_truncated_line_and_invalid_lines_are_skipped(tmp_path: Path):
    path = write_lines(tmp_path / "trace.jsonl", start("a"))
    with path.open("a") as file:
        file.write('nonsense\n[1]\n{"event": "end"}\n{"event": "end", "span_id": "nobody"}\n{"event": "start", "span')
    assert [one.id for one in CallLog(path).read()] == ["a"]


def test_a_replaced_trace_is_read_again(tmp_path: Path):
    path = write_lines(tmp_path / "trace.jsonl", start("a"), end("a"))
    log = CallLog(path)
    log.read()
    write_lines(path, start("b"))
    assert [one.id for one in log.read()] == ["b"]


def test_unreported_values_are_unknown_and_never_zero():
    reported = call(**{"openinference.span.kind": "LLM", "llm.token_count.prompt": 3, "llm.token_count.completion": 4})
    free = call(**{"openinference.span.kind": "CHAIN"})
    both = totals([reported, reported, call(**{"openinference.span.kind": "LLM"}), free])
    assert (both.tokens.sum, both.tokens.reported, both.tokens.missing) == (14, 2, 1)
    assert (both.cost.reported, both.cost.missing) == (0, 3)
    assert call(**{"llm.cost.total": True, "llm.token_count.prompt": "many"}).cost is None


def test_calls_are_grouped_by_stage_and_by_subject():
    kinds = ["route", "describe_segment", "describe_segment", "propose_tasks", "never sent of"]
    calls = [Call(str(i), {"name": kind, "about": f"object {i % 2}"}, True) for i, kind in enumerate(kinds)]
    stages = group_calls(calls)
    assert list(stages) == ["descriptions", "task", "rounds", "other"]
    assert sum(len(group) for groups in stages.values() for group in groups.values()) == len(calls)
    assert [one.id for one in stages["descriptions"]["object 1"]] == ["1"]


@given(st.text())
def test_no_text_moves_a_cursor_or_breaks_the_page(text: str):
    shown = call_records.escape_controls(text)
    shown.encode("utf-8")
    assert not call_records.CONTROLS.search(shown)
    assert len(shown) >= len(text.replace("\r\n", "\n"))


def test_terminal_codes_are_shown_and_not_executed():
    assert (
        call_records.escape_controls("\x1b[31mred\x1b[0m\x07\u202eturned\ud800")
        == r"\x1b[31mred\x1b[0m\x07\u202eturned\ud800"
    )


@given(st.text(max_size=60), st.lists(st.text(max_size=20), max_size=2))
def test_a_snippet_runs_and_sends_the_same_request(text: str, pictures: list[str]):
    recorded = call(
        **{
            "llm.model_name": "some-model",
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": text or "?",
            "llm.invocation_parameters": json.dumps({"model": "x", "temperature": 0.5, "api_key": "sk-secret"}),
        }
    )
    program = python_snippet(recorded, "http://ada:password@server/v1", pictures)
    assert "sk-secret" not in program and "password" not in program
    sent: dict = {}

    class Client:
        def __init__(self, base_url: str, api_key: str):
            sent.update(base_url=base_url)
            self.chat = SimpleNamespace(completions=SimpleNamespace(create=self.create))

        def create(self, **request):
            sent.update(request)
            return SimpleNamespace(choices=[])

    before, sys.modules["openai"] = sys.modules.get("openai"), SimpleNamespace(OpenAI=Client)  # type: ignore[assignment]
    try:
        exec(program, {})
    finally:
        del sys.modules["openai"]
        if before:
            sys.modules["openai"] = before
    assert sent["base_url"] == "http://server/v1" and sent["model"] == "some-model" and sent["temperature"] == 0.5
    content = sent["messages"][0]["content"]
    assert (content[0]["text"] if pictures else content) == (text or "?")
    assert [one["image_url"]["url"] for one in content[1:]] == pictures if pictures else isinstance(content, str)


@pytest.mark.parametrize("answer", ['{"simulation": "a\\nb", "n": 1}', '{"x": [1]}', "[1]", "no JSON", "{}", "1"])
def test_an_answer_is_shown_in_full(answer: str):
    shown = call_records.format_answer(answer)
    try:
        values = json.loads(answer)
    except ValueError:
        assert shown == answer
        return
    for value in values.values() if isinstance(values, dict) else ():
        assert (value if isinstance(value, str) else json.dumps(value, indent=2).split("\n")[0]) in shown
