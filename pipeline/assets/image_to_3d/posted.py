"""Services that answer one POST with the model: Hunyuan3D, SAM 3D Objects, and any that takes PNG and returns GLB."""

import base64
import binascii
import io
from typing import Any

import httpx2
import numpy as np

from pipeline.assets.image_to_3d.service import HttpService, Made, ObjectView, ServiceError


class PlainService(HttpService):
    """Any server that answers a POST of a PNG (RGBA, transparent around the object) with a GLB."""

    name = "image-to-3D service"

    async def ask(self, client: httpx2.AsyncClient, view: ObjectView) -> Made:
        """Post the picture; the answer is the model."""
        reply = await client.post("", content=view.picture(), headers={"Content-Type": "image/png"})
        if reply.status_code != 200:
            self.answer_of(reply, "a GLB")
        return Made(reply.content)


class Hunyuan3D(HttpService):
    """Hunyuan3D 2.0 and 2.1 as their own `api_server.py` serves them.

    POST /generate   {"image": PNG in base64, "texture": bool, ...} -> the GLB, or 404 and {"text", "error_code"}

    A server without its texture model is asked for the shape alone.
    """

    name = "Hunyuan3D"

    async def ask(self, client: httpx2.AsyncClient, view: ObjectView) -> Made:
        """Post the picture, with texture and then without; the answer is the model."""
        question: dict[str, Any] = {"image": base64.b64encode(view.picture()).decode(), "remove_background": False}
        reply = await client.post("/generate", json=question | {"texture": True})
        if reply.status_code == 404:
            reply = await client.post("/generate", json=question | {"texture": False})
        if reply.status_code != 200:
            self.answer_of(reply, "a GLB")
        return Made(reply.content)


class Sam3D(HttpService):
    """SAM 3D Objects, served by `sam3d_server.py` in the Python of its own environment.

    It gets the whole photograph, the mask, and the measured depth as a map of points, and answers mesh, pose, scale
    and splats.
    """

    name = "SAM 3D Objects"

    async def ask(self, client: httpx2.AsyncClient, view: ObjectView) -> Made:
        """Post photograph, mask and points as one .npz; the answer is JSON with files in base64."""
        question = io.BytesIO()
        np.savez_compressed(question, rgb=view.rgb, mask=view.mask, points=point_map(view))
        reply = await client.post("/make", content=question.getvalue())
        answer = self.answer_of(reply, "mesh", "pose", "scale")
        try:
            pose, scale = np.array(answer["pose"], float).reshape(4, 4), float(answer["scale"])
            splats = base64.b64decode(answer["splats"]) if answer.get("splats") else None
            return Made(base64.b64decode(answer["mesh"]), pose, scale, splats)
        except (TypeError, ValueError, binascii.Error):
            wanted = "mesh in base64, pose (4, 4) and scale"
            raise ServiceError(f"{self.name} answered other than {wanted}; update sam3d_server.py there") from None


def point_map(view: ObjectView) -> np.ndarray:
    """Return the measured points (H, W, 3) in metres, camera axes, float32; NaN where nothing was measured."""
    height, width = view.depth.shape
    depth = np.where(view.depth > 0, view.depth, np.nan)
    k, (rows, columns) = view.intrinsics, np.mgrid[:height, :width]
    x, y = (columns - k[0, 2]) / k[0, 0], (rows - k[1, 2]) / k[1, 1]
    return np.dstack([x * depth, y * depth, depth]).astype(np.float32)
