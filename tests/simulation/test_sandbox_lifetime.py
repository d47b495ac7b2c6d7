"""No process of the sandbox outlives its parent, however that ends and whatever the program does meanwhile."""

import contextlib
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.attack_programs import ESCAPE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")

STUDIO = """
import sys, threading
from pathlib import Path
from pipeline.simulation.program import Program
from pipeline.simulation.sandbox.sandbox import Limits, Sandbox
sandbox = Sandbox()

def first_run():  # in a thread that ends long before the server
    sandbox.run(Program("1/0", ""), Path(sys.argv[1]))

thread = threading.Thread(target=first_run)
thread.start()
thread.join()
print("ready", flush=True)
sandbox.run(Program(sys.argv[2], ""), Path(sys.argv[1]), limits=Limits(seconds=60))
"""
PROGRAMS = {"asleep": f"def build(scene, seed):{ESCAPE}    bring('time').sleep(60)", "busy": "while True: pass"}
SECONDS = 20
"""After which a process counts as one that stays."""


def children(pid: int) -> list[int]:
    """Return the direct children of a process."""
    found: list[int] = []
    with contextlib.suppress(FileNotFoundError):  # it ended meanwhile
        for task in Path("/proc", str(pid), "task").glob("*/children"):
            found += map(int, task.read_text().split())
    return found


def chain(studio: int, state: str) -> list[int]:
    """Wait until the program sleeps or works in a child; return the studio, the server, a supervisor and the child."""
    while True:
        found = [studio]
        while later := children(found[-1]):
            found.append(later[0])
        with contextlib.suppress(FileNotFoundError):
            if len(found) == 4 and runs(found[-1], state):
                return found


def runs(child: int, state: str) -> bool:
    """Whether a child is confined and the program in it sleeps, or has been working for some time."""
    folder = Path("/proc", str(child))
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    waits, ticks = fields[0] == "S", int(fields[11])
    return "Seccomp:\t2" in (folder / "status").read_text() and (waits if state == "asleep" else ticks > 20)


@pytest.mark.parametrize(
    ("victim", "state"),
    [("studio", "busy"), ("server", "asleep"), ("supervisor", "busy")]
    + [
        pytest.param(*one, marks=pytest.mark.soak)
        for one in (("studio", "asleep"), ("server", "busy"), ("supervisor", "asleep"))
    ],
)
def test_nothing_outlives_a_killed_parent(project, state, victim):
    with subprocess.Popen(
        [sys.executable, "-c", STUDIO, str(project), PROGRAMS[state]], stdout=subprocess.PIPE, start_new_session=True
    ) as studio:
        try:
            assert studio.stdout is not None and studio.stdout.readline() == b"ready\n"
            processes = chain(studio.pid, state)
            first = ["studio", "server", "supervisor"].index(victim)
            watched = [os.pidfd_open(pid) for pid in processes[first:]]
            os.kill(processes[first], signal.SIGKILL)
            for process in watched:
                ended, _, _ = select.select([process], [], [], SECONDS)
                assert ended, f"a process is left after the {victim} was killed"
                os.close(process)
        finally:
            studio.kill()
