"""Draws random objects for training scenes.

They have the shapes of training_tables, or are library assets in other sizes and colours. Some are flat, thin or
brackets; some are clear, shiny, dark, or of the ground's own colour.
"""

from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np
from make_library import LIBRARY
from PIL import Image
from print_designs import face_strip

from pipeline.assets import solids
from pipeline.assets.solids import Solid, join, lathe, plain_texture, texture_visual
from scripts.training.print_augmentation import random_print
from scripts.training.surface_textures import random_colour
from scripts.training.training_tables import MAX_EXTENT_M, random_box, random_can, random_shape

HOLLOW_ASSETS = (
    "teal_bowl", "wooden_bowl", "white_bowl", "red_bowl", "square_red_bowl", "white_bin", "white_bin", "blue_bin",
    "blue_bin", "grey_tray", "grey_tray",
)  # fmt: skip
MAX_CONTAINER_M = 0.4
THIN_ASSETS = ("screwdriver", "blue_marker", "scissors", "hammer", "tape_roll", "banana", "toy_plane", "red_book")


@dataclass(frozen=True, eq=False)
class RandomObject:
    """An object to put into a scene."""

    solid: Solid
    """Centred at the origin."""
    clear: bool = False
    """Whether light passes through it."""
    shiny: bool = False


def random_object(kind: str, ground: np.ndarray, random: np.random.Generator) -> RandomObject:
    """Return an object: any, boxes, blocks, flat, parts or clear. `ground` is the ground's colour, of shape (3,)."""
    draw = random.random()
    if kind == "clear" and draw < 0.7:
        return RandomObject(_clear(random).centred(), clear=True)
    makers = {"blocks": (_block, 1.0), "boxes": (_printed_box, 0.85), "flat": (_flat, 0.75), "parts": (_bracket, 0.9)}
    special, share = makers.get(kind, (_any_solid, 1.0))
    return _finish((special if draw < share else _any_solid)(random), ground, random)


def random_container(ground: np.ndarray, random: np.random.Generator) -> RandomObject:
    """Return a bowl, bin or tray of the library, up to MAX_CONTAINER_M long."""
    solid = _library_solid(str(random.choice(HOLLOW_ASSETS)), random)
    factors = random.uniform(0.9, 1.9) * np.array([1, 1, random.uniform(0.5, 1)])
    factors *= min(1.0, MAX_CONTAINER_M / float((solid.mesh.extents * factors).max()))
    return _finish(solid.transformed(np.diag([*factors, 1.0])), ground, random)


def _block(random: np.random.Generator) -> Solid:
    """Return a box or a can."""
    return random_box(random) if random.random() < 0.7 else random_can(random)


def _finish(solid: Solid, ground: np.ndarray, random: np.random.Generator) -> RandomObject:
    """Return the object centred, sometimes in another colour: the ground's, black, white or shiny."""
    solid, draw = solid.centred(), random.random()
    if draw < 0.10:  # hardly differs from the ground
        solid = solid.with_texture(_plain(ground + random.normal(0, 9, 3)))
    elif draw < 0.18:
        solid = solid.with_texture(_plain(random.uniform(4, 30, 3)))
    elif draw < 0.25:
        solid = solid.with_texture(_plain(random.uniform(215, 252) + random.normal(0, 3, 3)))
    return RandomObject(solid, shiny=bool(random.random() < 0.1))


def _plain(rgb: np.ndarray) -> Image.Image:
    """Return a texture of one colour (3,), 0 to 255."""
    return plain_texture([int(value) for value in np.clip(rgb, 0, 255)])


def _any_solid(random: np.random.Generator) -> Solid:
    draw = random.random()
    if draw < 0.42:
        return random_shape(random)
    if draw < 0.72:
        return _library_solid(str(random.choice(sorted(LIBRARY))), random)
    if draw < 0.84:
        return _printed_box(random)
    return _flat(random) if draw < 0.93 else _bracket(random)


@cache
def _design(name: str) -> Solid:
    return LIBRARY[name].solid()


def _library_solid(name: str, random: np.random.Generator) -> Solid:
    """Return a built-in asset scaled by 0.75 to 1.3, with its hue turned half of the time."""
    solid = _design(name)
    factors = random.uniform(0.75, 1.3) * random.uniform(0.9, 1.1, 3)
    factors *= min(1.0, MAX_EXTENT_M / float((solid.mesh.extents * factors).max()))
    solid = solid.transformed(np.diag([*factors, 1.0]))
    if random.random() < 0.5:
        image = texture_visual(solid.mesh).material.image.convert("RGB")
        image.thumbnail((256, 256))
        hsv = cv2.cvtColor(np.asarray(image), cv2.COLOR_RGB2HSV).astype(int)
        hsv[..., 0] = (hsv[..., 0] + int(random.integers(180))) % 180
        hsv[..., 1] = (hsv[..., 1] * random.uniform(0.4, 1.4)).clip(0, 255)
        return solid.with_texture(Image.fromarray(cv2.cvtColor(hsv.astype(np.uint8), cv2.COLOR_HSV2RGB)))
    return solid


