"""What speaks for each view of each asset: size, outline, relief, colours, and what a network makes of the picture."""

from dataclasses import dataclass

import numpy as np

from pipeline.assets import AssetError
from pipeline.assets.encoder import Encoder
from pipeline.assets.features import Features, Look, colourless, unit
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
    """How well colours agree place by place, the light's strength left out in part."""
    difference = views.thumb.astype(np.float32) - seen.thumb[0].astype(np.float32)
    shared = np.isfinite(difference[..., 0])
    difference = np.where(shared[..., None], difference, 0)
    count = np.maximum(shared.sum(axis=(1, 2)), 1)
    light = difference[..., 0].sum(axis=(1, 2)) / count
    difference[..., 0] = 0.5 * np.where(shared, difference[..., 0] - 0.7 * light[:, None, None], 0)
    distance = np.linalg.norm(difference, axis=-1).sum(axis=(1, 2)) / count
    return np.exp(-distance / 25)


def picture_agrees(seen: Sight, features: Features, open_: np.ndarray, encoder: Encoder) -> np.ndarray:
    """How alike the encoder finds a segment and all views, of shape (V,), in [-1, 1].

    Views of hollow things, where `open_` (V,), bool, may also agree without their colour. Raises AssetError where the
    features were made by another encoder.
    """
    if features.encoder != encoder.name:
        raise AssetError(f"the library's features were made by {features.encoder or 'no encoder'}; compute them again")
    pictures = np.stack([seen.picture, colourless(seen.picture)])
    colour, grey = encoder.encode(pictures, np.stack([seen.mask, seen.mask]))
    alike, plain = _cosines(features, colour, grey, encoder.centred)
    alike = alike[features.shown]
    return np.where(open_, np.maximum(alike, plain[features.shown]), alike)


def _cosines(features: Features, colour: np.ndarray, grey: np.ndarray, centred: bool) -> tuple[np.ndarray, np.ndarray]:
    """Of what the encoder was shown of the library, with colour and without, each of shape (E,)."""
    if centred:
        in_colour, in_grey = features.directions
        return in_colour @ unit(colour), in_grey @ unit(grey)
    middle = features.vectors.astype(np.float32).mean(axis=0)
    in_colour, in_grey = unit(features.vectors - middle), unit(features.grey - middle)
    return in_colour @ unit(colour - middle), in_grey @ unit(grey - middle)
