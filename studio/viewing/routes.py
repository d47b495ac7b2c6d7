"""The viewer's addresses: its page, the geometry and photograph of a view, and the WebSocket that moves it."""

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import anyio
from fastapi import FastAPI, Request, Response, WebSocket, WebSocketDisconnect
from fastapi.responses import PlainTextResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles
from starlette.requests import HTTPConnection

from studio.viewing.motion import ViewerError
from studio.viewing.session import SimSession
from studio.viewing.sessions import Sessions

STATIC = Path(__file__).parents[2] / "static"
_MOST_WATCHERS = 8
_LONGEST_MESSAGE = 4096
_NO_STORE = {"Cache-Control": "no-store"}


def anyone(connection: HTTPConnection) -> bool:
    """The access check of an app without a login."""
    return True


def mount(app: FastAPI, sessions: Sessions, check_access: Callable[[HTTPConnection], bool] = anyone) -> None:
    """Adds the viewer to an app. Call it before gradio is mounted at "/", which would swallow these addresses.

    Args:
        check_access: is asked on every request and WebSocket but the static files'; False is answered with 401.
    """
    page = (STATIC / "viewer" / "index.html").read_text()
    headers = {"Content-Security-Policy": _policy(page), "Cache-Control": "no-cache"}

    @app.get("/viewer/", include_in_schema=False)
    def viewer_page(request: Request) -> Response:
        return Response(page, media_type="text/html", headers=headers) if check_access(request) else _unknown_person()

    @app.get("/viewer", include_in_schema=False)
    def viewer_without_slash() -> Response:
        return RedirectResponse("viewer/")

    @app.get("/viewer/{token}/geometry", include_in_schema=False)
    def geometry(request: Request, token: str) -> Response:
        return _answer(request, lambda: sessions.get(token).geometry, "application/octet-stream")

    @app.get("/viewer/{token}/photo.png", include_in_schema=False)
    def photograph(request: Request, token: str) -> Response:
        return _answer(request, lambda: sessions.get(token).photograph, "image/png")

    @app.get("/viewer/{token}/difference.png", include_in_schema=False)
    def difference(request: Request, token: str) -> Response:
        return _answer(request, lambda: sessions.get(token).difference, "image/png")

    def _answer(request: Request, read: Callable[[], bytes | None], media_type: str) -> Response:
        if not check_access(request):
            return _unknown_person()
        try:
            content = read()
        except ViewerError as error:
            return PlainTextResponse(str(error), 404)
        if content is None:
            return PlainTextResponse("This view has no photograph.", 404)
        return Response(content, media_type=media_type, headers=_NO_STORE)

    @app.websocket("/viewer/{token}/ws")
    async def stream(socket: WebSocket, token: str) -> None:
        try:
            session = sessions.get(token)
        except ViewerError:
            session = None
        allowed = session is not None and _same_origin(socket) and check_access(socket)
        if session is None or not allowed or session.watchers >= _MOST_WATCHERS:
            await socket.close(4403)  # before accepting: the browser sees a refused connection
            return
        await socket.accept()
        await _stream(socket, session)

    for folder in ("viewer", "vendor"):
        app.mount(f"/static/{folder}", _Fresh(directory=STATIC / folder), name=f"static-{folder}")


class _Fresh(StaticFiles):
    """Files a browser asks for anew after an update: scripts import one another by plain names."""

    def file_response(self, *arguments, **options) -> Response:
        response = super().file_response(*arguments, **options)
        response.headers["Cache-Control"] = "no-cache"
        return response


async def _stream(socket: WebSocket, session: SimSession) -> None:
    """Sends news and hears wishes until the page or the view goes away."""
    loop, news = asyncio.get_running_loop(), asyncio.Event()
    unwatch = session.watch(lambda: loop.call_soon_threadsafe(news.set))
    try:
        async with anyio.create_task_group() as both:

            async def until_over(talk: Coroutine) -> None:
                with suppress(WebSocketDisconnect):
                    await talk
                both.cancel_scope.cancel()

            both.start_soon(until_over, _send(socket, session, news))
            both.start_soon(until_over, _hear(socket, session))
    finally:
        unwatch()
        session.wish({"op": "release"})
    if session.closed:
        await socket.close(4410, "closed")


async def _send(socket: WebSocket, session: SimSession, news: asyncio.Event) -> None:
    told = shown = None
    news.set()
    while not session.closed:
        await news.wait()
        news.clear()
        status, picture = session.status, session.picture
        if status is not told:
            if status != told:
                await socket.send_text(status)
            told = status
        if picture != shown:
            await socket.send_bytes(picture)
            shown = picture


async def _hear(socket: WebSocket, session: SimSession) -> None:
    while True:
        try:
            text = await socket.receive_text()
            wish = json.loads(text) if len(text) <= _LONGEST_MESSAGE else None
        except (ValueError, KeyError):  # no JSON; bytes instead of text
            wish = None
        session.wish(wish if isinstance(wish, dict) else {"op": "?"})


def _same_origin(socket: WebSocket) -> bool:
    """A page from elsewhere may open WebSockets to us, with our cookies: only our own pages shall."""
    origin = urlsplit(socket.headers.get("origin", ""))
    return bool(origin.netloc) and origin.netloc == socket.headers.get("host")


def _unknown_person() -> Response:
    return PlainTextResponse("Log in to the studio first, then open this view again.", 401)


def _policy(page: str) -> str:
    """Nothing from outside, no inline script but the page's own import map, framed only by our own app."""
    inline = re.findall(r"<script type=\"importmap\">(.*?)</script>", page, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in inline]
    scripts = " ".join(["'self'", *(f"'sha256-{h}'" for h in hashes)])
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
        "frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
    )
