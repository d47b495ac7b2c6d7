"""Simulates the depth that structured light, stereo and time-of-flight cameras report of a rendered scene.

Each model keeps what masks depend on: noise against distance, ragged or thickened edges, occlusion shadows, flying
pixels, holes in dark, glossy and clear surfaces, and depth that is shifted against the colours.
"""

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np


@dataclass(frozen=True, eq=False)
class TrueSurface:
    """What a depth camera looks at."""

    depth: np.ndarray
    """True depth in metres, of shape (H, W), float32; 0 where nothing is."""
    rgb: np.ndarray
    """Of shape (H, W, 3), uint8."""
    shiny: np.ndarray
    """Pixels of glossy surfaces, of shape (H, W), bool."""
    clear: np.ndarray
    """Pixels of clear objects, of shape (H, W), bool."""
    depth_behind: np.ndarray
    """As `depth`, without clear objects."""
    focal: float
    """In pixels."""


def smooth_noise(shape: tuple[int, int], sigma: float, random: np.random.Generator) -> np.ndarray:
    """Return noise (H, W) with a standard deviation of 1 that is alike within `sigma` pixels, float32."""
    scale = max(1.0, sigma / 2)
    small = random.normal(0, 1, (int(shape[0] / scale) + 3, int(shape[1] / scale) + 3)).astype(np.float32)
    blurred = cv2.GaussianBlur(small, (0, 0), sigma / scale)
    blurred = cv2.resize(blurred, shape[::-1], interpolation=cv2.INTER_LINEAR)
    return blurred / (blurred.std() + 1e-9)


def structured_light(view: TrueSurface, random: np.random.Generator) -> np.ndarray:
    """Return depth (H, W) as the first Kinect and its kin report it: coarse disparity steps, shadows, clean edges."""
    depth = _clear_surfaces(view, random)
    missing = _occluded(depth, view.focal * 0.075, int(random.choice([-1, 1])))
    disparity = view.focal * 0.075 / np.maximum(depth, 0.1)
    disparity += random.normal(0, 1, depth.shape) * random.uniform(0.03, 0.12)
    disparity += smooth_noise(depth.shape, random.uniform(20, 60), random) * random.uniform(0.0, 0.12)
    measured = view.focal * 0.075 / np.maximum(np.round(disparity * 8) / 8, 0.05)
    missing |= _dim_or_glossy(view, random, random.uniform(4, 22)) | (depth < random.uniform(0.3, 0.5))
    missing |= depth > random.uniform(1.5, 6)
    return np.where(missing, 0, measured)


def stereo(view: TrueSurface, random: np.random.Generator) -> np.ndarray:
    """Return depth (H, W) as an active stereo camera reports it: thick, wavy edges and noise alike among neighbours."""
    depth = _clear_surfaces(view, random)
    baseline = random.uniform(0.02, 0.055)
    disparity = view.focal * baseline / np.maximum(depth, 0.1)
    window = int(random.choice([3, 5, 7, 9]))
    disparity = cv2.medianBlur(disparity.astype(np.float32), 5)
    drift = [smooth_noise(depth.shape, random.uniform(2, 5), random) * window / 4 for _ in range(2)]
    rows, cols = np.indices(depth.shape, dtype=np.float32)
    warped = cv2.remap(disparity, cols + drift[0], rows + drift[1], cv2.INTER_NEAREST, borderMode=cv2.BORDER_REPLICATE)
    thick = cv2.dilate(warped, np.ones((window, window), np.uint8)) if random.random() < 0.5 else warped
    thick = cv2.GaussianBlur(thick, (0, 0), random.uniform(0.4, 2.0))
    noise = smooth_noise(depth.shape, random.uniform(1.2, 4.5), random) * random.uniform(0.02, 0.3)
    noise += smooth_noise(depth.shape, random.uniform(15, 60), random) * random.uniform(0, 0.2)
    measured = view.focal * baseline / np.maximum(thick + noise, 0.05)
    missing = _occluded(depth, view.focal * baseline, 1) | _dim_or_glossy(view, random, random.uniform(2, 16))
    jump = cv2.dilate(depth, np.ones((3, 3), np.uint8)) - cv2.erode(depth, np.ones((3, 3), np.uint8)) > 0.02
    missing |= jump & (random.random(depth.shape) < random.uniform(0, 0.6))
    if random.random() < 0.35:  # plain surfaces give no disparity
        flat = cv2.blur(cv2.Laplacian(cv2.cvtColor(view.rgb, cv2.COLOR_RGB2GRAY), cv2.CV_32F) ** 2, (15, 15)) < 4
        missing |= flat & (smooth_noise(depth.shape, random.uniform(4, 14), random) > random.uniform(0.6, 2))
    return np.where(missing | (depth < 0.15) | (depth > 6), 0, measured)


