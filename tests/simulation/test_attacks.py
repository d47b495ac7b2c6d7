"""Whatever a program tries, nothing comes out, and nobody but the kit tells what a robot earned."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from pipeline.simulation import confine
from pipeline.simulation.program import Program
from pipeline.simulation.sandbox import Limits
from tests.simulation.untrusted import BUILD, CANARY, CHECKS, ESCAPE, at_once, tampering, trying

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox's full protection is Linux's")

REFUSED = "tried|not permitted|denied|only kit, math, numpy"
ATTACKS = {
    "endless loop": (at_once("while True: pass"), "stopped after"),
    "endless loop in a check": (Program(BUILD, "def check_a(sim):\n    while True: pass"), "while running check_a"),
    "endless loop inside C": (at_once("x = 10 ** 10 ** 9"), "stopped after"),
    "endless loop that ignores signals": (
        trying("s = bring('signal')\nfor n in (1, 2, 14, 15, 24): s.signal(n, s.SIG_IGN)\nwhile True: pass"),
        "stopped after",
    ),
    "memory, by lists": (at_once("x = []\nwhile True: x.append([0] * 10 ** 6)"), "more than 300 MB"),
    "memory, by numpy": (at_once("import numpy\nx = numpy.ones(10 ** 9)"), "more than 300 MB"),
    "memory, by text": (at_once("x = 'x' * 10 ** 9"), "more than 300 MB"),
    "fork bomb": (trying("while True: os.fork()"), REFUSED),
    "shell": (trying("os.system('touch {outside}/made')"), REFUSED),
    "subprocess": (trying("bring('subprocess').run(['touch', '{outside}/made'])"), REFUSED),
    "spawn": (trying("os.posix_spawn('/bin/touch', ['touch', '{outside}/made'], {{}})"), REFUSED),
    "exec": (trying("os.execv('/bin/touch', ['touch', '{outside}/made'])"), REFUSED),
    "reading a system file": (trying("raise ValueError(builtins.open('/etc/passwd').read())"), REFUSED),
    "reading a user's file": (trying("raise ValueError(builtins.open('{outside}/secret').read())"), REFUSED),
    "reading by descriptor": (trying("raise ValueError(os.read(os.open('{outside}/secret', 0), 99))"), REFUSED),
    "reading the environment": (trying("raise ValueError(str(dict(os.environ)))"), "ValueError"),
    "reading its own process": (trying("raise ValueError(builtins.open('/proc/self/environ').read())"), REFUSED),
    "reading our process": (trying("raise ValueError(builtins.open('/proc/{pid}/environ').read())"), REFUSED),
    "listing a folder": (trying("raise ValueError(str(os.listdir('{outside}')))"), REFUSED),
    "writing a file": (trying("builtins.open('{outside}/made', 'w').write('x')"), REFUSED),
    "writing into the project": (trying("builtins.open('{project}/scene/made', 'w').write('x')"), REFUSED),
    "writing through MuJoCo": (
        trying("m = bring('mujoco')\nx = m.MjModel.from_xml_string('<mujoco/>')\nm.mj_saveModel(x, '{outside}/made')"),
        "KitError|FatalError|" + REFUSED,
    ),
    "deleting a file": (trying("os.remove('{outside}/secret')"), REFUSED),
    "changing a file's mode": (trying("os.chmod('{outside}/secret', 0)"), REFUSED),
    "network": (trying("bring('socket').create_connection(('127.0.0.1', {port}))"), REFUSED),
    "a foreign library": (trying("bring('ctypes').CDLL(None).ptrace(16, {pid}, 0, 0)"), REFUSED),
    "killing us": (trying("os.kill({pid}, 9)"), REFUSED),
    "killing its warden": (trying("os.kill(os.getppid(), 9)"), REFUSED),
    "killing itself": (trying("bring('_thread')\nos.abort()"), "ended by signal"),
    "thread flood": (
        trying("t = bring('threading')\nwhile True: t.Thread(target=bring('time').sleep, args=(9,)).start()"),
        "start new thread|more than|stopped after",
    ),
    "writing without end": (trying("while True: os.write(3, b'x' * 65536)"), "wrote more than 4 MB"),
    "forged results": (trying("os.write(3, b'{{\"reward\": 7}}\\n')\nos._exit(0)"), "spoke for the sandbox"),
    "results that are no data": (trying("os.write(3, b'cos\\nsystem\\n')\nos._exit(0)"), "spoke for the sandbox"),
    "closing the pipe": (trying("os.close(3)\nwhile True: pass"), "ended|stopped after"),
    "deep recursion": (at_once("def f(n): return f(n + 1)\nf(0)"), "RecursionError"),
    "leaving": (trying("sys.exit(0)"), "SystemExit"),
    "leaving at once": (trying("os._exit(0)"), "ended itself"),
    "leaving within a check": (
        Program(BUILD, f"def check_a(sim):{ESCAPE}    os._exit(0)"),
        "^checks.py: the process ended itself",
    ),
    "numpy reads": (
        at_once("import numpy\nraise ValueError(str(numpy.fromfile('{outside}/secret', 'u1')))"),
        "SystemError|" + REFUSED,
    ),
    "numpy loads pickles": (at_once("import numpy\nnumpy.load('{outside}/secret', allow_pickle=True)"), REFUSED),
    "numpy writes": (at_once("import numpy\nnumpy.savetxt('{outside}/made', [1])"), REFUSED),
    "importing os": (at_once("import os"), "imports os; only kit, math, numpy"),
    "importing by name": (at_once("__import__('subprocess')"), "imports subprocess"),
    "importing its own folder": (at_once("from . import x"), "only kit, math, numpy"),
    "swallowing what was refused": (at_once("try:\n    import os\nexcept BaseException: pass"), "imports os"),
    "opening without a trick": (at_once("open('/etc/passwd')"), "NameError"),
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
def test_whatever_a_program_tries_nothing_comes_out(name, sandbox, project, outside, listener):
    attack, says = ATTACKS[name]
    facts = {"outside": outside, "project": project, "pid": os.getpid(), "port": listener.getsockname()[1]}
    simulation = attack.simulation
    for fact, value in facts.items():
        simulation = simulation.replace("{" + fact + "}", str(value))
    attack = Program(simulation.replace("{{", "{").replace("}}", "}"), attack.checks)
    seconds = 2.0 if "while running" in says else 0.6 if "stopped" in says else 5
    server = sandbox._server
    report, record = sandbox.run(attack, project, limits=Limits(seconds=seconds, memory_mb=300, output_mb=4))

    assert not report.clean
    sentence = report.violation or report.crash or report.evidence.get("stopped", "")
    assert sentence and "\n" not in sentence and len(sentence) < 600
    assert re.search(says, " ".join([sentence, report.evidence.get("stopped", "")]))
    assert report.timed_out == ("stopped" in report.evidence)
    told = repr(report) + repr(record)
    assert CANARY not in told and "root:" not in told
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
def test_nobody_can_tell_a_reward_that_no_robot_earned(sandbox, project, side):
    """Code that has broken out of its restricted world speaks for the kit, in the kit's own words."""
    if side == "simulation":
        lying = trying(FORGED)
    else:
        unreachable = BUILD.replace("(0.1, 0.0)", "(0.1, 0.0), tolerance=1e-9")
        code = textwrap.indent(textwrap.dedent(ESCAPE) + FORGED, "    ")
        lying = Program(unreachable, f"def check_a(sim):\n    sim.rollout()\n{code}")
    report, _ = sandbox.run(lying, project, seeds=(0,))
    assert not report.clean and max(report.reward, default=0.0) < 0.99
    assert "spoke for the sandbox" in (report.violation or ""), report


