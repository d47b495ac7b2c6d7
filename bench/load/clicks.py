"""A person who edits blocks in one page of a studio, until the studio is killed."""

import asyncio
import random
from contextlib import suppress

import httpx
import numpy as np
import websockets
from websockets.exceptions import WebSocketException

from pipeline.project import Project
from pipeline.segmentation import encode_rle
from tests.browser.studio_process import Studio
from tests.page_client import connect, open_page

LATER_SECONDS = 3.0
"""Longest time from an answer to the kill: into the next act, a stage or a round that follows."""


async def click(studio: Studio, chance: random.Random, answered: list[str]) -> None:
    """Work in a page until the studio is killed; add the mark of each decision that it answered."""
    async with connect(studio.address) as http, open_page(http, "blocks") as page:
        project = Project.open(studio.workspace / "blocks")
        task = project.task()
        assert task, "blocks has a task"
        names = {one.segment_id: one.name for one in project.descriptions() or ()}
        others = [one for one in project.segments() or () if names.get(one.id, "") not in task.objects]
        while True:
            segment, mark, told = chance.choice(others), round(chance.random(), 9), page.update["told"]
            mask = segment.mask.copy()
            mask[np.flatnonzero(mask.any(1))[-1 - chance.randrange(3)] :] = False
            decision = chance.choice(
                (
                    {"kind": "display_name", "name": f"cup {mark}"},
                    {"kind": "move", "pos": [mark / 10, 0.3, 0.1], "quat_wxyz": [1, 0, 0, 0], "mark": mark},
                    {"kind": "mask", "mask": encode_rle(mask), "clicks": [], "mark": mark},
                )
            )
            await page.act("mask-canvas", "decide", {"id": segment.id} | decision)
            if page.update["told"] == told:  # a notice tells of a refused act
                answered.append(str(mark))
            if chance.random() < 0.3:
                await page.act("mask-canvas", "undo")
            if chance.random() < 0.25:
                await page.act("generate", "click", inputs=("", "route"))


async def kill_under_clicks(studio: Studio, chance: random.Random, answered: list[str]) -> None:
    """Kill the studio after some answers, or while the page opens."""
    clicks, wanted = asyncio.ensure_future(click(studio, chance, answered)), chance.choice((0, 1, 2, 4, 7))
    wanted += len(answered)
    while len(answered) < wanted and not clicks.done():
        await asyncio.sleep(0.01)
    await asyncio.wait([clicks], timeout=chance.random() ** 2 * LATER_SECONDS)
    if clicks.done():
        await clicks  # raises what ended it, with the act
    studio.kill()
    clicks.cancel()
    with suppress(asyncio.CancelledError, httpx.HTTPError, OSError, WebSocketException):
        await clicks


async def first_poses(address: str) -> bytes | str:
    """Open blocks at an address without a slash at its end, and return the first message of its twin's viewer."""
    async with connect(address) as http, open_page(http, "blocks") as page:
        await page.wait(lambda: (page.values.get("twin") or {}).get("token"))
        view = f"{address.replace('http', 'ws', 1)}/viewer/{page.values['twin']['token']}/ws"
        async with websockets.connect(view, origin=websockets.Origin(address)) as socket:
            return await socket.recv()


async def finish(studio: Studio) -> None:
    """Solve the task by what was decided, and wait until the studio has nothing to do."""
    async with connect(studio.address) as http, open_page(http, "blocks") as page:
        for ask in (lambda: page.act("generate", "click", inputs=("", "route")), lambda: asyncio.sleep(0)):
            while page.values["status-bar"]["running"]:
                with suppress(TimeoutError):  # of one wait
                    await page.wait(lambda: not page.values["status-bar"]["running"])
            await ask()
