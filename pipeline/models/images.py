"""Pictures for vision models: crops, outlines, numbered marks, resizing, and their size in tokens."""

import io
from collections.abc import Mapping, Sequence

import cv2
import numpy as np
from PIL import Image

from pipeline.geometry import bounding_box

BACKGROUND_GREY = (127, 127, 127)
"""sRGB around a cut-out."""
MARK_COLOURS = (
    (230, 60, 60), (60, 120, 230), (40, 170, 70), (240, 160, 20), (150, 70, 200), (0, 170, 180), (220, 80, 160),
    (120, 120, 40),
)  # fmt: skip
"""sRGB of the marks, in turn."""


def masked_crop(rgb: np.ndarray, mask: np.ndarray, side: int = 512, margin: float = 0.08) -> np.ndarray:
    """Return the masked object on grey, of shape (h, w, 3), uint8, its longer side at most `side` pixels."""
    part = _around(mask, margin)
    shown = np.where(mask[part][..., None], rgb[part], np.array(BACKGROUND_GREY, np.uint8))
    # Longer side to which a small crop is enlarged: models recognise little in smaller ones
    return fit_to_side(shown, side, 224)


def outline_in_frame(
    rgb: np.ndarray, mask: np.ndarray, side: int = 768, others: Mapping[int, np.ndarray] | None = None
) -> np.ndarray:
    """Return the frame with the masked object outlined and the rest dimmed, its longer side at most `side` pixels.

    Each of the `others` bears its number.
    """
    dim = (0.55 * rgb + 0.45 * np.mean(rgb, axis=-1, keepdims=True) * 0.6).astype(np.uint8)
    shown = np.where(mask[..., None], rgb, dim)
    thick = max(2, round(max(mask.shape) / 300))
    outlines, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    cv2.drawContours(shown, outlines, -1, (0, 0, 0), 2 * thick)
    cv2.drawContours(shown, outlines, -1, (255, 235, 0), thick)
    picture = np.ascontiguousarray(fit_to_side(shown, side))
    for number, other in (others or {}).items():
        small = cv2.resize(other.astype(np.uint8), picture.shape[1::-1], interpolation=cv2.INTER_NEAREST)
        if small.any():
            _draw_label(picture, str(number), _deepest_pixel(small), (255, 255, 255))
    return picture


def set_of_marks(rgb: np.ndarray, masks: Mapping[int, np.ndarray], side: int = 1024) -> np.ndarray:
    """Return the frame with every mask outlined and numbered (Set-of-Mark, https://arxiv.org/abs/2310.11441)."""
    factor = min(1.0, side / max(rgb.shape[:2]))
    shown = fit_to_side(rgb, side).copy()
    for index, (number, mask) in enumerate(masks.items()):
        small = cv2.resize(mask.astype(np.uint8), shown.shape[1::-1], interpolation=cv2.INTER_NEAREST)
        colour = MARK_COLOURS[index % len(MARK_COLOURS)]
        outlines, _ = cv2.findContours(small, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        cv2.drawContours(shown, outlines, -1, colour, max(1, round(2 * factor)))
        if small.any():
            _draw_label(shown, str(number), _deepest_pixel(small), colour)
    return shown


def side_by_side(pictures: Sequence[np.ndarray], labels: Sequence[str], height: int = 224) -> np.ndarray:
    """Return pictures (H, W, 3) in one row of equal height on white, each with its label above."""
    tiles = []
    for picture, label in zip(pictures, labels, strict=True):
        width = max(32, round(picture.shape[1] * height / picture.shape[0]))
        tile = np.full((height + 26, width + 8, 3), 255, np.uint8)
        tile[26:, 4:-4] = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)
        cv2.putText(tile, label, (6, 19), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (0, 0, 0), 2, cv2.LINE_AA)
        tiles.append(tile)
    return np.concatenate(tiles, axis=1)


def fit_to_side(picture: np.ndarray, side: int, min_side: int = 0) -> np.ndarray:
    """Return the picture with its longer side between `min_side` and `side` pixels."""
    longer = max(picture.shape[:2])
    factor = min(1.0, side / longer) if longer >= min_side else min(min_side, side) / longer
    if factor == 1:
        return np.ascontiguousarray(picture)
    size = tuple(max(1, round(extent * factor)) for extent in picture.shape[1::-1])
    return cv2.resize(picture, size, interpolation=cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC)


def encode_jpeg(picture: np.ndarray) -> bytes:
    """Return a picture of shape (H, W, 3), uint8, as JPEG bytes."""
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(picture)).save(file, "JPEG", quality=90)
    return file.getvalue()


def picture_tokens(picture: np.ndarray) -> int:
    """Estimate the tokens of a picture as OpenAI counts them for GPT-4o: by tiles of 512 pixels.

    https://platform.openai.com/docs/guides/images-vision#calculating-costs
    """
    height, width = picture.shape[:2]
    factor = min(1.0, 2048 / max(height, width))
    factor *= min(1.0, 768 / (min(height, width) * factor))
    tiles = int(np.ceil(width * factor / 512) * np.ceil(height * factor / 512))
    return 85 + 170 * tiles


def _around(mask: np.ndarray, margin: float) -> tuple[slice, slice]:
    """Return slices of the mask's box, padded by a fraction of its longer side; of everything if it is empty."""
    box = bounding_box(mask)
    if not box.width:
        return np.s_[:, :]
    pad = int(np.ceil(margin * (max(box.width, box.height) - 1))) + 1
    return box.padded(pad, mask.shape).slices


def _deepest_pixel(mask: np.ndarray) -> tuple[int, int]:
    """Return the pixel (x, y) farthest from the mask's edge."""
    depth = cv2.distanceTransform(np.pad(mask, 1), cv2.DIST_L2, 3)[1:-1, 1:-1]
    y, x = np.unravel_index(int(depth.argmax()), depth.shape)
    return int(x), int(y)


def _draw_label(shown: np.ndarray, text: str, at: tuple[int, int], colour: tuple[int, int, int]) -> None:
    (width, height), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.5, 2)
    x = int(np.clip(at[0] - width // 2, 2, max(2, shown.shape[1] - width - 3)))
    y = int(np.clip(at[1] + height // 2, height + 3, shown.shape[0] - 4))
    cv2.rectangle(shown, (x - 3, y - height - 3), (x + width + 2, y + 4), colour, -1)
    cv2.putText(shown, text, (x, y), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (255, 255, 255), 2, cv2.LINE_AA)
