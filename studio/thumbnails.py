"""Small pictures of assets: drawn in the background when a page wants them, the last wanted first, and kept."""

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse, PlainTextResponse
from starlette.requests import HTTPConnection

from pipeline.assets import Asset
from pipeline.assets.cards import readable_card
from pipeline.store import replacing
from studio.pictures import jpeg
from studio.services import cache_folder

PIXELS = 176
WAITING = 300
"""Pictures that may wait to be drawn; what was wanted long ago has been scrolled away."""


class Thumbnails:
    """May be asked from any thread; OpenGL has one of its own."""

    def __init__(self, folder: Path | None = None):
        self.folder = folder or cache_folder() / "shelf"
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, Asset] = OrderedDict()
        self._failed: set[str] = set()
        self._thread: threading.Thread | None = None

    def want(self, assets: Iterable[Asset]) -> dict[str, str]:
        """The address of each that is drawn, by id, "" for one that cannot be; the others will be drawn."""
        ready: dict[str, str] = {}
        with self._lock:
            for asset in reversed(list(assets)):  # the first shall be drawn first
                if asset.digest in self._failed:
                    ready[asset.id] = ""
                elif self._file(asset.digest).exists():
                    ready[asset.id] = f"/library/{asset.digest}.jpg"
                else:
                    self._waiting[asset.digest] = asset
                    self._waiting.move_to_end(asset.digest)
            while len(self._waiting) > WAITING:
                self._waiting.popitem(last=False)
            if self._waiting and self._thread is None:
                self._thread = threading.Thread(target=self._draw_all, daemon=True, name="thumbnails")
                self._thread.start()
        return ready

    def _draw_all(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                _, asset = self._waiting.popitem()
            try:
                self._draw(asset)
            except Exception:  # a broken mesh, no OpenGL: the page shows none
                with self._lock:
                    self._failed.add(asset.digest)

    def _draw(self, asset: Asset) -> None:
        picture = readable_card(asset)
        with replacing(self._file(asset.digest)) as aside:
            aside.write_bytes(jpeg(picture, PIXELS, 85))

    def _file(self, digest: str) -> Path:
        return self.folder / f"{digest}.jpg"


def mount(app: FastAPI, thumbnails: Thumbnails, check_access: Callable[[HTTPConnection], bool]) -> None:
    """Adds the pictures' addresses. Call it before Gradio is mounted at "/"."""

    @app.get("/library/{name}.jpg", include_in_schema=False)
    def thumbnail(request: Request, name: str) -> Response:
        if not check_access(request):
            return PlainTextResponse("Log in to the studio first.", 401)
        file = thumbnails.folder / f"{name}.jpg"
        if not re.fullmatch(r"[0-9a-f]{1,64}", name) or not file.exists():
            return PlainTextResponse("There is no such picture.", 404)
        return FileResponse(file, headers={"Cache-Control": "private, max-age=86400"})
