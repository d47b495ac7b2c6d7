"""Tables to learn from: stacks, crowds and rows of invented things, beside our own in other sizes.

`python sample_scenes/learn_tables.py FOLDER FIRST LAST` writes FOLDER/<kind>_<seed>/ in the plain form with
expected.json. No two tables have the same invented things, and nothing here looks like any one photograph.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import make_clutter as clutter
import numpy as np
from make_library import LIBRARY, Made
from patterns import pattern
from PIL import Image
from prints import strip

from pipeline.assets import Library, shapes
from pipeline.assets.library import write_asset
from pipeline.assets.shapes import Solid, join, lathe, plain

INVENTED, OWN = 9, 9
"""Things that a table's library holds of either sort."""
WIDE = 0.24
"""Metres; nothing is wider or taller."""


def invented(rng: np.random.Generator) -> Solid:
    """A box, a can, a ball, a bottle with a cap, a cup or a bowl, plain or printed."""
    forms = (_box, _box, _box, _can, _can, _ball, _bottle, _cup, _bowl)
    return forms[int(rng.integers(len(forms)))](rng)


def _colour(rng: np.random.Generator) -> tuple[int, int, int]:
    if rng.random() < 0.25:  # grey to white, as many things are
        shade = int(rng.integers(20, 250))
        return shade, shade, shade
    r, g, b = rng.integers(15, 250, 3)
    return int(r), int(g), int(b)


def _image(rng: np.random.Generator) -> Image.Image:
    if rng.random() < 0.6:
        return plain(_colour(rng))
    return Image.fromarray(pattern((96, 96), rng))


def _box(rng: np.random.Generator) -> Solid:
    size = rng.uniform(0.025, 0.12, 3)
    if rng.random() < 0.6:
        return shapes.box(size, plain(_colour(rng)))
    return shapes.box(size, strip([Image.fromarray(pattern((64, 64), rng)) for _ in range(6)]))


def _can(rng: np.random.Generator) -> Solid:
    radius, height = rng.uniform(0.014, 0.055), rng.uniform(0.03, 0.13)
    if rng.random() < 0.5:
        return lathe([(0, 0), (radius, 0), (radius, height), (0, height)], _image(rng))
    low = height * rng.uniform(0.85, 0.97)
    side = lathe([(0, 0), (radius, 0), (radius, low), (0, low)], _image(rng))
    lid = radius * rng.uniform(0.85, 1.04)
    return join(side, lathe([(0, 0), (lid, 0), (lid, height - low), (0, height - low)], plain(_colour(rng))).at(z=low))


def _ball(rng: np.random.Generator) -> Solid:
    return shapes.ball(float(rng.uniform(0.015, 0.05)), _image(rng))


def _bottle(rng: np.random.Generator) -> Solid:
    """A body, shoulders, a neck, and a cap that is narrower than the body."""
    radius, height = rng.uniform(0.022, 0.045), rng.uniform(0.07, 0.17)
    neck, shoulder = radius * rng.uniform(0.35, 0.7), height * rng.uniform(0.6, 0.9)
    body = [(0, 0), (radius, 0), (radius * rng.uniform(0.85, 1), shoulder), (neck, height), (0, height)]
    wide, tall = neck * rng.uniform(0.9, 1.4), rng.uniform(0.012, 0.04)
    cap = [(0, 0), (wide, 0), (wide * rng.uniform(0.6, 1), tall), (0, tall)]
    return join(lathe(body, _image(rng), cuts=(shoulder,)), lathe(cap, plain(_colour(rng))).at(z=height))


def _cup(rng: np.random.Generator) -> Solid:
    from things import mug

    radius, height = float(rng.uniform(0.028, 0.05)), float(rng.uniform(0.05, 0.13))
    return mug(radius, height, _colour(rng), float(rng.uniform(0.7, 1)), bool(rng.random() < 0.6))()


def _bowl(rng: np.random.Generator) -> Solid:
    radius = float(rng.uniform(0.05, 0.1))
    return shapes.bowl(radius, radius * float(rng.uniform(0.4, 0.9)), _image(rng))


