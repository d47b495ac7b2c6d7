"""Draws tables for training: stacks, crowds and rows of random shapes, beside built-in assets in other sizes.

`python -m scripts.training.training_tables FOLDER FIRST LAST` writes FOLDER/<layout>_<seed>/ in the plain format with
expected.json. No two tables share random shapes, and nothing resembles a photograph.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from make_library import LIBRARY, AssetDesign
from PIL import Image
from print_designs import face_strip

from pipeline.assets import Library, solids
from pipeline.assets.library import write_asset
from pipeline.assets.solids import Solid, join, lathe, plain_texture
from scripts.training import make_clutter as clutter
from scripts.training.print_augmentation import random_print

RANDOM_SHAPES, LIBRARY_ASSETS = 9, 9
"""Assets of each kind in the library of one table."""
MAX_EXTENT_M = 0.24
"""Largest extent of an asset."""


def random_shape(rng: np.random.Generator) -> Solid:
    """Return a random box, can, ball, bottle with a cap, cup or bowl, plain or printed."""
    shapes = (
        random_box,
        random_box,
        random_box,
        random_can,
        random_can,
        _random_ball,
        _random_bottle,
        _random_cup,
        _random_bowl,
    )
    return shapes[int(rng.integers(len(shapes)))](rng)


def _random_colour(rng: np.random.Generator) -> tuple[int, int, int]:
    if rng.random() < 0.25:  # grey to white, as many things are
        shade = int(rng.integers(20, 250))
        return shade, shade, shade
    r, g, b = rng.integers(15, 250, 3)
    return int(r), int(g), int(b)


def _random_texture(rng: np.random.Generator) -> Image.Image:
    if rng.random() < 0.6:
        return plain_texture(_random_colour(rng))
    return Image.fromarray(random_print((96, 96), rng))


def random_box(rng: np.random.Generator) -> Solid:
    size = rng.uniform(0.025, 0.12, 3)
    if rng.random() < 0.6:
        return solids.box(size, plain_texture(_random_colour(rng)))
    return solids.box(size, face_strip([Image.fromarray(random_print((64, 64), rng)) for _ in range(6)]))


def random_can(rng: np.random.Generator) -> Solid:
    radius, height = rng.uniform(0.014, 0.055), rng.uniform(0.03, 0.13)
    if rng.random() < 0.5:
        return lathe([(0, 0), (radius, 0), (radius, height), (0, height)], _random_texture(rng))
    side_height = height * rng.uniform(0.85, 0.97)
    side = lathe([(0, 0), (radius, 0), (radius, side_height), (0, side_height)], _random_texture(rng))
    lid = radius * rng.uniform(0.85, 1.04)
    return join(
        side,
        lathe(
            [(0, 0), (lid, 0), (lid, height - side_height), (0, height - side_height)],
            plain_texture(_random_colour(rng)),
        ).translated(z=side_height),
    )


def _random_ball(rng: np.random.Generator) -> Solid:
    return solids.ball(float(rng.uniform(0.015, 0.05)), _random_texture(rng))


def _random_bottle(rng: np.random.Generator) -> Solid:
    """Return a body with shoulders, a neck, and a cap narrower than the body."""
    radius, height = rng.uniform(0.022, 0.045), rng.uniform(0.07, 0.17)
    neck, shoulder = radius * rng.uniform(0.35, 0.7), height * rng.uniform(0.6, 0.9)
    body = [(0, 0), (radius, 0), (radius * rng.uniform(0.85, 1), shoulder), (neck, height), (0, height)]
    cap_radius, cap_height = neck * rng.uniform(0.9, 1.4), rng.uniform(0.012, 0.04)
    cap = [(0, 0), (cap_radius, 0), (cap_radius * rng.uniform(0.6, 1), cap_height), (0, cap_height)]
    return join(
        lathe(body, _random_texture(rng), cuts=(shoulder,)),
        lathe(cap, plain_texture(_random_colour(rng))).translated(z=height),
    )


def _random_cup(rng: np.random.Generator) -> Solid:
    from asset_designs import mug

    radius, height = float(rng.uniform(0.028, 0.05)), float(rng.uniform(0.05, 0.13))
    return mug(radius, height, _random_colour(rng), float(rng.uniform(0.7, 1)), bool(rng.random() < 0.6))()


def _random_bowl(rng: np.random.Generator) -> Solid:
    radius = float(rng.uniform(0.05, 0.1))
    return solids.bowl(radius, radius * float(rng.uniform(0.4, 0.9)), _random_texture(rng))


def random_size(design: AssetDesign, rng: np.random.Generator) -> Solid:
    """Return a built-in asset scaled by 0.75 to 1.3, and by up to a tenth along each axis."""
    solid = design.solid()
    factors = rng.uniform(0.75, 1.3) * rng.uniform(0.9, 1.1, 3)
    factors *= min(1.0, MAX_EXTENT_M / float((solid.mesh.extents * factors).max()))
    return solid.transformed(np.diag([*factors, 1.0]))


def random_library(rng: np.random.Generator, folder: Path) -> Library:
    """Write and open the library of one table."""
    for number in range(RANDOM_SHAPES):
        _write_training_asset(random_shape(rng), folder / f"thing_{number}", False)
    for name in rng.choice(sorted(LIBRARY), LIBRARY_ASSETS, replace=False):
        _write_training_asset(random_size(LIBRARY[str(name)], rng), folder / str(name), LIBRARY[str(name)].container)
    return Library.open([folder])


def _write_training_asset(solid: Solid, folder: Path, container: bool) -> None:
    about = {"name": folder.name, "caption": "", "category": "thing", "mass": 0.1, "friction": 0.9}
    write_asset(solid, folder, about | {"container": container, "licence": "MIT", "provenance": "drawn to learn from"})


# ---------------------------------------------------------------------- what stands where


def stacked_layout(table: clutter.ClutterTable) -> None:
    """Put objects on boxes, centred or not, some three high, in a row."""
    for x in (-0.24, -0.08, 0.08, 0.24):
        z, y = 0.0, table.rng.uniform(-0.14, 0.16)
        for level, id in enumerate(table.pick(int(table.rng.choice([1, 2, 2, 2, 3])), table.ids(MAX_EXTENT_M))):
            if id not in table.poses:
                size = table.library[id].size
                offset = (
                    table.rng.normal(0, 0.25, 2) * min(size[:2]) * 0.5 if level and table.rng.random() < 0.5 else 0.0
                )
                position = np.array([x, y]) + table.rng.normal(0, 0.004, 2) + offset
                table.put(id, *position, z + size[2] / 2 + 0.001, table.turned())
                z += size[2] * (0.95 if table.library[id].container else 1)


def crowded_layout(table: clutter.ClutterTable) -> None:
    """Put objects closer than their sizes allow; they are separated until they touch."""
    pitch = table.rng.uniform(0.085, 0.14)
    for n, id in enumerate(table.pick(int(table.rng.integers(6, 11)), table.ids(MAX_EXTENT_M))):
        x, y = pitch * (n % 4 - 1.5), pitch * 1.2 * (n // 4 - 1)
        turn = table.turned() if table.rng.random() < 0.7 else clutter.UPRIGHT
        table.put(
            id,
            x + table.rng.normal(0, 0.015),
            y + table.rng.normal(0, 0.015),
            table.library[id].size[2] / 2 + 0.001,
            turn,
        )


def rows_layout(table: clutter.ClutterTable) -> None:
    """Put objects side by side."""
    x, y = -0.25, -0.12
    for id in table.pick(int(table.rng.integers(6, 10)), table.ids(MAX_EXTENT_M)):
        size = table.library[id].size
        if x > 0.15:
            x, y = -0.25, y + 0.16
        turn = clutter.UPRIGHT if table.rng.random() < 0.6 else table.turned()
        table.put(id, x + size[0] / 2, y + table.rng.normal(0, 0.02), size[2] / 2 + 0.001, turn)
        x += size[0] + max(0.0, table.rng.normal(0, 0.006))


def spaced_layout(table: clutter.ClutterTable) -> None:
    """Put objects with space between them, some lying, to show each alone."""
    for n, id in enumerate(table.pick(6, table.ids(MAX_EXTENT_M))):
        x, y = 0.2 * (n % 3 - 1) + table.rng.normal(0, 0.02), 0.2 * (n // 3 - 0.5) + table.rng.normal(0, 0.02)
        quat = table.turned() if table.rng.random() < 0.6 else table.tumbled()
        table.put(id, x, y, max(table.library[id].size) / 2 + 0.002, quat)


LAYOUTS: dict[str, Callable[[clutter.ClutterTable], None]] = {
    "tower": stacked_layout,
    "crowd": crowded_layout,
    "row": rows_layout,
    "alone": spaced_layout,
}
LAYOUT_PROBABILITIES = (0.36, 0.34, 0.15, 0.15)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    arguments = parser.parse_args()
    clutter.LAYOUTS.update(LAYOUTS)
    for seed in range(arguments.first, arguments.last):
        rng = np.random.default_rng([4, seed])
        kind = str(rng.choice(list(LAYOUTS), p=LAYOUT_PROBABILITIES))
        with tempfile.TemporaryDirectory() as folder:
            clutter.make_frame(
                kind, seed + 100_000, arguments.folder / f"{kind}_{seed}", random_library(rng, Path(folder))
            )


if __name__ == "__main__":
    main()