def time_of_flight(view: TrueSurface, random: np.random.Generator) -> np.ndarray:
    """Return depth (H, W) as a time-of-flight camera reports it: flying pixels, rounded corners, noise in the dark."""
    depth = _clear_surfaces(view, random)
    mixed = cv2.GaussianBlur(depth, (0, 0), random.uniform(0.5, 1.6))
    corner = cv2.GaussianBlur(depth, (0, 0), random.uniform(6, 25))
    near = np.abs(corner - depth) < 0.05
    measured = np.where(near, mixed + (corner - depth) * random.uniform(0, 0.4), mixed)
    brightness = view.rgb.max(2).astype(np.float32) / 255
    sigma = random.uniform(0.0006, 0.003) / np.sqrt(np.maximum(brightness, 0.05)) * np.maximum(depth, 0.5)
    grain = smooth_noise(depth.shape, random.uniform(0.6, 1.5), random)
    wave = smooth_noise(depth.shape, random.uniform(15, 80), random) * random.uniform(0, 0.002)
    measured = measured + grain * sigma + wave
    missing = _dim_or_glossy(view, random, random.uniform(2, 25)) | (depth > random.uniform(2.5, 6))
    if random.random() < 0.3:
        rows, cols = np.indices(depth.shape)
        radius = np.hypot(rows - depth.shape[0] / 2, cols - depth.shape[1] / 2)
        missing |= radius > random.uniform(0.5, 0.6) * depth.shape[1]
    return np.where(missing, 0, measured)


def ideal(view: TrueSurface, random: np.random.Generator) -> np.ndarray:
    """Return depth (H, W) of a good laser scanner: little noise, no holes but in clear objects."""
    depth = _clear_surfaces(view, random)
    return np.where(depth > 0.05, depth + random.normal(0, 0.0005, depth.shape), 0)


DepthSensor = Callable[[TrueSurface, np.random.Generator], np.ndarray]
"""Returns depth (H, W) in metres, 0 where unknown."""
SENSORS: tuple[DepthSensor, ...] = (
    structured_light,
    stereo,
    time_of_flight,
    ideal,
)
SENSOR_PROBABILITIES = (0.27, 0.43, 0.22, 0.08)


def measure_depth(view: TrueSurface, random: np.random.Generator, sensor: DepthSensor | None = None) -> np.ndarray:
    """Return depth (H, W), float32, as a camera reports it, 0 where unknown; it may be shifted or incomplete.

    `sensor` is the camera, a random one if None.
    """
    drawn = SENSORS[int(random.choice(len(SENSORS), p=SENSOR_PROBABILITIES))]
    measured = (sensor or drawn)(view, random).astype(np.float32)
    measured[view.depth <= 0] = 0
    h, w = measured.shape
    if random.random() < 0.35:
        scale, (dx, dy) = random.normal(1, 0.004), random.normal(0, 1.8, 2)
        warp = np.array([[scale, 0, dx + (1 - scale) * w / 2], [0, scale, dy + (1 - scale) * h / 2]])
        measured = cv2.warpAffine(measured, warp, (w, h), flags=cv2.INTER_NEAREST, borderValue=0)
    if random.random() < 0.25:
        measured[smooth_noise((h, w), random.uniform(4, 25), random) > random.uniform(1.8, 3)] = 0
    if random.random() < 0.25:
        left, top = (random.uniform(0, 0.1, 2) * [w, h]).astype(int)
        measured[:top], measured[:, :left] = 0, 0
    if random.random() < 0.12:
        measured[random.random((h, w)) < random.uniform(0.01, 0.25)] = 0
    return np.clip(measured, 0, 12)


def _clear_surfaces(view: TrueSurface, random: np.random.Generator) -> np.ndarray:
    """Return depth (H, W) in which clear objects are missing, let depth through, or are measured in patches."""
    depth = view.depth.copy()
    if not view.clear.any():
        return depth
    patches = smooth_noise(depth.shape, random.uniform(3, 20), random)
    through, seen = random.choice([-2.5, -0.5, 0.5, 2.5]), random.choice([-2.5, -1.2, 0.3])
    depth = np.where(view.clear & (patches < through), view.depth_behind, depth)
    depth = np.where(view.clear & (patches >= through) & (smooth_noise(depth.shape, 5, random) > seen), 0, depth)
    return depth.astype(np.float32)


def _occluded(depth: np.ndarray, focal_baseline: float, side: int) -> np.ndarray:
    """Return pixels (H, W) that the second camera or the projector on one side does not reach."""
    depth = depth[:, ::side]
    column = np.arange(depth.shape[1]) - focal_baseline / np.where(depth > 0.1, depth, 20)
    hidden = column - np.minimum.accumulate(column[:, ::-1], 1)[:, ::-1] > 1.5
    return hidden[:, ::side]


def _dim_or_glossy(view: TrueSurface, random: np.random.Generator, darkness: float) -> np.ndarray:
    """Return pixels (H, W) that send too little light back: patches of dark, shiny and steep surfaces."""
    value, patches = view.rgb.max(2), smooth_noise(view.depth.shape, random.uniform(2, 10), random)
    safe = np.where(view.depth > 0.1, view.depth, 20)
    slope = np.hypot(cv2.Sobel(safe, cv2.CV_32F, 1, 0), cv2.Sobel(safe, cv2.CV_32F, 0, 1)) / 8 * view.focal / safe
    level = random.uniform(-1.5, 2)
    lost = (value < darkness) & (patches > random.uniform(-2, 1))
    lost |= (value > 252) & (patches > random.uniform(0.5, 3))
    lost |= view.shiny & (patches > level)
    return lost | ((slope > random.uniform(4, 12)) & (patches > 0))
