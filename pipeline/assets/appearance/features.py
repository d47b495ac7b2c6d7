"""Computes appearance features of a library from many views, once, and caches them for matching."""

import re
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import cv2
import numpy as np

from pipeline.assets.appearance.encoder import Encoder, unit_vectors
from pipeline.assets.appearance.ray_views import camera_rotations, render_views
from pipeline.assets.asset import Asset, AssetError
from pipeline.assets.library import Library
from pipeline.store import atomic_write

FEATURES_VERSION = 3
"""Version of the constants below and of the computation; features of another version are computed again."""
VIEW_PIXELS, THUMB_PIXELS = 48, 12
AZIMUTHS, ELEVATIONS = np.arange(0, 360, 30.0), np.array([18.0, 38.0, 60.0])
RESTING_ROTATIONS = np.array([np.eye(3), [[0, 0, -1], [0, 1, 0], [1, 0, 0]], [[1, 0, 0], [0, 0, -1], [0, 1, 0]]])
"""World-from-object rotations: as in the file, lying with the x axis up, lying with the y axis up."""
ENCODED_VIEWS = ((0, 38.0, 1), (0, 60.0, 1), (1, 38.0, 2), (2, 38.0, 2))
"""The views that are encoded: resting pose (index into RESTING_ROTATIONS), elevation, every n-th azimuth."""
COLOUR_ONLY_CATEGORIES = {"bowl", "mug", "cup", "plate", "pan", "tray", "bin"}
"""Categories whose assets differ mostly in colour."""
HISTOGRAM_BINS = np.array([4, 9, 9])
"""Bins over lightness and the two colour axes of CIELAB."""


@dataclass(frozen=True, eq=False)
class ViewDescriptors:
    """Descriptors of V pictures; for a single picture without that axis."""

    mask: np.ndarray
    """Shape (V, VIEW_PIXELS, VIEW_PIXELS), bool; filled by the object, upright."""
    thumb: np.ndarray
    """Mean colours over a coarse grid, shape (V, THUMB_PIXELS, THUMB_PIXELS, 3), float16, CIELAB; NaN outside."""
    relief: np.ndarray
    """Distance along the camera's axis over the same grid, shape (V, THUMB_PIXELS, THUMB_PIXELS), float16,
    in metres; NaN outside.
    """
    histogram: np.ndarray
    """Square root of the colour histogram, shape (V, 324), float16, of unit length."""
    extents: np.ndarray
    """Width and height of the visible object, shape (V, 2), float32, in metres."""

    def take(self, rows: np.ndarray) -> "ViewDescriptors":
        """Return some of the pictures."""
        return ViewDescriptors(*(getattr(self, name)[rows] for name in ViewDescriptors.__dataclass_fields__))


NO_VIEWS = ViewDescriptors(
    np.zeros((0, VIEW_PIXELS, VIEW_PIXELS), bool),
    np.zeros((0, THUMB_PIXELS, THUMB_PIXELS, 3), np.float16),
    np.zeros((0, THUMB_PIXELS, THUMB_PIXELS), np.float16),
    np.zeros((0, HISTOGRAM_BINS.prod()), np.float16),
    np.zeros((0, 2), np.float32),
)


@dataclass(frozen=True, eq=False)
class LibraryFeatures:
    """Features of all views of all assets of a library, asset after asset."""

    ids: tuple[str, ...]
    owner: np.ndarray
    """Index into `ids` of the asset in each view, shape (V,), int."""
    up: np.ndarray
    """Resting pose in each view, an index into RESTING_ROTATIONS, shape (V,), int."""
    elevation: np.ndarray
    """Elevation of the camera, shape (V,), in degrees."""
    azimuth: np.ndarray
    """Azimuth of the camera, shape (V,), in degrees."""
    descriptors: ViewDescriptors
    encoder: str = ""
    """Name of the encoder that made the vectors; empty without vectors."""
    vectors: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.float16))
    """Vectors of the encoded views, asset after asset, shape (E, D), float16."""
    grey_vectors: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.float16))
    """Vectors without colour, of hollow assets: a grey mug may match a blue one. Zero for others."""
    nearest_encoded: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    """Index into `vectors` of the encoded view nearest to each view, shape (V,), int."""

    @cached_property
    def has_print(self) -> np.ndarray:
        """Whether most views of an asset show more than one colour, shape (len(ids),), bool."""
        views = has_print(self.descriptors)
        counts = np.bincount(self.owner, minlength=len(self.ids))
        return np.bincount(self.owner, views, len(self.ids)) > 0.5 * np.maximum(counts, 1)

    @cached_property
    def directions(self) -> tuple[np.ndarray, np.ndarray]:
        """`vectors` and `grey_vectors` at unit length, shape (E, D), float32."""
        return unit_vectors(self.vectors), unit_vectors(self.grey_vectors)

    @cached_property
    def mean_vector(self) -> np.ndarray:
        """Mean of `vectors`, shape (D,), float32."""
        return self.vectors.astype(np.float32).mean(axis=0)

    @staticmethod
    def compute(
        library: Library,
        cache: Path | None = None,
        progress: Callable[[int, int], None] | None = None,
        encoder: Encoder | None = None,
    ) -> "LibraryFeatures":
        """Compute the features of a library, or read them from the folder `cache`, by asset digest.

        Assets that cannot be rendered are left out. `progress` is called with the number done and the total.
        """
        parts = []
        for done, part in enumerate(asset_features(library, cache, encoder), 1):
            parts += [part] if part else []
            if progress:
                progress(done, len(library))
        return _concatenate(parts, encoder.name if encoder else "")


