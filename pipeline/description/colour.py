"""Name colours from hue, chroma and lightness in CIELAB."""

import cv2
import numpy as np

from pipeline.description.colour_names import BASIC_COLOURS


def name_colour(pixels: np.ndarray) -> tuple[str, tuple[int, int, int]]:
    """Return the basic colour that most pixels (N, 3), uint8, have, and the median sRGB of those pixels.

    Black, grey and white count less, because highlights and shadows of coloured objects have little chroma.
    """
    lab = cv2.cvtColor((pixels[None] / 255).astype(np.float32), cv2.COLOR_RGB2LAB)[0]
    names = classify(lab)
    votes = np.bincount(names, minlength=len(BASIC_COLOURS)).astype(float)
    votes[:3] *= 0.6  # print, shade and highlights are grey on coloured objects, not the other way round
    if votes[2] > 0.35 * votes[:3].sum() and votes[:3].max() > votes[3:].max():
        votes[2] = votes[:3].sum()  # shaded parts of a white object
    best = int(votes.argmax())
    red, green, blue = np.median(pixels[names == best] if (names == best).any() else pixels, 0).astype(int).tolist()
    return BASIC_COLOURS[best], (red, green, blue)


def white_balance(rgb: np.ndarray) -> np.ndarray:
    """Remove a cold colour cast from an image (H, W, 3), uint8, by making its brightest parts white.

    Warm casts are not removed: they cannot be distinguished from wooden tables.
    """
    grey = rgb.astype(np.float32).mean(-1)
    bright = rgb[(grey >= np.quantile(grey[::4, ::4], 0.97)) & (grey < 252)].astype(np.float32)
    if len(bright) < 100:
        return rgb
    red, green, blue = np.median(bright, 0)
    if not (blue >= green >= red and 0 < blue - red < 90 and blue > 120):
        return rgb
    gain = np.clip(green / np.array([red, green, blue]), 0.8, 1.25)
    return np.clip(rgb * gain, 0, 255).astype(np.uint8)


def classify(lab: np.ndarray) -> np.ndarray:
    """Return the index in BASIC_COLOURS of each CIELAB colour (N, 3) with lightness from 0 to 100, of shape (N,)."""
    light, a, b = lab.T
    chroma, hue = np.hypot(a, b), np.degrees(np.arctan2(b, a)) % 360
    # 13.0: chroma below which a colour counts as black, grey or white
    grey = chroma < np.where(light < 8, 7, np.where(light < 30, 9, 13.0))
    grey |= (light < 28) & (chroma < 18) & (hue >= 80) & (hue < 125)  # black in warm light
    dull = (chroma < 42) & (light < 62) | (light < 42)
    pale_red = (light > 66) & (chroma < 62)
    rules = [
        (grey & (light < 28), "black"),
        (grey & (light > 68), "white"),
        (grey, "grey"),
        ((hue >= 45) & (hue < 92) & dull | (hue >= 92) & (hue < 108) & (light < 42), "brown"),
        ((hue >= 45) & (hue < 72), "orange"),
        ((hue >= 72) & (hue < 108), "yellow"),
        ((hue >= 108) & (hue < 205), "green"),
        ((hue >= 205) & (hue < 300) | (hue >= 300) & (hue < 309) & (chroma > 75), "blue"),
        ((hue >= 300) & (hue < 335), "purple"),
        ((hue >= 335) & (hue < 358) & (light > 42), "pink"),
        (((hue >= 335) | (hue < 45)) & pale_red & ~((hue > 30) & (hue < 45) & (chroma > 50)), "pink"),
    ]
    index = [BASIC_COLOURS.index(name) for _, name in rules]
    return np.select([rule for rule, _ in rules], index, default=BASIC_COLOURS.index("red"))
