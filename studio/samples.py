"""What the gallery offers: the sample scenes of this installation and the projects of the workspace."""

import json
import time
from pathlib import Path
from typing import Any

from pipeline.errors import StudioError
from pipeline.project import STAGES

SAMPLES = Path(__file__).parents[1] / "sample_scenes"


def sample_folder(name: str) -> Path:
    """The folder of a sample scene. Raises StudioError."""
    folder = SAMPLES / Path(name).name
    if not (folder / "rgb.png").exists():
        raise StudioError(f'There is no sample scene "{name}".')
    return folder


def samples() -> list[dict[str, Any]]:
    """Name, title, what is to be seen, thumbnail's address of every sample scene."""
    folders = sorted(path.parent for path in SAMPLES.glob("*/rgb.png"))
    return [
        {"name": f.name, "title": _title(f.name), "about": _about(f), "image": f"/thumbnail/sample/{f.name}"}
        for f in folders
    ]


def _about(folder: Path) -> str:
    expected = folder / "expected.json"
    if not expected.exists():
        return ""
    objects = json.loads(expected.read_text(encoding="utf-8")).get("objects", [])
    return f"{len(objects)} objects"


def projects(workspace: Path) -> list[dict[str, Any]]:
    """The same of every project, the one last changed first; a folder that is none, or a broken one, is left out."""
    found = []
    for record in workspace.glob("*/project.json"):
        try:
            stages = json.loads(record.read_text(encoding="utf-8"))["stages"]
            done = sum(stages.get(stage) == "done" for stage in STAGES)
            folder = record.parent
            changed = max(path.stat().st_mtime for path in (record, folder / "decisions.jsonl") if path.exists())
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
        about = (
            f"{_ago(changed)} · {'all stages done' if done == len(STAGES) else f'{done} of {len(STAGES)} stages done'}"
        )
        picture = f"/thumbnail/project/{folder.name}"
        found.append((changed, {"name": folder.name, "title": _title(folder.name), "about": about, "image": picture}))
    return [one for _, one in sorted(found, key=lambda pair: -pair[0])]


def _title(name: str) -> str:
    return name.replace("_", " ").replace("-", " ").capitalize()


def _ago(then: float) -> str:
    seconds = time.time() - then
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            number = int(seconds // length)
            return f"{number} {unit}{'s' * (number > 1)} ago"
    return "just now"
