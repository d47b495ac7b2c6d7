"""Trains the discriminants of appearance vectors (pipeline/assets/appearance/lite0.npz).

`python -m scripts.training.train_appearance`. Each built-in asset is rendered from random sides, each picture paired
with the library's nearest view. The picture is degraded as by a camera and a segmenter: light, colours, sharpness,
noise, JPEG, a wobbling outline, an occluded part. Colour channels are permuted in both, so that one asset counts as
six. Differences within pairs are noise; linear discriminants (Fisher 1936; for retrieval Mikolajczyk & Matas 2007)
project the encoder's vectors so that noise counts less than differences between assets. No photograph and no other
library is used.

Results vary with the random numbers. For degraded views of 133 unseen assets, the file that the matcher's weights
were trained with ranks the right one first in 0.826 and among five in 0.959; another run reaches 0.806 and 0.962,
plain means 0.400 and 0.679. With another file, train the matcher's weights again and rename the encoder.
"""

import sys
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import cv2
import numpy as np

from pipeline.assets import Asset, Library
from pipeline.assets.appearance.encoder import POOLED_LAYERS, Lite0Encoder, unit_vectors
from pipeline.assets.appearance.features import ELEVATIONS
from pipeline.assets.appearance.ray_views import RenderedViews, camera_rotations, render_views
from pipeline.geometry import bounding_box

OUTPUT_FILE = Path(__file__).resolve().parents[2] / "pipeline" / "assets" / "appearance" / "lite0.npz"
PICTURES_PER_ASSET, DIRECTIONS, SHRINKAGE = 48, 128, 0.2
"""Pictures per asset, dimensions kept, and shrinkage of the noise covariance towards a multiple of identity."""
MIN_PIXELS = 200
"""Pixels of an object that must remain after degradation."""


def main() -> int:
    encoder, rng = Lite0Encoder(), np.random.default_rng(3)
    degraded_batches, clean_batches, labels = [], [], []
    for asset in Library.open():
        for label, pictures, views in picture_pairs(asset, rng, encoder.pixels):
            degraded_batches.append(encoder.pooled_features(*pictures))
            clean_batches.append(encoder.pooled_features(*views))
            labels += [label] * len(pictures[0])
    degraded, clean = _concatenated(degraded_batches), _concatenated(clean_batches)
    statistics = {layer: (rows.mean(axis=0), rows.std(axis=0) + 1e-3 * rows.std()) for layer, rows in clean.items()}
    centre, axes = discriminants(_scaled(degraded, statistics), _scaled(clean, statistics))
    arrays = {f"{layer}_mean": mean for layer, (mean, _) in statistics.items()}
    arrays |= {f"{layer}_spread": spread for layer, (_, spread) in statistics.items()}
    np.savez_compressed(OUTPUT_FILE, **arrays, centre=centre, axes=axes.astype(np.float16))
    print(f"{len(labels)} pairs of {len(set(labels))} objects, {OUTPUT_FILE.stat().st_size // 1000} kB")
    return 0


