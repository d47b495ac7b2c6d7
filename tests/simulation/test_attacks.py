"""No attack reaches files, network or processes, and only the kit reports rewards."""

import os
import re
import sys
import textwrap

import numpy as np
import pytest

from pipeline.simulation.program import Program
from pipeline.simulation.sandbox.sandbox import Limits
from tests.simulation.attack_programs import BUILD, CANARY, CHECKS, ESCAPE, escaping, tampering, with_prefix

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox's full protection is Linux's")

REFUSED = "tried|not permitted|denied|No such file|Read-only file system|only kit, math, numpy"
ATTACKS = {
    "endless loop": (with_prefix("while True: pass"), "stopped after"),
    "endless loop in a check": (Program(BUILD, "def check_a(sim):\n    while True: pass"), "while running check_a"),
    "endless loop inside C": (with_prefix("x = 10 ** 10 ** 9"), "stopped after"),
    "endless loop that ignores signals": (
        escaping("s = bring('signal')\nfor n in (1, 2, 14, 15, 24): s.signal(n, s.SIG_IGN)\nwhile True: pass"),
        "stopped after",
    ),
    "memory, by lists": (with_prefix("x = []\nwhile True: x.append([0] * 10 ** 6)"), "more than 300 MB"),
    "memory, by numpy": (with_prefix("import numpy\nx = numpy.ones(10 ** 9)"), "more than 300 MB"),
    "fork bomb": (escaping("while True: os.fork()"), REFUSED),
    "shell": (escaping("os.system('touch {outside}/made')"), REFUSED),
    "exec": (escaping("os.execv('/bin/touch', ['touch', '{outside}/made'])"), REFUSED),
    "reading a system file": (escaping("raise ValueError(builtins.open('/etc/passwd').read())"), REFUSED),
    "reading a user's file": (escaping("raise ValueError(builtins.open('{outside}/secret').read())"), REFUSED),
    "reading by descriptor": (escaping("raise ValueError(os.read(os.open('{outside}/secret', 0), 99))"), REFUSED),
    "reading the environment": (escaping("raise ValueError(str(dict(os.environ)))"), "ValueError"),
    "reading its own process": (escaping("raise ValueError(builtins.open('/proc/self/environ').read())"), REFUSED),
    "reading our process": (escaping("raise ValueError(builtins.open('/proc/{pid}/environ').read())"), REFUSED),
    "listing a folder": (escaping("raise ValueError(str(os.listdir('{outside}')))"), REFUSED),
    "writing a file": (escaping("builtins.open('{outside}/made', 'w').write('x')"), REFUSED),
    "writing into the project": (escaping("builtins.open('{project}/scene/made', 'w').write('x')"), REFUSED),
    "writing through MuJoCo": (
        escaping(
            "m = bring('mujoco')\nx = m.MjModel.from_xml_string('<mujoco/>')\nm.mj_saveModel(x, '{outside}/made')"
        ),
        "KitError|FatalError|" + REFUSED,
    ),
    "deleting a file": (escaping("os.remove('{outside}/secret')"), REFUSED),
    "changing a file's mode": (escaping("os.chmod('{outside}/secret', 0)"), REFUSED),
    "network": (escaping("bring('socket').create_connection(('127.0.0.1', {port}))"), REFUSED),
    "a foreign library": (escaping("bring('ctypes').CDLL(None).ptrace(16, {pid}, 0, 0)"), REFUSED),
    "killing us": (escaping("os.kill({pid}, 9)"), REFUSED),
    "killing its supervisor": (escaping("os.kill(os.getppid(), 9)"), REFUSED),
    "killing us through a pipe": (
        escaping("f = bring('fcntl')\nf.fcntl(3, 8, {pid})\nf.fcntl(3, 10, 9)\nf.fcntl(3, 4, 0o20001)"),
        REFUSED,
    ),
    "killing its supervisor through a pipe": (escaping("bring('fcntl').fcntl(3, 8, os.getppid())"), REFUSED),
    "asking for a file's size": (escaping("raise ValueError('x' * os.stat('{outside}/secret').st_size)"), REFUSED),
    "following a link": (escaping("raise ValueError(os.readlink('/proc/self/exe'))"), REFUSED),
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
    "numpy reads": (
        with_prefix("import numpy\nraise ValueError(str(numpy.fromfile('{outside}/secret', 'u1')))"),
        "SystemError|" + REFUSED,
    ),
    "numpy writes": (with_prefix("import numpy\nnumpy.savetxt('{outside}/made', [1])"), REFUSED),
    "importing os": (with_prefix("import os"), "imports os; only kit, math, numpy"),
    "importing its own folder": (with_prefix("from . import x"), "only kit, math, numpy"),
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
    "no simulation at all": (Program("x = 1", CHECKS), "defines no build"),
    "broken syntax": (Program(BUILD + "(", CHECKS), r"simulation.py:8 SyntaxError"),
    "null bytes": (Program("x = '\0'", CHECKS), "SyntaxError|ValueError"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_reveals_and_changes_nothing(name, sandbox, project, outside, listener):
    attack, expected = ATTACKS[name]
    facts = {"outside": outside, "project": project, "pid": os.getpid(), "port": listener.getsockname()[1]}
    simulation = attack.simulation
    for fact, value in facts.items():
        simulation = simulation.replace("{" + fact + "}", str(value))
    attack = Program(simulation.replace("{{", "{").replace("}}", "}"), attack.checks)
    seconds = 2.0 if "while running" in expected else 0.6 if "stopped" in expected else 5
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
    with pytest.raises(TimeoutError):
        listener.accept()
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


def test_arrays_changed_in_place_do_not_reach_the_robots_world(sandbox, project):
    """The robot's world is rebuilt from the recipe, which does not contain changes in place."""
    moved = 'where = sim["red_cube"].position; where *= 0; where += (0.1, 0.0, 0.02)'
    report, _ = sandbox.run(tampering(moved), project)
    start = report.evidence["objects"]["red_cube"]["start"]
    assert report.reward[0] > 0.99 and np.allclose(start[:2], (0.0, 0.1), atol=0.002)
