"""What every image-to-3D service is asked and answers, and the connection to one that speaks HTTP."""

import asyncio
import concurrent.futures
import contextlib
import io
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import cv2
import httpx2
import numpy as np
from PIL import Image

from pipeline.errors import StudioError, single_line
from pipeline.geometry import bounding_box
from pipeline.models.client.connection import POLL_SECONDS, BoundedTransport, ReplyEncoded, ReplyTooLong, event_loop
from pipeline.models.destination import origin
from pipeline.models.settings import is_web_address, strip_credentials
from pipeline.store import parse_json

MAX_REPLY_BYTES = 64_000_000
"""Largest reply that is accepted."""
TIMEOUT_S = 600.0
"""Time for one object, from the request to the model."""


class ServiceError(StudioError):
    """The service returned no model. The message says what happened and what to do."""


class ServiceCancelled(ServiceError):
    """The user cancelled the generation."""


@dataclass(frozen=True, eq=False)
class ObjectView:
    """One object as the camera saw it."""

    rgb: np.ndarray
    """The whole photograph, shape (H, W, 3), uint8."""
    mask: np.ndarray
    """Pixels of the object, shape (H, W), bool."""
    depth: np.ndarray
    """Metres along the camera's axis, shape (H, W), float32; 0 where nothing was measured."""
    intrinsics: np.ndarray
    """Camera matrix in pixels, shape (3, 3); the camera looks along z, x to the right and y down."""
    name: str = ""
    caption: str = ""
    stopped: Callable[[], bool] = lambda: False
    """Whether the user has cancelled; asked while waiting."""

    def picture(self) -> bytes:
        """Return the object alone as a square PNG, RGBA, at the photograph's own resolution where it is not larger."""
        part = bounding_box(self.mask).slices
        alpha = cv2.GaussianBlur(self.mask[part].astype(np.uint8) * 255, (3, 3), 0)
        cropped = Image.fromarray(np.dstack([self.rgb[part], alpha]))
        # Transparent margin around the object, over the side of the picture
        room = 1 - 2 * 0.1
        # Largest side of the picture that is sent: what these models take at most
        side = min(1024, round(max(cropped.size) / room))
        if max(cropped.size) > (largest := round(side * room)):
            cropped.thumbnail((largest, largest), Image.Resampling.LANCZOS)
        picture = Image.new("RGBA", (side, side))
        picture.paste(cropped, ((side - cropped.width) // 2, (side - cropped.height) // 2))
        out = io.BytesIO()
        picture.save(out, "PNG")
        return out.getvalue()


class Made(NamedTuple):
    """What a service made of a view."""

    mesh: bytes | Path
    """A GLB, or the file of a mesh of any kind that can be imported; a GLB has y up, others z."""
    pose: np.ndarray | None = None
    """camera-from-mesh (4, 4), a rotation and a translation in metres, if the service says it."""
    scale: float | None = None
    """Metres per unit of the mesh, if the service says it."""
    splats: bytes | None = None
    """Gaussian splats (.ply), if the service makes them."""


class ImageTo3D(Protocol):
    """A service that makes a 3D model of an object in a photograph."""

    @property
    def name(self) -> str:
        """The source that results carry; no host name, because results are given away."""
        ...

    @property
    def address(self) -> str:
        """Scheme, host and port that the picture is sent to; empty if it stays on this machine."""
        ...

    def make(self, view: ObjectView) -> Made:
        """Return what was made of a view. Raises ServiceError."""
        ...


class HttpService(ABC):
    """A service that is asked over HTTP, within bounds of time and bytes, and left at once when the user stops."""

    name: ClassVar[str]

    def __init__(self, url: str, seconds: float = TIMEOUT_S, largest: int = MAX_REPLY_BYTES):
        if not is_web_address(url):
            raise ServiceError(f'"{strip_credentials(url)}" is no address such as http://localhost:7960')
        self._url, self._seconds, self._largest = url.rstrip("/"), seconds, largest
        self.address = origin(url)

    def make(self, view: ObjectView) -> Made:
        """Return what the service made of a view. Raises ServiceError."""
        future = asyncio.run_coroutine_threadsafe(self._bounded(view), event_loop())
        try:
            while not future.done():
                if view.stopped():
                    raise ServiceCancelled("the generation from the picture was cancelled")
                concurrent.futures.wait([future], POLL_SECONDS)
            return future.result()
        finally:
            future.cancel()

    @abstractmethod
    async def ask(self, client: httpx2.AsyncClient, view: ObjectView) -> Made:
        """Return the service's answer. Raises ServiceError."""

    async def interrupt(self, client: httpx2.AsyncClient) -> None:  # noqa: B027 most have no way to be told
        """Tell the service that the answer is not wanted any more."""

    async def _bounded(self, view: ObjectView) -> Made:
        limits = httpx2.Timeout(self._seconds, connect=5.0)
        transport = BoundedTransport(self._largest)
        async with httpx2.AsyncClient(transport=transport, timeout=limits, base_url=self._url) as client:
            try:
                async with asyncio.timeout(self._seconds):
                    made = await self.ask(client, view)
            except asyncio.CancelledError:
                with contextlib.suppress(httpx2.HTTPError):
                    await asyncio.shield(self.interrupt(client))
                raise
            except TimeoutError:
                waited = f"{self.name} took longer than {self._seconds:.0f} s"
                raise ServiceError(f"{waited}; try again, or choose another method") from None
            except ReplyTooLong as error:
                raise ServiceError(f"{self.name} sent {error}, too much for one object; check its settings") from None
            except ReplyEncoded:
                raise ServiceError(f"{self.name} sent a compressed reply; switch compression off there") from None
            except httpx2.HTTPError as error:
                unreachable = f"{self.name} cannot be reached ({type(error).__name__})"
                raise ServiceError(f"{unreachable}; is it running at {self.address}?") from None
        assert isinstance(made.mesh, bytes)
        return made._replace(mesh=validated_glb(made.mesh, self.name))

    def answer_of(self, reply: httpx2.Response, *fields: str) -> dict[str, Any]:
        """Return the JSON object of a reply, which must have these fields. Raises ServiceError."""
        try:
            answer = parse_json(reply.content)
        except ValueError:
            answer = None
        answer = answer if isinstance(answer, dict) else {}
        if reply.status_code in (429, 503):
            raise ServiceError(f"{self.name} is busy with another object; try again when it is done")
        if reply.status_code != 200 or any(field not in answer for field in fields):
            told = next((str(answer[key]) for key in ("message", "error", "detail", "text") if answer.get(key)), "")
            wanted = " and ".join(fields) or "an answer"
            raise ServiceError(
                f"{self.name} answered HTTP {reply.status_code} without {wanted}"
                + (f" ({single_line(told)[:200]})" if told else "; check GRS_IMAGE_TO_3D")
            )
        return answer


def validated_glb(data: bytes, name: str) -> bytes:
    """Return the data if it is one complete binary glTF 2 file (12-byte header). Raises ServiceError."""
    if len(data) < 20 or data[:4] != b"glTF":
        raise ServiceError(f"what {name} sent is not a GLB; check that its output format is glb")
    version, length = struct.unpack("<II", data[4:12])
    if version != 2 or length != len(data):
        raise ServiceError(f"the GLB that {name} sent is cut off ({len(data):,} of {length:,} bytes); try again")
    return data
