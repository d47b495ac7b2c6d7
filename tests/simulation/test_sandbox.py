"""Whatever a program tries, nothing comes out, limits hold, we survive, and the report says it in one sentence."""

import json
import os
import re
import socket
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pipeline.simulation import cgroup, confine
from pipeline.simulation.alteration import KINDS
from pipeline.simulation.program import Program
from pipeline.simulation.sandbox import Cancelled, Limits, Sandbox, SandboxError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox's full protection is Linux's")

CANARY = "canary-4711"
BUILD = """
import kit

def build(scene, seed):
    sim = kit.Simulation(scene, seed)
    sim.goal(kit.at("red_cube", (0.1, 0.0)))
    return sim
"""
CHECKS = """
def check_oracle_solves_it(sim):
    run = sim.rollout()
    assert run.reward > 0.99, f"reward {run.reward:.2f}: {run.why}"

def check_red_cube_moved(sim):
    assert sim.rollout().moved("red_cube") > 0.05

def check_nothing_is_solved_at_the_start(sim):
    assert sim.reward_at_start() < 0.99, "the goal holds before anything moved"
"""
HONEST = Program(BUILD, CHECKS)
ESCAPE = """
    kinds = ().__class__.__base__.__subclasses__()
    found = [kind for kind in kinds if kind.__name__ == "_wrap_close"][0].__init__.__globals__
    sys = found["sys"]
    os, builtins = sys.modules["os"], sys.modules["builtins"]
    bring = builtins.__import__
"""


def trying(code: str) -> Program:
    """A program that has found the way to Python's insides, and does this in build."""
    lines = "".join(f"    {line}\n" for line in code.splitlines())
    return Program(f"def build(scene, seed):{ESCAPE}{lines}    return None\n", CHECKS)


def at_once(code: str) -> Program:
    return Program(code + "\n" + BUILD, CHECKS)


def tampering(code: str) -> Program:
    """An otherwise honest program that changes something on the way."""
    return Program(BUILD.replace("    return sim", f"    {code}\n    return sim"), CHECKS)


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


