"""Static files for the browser."""

import hashlib
import json
import os
import re
import time
from functools import cache
from pathlib import Path

from fastapi import FastAPI, Response
from fastapi.staticfiles import StaticFiles
from starlette.types import Scope

from components.component import STATIC

_ADDRESS = re.compile(rb"""(?<=["'`])/(?=(?:static|viewer)/)""")
"""Begins an address of the studio in a script or a page."""
_STARTED_AT = time.time()
_TEXTS = {".js": "text/javascript", ".html": "text/html", ".css": "text/css"}


class RevalidatedFiles(StaticFiles):
    """Files that a browser revalidates at each use: scripts import one another by names without a version.

    Where a proxy publishes the studio under a path, the addresses in them begin with that path.
    """

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        root, media_type = getattr(scope["app"].state, "root_path", ""), _TEXTS.get(Path(full_path).suffix)
        if root and media_type and response.status_code == 200:
            content = _ADDRESS.sub(f"{root}/".encode(), Path(full_path).read_bytes())
            response = Response(content, media_type=media_type, headers={"ETag": response.headers["etag"]})
        response.headers["Cache-Control"] = "no-cache"
        return response


class VersionedFiles(RevalidatedFiles):
    """The same files at addresses that change with them, so that a browser asks for each of them once.

    A file that was changed under the running studio is revalidated: its address is still that of the former one.
    """

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        if stat_result.st_ctime < _STARTED_AT:
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


@cache
def versioned_folder() -> str:
    """Return the name of the folder of such addresses, as deep as "static"; another one after a change of any file."""
    found = hashlib.sha256()
    for path in sorted(STATIC.rglob("*")):
        if path.is_file():
            found.update(f"{path.relative_to(STATIC)}\n".encode() + path.read_bytes())
    return f"static.{found.hexdigest()[:12]}"


def mount(app: FastAPI) -> None:
    """Add the files to an app. Call it before Gradio is mounted at "/": Gradio has other files in /static."""
    app.mount(f"/{versioned_folder()}", VersionedFiles(directory=STATIC), name="static-versioned")
    for folder in sorted(path for path in STATIC.iterdir() if path.is_dir()):
        app.mount(f"/static/{folder.name}", RevalidatedFiles(directory=folder), name=f"static-{folder.name}")


def import_map() -> str:
    """Return the element by which scripts of a page that import "/static/NAME" get the versioned file.

    A browser that wants it before any other script, as those before 2025 do, revalidates each file at "/static/NAME".
    """
    imports = json.dumps({"imports": {"./static/": f"./{versioned_folder()}/"}})
    return f'<script type="importmap">{imports}</script>'
