"""Routes of the viewer: its page, the geometry and photograph of a view, and the WebSocket of its poses."""

import asyncio
import base64
import hashlib
import json
import re
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from http import HTTPStatus

import anyio
from fastapi import FastAPI, Request, Response, WebSocket, WebSocketDisconnect
from fastapi.responses import PlainTextResponse, RedirectResponse

from components.component import STATIC
from pipeline.errors import StudioError
from studio.accounts.roles import Role, current_role
from studio.texts import translated
from studio.viewer.motion import ViewerError
from studio.viewer.view_registry import ViewRegistry
from studio.viewer.view_session import ViewSession
from studio.web.static_files import versioned_folder

_MAX_REFUSALS = 8
"""Refused commands of a page that wait to be answered; earlier ones are dropped."""
_NO_STORE = {"Cache-Control": "no-store"}


def mount(app: FastAPI, views: ViewRegistry) -> None:
    """Add the viewer to an app. Call it before Gradio is mounted at "/", which takes every other address.

    Whoever knows the token of a view may watch and move it; studio/web/gate.py checks who may send requests at all.
    """
    files = f"../{versioned_folder()}/"
    page = (STATIC / "viewer" / "index.html").read_text().replace("../static/", files)
    page = page.replace('{"imports": {', f'{{"imports": {{"../static/": "{files}", ')
    headers = {"Content-Security-Policy": _policy(page), "Cache-Control": "no-cache"}

    _mount_files(app, views)

    @app.get("/viewer/", include_in_schema=False)
    def viewer_page() -> Response:
        return Response(page, media_type="text/html", headers=headers)

    @app.get("/viewer", include_in_schema=False)
    def viewer_without_slash() -> Response:
        return RedirectResponse("viewer/")

    @app.websocket("/viewer/{token}/ws")
    async def stream(socket: WebSocket, token: str) -> None:
        try:
            session = views.get(token)
        except ViewerError:
            session = None
        is_visitor = current_role.get() < Role.LOOK
        # Pages that may watch a view at once: of people who log in, and of visitors, who take no place of theirs
        if session is None or session.pages[is_visitor] >= (4 if is_visitor else 8):
            await socket.close(4403)  # before accepting: the browser sees a refused connection
            return
        session.pages[is_visitor] += 1
        try:
            await socket.accept()
            await _stream(socket, session)
        finally:
            session.pages[is_visitor] -= 1


def _mount_files(app: FastAPI, views: ViewRegistry) -> None:
    """Add what a page fetches of a view beside its stream."""

    @app.get("/viewer/{token}/geometry", include_in_schema=False)
    def geometry(token: str, request: Request) -> Response:
        """Answer 304 if the page already shows a model of the same shapes, so that it need not be built again."""
        try:
            view = views.get(token)
            tag = view.geometry_tag
            focus = None if view.focus is None else view.focus.round(3).tolist()
        except StudioError as error:
            return PlainTextResponse(str(error), 404)
        headers = {"ETag": tag, "X-Focus": json.dumps(focus), **_NO_STORE}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        return Response(view.geometry, media_type="application/octet-stream", headers=headers)

    @app.get("/viewer/{token}/photo.png", include_in_schema=False)
    def photograph(token: str) -> Response:
        return _answer(lambda: views.get(token).photograph, "image/png")

    @app.get("/viewer/{token}/difference.png", include_in_schema=False)
    def difference(token: str) -> Response:
        return _answer(lambda: views.get(token).depth_difference, "image/png")

    @app.get("/viewer/{token}/measures.json", include_in_schema=False)
    def measures(token: str) -> Response:
        return _answer(lambda: views.get(token).measures, "application/json")

    @app.get("/viewer/{token}/grasps.json", include_in_schema=False)
    def grasps(token: str, object: str) -> Response:
        return _answer(lambda: _grasps(views.get(token), object), "application/json")

    @app.get("/viewer/{token}/splats/{number}", include_in_schema=False)
    def splats(token: str, number: int) -> Response:
        return _answer(lambda: _splats(views.get(token), number), "application/octet-stream")

    def _answer(read: Callable[[], bytes | None], media_type: str) -> Response:
        try:
            content = read()
        except StudioError as error:
            return PlainTextResponse(str(error), 404)
        if content is None:
            return PlainTextResponse("This view has no photograph.", 404)
        return Response(content, media_type=media_type, headers=_NO_STORE)


def _splats(view: ViewSession, number: int) -> bytes:
    """Return the Gaussian splats of that number. Raises ViewerError if there are none, SplatError."""
    if not 0 <= number < len(view.splats):
        raise ViewerError("This view has no such splats.")
    return view.splats[number][1]()


def _grasps(view: ViewSession, name: str) -> bytes:
    """Return the candidate grasps of an object as JSON. Raises ViewerError for a view or an object without any."""
    if view.grasps is None or name not in view.names:
        raise ViewerError("Select an object of the scene to see its grasps.")
    return json.dumps(list(view.grasps(name))).encode()


async def _stream(socket: WebSocket, session: ViewSession) -> None:
    """Send changes and receive commands until the page or the view is closed."""
    loop, changed = asyncio.get_running_loop(), asyncio.Event()
    refusals: deque[str] = deque(maxlen=_MAX_REFUSALS)
    unwatch = session.watch(lambda: loop.call_soon_threadsafe(changed.set))
    try:
        async with anyio.create_task_group() as group:

            async def until_closed(exchange: Coroutine) -> None:
                with suppress(WebSocketDisconnect):
                    await exchange
                group.cancel_scope.cancel()

            group.start_soon(until_closed, _send(socket, session, changed, refusals))
            group.start_soon(until_closed, _receive(socket, session, changed, refusals))
    finally:
        unwatch()
        with suppress(ViewerError):
            session.enqueue({"op": "release"})
    if session.closed:
        await socket.close(4410, "closed")


async def _send(socket: WebSocket, session: ViewSession, changed: asyncio.Event, refusals: deque[str]) -> None:
    sent_status = sent_snapshot = None
    changed.set()
    while not session.closed:
        await changed.wait()
        changed.clear()
        while refusals:
            await socket.send_text(json.dumps({"type": "error", "text": refusals.popleft()}))
        status, snapshot = session.status, session.snapshot
        if status is not sent_status:
            if status != sent_status:
                await socket.send_text(status)
            sent_status = status
        if snapshot != sent_snapshot:
            await socket.send_bytes(snapshot)
            sent_snapshot = snapshot


async def _receive(socket: WebSocket, session: ViewSession, changed: asyncio.Event, refusals: deque[str]) -> None:
    """Queue the page's commands. A refused one is answered to this page only."""
    while True:
        try:
            session.enqueue(await socket.receive_text())
        except StudioError as error:
            refusals.append(translated(str(error)))
        except KeyError:  # bytes instead of text
            refusals.append("The viewer takes commands as text; reload the page.")
        changed.set()


def _policy(page: str) -> str:
    """Return the page's Content-Security-Policy: only our own files, its own import map, framed only by our app."""
    inline = re.findall(r"<script type=\"importmap\">(.*?)</script>", page, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in inline]
    scripts = " ".join(["'self'", *(f"'sha256-{h}'" for h in hashes)])
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
        "frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
    )
