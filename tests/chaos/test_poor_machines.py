"""A machine that lacks something gets the same twin and task, or one line that says what is missing."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from finished_files import finished_files
from ready_projects import ROOT, ready_project

pytestmark = [pytest.mark.soak, pytest.mark.skipif(os.geteuid() != 0, reason="only root may take things away")]
JUMPING_CLOCK = """
import random, time
true, chance = time.time, random.Random(0)
time.time = lambda: true() + chance.choice((-4e8, -9e4, 0.0, 9e4, 4e8))
"""


@dataclass(frozen=True)
class Machine:
    lacks: str = ":"
    """Shell command that takes something away from the process and its children alone."""
    environment: dict[str, str] = field(default_factory=dict)
    user: int = 0
    clock: str = ""
    """Python that is run first in each process."""


MACHINES = {
    "no shared memory": Machine("mount -t tmpfs -o size=4k,ro none /dev/shm"),
    "no network": Machine("ip link set lo down || true"),
    "nothing for others (umask)": Machine("umask 077"),
    "another user without a home": Machine("umask 022", {"HOME": "/nonexistent", "TMPDIR": "/tmp"}, user=65534),
    "a cache that is read-only": Machine("mkdir -p $HOME/.cache && mount -t tmpfs -o ro none $HOME/.cache"),
    "a clock that jumps": Machine(clock=JUMPING_CLOCK),
    "another language and no UTF-8": Machine(environment={"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0"}),
    "one core": Machine("taskset -p 1 $$ > /dev/null"),
    "no OpenGL": Machine(
        environment={"__EGL_VENDOR_LIBRARY_FILENAMES": "/dev/null", "LIBGL_DRIVERS_PATH": "/dev/null"}
    ),
}


TWIN = ("segments/masks.png", "scene.json", "scene/scene.xml", "scene/table.png", "task.json", "tasks.json")
"""Files that do not depend on the last bits of scores, which a cache made on another machine may bring."""


def twin(folder: Path) -> dict[str, str]:
    return {name: content for name, content in finished_files(folder).items() if name in TWIN}


def grs_studio(machine: Machine, tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command on such a machine: in namespaces of its own, for mounts and network."""
    first = tmp_path / "first"
    first.mkdir(exist_ok=True)
    (first / "sitecustomize.py").write_text(machine.clock)
    here = {name: value for name, value in os.environ.items() if not name.startswith("GRS_")}
    environment = here | {"PYTHONPATH": f"{first}:{ROOT}"} | machine.environment
    user = f"setpriv --reuid {machine.user} --regid {machine.user} --clear-groups" if machine.user else ""
    script = f'{machine.lacks} && exec {user} "$@"'
    words = ["unshare", "--mount", "--net", "bash", "-c", script, "bash", sys.executable, "-m", "studio", *arguments]
    return subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", MACHINES)
def test_a_poor_machine_makes_the_same_project(tmp_path, name):
    tmp_path.chmod(0o777), tmp_path.parent.chmod(0o755), tmp_path.parent.parent.chmod(0o755)
    out = tmp_path / "blocks"
    ran = grs_studio(MACHINES[name], tmp_path, "run", "sample_scenes/blocks", "--until", "task", "--out", str(out))
    assert ran.returncode == 0, ran.stderr
    assert twin(out) == twin(ready_project("blocks"))


def test_a_full_disk_is_one_line_and_with_space_again_the_project_is_made(tmp_path):
    disk, out = tmp_path / "disk", tmp_path / "disk" / "blocks"
    disk.mkdir()
    arguments = ("run", "sample_scenes/blocks", "--until", "task", "--out", str(out))
    for megabytes in (0.1, 0.5, 0.8, 1, 1.2):
        kilobytes = int(1000 * megabytes)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", str(disk)], check=True)
        try:
            ran = grs_studio(Machine(), tmp_path, *arguments)
            last = ran.stderr.strip().splitlines()[-1]
            assert ran.returncode == 2 and "disk is full" in last and "Traceback" not in ran.stderr, ran.stderr
            subprocess.run(["mount", "-o", "remount,size=100m", str(disk)], check=True)
            ran = grs_studio(Machine(), tmp_path, *arguments)
            assert ran.returncode == 0, ran.stderr
            assert twin(out) == twin(ready_project("blocks"))
        finally:
            subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("lost", ["segments", "scene", "cache", "task.json", "matches.json", "frame"])
def test_files_that_are_deleted_under_a_project_are_made_again_or_named(tmp_path, lost):
    out = tmp_path / "blocks"
    shutil.copytree(ready_project("blocks"), out)
    path = out / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    ran = grs_studio(Machine(), tmp_path, "run", "sample_scenes/blocks", "--until", "task", "--out", str(out))
    if lost in ("frame", "scene"):
        assert ran.returncode == 2 and "internal error" not in ran.stderr, ran.stderr
        assert {"frame": "frame", "scene": "remove scene.json"}[lost] in ran.stderr.strip().splitlines()[-1]
        return
    assert ran.returncode == 0, ran.stderr
    assert twin(out) == twin(ready_project("blocks"))
