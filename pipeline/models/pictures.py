"""Pictures as models are shown them: crops with context, numbered marks, resized, and what they weigh in tokens."""

import io
from collections.abc import Mapping, Sequence

import cv2
import numpy as np
from PIL import Image

NEUTRAL = (127, 127, 127)
"""What lies around a cut-out."""
SHORTEST = 224
"""Pixels to which a small crop is enlarged: models see little in fewer."""
COLOURS = (
    (230, 60, 60), (60, 120, 230), (40, 170, 70), (240, 160, 20), (150, 70, 200), (0, 170, 180), (220, 80, 160),
    (120, 120, 40),
)  # fmt: skip
"""Of the marks, sRGB, one after the other."""


def cut_out(rgb: np.ndarray, mask: np.ndarray, side: int = 512, margin: float = 0.08) -> np.ndarray:
    """The masked thing alone on neutral grey, of shape (h, w, 3), uint8, its longer side at most `side` pixels."""
    part = _around(mask, margin)
    shown = np.where(mask[part][..., None], rgb[part], np.array(NEUTRAL, np.uint8))
    return fitted(shown, side, SHORTEST)


def highlighted(rgb: np.ndarray, mask: np.ndarray, side: int = 768) -> np.ndarray:
    """The whole frame with the masked thing outlined and all else dimmed, resized to at most `side` pixels."""
    dim = (0.55 * rgb + 0.45 * np.mean(rgb, axis=-1, keepdims=True) * 0.6).astype(np.uint8)
    shown = np.where(mask[..., None], rgb, dim)
    thick = max(2, round(max(mask.shape) / 300))
    outlines, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    cv2.drawContours(shown, outlines, -1, (0, 0, 0), 2 * thick)
    cv2.drawContours(shown, outlines, -1, (255, 235, 0), thick)
    return fitted(shown, side)


def marked(rgb: np.ndarray, masks: Mapping[int, np.ndarray], side: int = 1024) -> np.ndarray:
    """The set-of-marks view: the frame with every mask outlined and its number on it."""
    factor = min(1.0, side / max(rgb.shape[:2]))
    shown = fitted(rgb, side).copy()
    for turn, (number, mask) in enumerate(masks.items()):
        small = cv2.resize(mask.astype(np.uint8), shown.shape[1::-1], interpolation=cv2.INTER_NEAREST)
        colour = COLOURS[turn % len(COLOURS)]
        outlines, _ = cv2.findContours(small, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        cv2.drawContours(shown, outlines, -1, colour, max(1, round(2 * factor)))
        if small.any():
            _number(shown, str(number), _inside(small), colour)
    return shown


def side_by_side(pictures: Sequence[np.ndarray], labels: Sequence[str], height: int = 224) -> np.ndarray:
    """Pictures (H, W, 3) in a row at one height, each with its label above it, on white."""
    tiles = []
    for picture, label in zip(pictures, labels, strict=True):
        width = max(32, round(picture.shape[1] * height / picture.shape[0]))
        tile = np.full((height + 26, width + 8, 3), 255, np.uint8)
        tile[26:, 4:-4] = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)
        cv2.putText(tile, label, (6, 19), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (0, 0, 0), 2, cv2.LINE_AA)
        tiles.append(tile)
    return np.concatenate(tiles, axis=1)


def fitted(picture: np.ndarray, side: int, least: int = 0) -> np.ndarray:
    """The picture with its longer side at most `side`, and at least `least`, pixels."""
    longer = max(picture.shape[:2])
    factor = min(1.0, side / longer) if longer >= least else min(least, side) / longer
    if factor == 1:
        return np.ascontiguousarray(picture)
    size = tuple(max(1, round(extent * factor)) for extent in picture.shape[1::-1])
    return cv2.resize(picture, size, interpolation=cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC)


def jpeg(picture: np.ndarray) -> bytes:
    """A picture of shape (H, W, 3), uint8, as a JPEG."""
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(picture)).save(file, "JPEG", quality=90)
    return file.getvalue()


def tokens(picture: np.ndarray) -> int:
    """About how many tokens a picture costs: OpenAI's count for its GPT-4o family, tiles of 512 pixels.

    https://platform.openai.com/docs/guides/images-vision#calculating-costs
    """
    height, width = picture.shape[:2]
    factor = min(1.0, 2048 / max(height, width))
    factor *= min(1.0, 768 / (min(height, width) * factor))
    tiles = int(np.ceil(width * factor / 512) * np.ceil(height * factor / 512))
    return 85 + 170 * tiles


def _around(mask: np.ndarray, margin: float) -> tuple[slice, slice]:
    """The mask's box with a margin as a share of its longer side; the whole picture where it is empty."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return np.s_[:, :]
    pad = int(np.ceil(margin * max(np.ptp(rows), np.ptp(columns)))) + 1
    return np.s_[max(rows[0] - pad, 0) : rows[-1] + pad + 1, max(columns[0] - pad, 0) : columns[-1] + pad + 1]


def _inside(mask: np.ndarray) -> tuple[int, int]:
    """The pixel (x, y) deepest inside a mask: where its number hides least."""
    depth = cv2.distanceTransform(np.pad(mask, 1), cv2.DIST_L2, 3)[1:-1, 1:-1]
    y, x = np.unravel_index(int(depth.argmax()), depth.shape)
    return int(x), int(y)


def _number(shown: np.ndarray, text: str, at: tuple[int, int], colour: tuple[int, int, int]) -> None:
    (width, height), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.5, 2)
    x = int(np.clip(at[0] - width // 2, 2, max(2, shown.shape[1] - width - 3)))
    y = int(np.clip(at[1] + height // 2, height + 3, shown.shape[0] - 4))
    cv2.rectangle(shown, (x - 3, y - height - 3), (x + width + 2, y + 4), colour, -1)
    cv2.putText(shown, text, (x, y), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (255, 255, 255), 2, cv2.LINE_AA)
