"""Draws the print on cartons, cans and bottles of the built-in library: plain shapes and words, no brands."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont

RgbColour = tuple[int, int, int]
Motif = Callable[[ImageDraw.ImageDraw, tuple[float, float, float, float]], None]
"""Draws a picture into a box x0, y0, x1, y1."""

INK, PAPER = (40, 36, 34), (246, 244, 238)


@dataclass(frozen=True)
class FaceDesign:
    """The print on the front of a package."""

    ground: RgbColour
    accent: RgbColour
    """Colour of the band behind the title."""
    title: str
    motif: Motif
    ink: RgbColour = PAPER


def draw_text(draw: ImageDraw.ImageDraw, box: tuple[float, float, float, float], text: str, colour: RgbColour) -> None:
    """Draw text in the middle of a box, as large as fits."""
    x0, y0, x1, y1 = box
    size = max(6.0, y1 - y0)
    while size > 6 and draw.textlength(text, ImageFont.load_default(size)) > x1 - x0:
        size *= 0.92
    draw.text(((x0 + x1) / 2, (y0 + y1) / 2), text, colour, ImageFont.load_default(size), anchor="mm")


def dots_motif(colour: RgbColour, count: int = 7, seed: int = 0, square: bool = False) -> Motif:
    """Return a motif of scattered dots or squares: biscuits, beans, raisins."""

    def draw_dots(draw: ImageDraw.ImageDraw, box: tuple[float, float, float, float]) -> None:
        x0, y0, x1, y1 = box
        random = np.random.default_rng(seed)
        radius = 0.5 * min(x1 - x0, y1 - y0) / (1 + count**0.5) * 1.5
        dark = tuple(int(0.7 * c) for c in colour)
        for s, t in random.uniform(0.12, 0.88, (count, 2)):
            x, y = x0 + s * (x1 - x0), y0 + t * (y1 - y0)
            if square:
                draw.regular_polygon((x, y, radius), 4, rotation=int(90 * s), fill=colour, outline=dark)
            else:
                draw.ellipse((x - radius, y - radius, x + radius, y + radius), colour, dark)

    return draw_dots


def disc_motif(colour: RgbColour, rim: RgbColour = PAPER) -> Motif:
    """Return a motif of one disc: a tomato, an orange, a plate."""

    def draw_disc(draw: ImageDraw.ImageDraw, box: tuple[float, float, float, float]) -> None:
        x0, y0, x1, y1 = box
        x, y, r = (x0 + x1) / 2, (y0 + y1) / 2, 0.46 * min(x1 - x0, y1 - y0)
        draw.ellipse((x - r, y - r, x + r, y + r), rim)
        draw.ellipse((x - 0.82 * r, y - 0.82 * r, x + 0.82 * r, y + 0.82 * r), colour)
        draw.arc((x - 0.55 * r, y - 0.55 * r, x + 0.55 * r, y + 0.55 * r), 180, 270, PAPER, 2)

    return draw_disc


def stripes_motif(colour: RgbColour, count: int = 5) -> Motif:
    """Return a motif of slanted bars: pasta, wrapping."""

    def draw_stripes(draw: ImageDraw.ImageDraw, box: tuple[float, float, float, float]) -> None:
        x0, y0, x1, y1 = box
        step = (x1 - x0) / count
        for k in range(count):
            x = x0 + (k + 0.3) * step
            draw.line((x, y1, x + 0.4 * step, y0), colour, max(2, int(0.3 * step)))

    return draw_stripes


def front_face(size: Sequence[int], design: FaceDesign) -> Image.Image:
    """Return the front: a title on a band, a picture below, a line of small print."""
    width, height = size
    image = Image.new("RGB", (width, height), design.ground)
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0.13 * height, width, 0.38 * height), design.accent)
    draw_text(draw, (0.07 * width, 0.16 * height, 0.93 * width, 0.35 * height), design.title, design.ink)
    design.motif(draw, (0.12 * width, 0.42 * height, 0.88 * width, 0.86 * height))
    draw_text(draw, (0.2 * width, 0.9 * height, 0.8 * width, 0.96 * height), "net weight as shown", design.ink)
    return image


def side_face(size: Sequence[int], design: FaceDesign) -> Image.Image:
    """Return the side with the small print: a title and a table of lines."""
    width, height = size
    image = Image.new("RGB", (width, height), design.ground)
    draw = ImageDraw.Draw(image)
    draw_text(draw, (0.1 * width, 0.05 * height, 0.9 * width, 0.16 * height), design.title, design.ink)
    draw.rectangle((0.14 * width, 0.24 * height, 0.86 * width, 0.72 * height), PAPER)
    for k in range(7):
        y = (0.29 + 0.06 * k) * height
        draw.line((0.2 * width, y, (0.5 + 0.3 * ((k * 7) % 5) / 4) * width, y), INK, 1)
    for k in range(16):
        draw.line(((0.2 + 0.02 * k) * width, 0.8 * height, (0.2 + 0.02 * k) * width, 0.92 * height), INK, 1 + k % 3 % 2)
    return image


def carton_strip(size: Sequence[float], design: FaceDesign) -> Image.Image:
    """Return all faces of a box of `size` in metres, as the strip that pipeline.assets.solids.box takes."""
    x, y, z = (max(24, round(900 * s)) for s in size)
    wide = front_face((x, z), design)
    narrow = side_face((y, z), design)
    lid = Image.new("RGB", (x, y), design.ground)
    draw_text(ImageDraw.Draw(lid), (0.1 * x, 0.2 * y, 0.9 * x, 0.8 * y), design.title, design.ink)
    return face_strip([wide, narrow, wide, narrow, lid, Image.new("RGB", (x, y), design.ground)])


def face_strip(faces: Sequence[Image.Image]) -> Image.Image:
    """Return six faces side by side, each scaled to the same cell."""
    width, height = max(f.width for f in faces), max(f.height for f in faces)
    sheet = Image.new("RGB", (6 * width, height))
    for k, face in enumerate(faces):
        sheet.paste(face.resize((width, height), Image.Resampling.LANCZOS), (k * width, 0))
    return sheet


def wrapped_label(
    profile: Sequence[tuple[float, float]],
    grounds: Sequence[tuple[float, RgbColour]],
    label: tuple[float, float] | None = None,
    face: Image.Image | None = None,
    around: int = 2,
    width: int = 384,
) -> Image.Image:
    """Return the image that solids.lathe wraps around a profile.

    `grounds` holds colours by the height in metres from which they apply. `face` is printed `around` times between the
    heights `label`. Rows follow the length of the profile, as in solids.lathe.
    """
    points = np.asarray(profile, float)
    along = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    rows = max(48, round(width * along[-1] / (2 * np.pi * points[:, 0].max())))
    heights = np.interp((np.arange(rows) + 0.5) / rows * along[-1], along, points[:, 1])
    image = Image.new("RGB", (width, rows))
    draw = ImageDraw.Draw(image)
    for row, height in enumerate(heights):
        colour = [c for low, c in grounds if height >= low - 1e-9] or [grounds[0][1]]
        draw.line((0, rows - 1 - row, width, rows - 1 - row), colour[-1])
    if label and face:
        inside = np.flatnonzero((heights >= label[0]) & (heights <= label[1]))
        # a base or lid at the label's own height is no place for it: keep the longest run of rows
        inside = max(np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1), key=len)
        top, bottom = rows - 1 - inside[-1], rows - 1 - inside[0]
        cell = face.resize((width // around, bottom - top + 1), Image.Resampling.LANCZOS)
        for k in range(around):
            image.paste(cell, (k * (width // around), top))
    return image
