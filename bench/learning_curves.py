"""Draws the success of policies over their training steps, one panel a subtask, from projects that were learned.

    python -m bench.learning_curves PROJECT ... --out docs/pictures/learning_curves.png

Needs nothing but Pillow. Circles are evaluations on 20 validation layouts; the line is the target of 95 %.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from pipeline.learning.learning_files import FOLDER, read_curve

PANEL, MARGIN, COLUMNS = (300, 190), (46, 14, 34, 34), 3
"""Width and height of a panel in pixels; its margins left, right, top, bottom."""
INK, MUTED, LINE, TARGET = "#1f2933", "#7b8794", "#2563a8", "#b4532a"
SCALE = 2
"""Pixels of the picture for one of the layout, so that it is sharp on dense screens."""


@dataclass(frozen=True)
class Curve:
    """The curve of one subtask."""

    title: str
    points: list[tuple[int, float]]
    """Control steps and success."""


def curves(projects: list[Path]) -> Iterator[Curve]:
    """Yield the curves of every subtask of some projects, in order."""
    for project in projects:
        for path in sorted((project / FOLDER).glob("*/curve.jsonl")):
            points = [(one["steps"], float(one["success"])) for one in read_curve(path)]
            if points:
                name = path.parent.name.partition("_")[2] or path.parent.name
                yield Curve(f"{project.name}: {name.replace('_', ' ')}", points)


def draw(found: list[Curve]) -> Image.Image:
    """Return a picture of all curves on one scale."""
    rows = -(-len(found) // COLUMNS)
    width, height = (PANEL[0] * COLUMNS * SCALE, PANEL[1] * rows * SCALE)
    picture = Image.new("RGB", (width, height), "white")
    most = max(steps for one in found for steps, _ in one.points)
    for number, one in enumerate(found):
        corner = (number % COLUMNS * PANEL[0], number // COLUMNS * PANEL[1])
        _panel(ImageDraw.Draw(picture), one, corner, most)
    return picture


def _panel(pen: ImageDraw.ImageDraw, curve: Curve, corner: tuple[int, int], most: int) -> None:
    """Draw one panel with its top left corner there; `most` steps reach its right side."""
    left, right = corner[0] + MARGIN[0], corner[0] + PANEL[0] - MARGIN[1]
    top, bottom = corner[1] + MARGIN[2], corner[1] + PANEL[1] - MARGIN[3]

    def at(steps: float, success: float) -> tuple[float, float]:
        return SCALE * (left + steps / most * (right - left)), SCALE * (bottom - success * (bottom - top))

    small, usual = (ImageFont.load_default(SCALE * size) for size in (10, 12))
    for success in (0.0, 0.5, 1.0):
        pen.line([at(0, success), at(most, success)], fill="#e4e7eb", width=SCALE)
        x, y = at(0, success)
        pen.text((x - 6 * SCALE, y), f"{100 * success:.0f} %", fill=MUTED, font=small, anchor="rm")
    pen.line([at(0, 0.95), at(most, 0.95)], fill=TARGET, width=SCALE)
    for steps in range(0, most + 1, 20_000):
        x, y = at(steps, 0)
        pen.text((x, y + 5 * SCALE), f"{steps // 1000}k" if steps else "0", fill=MUTED, font=small, anchor="mt")
    points = [at(steps, success) for steps, success in curve.points]
    pen.line(points, fill=LINE, width=2 * SCALE, joint="curve")
    for x, y in points:
        radius = 3 * SCALE
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=LINE)
    pen.text((SCALE * left, SCALE * (corner[1] + 12)), curve.title, fill=INK, font=usual, anchor="lt")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("projects", nargs="+", type=Path, metavar="PROJECT")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    found = list(curves(arguments.projects))
    if not found:
        parser.error("none of these projects has a learning/*/curve.jsonl")
    draw(found).save(arguments.out, optimize=True)


if __name__ == "__main__":
    main()