def test_what_is_changed_behind_the_kits_back_is_not_in_the_world_the_robot_acts_in(sandbox, project):
    """An array changed in place: the recipe of the simulation, followed elsewhere, knows nothing of it."""
    moved = 'where = sim["red_cube"].position; where *= 0; where += (0.1, 0.0, 0.02)'
    report, _ = sandbox.run(tampering(moved), project)
    start = report.evidence["objects"]["red_cube"]["start"]
    assert report.reward[0] > 0.99 and np.allclose(start[:2], (0.0, 0.1), atol=0.002)


KERNEL = """
import ctypes, errno, os, socket, sys, threading
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from pipeline.simulation.confine import confine
allowed, secret = Path(sys.argv[2]), sys.argv[3]
libc = ctypes.CDLL(None, use_errno=True)
confine([allowed], 5, 300)

def call(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")

files = {
    "read": lambda: open(secret).read(),
    "write": lambda: open(allowed / "x", "w"),
    "list": lambda: os.listdir("/"),
    "environment": lambda: open("/proc/self/environ").read(),
    "device": lambda: open("/dev/zero", "rb").read(1),
    "delete": lambda: os.unlink(secret),
    "mode": lambda: os.chmod(secret, 0o600),
    "owner": lambda: os.chown(secret, -1, -1),
    "times": lambda: os.utime(secret),
    "link": lambda: os.symlink(secret, allowed / "y"),
    "folder": lambda: os.mkdir(allowed / "z"),
    "root": lambda: os.chroot("/"),
    "memory file": lambda: os.memfd_create("x"),
    "internet": lambda: socket.socket(),
    "local socket": lambda: socket.socketpair(),
    "kernel socket": lambda: socket.socket(16, 3, 0),
    "program": lambda: os.execv("/bin/true", ["true"]),
    "signal": lambda: os.kill(os.getppid(), 0),
    "user": lambda: os.setuid(os.getuid()),
    "process": lambda: os.fork() or os._exit(0),
    "names": lambda: libc.prctl(15, b"x", 0, 0, 0) and call(-1),
    "limits": lambda: __import__("resource").setrlimit(4, (0, 0)),
}
# Numbers of x86-64; arguments are such that nothing happens should the door be open.
numbers = dict(ptrace=101, mount=165, unshare=272, bpf=321, keyctl=250, userfaultfd=323, io_uring=425, pidfd=434,
               readv=310, seccomp=317, setns=308, perf=298, fanotify=300, add_key=248, kexec=246, module=175)
calls = {name: lambda number=number: call(number, -1, -1, -1, -1, -1, -1) for name, number in numbers.items()}
for name, attempt in {**files, **(calls if os.uname().machine == "x86_64" else {})}.items():
    try:
        attempt()
        print("OPEN", name)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EACCES):
            print("OPEN", name, error)
    except ValueError:
        pass
try:
    bytearray(10**9)
    print("OPEN memory")
except MemoryError:
    pass
print((allowed / "readable").read_text())
thread = threading.Thread(target=lambda: print("a thread"))
thread.start()
thread.join()
"""


def test_the_kernel_alone_holds_all_doors_without_any_help_from_python(tmp_path, outside):
    """Given raw access to the C library, as after the cleverest trick."""
    (tmp_path / "readable").write_text("the scene")
    root = Path(confine.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", KERNEL, str(root), str(tmp_path), str(outside / "secret")],
        capture_output=True,
        text=True,
        env={"OPENBLAS_NUM_THREADS": "1"},
        timeout=20,
    )
    assert done.stdout == "the scene\na thread\n", done.stderr
    assert done.returncode == 0
