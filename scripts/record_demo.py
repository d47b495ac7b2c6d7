"""Record the guided demo, from photograph to solved task, into docs/pictures/demo.mp4 (`make pictures`)."""

import base64
import bisect
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

import imageio.v2 as imageio
import numpy as np
from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from scripts.take_pictures import LONG, PICTURES
from tests.browser.studio_process import Studio
from tests.browser.watched_page import CHROMIUM, FLAGS, close_app, open_page

FPS = 10
SIZE = (1024, 640)
LAST_CAPTION, LAST_SECONDS = "tested on several seeds", 8


class Screencast:
    """The pictures that a page drew, with their times."""

    def __init__(self, page: Page):
        self.times: list[float] = []
        self.pictures: list[bytes] = []
        self._connection = page.context.new_cdp_session(page)
        self._connection.on("Page.screencastFrame", self._take)
        settings = {"format": "jpeg", "quality": 85, "maxWidth": SIZE[0], "maxHeight": SIZE[1]}
        self._connection.send("Page.startScreencast", settings)

    def _take(self, frame: dict[str, Any]) -> None:
        self.times.append(frame["metadata"]["timestamp"])
        self.pictures.append(base64.b64decode(frame["data"]))
        self._connection.send("Page.screencastFrameAck", {"sessionId": frame["sessionId"]})

    def write(self, path: Path) -> None:
        """Write an MP4 that shows at each instant the newest picture."""
        settings: dict[str, Any] = {"fps": FPS, "quality": 5, "output_params": ["-movflags", "+faststart"]}
        with imageio.get_writer(str(path), format="FFMPEG", **settings) as video:  # type: ignore[arg-type]
            for instant in np.arange(self.times[0], self.times[-1], 1 / FPS):
                picture = Image.open(BytesIO(self.pictures[bisect.bisect_right(self.times, instant) - 1]))
                video.append_data(np.asarray(picture.convert("RGB").resize(SIZE)))


def record(page: Page, address: str) -> Screencast:
    """Let the demo lead the page to its end; return what was seen."""
    page.goto(f"{address}?demo=1")
    expect(page.locator(".demo")).to_be_visible()
    screencast = Screencast(page)
    expect(page.locator(".demo")).to_contain_text(LAST_CAPTION, timeout=LONG)
    page.wait_for_timeout(1000 * LAST_SECONDS)
    return screencast


def main() -> None:
    """Record the demo of a new workspace."""
    with tempfile.TemporaryDirectory() as workspace, sync_playwright() as playwright:
        studio = Studio(Path(workspace))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            with open_page(browser) as page:
                screencast = record(page, studio.address)
                close_app(page)
            screencast.write(PICTURES / "demo.mp4")
        finally:
            browser.close()
            studio.close()


if __name__ == "__main__":
    main()
