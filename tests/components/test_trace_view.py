"""What the trace view shows: every call of a record, whatever was said in it, and nothing of the key."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.models.calls import Call, CallLog, grouped, totals
from pipeline.models.snippet import snippet
from studio import calls


def lines(path: Path, *said: dict) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in said))
    return path


def start(id: str, **more) -> dict:
    said = {"event": "start", "span_id": id, "name": "route", "about": "round 0", "question": id}
    return said | {"openinference.span.kind": "LLM", "start_time": "2026-01-01T00:00:00+00:00"} | more


def end(id: str, **more) -> dict:
    said = {"event": "end", "span_id": id, "status_code": "OK", "output.value": "{}"}
    return said | {"end_time": "2026-01-01T00:00:02+00:00"} | more


def call(**attributes) -> Call:
    return Call("1", attributes, True)


def test_a_record_read_while_it_grows_is_the_record_read_at_once(tmp_path: Path):
    path = tmp_path / "trace.jsonl"
    log, whole = CallLog(path), [start("a"), end("a"), start("b"), start("c"), end("c", status_code="ERROR")]
    assert log.read() == ()
    for length in range(1, len(whole) + 1):
        lines(path, *whole[:length])
        seen = [(one.id, one.ended, one.failed) for one in log.read()]
        assert seen == [(one.id, one.ended, one.failed) for one in CallLog(path).read()]
    assert seen == [("a", True, False), ("b", False, False), ("c", True, True)]


def test_a_line_cut_off_by_a_crash_and_lines_that_are_none_are_left_out(tmp_path: Path):
    path = lines(tmp_path / "trace.jsonl", start("a"))
    with path.open("a") as file:
        file.write('nonsense\n[1]\n{"event": "end"}\n{"event": "end", "span_id": "nobody"}\n{"event": "start", "span')
    assert [one.id for one in CallLog(path).read()] == ["a"]


def test_a_record_that_was_replaced_is_read_anew(tmp_path: Path):
    path = lines(tmp_path / "trace.jsonl", start("a"), end("a"))
    log = CallLog(path)
    log.read()
    lines(path, start("b"))
    assert [one.id for one in log.read()] == ["b"]


def test_what_nobody_told_is_unknown_and_never_nothing():
    told = call(**{"openinference.span.kind": "LLM", "llm.token_count.prompt": 3, "llm.token_count.completion": 4})
    free = call(**{"openinference.span.kind": "CHAIN"})
    both = totals([told, told, call(**{"openinference.span.kind": "LLM"}), free])
    assert (both.tokens.sum, both.tokens.told, both.tokens.untold) == (14, 2, 1)
    assert (both.cost.told, both.cost.untold) == (0, 3)
    assert call(**{"llm.cost.total": True, "llm.token_count.prompt": "many"}).cost is None


def test_calls_stand_by_stage_and_by_what_they_are_about():
    kinds = ["route", "describe_segment", "describe_segment", "propose_tasks", "never heard of"]
    many = [Call(str(i), {"name": kind, "about": f"object {i % 2}"}, True) for i, kind in enumerate(kinds)]
    stages = grouped(many)
    assert list(stages) == ["descriptions", "task", "rounds", "other"]
    assert sum(len(group) for groups in stages.values() for group in groups.values()) == len(many)
    assert [one.id for one in stages["descriptions"]["object 1"]] == ["1"]


@given(st.text())
def test_no_text_moves_a_cursor_or_breaks_the_page(text: str):
    shown = calls.legible(text)
    shown.encode("utf-8")
    assert not calls.CONTROLS.search(shown)
    assert len(shown) >= len(text.replace("\r\n", "\n"))


def test_terminal_codes_are_seen_and_not_obeyed():
    assert calls.legible("\x1b[31mred\x1b[0m\x07\u202eturned\ud800") == r"\x1b[31mred\x1b[0m\x07\u202eturned\ud800"


@given(st.text(max_size=60), st.lists(st.text(max_size=20), max_size=2))
def test_a_snippet_runs_and_asks_the_very_same(text: str, pictures: list[str]):
    asked = call(
        **{
            "llm.model_name": "some-model",
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": text or "?",
            "llm.invocation_parameters": json.dumps({"model": "x", "temperature": 0.5, "api_key": "sk-secret"}),
        }
    )
    program = snippet(asked, "http://ada:password@server/v1", pictures)
    assert "sk-secret" not in program and "password" not in program
    heard: dict = {}

    class Client:
        def __init__(self, base_url: str, api_key: str):
            heard.update(base_url=base_url)
            self.chat = SimpleNamespace(completions=SimpleNamespace(create=self.create))

        def create(self, **request):
            heard.update(request)
            return SimpleNamespace(choices=[])

    before, sys.modules["openai"] = sys.modules.get("openai"), SimpleNamespace(OpenAI=Client)  # type: ignore[assignment]
    try:
        exec(program, {})
    finally:
        del sys.modules["openai"]
        if before:
            sys.modules["openai"] = before
    assert heard["base_url"] == "http://server/v1" and heard["model"] == "some-model" and heard["temperature"] == 0.5
    said = heard["messages"][0]["content"]
    assert (said[0]["text"] if pictures else said) == (text or "?")
    assert [one["image_url"]["url"] for one in said[1:]] == pictures if pictures else isinstance(said, str)


@pytest.mark.parametrize("answer", ['{"simulation": "a\\nb", "n": 1}', '{"x": [1]}', "[1]", "no JSON", "{}", "1"])
def test_an_answer_is_shown_whole(answer: str):
    shown = calls.readable(answer)
    try:
        said = json.loads(answer)
    except ValueError:
        assert shown == answer
        return
    for value in said.values() if isinstance(said, dict) else ():
        assert (value if isinstance(value, str) else json.dumps(value, indent=2).split("\n")[0]) in shown