def _concatenated(batches: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return {layer: np.concatenate([batch[layer] for batch in batches]) for layer in POOLED_LAYERS}


def _scaled(layers: dict[str, np.ndarray], statistics: dict[str, tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return standardised layers, each at unit length, side by side."""
    scaled = ((layers[layer] - mean) / spread for layer, (mean, spread) in statistics.items())
    return np.hstack([unit_vectors(rows) for rows in scaled])


def discriminants(degraded: np.ndarray, clean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the centre (D,) and axes (D, DIRECTIONS) in which pairs of rows (N, D) differ little and assets much."""
    noise = (degraded - clean).T @ (degraded - clean) / (2 * len(degraded))
    noise = (1 - SHRINKAGE) * noise + SHRINKAGE * np.trace(noise) / len(noise) * np.eye(len(noise))
    variances, vectors = np.linalg.eigh(noise)
    whitening = vectors / np.sqrt(variances)
    centre = (degraded + clean).mean(axis=0) / 2
    whitened = (np.concatenate([degraded, clean]) - centre) @ whitening
    variances, vectors = np.linalg.eigh(whitened.T @ whitened)
    return centre.astype(np.float32), whitening @ vectors[:, np.argsort(-variances)[:DIRECTIONS]]


Pictures = tuple[np.ndarray, np.ndarray]
"""Pictures (V, P, P, 3), uint8, and their masks (V, P, P), bool."""


def picture_pairs(asset: Asset, rng: np.random.Generator, pixels: int) -> Iterator[tuple[str, Pictures, Pictures]]:
    """Yield for each channel order its name, degraded pictures, and the library's views of the same sides."""
    for order in permutations(range(3)):
        azimuth, elevation = rng.uniform(0, 360, PICTURES_PER_ASSET // 6), rng.uniform(18, 65, PICTURES_PER_ASSET // 6)
        heights = ELEVATIONS[1:]
        nearest = heights[np.abs(heights[:, None] - elevation).argmin(axis=0)]
        views = _views(asset, azimuth, elevation, pixels)
        library_views = _views(asset, 30 * np.round(azimuth / 30), nearest, pixels)
        pairs = zip(views.rgb[..., list(order)], views.masks, strict=True)
        degraded = [degrade_picture(rgb, mask, rng) for rgb, mask in pairs]
        usable = [k for k, (_, mask) in enumerate(degraded) if mask.sum() > MIN_PIXELS]
        if usable:
            pictures = np.stack([degraded[k][0] for k in usable]), np.stack([degraded[k][1] for k in usable])
            clean = library_views.rgb[usable][..., list(order)], library_views.masks[usable]
            yield f"{asset.id} {order}", pictures, clean


def _views(asset: Asset, azimuth: np.ndarray, elevation: np.ndarray, pixels: int) -> RenderedViews:
    turns = [camera_rotations(np.array([a]), np.array([e])) for a, e in zip(azimuth, elevation, strict=True)]
    return render_views(asset, np.concatenate(turns), pixels)


def degrade_picture(rgb: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a picture (P, P, 3) and its mask as from a camera and a segmenter, cropped to the mask."""
    side = len(mask)
    transform = cv2.getRotationMatrix2D((side / 2, side / 2), rng.normal(0, 4), 1.0)
    transform[:, :2] = transform[:, :2] @ np.diag(np.exp(rng.normal(0, 0.05, 2)))
    transform[:, 2] = side / 2 - transform[:, :2] @ [side / 2, side / 2]
    warped_mask = cv2.warpAffine(mask.astype(np.float32), transform, (side, side)) > 0.5
    picture = cv2.warpAffine(rgb.astype(np.float32) / 255, transform, (side, side))
    picture = _vary_light(np.where(warped_mask[..., None], picture, rng.uniform(0.2, 0.9, 3)), rng)
    warped_mask = _vary_outline(warped_mask, rng)
    box = bounding_box(warped_mask)
    if not box.width:
        return rgb, warped_mask
    extent = 1.04 * max(box.width, box.height)
    factor, centre = side / extent, np.array([box.left + box.right - 1, box.top + box.bottom - 1]) / 2
    crop = np.c_[factor * np.eye(2), side / 2 - factor * centre]
    picture = cv2.resize(_camera_noise(picture, rng.uniform(35, 128) / extent, rng), (side, side))
    cropped_mask = cv2.warpAffine(warped_mask.astype(np.float32), crop, (side, side)) > 0.5
    return cv2.warpAffine(picture, crop, (side, side)), cropped_mask


def _vary_light(picture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a picture in [0, 1] with random contrast, saturation, shading, exposure and white balance."""
    picture = np.clip(picture, 1e-4, 1) ** np.exp(rng.normal(0, 0.2))
    grey = picture.mean(axis=-1, keepdims=True)
    picture = grey + np.exp(rng.normal(0, 0.15)) * (picture - grey)
    across = np.linspace(-1, 1, len(picture))
    shade = np.exp(0.15 * (rng.normal() * across + rng.normal() * across[:, None]))
    gain = np.exp(rng.normal(0, 0.35)) * np.exp(rng.normal(0, 0.1, 3))
    return np.clip(picture * shade[..., None] * gain, 0, 1) + rng.uniform(0, 0.06)


def _vary_outline(mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the mask with its boundary off by a few pixels, and occluded now and then."""
    wobble = cv2.resize(rng.normal(0, 1, (8, 8)), mask.shape[::-1], interpolation=cv2.INTER_CUBIC)
    inside, outside = (cv2.distanceTransform(m.astype(np.uint8), cv2.DIST_L2, 3) for m in (mask, ~mask))
    mask = inside - outside + 2 * wobble + rng.normal(0, 1.2) > 0.5
    if rng.uniform() < 0.3 and mask.any():
        towards, across = rng.normal(0, 1, 2), np.linspace(-1, 1, len(mask))
        place = towards[0] * across + towards[1] * across[:, None]
        mask = mask & (place < np.quantile(place[mask], rng.uniform(0.6, 0.95)))
    return mask


def _camera_noise(picture: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return a picture at the given resolution, blurred, noisy, JPEG-compressed, uint8."""
    small = cv2.resize(
        picture.astype(np.float32), None, fx=min(share, 1), fy=min(share, 1), interpolation=cv2.INTER_AREA
    )
    small = cv2.GaussianBlur(small, (0, 0), rng.uniform(0.3, 1.2)) + rng.normal(
        0, rng.uniform(0.005, 0.025), small.shape
    )
    quality = [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(60, 96))]
    _, packed = cv2.imencode(".jpg", np.clip(255 * small, 0, 255).astype(np.uint8), quality)
    return np.asarray(cv2.imdecode(packed, cv2.IMREAD_COLOR))


if __name__ == "__main__":
    sys.exit(main())
