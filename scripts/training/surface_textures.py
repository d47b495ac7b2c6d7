"""Draws the textures of grounds and furniture: wood, chequers, tiles, cloth, carpet, noise, prints, plain colours."""

from collections.abc import Callable

import cv2
import numpy as np
from make_scenes import _wood_texture

from scripts.training.depth_sensors import smooth_noise
from scripts.training.print_augmentation import random_print

SIZE = 384
"""Side of a texture in pixels."""


def random_surface(random: np.random.Generator) -> np.ndarray:
    """Return a texture of shape (SIZE, SIZE, 3), uint8."""
    image = KINDS[int(random.choice(len(KINDS), p=np.array(WEIGHTS) / sum(WEIGHTS)))](random).astype(np.float32)
    if random.random() < 0.5:  # stains and wear
        image += smooth_noise((SIZE, SIZE), random.uniform(10, 120), random)[..., None] * random.uniform(0, 12)
    return image.clip(0, 255).astype(np.uint8)


def random_colour(random: np.random.Generator) -> np.ndarray:
    """Return a colour of shape (3,), 0 to 255: often white, grey or brown, as furniture is, sometimes bright."""
    kind = random.random()
    if kind < 0.25:
        return random.uniform(170, 250) + random.normal(0, 5, 3)
    if kind < 0.4:
        return random.uniform(15, 80) + random.normal(0, 6, 3)
    if kind < 0.55:
        return random.uniform(80, 170) + random.normal(0, 6, 3)
    if kind < 0.7:
        return np.array([150.0, 110, 75]) * random.uniform(0.4, 1.5) + random.normal(0, 8, 3)
    return random.uniform(10, 250, 3)


def _plain(random: np.random.Generator) -> np.ndarray:
    grain = smooth_noise((SIZE, SIZE), random.uniform(0.5, 3), random)[..., None] * random.uniform(0, 6)
    return random_colour(random) + grain


def _wood(random: np.random.Generator) -> np.ndarray:
    return _wood_texture(random, np.array([160.0, 118, 78]) * random.uniform(0.3, 1.4) + random.normal(0, 10, 3), SIZE)


def _chequers(random: np.random.Generator) -> np.ndarray:
    count = int(random.choice([2, 4, 6, 8, 12]))
    rows, cols = np.indices((SIZE, SIZE)) * count // SIZE
    odd = ((rows + cols) % 2)[..., None]
    if random.random() < 0.3:
        odd = (((rows % 2) + (cols % 2)) / 2)[..., None]  # a checked cloth
    return random_colour(random) * odd + random_colour(random) * (1 - odd) + random.normal(0, 3, (SIZE, SIZE, 1))


def _tiles(random: np.random.Generator) -> np.ndarray:
    count, joint = int(random.integers(2, 8)), int(random.integers(2, 6))
    pitch = SIZE // count
    image = np.broadcast_to(random_colour(random), (SIZE, SIZE, 3)).copy()
    image += np.kron(random.normal(0, random.uniform(0, 14), (count + 1, count + 1)), np.ones((pitch, pitch)))[
        :SIZE, :SIZE, None
    ]
    rows, cols = np.indices((SIZE, SIZE))
    image[(rows % pitch < joint) | (cols % pitch < joint)] *= random.uniform(0.4, 1.3)
    return image


def _stripes(random: np.random.Generator) -> np.ndarray:
    rows, cols = np.indices((SIZE, SIZE))
    turn = random.uniform(0, np.pi)
    wave = (cols * np.cos(turn) + rows * np.sin(turn)) / random.uniform(4, 60) % 2
    return np.where((wave < random.uniform(0.2, 1.6))[..., None], random_colour(random), random_colour(random))


def _cloth(random: np.random.Generator) -> np.ndarray:
    rows, cols = np.indices((SIZE, SIZE))
    weave = ((rows + cols) % 4 < 2)[..., None] * random.uniform(3, 20) + random.normal(0, 6, (SIZE, SIZE, 1))
    folds = smooth_noise((SIZE, SIZE), random.uniform(15, 50), random)[..., None] * random.uniform(0, 18)
    return random_colour(random) + weave + folds


def _carpet(random: np.random.Generator) -> np.ndarray:
    fibre = smooth_noise((SIZE, SIZE), random.uniform(0.5, 1.5), random)[..., None] * random.uniform(8, 35)
    return random_colour(random) + fibre + random.normal(0, random.uniform(0, 14), (SIZE, SIZE, 3))


def _marble(random: np.random.Generator) -> np.ndarray:
    bands = sum(smooth_noise((SIZE, SIZE), 2.0**k, random) * k for k in range(1, 6))
    mix = (0.5 + 0.5 * np.sin(bands * random.uniform(0.1, 0.6)))[..., None]
    return random_colour(random) * mix + random_colour(random) * (1 - mix)


def _printed(random: np.random.Generator) -> np.ndarray:
    return random_print((SIZE, SIZE), random).astype(np.float32)


def _scattered(random: np.random.Generator) -> np.ndarray:
    """Return many small marks on one colour, as on wrapping paper and play mats."""
    image = np.ascontiguousarray(np.broadcast_to(random_colour(random), (SIZE, SIZE, 3)).astype(np.float32))
    for _ in range(int(random.integers(10, 70))):
        x, y, size = int(random.integers(SIZE)), int(random.integers(SIZE)), int(random.integers(3, 26))
        colour = random_colour(random).tolist()
        if random.random() < 0.5:
            cv2.circle(image, (x, y), size, colour, int(random.choice([-1, 2])), cv2.LINE_AA)
        else:
            end = x + int(random.normal(0, 40)), y + int(random.normal(0, 40))
            cv2.line(image, (x, y), end, colour, max(1, size // 4), cv2.LINE_AA)
    return image


KINDS: tuple[Callable[[np.random.Generator], np.ndarray], ...] = (
    _plain, _wood, _chequers, _tiles, _stripes, _cloth, _carpet, _marble, _printed, _scattered,
)  # fmt: skip
WEIGHTS = (7, 4, 2, 1, 1, 2, 2, 1.5, 1, 1)
