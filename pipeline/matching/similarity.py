"""Similarity of a query to rendered views of assets: size, outline, relief, colours, and the encoder's cosine."""

from dataclasses import dataclass

import numpy as np

from pipeline.assets import AssetError
from pipeline.assets.appearance.encoder import Encoder, unit_vectors
from pipeline.assets.appearance.features import LibraryFeatures, ViewDescriptors, to_grey
from pipeline.matching.query import QueryView

MIN_SCALE, MAX_SCALE = 0.8, 1.25
"""Limits of the uniform factor that an asset may be scaled by; beyond them it is another object."""
SIZE_TOLERANCE = 0.2
"""Difference of the logarithm of sizes that counts as one: depth bleeds over edges and toys are scaled."""


@dataclass(frozen=True, eq=False)
class Similarity:
    """Similarity of a query to V views, each term of shape (V,), in [0, 1]."""

    size: np.ndarray
    outline: np.ndarray
    relief: np.ndarray
    colour: np.ndarray
    """Overlap of the colour histograms."""
    appearance: np.ndarray
    """Agreement of the colours cell by cell."""
    scale: np.ndarray
    """Uniform factor that brings each view to the measured size, of shape (V,). Not limited."""


def size_ratio(query: ViewDescriptors, extents: np.ndarray) -> np.ndarray:
    """Return the factor that brings views of these extents (V, 2) to the measured size, of shape (V,)."""
    return np.sqrt(np.prod(query.extents[0]) / np.prod(extents, axis=1))


def compare(query: ViewDescriptors, views: ViewDescriptors) -> Similarity:
    """Compare a query, the descriptors of one view, with every view."""
    scale = size_ratio(query, views.extents)
    one, flat = np.packbits(query.mask[0].ravel()), np.packbits(views.mask.reshape(len(views.mask), -1), axis=1)
    both = np.bitwise_count(flat & one).sum(axis=1, dtype=np.int64)
    outline = both / np.maximum(np.bitwise_count(flat | one).sum(axis=1, dtype=np.int64), 1)
    colour = views.histogram.astype(np.float32) @ query.histogram[0].astype(np.float32)
    return Similarity(
        np.exp(-0.5 * (np.log(scale) / SIZE_TOLERANCE) ** 2), outline, relief_similarity(query, views, scale), colour,
        spatial_colour_similarity(query, views), scale
    )  # fmt: skip


def relief_similarity(query: ViewDescriptors, views: ViewDescriptors, scale: np.ndarray) -> np.ndarray:
    """Return the agreement of the depths once both are moved to the same distance, of shape (V,), in [0, 1].

    Differences are clipped, because depth bleeds over edges: a very wrong cell counts no more than a wrong one. Views
    that share five cells or fewer with the query get 0.5.
    """
    factor = np.clip(scale, MIN_SCALE, MAX_SCALE)[:, None, None]
    difference = (query.relief[0].astype(np.float32) - views.relief * factor).reshape(len(views.relief), -1)
    known = np.isfinite(difference)
    count = np.maximum(known.sum(axis=1), 1)
    filled = np.where(known, difference, 0)
    median = np.sort(np.where(known, difference, np.inf), axis=1)[np.arange(len(count)), count // 2]
    median = np.where(np.isfinite(median), median, 0)
    tolerance = 0.15 * np.sqrt(np.prod(query.extents[0]))
    error = np.where(known, np.minimum(np.abs(filled - median[:, None]), 2 * tolerance), 0).sum(axis=1) / count
    return np.where(count > 5, np.exp(-error / tolerance), 0.5)


def spatial_colour_similarity(query: ViewDescriptors, views: ViewDescriptors) -> np.ndarray:
    """Return the agreement of the colours cell by cell, of shape (V,), in [0, 1].

    The mean difference is removed first, because it comes from the light.
    """
    difference = views.thumb.astype(np.float32) - query.thumb[0].astype(np.float32)
    shared = np.isfinite(difference[..., :1])
    difference = np.where(shared, difference, 0)
    count = np.maximum(shared.sum(axis=(1, 2)), 1)
    light = difference.sum(axis=(1, 2)) / count
    residual = np.where(shared, difference - light[:, None, None], 0) * [0.5, 1, 1]
    distance = np.linalg.norm(residual, axis=-1).sum(axis=(1, 2)) / count[:, 0]
    return np.exp(-distance / 25)


def embed(rgb: np.ndarray, masks: np.ndarray, features: LibraryFeatures, encoder: Encoder) -> np.ndarray:
    """Return unit vectors (V, D) of pictures (V, P, P, 3) under masks (V, P, P), comparable with the library's.

    Raises AssetError if another encoder made the features.
    """
    if features.encoder != encoder.name:
        raise AssetError(f"the library's features were made by {features.encoder or 'no encoder'}; compute them again")
    vectors = encoder.encode(rgb, masks)
    return unit_vectors(vectors if encoder.centred else vectors - features.mean_vector)


def embed_query(view: QueryView, features: LibraryFeatures, encoder: Encoder) -> np.ndarray:
    """Return the unit vectors of a query's crop in colour and in grey, of shape (2, D). Raises AssetError."""
    crops = np.stack([view.crop, to_grey(view.crop)])
    return embed(crops, np.stack([view.mask, view.mask]), features, encoder)


def embedding_similarity(
    embedding: np.ndarray, features: LibraryFeatures, hollow: np.ndarray, encoder: Encoder
) -> np.ndarray:
    """Return the cosine of a query's embedding with those of all views, of shape (V,), in [-1, 1].

    `embedding` is of shape (2, D), as `embed_query` returns it. Views of hollow assets, marked in `hollow` (V,), bool,
    may agree in grey instead, because such assets often differ from the object in colour only.
    """
    in_colour, in_grey = features.directions
    if not encoder.centred:
        in_colour = unit_vectors(features.vectors - features.mean_vector)
        in_grey = unit_vectors(features.grey_vectors - features.mean_vector)
    colour_cosine, grey_cosine = in_colour @ embedding[0], in_grey @ embedding[1]
    nearest = features.nearest_encoded
    return np.where(hollow, np.maximum(colour_cosine, grey_cosine)[nearest], colour_cosine[nearest])
