"""What a library looks like from many sides, computed once and kept on disk: what matching compares crops with."""

import re
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import cv2
import numpy as np

from pipeline.assets.asset import Asset, AssetError
from pipeline.assets.encoder import Encoder, unit
from pipeline.assets.library import Library
from pipeline.assets.views import look, rotations
from pipeline.store import replacing

VERSION = 3
"""Of the numbers below and how they are computed: another version is computed anew."""
PIXELS, THUMB = 48, 12
AZIMUTHS, ELEVATIONS = np.arange(0, 360, 30.0), np.array([18.0, 38.0, 60.0])
UPS = np.array([np.eye(3), [[0, 0, -1], [0, 1, 0], [1, 0, 0]], [[1, 0, 0], [0, 0, -1], [0, 1, 0]]])
"""World-from-object rotations: standing as in its file, lying with its x axis up, lying with its y axis up."""
SHOWN = ((0, 38.0, 1), (0, 60.0, 1), (1, 38.0, 2), (2, 38.0, 2))
"""What the encoder is shown: how the asset lies (an index into UPS), from which elevation, every how many azimuths."""
OPEN = {"bowl", "mug", "cup", "plate", "pan", "tray", "bin"}
"""Categories whose things differ in colour alone."""
BINS = np.array([4, 9, 9])
"""Of the histogram over lightness and the two colour axes of CIELAB."""


@dataclass(frozen=True, eq=False)
class Look:
    """One or many pictures as matching sees them; V pictures, or no such axis for one."""

    mask: np.ndarray
    """Of shape (V, PIXELS, PIXELS), bool, filled by the object, upright."""
    thumb: np.ndarray
    """Colour means over a coarse grid, of shape (V, THUMB, THUMB, 3), float16, CIELAB; NaN outside."""
    relief: np.ndarray
    """Distance along the camera's axis over the same grid, of shape (V, THUMB, THUMB), float16,
    in metres. NaN outside."""
    histogram: np.ndarray
    """Square root of the colour histogram, of shape (V, 324), float16, of unit length."""
    extents: np.ndarray
    """Width and height seen, of shape (V, 2), float32, in metres."""

    def take(self, rows: np.ndarray) -> "Look":
        """Some of the pictures."""
        return Look(*(getattr(self, name)[rows] for name in Look.__dataclass_fields__))


EMPTY = Look(
    np.zeros((0, PIXELS, PIXELS), bool),
    np.zeros((0, THUMB, THUMB, 3), np.float16),
    np.zeros((0, THUMB, THUMB), np.float16),
    np.zeros((0, BINS.prod()), np.float16),
    np.zeros((0, 2), np.float32),
)


@dataclass(frozen=True, eq=False)
class Features:
    """All views of all assets of a library, one after the other."""

    ids: tuple[str, ...]
    owner: np.ndarray
    """Which of `ids` each view shows, of shape (V,), int."""
    up: np.ndarray
    """How it lies in each view, an index into UPS, of shape (V,), int."""
    elevation: np.ndarray
    """The camera's, of shape (V,), in degrees."""
    azimuth: np.ndarray
    look: Look
    encoder: str = ""
    """What made the vectors; empty: nothing did."""
    vectors: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.float16))
    """Of the views that the encoder is shown, asset after asset, of shape (E, D), float16."""
    grey: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.float16))
    """The same without colour, of hollow assets: a grey mug may stand for a blue one. Zero for the others."""
    shown: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    """Which of `vectors` is nearest to each view, of shape (V,), int."""

    @cached_property
    def printed(self) -> np.ndarray:
        """Whether most views of an asset show more than one colour, of shape (len(ids),), bool."""
        views = printed(self.look)
        counts = np.bincount(self.owner, minlength=len(self.ids))
        return np.bincount(self.owner, views, len(self.ids)) > 0.5 * np.maximum(counts, 1)

    @cached_property
    def directions(self) -> tuple[np.ndarray, np.ndarray]:
        """`vectors` and `grey` of unit length, of shape (E, D), float32."""
        return unit(self.vectors), unit(self.grey)

    @cached_property
    def middle(self) -> np.ndarray:
        """Mean of `vectors`, of shape (D,), float32."""
        return self.vectors.astype(np.float32).mean(axis=0)

    @staticmethod
    def of(
        library: Library,
        cache: Path | None = None,
        progress: Callable[[int, int], None] | None = None,
        encoder: Encoder | None = None,
    ) -> "Features":
        """Of a library; each asset's are found again in the folder `cache` under its digest.

        What cannot be drawn is left out. `progress` is told how many are done, of how many.
        """
        parts = []
        for done, part in enumerate(learnt(library, cache, encoder), 1):
            parts += [part] if part else []
            if progress:
                progress(done, len(library))
        return _joined(parts, encoder.name if encoder else "")


