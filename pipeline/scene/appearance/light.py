"""Estimate the direction of the main light from the shading and the cast shadows in the photograph.

Candidate directions cover the upper hemisphere. For each, the twin's geometry predicts the direct light at every
sampled pixel: on objects the cosine of Lambert's law, on the table 1, and zero in cast shadows. The table and each
object of one colour give a least squares fit of the observed brightness to that prediction, with their own albedo and
ambient light. The direction with the largest likelihood over all of them wins. Its uncertainty is that of a block
bootstrap over tiles of the image, because neighbouring pixels are not independent.
"""

from collections.abc import Iterable
from typing import NamedTuple

import cv2
import mujoco
import numpy as np

from pipeline.frame import Frame
from pipeline.frame.once_per_frame import once_per_frame
from pipeline.geometry.rays import cast_at_geoms
from pipeline.scene.mjcf import builder
from pipeline.scene.placement import Light, Scene
from pipeline.segmentation import Segment

TILES = (9, 12)
"""Rows and columns of the tiles of the bootstrap."""
DRAWS = 40
"""Samples of the bootstrap."""
MAX_SPREAD_RAD = np.deg2rad(20.0)
"""Largest spread of an estimate that is used."""
FAR_COSINE = np.cos(np.deg2rad(30.0))
"""Cosine of the angle beyond which a direction is far from the best."""
PLAIN_CHROMA = 8.0
"""Median deviation of an object's chroma in CIELAB up to which it has one colour."""
MIN_REGION = 20
"""Least number of samples of an object that is used."""


class Samples(NamedTuple):
    """Sampled pixels of the table and of objects of one colour."""

    points: np.ndarray
    """World positions in metres, of shape (N, 3)."""
    normals: np.ndarray
    """Unit normals in world axes, of shape (N, 3)."""
    brightness: np.ndarray
    """Observed brightness, standardised in each region, of shape (N,)."""
    region: np.ndarray
    """Index of the region, 0 for the table, of shape (N,)."""
    tile: np.ndarray
    """Index of the image tile, of shape (N,)."""


def estimate_light(
    frame: Frame, segments: Iterable[Segment], scene: Scene, model: mujoco.MjModel | None = None
) -> Light | None:
    """Return the direction of the main light in the photograph, None if the photograph does not tell it.

    The scene has its camera's intrinsics and its objects where they were observed. `model` is the scene compiled, if it
    is at hand.
    """
    if scene.intrinsics is None or not scene.placements:
        return None
    model = model or builder.compile_spec(builder.build_spec(scene))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    samples = _samples(frame, {s.id: s for s in segments}, scene, model, data)
    if len(samples.points) < MIN_REGION:
        return None
    directions = candidate_directions()
    centre = np.append(builder.table_slab(scene).centre, 0.0)
    predicted = np.stack([_direct_light(model, data, samples, centre, one) for one in directions])
    return best_direction(directions, predicted, samples)


def candidate_directions() -> np.ndarray:
    """Return unit vectors towards candidate lights, of shape (D, 3)."""
    rows = []
    # Elevations of the candidate directions above the table
    for elevation in np.deg2rad((28, 40, 52, 64, 76, 86)):
        # 15.0: step of their azimuth at the horizon; it grows towards the zenith, so that candidates are about as far
        # apart
        count = max(3, round(360 / 15.0 * np.cos(elevation)))
        azimuth = np.arange(count) * 2 * np.pi / count
        flat = np.cos(elevation) * np.stack([np.cos(azimuth), np.sin(azimuth)], -1)
        rows.append(np.column_stack([flat, np.full(count, np.sin(elevation))]))
    return np.vstack(rows)


