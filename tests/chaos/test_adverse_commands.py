"""A command that is killed and repeated, or whose machine lacks something, makes the same or says in a line why not."""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ready_projects import ROOT, ready_project

from pipeline.project import Project

pytestmark = pytest.mark.soak
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may take things away")
DIFFERENT = {"at", "created", "id", "name", "seconds", "round_seconds", "total_seconds"}
"""Keys of values that differ between two runs."""
UNCOMPARED = (".writer.lock", "trace.jsonl", "cache/")


def finished_files(folder: Path) -> dict[str, str]:
    """Return the content of each file below a folder as text that two runs have in common, by relative path."""
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    kept = {name: path for name, path in files.items() if not any(part in name for part in UNCOMPARED)}
    return {name: repr(_content(path)).replace(str(folder), "") for name, path in kept.items()}


def _content(path: Path) -> Any:
    if path.suffix in (".json", ".jsonl"):
        text = path.read_text("utf-8")
        return [_common(json.loads(one)) for one in (text.splitlines() if path.suffix == ".jsonl" else [text])]
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name].tobytes() for name in arrays.files}
    return path.read_bytes()


def _common(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _common(item) for key, item in value.items() if key not in DIFFERENT}
    return [_common(item) for item in value] if isinstance(value, list) else value


SEED = int(os.environ.get("SOAK_SEED", "0"))
KILLS = int(os.environ.get("SOAK_KILLS", "50"))
"""Of each command."""
LIVES = 5
"""Kills before the command may end."""
COMMANDS = {
    "run": ("run sample_scenes/blocks --out {at}/twin", ""),
    "batch": ("batch sample_scenes/blocks --until scene --out {at}/out", ""),
    "export to a folder": ("export {at}/twin --format gymnasium --out {at}/environment", "solution"),
    "export to a file": ("export {at}/twin --format zip --out {at}/twin.zip", "solution"),
    "learn": ("learn {at}/twin --steps 600 --layouts 1 --from reset", "task"),
    "evaluate-policy": (
        "evaluate-policy {at}/twin --policy hold --count 100 --seconds 0.3 --camera photo --out {at}/out",
        "solution",
    ),
}
"""Words of each, with the folder of one chain of kills, and the stage of a project that lies there as `twin` before."""
WITHIN = {"evaluate-policy": 2 / LIVES}
"""Share of its time within which a command that goes on where it was is killed, so that it is killed in every life."""


@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_command_that_is_repeated_ends_as_if_nobody_had_killed_it(tmp_path, name):
    (words, stage), chance, killed = COMMANDS[name], random.Random(f"{name} {SEED}"), 0

    def begin(folder: Path) -> Path:
        folder.mkdir()
        if stage:
            shutil.copytree(ready_project("blocks", stage), folder / "twin")
        return folder

    def live(folder: Path, seconds: float | None = None) -> bool:
        """Run the command to its end, or for some seconds; return whether it was killed."""
        command = [sys.executable, "-m", "studio", *(word.format(at=folder) for word in words.split())]
        try:
            ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return True
        assert ran.returncode == 0, ran.stderr
        return False

    whole, begun = begin(tmp_path / "whole"), time.monotonic()
    live(whole)
    seconds, wanted = time.monotonic() - begun, finished_files(whole)
    for chain in range(-(-KILLS // LIVES)):
        folder = begin(tmp_path / f"chain_{chain}")
        for _ in range(LIVES):
            killed += live(folder, chance.random() * seconds * WITHIN.get(name, 1.0))
            if (folder / "twin" / "project.json").exists():
                Project.open(folder / "twin").stages()
        live(folder)
        assert finished_files(folder) == wanted
        shutil.rmtree(folder)
    assert killed >= KILLS // 2


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
    "no OpenGL": Machine(":", {"__EGL_VENDOR_LIBRARY_FILENAMES": "/dev/null", "LIBGL_DRIVERS_PATH": "/dev/null"}),
}
TWIN = ("segments/masks.png", "scene.json", "scene/scene.xml", "scene/table.png", "task.json", "tasks.json")
"""Files that do not depend on the last bits of scores, which a cache made on another machine may bring."""


def make_twin(machine: Machine, tmp_path: Path, out: Path) -> list[str]:
    """Run blocks on such a machine, in namespaces of its own for mounts and network; return the lines of a refusal.

    What is made without one is the ready project.
    """
    (first := tmp_path / "first").mkdir(exist_ok=True)
    (first / "sitecustomize.py").write_text(machine.clock)
    here = {name: value for name, value in os.environ.items() if not name.startswith("GRS_")}
    environment = here | {"PYTHONPATH": f"{first}:{ROOT}"} | machine.environment
    user = f"setpriv --reuid {machine.user} --regid {machine.user} --clear-groups" if machine.user else ""
    script = f'{machine.lacks} && exec {user} "$@"'
    words = ["unshare", "--mount", "--net", "bash", "-c", script, "bash", sys.executable, "-m", "studio", "run"]
    words += ["sample_scenes/blocks", "--until", "task", "--out", str(out)]
    ran = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode:
        assert ran.returncode == 2 and "Traceback" not in ran.stderr and "internal error" not in ran.stderr, ran.stderr
        return ran.stderr.strip().splitlines()
    made, ready = (finished_files(folder) for folder in (out, ready_project("blocks")))
    assert [made.get(name) for name in TWIN] == [ready[name] for name in TWIN]
    return []


@as_root
@pytest.mark.parametrize("name", MACHINES)
def test_a_poor_machine_makes_the_same_project(name):
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # other users may not enter pytest's own
        Path(folder).chmod(0o777)
        assert make_twin(MACHINES[name], Path(folder), Path(folder) / "blocks") == []


@as_root
@pytest.mark.parametrize("lost", ["segments", "scene", "cache", "task.json", "matches.json", "frame"])
def test_files_that_are_deleted_under_a_project_are_made_again_or_named(tmp_path, lost):
    out = tmp_path / "blocks"
    shutil.copytree(ready_project("blocks"), out)
    path = out / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    told = make_twin(Machine(), tmp_path, out)
    named = {"frame": "frame", "scene": "remove scene.json"}.get(lost)
    assert named in told[-1] if named else told == []
