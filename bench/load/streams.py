"""Two hundred pages that follow work which does not get on, for its model server is silent; are others answered?"""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager

from bench.load.server_process import ServerProcess
from bench.load.timings import TimedTransport, Timings
from tests.page_client import connect, open_page

SCENE, ROUNDS = "blocks", 20
PATHS = ("/", "/config", "/static/studio/loading.js", "/thumbnail/project/{name}", "/project/{token}/colour.jpg",
         "/viewer/")  # fmt: skip


@contextmanager
def silent_server() -> Iterator[str]:
    """Give the address of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as server:
        taken: list[socket.socket] = []

        def accept() -> None:
            while True:
                try:
                    taken.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"


async def run(server: ServerProcess, count: int) -> Timings:
    """Open so many pages on one project; return the times of other requests meanwhile, and of Stop."""
    opening, timings = Timings(), Timings()
    async with AsyncExitStack() as stack:
        slow = await stack.enter_async_context(connect(server.address, TimedTransport(opening)))
        http = await stack.enter_async_context(connect(server.address, TimedTransport(timings)))
        first = await stack.enter_async_context(open_page(slow))
        await first.send("gallery", "open", {"name": SCENE})
        await first.wait(lambda: (first.values.get("mask-canvas") or {}).get("token"))
        token, name = first.values["mask-canvas"]["token"], first.values["top-bar"]["project"]
        pages = [await stack.enter_async_context(open_page(slow, name)) for _ in range(count)]
        assert first.values["status-bar"]["running"]
        for _ in range(ROUNDS):
            for path in PATHS:
                await http.get(path.format(name=name, token=token))
            request, canvas = {"token": token, "kind": "status"}, pages[0].ids["mask-canvas"]
            body = {"data": request, "component_id": canvas, "fn_name": "ask", "session_hash": "other"}
            await http.post("/gradio_api/component_server", json=body)
        began = time.perf_counter()
        await pages[-1].act("status-bar", "stop")
        timings.add("Stop, until it is shown", time.perf_counter() - began)
        timings.errors += opening.errors
    return timings
