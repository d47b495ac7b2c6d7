"""Whatever kills it, fills its disk or cuts off its files: nothing confirmed is lost, and each project opens again."""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from async_calls import run_async
from browser.studio_process import Studio
from ready_projects import ROOT, ready_project

from bench.load import clicks
from pipeline.decisions import read_log
from pipeline.models.trace.recorder import read_trace
from pipeline.project import Project, is_free
from pipeline.router import next_round_number

FIRST = int(os.environ.get("SOAK_SEED", "0"))
SEEDS = [*range(10), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(FIRST + 10, FIRST + 310))]
CUT = (
    "decisions.jsonl", "project.json", "descriptions.json", "matches.json", "scene.json", "tasks.json", "task.json",
    "segments/coco.json", "segments/automatic/coco.json", "segments/masks.png", "trace.jsonl", "rounds.jsonl",
    "rounds/000/report.json",
)  # fmt: skip


@pytest.fixture(scope="module")
def parent() -> Iterator[subprocess.Popen[str]]:
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = os.environ | one_thread | {"PYTHONPATH": str(Path(__file__).parents[2])}
    command, pipe = [sys.executable, str(Path(__file__).with_name("lives.py"))], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as process:
        yield process
        process.kill()


class Known:
    def __init__(self) -> None:
        self.decisions: list[Any] = []
        self.asked: set[float] = set()
        self.rounds = 0

    def take(self, line: dict[str, Any]) -> None:
        if "decisions" in line:
            assert line["at"] == len(self.decisions), f"a decision that was not confirmed came between: {line}"
            self.decisions += line["decisions"]
        if "asked" in line:
            self.asked.add(line["asked"])
        if "round" in line:
            self.rounds = max(self.rounds, line["round"] + 1)


def kill_a_life(parent: subprocess.Popen[str], folder: Path, chance: random.Random, known: Known) -> None:
    """Let a process work on the project, and kill it after some acts, in the middle of the next."""
    wanted = {"folder": str(folder), "seed": chance.randrange(10**9), "disk_fills": chance.random() < 0.4}
    assert parent.stdin and parent.stdout
    parent.stdin.write(json.dumps(wanted) + "\n")
    parent.stdin.flush()
    until, lines = chance.choice((1, 1, 2, 4, 9, 21)), []
    while not lines or "ended" not in lines[-1]:
        lines.append(json.loads(parent.stdout.readline()))
        if len(lines) == until:
            time.sleep(chance.random() ** 2 * 0.03)  # some way into the next act
            with suppress(ProcessLookupError):
                os.kill(lines[0]["pid"], 9)
    assert not [line["fault"] for line in lines if "fault" in line]
    for line in lines:
        known.take(line)


def check(folder: Path, known: Known) -> None:
    if not (folder / "project.json").exists():
        assert not known.decisions and (not folder.exists() or is_free(folder)), "killed while it was made"
        return
    project = Project.open(folder)
    found = [[one.kind, json.loads(json.dumps(one.data))] for one in project.decisions]
    assert found[: len(known.decisions)] == known.decisions
    assert len(found) <= len(known.decisions) + 3, "at most the act in flight is there without being confirmed"
    known.decisions = found
    assert next_round_number(folder) >= known.rounds
    recorded = {json.loads(one["input.value"])["n"] for one in read_trace(folder / "trace.jsonl") if "name" in one}
    assert known.asked <= recorded
    project.stages()
    project.close()


def cut_a_file(folder: Path, chance: random.Random, known: Known) -> None:
    """Take the end of a file, and what was in it from what is known."""
    path = folder / chance.choice(CUT)
    if not path.is_file() or not (folder / "project.json").exists():
        return
    os.truncate(path, chance.randint(0, path.stat().st_size))
    if path.name == "decisions.jsonl":
        known.decisions = known.decisions[: len(read_log(path))]
    if path.name == "trace.jsonl":
        known.asked = set()


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_confirmed_is_lost_and_the_project_opens_again(parent, tmp_path, seed):
    chance, known, folder = random.Random(seed), Known(), tmp_path / "project"
    for _ in range(3):
        kill_a_life(parent, folder, chance, known)
        check(folder, known)
        if chance.random() < 0.5:
            cut_a_file(folder, chance, known)
            check(folder, known)
    if not (folder / "project.json").exists():
        return
    project = Project.open(folder)
    project.begin_writing()
    assert not list(folder.rglob(".*.part")), "what the killed left is gone"
    project.segments(), project.tasks(), project.task(), project.rounds(), project.solution()
    before = len(project.decisions)
    project.decide("not_object", id=1, value=True)
    project.undo()
    assert len(Project.open(folder).decisions) == before + 2
    project.close()


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may take things away")
DIFFERENT = {"at", "created", "id", "name", "processor", "seconds", "round_seconds", "total_seconds"}
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
    if path.suffix == ".zip" and "learning" in path.parts:  # a policy, with "data" of when its training began
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist() if name != "data"}
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
    "learn": (
        "learn {at}/twin --subtask reach_red_cube --steps 600 --layouts 1 --demonstrations 0 --from reset",
        "task",
    ),
    "evaluate-policy": (
        "evaluate-policy {at}/twin --policy hold --count 100 --seconds 0.3 --camera photo --out {at}/out",
        "solution",
    ),
}
"""Words of each, with the folder of one chain of kills, and the stage of a project that lies there as `twin` before."""
WITHIN = {"evaluate-policy": 2 / LIVES}
"""Share of its time within which a command that goes on where it was is killed, so that it is killed in every life."""


