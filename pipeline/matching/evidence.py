"""What speaks for each view of each asset: size, outline, relief, colours, and what a network makes of the picture."""

from dataclasses import dataclass

import numpy as np

from pipeline.assets import AssetError
from pipeline.assets.encoder import Encoder, unit
from pipeline.assets.features import Features, Look

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


def resized(seen: Look, extents: np.ndarray) -> np.ndarray:
    """The factor that brings views of these extents (V, 2) to the seen size, of shape (V,)."""
    return np.sqrt(np.prod(seen.extents[0]) / np.prod(extents, axis=1))


def compare(seen: Look, views: Look) -> Evidence:
    """A segment against every view."""
    scale = resized(seen, views.extents)
    one, flat = np.packbits(seen.mask[0].ravel()), np.packbits(views.mask.reshape(len(views.mask), -1), axis=1)
    both = np.bitwise_count(flat & one).sum(axis=1, dtype=np.int64)
    outline = both / np.maximum(np.bitwise_count(flat | one).sum(axis=1, dtype=np.int64), 1)
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
    """How well colours agree place by place, but for what all of them are off by: that is the light's."""
    difference = views.thumb.astype(np.float32) - seen.thumb[0].astype(np.float32)
    shared = np.isfinite(difference[..., :1])
    difference = np.where(shared, difference, 0)
    count = np.maximum(shared.sum(axis=(1, 2)), 1)
    light = difference.sum(axis=(1, 2)) / count
    off = np.where(shared, difference - light[:, None, None], 0) * [0.5, 1, 1]
    distance = np.linalg.norm(off, axis=-1).sum(axis=(1, 2)) / count[:, 0]
    return np.exp(-distance / 25)


def pictured(rgb: np.ndarray, masks: np.ndarray, features: Features, encoder: Encoder) -> np.ndarray:
    """Pictures (V, P, P, 3) under masks (V, P, P) as directions (V, D) that compare with those of the library.

    Raises AssetError where the features were made by another encoder.
    """
    if features.encoder != encoder.name:
        raise AssetError(f"the library's features were made by {features.encoder or 'no encoder'}; compute them again")
    vectors = encoder.encode(rgb, masks)
    return unit(vectors if encoder.centred else vectors - features.middle)


def picture_agrees(seen: np.ndarray, features: Features, open_: np.ndarray, encoder: Encoder) -> np.ndarray:
    """How alike the encoder finds a segment and all views, of shape (V,), in [-1, 1].

    `seen` (2, D) is the segment as `pictured` in its colours and without. Views of hollow things, where `open_` (V,),
    bool, may also agree without their colour.
    """
    in_colour, in_grey = features.directions
    if not encoder.centred:
        in_colour, in_grey = unit(features.vectors - features.middle), unit(features.grey - features.middle)
    alike, plain = in_colour @ seen[0], in_grey @ seen[1]
    return np.where(open_, np.maximum(alike, plain)[features.shown], alike[features.shown])
