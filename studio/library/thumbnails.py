"""Thumbnails of assets: rendered in the background when a page requests them, the last request first, and cached."""

import re
import threading
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path

from fastapi import FastAPI, Response
from fastapi.responses import FileResponse, PlainTextResponse

from pipeline.assets import Asset
from pipeline.assets.asset_cards import brightened_card
from pipeline.store import atomic_write, user_cache_folder
from studio.records.images import jpeg
from studio.web import background
from studio.web.background import BackgroundTask


class Thumbnails:
    """Renders thumbnails in one thread, which has its own OpenGL context. May be used from any thread."""

    def __init__(self, folder: Path | None = None):
        self.folder = folder or user_cache_folder() / "shelf"
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, Asset] = OrderedDict()
        self._failed: set[str] = set()
        self._task: BackgroundTask | None = None

    def request(self, assets: Iterable[Asset]) -> dict[str, str]:
        """Return the address of each thumbnail that is ready, by id, "" for one that failed; the others are queued."""
        ready: dict[str, str] = {}
        with self._lock:
            for asset in reversed(list(assets)):  # so that the first is rendered first
                if asset.digest in self._failed:
                    ready[asset.id] = ""
                elif self._file(asset.digest).exists():
                    ready[asset.id] = f"library/{asset.digest}.jpg"
                else:
                    self._waiting[asset.digest] = asset
                    self._waiting.move_to_end(asset.digest)
            # Thumbnails that wait to be rendered. Older requests have been scrolled out of sight.
            while len(self._waiting) > 300:
                self._waiting.popitem(last=False)
            if self._waiting and self._task is None:
                self._task = background.start("thumbnails", self._render_all)
        return ready

    def _render_all(self, stop: threading.Event) -> None:
        while True:
            with self._lock:
                if stop.is_set() or not self._waiting:
                    self._task = None
                    return
                _, asset = self._waiting.popitem()
            try:
                self._render(asset)
            except Exception:  # a broken mesh, or no OpenGL; the page shows no thumbnail
                with self._lock:
                    self._failed.add(asset.digest)

    def _render(self, asset: Asset) -> None:
        picture = brightened_card(asset)
        with atomic_write(self._file(asset.digest)) as temporary:
            # 176: side pixels
            temporary.write_bytes(jpeg(picture, 176, 85))

    def _file(self, digest: str) -> Path:
        return self.folder / f"{digest}.jpg"


def mount(app: FastAPI, thumbnails: Thumbnails) -> None:
    """Add the route of the thumbnails. Call it before Gradio is mounted at "/"."""

    @app.get("/library/{name}.jpg", include_in_schema=False)
    def thumbnail(name: str) -> Response:
        file = thumbnails.folder / f"{name}.jpg"
        if not re.fullmatch(r"[0-9a-f]{1,64}", name) or not file.exists():
            return PlainTextResponse("There is no such picture.", 404)
        return FileResponse(file, headers={"Cache-Control": "private, max-age=86400"})