def best_direction(directions: np.ndarray, predicted: np.ndarray, samples: Samples) -> Light | None:
    """Return the direction (of D) whose predicted light (D, N) explains the brightness best; None if that is unsure."""
    sums = _sums(predicted, samples)
    gain, explained = _log_likelihood(sums.sum(axis=0))
    best = int(gain.argmax())
    random = np.random.default_rng(0)
    weights = random.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), DRAWS).astype(float)
    resampled = (weights @ sums.reshape(len(sums), -1)).reshape(DRAWS, *sums.shape[1:])
    drawn = [int(_log_likelihood(one)[0].argmax()) for one in resampled]
    angles = np.arccos(np.clip(directions[drawn] @ directions[best], -1, 1))
    spread = float(np.quantile(angles, 0.8))
    far = gain[directions @ directions[best] < FAR_COSINE].max()
    # 0.02: least share of the variance that the light must explain
    # 0.4: least share of the gain in likelihood that is lost by every direction far from the best
    if spread > MAX_SPREAD_RAD or explained[best] < 0.02 or far > (1 - 0.4) * gain[best]:
        return None
    mean = directions[[best, *drawn]].mean(axis=0)
    return Light(mean / np.linalg.norm(mean), spread)


def _sums(predicted: np.ndarray, samples: Samples) -> np.ndarray:
    """Return the sums of 1, x, y, xx, xy, yy for each tile, region and direction, of shape (T, R, D, 6)."""
    tiles, regions = int(samples.tile.max()) + 1, int(samples.region.max()) + 1
    cell = samples.tile * regions + samples.region
    y = samples.brightness
    columns = np.empty((tiles * regions, len(predicted), 6))
    for at, x in enumerate(predicted):
        for term, values in enumerate((None, x, y, x * x, x * y, y * y)):
            columns[:, at, term] = np.bincount(cell, values, tiles * regions)
    return columns.reshape(tiles, regions, len(predicted), 6)