def asset_features(library: Library, cache: Path | None, encoder: Encoder | None) -> Iterator["LibraryFeatures | None"]:
    """Yield the features of each asset, None for one that cannot be rendered."""
    encoder_key = re.sub(r"[^A-Za-z0-9.]+", "-", encoder.name) if encoder else "none"
    for asset in library:
        file = cache / "looks" / f"{asset.digest or asset.id}_{FEATURES_VERSION}_{encoder_key}.npz" if cache else None
        with _computing:  # a second thread then finds the file
            part = _load(file) if file and file.exists() else None
            if part is None:
                part = _compute_features(asset, encoder)
                if file and part:
                    _save(part, file)
        yield replace(part, ids=(asset.id,)) if part else None


_computing = threading.Lock()


def _compute_features(asset: Asset, encoder: Encoder | None) -> "LibraryFeatures | None":
    turns = np.concatenate([camera_rotations(AZIMUTHS, ELEVATIONS, up) for up in RESTING_ROTATIONS])
    up = np.repeat(np.arange(len(RESTING_ROTATIONS)), len(AZIMUTHS) * len(ELEVATIONS))
    elevation = np.tile(np.repeat(ELEVATIONS, len(AZIMUTHS)), len(RESTING_ROTATIONS))
    azimuth = np.tile(AZIMUTHS, len(ELEVATIONS) * len(RESTING_ROTATIONS))
    encoded, nearest = _encoded_views(up, elevation, azimuth)
    vectors = grey = np.zeros((0, 0), np.float16)
    try:
        views = render_views(asset, turns, VIEW_PIXELS)
        if encoder:
            large = render_views(asset, turns[encoded], encoder.pixels)
            vectors = encoder.encode(large.rgb, large.masks).astype(np.float16)
            grey = np.zeros_like(vectors)
            if asset.category in COLOUR_ONLY_CATEGORIES:
                grey = encoder.encode(to_grey(large.rgb), large.masks).astype(np.float16)
    except AssetError:
        return None
    descriptors = describe_views(views.rgb, views.masks, views.depth, views.extents)
    owner, name = np.zeros(len(turns), int), encoder.name if encoder else ""
    return LibraryFeatures((asset.id,), owner, up, elevation, azimuth, descriptors, name, vectors, grey, nearest)


def _concatenate(parts: "list[LibraryFeatures]", encoder: str) -> "LibraryFeatures":
    """Return the features of several assets as one."""
    if not parts:
        none = np.zeros(0, int)
        return LibraryFeatures((), none, none, none, none, NO_VIEWS, encoder)
    start = np.cumsum([0, *(len(part.vectors) for part in parts[:-1])])
    angles = {name: np.concatenate([getattr(p, name) for p in parts]) for name in ("up", "elevation", "azimuth")}
    fields = ViewDescriptors.__dataclass_fields__
    return LibraryFeatures(
        ids=tuple(part.ids[0] for part in parts),
        owner=np.concatenate([part.owner + k for k, part in enumerate(parts)]),
        descriptors=ViewDescriptors(
            *(np.concatenate([getattr(p.descriptors, name) for p in parts]) for name in fields)
        ),
        encoder=encoder,
        vectors=np.concatenate([part.vectors for part in parts]),
        grey_vectors=np.concatenate([part.grey_vectors for part in parts]),
        nearest_encoded=np.concatenate([part.nearest_encoded + k for k, part in zip(start, parts, strict=True)]),
        **angles,
    )


