"""What the pages point to by address: pictures, depth, cards, the video, the zip. Behind the same login as the app."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles
from starlette.background import BackgroundTask
from starlette.requests import HTTPConnection

from pipeline import rehearsal
from pipeline.errors import StudioError
from studio.calls import whole
from studio.samples import sample_folder
from studio.services import cache_folder
from studio.session import Session, SessionError
from studio.sessions import Sessions

STATIC = Path(__file__).parents[1] / "static"
_KEEP = {"Cache-Control": "private, max-age=86400"}
_ASK = {"Cache-Control": "no-cache"}


class FreshFiles(StaticFiles):
    """Files a browser asks for anew after an update: scripts import one another by plain names."""

    def file_response(self, *arguments, **options) -> Response:
        response = super().file_response(*arguments, **options)
        response.headers.update(_ASK)
        return response


def mount(app: FastAPI, sessions: Sessions, check_access: Callable[[HTTPConnection], bool]) -> None:
    """Adds the addresses. Call it before Gradio is mounted at "/", which takes all that is left."""

    def answer(request: Request, find: Callable[[], Response]) -> Response:
        if not check_access(request):
            return PlainTextResponse("Log in to the studio first.", 401)
        try:
            return find()
        except StudioError as error:
            return PlainTextResponse(" ".join(str(error).split()), 404)
        except (KeyError, ValueError, FileNotFoundError):  # an address made up, or one of what is gone since
            return PlainTextResponse("There is no such file.", 404)

    @app.get("/project/{token}/{what:path}", include_in_schema=False)
    def of_project(request: Request, token: str, what: str) -> Response:
        return answer(request, lambda: _of_project(sessions.get(token), what))

    @app.get("/thumbnail/{kind}/{name}", include_in_schema=False)
    def thumbnail(request: Request, kind: str, name: str) -> Response:
        return answer(request, lambda: _thumbnail(sessions.workspace, kind, name))

    for folder in sorted(path for path in STATIC.iterdir() if path.is_dir()):  # Gradio has files of its own in /static
        app.mount(f"/static/{folder.name}", FreshFiles(directory=folder), name=f"static-{folder.name}")


def _of_project(session: Session, what: str) -> Response:
    from studio import comparing, pictures

    project = session.project
    kind, _, rest = what.partition("/")
    if what == "colour.jpg":
        return Response(pictures.jpeg(project.frame.rgb, quality=93), media_type="image/jpeg", headers=_KEEP)
    if what == "depth.bin":
        return Response(
            project.frame.depth.astype("<f4").tobytes(), media_type="application/octet-stream", headers=_KEEP
        )
    if kind == "crop":
        segment = {s.id: s for s in project.segments() or ()}[int(Path(rest).stem)]
        return Response(
            pictures.jpeg(pictures.crop(project.frame, segment), 320), media_type="image/jpeg", headers=_KEEP
        )
    if kind in ("candidate", "window", "without"):
        data, media = comparing.picture(session, kind, rest)
        return Response(data, media_type=media, headers=_KEEP)
    if kind == "card":
        from pipeline.assets.cards import card_file

        return FileResponse(
            card_file(session.services.library[Path(rest).stem], cache_folder() / "cards"), headers=_KEEP
        )
    if kind == "call":
        id, _, part = rest.partition("/")
        return _text(whole(session, id, Path(part).stem), f"{Path(part).stem}.txt")
    if what == "record.jsonl":
        return FileResponse(_there(session.calls.path), filename=f"{project.name}_trace.jsonl", headers=_ASK)
    if kind == "object":
        return _object(session, Path(rest).stem)
    if kind == "goal":
        if drawn := rehearsal.picture(Path(rest).stem, project.folder):
            return FileResponse(drawn, headers=_KEEP)
        raise SessionError("There is no picture of that task.")
    if what in ("solution.mp4", "failure.mp4"):
        return FileResponse(_there(project.folder / what), headers=_ASK)
    if what == "export.zip":
        return _zip(session)
    raise SessionError("There is no such file in this project.")


def _text(text: str, name: str) -> Response:
    """A download: a browser never takes what a model said for a page."""
    data = text.encode("utf-8", "replace")
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
    return Response(data, media_type="text/plain; charset=utf-8", headers=_ASK | headers)


def _zip(session: Session) -> Response:
    from pipeline.export import export_zip

    folder = tempfile.TemporaryDirectory(prefix="grs-studio-")
    name = f"{session.project.folder.name}.zip"
    path = export_zip(session.project.folder, Path(folder.name) / name)
    return FileResponse(path, filename=name, headers=_ASK, background=BackgroundTask(folder.cleanup))


def _object(session: Session, which: str) -> Response:
    """One object of the twin as a zip: "3_urdf", "3_mjcf"."""
    from pipeline.export.object_model import object_zip

    id, _, form = which.partition("_")
    scene = session.project.scene()
    one = next((p for p in scene.placements if str(p.segment_id) == id), None) if scene else None
    if one is None:
        raise SessionError("That object does not stand in the twin; match it to an asset first.")
    headers = _ASK | {"Content-Disposition": f'attachment; filename="{one.name}_{form}.zip"'}
    return Response(object_zip(one, form), media_type="application/zip", headers=headers)


def _thumbnail(workspace: Path, kind: str, name: str) -> Response:
    from PIL import Image

    from studio.pictures import jpeg, np

    folder = sample_folder(name) if kind == "sample" else workspace / Path(name).name / "frame"
    with Image.open(
        _there(next((folder / n for n in ("rgb.png", "rgb.jpg") if (folder / n).exists()), folder / "rgb.png"))
    ) as image:
        return Response(jpeg(np.asarray(image.convert("RGB")), 440, 85), media_type="image/jpeg", headers=_KEEP)


def _there(path: Path) -> Path:
    if not path.exists():
        raise SessionError(f"There is no {path.name} yet.")
    return path
