"""A tiny reverse proxy that publishes a server under a path, and remembers what was asked of it outside that path."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from urllib.parse import urlsplit


@contextmanager
def published(address: str, path: str, strips: bool) -> Iterator[SimpleNamespace]:
    """Publish the server at `address` under `path`; gives {address, outside}.

    Args:
        strips: whether the proxy takes the path off the addresses that it passes on.
    """
    running = SimpleNamespace(address="", outside=[])
    loop, ready, done = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    upstream = urlsplit(address)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *fields = head.rstrip("\r\n").split("\r\n")
            method, target, version = first.split(" ")
            if not (target == path or target.startswith((f"{path}/", f"{path}?"))):
                running.outside.append(target)
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return await finish(writer)
            passed = (target.removeprefix(path) or "/") if strips else target
            is_upgrade = "upgrade: websocket" in head.lower()
            kept = [field for field in fields if is_upgrade or not field.lower().startswith("connection:")]
            kept += [] if is_upgrade else ["Connection: close"]
            server_reader, server_writer = await asyncio.open_connection(upstream.hostname, upstream.port)
            server_writer.write("\r\n".join([f"{method} {passed} {version}", *kept, "", ""]).encode("latin-1"))
            await asyncio.gather(pipe(reader, server_writer), pipe(server_reader, writer))
        return await finish(writer)

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        await finish(writer)

    async def finish(writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            writer.close()

    async def serve() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        running.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{path}"
        ready.set()
        await done.wait()
        server.close()

    def run() -> None:
        loop.run_until_complete(serve())
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0.1))

    thread = threading.Thread(target=run, daemon=True, name="proxy")
    thread.start()
    ready.wait(30)
    yield running
    loop.call_soon_threadsafe(done.set)
    thread.join(30)