def resized(made: Made, rng: np.random.Generator) -> Solid:
    """One of our own, larger or smaller by up to a third, and by up to a tenth along each axis."""
    solid = made.solid()
    by = rng.uniform(0.75, 1.3) * rng.uniform(0.9, 1.1, 3)
    by *= min(1.0, WIDE / float((solid.mesh.extents * by).max()))
    return solid.moved(np.diag([*by, 1.0]))


def library_of(rng: np.random.Generator, folder: Path) -> Library:
    """What one table may hold."""
    for number in range(INVENTED):
        _write(invented(rng), folder / f"thing_{number}", False)
    for name in rng.choice(sorted(LIBRARY), OWN, replace=False):
        _write(resized(LIBRARY[str(name)], rng), folder / str(name), LIBRARY[str(name)].container)
    return Library.open([folder])


def _write(solid: Solid, folder: Path, container: bool) -> None:
    about = {"name": folder.name, "caption": "", "category": "thing", "mass": 0.1, "friction": 0.9}
    write_asset(solid, folder, about | {"container": container, "licence": "MIT", "provenance": "drawn to learn from"})


# ---------------------------------------------------------------------- what stands where


def stacks(t: clutter.Table) -> None:
    """Things on boxes, in the middle or beside it, sometimes three high, sometimes one behind the other."""
    for x in (-0.24, -0.08, 0.08, 0.24):
        z, y = 0.0, t.rng.uniform(-0.14, 0.16)
        for level, id in enumerate(t.pick(int(t.rng.choice([1, 2, 2, 2, 3])), t.ids(WIDE))):
            if id not in t.put_down:
                size = t.library[id].size
                aside = t.rng.normal(0, 0.25, 2) * min(size[:2]) * 0.5 if level and t.rng.random() < 0.5 else 0.0
                at = np.array([x, y]) + t.rng.normal(0, 0.004, 2) + aside
                t.put(id, *at, z + size[2] / 2 + 0.001, t.turned())
                z += size[2] * (0.95 if t.library[id].container else 1)


def crowd(t: clutter.Table) -> None:
    """Closer than their sizes allow: they part until they touch."""
    pitch = t.rng.uniform(0.085, 0.14)
    for n, id in enumerate(t.pick(int(t.rng.integers(6, 11)), t.ids(WIDE))):
        x, y = pitch * (n % 4 - 1.5), pitch * 1.2 * (n // 4 - 1)
        turn = t.turned() if t.rng.random() < 0.7 else clutter.UPRIGHT
        t.put(id, x + t.rng.normal(0, 0.015), y + t.rng.normal(0, 0.015), t.library[id].size[2] / 2 + 0.001, turn)


def rows(t: clutter.Table) -> None:
    """Side against side."""
    x, y = -0.25, -0.12
    for id in t.pick(int(t.rng.integers(6, 10)), t.ids(WIDE)):
        size = t.library[id].size
        if x > 0.15:
            x, y = -0.25, y + 0.16
        turn = clutter.UPRIGHT if t.rng.random() < 0.6 else t.turned()
        t.put(id, x + size[0] / 2, y + t.rng.normal(0, 0.02), size[2] / 2 + 0.001, turn)
        x += size[0] + max(0.0, t.rng.normal(0, 0.006))


def alone(t: clutter.Table) -> None:
    """With room between them, some lying: what one thing looks like."""
    for n, id in enumerate(t.pick(6, t.ids(WIDE))):
        x, y = 0.2 * (n % 3 - 1) + t.rng.normal(0, 0.02), 0.2 * (n // 3 - 0.5) + t.rng.normal(0, 0.02)
        quat = t.turned() if t.rng.random() < 0.6 else t.tumbled()
        t.put(id, x, y, max(t.library[id].size) / 2 + 0.002, quat)


KINDS: dict[str, Callable[[clutter.Table], None]] = {"tower": stacks, "crowd": crowd, "row": rows, "alone": alone}
WEIGHTS = (0.36, 0.34, 0.15, 0.15)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    arguments = parser.parse_args()
    clutter.KINDS.update(KINDS)
    for seed in range(arguments.first, arguments.last):
        rng = np.random.default_rng([4, seed])
        kind = str(rng.choice(list(KINDS), p=WEIGHTS))
        with tempfile.TemporaryDirectory() as folder:
            clutter.make(kind, seed + 100_000, arguments.folder / f"{kind}_{seed}", library_of(rng, Path(folder)))


if __name__ == "__main__":
    main()
