"""What is kept of each loaded page: enough to update it, and nothing once it is closed."""

import gc
from collections import Counter
from pathlib import Path

import pytest
from async_calls import run_async
from gradio.state_holder import SessionState
from offline_studio import offline_services
from page_client import connect, open_page
from served_studio import served

from studio.server import page_states
from studio.server.gradio_internals import gradio_app

LOADS = 8
NEEDED = "studio/server/page_states.py says what it needs of Gradio's StateHolder and SessionState"


def test_nothing_more_is_kept_after_many_page_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(page_states, "CLOSED_PAGES", 5)
    with served(offline_services(), tmp_path) as studio:
        gradio = gradio_app(studio.app)

        async def load(count: int) -> None:
            async with connect(studio.address) as http:
                for _ in range(count):
                    async with open_page(http) as page:
                        assert page.properties["home"] == {"visible": True}, NEEDED
                        assert page.properties["bench"] == {"visible": False}, NEEDED

        run_async(load(page_states.CLOSED_PAGES + 5))
        before = census()
        run_async(load(LOADS))
        grown = census() - before
        assert len(gradio.state_holder.session_data) <= page_states.CLOSED_PAGES + 2, NEEDED
        assert sum(grown.values()) < 200 * LOADS, grown.most_common(8)
        one = next(iter(gradio.state_holder.session_data.values()))
        assert isinstance(one, SessionState) and not one.config_values, NEEDED


def census() -> Counter[str]:
    """Count the objects that Python's garbage collector knows, by type."""
    gc.collect()
    return Counter(str(type(each)) for each in gc.get_objects())
