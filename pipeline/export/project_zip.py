"""Export of a project as one zip: model, meshes, task, programs, solution, and a player. No decisions, no traces."""

import json
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

from pipeline.export import standalone_player
from pipeline.export.export_format import ExportError, ExportFormat, describes
from pipeline.project import Project
from pipeline.project.curation import FILE as CURATION_FILE
from pipeline.router import Round
from pipeline.scene.mjcf.recorded_models import unneeded_files
from pipeline.store import atomic_write, parse_json

EXPORTED_FILES = (
    "scene.json",
    "cameras.json",
    "descriptions.json",
    "matches.json",
    "task.json",
    "solution.json",
    "solution.npz",
    "solution.mp4",
    CURATION_FILE,
)
SCENE_FILES = (".xml", ".obj", ".mtl", ".png", ".stl", ".msh")


@describes(ExportFormat("Project zip", "the twin, task, programs, solution, and a player", "", ".zip"))
def export_zip(project_dir: Path, path: Path) -> Path:
    """Write a project's results to a zip with one folder in it; returns its path. Raises ExportError."""
    project_dir, path = Path(project_dir), Path(path)
    if not (project_dir / "scene" / "scene.xml").is_file():
        raise ExportError(f"{project_dir.name} has no scene yet, so there is nothing to export; build the scene first")
    with atomic_write(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in _contents(project_dir):
            archive.writestr(zip_entry(f"{path.stem}/{name}"), data)
    return path


def zip_entry(name: str) -> zipfile.ZipInfo:
    """Return the header of a zipped file, with a fixed date."""
    # Date of every file, so that equal projects give equal zips
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


def _contents(project_dir: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each file."""
    project = Project(project_dir)
    best = project.best_round()
    names = _display_names(project)
    yield "README.md", readme(project_dir, best, names).encode()
    if names:
        yield "names.json", json.dumps(names, indent=1, ensure_ascii=False).encode()
    yield "LICENCES.md", licences(project_dir).encode()
    yield "run.py", Path(standalone_player.__file__).read_bytes()
    for name in EXPORTED_FILES:
        if (project_dir / name).is_file():
            yield name, (project_dir / name).read_bytes()
    earlier = unneeded_files(project_dir / "scene")
    for file in sorted((project_dir / "scene").iterdir()):
        if file.suffix in SCENE_FILES and file.is_file() and file.name not in earlier:
            yield f"scene/{file.name}", file.read_bytes()
    if best is not None:
        program = project.program_in_current_names(best.program)
        yield "program/simulation.py", program.simulation.encode()
        yield "program/checks.py", program.checks.encode()
        yield "program/report.json", (project_dir / "rounds" / f"{best.number:03d}" / "report.json").read_bytes()


def _display_names(project: Project) -> dict[str, str]:
    """Return what a person calls the objects of the twin, by their ids."""
    names, placements = project.display_names(), _read(project.folder / "scene.json").get("placements", [])
    return {p["name"]: names[p["segment_id"]] for p in placements if p["segment_id"] in names}


def _read(path: Path) -> dict:
    """Return a JSON object, or an empty one if the file is missing or damaged."""
    try:
        data = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def readme(project_dir: Path, best: Round | None, names: Mapping[str, str]) -> str:
    """Return the README of the zip; `names` are display names by id."""
    task, solution = _read(project_dir / "task.json"), _read(project_dir / "solution.json")
    ids = [p["name"] for p in _read(project_dir / "scene.json").get("placements", [])]
    objects = ", ".join(f"{id} ({names[id]})" if id in names else id for id in ids)
    state, files = "none recorded", ""
    if solution:
        rewards = ", ".join(f"{r:.2f}" for r in solution.get("reward", []))
        doubts = Project(project_dir).doubts() or solution.get("failed_check")
        solved = "not solved" if not solution.get("solved") else "doubtful" if doubts else "solved"
        state = f"{solved}; reward per seed {rewards} ({solution.get('source', '')})"
        files = SOLUTION_FILES
    if best is not None:
        files += f"* `program/`: the simulation and its checks (round {best.number:03d}), for GRS Studio's kit\n"
    return README.format(
        title=task.get("name", project_dir.name), task=task.get("instruction", "no task was chosen"), objects=objects,
        state=state, names=NAMES if names else "", files=files, mujoco=version("mujoco"),
    )  # fmt: skip


def licences(project_dir: Path) -> str:
    """Return the licences of the assets in the zip."""
    lines = ["# Licences of the assets used", ""]
    for p in _read(project_dir / "scene.json").get("placements", []):
        source = "made from the photograph" if p.get("asset_id") is None else f"asset {p['asset_id']}"
        licence = "; ".join(t for t in (p.get("licence"), p.get("provenance")) if t)
        lines.append(f"* {p['name']}: {source}. {licence or 'Its licence is not known: ask before you pass it on.'}")
    return "\n".join(lines) + "\n"


NAMES = "* `names.json`: what a person calls the objects, by their ids in all other files\n"
SOLUTION_FILES = """* `scene/solution.xml`, `solution.npz` (times, qpos, actions), `solution.json`, `solution.mp4`:
  the model with its robot, and the recorded motion
"""

README = """# {title}

{task}

Objects: {objects}.
Solution: {state}.

## Run it

    pip install "mujoco>={mujoco}" numpy
    python run.py            # simulates the scene, replays the solution, prints the final positions
    python run.py --view     # the same in MuJoCo's own viewer

`run.py` does not need GRS Studio. The solution is replayed from its recorded states, so you see exactly what was
checked.

## Files

* `scene/scene.xml`: the table and its objects as photographed, in MJCF, with meshes and textures beside it; metres,
  z up, table top at z = 0; the camera "photo" is that of the photograph
* `scene.json`: size and pose of every object; `task.json`: the task
{names}{files}* `LICENCES.md`: licences of the assets
"""
