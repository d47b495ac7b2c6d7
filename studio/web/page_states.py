"""What Gradio keeps of each loaded page, cut down to what the studio uses.

Gradio copies the configuration of every component for each page load, for links that restore a page ("deep links",
which the studio does not have), and forgets no page before 10,000 were loaded: 0.2 to 1.4 MB a load.

Needed of Gradio 6.31: `gradio.state_holder.StateHolder` with `session_data`, `time_last_used` and `capacity`, whose
`__getitem__` makes a `SessionState`, with `is_closed`, which is set when a page's heartbeat ends, and with
`config_values`, `_update_config` and `_update_value_in_config`, which only deep links read; `App.state_holder`; in the
queue, `pending_messages_per_session` and `pending_event_ids_session`.
tests/studio/web/test_gradio_internals.py fails when that changes.
"""

import datetime
from copy import copy
from typing import Any

from gradio.blocks import Blocks
from gradio.routes import App
from gradio.state_holder import SessionState, StateHolder

CLOSED_PAGES = 50
"""Pages that were closed last, or whose connection broke, and may come back."""


class PageState(SessionState):
    """The state of one page: values of gr.State, and the components that an update changed."""

    def __init__(self, blocks: Blocks):
        self.blocks_config = copy(blocks.default_config)
        self.config_values: dict[int, Any] = {}
        self.state_data: dict[int, Any] = {}
        self._state_ttl: dict[int, Any] = {}
        self.is_closed = False
        self.STATE_TTL_WHEN_CLOSED = 3600

    def __setitem__(self, key: int, value: Any) -> None:
        super().__setitem__(key, value)
        self.config_values.clear()

    def _update_config(self, key: int) -> None:
        pass

    def _update_value_in_config(self, key: int, value: Any) -> None:
        pass


class PageStates(StateHolder):
    """The states of all pages; of closed ones only the last CLOSED_PAGES are kept."""

    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self.session_data:
            self.session_data[session_id] = PageState(self.blocks)
            self._forget_closed()
        self.update(session_id)
        self.time_last_used[session_id] = datetime.datetime.now()
        return self.session_data[session_id]

    def _forget_closed(self) -> None:
        queue = self.blocks._queue
        closed = [id for id, state in list(self.session_data.items()) if state.is_closed]
        for id in closed[:-CLOSED_PAGES]:
            for kept in (
                self.session_data, self.time_last_used, queue.pending_messages_per_session,
                queue.pending_event_ids_session,
            ):  # fmt: skip
                kept.pop(id, None)


def install(app: App) -> None:
    """Let the Gradio app keep its pages' states so. Call it before the app is served."""
    states = PageStates()
    states.set_blocks(app.get_blocks())
    # Pages at the same time; the one that was used least recently is forgotten
    states.capacity = 2000
    app.state_holder = states
