"""What the gallery offers, the sample scenes and the projects of the workspace, and how each is opened."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.frame import load
from pipeline.project import Project
from pipeline.resources import SAMPLE_SCENES
from pipeline.store import parse_json
from studio.board.batch_requests import batches_answer
from studio.board.batches import Batches
from studio.board.board import Board
from studio.board.board_requests import first_page
from studio.board.project_facts import title_of
from studio.masks.uploads import Uploads, frame_index
from studio.records.file_routes import sample_folder
from studio.sessions.further_views import checked_views, use_views
from studio.sessions.recorded_frame import RecordedFrame
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry
from studio.texts import t


def gallery_record(board: Board, batches: Batches, page_token: str) -> dict[str, Any]:
    """Return Gallery's value: the samples, the batches, and the first page of the projects."""
    return {"page_token": page_token, "samples": samples(), **batches_answer(batches, board), **first_page(board)}


def open_gallery_item(sessions: SessionRegistry, message: Mapping[str, Any]) -> Session:
    """Open the project {kind: "project", name}, or make a project of the sample scene {name}. Raises StudioError."""
    name = str(message.get("name", ""))
    if message.get("kind") == "project":
        return sessions.open(name)
    frame = load(sample_folder(name))
    return sessions.create(lambda folder: Project.create(folder, frame, name), name)


def open_uploaded_frame(sessions: SessionRegistry, uploads: Uploads, message: Mapping[str, Any]) -> Session:
    """Make a project of the frame {token, index} of an upload, and of its further {views}. Raises StudioError."""
    upload, index = uploads.get(message.get("token")), frame_index(message)
    views = checked_views(message.get("views", []), index)
    frame, name = upload.recording.frame(index), upload.project_name(index)
    session = sessions.create(lambda folder: Project.create(folder, frame, name), name)
    if upload.path is not None and len(upload.recording) > 1:
        session.recorded = RecordedFrame(upload.path, index)
    if views:
        use_views(session, upload.recording, index, views)
    return session


def samples() -> list[dict[str, Any]]:
    """Return {name, title, about, image} of every sample scene; `image` is the address of its thumbnail."""
    folders = sorted(path.parent for path in SAMPLE_SCENES.glob("*/rgb.png"))
    return [
        {"name": f.name, "title": title_of(f.name), "about": _about(f), "image": f"thumbnail/sample/{f.name}"}
        for f in folders
    ]


def _about(folder: Path) -> str:
    expected = folder / "expected.json"
    if not expected.exists():
        return ""
    objects = parse_json(expected.read_text(encoding="utf-8")).get("objects", [])
    return t("{n} object|{n} objects", n=len(objects))
