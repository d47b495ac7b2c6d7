"""A page of the studio without a browser: speaks Gradio's protocol over HTTP, as its JavaScript does."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any
from weakref import WeakKeyDictionary

import httpx
from gradio_client.utils import apply_diff

TIMEOUT = 120.0
CHECK = 5.0
"""Seconds without what is waited for, after which a page asks again (static/top_bar/script.js)."""
CONFIGURATIONS: WeakKeyDictionary[httpx.AsyncClient, dict[str, Any]] = WeakKeyDictionary()
"""The page's components and events, by the client that read them."""


class PageClient:
    """One open page. Make it with `open_page`."""

    def __init__(self, http: httpx.AsyncClient, config: dict[str, Any], project: str = ""):
        self.http, self.session_hash = http, secrets.token_hex(6)
        self._address = {"project": project} if project else {}
        self.components = {c["id"]: c for c in config["components"]}
        self._ids = {c["props"].get("elem_id"): c["id"] for c in config["components"]}
        self._events = {
            (target, name): (d["id"], len(d["inputs"]), d["outputs"])
            for d in config["dependencies"]
            for target, name in map(tuple, d["targets"])
        }
        self.values: dict[str, Any] = {}
        """The newest full value of each component, by its elem_id."""
        self.properties: dict[str, dict[str, Any]] = {}
        """The newest changed properties of each component, by its elem_id."""
        self.updates: dict[str, int] = {}
        """Number of updates of each event, by its id."""
        self.completed: set[str] = set()
        self._outputs: dict[str, list[int]] = {}
        self._data: dict[str, list[Any]] = {}
        """The newest values of the outputs of each event, by its id."""
        self.drawing_seconds = 0.0
        """How long the page takes to draw an update."""
        self.history: list[str] = []
        """"sent" for each update that the page got, "drawn" for each that it has drawn, in their order."""
        self._reported = ""
        self._reports: list[asyncio.Future] = []
        self.changed = asyncio.Condition()
        self._reader: asyncio.Task | None = None

    @property
    def is_following(self) -> bool:
        """Whether an event of the page is still being answered."""
        return bool(self._outputs.keys() - self.completed)

    @property
    def token(self) -> str:
        """The open session's token; empty in the gallery."""
        return (self.values.get("mask-canvas") or {}).get("token", "")

    def event_of(self, elem_id: str | None, event: str) -> tuple[int, int, list[int]]:
        """Return number, count of inputs, and outputs of an event; the page's own component is None."""
        if elem_id is None:
            return next(found for (_, name), found in self._events.items() if name == event)
        return self._events[self._ids[elem_id], event]

    async def send(self, elem_id: str | None, event: str, message: Any = None, inputs: tuple = ()) -> str:
        """Send an event and return its id."""
        number, count, outputs = self.event_of(elem_id, event)
        return await self.send_number(number, [None, *inputs] if count else [], outputs, message)

    async def send_number(self, number: int, data: list[Any], outputs: list[int], message: Any) -> str:
        """Send the event of a number and return its id."""
        body = {"data": data, "fn_index": number, "event_data": message, "session_hash": self.session_hash}
        answer = await self.http.post("/gradio_api/queue/join", json=body, params=self._address)
        id = answer.raise_for_status().json()["event_id"]
        self._outputs[id] = outputs
        if self._reader is None or self._reader.done():
            self._reader = asyncio.ensure_future(self._read())
        return id

    async def ask(self, elem_id: str, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request to a component's endpoint and return its answer."""
        about = {"component_id": self._ids[elem_id], "fn_name": "ask", "session_hash": self.session_hash}
        answer = await self.http.post("/gradio_api/component_server", json=about | {"data": request})
        return answer.raise_for_status().json()

    async def wait(self, condition: Callable[[], Any]) -> None:
        """Wait until the condition holds after an update. An open project is asked for anew, as its page does."""
        async with asyncio.timeout(TIMEOUT):
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(CHECK), self.changed:
                        await self.changed.wait_for(condition)
                        return
                if self.token:
                    await self.send("top-bar", "refresh")

    async def _read(self) -> None:
        address = f"/gradio_api/queue/data?session_hash={self.session_hash}"
        is_first = True
        while is_first or self.is_following:  # a stream ends with its last event, perhaps just after the next was sent
            is_first = False
            async with self.http.stream("GET", address, timeout=None) as stream:
                stream.raise_for_status()
                async for line in stream.aiter_lines():
                    if line.startswith("data:"):
                        async with self.changed:
                            self._take(json.loads(line[5:]))
                            self.changed.notify_all()

    def _take(self, message: dict[str, Any]) -> None:
        id, kind = str(message.get("event_id")), message["msg"]
        if kind in ("process_generating", "process_completed") and message.get("success"):
            data = message["output"].get("data", ())
            if kind == "process_generating" and self.updates.get(id):
                data = [apply_diff(*pair) for pair in zip(self._data[id], data, strict=True)]
            self.updates[id] = self.updates.get(id, 0) + 1
            self._data[id] = data
            for component, value in zip(self._outputs.get(id, ()), data, strict=False):
                properties = self.components[component]["props"]
                name = properties.get("elem_id")
                if isinstance(value, dict) and value.get("__type__") == "update":
                    changed = {key: each for key, each in value.items() if key != "__type__"}
                    self.properties.setdefault(name, {}).update(changed)
                else:
                    is_ours = isinstance(value, str) and bool(properties.get("js_on_load"))
                    self.values[name] = json.loads(str(value)) if is_ours else value
            self._report_drawn()
        if kind == "process_completed":
            assert message["success"], message
            self.completed.add(id)

    def _report_drawn(self) -> None:
        update = (self.values.get("status-bar") or {}).get("update")
        if update and update != self._reported:
            self._reported = update
            self.history.append("sent")
            self._reports.append(asyncio.ensure_future(self._draw(update)))

    async def _draw(self, update: str) -> None:
        await asyncio.sleep(self.drawing_seconds)
        self.history.append("drawn")
        await self.ask("status-bar", {"drawn": update})

    async def close(self) -> None:
        for report in self._reports:
            report.cancel()
        if self._reader:
            self._reader.cancel()
            with suppress(asyncio.CancelledError, httpx.HTTPError):
                await self._reader


@asynccontextmanager
async def open_page(http: httpx.AsyncClient, project: str = "", wait: bool = True) -> AsyncIterator[PageClient]:
    """Load the page, of that project or of the gallery, with the stream that keeps it alive."""
    (await http.get("/", params={"project": project} if project else {})).raise_for_status()
    if http not in CONFIGURATIONS:
        CONFIGURATIONS[http] = (await http.get("/config")).raise_for_status().json()
    page = PageClient(http, CONFIGURATIONS[http], project)

    async def stay_alive() -> None:
        async with http.stream("GET", f"/gradio_api/heartbeat/{page.session_hash}", timeout=None) as stream:
            async for _ in stream.aiter_bytes():
                pass

    alive = asyncio.ensure_future(stay_alive())
    try:
        loaded = await page.send(None, "load")
        if wait:
            await page.wait(lambda: page.updates.get(loaded))
        yield page
    finally:
        await page.close()
        alive.cancel()
        with suppress(asyncio.CancelledError, httpx.HTTPError):
            await alive


def connect(address: str, transport: httpx.AsyncBaseTransport | None = None) -> httpx.AsyncClient:
    """Return a client of the studio at that address that sends what a browser sends."""
    headers = {"origin": "/".join(address.split("/")[:3]), "sec-fetch-site": "same-origin"}
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=2)
    return httpx.AsyncClient(base_url=address, headers=headers, transport=transport, limits=limits, timeout=TIMEOUT)
