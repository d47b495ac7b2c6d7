"""What the page may not send: the names of the events and requests that the server would refuse to a person.

They come from the declarations by which the server refuses them, so that the page disables the controls of exactly
those.
"""

from collections.abc import Iterator
from typing import Any

from components.component import Component
from studio.accounts.roles import Role
from studio.web.endpoints import Endpoint
from studio.web.page_guard import needed_role


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
    for function in page.fns.values():
        for target, event in function.targets:
            block = page.blocks.get(target)
            if id := getattr(block, "elem_id", None):
                yield (
                    f"{id}.{event}" if isinstance(block, Component) else f"#{id}",
                    needed_role(function.fn),
                    getattr(function.fn, "edits", False),
                )
    for block in page.blocks.values():
        if isinstance(block, Component) and isinstance(answer := block.answer, Endpoint):
            for kind in answer.handlers:
                of_session = getattr(answer.context, "of_session", False)
                yield f"{block.elem_id}.{kind}", answer.needed_role(kind), of_session and answer.edits(kind)
