"""The guard of the page's events: each needs a role, and none runs for a person who lacks it.

Needed of Gradio 6: every event is answered by `Blocks.process_api`, with the `BlockFunction`, whose `fn` is the handler
as it was registered, and with a `gr.Request`, whose `username` is the login. tests/studio/accounts/test_role_law.py
fails when that changes.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import gradio as gr
from gradio.block_function import BlockFunction

from studio.accounts.roles import Role, RoleError, require

Handler = TypeVar("Handler", bound=Callable[..., Any])


def needs(role: Role, handler: Handler) -> Handler:
    """Declare the role that an event's handler needs, and return the handler. Without it, that is Role.WORK."""
    handler.needed_role = role  # type: ignore[attr-defined]
    return handler


def needed_role(handler: object) -> Role:
    """Return the role that an event's handler needs."""
    return getattr(handler, "needed_role", Role.WORK)


class PageOwners:
    """Who uses which page: each belongs to the login that used it first."""

    def __init__(self):
        self._users: OrderedDict[str, str] = OrderedDict()
        """By the name that Gradio's page gives itself, its "session hash"."""

    def belongs(self, page: str, user: str) -> bool:
        """Whether a page is the user's. One that nobody has used yet becomes the user's."""
        is_own = self._users.setdefault(page, user) == user
        self._users.move_to_end(page)
        # Pages whose user is remembered
        while len(self._users) > 4096:
            self._users.popitem(last=False)
        return is_own


class GuardedPage(gr.Blocks):
    """A page whose events know who sent them, and run only for those whose role permits it, in pages of their own."""

    act_for: Callable[[str | None], Role | None] = staticmethod(lambda _: Role.ADMINISTER)
    """Works for the person of a login from now on, and returns their role; None for a login that no longer holds."""
    owners = PageOwners()
    actions: Mapping[tuple[str, str], Any] = {}
    """What the page's channel takes besides Gradio's events: role and edits of each, by component's id and event."""

    async def process_api(
        self, block_fn: BlockFunction | int, inputs: list[Any], state: Any = None, request: Any = None, **options: Any
    ) -> dict[str, Any]:
        """Answer one event, or one step of its answer. Raises gr.Error, which is a notice, without the role."""
        function = self.fns[block_fn] if isinstance(block_fn, int) else block_fn
        sender = request[0] if isinstance(request, list) else request
        user, page = getattr(sender, "username", None), getattr(sender, "session_hash", None)
        role = self.act_for(user)
        try:
            if role is None:
                raise RoleError("You are no longer logged in. Reload the page to log in.")
            require(needed_role(function.fn))
            if page and not self.owners.belongs(page, user or ""):
                raise RoleError("This is another person's page. Reload your own.")
        except RoleError as error:
            raise gr.Error(str(error), print_exception=False) from None
        return await super().process_api(function, inputs, state, request, **options)
