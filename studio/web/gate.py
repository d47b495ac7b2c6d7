"""The gate before everything that the studio serves, Gradio's routes included: each request passes all checks or none.

1. Host: the address that was asked for is one of the studio's (no DNS rebinding).
2. Origin: the request comes from a page of the studio, or from no page at all. Another port of this machine is another
   origin. A link on another site may open the studio's page and nothing else.
3. Route: of Gradio's own routes only those that its page uses.
4. Login: without it, only the login page. The role of the person is known to everything behind the gate.
5. Size and patience: what is sent is bounded, and must arrive in time.

Answers carry headers that keep other sites from framing and reading them.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from studio.accounts.current_user import current_user
from studio.accounts.presence import Presence
from studio.accounts.roles import Role
from studio.texts import choose_language, current_language
from studio.web.access import Access
from studio.web.login_limits import current_address
from studio.web.page_guard import PageOwners
from studio.web.static_files import versioned_folder

PUBLIC = ("/static/", f"/{versioned_folder()}/", "/link/")
PUBLIC_FILES = ("/login", "/logout", "/favicon.ico", "/manifest.json", "/robots.txt", "/texts.json")
"""What the login page needs, what browsers and robots ask for, and what says that the studio runs."""
VISITORS = (
    "/assets/", "/svelte/", "/project/", "/thumbnail/project/", "/viewer", "/gradio_api/queue/", "/gradio_api/cancel",
    "/gradio_api/reset", "/gradio_api/component_server", "/gradio_api/info", "/channel/",
)  # fmt: skip
VISITORS_FILES = ("/", "/config", "/config/", "/account.json", "/act", "/theme.css")
"""What the page of one project needs, for those who came by a link."""
GRADIO = "/gradio_api/"
GRADIO_ROUTES = (
    "queue", "cancel", "reset", "component_server", "upload", "upload_progress", "info", "theme.css",
)  # fmt: skip
"""Routes of Gradio that its page uses, besides the files that it was sent. The others fetch from other servers, start
the queue again, write files or run events past the queue. By app_id Gradio's page would load itself again after a lost
connection, without what was typed; static/studio/channel.js does that instead."""
UPLOAD, LOGIN = f"{GRADIO}upload", "/login"
UPLOAD_BYTES, BODY_BYTES, LOGIN_BYTES = 440 << 20, 32 << 20, 16 << 10
"""Largest bodies: of an upload, which may be one file of 400 MB; of any other request; of a login."""
BODY_SECONDS = 60.0
"""Longest silence in the middle of a body."""
FORWARDED = (b"x-forwarded-host", b"x-forwarded-proto", b"x-forwarded-for", b"forwarded")
HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'self'; base-uri 'self'; object-src 'none'",
    "X-Frame-Options": "SAMEORIGIN",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
PAGE_STREAM = f"{GRADIO}queue/data"
SOCKET_REFUSED = 4403
"""Code with which a socket is closed that does not pass, or whose login has ended."""
FindUser = Callable[[HTTPConnection], str | None]
"""Returns the name of the person who logged in; None if nobody did."""
NEEDED_ROLES = {"upload": Role.WORK, "upload_progress": Role.WORK}
"""Roles that routes of Gradio need; `studio.web.page_guard` knows those of events, `Endpoint` those of requests."""


class Refused(Exception):
    """A request that does not pass: a status, and one line on what was wrong and what would work."""

    def __init__(self, status: int, reason: str, **headers: str):
        super().__init__(reason)
        self.status, self.headers = status, headers


class Gate:
    """ASGI middleware with all checks."""

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        find_user: FindUser,
        presence: Presence | None = None,
        pages: PageOwners | None = None,
    ):
        self.app, self.access, self.find_user = app, access, find_user
        self.presence, self._pages = presence or Presence(), pages or PageOwners()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        try:
            scope = self._below_root(self._without_foreign_headers(scope))
            connection = HTTPConnection(scope)
            self._check_host(connection)
            self._check_origin(connection)
            self._check_route(connection)
            self._check_login(connection)
            current_language.set(choose_language(connection.cookies, connection.headers.get("accept-language")))
            if scope["type"] == "websocket":
                with self._present(connection):
                    return await self.app(scope, *self._checked(connection, receive, send))
            receive = _bounded(receive, connection)
        except Refused as refused:
            return await _refuse(scope, receive, send, refused)
        await self.app(scope, receive, self._sender(connection, send))

    def _without_foreign_headers(self, scope: Scope) -> Scope:
        """Drop what a client says about how the studio was asked, unless a proxy may; Gradio believes all of it."""
        dropped = (b"x-gradio-server",) if self.access.behind_proxy else (b"x-gradio-server", *FORWARDED)
        headers = [(name, value) for name, value in scope["headers"] if name.lower() not in dropped]
        return {**scope, "headers": headers}

    def _below_root(self, scope: Scope) -> Scope:
        """Take the path under which a proxy publishes the studio off an address; some proxies do so themselves."""
        root, path = self.access.root_path, scope["path"]
        if root and path == root:  # addresses in the page are relative to the path with a slash
            raise Refused(308, "This address ends with a slash.", location=f"{root}/")
        if not root or not path.startswith(f"{root}/"):
            return scope
        raw = scope.get("raw_path") or path.encode()
        return {**scope, "path": path[len(root) :], "raw_path": raw[len(root) :]}

    def _check_host(self, connection: HTTPConnection) -> None:
        server = (connection.scope.get("server") or ("", None))[0] or ""
        names = [*connection.headers.getlist("host"), *_forwarded_hosts(connection)]
        unknown = [name for name in names if not self.access.knows_host(name, server)]
        if unknown or not connection.headers.get("host"):
            name = (unknown or [""])[0][:100]
            raise Refused(
                421,
                f'The studio does not answer as "{name}". Open it as 127.0.0.1, or start it with --allow-host '
                "and that name.",
            )

    def _check_origin(self, connection: HTTPConnection) -> None:
        headers, is_socket = connection.headers, connection.scope["type"] == "websocket"
        origins, site = headers.getlist("origin"), headers.get("sec-fetch-site", "none")
        if origins or is_socket:  # browsers name the origin of each socket and of all but some GET requests
            scheme = {"ws": "http", "wss": "https"}.get(connection.scope["scheme"], str(connection.scope["scheme"]))
            host = (_forwarded_hosts(connection) or [headers["host"]])[0]
            own = len(origins) == 1 and self.access.is_own_origin(origins[0], scheme, host)
        else:
            own = site in ("same-origin", "none") or _opens_page(connection)
        if not own:
            origin = origins[0][:100] if origins else "another site"
            raise Refused(
                403,
                f"This request comes from {origin}; the studio answers only its own pages. Where a proxy publishes "
                "the studio, start it with --allow-host and the proxy's name.",
            )

    def _check_route(self, connection: HTTPConnection) -> None:
        path = connection.scope["path"]
        if path.startswith(GRADIO):
            route = path.removeprefix(GRADIO)
            is_file = route.startswith("file=") and "://" not in route and not route.startswith("file=http")
            if not is_file and route.partition("/")[0] not in GRADIO_ROUTES:
                raise Refused(404, "The studio does not have this address.")

    def _check_login(self, connection: HTTPConnection) -> None:
        path, user = connection.scope["path"], self.find_user(connection) if self.access.needs_login else ""
        current_address.set(connection.client.host if connection.client else "")
        role = self.access.act_for(user)
        is_public = path in PUBLIC_FILES or path.startswith(PUBLIC)
        if self.access.needs_login:
            if role is None and path == "/":
                page = f"{self.access.root_path}/login?{connection.url.query}".rstrip("?")
                raise Refused(303, "Log in to the studio first.", location=page)
            if role is None and not is_public:
                raise Refused(401, "Log in to the studio first.")
            if role is Role.VISIT and not (is_public or path in VISITORS_FILES or path.startswith(VISITORS)):
                raise Refused(403, "The link shows one project and nothing else.")
            page = connection.query_params.get("session_hash", "")
            if path.rstrip("/") == PAGE_STREAM and not self._pages.belongs(page, user or ""):
                raise Refused(403, "This is the stream of another person's page.")
            if path.startswith(GRADIO) and role is not None:
                _check_role(role, path)

    def _checked(self, connection: HTTPConnection, receive: Receive, send: Send) -> tuple[Receive, Send]:
        """Return a socket's channels, which end with the login and know the role as it is at each message."""

        def is_open() -> bool:
            return self.access.act_for(self.find_user(connection) if self.access.needs_login else "") is not None

        async def receive_checked() -> Message:
            message = await receive()
            return message if is_open() else {"type": "websocket.disconnect", "code": SOCKET_REFUSED}

        async def send_checked(message: Message) -> None:
            if message["type"] != "websocket.close" and not is_open():
                await send({"type": "websocket.close", "code": SOCKET_REFUSED})
                raise WebSocketDisconnect(SOCKET_REFUSED)
            await send(message)

        return receive_checked, send_checked

    @contextmanager
    def _present(self, connection: HTTPConnection) -> Iterator[None]:
        """Count a person as present for as long as the channel of a page is open."""
        user = current_user.get()
        if not (user and connection.scope["path"].startswith("/channel/")):
            yield
            return
        self.presence.enter(user)
        try:
            yield
        finally:
            self.presence.leave(user)

    def _sender(self, connection: HTTPConnection, send: Send) -> Send:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        return send_with_headers


