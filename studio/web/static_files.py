"""Static files for the browser."""

import os
import re
from pathlib import Path

from fastapi import Response
from fastapi.staticfiles import StaticFiles
from starlette.types import Scope

_ADDRESS = re.compile(rb"""(?<=["'`])/(?=(?:static|viewer)/)""")
"""Begins an address of the studio in a script or a page."""
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
