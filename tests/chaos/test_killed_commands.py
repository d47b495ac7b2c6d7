"""A command that is killed at any moments and repeated ends with what it makes when nobody kills it."""

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from finished_files import finished_files
from ready_projects import ROOT, ready_project

from pipeline.project import Project

SEED = int(os.environ.get("SOAK_SEED", "0"))
KILLS = int(os.environ.get("SOAK_KILLS", "50"))
"""Of each command."""
LIVES = 5
"""Kills before the command may end."""


@dataclass(frozen=True)
class Command:
    arguments: Callable[[Path], Sequence[str]]
    """Returns the arguments, given the folder of one chain of kills."""
    project: tuple[str, str] | None = None
    """Sample scene and stage of a project that lies in the folder as `twin` before."""


def _export(form: str, out: str) -> Command:
    return Command(lambda at: ("export", f"{at}/twin", "--format", form, "--out", f"{at}/{out}"), ("blocks", "rounds"))


COMMANDS = {
    "run": Command(lambda at: ("run", "sample_scenes/blocks", "--out", f"{at}/twin")),
    "batch": Command(lambda at: ("batch", "sample_scenes/blocks", "--until", "scene", "--out", f"{at}/out")),
    "export to a folder": _export("gymnasium", "environment"),
    "export to a file": _export("zip", "twin.zip"),
    "learn": Command(
        lambda at: ("learn", f"{at}/twin", "--steps", "1500", "--layouts", "2"),
        ("blocks", "task"),
    ),
    "evaluate-policy": Command(
        lambda at: ("evaluate-policy", f"{at}/twin", "--policy", "hold", "--seconds", "1", "--out", f"{at}/out"),
        ("blocks", "rounds"),
    ),
}  # fmt: skip


def start(command: Command, folder: Path) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "studio", *command.arguments(folder)]
    return subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)


def end(command: Command, folder: Path) -> float:
    """Run the command to its end; return the seconds that it took."""
    begun = time.monotonic()
    with start(command, folder) as process:
        _, printed = process.communicate()
    assert process.returncode == 0, printed
    return time.monotonic() - begun


def begin(command: Command, folder: Path) -> Path:
    folder.mkdir()
    if command.project:
        shutil.copytree(ready_project(*command.project), folder / "twin")
    return folder


@pytest.mark.soak
@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_command_that_is_repeated_ends_as_if_nobody_had_killed_it(tmp_path, name):
    command, chance = COMMANDS[name], random.Random(f"{name} {SEED}")
    whole = begin(command, tmp_path / "whole")
    seconds, wanted = end(command, whole), finished_files(whole)
    killed = 0
    for chain in range(-(-KILLS // LIVES)):
        folder = begin(command, tmp_path / f"chain_{chain}")
        for _ in range(LIVES):
            with start(command, folder) as process:
                try:
                    _, printed = process.communicate(timeout=chance.random() * seconds)
                    assert process.returncode == 0, printed
                except subprocess.TimeoutExpired:
                    process.kill()
                    killed += 1
            if (folder / "twin" / "project.json").exists():
                Project.open(folder / "twin").stages()
        end(command, folder)
        assert finished_files(folder) == wanted
        shutil.rmtree(folder)
    assert killed >= KILLS // 2
