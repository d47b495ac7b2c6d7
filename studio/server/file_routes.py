"""Files that pages refer to by address: pictures, depth, cards, videos and downloads, behind the app's gate."""

from collections.abc import Callable
from pathlib import Path

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import FastAPI, Response
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse

from components.component import STATIC
from pipeline import rehearsal
from pipeline.errors import StudioError
from pipeline.project.project import UNEXPLAINED
from pipeline.store import listed, user_cache_folder
from studio.accounts.roles import Role, current_role, may_see
from studio.models.call_records import full_text
from studio.pages.gallery_items import sample_folder
from studio.server.errors import RequestError
from studio.server.static_files import RevalidatedFiles
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry

FILE_THREADS = 4
"""Files of projects that are made at the same time, in threads of their own: whoever asks for many delays no page."""
_CACHED = {"Cache-Control": "private, max-age=86400"}
_REVALIDATED = {"Cache-Control": "no-cache"}


def mount(app: FastAPI, sessions: SessionRegistry) -> None:
    """Add the routes. Call it before Gradio is mounted at "/", which takes every other address."""

    def answer(find: Callable[[], Response]) -> Response:
        try:
            return find()
        except StudioError as error:
            return PlainTextResponse(" ".join(str(error).split()), 404)
        except (KeyError, ValueError, FileNotFoundError):  # the address was made up, or its file is gone
            return PlainTextResponse("There is no such file.", 404)

    threads = CapacityLimiter(FILE_THREADS)

    @app.get("/project/{token}/{name:path}", include_in_schema=False)
    async def project_file(token: str, name: str) -> Response:
        return await run_sync(lambda: answer(lambda: _project_file(sessions.get(token), name)), limiter=threads)

    @app.get("/thumbnail/{kind}/{name}", include_in_schema=False)
    def thumbnail(kind: str, name: str) -> Response:
        return answer(lambda: _thumbnail(sessions.workspace, kind, name))

    for folder in sorted(path for path in STATIC.iterdir() if path.is_dir()):  # Gradio has other files in /static
        app.mount(f"/static/{folder.name}", RevalidatedFiles(directory=folder), name=f"static-{folder.name}")


def _project_file(session: Session, name: str) -> Response:
    from studio.objects import candidate_comparison, images
    from studio.scene.frame_record import point_cloud

    project = session.project
    kind, _, rest = name.partition("/")
    if name == "colour.jpg":
        return Response(images.jpeg(project.frame.rgb, quality=93), media_type="image/jpeg", headers=_CACHED)
    if name == UNEXPLAINED:
        return FileResponse(_existing(project.folder / name), headers=_CACHED)
    if name == "depth.bin":
        return Response(
            project.frame.depth.astype("<f4").tobytes(), media_type="application/octet-stream", headers=_CACHED
        )
    if name == "cloud.bin":
        return Response(point_cloud(session), media_type="application/octet-stream", headers=_CACHED)
    if kind == "crop":
        segment = {s.id: s for s in project.segments() or ()}[int(Path(rest).stem)]
        return Response(images.jpeg(images.crop(project.frame, segment), 320), media_type="image/jpeg", headers=_CACHED)
    if kind in ("candidate", "window", "without"):
        data, media = candidate_comparison.image(session, kind, rest)
        return Response(data, media_type=media, headers=_CACHED)
    if kind == "card":
        from pipeline.assets.asset_cards import card_file

        if current_role.get() < Role.LOOK and Path(rest).stem not in _candidates(session):
            raise RequestError("There is no such file in this project.")
        return FileResponse(
            card_file(session.services.library[Path(rest).stem], user_cache_folder() / "cards"), headers=_CACHED
        )
    if kind == "call":
        id, _, part = rest.partition("/")
        return _text(full_text(session, id, Path(part).stem), f"{Path(part).stem}.txt")
    if name == "editor.json":
        state = {"editor": session.editor.name, "version": session.log.version, "idle": session.idle}
        return JSONResponse(state, headers={"Cache-Control": "no-store"})
    if name == "record.jsonl":
        return FileResponse(_existing(session.calls.path), filename=f"{project.name}_trace.jsonl", headers=_REVALIDATED)
    if kind == "object":
        return _object_zip(session, Path(rest).stem)
    if kind == "goal":
        if drawn := rehearsal.picture_path(Path(rest).stem, project.folder):
            return FileResponse(drawn, headers=_CACHED)
        raise RequestError("There is no picture of that task.")
    if name in ("solution.mp4", "failure.mp4"):
        return FileResponse(_existing(project.folder / name), headers=_REVALIDATED)
    raise RequestError("There is no such file in this project.")


def _candidates(session: Session) -> set[str]:
    """Return the ids of the assets that the project's objects may be."""
    matches = session.project.matches() or ()
    return {one.asset_id for match in matches for one in (match, *match.candidates) if one.asset_id}


def _text(text: str, name: str) -> Response:
    """Return a download. Its headers keep a browser from running a model's text as a page."""
    data = text.encode("utf-8", "replace")
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
    return Response(data, media_type="text/plain; charset=utf-8", headers=_REVALIDATED | headers)


def _object_zip(session: Session, name: str) -> Response:
    """Return one object of the twin as a zip; the name is its id and a format: "3_urdf", "3_mjcf"."""
    from pipeline.export.object_zip import object_zip

    id, _, form = name.partition("_")
    scene = session.project.scene()
    placement = next((p for p in scene.placements if str(p.segment_id) == id), None) if scene else None
    if placement is None:
        raise RequestError("That object is not in the twin; match it to an asset first.")
    headers = _REVALIDATED | {"Content-Disposition": f'attachment; filename="{placement.name}_{form}.zip"'}
    return Response(object_zip(placement, form), media_type="application/zip", headers=headers)


def _thumbnail(workspace: Path, kind: str, name: str) -> Response:
    from PIL import Image

    from studio.objects.images import jpeg, np

    project = listed(workspace, name)
    folder = sample_folder(name) if kind == "sample" else (project or workspace) / "frame"
    if kind != "sample" and (project is None or not may_see(project)):
        raise RequestError("There is no such file.")
    path = next((folder / n for n in ("rgb.png", "rgb.jpg") if (folder / n).exists()), folder / "rgb.png")
    if kind != "sample" and not path.resolve().is_relative_to(folder.parent.resolve()):  # a stranger's link
        raise RequestError("There is no such file.")
    with Image.open(_existing(path)) as image:
        return Response(jpeg(np.asarray(image.convert("RGB")), 440, 85), media_type="image/jpeg", headers=_CACHED)


def _existing(path: Path) -> Path:
    if not path.exists():
        raise RequestError(f"There is no {path.name} yet.")
    return path
