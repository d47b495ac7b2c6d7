"""No attack reaches files, network or processes, and only the kit reports rewards, whatever bytes a program sends."""

import json
import math
import os
import re
import sys
import textwrap
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.router import report_json
from pipeline.simulation.program import Program
from pipeline.simulation.sandbox.child_report import MAX_BYTES, MAX_CHECKS, ChildReader, ChildReport, merge_reports
from pipeline.simulation.sandbox.sandbox import Limits
from pipeline.simulation.sandbox.supervisor import ChildExit
from tests.simulation.attack_programs import BUILD, CANARY, CHECKS, ESCAPE, escaping, tampering, with_prefix

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox's full protection is Linux's")

REFUSED = "tried|not permitted|denied|No such file|Read-only file system|only kit, math, numpy"
AT_ONCE = BUILD.replace("(0.1, 0.0)", "(0.0, 0.1)")  # where the cube stands: nothing is left to do before the checks
ATTACKS = {
    "endless loop in a check": (Program(AT_ONCE, "def check_a(sim):\n    while True: pass"), "while running check_a"),
    "endless loop inside C": (with_prefix("x = 10 ** 10 ** 9"), "stopped after"),
    "endless loop that ignores signals": (
        escaping("s = bring('signal')\nfor n in (1, 2, 14, 15, 24): s.signal(n, s.SIG_IGN)\nwhile True: pass"),
        "stopped after",
    ),
    "memory, by lists": (with_prefix("x = []\nwhile True: x.append([0] * 10 ** 6)"), "more than 300 MB"),
    "shell": (escaping("os.system('touch {outside}/made')"), REFUSED),
    "reading a user's file": (escaping("raise ValueError(builtins.open('{outside}/secret').read())"), REFUSED),
    "reading the environment": (escaping("raise ValueError(str(dict(os.environ)))"), "ValueError"),
    "writing a file": (escaping("builtins.open('{outside}/made', 'w').write('x')"), REFUSED),
    "writing into the project": (escaping("builtins.open('{project}/scene/made', 'w').write('x')"), REFUSED),
    "network": (escaping("bring('socket').create_connection(('127.0.0.1', 9))"), REFUSED),
    "a foreign library": (escaping("bring('ctypes').CDLL(None).ptrace(16, {pid}, 0, 0)"), REFUSED),
    "killing itself": (escaping("bring('_thread')\nos.abort()"), "ended by signal"),
    "thread flood": (
        escaping("t = bring('threading')\nwhile True: t.Thread(target=bring('time').sleep, args=(9,)).start()"),
        "start new thread|more than|stopped after",
    ),
    "writing without end": (escaping("while True: os.write(3, b'x' * 65536)"), "more than 1 MB of messages"),
    "forged results": (escaping("os.write(3, b'{{\"reward\": 7}}\\n')\nos._exit(0)"), "forged a sandbox message"),
    "closing the pipe": (escaping("os.close(3)\nwhile True: pass"), "exited|ended by|stopped after"),
    "deep recursion": (with_prefix("def f(n): return f(n + 1)\nf(0)"), "RecursionError"),
    "leaving": (escaping("sys.exit(0)"), "SystemExit"),
    "leaving within a check": (
        Program(BUILD, f"def check_a(sim):{ESCAPE}    os._exit(0)"),
        "^checks.py: the process exited",
    ),
    "numpy writes": (with_prefix("import numpy\nnumpy.savetxt('{outside}/made', [1])"), REFUSED),
    "swallowing what was refused": (with_prefix("try:\n    import os\nexcept BaseException: pass"), "imports os"),
    "opening without a trick": (with_prefix("open('/etc/passwd')"), "NameError"),
    "replacing the kit's rollout": (tampering("type = sim.__class__; type.rollout = lambda sim: 1"), "changed the kit"),
    "replacing this rollout": (tampering("sim.rollout = lambda: 1"), "replaced the simulation's own rollout"),
    "replacing a goal": (tampering("kit.on = lambda a, b: 1"), "the kit cannot be changed"),
    "replacing code": (
        tampering("f = sim.__class__.rollout; f.__code__ = (lambda sim: None).__code__"),
        "changed the kit",
    ),
    "another kind of simulation": (Program("def build(scene, seed): return 3", CHECKS), "build returned int"),
    "broken syntax": (Program(BUILD + "(", CHECKS), r"simulation.py:8 SyntaxError"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_reveals_and_changes_nothing(name, sandbox, project, outside):
    attack, expected = ATTACKS[name]
    facts = {"outside": outside, "project": project, "pid": os.getpid()}
    simulation = attack.simulation
    for fact, value in facts.items():
        simulation = simulation.replace("{" + fact + "}", str(value))
    attack = Program(simulation.replace("{{", "{").replace("}}", "}"), attack.checks)
    seconds = 2.0 if "while running" in expected else 0.6 if "stopped" in expected else 20
    server = sandbox._server
    report, record = sandbox.run(attack, project, limits=Limits(seconds=seconds, memory_mb=300, output_mb=4))

    assert not report.clean
    sentence = report.violation or report.crash or report.evidence.get("stopped", "")
    assert sentence and "\n" not in sentence and len(sentence) < 600
    assert re.search(expected, " ".join([sentence, report.evidence.get("stopped", "")]))
    assert report.timed_out == ("stopped" in report.evidence)
    output = repr(report) + repr(record)
    assert CANARY not in output and "root:" not in output
    assert not (outside / "made").exists() and not (project / "scene" / "made").exists()
    assert (outside / "secret").read_text() == CANARY and (outside / "secret").stat().st_mode & 0o400
    assert sandbox._server is server and server.alive


FORGED = """
record = '{"shape": [0], "data": ""}'
lines = ['{"doing": "rolling out the oracle, seed 0"}', '{"reward": 1.0}', '{"doing": "reading checks.py"}',
         '{"check": {"name": "check_a", "passed": true, "message": "", "seconds": 0.1, "instant": null, "line": null}}',
         '{"finished": true}']
os.write(3, ("\\n".join(lines) + "\\n").encode())
os._exit(0)
"""


@pytest.mark.parametrize("side", ["simulation", "checks"])
def test_generated_code_cannot_report_a_reward_that_no_robot_earned(sandbox, project, side):
    """Code that has escaped the restricted interpreter sends the kit's own messages."""
    if side == "simulation":
        forger = escaping(FORGED)
    else:
        unreachable = BUILD.replace("(0.1, 0.0)", "(0.1, 0.0), tolerance=1e-9")
        code = textwrap.indent(textwrap.dedent(ESCAPE) + FORGED, "    ")
        forger = Program(unreachable, f"def check_a(sim):\n    sim.rollout()\n{code}")
    report, _ = sandbox.run(forger, project, seeds=(0,))
    assert not report.clean and max(report.reward, default=0.0) < 0.99
    assert "forged a sandbox message" in (report.violation or ""), report


def test_arrays_changed_in_place_do_not_reach_the_robots_world_and_a_refused_message_ends_the_child(sandbox, project):
    """The robot's world is rebuilt from the recipe, which does not contain changes in place."""
    moved = 'where = sim["red_cube"].position; where *= 0; where += (0.1, 0.0, 0.02)'
    report, _ = sandbox.run(tampering(moved), project)
    start = report.evidence["objects"]["red_cube"]["start"]
    assert report.reward[0] > 0.99 and np.allclose(start[:2], (0.0, 0.1), atol=0.002)
    # that program goes on for a minute; the run does not wait for it
    flood = escaping("for _ in range(432): os.write(3, b'[]\\n' * 21845)\nbring('time').sleep(60)")
    report, _ = sandbox.run(flood, project, limits=Limits(seconds=60))
    assert "forged a sandbox message" in (report.violation or "") and not report.timed_out


BEFORE = {
    "arrange": b'{"doing": "reading simulation.py"}\n',
    "perform": b'{"doing": "rolling out the oracle, seed 0"}\n{"reward": 0.5}\n{"doing": "reading checks.py"}\n',
}
"""What the kit sends before generated code runs in a child."""
CHECK = {"name": "check_a", "passed": True, "message": "", "seconds": 0.1, "instant": None, "line": None}
RECORD = {name: {"shape": [1], "data": "AAAAAAAAAAA="} for name in ("times", "qpos", "actions")}
RECORD |= {"reward": 1.0, "xml": "<mujoco/>", "events": [], "goals": []}
FIELDS = {
    "doing": "running check_a",
    "recipe": {"seed": 0, "calls": [{"verb": "goal", "arguments": ["a", 1], "named": {"tolerance": 0.1}}]},
    "reward": 1.0,
    "check": CHECK,
    "crash": "checks.py:1",
    "refused": "x",
    "broken": "x",
    "evidence": {"printed": "x"},
    "record": RECORD,
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
    if "record" in message and draw(st.booleans()):
        message["record"] = RECORD | {draw(st.sampled_from(list(RECORD))): draw(values)}
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