@pytest.mark.soak
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

    live(begin(tmp_path / "first"))  # it fills this machine's caches, which takes longer
    whole, begun = begin(tmp_path / "whole"), time.monotonic()
    live(whole)
    seconds, wanted = time.monotonic() - begun, finished_files(whole)
    for chain in range(-(-KILLS // LIVES)):
        folder, longest = begin(tmp_path / f"chain_{chain}"), seconds * WITHIN.get(name, 1.0)
        for _ in range(LIVES):
            begun, is_killed = time.monotonic(), live(folder, chance.random() * longest)
            killed += is_killed
            longest = longest if is_killed else time.monotonic() - begun  # what it takes where nothing is left to do
            if (folder / "twin" / "project.json").exists():
                Project.open(folder / "twin").stages()
        live(folder)
        assert finished_files(folder) == wanted
        shutil.rmtree(folder)
    assert killed >= KILLS // 2


MADE = ("descriptions.json", "matches.json", "scene.json", "segments/masks.png", "solution.json", "task.json")


@pytest.mark.soak
def test_a_studio_killed_under_clicks_loses_nothing_it_answered_and_ends_as_if_nobody_had_killed_it(tmp_path):
    chance, answered, before, made = random.Random(SEED), [], [], []
    killed, whole = (tmp_path / name / "blocks" for name in ("killed", "whole"))
    for folder in (killed, whole):
        shutil.copytree(ready_project("blocks"), folder)
    log, studio = killed / "decisions.jsonl", Studio(killed.parent)
    for _ in range(KILLS):
        run_async(clicks.kill_under_clicks(studio, chance, answered))
        kept = [json.dumps(one.data) for one in (read_log(log) if log.exists() else ())]
        assert kept[: len(before)] == before and all(any(mark in one for one in kept) for mark in answered)
        before = kept
        studio.start()
    assert len(answered) > KILLS
    shutil.copy(log, whole)
    for one in (studio, Studio(whole.parent)):
        run_async(clicks.finish(one))
        one.close()
        made.append(finished_files(one.workspace / "blocks"))
    assert [made[0].get(name) for name in MADE] == [made[1][name] for name in MADE]


@pytest.mark.skipif(not Path("/proc/net/if_inet6").exists(), reason="needs IPv6")
def test_a_studio_at_an_ipv6_address_prints_where_its_page_its_channel_and_its_viewer_are(tmp_path, capfd):
    shutil.copytree(ready_project("blocks", "scene"), tmp_path / "blocks")
    with closing(Studio(tmp_path, "::1")) as studio:
        printed = capfd.readouterr().out.partition(" is open at ")[2].split(" ")[0]
        assert f"{printed}/" == studio.address and run_async(clicks.first_poses(printed))


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
@pytest.mark.soak
@pytest.mark.parametrize("name", MACHINES)
def test_a_poor_machine_makes_the_same_project(name):
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # other users may not enter pytest's own
        Path(folder).chmod(0o777)
        assert make_twin(MACHINES[name], Path(folder), Path(folder) / "blocks") == []


@as_root
@pytest.mark.soak
@pytest.mark.parametrize("lost", ["segments", "scene", "cache", "task.json", "matches.json", "frame"])
def test_files_that_are_deleted_under_a_project_are_made_again_or_named(tmp_path, lost):
    out = tmp_path / "blocks"
    shutil.copytree(ready_project("blocks"), out)
    path = out / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    told = make_twin(Machine(), tmp_path, out)
    named = {"frame": "frame", "scene": "remove scene.json"}.get(lost)
    assert named in told[-1] if named else told == []
