"""Static files for the browser."""

from fastapi import Response
from fastapi.staticfiles import StaticFiles


class RevalidatedFiles(StaticFiles):
    """Files that a browser revalidates at each use: scripts import one another by names without a version."""

    def file_response(self, *arguments, **options) -> Response:
        response = super().file_response(*arguments, **options)
        response.headers["Cache-Control"] = "no-cache"
        return response