def _log_likelihood(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the gain in log likelihood over constant light and the explained share of the variance, of shape (D,).

    `sums` is of shape (R, D, 6). A region that would be darker in the light has no gain.
    """
    n, x, y, xx, xy, yy = np.moveaxis(sums, -1, 0)
    n = np.maximum(n, 1.0)
    variance_x, variance_y, covariance = xx - x * x / n, yy - y * y / n, xy - x * y / n
    share = np.maximum(covariance, 0) ** 2 / np.maximum(variance_x * variance_y, 1e-9)
    share = np.clip(np.where(variance_x > 1e-6 * n, share, 0), 0, 0.999)
    gain = (-0.5 * n * np.log1p(-share)).sum(axis=0)
    return gain, (share * variance_y).sum(axis=0) / np.maximum(variance_y.sum(axis=0), 1e-9)


def _direct_light(
    model: mujoco.MjModel, data: mujoco.MjData, samples: Samples, centre: np.ndarray, direction: np.ndarray
) -> np.ndarray:
    """Return the direct light at the samples from a lamp in this direction, of shape (N,), in [0, 1]."""
    lamp = centre + builder.LIGHT_DISTANCE_M * direction
    rays = samples.points - lamp
    length = np.linalg.norm(rays, axis=1)
    rays /= length[:, None]
    cosine = np.maximum(-np.einsum("nk,nk->n", rays, samples.normals), 0)
    facing = np.flatnonzero(cosine > 0)
    _, distance = cast_at_geoms(model, data, lamp, rays[facing], (0, builder.VISUAL_GROUP))
    lit = np.zeros(len(rays))
    # Distance in metres by which a surface must lie behind another to be in its shadow
    lit[facing] = (distance < 0) | (distance > length[facing] - 0.004)
    # the table's slow changes of brightness are evened out, and with them its cosine
    return np.where(samples.region == 0, lit, lit * cosine)


def _samples(
    frame: Frame, segments: dict[int, Segment], scene: Scene, model: mujoco.MjModel, data: mujoco.MjData
) -> Samples:
    k, pose = frame.intrinsics, np.asarray(scene.world_from_camera, float)
    # Pixels that are compared
    step = max(1, int(np.ceil(np.sqrt(k.width * k.height / 2000))))
    rows, columns = (g.ravel() for g in np.mgrid[step // 2 : k.height : step, step // 2 : k.width : step])
    rays = k.ray_directions(columns, rows) @ pose[:3, :3].T
    normals = np.zeros((len(rays), 3))
    geoms, along = cast_at_geoms(model, data, pose[:3, 3], rays, (0, builder.VISUAL_GROUP), normals=normals)
    points = pose[:3, 3] + rays * along[:, None]
    region, brightness = _regions(frame, segments, scene, model, (rows, columns, geoms, points))
    kept = region >= 0
    across, down = columns * TILES[1] // k.width, rows * TILES[0] // k.height
    tile = down * TILES[1] + across
    return Samples(points[kept], normals[kept], brightness[kept], region[kept], tile[kept])


def _regions(
    frame: Frame, segments: dict[int, Segment], scene: Scene, model: mujoco.MjModel, sampled: tuple[np.ndarray, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the region of each sample (-1: not used) and its standardised brightness, both of shape (N,)."""
    rows, columns, geoms, points = sampled
    smooth, lab = _smooth_luminance(frame), _lab(frame)
    objects = np.zeros(smooth.shape, bool)
    for segment in segments.values():
        objects |= segment.mask
    near = cv2.dilate(objects.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    on_table = (geoms == model.geom("table").id) & ~near[rows, columns] & _within(scene.table, points[:, :2])
    region, brightness = np.full(len(rows), -1), np.zeros(len(rows))
    region[on_table] = 0
    brightness[on_table] = _standardised(_table_residual(smooth, ~near, rows, columns)[on_table])
    roots = np.where(geoms >= 0, model.body_rootid[model.geom_bodyid[geoms]], -1)
    for number, p in enumerate(scene.placements, 1):
        if p.segment_id not in segments:
            continue
        inner = cv2.erode(segments[p.segment_id].mask.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
        inside = (roots == model.body(p.name).id) & inner[rows, columns]
        chroma = lab[rows[inside], columns[inside], 1:]
        if len(chroma) < MIN_REGION:
            continue
        deviation = np.linalg.norm(chroma - np.median(chroma, axis=0), axis=-1)
        if np.median(deviation) > PLAIN_CHROMA:
            continue
        chosen = np.flatnonzero(inside)[deviation < 3 * PLAIN_CHROMA]
        region[chosen] = number
        brightness[chosen] = _standardised(smooth[rows[chosen], columns[chosen]])
    return region, brightness


@once_per_frame
def _smooth_luminance(frame: Frame) -> np.ndarray:
    """Return the smoothed luminance (H, W), float32, proportional to the light that the camera saw."""
    value = np.arange(256, dtype=np.float32) / 255
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    luminance = linear[frame.rgb] @ np.array([0.2126, 0.7152, 0.0722], np.float32)
    return cv2.GaussianBlur(luminance, (0, 0), 1.5)


@once_per_frame
def _lab(frame: Frame) -> np.ndarray:
    """Return the colours in CIELAB, of shape (H, W, 3), float32."""
    return cv2.cvtColor(frame.rgb.astype(np.float32) / 255, cv2.COLOR_RGB2LAB)


def _table_residual(luminance: np.ndarray, table: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the logarithm of the luminance relative to its surroundings on the table, at the samples (N,)."""
    # Standard deviation of the table's falloff of light that is evened out, relative to the image's width
    weight, sigma = table.astype(np.float32), 0.12 * luminance.shape[1]
    value = np.log(np.maximum(luminance, 1e-3))
    factor = 8
    small = [
        cv2.resize(a, None, fx=1 / factor, fy=1 / factor, interpolation=cv2.INTER_AREA)
        for a in (value * weight, weight)
    ]
    blurred = [cv2.GaussianBlur(a, (0, 0), sigma / factor) for a in small]
    mean = cv2.resize(blurred[0] / np.maximum(blurred[1], 1e-4), luminance.shape[::-1])
    return (value - mean)[rows, columns]


def _standardised(values: np.ndarray) -> np.ndarray:
    """Return values with outliers clipped, of mean 0 and standard deviation 1."""
    if not len(values):
        return values
    middle = np.median(values)
    scale = max(1.4826 * float(np.median(np.abs(values - middle))), 1e-4)
    clipped = np.clip((values - middle) / scale, -6, 6)
    return (clipped - clipped.mean()) / max(float(clipped.std()), 1e-6)


def _within(polygon: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return which points (N, 2) lie in a convex anticlockwise polygon (M, 2), of shape (N,), bool."""
    ends = np.roll(polygon, -1, 0) - polygon
    offsets = points[:, None] - polygon
    return np.asarray(np.all(ends[:, 0] * offsets[..., 1] - ends[:, 1] * offsets[..., 0] > 0, axis=1))
