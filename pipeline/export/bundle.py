"""A project as one zip: model, meshes, task, code, solution, how to run them. Decisions and traces stay at home."""

import json
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from pipeline.errors import StudioError
from pipeline.export import replay
from pipeline.project import Project
from pipeline.router import Round
from pipeline.store import replacing

KEPT = ("scene.json", "descriptions.json", "matches.json", "task.json", "solution.json", "solution.npz", "solution.mp4")
SCENE_FILES = (".xml", ".obj", ".mtl", ".png", ".stl", ".msh")
EPOCH = (1980, 1, 1, 0, 0, 0)
"""Equal projects make equal zips."""


class ExportError(StudioError):
    """A project that has nothing to give away yet."""


def export_zip(project_dir: Path, path: Path) -> Path:
    """Write a project's results to a zip with one folder in it; returns its path. Raises ExportError."""
    project_dir, path = Path(project_dir), Path(path)
    if not (project_dir / "scene" / "scene.xml").is_file():
        raise ExportError(f"{project_dir.name} has no scene yet, so there is nothing to export; build the scene first")
    with replacing(path) as aside, zipfile.ZipFile(aside, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in _contents(project_dir):
            archive.writestr(entry(f"{path.stem}/{name}"), data)
    return path


def entry(name: str) -> zipfile.ZipInfo:
    """A file of a zip, always of the same day."""
    info = zipfile.ZipInfo(name, EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


def _contents(project_dir: Path) -> Iterator[tuple[str, bytes]]:
    """Names in the zip's folder, and bytes."""
    project = Project(project_dir)
    best = project.best_round()
    yield "README.md", readme(project_dir, best).encode()
    yield "LICENCES.md", licences(project_dir).encode()
    yield "run.py", Path(replay.__file__).read_bytes()
    for name in KEPT:
        if (project_dir / name).is_file():
            yield name, (project_dir / name).read_bytes()
    for file in sorted((project_dir / "scene").iterdir()):
        if file.suffix in SCENE_FILES and file.is_file():
            yield f"scene/{file.name}", file.read_bytes()
    if best is not None:
        program = project.in_present_program(best.program)
        yield "program/simulation.py", program.simulation.encode()
        yield "program/checks.py", program.checks.encode()
        yield "program/report.json", (project_dir / "rounds" / f"{best.number:03d}" / "report.json").read_bytes()


def _read(path: Path) -> dict:
    """A JSON object, or an empty one where the file is missing or damaged."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def readme(project_dir: Path, best: Round | None) -> str:
    """How to run what is in the zip."""
    task, solution = _read(project_dir / "task.json"), _read(project_dir / "solution.json")
    objects = ", ".join(p["name"] for p in _read(project_dir / "scene.json").get("placements", []))
    state, files = "none recorded", ""
    if solution:
        rewards = ", ".join(f"{r:.2f}" for r in solution.get("reward", []))
        solved = "solved" if solution.get("solved") else "not solved"
        state = f"{solved}; reward per seed {rewards} ({solution.get('source', '')})"
        files = SOLUTION_FILES
    if best is not None:
        files += f"* `program/`: the simulation and its checks (round {best.number:03d}), for GRS Studio's kit\n"
    return README.format(
        title=task.get("name", project_dir.name), task=task.get("instruction", "no task was chosen"), objects=objects,
        state=state, files=files, mujoco=version("mujoco"),
    )  # fmt: skip


def licences(project_dir: Path) -> str:
    """Whose the shapes in the zip are."""
    lines = ["# Licences of the assets used", ""]
    for p in _read(project_dir / "scene.json").get("placements", []):
        made = "made from the photograph" if p.get("asset_id") is None else f"asset {p['asset_id']}"
        told = "; ".join(t for t in (p.get("licence"), p.get("provenance")) if t)
        lines.append(f"* {p['name']}: {made}. {told or 'Its licence is not known: ask before you pass it on.'}")
    return "\n".join(lines) + "\n"


SOLUTION_FILES = """* `scene/solution.xml`, `solution.npz` (times, qpos, actions), `solution.json`, `solution.mp4`:
  the model with its gripper, and what it did
"""

README = """# {title}

{task}

Objects: {objects}.
Solution: {state}.

## Run it

    pip install "mujoco>={mujoco}" numpy
    python run.py            # lets the scene stand, plays the solution, prints where everything ends
    python run.py --view     # the same in MuJoCo's own viewer

`run.py` needs nothing of GRS Studio. The solution is played from its recorded states, so what you see is what was
checked.

## What is here

* `scene/scene.xml`: the table and its objects as photographed, MJCF, with meshes and textures beside it; metres,
  z up, table top at z = 0; the camera named "photo" is the photograph's
* `scene.json`: every object's size and pose; `task.json`: the task
{files}* `LICENCES.md`: whose the shapes are
"""
