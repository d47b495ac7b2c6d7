"""Image to 3D by a service of the user's own: a picture of one thing in, a GLB out.

One client is here, for TRELLIS (Xiang et al. 2024, "Structured 3D latents") behind the HTTP interface of
trellis-stable-projectorz, which needs no key:

    POST /generate_no_preview   multipart: file (PNG, RGBA), seed, output_format -> {"status", "message", ...}
    GET  /status                {"status": "PROCESSING" | "COMPLETE" | "FAILED", "progress": 0-100, "message"}
    GET  /download/model        the GLB
    POST /interrupt             the work is given up

GRS_IMAGE_TO_3D=http://host:7960 sets it up. The picture leaves this machine for that address and nowhere else.
"""

import asyncio
import concurrent.futures
import contextlib
import os
import struct
from collections.abc import Callable
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx2

from pipeline.errors import StudioError
from pipeline.models.connection import LOOK, Bounded, TooLong, loop

LARGEST = 64_000_000
"""Bytes of a reply."""
SECONDS = 600.0
"""For one thing, from the question to the model."""
CONNECT = 5.0
PAUSE = 1.0
"""Seconds between looks at how far it is."""
DONE, FAILED = ("COMPLETE", "COMPLETED", "DONE"), ("FAILED", "ERROR", "CANCELLED")


class ProviderError(StudioError):
    """The service gave no model: what happened, and what to do."""


class ProviderStopped(ProviderError):
    """A person stopped it."""


class Provider(Protocol):
    @property
    def name(self) -> str:
        """What results carry as their source."""
        ...

    def make(self, picture: bytes, stopped: Callable[[], bool] = ...) -> bytes:
        """A GLB of the thing on a PNG whose surroundings are clear. Raises ProviderError."""
        ...


def from_environment() -> "Provider | None":
    """The service that GRS_IMAGE_TO_3D names; None where it names none. Raises ProviderError for what is no address."""
    url = os.environ.get("GRS_IMAGE_TO_3D", "").strip()
    return Trellis(url) if url else None


class Trellis:
    """A TRELLIS server."""

    def __init__(self, url: str, seconds: float = SECONDS, largest: int = LARGEST):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ProviderError(f'GRS_IMAGE_TO_3D is "{url}"; it takes an address such as http://localhost:7960')
        self._url, self._seconds, self._largest = url.rstrip("/"), seconds, largest
        self.name = f"TRELLIS at {parts.hostname}"

    def make(self, picture: bytes, stopped: Callable[[], bool] = lambda: False) -> bytes:
        future = asyncio.run_coroutine_threadsafe(self._made(picture), loop())
        try:
            while not future.done():
                if stopped():
                    raise ProviderStopped("making it from the picture was stopped")
                concurrent.futures.wait([future], LOOK)
            return checked_glb(future.result(), self.name)
        finally:
            future.cancel()

    async def _made(self, picture: bytes) -> bytes:
        limits = httpx2.Timeout(self._seconds, connect=CONNECT)
        async with httpx2.AsyncClient(transport=Bounded(self._largest), timeout=limits) as client:
            try:
                async with asyncio.timeout(self._seconds):
                    return await self._asked(client, picture)
            except asyncio.CancelledError:
                with contextlib.suppress(httpx2.HTTPError):
                    await asyncio.shield(client.post(f"{self._url}/interrupt", timeout=2.0))
                raise
            except TimeoutError:
                raise ProviderError(
                    f"{self.name} took longer than {self._seconds:.0f} s; ask again, or choose another way"
                ) from None
            except TooLong as error:
                raise ProviderError(f"{self.name} sent {error}, which is no model of one thing") from None
            except httpx2.HTTPError as error:
                raise ProviderError(
                    f"{self.name} cannot be reached ({type(error).__name__}); is it running at {self._url}?"
                ) from None

    async def _asked(self, client: httpx2.AsyncClient, picture: bytes) -> bytes:
        files, data = {"file": ("thing.png", picture, "image/png")}, {"seed": "1", "output_format": "glb"}
        state = self._state(await client.post(f"{self._url}/generate_no_preview", files=files, data=data))
        while state not in DONE:
            await asyncio.sleep(PAUSE)
            state = self._state(await client.get(f"{self._url}/status"))
        reply = await client.get(f"{self._url}/download/model")
        if reply.status_code != 200:
            raise ProviderError(f"{self.name} made a model but did not hand it over (HTTP {reply.status_code})")
        return reply.content

    def _state(self, reply: httpx2.Response) -> str:
        """What a reply says of the work. Raises ProviderError where it says that it failed, or nothing."""
        try:
            told: Any = reply.json()
            state = str(told["status"]).upper()
        except (ValueError, KeyError, TypeError):
            told, state = {}, ""
        if reply.status_code in (429, 503):
            raise ProviderError(f"{self.name} is busy with another thing; ask again when it is done")
        if reply.status_code != 200 or not state:
            raise ProviderError(
                f"{self.name} answered HTTP {reply.status_code} and nothing that a TRELLIS server says; "
                "check GRS_IMAGE_TO_3D"
            )
        if state in FAILED:
            why = " ".join(str(told.get("message") or "no reason given").split())[:200]
            raise ProviderError(f"{self.name} failed: {why}; choose another way")
        return state


def checked_glb(data: bytes, name: str) -> bytes:
    """The same bytes, where they are one whole binary glTF 2 file (its 12 byte header). Raises ProviderError."""
    if len(data) < 20 or data[:4] != b"glTF":
        raise ProviderError(f"what {name} sent is no GLB; check that its output format is glb")
    version, length = struct.unpack("<II", data[4:12])
    if version != 2 or length != len(data):
        raise ProviderError(f"the GLB that {name} sent is broken off ({len(data):,} of {length:,} bytes); ask again")
    return data
