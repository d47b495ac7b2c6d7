"""Client for an image-to-3D service of the user's: a picture of one object in, a GLB out.

It speaks to TRELLIS (Xiang et al. 2024, "Structured 3D latents") through the HTTP interface of
trellis-stable-projectorz, which needs no key:

    POST /generate_no_preview   multipart: file (PNG, RGBA), seed, output_format -> {"status", "message", ...}
    GET  /status                {"status": "PROCESSING" | "COMPLETE" | "FAILED", "progress": 0-100, "message"}
    GET  /download/model        the GLB
    POST /interrupt             cancels the generation

Set GRS_IMAGE_TO_3D=http://host:7960 to use it. The picture is sent to that address and nowhere else.
"""

import asyncio
import concurrent.futures
import contextlib
import struct
from collections.abc import Callable
from typing import Any, Protocol

import httpx2

from pipeline.errors import StudioError, single_line
from pipeline.models.client.connection import POLL_SECONDS, BoundedTransport, ReplyEncoded, ReplyTooLong, event_loop
from pipeline.models.destination import origin
from pipeline.models.secret_environment import environment_value
from pipeline.models.settings import is_web_address, strip_credentials

MAX_REPLY_BYTES = 64_000_000
"""Largest reply that is accepted."""
TIMEOUT_S = 600.0
"""Time for one object, from the request to the model."""
CONNECT_TIMEOUT_S = 5.0
POLL_INTERVAL_S = 1.0
"""Time between two requests for the status."""
DONE_STATES, FAILED_STATES = ("COMPLETE", "COMPLETED", "DONE"), ("FAILED", "ERROR", "CANCELLED")


class ProviderError(StudioError):
    """The service returned no model. The message says what happened and what to do."""


class ProviderCancelled(ProviderError):
    """The user cancelled the generation."""


class Provider(Protocol):
    """A service that makes a 3D model of a picture."""

    @property
    def name(self) -> str:
        """The source that results carry; no host name, because results are given away."""
        ...

    @property
    def address(self) -> str:
        """Scheme, host and port that the picture is sent to."""
        ...

    def make(self, picture: bytes, stopped: Callable[[], bool] = ...) -> bytes:
        """Return a GLB of the object in a PNG with a transparent background. Raises ProviderError."""
        ...


def provider_from_environment() -> "Provider | None":
    """Return the service in GRS_IMAGE_TO_3D, or None. Raises ProviderError for an invalid address."""
    url = environment_value("GRS_IMAGE_TO_3D")
    return TrellisProvider(url) if url else None


class TrellisProvider:
    """A TRELLIS server."""

    def __init__(self, url: str, seconds: float = TIMEOUT_S, largest: int = MAX_REPLY_BYTES):
        if not is_web_address(url):
            shown = strip_credentials(url)
            raise ProviderError(f'GRS_IMAGE_TO_3D is "{shown}"; it takes an address such as http://localhost:7960')
        self._url, self._seconds, self._largest = url.rstrip("/"), seconds, largest
        self.name, self.address = "TRELLIS", origin(url)

    def make(self, picture: bytes, stopped: Callable[[], bool] = lambda: False) -> bytes:
        future = asyncio.run_coroutine_threadsafe(self._generate(picture), event_loop())
        try:
            while not future.done():
                if stopped():
                    raise ProviderCancelled("the generation from the picture was cancelled")
                concurrent.futures.wait([future], POLL_SECONDS)
            return validated_glb(future.result(), self.name)
        finally:
            future.cancel()

    async def _generate(self, picture: bytes) -> bytes:
        limits = httpx2.Timeout(self._seconds, connect=CONNECT_TIMEOUT_S)
        async with httpx2.AsyncClient(transport=BoundedTransport(self._largest), timeout=limits) as client:
            try:
                async with asyncio.timeout(self._seconds):
                    return await self._request_model(client, picture)
            except asyncio.CancelledError:
                with contextlib.suppress(httpx2.HTTPError):
                    await asyncio.shield(client.post(f"{self._url}/interrupt", timeout=2.0))
                raise
            except TimeoutError:
                raise ProviderError(
                    f"{self.name} took longer than {self._seconds:.0f} s; try again, or choose another method"
                ) from None
            except ReplyTooLong as error:
                raise ProviderError(f"{self.name} sent {error}, too much for one object; check its settings") from None
            except ReplyEncoded:
                raise ProviderError(f"{self.name} sent a compressed reply; switch compression off there") from None
            except httpx2.HTTPError as error:
                raise ProviderError(
                    f"{self.name} cannot be reached ({type(error).__name__}); is it running at {self.address}?"
                ) from None

    async def _request_model(self, client: httpx2.AsyncClient, picture: bytes) -> bytes:
        files, data = {"file": ("thing.png", picture, "image/png")}, {"seed": "1", "output_format": "glb"}
        state = self._state(await client.post(f"{self._url}/generate_no_preview", files=files, data=data))
        while state not in DONE_STATES:
            await asyncio.sleep(POLL_INTERVAL_S)
            state = self._state(await client.get(f"{self._url}/status"))
        reply = await client.get(f"{self._url}/download/model")
        if reply.status_code != 200:
            raise ProviderError(f"{self.name} made a model but cannot send it (HTTP {reply.status_code}); try again")
        return reply.content

    def _state(self, reply: httpx2.Response) -> str:
        """Return the status in a reply. Raises ProviderError if the generation failed or the status is missing."""
        try:
            answer: Any = reply.json()
            state = str(answer["status"]).upper()
        except (ValueError, KeyError, TypeError, RecursionError):
            answer, state = {}, ""
        if reply.status_code in (429, 503):
            raise ProviderError(f"{self.name} is busy with another object; try again when it is done")
        if reply.status_code != 200 or not state:
            raise ProviderError(
                f"{self.name} answered HTTP {reply.status_code} without the status of a TRELLIS server; "
                "check GRS_IMAGE_TO_3D"
            )
        if state in FAILED_STATES:
            why = single_line(str(answer.get("message") or "no reason given"))[:200]
            raise ProviderError(f"{self.name} failed: {why}; choose another method")
        return state


def validated_glb(data: bytes, name: str) -> bytes:
    """Return the data if it is one complete binary glTF 2 file (12-byte header). Raises ProviderError."""
    if len(data) < 20 or data[:4] != b"glTF":
        raise ProviderError(f"what {name} sent is not a GLB; check that its output format is glb")
    version, length = struct.unpack("<II", data[4:12])
    if version != 2 or length != len(data):
        raise ProviderError(f"the GLB that {name} sent is cut off ({len(data):,} of {length:,} bytes); try again")
    return data
