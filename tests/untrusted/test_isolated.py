"""A reader in a confined child returns what it read, or one line; whatever it tries, it reaches nothing else."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from offline_studio import wait_until

from pipeline.confinement import platform_coverage
from pipeline.untrusted.isolated import ROOT, IsolationError, Limits, call

ATTACKS = "tests.untrusted.attacks"
covered = pytest.mark.skipif(
    not (platform_coverage()["files"] and platform_coverage()["calls"]), reason="needs Landlock and seccomp"
)


def test_values_and_arrays_come_back_unchanged():
    reply = call(f"{ATTACKS}:echo", {"text": "\u00fc\n"}, [])
    assert reply.value == "\u00fc\n" and np.array_equal(reply.arrays[0], np.arange(6.0).reshape(2, 3))


@covered
def test_a_taken_over_reader_reaches_no_file_network_process_or_key(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    reply = call(f"{ATTACKS}:try_everything", {"secret": str(secret), "parent": os.getpid()}, [])
    assert reply.value == [] and secret.read_text() == "secret"


@pytest.mark.parametrize(
    ("attack", "limits", "message"),
    [
        ("sleep", Limits(seconds=0.5), "longer than 0.5 s"),
        ("take_memory", Limits(memory_mb=256), "more than 256 MB"),
        ("crash", Limits(), "too much memory or time to read, or is damaged"),
        ("send_objects", Limits(), "an attack|cannot be read"),
    ],
)
def test_a_reader_that_fails_is_one_line(attack, limits, message):
    with pytest.raises(IsolationError, match=message) as caught:
        call(f"{ATTACKS}:{attack}", {}, [], limits=limits)
    assert "\n" not in str(caught.value)


STUDIO_THAT_DIES = f"""
import os, signal, threading, time
from pathlib import Path
from pipeline.untrusted.isolated import call
server = call("{ATTACKS}:parent", {{}}, []).value
threading.Thread(target=lambda: call("{ATTACKS}:sleep", {{}}, []), daemon=True).start()
while not (children := Path(f"/proc/{{server}}/task/{{server}}/children").read_text().split()):
    time.sleep(0.01)
print(server, *children, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks in /proc")
def test_a_child_and_its_server_end_with_the_studio():
    process = subprocess.run([sys.executable, "-c", STUDIO_THAT_DIES], cwd=ROOT, capture_output=True, text=True)
    assert process.returncode == -signal.SIGKILL, process.stderr
    left = [Path("/proc", pid) for pid in process.stdout.split()]
    assert len(left) >= 2
    wait_until(lambda: not any(pid.exists() for pid in left), "the end of the child and its server")


def test_calls_from_many_threads_are_answered_each_with_its_own():
    answers: dict[str, object] = {}

    def ask(text: str) -> None:
        answers[text] = call(f"{ATTACKS}:echo", {"text": text}, []).value

    threads = [threading.Thread(target=ask, args=(str(number),)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {str(number): str(number) for number in range(6)}