@pytest.fixture(scope="module")
def outside(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("outside")
    (folder / "secret").write_text(CANARY)
    return folder


@pytest.fixture(scope="module")
def sandbox(project):
    before = dict(os.environ)
    os.environ["OPENAI_API_KEY"] = CANARY
    try:
        with Sandbox() as sandbox:
            assert sandbox.covered
            yield sandbox
    finally:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """Two cubes on a table, as DESIGN section 9 has it."""
    folder = tmp_path_factory.mktemp("project")
    places = {"red_cube": (0.0, 0.1), "blue_cube": (0.0, -0.1)}
    body = '<body name="{}" pos="{} {} 0.02"><freejoint/><geom type="box" size=".02 .02 .02" mass=".05"/></body>'
    bodies = "".join(body.format(name, *xy) for name, xy in places.items())
    table = '<geom name="table" type="box" pos="0 0 -.02" size=".4 .4 .02"/>'
    (folder / "scene").mkdir()
    (folder / "scene" / "scene.xml").write_text(f"<mujoco><worldbody>{table}{bodies}</worldbody></mujoco>")
    placements = [
        {
            "name": name,
            "segment_id": number,
            "asset_id": None,
            "scale": 1.0,
            "size": [0.04, 0.04, 0.04],
            "world_from_object": {"pos": [*xy, 0.02], "quat_wxyz": [1, 0, 0, 0]},
            "shape": "cube",
            "colour": name.split("_")[0],
        }
        for number, (name, xy) in enumerate(places.items(), 1)
    ]
    camera = [[1, 0, 0, 0], [0, -1, 0, 0], [0, 0, -1, 1], [0, 0, 0, 1]]
    corners = [[-0.4, -0.4], [0.4, -0.4], [0.4, 0.4], [-0.4, 0.4]]
    scene = {"world_from_camera": camera, "placements": placements, "table": corners, "table_rgb": [200, 200, 200]}
    (folder / "scene.json").write_text(json.dumps(scene))
    (folder / "descriptions.json").write_text("[]")
    return folder


@pytest.fixture(scope="module")
def listener():
    """A server on this machine that would notice a visitor."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.01)
        yield server


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


def test_an_honest_program_passes_and_its_rollout_can_be_played_again(sandbox, project):
    report, record = sandbox.run(HONEST, project, seeds=(0, 1))
    assert report.clean, report
    assert [check.name for check in report.checks] == [
        "check_oracle_solves_it",
        "check_red_cube_moved",
        "check_nothing_is_solved_at_the_start",
    ]
    assert len(report.reward) == 2 and min(report.reward) > 0.99
    assert [goal["met"] for goal in report.evidence["goals"]] == [True]
    assert report.evidence["moved_before_touch"] == {}
    assert record.qpos.shape[0] == record.actions.shape[0] == record.times.shape[0] > 10
    assert np.isfinite(record.qpos).all() and "<mujoco" in record.xml
    assert any(event["object"] == "red_cube" for event in record.events)


def test_a_run_repeated_is_the_same_run(sandbox, project):
    (_, first), (_, second) = (sandbox.run(HONEST, project, seeds=(3,), checks=False) for _ in range(2))
    assert np.array_equal(first.qpos, second.qpos) and np.array_equal(first.actions, second.actions)


def test_each_check_says_on_its_own_what_it_found_and_where(sandbox, project):
    checks = """
def check_fine(sim):
    assert sim.rollout().solved
    return 1.5

def check_wrong(sim):
    assert sim["red_cube"].top > 1, "the red cube is low"

def check_wrong_at_an_instant(sim):
    assert sim["red_cube"].top > 1, ("the red cube is low", 2.25)

def check_bare(sim):
    top = sim["red_cube"].top
    assert top > 1

def check_broken(sim):
    return sim["green_cube"]

def no_check(sim):
    assert False
"""
    report, _ = sandbox.run(Program(BUILD, checks), project)
    fine, wrong, instant, bare, broken = report.checks
    assert fine.passed and fine.instant == 1.5
    assert (wrong.passed, wrong.message, wrong.line) == (False, "the red cube is low", 7)
    assert (instant.message, instant.instant, instant.line) == ("the red cube is low", 2.25, 10)
    assert bare.message == "does not hold: assert top > 1"
    assert broken.message.startswith("checks.py:17 KitError: there is no object 'green_cube'")
    assert report.crash == broken.message


def test_what_a_program_prints_is_kept_and_never_floods(sandbox, project):
    report, _ = sandbox.run(at_once("print('hello', 3)\nfor _ in range(9999): print('x' * 999)"), project, checks=False)
    assert report.evidence["printed"].startswith("hello 3\nxxx")
    assert len(report.evidence["printed"]) == 2000


def test_a_crash_names_side_and_line(sandbox, project):
    report, record = sandbox.run(Program(BUILD.replace("red_cube", "green_cube"), CHECKS), project)
    assert report.crash.startswith("simulation.py:6 KitError: there is no object 'green_cube'; there are: red_cube")
    assert record is None and report.reward == ()


def test_a_project_without_a_scene_is_a_clear_line(sandbox, tmp_path):
    report, _ = sandbox.run(HONEST, tmp_path)
    assert "has no scene.json" in report.crash


def test_a_run_can_be_stopped_from_another_thread(sandbox, project):
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    with pytest.raises(Cancelled):
        sandbox.run(at_once("while True: pass"), project, limits=Limits(seconds=60), cancel=stop)
    assert sandbox.run(at_once("1/0"), project)[0].crash.startswith("simulation.py:1 ZeroDivisionError")


def test_many_runs_side_by_side_do_not_mix(sandbox, project):
    def run(number: int) -> str:
        return sandbox.run(at_once(f"raise ValueError({number})"), project)[0].crash

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, range(16))) == [f"simulation.py:1 ValueError: {n}" for n in range(16)]


def test_a_server_that_died_is_started_again(sandbox, project):
    sandbox._server._process.kill()
    sandbox._server._process.wait()
    assert sandbox.run(at_once("1/0"), project)[0].crash.startswith("simulation.py:1 ZeroDivisionError")


def test_a_server_that_cannot_start_is_our_error_and_no_failed_check(monkeypatch, project):
    monkeypatch.setattr("pipeline.simulation.sandbox.START", "import nothing_like_this")
    with pytest.raises(SandboxError, match="cannot start"), Sandbox() as broken:
        broken.run(HONEST, project)


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


def test_checks_that_would_pass_for_another_task_are_found_out(sandbox, project):
    loose, _ = sandbox.run(HONEST, project, alterations=tuple(KINDS))
    assert loose.evidence["noticed"]["nothing"].startswith("check_")
    missed = {check.name for check in loose.checks if not check.passed}
    assert "meaning inverted" in missed, "check_red_cube_moved asks for a move, not for the place"
    exact = CHECKS + "\ndef check_place(sim):\n    x, y, _ = sim.rollout().end('red_cube').position\n"
    exact += "    assert abs(x - 0.1) + abs(y) < 0.06, 'not there'\n"
    report, _ = sandbox.run(Program(BUILD, exact), project, alterations=tuple(KINDS))
    assert report.clean and set(report.evidence["noticed"]) >= {"nothing", "inverted", "another object"}


def test_nothing_is_left_of_a_runs_control_group(sandbox, project):
    sandbox.run(at_once("while True: pass"), project, limits=Limits(seconds=0.3))
    left = [folder.name.removeprefix("grs-") for parent, _ in cgroup._places(1) for folder in parent.glob("grs-*")]
    assert not [warden for warden in left if not Path("/proc", warden).exists()], "others may run beside this test"


def test_closing_leaves_no_process_behind(project):
    sandbox = Sandbox()
    sandbox.run(at_once("1/0"), project)
    process = sandbox._server._process
    sandbox.close()
    assert process.poll() is not None


def test_what_is_not_covered_is_said(sandbox, monkeypatch):
    assert all("NOT" not in sentence for sentence in sandbox.protection)
    monkeypatch.setattr(sandbox._server, "coverage", {"files": False, "calls": False, "memory": False})
    assert not sandbox.covered
    assert [sentence.count("NOT covered") for sentence in sandbox.protection] == [1, 1, 1]


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
