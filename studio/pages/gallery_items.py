"""What the gallery offers, the sample scenes and the projects of the workspace, and how each is opened."""

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pipeline.errors import StudioError
from pipeline.frame import load
from pipeline.project import STAGES, Project
from pipeline.resources import SAMPLE_SCENES
from studio.masks.uploads import Uploads, frame_index
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry
from studio.texts import t

AGES = (
    ("{n} day ago|{n} days ago", 86400),
    ("{n} hour ago|{n} hours ago", 3600),
    ("{n} minute ago|{n} minutes ago", 60),
)
"""How an age is written, with the seconds of its unit."""


def gallery_record(sessions: SessionRegistry) -> dict[str, Any]:
    """Return Gallery's value."""
    return {"samples": samples(), "projects": projects(sessions.workspace)}


def open_gallery_item(sessions: SessionRegistry, message: Mapping[str, Any]) -> Session:
    """Open the project {kind: "project", name}, or make a project of the sample scene {name}. Raises StudioError."""
    name = str(message.get("name", ""))
    if message.get("kind") == "project":
        return sessions.open(name)
    frame = load(sample_folder(name))
    return sessions.create(lambda folder: Project.create(folder, frame, name), name)


def open_uploaded_frame(sessions: SessionRegistry, uploads: Uploads, message: Mapping[str, Any]) -> Session:
    """Make a project of the frame {token, index} of an upload. Raises StudioError."""
    upload, index = uploads.get(message.get("token")), frame_index(message)
    frame, name = upload.recording.frame(index), upload.project_name(index)
    return sessions.create(lambda folder: Project.create(folder, frame, name), name)


def sample_folder(name: str) -> Path:
    """Return the folder of a sample scene. Raises StudioError if there is none of that name."""
    folder = SAMPLE_SCENES / Path(name).name
    if not (folder / "rgb.png").exists():
        raise StudioError(f'There is no sample scene "{name}".')
    return folder


def samples() -> list[dict[str, Any]]:
    """Return {name, title, about, image} of every sample scene; `image` is the address of its thumbnail."""
    folders = sorted(path.parent for path in SAMPLE_SCENES.glob("*/rgb.png"))
    return [
        {"name": f.name, "title": _title(f.name), "about": _about(f), "image": f"/thumbnail/sample/{f.name}"}
        for f in folders
    ]


def _about(folder: Path) -> str:
    expected = folder / "expected.json"
    if not expected.exists():
        return ""
    objects = json.loads(expected.read_text(encoding="utf-8")).get("objects", [])
    return t("{n} object|{n} objects", n=len(objects))


def projects(workspace: Path) -> list[dict[str, Any]]:
    """Return {name, title, about, image} of every project, newest first; unreadable folders are left out."""
    dated = []
    for record in workspace.glob("*/project.json"):
        try:
            stages = json.loads(record.read_text(encoding="utf-8"))["stages"]
            done = sum(stages.get(stage) == "done" for stage in STAGES)
            folder = record.parent
            changed = max(path.stat().st_mtime for path in (record, folder / "decisions.jsonl") if path.exists())
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
        about = f"{_ago(changed)} · {_progress(folder, done)}"
        picture = f"/thumbnail/project/{folder.name}"
        dated.append((changed, {"name": folder.name, "title": _title(folder.name), "about": about, "image": picture}))
    return [item for _, item in sorted(dated, key=lambda pair: -pair[0])]


def _progress(folder: Path, done: int) -> str:
    """Return how far a project is with that many stages done, and whether its newest round failed."""
    if done < len(STAGES):
        return t("{done} of {stages} stages done", done=done, stages=len(STAGES))
    with suppress(OSError, ValueError, KeyError, IndexError, TypeError):
        newest = json.loads((folder / "rounds.jsonl").read_text(encoding="utf-8").splitlines()[-1])
        if not newest["clean"]:
            return t("round {number} failed", number=int(newest["number"]))
    return t("all stages done")


def _title(name: str) -> str:
    return name.replace("_", " ").replace("-", " ").capitalize()


def _ago(then: float) -> str:
    """Return how long ago a time, in seconds since 1970, is."""
    seconds = time.time() - then
    for age, length in AGES:
        if seconds >= length:
            number = int(seconds // length)
            return t(age, n=number)
    return t("just now")