def learnt(library: Library, cache: Path | None, encoder: Encoder | None) -> Iterator["Features | None"]:
    """Each asset's features as they come, None for one that cannot be drawn: to show how far it has got."""
    made = re.sub(r"[^A-Za-z0-9.]+", "-", encoder.name) if encoder else "none"
    for asset in library:
        file = cache / "looks" / f"{asset.digest or asset.id}_{VERSION}_{made}.npz" if cache else None
        with _computing:  # whoever comes second finds it made
            part = _load(file) if file and file.exists() else None
            if part is None:
                part = _of_one(asset, encoder)
                if file and part:
                    _save(part, file)
        yield replace(part, ids=(asset.id,)) if part else None


_computing = threading.Lock()


def _of_one(asset: Asset, encoder: Encoder | None) -> "Features | None":
    turns = np.concatenate([rotations(AZIMUTHS, ELEVATIONS, up) for up in UPS])
    up = np.repeat(np.arange(len(UPS)), len(AZIMUTHS) * len(ELEVATIONS))
    elevation = np.tile(np.repeat(ELEVATIONS, len(AZIMUTHS)), len(UPS))
    azimuth = np.tile(AZIMUTHS, len(ELEVATIONS) * len(UPS))
    picked, nearest = _shown(up, elevation, azimuth)
    vectors = grey = np.zeros((0, 0), np.float16)
    try:
        views = look(asset, turns, PIXELS)
        if encoder:
            large = look(asset, turns[picked], encoder.pixels)
            vectors = encoder.encode(large.rgb, large.masks).astype(np.float16)
            grey = np.zeros_like(vectors)
            if asset.category in OPEN:
                grey = encoder.encode(colourless(large.rgb), large.masks).astype(np.float16)
    except AssetError:
        return None
    seen = describe_pictures(views.rgb, views.masks, views.depth, views.extents)
    owner, name = np.zeros(len(turns), int), encoder.name if encoder else ""
    return Features((asset.id,), owner, up, elevation, azimuth, seen, name, vectors, grey, nearest)


def _joined(parts: "list[Features]", encoder: str) -> "Features":
    """Many assets' features in one."""
    if not parts:
        none = np.zeros(0, int)
        return Features((), none, none, none, none, EMPTY, encoder)
    start = np.cumsum([0, *(len(part.vectors) for part in parts[:-1])])
    angles = {name: np.concatenate([getattr(p, name) for p in parts]) for name in ("up", "elevation", "azimuth")}
    return Features(
        ids=tuple(part.ids[0] for part in parts),
        owner=np.concatenate([part.owner + k for k, part in enumerate(parts)]),
        look=Look(*(np.concatenate([getattr(p.look, name) for p in parts]) for name in Look.__dataclass_fields__)),
        encoder=encoder,
        vectors=np.concatenate([part.vectors for part in parts]),
        grey=np.concatenate([part.grey for part in parts]),
        shown=np.concatenate([part.shown + k for k, part in zip(start, parts, strict=True)]),
        **angles,
    )


