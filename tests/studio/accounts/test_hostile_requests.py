"""The law of requests: whatever a page sends is answered in one line, and reaches nothing but what is listed."""

import itertools
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
from page_client import open_page
from people import content, logged_in

from components.component import Component
from studio.web.endpoints import Endpoint
from studio.web.gradio_internals import gradio_app

KEYS = {
    key
    for file in (Path(__file__).parents[3] / "studio").rglob("*.py")
    for key in re.findall(r"request(?:\.get\(|\[)\"(\w+)\"", file.read_text(encoding="utf-8"))
} - {"kind", "token", "page_token"}
"""Every key that the studio reads of a request."""
HOSTILE: list[Any] = [
    *("..", "../precious", "/", "", "é" * 300, "a\0b"),
    *(10**400, -1, [".."], {"..": 1}, [{"path": "/etc/passwd"}], None),
]


async def ask(http: httpx.AsyncClient, id: int, data: Any) -> Any:
    body = {"data": data, "component_id": id, "fn_name": "ask", "session_hash": "x"}
    answer = await http.post("/gradio_api/component_server", content=json.dumps(body))
    assert answer.status_code == 200, (data, answer.text[:300])
    return answer.json()


async def test_no_request_reaches_beyond_what_is_listed_or_is_answered_with_more_than_a_line(studio: SimpleNamespace):
    precious = studio.workspace.parent / "precious"
    for folder in (precious, precious / "batch", studio.workspace):  # each could be taken for a batch, or a project
        folder.mkdir(exist_ok=True)
        (folder / "batch.json").write_text("{}")
        (folder / "project.json").write_text("{}")
    (studio.workspace / ".batches").mkdir()
    before = content(precious)
    async with logged_in(studio, "ada") as http, open_page(http, "") as home, open_page(http, "one") as page:
        values = {name: value for name, value in (home.values | page.values).items() if value}
        values["gallery"] = home.values["gallery"]
        for id, block in gradio_app(studio.app).get_blocks().blocks.items():
            if not isinstance(block, Component) or not isinstance(block.answer, Endpoint):
                continue
            guessed = [{"kind": kind, "token": "x", "page_token": "x"} for kind in block.answer.handlers]
            for data in ([], "text", 7, None, {"seq": 10**400}, *guessed):
                assert "error" in await ask(http, id, data), (block.elem_id, data)
            own = {"token": values["mask-canvas"]["token"]} | values.get(block.elem_id, {})
            own = {key: own.get(key, "") for key in ("token", "page_token")}
            for kind, value in itertools.product(block.answer.handlers, HOSTILE):
                error = (await ask(http, id, {**dict.fromkeys(KEYS, value), **own, "kind": kind})).get("error", "")
                assert "\n" not in error and "on our side" not in error, (block.elem_id, kind, value)
    assert content(precious) == before and (studio.workspace / "two" / "project.json").is_file()
