"""What a library looks like from many sides, computed once and kept on disk: what matching compares crops with."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from pipeline.assets.asset import AssetError
from pipeline.assets.library import Library
from pipeline.assets.views import look, rotations

VERSION = 2
"""Of the numbers below and how they are computed: another version is computed anew."""
PIXELS, THUMB = 48, 12
AZIMUTHS, ELEVATIONS = np.arange(0, 360, 30.0), np.array([18.0, 38.0, 60.0])
UPS = np.array([np.eye(3), [[0, 0, -1], [0, 1, 0], [1, 0, 0]], [[1, 0, 0], [0, 0, -1], [0, 1, 0]]])
"""World-from-object rotations: standing as in its file, lying with its x axis up, lying with its y axis up."""
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

    @staticmethod
    def of(
        library: Library, cache: Path | None = None, progress: Callable[[int, int], None] | None = None
    ) -> "Features":
        """Of a library; found again in the folder `cache` under its digest. What cannot be drawn is left out."""
        file = cache / f"views_{library.digest}_{VERSION}.npz" if cache else None
        if file and file.exists():
            try:
                return _load(file)
            except (OSError, ValueError, KeyError):
                pass  # half written or of another kind: compute it anew
        features = _compute(library, progress)
        if file:
            _save(features, file)
        return features


def _compute(library: Library, progress: Callable[[int, int], None] | None) -> Features:
    turns = np.concatenate([rotations(AZIMUTHS, ELEVATIONS, up) for up in UPS])
    looks, ids = [], []
    for number, asset in enumerate(library):
        try:
            views = look(asset, turns, PIXELS)
        except AssetError:
            continue
        looks.append(describe_pictures(views.rgb, views.masks, views.depth, views.extents))
        ids.append(asset.id)
        if progress:
            progress(number + 1, len(library))
    each = len(AZIMUTHS) * len(ELEVATIONS)
    return Features(
        tuple(ids),
        np.repeat(np.arange(len(ids)), len(turns)),
        np.tile(np.repeat(np.arange(len(UPS)), each), len(ids)),
        np.tile(np.repeat(ELEVATIONS, len(AZIMUTHS)), len(UPS) * len(ids)),
        np.tile(AZIMUTHS, len(ELEVATIONS) * len(UPS) * len(ids)),
        Look(*(np.concatenate([getattr(one, name) for one in looks or [EMPTY]]) for name in Look.__dataclass_fields__)),
    )


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
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(f".{os.getpid()}.part")
    with part.open("wb") as out:
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
        )
    part.replace(file)


def _load(file: Path) -> Features:
    with np.load(file) as kept:
        mask = np.unpackbits(kept["mask"], axis=-1).astype(bool)
        look = Look(mask, kept["thumb"], kept["relief"], kept["histogram"], kept["extents"])
        ids = tuple(str(id) for id in kept["ids"])
        return Features(ids, kept["owner"], kept["up"], kept["elevation"], kept["azimuth"], look)
