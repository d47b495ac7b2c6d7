"""The parts of Gradio that have no public interface and that the studio needs.

Needed of Gradio 6: logins as a dict `App.tokens` from the values of the cookies
`access-token-ID` and `access-token-unsecure-ID`, ID being `App.cookie_id`, to names; `Blocks.state_session_capacity`,
which only `launch` sets; and `gradio.routes.templates`, whose frontend/index.html, the page as it is first answered,
has the link `MANIFEST`. gradio_fast_import.py and components/component.py say what they need themselves.
tests/studio/web/test_gradio_internals.py fails when one of them changes.
"""

import secrets
from collections import deque
from collections.abc import Callable
from typing import Any, cast

import jinja2
from fastapi import FastAPI
from gradio.routes import templates
from starlette.requests import HTTPConnection

from studio.accounts.links import VISITOR, visit_has_ended

LOGIN_COOKIES = ("access-token-{}", "access-token-unsecure-{}")
MANIFEST = '<link rel="manifest" href="/manifest.json" />'
"""An address outside the path of a proxy, of an app that installs as Gradio."""
ICON = '<link rel="icon" href="static/studio/icon.svg">'
"""Without it in the first answer, browsers fetch /favicon.ico, which is outside the path of a proxy too."""


def name_icon() -> None:
    """Let pages name the studio's icon when they are first answered, and link to nothing outside their path."""
    name, loader = "frontend/index.html", cast(jinja2.BaseLoader, templates.env.loader)
    source = loader.get_source(templates.env, name)[0]
    if MANIFEST in source:
        own = jinja2.DictLoader({name: source.replace(MANIFEST, ICON)})
        templates.env.loader = jinja2.ChoiceLoader([own, loader])


def gradio_app(app: FastAPI) -> Any:
    """Return the Gradio app that was mounted last on `app`."""
    return app.routes[-1].app  # type: ignore[attr-defined]


def log_in(app: FastAPI, user: str) -> tuple[str, str]:
    """Log a person in to the Gradio app that was mounted last on `app`, once; return its cookie id and their token."""
    mounted = gradio_app(app)
    known = next((token for token, name in list(mounted.tokens.items()) if name == user), None)
    token = known or secrets.token_urlsafe(24)
    mounted.tokens[token] = user
    return mounted.cookie_id, token


class ValidLogins:
    """Forgets logins that were made with an earlier password of their user, or by a link that has ended."""

    def __init__(self, credential_of: Callable[[str | None], str]):
        self._credential_of = credential_of
        self._credentials: dict[str, tuple[str, str]] = {}
        """User and credential when a cookie's token was first used, by the token."""
        # Visits whose end is remembered, to say so
        self._ended_visits: deque[str] = deque(maxlen=1000)
        """Tokens of visitors whose link has ended."""

    def user_of(self, app: FastAPI, connection: HTTPConnection) -> str | None:
        """Return the name of the person whose login still holds, else None; note whether it was a visit that ended."""
        mounted = gradio_app(app)
        tokens = [connection.cookies.get(name.format(mounted.cookie_id), "") for name in LOGIN_COOKIES]
        for token in tokens:
            user = mounted.tokens.get(token)
            if user is None:
                continue
            now = (user, self._credential_of(user))
            if self._credentials.setdefault(token, now) == now:
                return user
            mounted.tokens.pop(token, None)
            self._credentials.pop(token, None)
            if user.startswith(VISITOR):
                self._ended_visits.append(token)
        visit_has_ended.set(any(token in self._ended_visits for token in tokens))
        return None
