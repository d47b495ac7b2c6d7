"""What people do beside clicks: bring a frame of their own, and have a policy trained."""

import asyncio
import json
import random
import time
from collections.abc import Coroutine, Iterator

import httpx

from bench.load.server_process import ROOT
from bench.load.timings import Timings
from tests.page_client import open_page

SCENE = "blocks"
UPLOADERS, TRAINERS = 5, 5
"""One user in three each, of fifteen."""
FIRST_SHARE = 0.4
"""All have begun within this share of the time, so that their work ends in it on two cores."""
TRAINING = {"subtask": "reach_red_cube", "steps": 4096, "demonstrations": 0, "from_reset": True}
"""The shortest one: a single update of the policy, on the first object of the task."""


def beside(http: httpx.AsyncClient, number: int, end: float, timings: Timings) -> Iterator[Coroutine[None, None, None]]:
    """Give what the user with this number does in a page of its own."""
    begin = random.Random(number).uniform(0, FIRST_SHARE) * (end - time.monotonic())
    if number < UPLOADERS:
        yield _upload(http, begin, timings)
    elif number < UPLOADERS + TRAINERS:
        yield _train(http, f"{SCENE}_{number}", begin, end, timings)


async def _upload(http: httpx.AsyncClient, begin: float, timings: Timings) -> None:
    """Drop a frame in the gallery, and wait until its twin is made."""
    await asyncio.sleep(begin)
    async with open_page(http) as page:
        folder = ROOT / "sample_scenes" / "stack"
        files = [("files", (name, (folder / name).read_bytes())) for name in ("rgb.png", "depth.png", "camera.json")]
        began = time.perf_counter()
        paths = (await http.post("/gradio_api/upload", files=files)).raise_for_status().json()
        dropped = [{"path": path, "meta": {"_type": "gradio.FileData"}} for path in paths]
        (picker,) = await page.call("drop", "upload", (dropped, page.id))
        await page.act("frame-picker", "open", {"token": json.loads(picker)["token"], "index": 0})
        timings.add("frame dropped, until its project is shown", time.perf_counter() - began)
        await page.wait(lambda: not page.values["status-bar"].get("running", True))
        print(f"frame dropped, until its twin was made: {time.perf_counter() - began:.0f} s")


async def _train(http: httpx.AsyncClient, project: str, begin: float, end: float, timings: Timings) -> None:
    """Start a training on the Learn page, and follow it until it has ended, or stop it at the end."""
    await asyncio.sleep(begin)
    async with open_page(http, project) as page:
        about = {"token": page.values["learn"]["project"]}
        began = time.perf_counter()
        while (answer := await page.ask("learn", about | {"kind": "status"})).get("preparing"):
            await asyncio.sleep(1)
        timings.add("Learn page opened, until its layouts are drawn", time.perf_counter() - began)
        answer, began = await page.ask("learn", about | {"kind": "train"} | TRAINING), time.perf_counter()
        while not answer.get("error") and answer["job"]["state"] in ("waiting", "running") and time.monotonic() < end:
            await asyncio.sleep(1)
            answer = await page.ask("learn", about | {"kind": "status"})
        if answer.get("error") or answer["job"]["state"] == "failed":
            timings.errors.append(f"training: {answer.get('error') or answer['job']['message']}")
        else:
            if answer["job"]["state"] in ("waiting", "running"):
                await page.act("jobs", "stop", {"id": answer["job"]["id"]})
            print(f"training: {answer['job']['state']} after {time.perf_counter() - began:.0f} s")
