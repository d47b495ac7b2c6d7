"""The font of a film's words."""

from functools import lru_cache

from PIL import ImageFont

FONTS = ("NotoSans-Regular.ttf", "DejaVuSans.ttf", "Arial Unicode.ttf", "arial.ttf")
"""Fonts with the letters of many languages, the first of which that is installed is used."""


@lru_cache
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return an installed font, else Pillow's own, which has the letters of Western Europe. `size` is in pixels."""
    for name in FONTS:
        try:
            return ImageFont.truetype(name, size)
        except OSError:
            continue
    return ImageFont.load_default(size)
