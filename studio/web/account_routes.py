"""The routes by which a page learns whose it is and what it may not send, and by which a link opens its project."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from components.component import Component
from studio.accounts.current_user import current_user
from studio.accounts.links import VISITOR, Links
from studio.accounts.roles import Role, current_role
from studio.texts import t
from studio.web.endpoints import Endpoint
from studio.web.logins import NO_STORE, Logins
from studio.web.page_guard import needed_role


def mount(app: FastAPI, links: Links | None, logins: Logins) -> None:
    """Add the routes. Call it before Gradio is mounted at "/", which takes every other address."""

    @app.get("/account.json", include_in_schema=False)
    def account() -> JSONResponse:
        role = current_role.get()
        about = {"user": current_user.get(), "role": role.title, **refusals(app.state.page, role)}
        return JSONResponse(about, headers=NO_STORE)

    @app.get("/link/{token}", include_in_schema=False)
    def follow(token: str, request: Request) -> Response:
        """Log a visitor in for the link's project, and go there. Whoever may see more stays logged in as they are."""
        link = links.find(token) if links else None
        if link is None:
            text = t("This link has expired or was revoked. Ask the person who sent it for another.")
            return PlainTextResponse(text, 404, headers=NO_STORE)
        query = urlencode({"project": link.project.rpartition("/")[2]})
        answer = RedirectResponse(f"../?{query}", 303, headers=NO_STORE)
        if current_role.get() < Role.LOOK:
            logins.log_in(answer, f"{VISITOR}{link.id}", request.url.scheme == "https")
        return answer


def refusals(page: Any, role: Role) -> dict[str, list[str]]:
    """Return {refused, editors}: names "component.event" and "component.kind" of a `gr.Blocks`; "#id" of Gradio's own.

    `refused` are those that need a greater role. `editors` are refused while another person edits the project.
    """
    sent = list(_sent(page))
    return {
        "refused": sorted({name for name, needed, _ in sent if needed > role}),
        "editors": sorted({name for name, _, edits in sent if edits}),
    }


def _sent(page: Any) -> Iterator[tuple[str, Role, bool]]:
    """Yield name, needed role and whether only the editor of a project may send it, of all that a page can send."""
    ours = {block.elem_id for block in page.blocks.values() if isinstance(block, Component)} | {"jobs"}
    for (id, event), action in page.actions.items():
        yield (f"{id}.{event}" if id in ours else f"#{id}", action.role, action.edits)
    for function in page.fns.values():
        for target, event in function.targets if function.fn else ():
            block = page.blocks.get(target)
            if id := getattr(block, "elem_id", None):
                yield (f"{id}.{event}" if isinstance(block, Component) else f"#{id}", needed_role(function.fn), False)
    for block in page.blocks.values():
        if isinstance(block, Component) and isinstance(answer := block.answer, Endpoint):
            for kind in answer.handlers:
                of_session = getattr(answer.context, "of_session", False)
                yield f"{block.elem_id}.{kind}", answer.needed_role(kind), of_session and answer.edits(kind)
