"""TRELLIS (Xiang et al. 2024, "Structured 3D latents") and TRELLIS.2, as they are served today."""

import asyncio
import re
import uuid
from contextlib import suppress
from typing import Any

import httpx2

from pipeline.assets.image_to_3d.service import HttpService, Made, ObjectView, ServiceError
from pipeline.errors import single_line
from pipeline.store import parse_json

POLL_INTERVAL_S = 1.0
"""Time between two requests for the status."""
DONE_STATES, FAILED_STATES = ("COMPLETE", "COMPLETED", "DONE"), ("FAILED", "ERROR", "CANCELLED")
EVENT = re.compile(r"event: (\w+)\r?\ndata: (.*)")


class Trellis(HttpService):
    """The Gradio app of either repository (`python app.py`), through the interface that Gradio gives every app.

    /start_session, /preprocess_image, /image_to_3d and /extract_glb are asked in turn, in one session, which keeps the
    model between them. An endpoint that an app lacks is left out, and every argument but the picture is the app's own
    default (GET /gradio_api/info).
    """

    name = "TRELLIS"
    STEPS = ("/start_session", "/preprocess_image", "/image_to_3d", "/extract_glb")

    async def ask(self, client: httpx2.AsyncClient, view: ObjectView) -> Made:
        """Upload the picture, run the steps that the app has, and download the GLB."""
        info = self.answer_of(await client.get("/gradio_api/info"), "named_endpoints")["named_endpoints"]
        if not isinstance(info, dict) or "/image_to_3d" not in info:
            raise ServiceError(f"the Gradio app at {self.address} has no /image_to_3d; is it TRELLIS' app.py?")
        files = {"files": ("object.png", view.picture(), "image/png")}
        uploaded = await client.post("/gradio_api/upload", files=files)
        picture = {"path": str(self._json(uploaded)[0]), "meta": {"_type": "gradio.FileData"}}
        session, answer = uuid.uuid4().hex[:12], []
        for step in (step for step in self.STEPS if step in info):
            answer = await self._run(client, step, self._arguments(info[step], picture), session)
            if step == "/preprocess_image" and (kept := _files(answer)):
                picture = kept[0]
        made = [file for file in _files(answer) if str(file.get("path", "")).lower().endswith(".glb")]
        if not made:
            raise ServiceError(f"{self.name} ended without a GLB; choose another method")
        return Made((await client.get(f"/gradio_api/file={made[0]['path']}")).content)

    def _arguments(self, endpoint: Any, picture: dict[str, Any]) -> list[Any]:
        """Return an endpoint's arguments: the picture where it takes one, else its defaults."""
        try:
            taken = [(p.get("component"), p.get("parameter_default")) for p in endpoint["parameters"]]
        except (KeyError, TypeError, AttributeError):
            raise ServiceError(f"{self.name} describes its interface in an unknown way; update it") from None
        return [picture if kind == "Image" else ([] if kind == "Gallery" else default) for kind, default in taken]

    async def _run(self, client: httpx2.AsyncClient, step: str, arguments: list[Any], session: str) -> list[Any]:
        body = {"data": arguments, "session_hash": session}
        begun = self.answer_of(await client.post(f"/gradio_api/call{step}", json=body), "event_id")
        events = EVENT.findall((await client.get(f"/gradio_api/call{step}/{begun['event_id']}")).text)
        event, data = events[-1] if events else ("nothing", "null")
        told = None
        with suppress(ValueError):
            told = parse_json(data, finite=False)
        if event == "complete" and isinstance(told, list):
            return told
        why = single_line(str(told.get("error") if isinstance(told, dict) else told or "no reason given"))[:200]
        raise ServiceError(f"{self.name} failed in {step}: {why}; choose another method")

    def _json(self, reply: httpx2.Response) -> list[Any]:
        with suppress(ValueError):
            paths = parse_json(reply.content)
            if reply.status_code == 200 and isinstance(paths, list) and paths:
                return paths
        raise ServiceError(f"{self.name} answered HTTP {reply.status_code} to the picture; check GRS_IMAGE_TO_3D")


def _files(value: Any) -> list[dict[str, Any]]:
    """Return the files in what an endpoint returned, in order."""
    if isinstance(value, dict):
        nested = [file for part in value.values() for file in _files(part)]
        return [value] if isinstance(value.get("path"), str) else nested
    return [file for part in value for file in _files(part)] if isinstance(value, list) else []


class TrellisProjectorz(HttpService):
    """TRELLIS through the HTTP interface of trellis-stable-projectorz, which needs no key.

    POST /generate_no_preview   multipart: file (PNG, RGBA), seed, output_format -> {"status", "message", ...}
    GET  /status                {"status": "PROCESSING" | "COMPLETE" | "FAILED", "progress": 0-100, "message"}
    GET  /download/model        the GLB
    POST /interrupt             cancels the generation
    """

    name = "TRELLIS"

    async def ask(self, client: httpx2.AsyncClient, view: ObjectView) -> Made:
        """Post the picture, wait for the model and download it."""
        files, data = {"file": ("thing.png", view.picture(), "image/png")}, {"seed": "1", "output_format": "glb"}
        state = self._state(await client.post("/generate_no_preview", files=files, data=data))
        while state not in DONE_STATES:
            await asyncio.sleep(POLL_INTERVAL_S)
            state = self._state(await client.get("/status"))
        reply = await client.get("/download/model")
        if reply.status_code != 200:
            raise ServiceError(f"{self.name} made a model but cannot send it (HTTP {reply.status_code}); try again")
        return Made(reply.content)

    async def interrupt(self, client: httpx2.AsyncClient) -> None:
        """Cancel the generation."""
        await client.post("/interrupt", timeout=2.0)

    def _state(self, reply: httpx2.Response) -> str:
        answer = self.answer_of(reply, "status")
        state = str(answer["status"]).upper()
        if state in FAILED_STATES:
            why = single_line(str(answer.get("message") or "no reason given"))[:200]
            raise ServiceError(f"{self.name} failed: {why}; choose another method")
        return state
