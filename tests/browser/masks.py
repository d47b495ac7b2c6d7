"""Drives the mask canvas as a person does, in pixels of the photograph."""

from typing import Any

import cv2
import numpy as np
from browser.app_page import NEXT_DRAWN_FRAME, open_tab
from playwright.sync_api import FloatRect, Locator, Page, Position, expect


def canvas(page: Page) -> Locator:
    return page.locator(".mask-canvas canvas")


def expect_answered(page: Page) -> None:
    """Expect that all clicks and boxes are answered: those that come before an answer are one step."""
    expect(canvas(page)).to_have_attribute("aria-busy", "false")


def hint(page: Page) -> Locator:
    return page.locator(".mask-canvas .hint")


def action(page: Page, name: str) -> Locator:
    """A button of the mask canvas, by its data-act."""
    return page.locator(f".mask-canvas [data-act='{name}']")


def open_masks(page: Page) -> None:
    """Open the Masks step and wait until it shows the masks, with no object selected: where the work has come to the
    Objects step, the first one to review is."""
    open_tab(page, "Masks")
    expect(hint(page)).not_to_be_empty()
    canvas(page).press("Escape")
    expect(hint(page)).to_contain_text("Click")


def deepest_pixel(mask: np.ndarray) -> tuple[float, float]:
    """Return the pixel x, y of a mask that is farthest from its edge."""
    depth = cv2.distanceTransform(np.pad(mask, 1).astype(np.uint8), cv2.DIST_L2, 5)[1:-1, 1:-1]
    y, x = np.unravel_index(int(depth.argmax()), depth.shape)
    return float(x), float(y)


def near_lower_edge(mask: np.ndarray) -> tuple[float, float]:
    """Return the lowest pixel x, y of a mask that is about four pixels inside its edge."""
    depth = cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, 5)
    ys, xs = np.nonzero((depth > 3) & (depth < 5))
    lowest = int(ys.argmax())
    return float(xs[lowest]), float(ys[lowest])


def largest(masks: dict[int, np.ndarray]) -> tuple[int, np.ndarray]:
    return max(masks.items(), key=lambda item: int(item[1].sum()))


def canvas_point(page: Page, x: float, y: float, shape: tuple[int, ...]) -> Position:
    """Where on the canvas a pixel of the photograph is while all of it is shown."""
    box = canvas(page).bounding_box()
    scale = min(box["width"] / shape[1], box["height"] / shape[0])
    left, top = (box["width"] - shape[1] * scale) / 2, (box["height"] - shape[0] * scale) / 2
    return {"x": left + (x + 0.5) * scale, "y": top + (y + 0.5) * scale}


def click(page: Page, pixel: tuple[float, float], shape: tuple[int, ...], **how: Any) -> None:
    """Click a pixel of the photograph, where the next frame shows it."""
    page.evaluate(NEXT_DRAWN_FRAME)
    canvas(page).click(position=canvas_point(page, *pixel, shape), **how)


def resting_box(page: Page) -> FloatRect:
    """Return where the canvas is, once two frames drawn 150 ms apart leave it there. Fails after 70 readings."""
    before = None
    for _ in range(70):
        page.evaluate(NEXT_DRAWN_FRAME)  # the page moves what it redraws only in its next frame
        box = canvas(page).bounding_box()
        if box and box == before:
            return box
        before = box
        page.wait_for_timeout(150)
    raise AssertionError("the canvas did not come to rest")


def drag(page: Page, pixels: list[tuple[float, float]], shape: tuple[int, ...]) -> None:
    """Drag over pixels of the photograph, once the page no longer moves it."""
    box = resting_box(page)
    points = [canvas_point(page, *pixel, shape) for pixel in pixels]
    page.mouse.move(box["x"] + points[0]["x"], box["y"] + points[0]["y"])
    page.mouse.down()
    for point in points[1:]:
        page.mouse.move(box["x"] + point["x"], box["y"] + point["y"], steps=6)
    page.mouse.up()
