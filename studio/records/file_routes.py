"""Files that pages refer to by address: pictures, depth, cards, videos and downloads, behind the app's gate."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import FastAPI, Response
from fastapi.responses import FileResponse, PlainTextResponse
from PIL import Image

from pipeline import rehearsal
from pipeline.errors import StudioError
from pipeline.project.project import UNEXPLAINED
from pipeline.resources import SAMPLE_SCENES
from pipeline.store import listed, user_cache_folder
from studio.accounts.roles import Role, current_role, may_see
from studio.records.images import crop, jpeg
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry
from studio.web.errors import RequestError

CACHED = {"Cache-Control": "private, max-age=86400"}
REVALIDATED = {"Cache-Control": "no-cache"}


ProjectFile = Callable[[Session, str], Response]
"""Answers with a file of a project, given what follows its kind in the address. Raises StudioError, KeyError,
ValueError or FileNotFoundError if there is none."""


def mount(app: FastAPI, sessions: SessionRegistry, files: Mapping[str, ProjectFile]) -> None:
    """Add the routes. Call it before Gradio is mounted at "/", which takes every other address.

    `files` are those that single pages know, by the first part of their address.
    """
    kinds = {**FILES, **files}

    def answer(find: Callable[[], Response]) -> Response:
        try:
            return find()
        except StudioError as error:
            return PlainTextResponse(" ".join(str(error).split()), 404)
        except (KeyError, ValueError, FileNotFoundError):  # the address was made up, or its file is gone
            return PlainTextResponse("There is no such file.", 404)

    # Files of projects that are made at the same time, in threads of their own: whoever asks for many delays no page
    threads = CapacityLimiter(4)

    def find_project_file(token: str, name: str) -> Response:
        kind, _, rest = name.partition("/")
        session = sessions.get(token)
        if kind not in kinds:
            raise RequestError("There is no such file in this project.")
        return kinds[kind](session, rest)

    @app.get("/project/{token}/{name:path}", include_in_schema=False)
    async def project_file(token: str, name: str) -> Response:
        return await run_sync(lambda: answer(lambda: find_project_file(token, name)), limiter=threads)

    @app.get("/thumbnail/{kind}/{name}", include_in_schema=False)
    def thumbnail(kind: str, name: str) -> Response:
        return answer(lambda: _thumbnail(sessions.workspace, kind, name))


def sample_folder(name: str) -> Path:
    """Return the folder of a sample scene. Raises StudioError if there is none of that name."""
    folder = SAMPLE_SCENES / Path(name).name
    if not (folder / "rgb.png").exists():
        raise StudioError(f'There is no sample scene "{name}".')
    return folder


def _colour(session: Session, _: str) -> Response:
    return Response(jpeg(session.project.frame.rgb, quality=93), media_type="image/jpeg", headers=CACHED)


def _depth(session: Session, _: str) -> Response:
    data = session.project.frame.depth.astype("<f4").tobytes()
    return Response(data, media_type="application/octet-stream", headers=CACHED)


def _crop(session: Session, name: str) -> Response:
    segment = {s.id: s for s in session.project.segments() or ()}[int(Path(name).stem)]
    return Response(jpeg(crop(session.project.frame, segment), 320), media_type="image/jpeg", headers=CACHED)


def _card(session: Session, name: str) -> Response:
    from pipeline.assets.asset_cards import card_file

    id = Path(name).stem
    if current_role.get() < Role.LOOK and id not in _candidates(session):
        raise RequestError("There is no such file in this project.")
    return FileResponse(card_file(session.services.library[id], user_cache_folder() / "cards"), headers=CACHED)


def _candidates(session: Session) -> set[str]:
    """Return the ids of the assets that the project's objects may be."""
    matches = session.project.matches() or ()
    return {one.asset_id for match in matches for one in (match, *match.candidates) if one.asset_id}


def _trace(session: Session, _: str) -> Response:
    name = f"{session.project.name}_trace.jsonl"
    return FileResponse(_existing(session.calls.path), filename=name, headers=REVALIDATED)


def _goal(session: Session, name: str) -> Response:
    if drawn := rehearsal.picture_path(Path(name).stem, session.project.folder):
        return FileResponse(drawn, headers=CACHED)
    raise RequestError("There is no picture of that task.")


def _kept(name: str, headers: Mapping[str, str]) -> ProjectFile:
    return lambda session, _: FileResponse(_existing(session.project.folder / name), headers=headers)


def _object_zip(session: Session, name: str) -> Response:
    """Return one object of the twin as a zip; the name is its id and a format: "3_urdf", "3_mjcf"."""
    from pipeline.export.object_zip import object_zip

    id, _, form = Path(name).stem.partition("_")
    scene = session.project.scene()
    placement = next((p for p in scene.placements if str(p.segment_id) == id), None) if scene else None
    if placement is None:
        raise RequestError("That object is not in the twin; match it to an asset first.")
    headers = REVALIDATED | {"Content-Disposition": f'attachment; filename="{placement.name}_{form}.zip"'}
    return Response(object_zip(placement, form), media_type="application/zip", headers=headers)


def _thumbnail(workspace: Path, kind: str, name: str) -> Response:
    project = listed(workspace, name)
    folder = sample_folder(name) if kind == "sample" else (project or workspace) / "frame"
    if kind != "sample" and (project is None or not may_see(project)):
        raise RequestError("There is no such file.")
    path = next((folder / n for n in ("rgb.png", "rgb.jpg") if (folder / n).exists()), folder / "rgb.png")
    if kind != "sample" and not path.resolve().is_relative_to(folder.parent.resolve()):  # a stranger's link
        raise RequestError("There is no such file.")
    with Image.open(_existing(path)) as image:
        return Response(jpeg(np.asarray(image.convert("RGB")), 440, 85), media_type="image/jpeg", headers=CACHED)


def _existing(path: Path) -> Path:
    if not path.exists():
        raise RequestError(f"There is no {path.name} yet.")
    return path


FILES: dict[str, ProjectFile] = {
    "colour.jpg": _colour,
    "depth.bin": _depth,
    "crop": _crop,
    "card": _card,
    "record.jsonl": _trace,
    "object": _object_zip,
    "goal": _goal,
    UNEXPLAINED: _kept(UNEXPLAINED, CACHED),
    "solution.mp4": _kept("solution.mp4", REVALIDATED),
    "failure.mp4": _kept("failure.mp4", REVALIDATED),
}
"""What any page may show of a project, by the first part of its address."""
