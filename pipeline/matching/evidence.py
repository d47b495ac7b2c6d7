"""What speaks for each view of each asset: size, outline, relief, colours, and what a network makes of the picture."""

from dataclasses import dataclass

import numpy as np

from pipeline.assets import AssetError
from pipeline.assets.encoder import Encoder
from pipeline.assets.features import Features, Look, colourless
from pipeline.matching.sight import Sight

SMALLEST_SCALE, LARGEST_SCALE = 0.8, 1.25
"""How far an asset may be scaled: more than that, and it is another thing."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What speaks for each view of each asset, each of shape (V,), in [0, 1]."""

    size: np.ndarray
    outline: np.ndarray
    relief: np.ndarray
    colour: np.ndarray
    appearance: np.ndarray
    scale: np.ndarray
    """The factor that brings the view to the seen size."""


def compare(seen: Look, views: Look) -> Evidence:
    """A segment against every view."""
    scale = np.sqrt(np.prod(seen.extents[0]) / np.prod(views.extents, axis=1))
    flat = views.mask.reshape(len(views.mask), -1).astype(np.float32)
    one = seen.mask[0].ravel().astype(np.float32)
    both = flat @ one
    outline = both / np.maximum(flat.sum(axis=1) + one.sum() - both, 1)
    colour = views.histogram.astype(np.float32) @ seen.histogram[0].astype(np.float32)
    return Evidence(
        np.exp(-0.5 * (np.log(scale) / 0.2) ** 2), outline, relief_agrees(seen, views, scale), colour,
        same_places(seen, views), scale
    )  # fmt: skip


def relief_agrees(seen: Look, views: Look, scale: np.ndarray) -> np.ndarray:
    """How well the depths agree, once both are moved to the same distance; depth bleeds, so far is as far as near."""
    factor = np.clip(scale, SMALLEST_SCALE, LARGEST_SCALE)[:, None, None]
    difference = (seen.relief[0].astype(np.float32) - views.relief * factor).reshape(len(views.relief), -1)
    known = np.isfinite(difference)
    count = np.maximum(known.sum(axis=1), 1)
    filled = np.where(known, difference, 0)
    middle = np.sort(np.where(known, difference, np.inf), axis=1)[np.arange(len(count)), count // 2]
    middle = np.where(np.isfinite(middle), middle, 0)
    reach = 0.15 * np.sqrt(np.prod(seen.extents[0]))
    off = np.where(known, np.minimum(np.abs(filled - middle[:, None]), 2 * reach), 0).sum(axis=1) / count
    return np.where(count > 5, np.exp(-off / reach), 0.5)


def same_places(seen: Look, views: Look) -> np.ndarray:
    """How well colours agree place by place, the light's strength left out in part."""
    difference = views.thumb.astype(np.float32) - seen.thumb[0].astype(np.float32)
    shared = np.isfinite(difference[..., 0])
    difference = np.where(shared[..., None], difference, 0)
    count = np.maximum(shared.sum(axis=(1, 2)), 1)
    light = difference[..., 0].sum(axis=(1, 2)) / count
    difference[..., 0] = 0.5 * np.where(shared, difference[..., 0] - 0.7 * light[:, None, None], 0)
    distance = np.linalg.norm(difference, axis=-1).sum(axis=(1, 2)) / count
    return np.exp(-distance / 25)


def picture_agrees(
    seen: Sight, features: Features, views: np.ndarray, open_: np.ndarray, encoder: Encoder
) -> np.ndarray:
    """How alike the encoder finds a segment and some of the views, each of shape (V,), in [-1, 1].

    Hollow things, where `open_` (V,), bool, may also agree without their colour. Raises AssetError where the features
    were made by another encoder.
    """
    if features.encoder != encoder.name:
        raise AssetError(f"the library's features were made by {features.encoder or 'no encoder'}; compute them again")
    pictures = np.stack([seen.picture, colourless(seen.picture)])
    colour, grey = encoder.encode(pictures, np.stack([seen.mask, seen.mask]))
    middle = 0.0 if encoder.centred else features.vectors.astype(np.float32).mean(axis=0)
    rows = features.shown[views]
    alike = _cosine(features.vectors[rows] - middle, colour - middle)
    plain = _cosine(features.grey[rows[open_]] - middle, grey - middle)
    alike[open_] = np.maximum(alike[open_], plain)
    return alike


def _cosine(rows: np.ndarray, one: np.ndarray) -> np.ndarray:
    rows = rows.astype(np.float32)
    return rows @ one / np.maximum(np.linalg.norm(rows, axis=1) * np.linalg.norm(one), 1e-9)
