"""A page of the studio without a browser: speaks the channel of pages, as static/studio/channel.js does."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any
from weakref import WeakKeyDictionary

import httpx
import websockets
from websockets.asyncio.client import connect as connect_socket

TIMEOUT = 120.0
CONFIGURATIONS: WeakKeyDictionary[httpx.AsyncClient, dict[str, Any]] = WeakKeyDictionary()
"""The page's components and events, by the client that read them."""


class PageClient:
    """One open page. Make it with `open_page`."""

    def __init__(self, http: httpx.AsyncClient, config: dict[str, Any], project: str = ""):
        self.http, self.id, self.session_hash = http, secrets.token_hex(8), secrets.token_hex(6)
        self.project, self.config, self.studio = project, config, ""
        self.ids = {c["props"].get("elem_id"): c["id"] for c in config["components"]}
        self.shows = [c["props"].get("elem_id", "") for c in config["components"] if c["props"].get("js_on_load")]
        self.values: dict[str, Any] = {}
        """The newest value of each of our components, by its elem_id."""
        self.update: dict[str, Any] = {"acted": 0, "shows": 0, "told": 0}
        self.drawing_seconds = 0.0
        """How long the page takes to draw an update."""
        self.history: list[str] = []
        """"sent" for each update that the page got, "drawn" for each that it has drawn, in their order."""
        self.changed = asyncio.Condition()
        self._sent = 0
        self._channel: Any = None

    @property
    def token(self) -> str:
        return (self.values.get("mask-canvas") or {}).get("token", "")

    async def send(self, elem_id: str, event: str, message: Any = None, inputs: tuple = (), number: int = 0) -> int:
        """Send an event; return its number once the studio has acted on it."""
        self._sent = number = number or self._sent + 1
        names = {"component": elem_id, "event": event, "message": message, "values": list(inputs)}
        body = {"studio": self.studio, "page": self.id, "number": number, **names}
        (await self.http.post("/act", json=body)).raise_for_status()
        return number

    async def act(self, elem_id: str, event: str, message: Any = None, inputs: tuple = ()) -> None:
        number = await self.send(elem_id, event, message, inputs)
        await self.wait(lambda: self.update["acted"] >= number)

    async def ask(self, elem_id: str, request: dict[str, Any]) -> dict[str, Any]:
        about = {"component_id": self.ids[elem_id], "fn_name": "ask", "session_hash": self.session_hash}
        answer = await self.http.post("/gradio_api/component_server", json=about | {"data": request})
        return answer.raise_for_status().json()

    async def set_widgets(self) -> None:
        """Send the event of Gradio's that sets its own components, and wait for its answer."""
        await self.call("widgets", "refresh")

    async def call(self, elem_id: str, event: str, data: tuple = ()) -> Any:
        """Send an event of Gradio's own, and return the values that it sets."""
        target = [self.ids[elem_id], event]
        number = next(one["id"] for one in self.config["dependencies"] if target in one["targets"])
        about = {"fn_index": number, "event_data": {"page": self.id, "message": {}}, "session_hash": self.session_hash}
        (await self.http.post("/gradio_api/queue/join", json={"data": data, **about})).raise_for_status()
        address = f"/gradio_api/queue/data?session_hash={self.session_hash}"
        async with self.http.stream("GET", address, timeout=None) as stream:
            async for line in stream.aiter_lines():
                if '"process_completed"' in line:
                    answer = json.loads(line[5:])
                    assert answer["success"], line
                    return answer["output"]["data"]

    async def wait(self, condition: Callable[[], Any]) -> None:
        """Wait until the condition holds after an update."""
        async with asyncio.timeout(TIMEOUT), self.changed:
            await self.changed.wait_for(condition)

    async def cut(self) -> None:
        await self._channel.close()

    async def follow(self) -> None:
        """Take what the channel sends, until the studio closes it."""
        address = str(self.http.base_url.copy_with(scheme=self.http.base_url.scheme.replace("http", "ws")))
        query = f"?project={self.project}" if self.project else ""
        headers = {"cookie": "; ".join(f"{one.name}={one.value}" for one in self.http.cookies.jar)}
        socket = connect_socket(
            f"{address.rstrip('/')}/channel/{self.id}{query}", origin=self.http.headers["origin"],
            additional_headers=headers, max_size=None,
        )  # fmt: skip
        async with socket as channel:
            self._channel = channel
            await channel.send(f"shows 1 {' '.join(self.shows)}")
            with suppress(websockets.ConnectionClosed):
                async for text in channel:
                    async with self.changed:
                        self._take(json.loads(text))
                        self.changed.notify_all()
                    await asyncio.sleep(self.drawing_seconds)
                    self.history.append("drawn")
                    await channel.send(f"drawn {self.update['number']}")

    def _take(self, update: dict[str, Any]) -> None:
        self.history.append("sent")
        self.values |= {id: json.loads(text) for id, text in update.pop("values", {}).items()}
        self.update, self.studio = self.update | update, update.get("studio", self.studio)


@asynccontextmanager
async def open_page(http: httpx.AsyncClient, project: str = "", wait: bool = True) -> AsyncIterator[PageClient]:
    """Load the page, of that project or of the gallery, and follow its channel."""
    (await http.get("/", params={"project": project} if project else {})).raise_for_status()
    if http not in CONFIGURATIONS:
        CONFIGURATIONS[http] = (await http.get("/config")).raise_for_status().json()
    page = PageClient(http, CONFIGURATIONS[http], project)
    channel = asyncio.ensure_future(page.follow())
    try:
        if wait:
            await page.wait(lambda: page.update["shows"])
        yield page
    finally:
        channel.cancel()
        with suppress(asyncio.CancelledError, httpx.HTTPError):
            await channel


def connect(address: str, transport: httpx.AsyncBaseTransport | None = None) -> httpx.AsyncClient:
    """Return a client of the studio at that address that sends what a browser sends."""
    headers = {"origin": "/".join(address.split("/")[:3]), "sec-fetch-site": "same-origin"}
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=2)
    return httpx.AsyncClient(base_url=address, headers=headers, transport=transport, limits=limits, timeout=TIMEOUT)
