"""What axe-core finds serious on a page, and its texts that are too small."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Frame, Page

AXE = (Path(__file__).parents[1] / "vendor" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
RUN_AXE = """async (rules) => {
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
  const runOnly = rules ?? { type: "tag", values: tags };
  const { violations } = await axe.run(document, { iframes: false, resultTypes: ["violations"], runOnly });
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(" ")}`));
}"""
SMALL_TEXTS = """() => [...document.querySelectorAll("body *")]
  .filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
  .filter((one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
  .map((one) => [parseFloat(getComputedStyle(one).fontSize), one.outerHTML.slice(0, 90)])
  .filter(([size]) => size > 0 && size < 12)"""
"""Texts under 12 px; those of 0 px are replaced by others in CSS."""


def shown_frames(page: Page) -> list[Frame]:
    """The page and the frames that it shows now."""
    return [page.main_frame, *(one for one in page.frames[1:] if one.frame_element().is_visible())]


def findings(page: Page, rules: list[str] | None = None) -> list[Any]:
    """What axe finds serious on the page, by some of its rules if given, and its texts under 12 px."""
    found: list[Any] = []
    for frame in shown_frames(page):
        if not frame.evaluate("() => Boolean(window.axe)"):
            frame.evaluate(AXE)
        found += frame.evaluate(RUN_AXE, rules) + frame.evaluate(SMALL_TEXTS)
    return found
