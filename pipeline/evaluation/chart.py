"""A bar chart of a few numbers between 0 and 1, drawn with what reads the pictures."""

from collections.abc import Mapping, Sequence

from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 900, 520, 70, 90, 90
COLOURS = ((47, 111, 179), (230, 150, 60))
INK, RULE = (40, 44, 52), (222, 225, 230)


def bars(groups: Mapping[str, Sequence[float]], words: Sequence[str], title: str) -> Image.Image:
    """One group of bars a name, one bar a word, its value written above it; values in [0, 1]."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), "white")
    draw = ImageDraw.Draw(picture)
    _frame(draw, words, title)
    step = (WIDTH - LEFT - 30) / max(1, len(groups))
    wide = step * 0.7 / max(1, len(words))
    for number, (name, values) in enumerate(groups.items()):
        start = LEFT + number * step + step * 0.15
        for place, value in enumerate(values):
            x, y = start + place * wide, _height(value)
            draw.rectangle((x, y, x + wide - 6, _height(0)), fill=COLOURS[place % len(COLOURS)])
            draw.text((x + wide / 2 - 3, y - 6), f"{value:.2f}", INK, _font(18), anchor="ms")
        draw.text((start + step * 0.35, _height(0) + 30), name, INK, _font(20), anchor="ms")
    return picture


def _frame(draw: ImageDraw.ImageDraw, words: Sequence[str], title: str) -> None:
    draw.text((LEFT, 34), title, INK, _font(22), anchor="ls")
    for tenth in range(0, 11, 2):
        y = _height(tenth / 10)
        draw.line((LEFT, y, WIDTH - 30, y), fill=RULE, width=1)
        draw.text((LEFT - 10, y), f"{tenth / 10:.1f}", INK, _font(16), anchor="rm")
    for place, word in enumerate(words):
        x = LEFT + place * 300
        draw.rectangle((x, HEIGHT - 34, x + 16, HEIGHT - 18), fill=COLOURS[place % len(COLOURS)])
        draw.text((x + 24, HEIGHT - 26), word, INK, _font(16), anchor="lm")


def _height(value: float) -> float:
    return HEIGHT - BOTTOM - value * (HEIGHT - BOTTOM - TOP)


def _font(size: int) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    return ImageFont.load_default(size)