def _look(random: np.random.Generator) -> Image.Image:
    if random.random() < 0.6:
        return _plain(random_colour(random))
    return Image.fromarray(random_print((96, 96), random))


def _printed_box(random: np.random.Generator) -> Solid:
    """Return a carton, often with one background colour on all faces."""
    size = np.sort(random.uniform((0.015, 0.04, 0.06), (0.07, 0.15, 0.24)))
    faces = [random_print((96, 96), random) for _ in range(6)]
    if random.random() < 0.6:
        colour = random_colour(random).clip(0, 255)
        faces = [
            np.where(random.random() < 0.5, colour, face).astype(np.uint8) * np.ones((96, 96, 1), np.uint8)
            for face in faces
        ]
    return solids.box(
        random.permutation(size), face_strip([Image.fromarray(np.asarray(one, np.uint8)) for one in faces])
    )


def _flat(random: np.random.Generator) -> Solid:
    """Return a disc, ring, sheet, card, pen or tool, so low that a depth camera hardly shows it."""
    kind, height = int(random.integers(6)), float(random.uniform(0.0008, 0.008))
    if kind == 0:
        radius = float(random.uniform(0.012, 0.06))
        return lathe([(0, 0), (radius, 0), (radius, height), (0, height)], _look(random))
    if kind == 1:
        size = (float(random.uniform(0.03, 0.2)), float(random.uniform(0.03, 0.15)), height)
        return solids.box(size, face_strip([_look(random).resize((96, 96)) for _ in range(6)]))
    if kind == 2:
        radius, length = float(random.uniform(0.002, 0.007)), float(random.uniform(0.08, 0.18))
        ends = length * random.uniform(0.5, 0.95)
        pen = join(
            lathe([(0, 0), (radius, 0), (radius, ends), (0, ends)], _look(random)),
            lathe(
                [(0, 0), (radius * 0.9, 0), (radius * 0.5, length - ends), (0, length - ends)], _look(random)
            ).translated(z=ends),
        )
        return pen.rotated(90, (0, 1, 0))
    if kind == 3:
        length, width = random.uniform(0.08, 0.2), random.uniform(0.008, 0.03)
        return solids.box((length, width, height), _strip(random))
    return _library_solid(str(random.choice(THIN_ASSETS)), random)


def _strip(random: np.random.Generator) -> Image.Image:
    return face_strip([_look(random).resize((64, 64))] * 6)


def _bracket(random: np.random.Generator) -> Solid:
    """Return a part of several boxes in one colour: an L, T, U, clamp or stepped block."""
    image = _plain(random_colour(random))
    width, height = float(random.uniform(0.012, 0.05)), float(random.uniform(0.008, 0.05))
    length = float(random.uniform(0.05, 0.14))
    parts = [solids.box((length, width, height), image)]
    for _ in range(int(random.integers(1, 4))):
        side = float(random.uniform(0.02, 0.09))
        at = float(random.choice([-1, 0, 1]) * (length - width) / 2)
        other = solids.box((width * random.uniform(0.6, 1.2), side, height * random.uniform(0.4, 1.2)), image)
        parts.append(other.translated(x=at, y=float(random.choice([-1, 1])) * (side - width) / 2))
    if random.random() < 0.4:
        radius = width * float(random.uniform(0.4, 1))
        knob = lathe([(0, 0), (radius, 0), (radius, height), (0, height)], _plain(random_colour(random)))
        parts.append(knob.translated(z=height / 2))
    return join(*parts)


def _clear(random: np.random.Generator) -> Solid:
    """Return a cup, bottle, box or bowl; its look is left to the renderer."""
    image, kind = _plain(np.array([200, 205, 205])), int(random.integers(4))
    if kind == 0:
        radius, height = float(random.uniform(0.025, 0.05)), float(random.uniform(0.05, 0.14))
        low = radius * float(random.uniform(0.6, 1))
        return lathe([(0, 0), (low, 0), (radius, height), (0, height)], image)
    if kind == 1:
        radius, height = float(random.uniform(0.025, 0.045)), float(random.uniform(0.1, 0.22))
        shoulder, neck = height * float(random.uniform(0.6, 0.85)), radius * float(random.uniform(0.3, 0.5))
        return lathe([(0, 0), (radius, 0), (radius, shoulder), (neck, height), (0, height)], image)
    if kind == 2:
        return solids.box(tuple(float(one) for one in random.uniform(0.03, 0.13, 3)), image)
    return solids.ball(float(random.uniform(0.02, 0.05)), image)
