"""Prints random patterns on objects, so that a network does not take print for a boundary."""

import cv2
import numpy as np

from pipeline.geometry import bounding_box


def augment_prints(rgb: np.ndarray, labels: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return an image (H, W, 3), uint8, with random prints on most objects of `labels` (H, W), 0 background."""
    picture = rgb.astype(np.float32)
    for label in np.unique(labels[labels > 0]):
        if random.random() < 0.3:
            continue
        window = bounding_box(labels == label).slices
        own, part = (labels == label)[window], picture[window]
        shade = part.mean(-1, keepdims=True)
        shade = np.clip(shade / max(30.0, float(np.percentile(shade[own], 90))), 0.2, 1.3)
        strength = random.uniform(0.5, 1)
        print_ = strength * random_print(own.shape, random) * shade + (1 - strength) * part
        picture[window] = np.where(own[..., None], print_, part)
    picture = cv2.GaussianBlur(picture, (0, 0), random.uniform(0.3, 1.2))
    picture = 255 * np.clip(picture / 255, 0, 1) ** random.uniform(0.6, 1.6)
    return (picture + random.normal(0, random.uniform(1, 7), picture.shape)).clip(0, 255).astype(np.uint8)


def random_print(shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
    """Return a printed surface of shape (h, w, 3), uint8."""
    height, width = shape[:2]
    surface = np.full((height, width, 3), _random_colour(random), np.uint8)
    if random.random() < 0.4:
        turn, (y, x) = random.uniform(0, np.pi), np.indices((height, width))
        stripe = (x * np.cos(turn) + y * np.sin(turn)) / random.uniform(8, 60) % 2
        surface[stripe < random.uniform(0.3, 1)] = _random_colour(random)
    for _ in range(random.integers(1, 9)):
        _draw_random_mark(surface, random)
    turned = cv2.getRotationMatrix2D((width / 2, height / 2), random.uniform(0, 360), random.uniform(0.8, 1.5))
    return cv2.warpAffine(surface, turned, (width, height), borderMode=cv2.BORDER_REFLECT)


def _draw_random_mark(surface: np.ndarray, random: np.random.Generator) -> None:
    height, width = surface.shape[:2]
    x, y, size = (
        int(random.integers(width)),
        int(random.integers(height)),
        int(random.uniform(0.08, 0.6) * max(surface.shape)),
    )
    colour, kind = _random_colour(random), random.integers(4)
    if kind == 0:
        cv2.rectangle(surface, (x, y), (x + size, y + int(size * random.uniform(0.2, 1.5))), colour, -1)
    elif kind == 1:
        axes, thick = (size // 2, max(2, size // 4)), int(random.choice([-1, 3, 8]))
        cv2.ellipse(surface, (x, y), axes, random.uniform(0, 180), 0, 360, colour, thick, cv2.LINE_AA)
    elif kind == 2:
        end = int(random.integers(width)), int(random.integers(height))
        cv2.line(surface, (x, y), end, colour, int(random.integers(2, 25)), cv2.LINE_AA)
    else:
        word = "".join(random.choice(list("ABCDEFGHKMNORSTUXYZ"), random.integers(2, 8)))
        thick = int(random.integers(1, 8))
        cv2.putText(surface, word, (x, y), cv2.FONT_HERSHEY_DUPLEX, size / 80 + 0.2, colour, thick, cv2.LINE_AA)


def _random_colour(random: np.random.Generator) -> tuple[int, ...]:
    return tuple(int(value) for value in random.integers(0, 256, 3))
