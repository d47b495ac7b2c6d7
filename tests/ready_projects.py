"""Projects of the sample scenes in build/ready_projects/HASH-OF-SOURCES: made once, shared; copy one to change it.

Their proposed tasks are rehearsed, as they are once a person has seen the Task page.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import privacy
from filelock import FileLock

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "ready_projects"
SOURCES = ("pipeline", "sample_scenes", "grs_studio.py", "requirements.lock", "tests/ready_projects.py")
"""What makes a project, below the checkout."""
AFTER_TASK = ("rounds", "solution")


def ready_project(scene: str, until: str = "task", task: str = "") -> Path:
    """Return the project folder of a sample scene after a stage; an empty task is the first proposed one."""
    name = f"{scene}_{until}" + (f"_{hashlib.sha256(task.encode()).hexdigest()[:8]}" if task else "")
    made = FOLDER / _sources_hash() / name / scene
    made.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(made.parent / "lock"):
        if not made.exists():
            part = made.parent / "part"
            shutil.rmtree(part, ignore_errors=True)
            if until in AFTER_TASK:  # goes on where that one ends
                shutil.copytree(ready_project(scene), part)
            command = ["run", f"sample_scenes/{scene}", "--out", str(part), "--until", until]
            command += ["--task", task] if task else []
            # of a person whose name must not be kept (privacy.py), without settings of the studio
            env = {name: value for name, value in os.environ.items() if not name.startswith("GRS_")}
            env |= privacy.identity(FOLDER)
            subprocess.run([sys.executable, "-m", "studio", *command], cwd=ROOT, env=env, check=True)
            if until == "task":
                _rehearse(part)
            part.rename(made)
    return made


def _rehearse(folder: Path) -> None:
    from pipeline.project import Project
    from pipeline.rehearsal import rehearse
    from pipeline.simulation.sandbox.sandbox import Sandbox

    with Sandbox() as sandbox:
        for task in Project(folder).tasks() or ():
            rehearse(task, folder, sandbox)


@cache
def _sources_hash() -> str:
    """Return the hash of all sources; remove projects made from others."""
    paths = [path for name in SOURCES for path in sorted([ROOT / name, *(ROOT / name).rglob("*")])]
    content = hashlib.sha256()
    for path in paths:
        if path.is_file() and "__pycache__" not in path.parts:
            content.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    found = content.hexdigest()[:16]
    for other in FOLDER.glob("*"):
        if other.name != found:
            shutil.rmtree(other, ignore_errors=True)
    return found
