"""Logins: the page where people log in, the signed cookies that they get, and the end of all logins of a person."""

import hmac
import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from html import escape
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Form, HTTPException, Request
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from itsdangerous import BadData, URLSafeTimedSerializer
from starlette.requests import HTTPConnection

from pipeline.errors import StudioError
from studio.accounts.current_user import current_user
from studio.accounts.links import VISITOR
from studio.accounts.watched_file import WatchedFile
from studio.texts import current_language, t
from studio.web.login_limits import GuardedLogin
from studio.web.static_files import versioned_folder

FILE = ".logins.json"
"""In the workspace, so that logins outlive a restart."""
LONGEST_SECONDS = 30 * 86400
SHEETS = "patterns/scale", "studio", "patterns/fault", "login"
SCHEMA = 1
NO_STORE = {"Cache-Control": "no-store"}


@dataclass(frozen=True)
class _Kept:
    key: str
    """Signs the cookies."""
    ended: Mapping[str, int]
    """How often all logins of a person were ended."""


class Logins:
    """Who is logged in, by cookies. May be used from any thread."""

    def __init__(self, workspace: Path, credential_of: Callable[[str], str]):
        """`credential_of` returns a text that changes with a person's password; older logins then end."""
        self._credential_of = credential_of
        self._file: WatchedFile[_Kept | None] = WatchedFile(workspace / FILE, "the logins", _parse, None)
        self._unsaved = _Kept(secrets.token_hex(32), {})
        """Counts where the file cannot be written or read: these logins end with this process."""

    def user_of(self, connection: HTTPConnection) -> str | None:
        """Return the name of the person whose login still holds, else None."""
        user, holds = self._read(connection)
        return user if holds else None

    def is_ended_visit(self, connection: HTTPConnection) -> bool:
        """Whether the person came by a link that has ended."""
        user, holds = self._read(connection)
        return user.startswith(VISITOR) and not holds

    def log_in(self, answer: Response, user: str, secure: bool) -> None:
        """Give a person a cookie; `secure` if it may be sent over HTTPS only."""
        kept = self._kept()
        value = _signer(kept).dumps([user, self._mark(kept, user)])
        answer.set_cookie(_cookie(kept), value, httponly=True, samesite="lax", secure=secure)

    def log_out(self, answer: Response, user: str) -> None:
        """End all logins of a person; of a visitor this one, since others came by the same link. Raises StudioError."""
        answer.delete_cookie(_cookie(self._kept()))
        if not user or user.startswith(VISITOR):
            return
        if self._kept() is self._unsaved:
            self._unsaved = _ended(self._unsaved, user)
            return
        with self._file.alone():
            self._file.write(asdict(_ended(self._file.read() or self._unsaved, user)) | {"schema": SCHEMA})

    def _read(self, connection: HTTPConnection) -> tuple[str, bool]:
        """Return a cookie's person, "" without one of this studio, and whether the login still holds."""
        kept = self._kept()
        try:
            user, mark = _signer(kept).loads(connection.cookies.get(_cookie(kept), ""), max_age=LONGEST_SECONDS)
        except BadData:
            return "", False
        return user, hmac.compare_digest(mark, self._mark(kept, user))

    def _mark(self, kept: _Kept, user: str) -> str:
        """Return a text that changes when a person's logins end. Nobody can find the password from it."""
        text = f"{kept.ended.get(user, 0)} {self._credential_of(user)}"
        return hmac.digest(kept.key.encode(), text.encode("utf-8", "surrogatepass"), "sha256").hex()

    def _kept(self) -> _Kept:
        try:
            if (kept := self._file.read()) is None:
                with self._file.alone():
                    if self._file.read() is None:
                        self._file.write(asdict(self._unsaved) | {"schema": SCHEMA})
                kept = self._file.read()
            return kept or self._unsaved
        except (StudioError, OSError):
            return self._unsaved


def mount(app: FastAPI, logins: Logins, check: GuardedLogin) -> None:
    """Add the page and its answers. Call it before Gradio is mounted at "/", which takes every other address."""

    @app.get("/login", include_in_schema=False)
    def page(request: Request) -> Response:
        ended = logins.is_ended_visit(request)
        return _page(t("The link by which you came has expired or was revoked.") if ended else "")

    @app.post("/login", include_in_schema=False)
    async def log_in(request: Request, username: Annotated[str, Form()], password: Annotated[str, Form()]) -> Response:
        """Answer a person's form with the studio's page, and a program's with JSON as Gradio does."""
        is_form, user = "text/html" in request.headers.get("accept", ""), username.strip()
        try:
            if not await check.authenticate(user, password):
                raise HTTPException(400, t("Incorrect credentials."))
        except HTTPException as error:
            if is_form:
                return _page(str(error.detail), user, error.status_code, error.headers)
            raise
        answer = RedirectResponse(f"./?{request.url.query}", 303) if is_form else JSONResponse({"success": True})
        logins.log_in(answer, user, request.url.scheme == "https")
        return answer

    @app.get("/logout", include_in_schema=False)
    def log_out() -> Response:
        answer = RedirectResponse(f"{app.state.root_path}/", 303, NO_STORE)
        try:
            logins.log_out(answer, current_user.get())
        except (StudioError, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            return PlainTextResponse(t("Logins cannot be ended: {why}", why=why), 500, NO_STORE)
        return answer


def _page(problem: str, user: str = "", status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    about = t("Photographs of tables become simulated scenes that robots solve tasks in.")
    message = t("Whoever runs this studio gives you a login. After five wrong passwords, wait a few minutes.")
    sheets = "".join(f'<link rel="stylesheet" href="{versioned_folder()}/{name}.css">' for name in SHEETS)
    name, secret = (
        f'name="username" value="{escape(user)}" autocomplete="username"',
        'name="password" type="password" autocomplete="current-password"',
    )
    html = f"""<!doctype html>
<html lang="{current_language.get()}"><head><meta charset="utf-8"><title>GRS Studio</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="static/studio/icon.svg">{sheets}</head>
<body><main><h1><img src="static/studio/icon.svg" alt="">GRS Studio</h1><p>{escape(about)}</p>
<form method="post"><p role="alert" class="fault">{escape(problem)}</p>
<label>{escape(t("Username"))}<input {name} required{" autofocus" * (not user)}></label>
<label>{escape(t("Password"))}<input {secret} required{" autofocus" * bool(user)}></label>
<button>{escape(t("Log in"))}</button></form><p><small>{escape(message)}</small></p></main></body></html>
"""
    return HTMLResponse(html, status, {**NO_STORE, **(headers or {})})


def _signer(kept: _Kept) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(kept.key, salt="login")


def _cookie(kept: _Kept) -> str:
    """Return the cookie's name: studios at several ports of a machine get one another's cookies."""
    return f"grs-login-{hmac.digest(kept.key.encode(), b'name', 'sha256').hex()[:8]}"


def _ended(kept: _Kept, user: str) -> _Kept:
    return replace(kept, ended={**kept.ended, user: kept.ended.get(user, 0) + 1})


def _parse(content: Any) -> _Kept:
    if content["schema"] != SCHEMA:
        raise ValueError(f"it is of version {content['schema']}, and this GRS Studio reads version {SCHEMA}")
    if not isinstance(content["key"], str) or not content["key"]:
        raise KeyError("key")
    return _Kept(content["key"], {str(user): int(count) for user, count in content["ended"].items()})
