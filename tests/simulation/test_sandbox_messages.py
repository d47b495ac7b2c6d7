"""Whatever bytes generated code sends, they become a report about the program, at little cost."""

import json
import math
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.router import report_json
from pipeline.simulation.sandbox.child_report import MAX_BYTES, MAX_CHECKS, ChildReader, ChildReport, merge_reports
from pipeline.simulation.sandbox.sandbox import Limits
from pipeline.simulation.sandbox.supervisor import ChildExit
from tests.simulation.attack_programs import escaping

BEFORE = {
    "arrange": b'{"doing": "reading simulation.py"}\n',
    "perform": b'{"doing": "rolling out the oracle, seed 0"}\n{"reward": 0.5}\n{"doing": "reading checks.py"}\n',
}
"""What the kit sends before generated code runs in a child."""
CHECK = {"name": "check_a", "passed": True, "message": "", "seconds": 0.1, "instant": None, "line": None}
FIELDS = {
    "doing": "running check_a",
    "recipe": {"seed": 0, "calls": [{"verb": "goal", "arguments": ["a", 1], "named": {"tolerance": 0.1}}]},
    "reward": 1.0,
    "check": CHECK,
    "crash": "checks.py:1",
    "refused": "x",
    "broken": "x",
    "evidence": {"printed": "x"},
    "record": {},
    "finished": True,
}
WRONG = [None, True, -1, 1e999, math.nan, 10**4000, "", "\ud800", [], {}, [[]], {"printed": []}, {"a": {"goal": "At"}}]
values = st.recursive(
    st.sampled_from(WRONG) | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*FIELDS, *CHECK]), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def messages(draw) -> bytes:
    """A message of the protocol in which some values are replaced."""
    names = draw(st.lists(st.sampled_from(list(FIELDS)), min_size=1, max_size=2))
    message = {name: draw(st.just(FIELDS[name]) | values) for name in names}
    if "check" in message and draw(st.booleans()):
        message["check"] = CHECK | {draw(st.sampled_from(list(CHECK))): draw(values)}
    if "recipe" in message and draw(st.booleans()):
        message["recipe"] = {"seed": draw(values), "calls": draw(values)}
    return json.dumps(message).encode() + b"\n"


deep = st.integers(1, 10**5).map(lambda depth: b'{"evidence":{"printed":' + b"[" * depth + b"]" * depth + b"}}\n")
ARGUMENTS = [b"9" * 5000, b"NaN", b"-Infinity", b"1e999", b'"\\ud800"', b'{"goal": 1}', b"[" * 150 + b"]" * 150]
calls = st.sampled_from(ARGUMENTS).map(
    lambda value: b'{"recipe": {"seed": 0, "calls": [{"verb": "goal", "arguments": [' + value + b"]}]}}\n"
)
output = st.lists(calls | st.binary(max_size=30) | st.just(b"\n") | messages() | deep, max_size=8).map(b"".join)
exits = st.sampled_from([ChildExit("done", 0), ChildExit("done", None, 9), ChildExit("timeout"), ChildExit("output")])


@given(st.sampled_from(list(BEFORE)), output, exits, st.integers(1, 64))
def test_any_bytes_of_generated_code_give_a_report(part, sent, child_exit, size):
    reader = ChildReader(ChildReport(part), Limits())
    assert reader.feed(BEFORE[part])
    all(reader.feed(sent[i : i + size * 1024]) for i in range(0, len(sent), size * 1024))
    child = reader.finish(child_exit)
    arranged, performed = (child, []) if part == "arrange" else (ChildReport("arrange"), [child])
    report = merge_reports(arranged, performed, 1.0)
    assert json.loads(json.dumps(report_json(report), allow_nan=False))
    json.dumps([recipe.model_dump() for recipe in child.recipes], allow_nan=False)
    assert report.reward == (() if part == "arrange" else (0.5,)), "only the kit reports rewards"
    assert not set(report.evidence) - {"printed", "stopped"}
    assert all(isinstance(text, str) for text in (report.evidence.get("printed", ""), report.violation or ""))


@pytest.mark.parametrize(
    "line", [b"[]\n", b"{}\n", b"[" * 64, b'{"doing": "running check_a"}\n', b"x", b"\n", b"\0", b"\xff\n"]
)
def test_a_flood_of_messages_costs_next_to_nothing(line):
    reader = ChildReader(ChildReport("perform"), Limits())
    reader.feed(BEFORE["perform"])
    chunk = line * (65536 // len(line))
    tracemalloc.start()
    read = 0
    while reader.feed(chunk):
        read += len(chunk)
        assert read < 2 * MAX_BYTES
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 << 20, f"{peak >> 20} MB"
    assert "forged a sandbox message" in (reader.report.refused or "")


def test_checks_are_counted_and_a_program_cannot_pretend_that_it_has_not_begun():
    reader = ChildReader(ChildReport("perform"), Limits())
    reader.feed(BEFORE["perform"])
    lines = json.dumps({"check": CHECK}).encode() + b"\n"
    assert reader.feed(lines * MAX_CHECKS) and not reader.feed(lines)
    assert len(reader.report.checks) == MAX_CHECKS
    reader = ChildReader(ChildReport("arrange"), Limits())
    reader.feed(BEFORE["arrange"] + b'{"doing": "starting"}\n')
    assert not reader.feed(b'{"broken": "our fault"}\n')


def test_a_child_ends_at_its_first_refused_message(sandbox, project):
    """The program goes on for a minute; the run does not wait for it."""
    flood = escaping("for _ in range(432): os.write(3, b'[]\\n' * 21845)\nbring('time').sleep(60)")
    report, _ = sandbox.run(flood, project, limits=Limits(seconds=60))
    assert "forged a sandbox message" in (report.violation or "") and not report.timed_out


@pytest.mark.parametrize("value", ["[]", "7", "null", '{"a": 1}', '"x'])
def test_a_wrong_type_is_the_programs_violation(sandbox, project, value):
    sent = f'{{"evidence": {{"printed": {value}}}}}'
    report, _ = sandbox.run(escaping(f"os.write(3, {sent.encode()!r} + b'\\n')\nos._exit(0)"), project)
    assert "forged a sandbox message" in (report.violation or ""), report