def _shown(up: np.ndarray, elevation: np.ndarray, azimuth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which of an asset's views the encoder is shown, and for each view which of those is nearest to it."""
    rows = [np.flatnonzero((up == u) & (elevation == e))[::step] for u, e, step in SHOWN]
    picked = np.concatenate(rows)
    turned = np.abs((azimuth[:, None] - azimuth[picked] + 180) % 360 - 180)
    away = turned + 0.1 * np.abs(elevation[:, None] - elevation[picked]) + 1e3 * (up[:, None] != up[picked])
    return picked, away.argmin(axis=1)


def describe_pictures(rgb: np.ndarray, masks: np.ndarray, depth: np.ndarray, extents: np.ndarray) -> Look:
    """Of pictures (V, PIXELS, PIXELS, 3) uint8, filled and upright, with masks and depths (V, PIXELS, PIXELS).

    Depth is in metres, NaN where unknown.
    """
    count = len(rgb)
    lab = to_lab(rgb.reshape(-1, PIXELS, 3)).reshape(rgb.shape)
    step = PIXELS // THUMB
    cells = (count, THUMB, step, THUMB, step)
    there = masks.reshape(cells).sum(axis=(2, 4)).astype(np.float32)
    total = (lab * masks[..., None]).reshape(*cells, 3).sum(axis=(2, 4))
    thumb = np.where(there[..., None] >= step * step / 3, total / np.maximum(there, 1)[..., None], np.nan)
    known = masks & np.isfinite(depth)
    sounded = known.reshape(cells).sum(axis=(2, 4)).astype(np.float32)
    sum_depth = np.where(known, depth, 0).reshape(cells).sum(axis=(2, 4))
    relief = np.where(sounded >= step * step / 3, sum_depth / np.maximum(sounded, 1), np.nan)
    histograms = np.stack([_histogram(lab[k][masks[k]]) for k in range(count)])
    return Look(
        masks,
        thumb.astype(np.float16),
        relief.astype(np.float16),
        histograms.astype(np.float16),
        extents.astype(np.float32),
    )


def printed(look: Look) -> np.ndarray:
    """Whether each picture shows more than one colour, of shape (V,), bool."""
    thumbs = look.thumb.astype(np.float32)
    there = np.isfinite(thumbs[..., :1])
    count = np.maximum(there.sum(axis=(1, 2)), 1)
    mean = np.where(there, thumbs, 0).sum(axis=(1, 2)) / count
    off = np.where(there, thumbs - mean[:, None, None], 0)
    return np.sqrt((off**2).sum(axis=(1, 2)) / count).max(axis=1) > 10


def colourless(rgb: np.ndarray) -> np.ndarray:
    """Pictures (..., 3), uint8, in shades of grey."""
    grey = rgb.astype(np.float32) @ np.array([0.3, 0.59, 0.11], np.float32)
    return np.repeat(np.clip(grey, 0, 255).astype(np.uint8)[..., None], 3, axis=-1)


def to_lab(rgb: np.ndarray) -> np.ndarray:
    """CIELAB of an image (H, W, 3) uint8: L in [0, 100], a and b in about [-100, 100], float32."""
    return cv2.cvtColor(np.ascontiguousarray(rgb, np.float32) / 255, cv2.COLOR_RGB2LAB)


def _histogram(lab: np.ndarray) -> np.ndarray:
    """Square root of the share of pixels (N, 3) in each cell, linearly spread over neighbours, of unit length."""
    place = np.clip((lab - [0, -64, -64]) / [100, 128, 128], 0, 1) * (BINS - 1)
    low = np.minimum(place.astype(int), BINS - 2)
    part = place - low
    grid = np.zeros(BINS)
    for corner in np.ndindex(2, 2, 2):
        weight = np.prod(np.where(corner, part, 1 - part), axis=1)
        np.add.at(grid, tuple((low + corner).T), weight)
    return np.sqrt(grid.ravel() / max(grid.sum(), 1e-9))


def _save(features: Features, file: Path) -> None:
    with replacing(file) as aside, aside.open("wb") as out:
        np.savez(
            out,
            ids=np.array(features.ids),
            owner=features.owner,
            up=features.up,
            elevation=features.elevation,
            azimuth=features.azimuth,
            mask=np.packbits(features.look.mask, axis=-1),
            thumb=features.look.thumb,
            relief=features.look.relief,
            histogram=features.look.histogram,
            extents=features.look.extents,
            encoder=np.array(features.encoder),
            vectors=features.vectors,
            grey=features.grey,
            shown=features.shown,
        )


def _load(file: Path) -> Features | None:
    """None for a file that is half written or of another kind: it is computed anew."""
    try:
        with np.load(file) as kept:
            mask = np.unpackbits(kept["mask"], axis=-1).astype(bool)
            look = Look(mask, kept["thumb"], kept["relief"], kept["histogram"], kept["extents"])
            names = ("owner", "up", "elevation", "azimuth", "vectors", "grey", "shown")
            rest = {name: kept[name] for name in names}
            return Features(ids=tuple(map(str, kept["ids"])), look=look, encoder=str(kept["encoder"]), **rest)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None