def _encoded_views(up: np.ndarray, elevation: np.ndarray, azimuth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the views of an asset to encode, and for each view the nearest of those."""
    rows = [np.flatnonzero((up == u) & (elevation == e))[::step] for u, e, step in ENCODED_VIEWS]
    encoded = np.concatenate(rows)
    azimuth_gap = np.abs((azimuth[:, None] - azimuth[encoded] + 180) % 360 - 180)
    distance = azimuth_gap + 0.1 * np.abs(elevation[:, None] - elevation[encoded]) + 1e3 * (up[:, None] != up[encoded])
    return encoded, distance.argmin(axis=1)


def describe_views(rgb: np.ndarray, masks: np.ndarray, depth: np.ndarray, extents: np.ndarray) -> ViewDescriptors:
    """Return descriptors of pictures (V, P, P, 3), uint8, with masks and depths (V, P, P); P is VIEW_PIXELS.

    The object fills each picture, upright. Depth is in metres, NaN where unknown.
    """
    count = len(rgb)
    lab = rgb_to_lab(rgb.reshape(-1, VIEW_PIXELS, 3)).reshape(rgb.shape)
    step = VIEW_PIXELS // THUMB_PIXELS
    cells = (count, THUMB_PIXELS, step, THUMB_PIXELS, step)
    count_inside = masks.reshape(cells).sum(axis=(2, 4)).astype(np.float32)
    total = (lab * masks[..., None]).reshape(*cells, 3).sum(axis=(2, 4))
    thumb = np.where(count_inside[..., None] >= step * step / 3, total / np.maximum(count_inside, 1)[..., None], np.nan)
    known = masks & np.isfinite(depth)
    count_known = known.reshape(cells).sum(axis=(2, 4)).astype(np.float32)
    sum_depth = np.where(known, depth, 0).reshape(cells).sum(axis=(2, 4))
    relief = np.where(count_known >= step * step / 3, sum_depth / np.maximum(count_known, 1), np.nan)
    histograms = np.stack([_histogram(lab[k][masks[k]]) for k in range(count)])
    return ViewDescriptors(
        masks,
        thumb.astype(np.float16),
        relief.astype(np.float16),
        histograms.astype(np.float16),
        extents.astype(np.float32),
    )


def has_print(views: ViewDescriptors) -> np.ndarray:
    """Return whether each picture shows more than one colour, shape (V,), bool."""
    thumbs = views.thumb.astype(np.float32)
    inside = np.isfinite(thumbs[..., :1])
    count = np.maximum(inside.sum(axis=(1, 2)), 1)
    mean = np.where(inside, thumbs, 0).sum(axis=(1, 2)) / count
    off = np.where(inside, thumbs - mean[:, None, None], 0)
    return np.sqrt((off**2).sum(axis=(1, 2)) / count).max(axis=1) > 10


def to_grey(rgb: np.ndarray) -> np.ndarray:
    """Return pictures (..., 3), uint8, in shades of grey."""
    grey = rgb.astype(np.float32) @ np.array([0.3, 0.59, 0.11], np.float32)
    return np.repeat(np.clip(grey, 0, 255).astype(np.uint8)[..., None], 3, axis=-1)


def rgb_to_lab(rgb: np.ndarray) -> np.ndarray:
    """Return CIELAB of an image (H, W, 3), uint8: L in [0, 100], a and b in about [-100, 100], float32."""
    return cv2.cvtColor(np.ascontiguousarray(rgb, np.float32) / 255, cv2.COLOR_RGB2LAB)


def _histogram(lab: np.ndarray) -> np.ndarray:
    """Return the square root of a colour histogram of pixels (N, 3), of unit length; linear between bins."""
    position = np.clip((lab - [0, -64, -64]) / [100, 128, 128], 0, 1) * (HISTOGRAM_BINS - 1)
    low = np.minimum(position.astype(int), HISTOGRAM_BINS - 2)
    fraction = position - low
    grid = np.zeros(HISTOGRAM_BINS)
    for corner in np.ndindex(2, 2, 2):
        weight = np.prod(np.where(corner, fraction, 1 - fraction), axis=1)
        np.add.at(grid, tuple((low + corner).T), weight)
    return np.sqrt(grid.ravel() / max(grid.sum(), 1e-9))


def _save(features: LibraryFeatures, file: Path) -> None:
    with atomic_write(file) as temporary, temporary.open("wb") as out:
        np.savez(
            out,
            ids=np.array(features.ids),
            owner=features.owner,
            up=features.up,
            elevation=features.elevation,
            azimuth=features.azimuth,
            mask=np.packbits(features.descriptors.mask, axis=-1),
            thumb=features.descriptors.thumb,
            relief=features.descriptors.relief,
            histogram=features.descriptors.histogram,
            extents=features.descriptors.extents,
            encoder=np.array(features.encoder),
            vectors=features.vectors,
            grey=features.grey_vectors,
            shown=features.nearest_encoded,
        )


def _load(file: Path) -> LibraryFeatures | None:
    """Inverse of `_save`. Return None for a file that is incomplete or has other contents."""
    try:
        with np.load(file) as stored:
            return LibraryFeatures(
                ids=tuple(map(str, stored["ids"])),
                owner=stored["owner"],
                up=stored["up"],
                elevation=stored["elevation"],
                azimuth=stored["azimuth"],
                descriptors=ViewDescriptors(
                    np.unpackbits(stored["mask"], axis=-1).astype(bool),
                    stored["thumb"],
                    stored["relief"],
                    stored["histogram"],
                    stored["extents"],
                ),
                encoder=str(stored["encoder"]),
                vectors=stored["vectors"],
                grey_vectors=stored["grey"],
                nearest_encoded=stored["shown"],
            )
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None