def _check_role(role: Role, path: str) -> None:
    needed = NEEDED_ROLES.get(path.removeprefix(GRADIO).partition("/")[0], Role.VISIT)
    if role < needed:
        raise Refused(403, f'This needs the role "{needed.title}"; ask an administrator of this studio for it.')


def _forwarded_hosts(connection: HTTPConnection) -> list[str]:
    """Return the hosts that proxies were asked for, the first one first."""
    return [host.strip() for value in connection.headers.getlist("x-forwarded-host") for host in value.split(",")]


def _opens_page(connection: HTTPConnection) -> bool:
    """Whether a person followed a link to the studio's page, or to a project of it."""
    mode, target = (connection.headers.get(f"sec-fetch-{name}") for name in ("mode", "dest"))
    path, method = connection.scope["path"], connection.scope.get("method")
    return (
        method == "GET"
        and (mode, target) == ("navigate", "document")
        and (path in ("/", LOGIN) or path.startswith("/link/"))
    )


def _bounded(receive: Receive, connection: HTTPConnection) -> Receive:
    """Return `receive` for a body that is neither too large nor too slow. Raises Refused if it says to be too large."""
    path = connection.scope["path"].rstrip("/")
    limit = {UPLOAD: UPLOAD_BYTES, LOGIN: LOGIN_BYTES}.get(path, BODY_BYTES)
    too_large = f"This is more than the {limit >> 20 or 1} MB that this address takes."
    length = connection.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > limit:
        raise Refused(413, too_large)
    received, complete = 0, False

    async def bounded() -> Message:
        nonlocal received, complete
        if complete:  # what follows is the end of the connection, which may be far
            return await receive()
        try:
            message = await asyncio.wait_for(receive(), BODY_SECONDS)
        except TimeoutError:
            raise HTTPException(408, "The request did not arrive in time.") from None
        received += len(message.get("body", b""))
        complete = not message.get("more_body", False)
        if received > limit:
            raise HTTPException(413, too_large)
        return message

    return bounded


async def _refuse(scope: Scope, receive: Receive, send: Send, refused: Refused) -> None:
    if scope["type"] == "websocket":  # before accepting: the browser sees a refused connection
        await receive()
        await send({"type": "websocket.close", "code": SOCKET_REFUSED, "reason": str(refused)[:120]})
    else:
        await PlainTextResponse(str(refused), refused.status, {**HEADERS, **refused.headers})(scope, receive, send)
