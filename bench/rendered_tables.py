"""Rendered tables with known assets, perturbed like photographs of a real camera: labels for matching.

No real photograph went into them, so real photographs stay unseen. Only the depth noise was measured on real tables:
smoothed over nine pixels, the error is 0.0030 to 0.0044 of the depth squared, in metres.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from pipeline.assets import Asset, load_mesh
from pipeline.assets.appearance.ray_views import _texels, _texture
from pipeline.frame import Frame, Intrinsics, Support
from pipeline.geometry import Plane, rotation_about_z
from pipeline.geometry.rays import cast_rays, raycasting_scene
from pipeline.segmentation import Segment
from scripts.training.depth_sensors import TrueSurface

SIZE = (480, 640)
LIGHT = np.array([0.3, -0.5, 1.0]) / np.linalg.norm([0.3, -0.5, 1.0])
RESTING_ROTATIONS = (
    np.eye(3),
    np.array([[0.0, 0, -1], [0, 1, 0], [1, 0, 0]]),
    np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]),
)


@dataclass(frozen=True)
class CameraPerturbation:
    """How a photograph differs from its assets. Standard deviations; of the logarithm for factors."""

    light: float = 0.28
    """Of the factor on all colours."""
    tint: float = 0.07
    """Of the factor on each colour channel."""
    depth: float = 0.0022
    """Depth noise as a share of the depth squared, in metres."""
    paint: float = 0.0
    """Of contrast, saturation and colours of an object's texture, relative to its asset."""
    form: float = 0.0
    """Of an object's size along each axis, relative to its asset."""
    gloss: float = 0.0
    """Largest highlight, as a share of white."""
    grain: float = 0.0
    """Amplitude of the table's wood grain, of 255."""
    distance: tuple[float, float] = (0.6, 1.1)
    """Smallest and largest distance of the camera in metres."""
    elevation: tuple[float, float] = (24, 62)
    """Smallest and largest elevation of the camera in degrees."""
    exposure: float = 0.0
    """Mean logarithm of the factor on all colours."""
    warmth: float = 0.0
    """Mean logarithm of the factor on red; blue gets its inverse."""
    hue_share: float = 0.0
    """Share of the objects whose texture has another hue, saturation and lightness than its asset."""
    sensor: Callable[[TrueSurface, np.random.Generator], np.ndarray] | None = None
    """Depth camera; None for noise as measured on real tables (`depth`)."""


MILD = CameraPerturbation()
HARSH = CameraPerturbation(
    light=0.25, tint=0.08, depth=0.0035, paint=0.1, form=0.03, gloss=0.6, grain=14.0, distance=(0.45, 0.9)
)


@dataclass(frozen=True, eq=False)
class RenderedTable:
    """A rendered frame with its segments."""

    frame: Frame
    support: Support
    segments: tuple[Segment, ...]
    ids: tuple[str, ...]
    """Asset id of each segment."""
    repainted: tuple[bool, ...] = ()
    """Whether each segment's object has another hue than its asset."""


def render_table(
    assets: Sequence[Asset],
    rng: np.random.Generator,
    tipped_share: float = 0.15,
    perturbation: CameraPerturbation = MILD,
) -> RenderedTable:
    """Render the assets on one table with random yaw, some tipped over, with light, noise, blur and depth errors."""
    meshes, painted, repainted = [], [], []
    for asset, (x, y) in zip(assets, _positions(assets, rng), strict=True):
        mesh = load_mesh(asset)
        vertices = (
            mesh.vertices
            @ (
                rotation_about_z(rng.uniform(0, 2 * np.pi))
                @ RESTING_ROTATIONS[_resting_index(asset, rng, tipped_share)]
            ).T
        )
        vertices = vertices * rng.uniform(0.96, 1.04) * np.exp(rng.normal(0, 1, 3) * perturbation.form)
        vertices += [x, y, -vertices[:, 2].min()]
        meshes.append((vertices, mesh.faces))
        texture, uv = _texture(mesh, 512)
        repainted.append(bool(perturbation.hue_share and rng.uniform() < perturbation.hue_share))
        texture = _other_hue(texture, rng) if repainted[-1] else texture
        painted.append((uv[mesh.faces], _repainted(texture, perturbation, rng)))
    camera, intrinsics = _camera(rng, perturbation)
    rays = _rays(camera, intrinsics)
    hits = cast_rays(raycasting_scene(meshes), rays[..., :3].reshape(-1, 3), rays[..., 3:].reshape(-1, 3))
    depth, number = hits.distance.reshape(SIZE), hits.mesh.astype(int).reshape(SIZE)
    face, bary, normals = hits.triangle.reshape(SIZE), hits.barycentric.reshape(*SIZE, 2), hits.normal.reshape(*SIZE, 3)
    table = -rays[..., 2] / rays[..., 5]
    rgb = np.full((*SIZE, 3), rng.uniform(60, 220, 3)) + rng.normal(0, 4, (*SIZE, 1))
    rgb += perturbation.grain * _grain(rays, table, rng)[..., None] if perturbation.grain else 0
    light = _light(rng) if perturbation.gloss else LIGHT
    for k, (corners, texture) in enumerate(painted):
        visible = (number == k) & (depth < table)
        shade = 0.55 + 0.45 * np.abs(normals[visible] @ light)
        rgb[visible] = _texels(corners, texture, face[visible], bary[visible]) * shade[:, None]
        shine = rng.uniform(0, perturbation.gloss) if perturbation.gloss else 0.0
        rgb[visible] += 255 * shine * _mirrored(rays[visible, 3:], normals[visible], light)[:, None]
    number = np.where(depth < table, number, -1)
    depth = np.minimum(depth, table)
    exposed = _exposed(rgb, rng, perturbation)
    if perturbation.sensor is None:
        measured = _sensed(depth, rng, perturbation)
    else:
        nothing, true = np.zeros(SIZE, bool), depth.astype(np.float32)
        surface = TrueSurface(true, exposed, nothing, nothing, true, intrinsics.fx)
        measured = perturbation.sensor(surface, rng).astype(np.float32)
    frame = Frame(exposed, measured, intrinsics)
    camera_from_world = np.linalg.inv(camera)
    plane = Plane(camera_from_world[:3, 2], -float(camera_from_world[:3, 2] @ camera_from_world[:3, 3]))
    outline = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    masks = {k: _ragged(number == k, rng) for k in range(len(assets)) if (number == k).sum() > 600}
    return RenderedTable(
        frame,
        Support(camera, plane, outline, number < 0),
        tuple(Segment(k + 1, mask) for k, mask in masks.items()),
        tuple(assets[k].id for k in masks),
        tuple(repainted[k] for k in masks),
    )


def _positions(assets: Sequence[Asset], rng: np.random.Generator) -> list[np.ndarray]:
    """Return positions on the table, close enough that objects occlude one another a little."""
    positions: list[np.ndarray] = []
    for asset in assets:
        reach = float(np.linalg.norm(asset.size[:2])) / 2
        best = np.zeros(2)
        for _ in range(60):
            best = rng.uniform(-0.22, 0.22, 2)
            if all(
                np.linalg.norm(best - s) > 0.55 * (reach + float(np.linalg.norm(a.size[:2])) / 2) + 0.01
                for s, a in zip(positions, assets, strict=False)
            ):
                break
        positions.append(best)
    return positions


def _resting_index(asset: Asset, rng: np.random.Generator, share: float) -> int:
    return int(rng.integers(1, 3)) if rng.uniform() < share and not asset.container else 0


def _camera(rng: np.random.Generator, perturbation: CameraPerturbation) -> tuple[np.ndarray, Intrinsics]:
    elevation, azimuth = np.deg2rad(rng.uniform(*perturbation.elevation)), rng.uniform(0, 2 * np.pi)
    away = np.array([np.cos(azimuth) * np.cos(elevation), np.sin(azimuth) * np.cos(elevation), np.sin(elevation)])
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    roll = rng.normal(0, 0.03)
    down = np.cross(-away, right)
    pose = np.eye(4)
    pose[:3, 0] = np.cos(roll) * right + np.sin(roll) * down
    pose[:3, 1] = np.cos(roll) * down - np.sin(roll) * right
    pose[:3, 2], pose[:3, 3] = -away, away * rng.uniform(*perturbation.distance)
    height, width = SIZE
    return pose, Intrinsics(width, height, 590.0, 590.0, width / 2, height / 2)


def _rays(camera: np.ndarray, k: Intrinsics) -> np.ndarray:
    """Return origin and direction of each pixel's ray, (H, W, 6), float32; the length along a ray is its depth."""
    v, u = np.mgrid[: k.height, : k.width]
    along = k.ray_directions(u, v) @ camera[:3, :3].T
    return np.concatenate([np.broadcast_to(camera[:3, 3], along.shape), along], -1).astype(np.float32)


def _repainted(texture: np.ndarray, perturbation: CameraPerturbation, rng: np.random.Generator) -> np.ndarray:
    """Return a texture (H, W, 3), uint8, with other contrast, saturation and colours."""
    if not perturbation.paint:
        return texture
    contrast, saturation = np.exp(rng.normal(0, perturbation.paint, 2))
    part = (texture / 255.0) ** contrast
    grey = part.mean(axis=-1, keepdims=True)
    part = (grey + saturation * (part - grey)) * np.exp(rng.normal(0, perturbation.paint / 2, 3))
    return np.clip(255 * part, 0, 255).astype(np.uint8)


def _other_hue(texture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a texture (H, W, 3), uint8, whose colours are turned about the grey axis and made lighter or darker.

    Grey textures get a colour.
    """
    hls = cv2.cvtColor(texture, cv2.COLOR_RGB2HLS).astype(int)
    hls[..., 0] = (hls[..., 0] + int(rng.integers(25, 155))) % 180
    hls[..., 1] = np.clip(hls[..., 1] * rng.uniform(0.6, 1.2), 0, 255)
    hls[..., 2] = np.clip(np.maximum(hls[..., 2], rng.uniform(90, 200) * (np.median(hls[..., 2]) < 60)), 0, 255)
    return cv2.cvtColor(hls.astype(np.uint8), cv2.COLOR_HLS2RGB)


def _grain(rays: np.ndarray, table: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the wood grain of the table, (H, W), roughly in [-1, 1]."""
    at = rays[..., :2] + rays[..., 3:5] * table[..., None]
    waves = rng.uniform(5, 60, 6)[:, None] * np.stack([np.full(6, 1.0), rng.uniform(-0.25, 0.25, 6)], 1)
    return np.sin(at @ (waves @ rotation_about_z(rng.uniform(0, np.pi))[:2, :2]).T + rng.uniform(0, 6, 6)).mean(axis=-1)


def _light(rng: np.random.Generator) -> np.ndarray:
    """Return a random direction towards the light, from above."""
    towards = np.array([*rng.normal(0, 0.5, 2), 1.0])
    return towards / np.linalg.norm(towards)


def _mirrored(along: np.ndarray, normals: np.ndarray, light: np.ndarray) -> np.ndarray:
    """Return the specular reflection (Phong 1975) seen along rays (N, 3), of shape (N,)."""
    along = along / np.linalg.norm(along, axis=1, keepdims=True)
    normals = normals * -np.sign((normals * along).sum(axis=1, keepdims=True))
    mirrored = along - 2 * (along * normals).sum(axis=1, keepdims=True) * normals
    return np.clip(mirrored @ light, 0, 1) ** 25


def _exposed(rgb: np.ndarray, rng: np.random.Generator, perturbation: CameraPerturbation) -> np.ndarray:
    """Return the picture with random exposure, light colour, haze, blur, noise and JPEG compression."""
    gain = np.exp(rng.normal(perturbation.exposure, perturbation.light)) * np.exp(
        rng.normal(np.array([1, 0, -1]) * perturbation.warmth, perturbation.tint, 3)
    )
    linear = np.clip(rgb, 0, 255) / 255
    exposed = 255 * np.clip(linear ** np.exp(rng.normal(0, 0.15)) * gain, 0, 1) + rng.uniform(0, 14)
    exposed = cv2.GaussianBlur(exposed.astype(np.float32), (0, 0), rng.uniform(0.5, 1.4))
    exposed = np.clip(exposed + rng.normal(0, rng.uniform(1, 6), exposed.shape), 0, 255).astype(np.uint8)
    _, packed = cv2.imencode(".jpg", exposed, [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(60, 96))])
    return np.asarray(cv2.imdecode(packed, cv2.IMREAD_COLOR))


def _sensed(depth: np.ndarray, rng: np.random.Generator, perturbation: CameraPerturbation) -> np.ndarray:
    """Return depth with noise that grows with distance, bleeding and misregistered edges, and holes."""
    bled = depth.astype(np.float32)
    shift = rng.normal(0, 1.2, 2)
    bled = cv2.warpAffine(bled, np.array([[1, 0, shift[0]], [0, 1, shift[1]]]), SIZE[::-1], flags=cv2.INTER_NEAREST,
                          borderMode=cv2.BORDER_REPLICATE)  # fmt: skip
    bled = cv2.medianBlur(bled, 5)
    rough = cv2.resize(rng.normal(0, 1, (SIZE[0] // 4, SIZE[1] // 4)), SIZE[::-1], interpolation=cv2.INTER_CUBIC)
    bled = bled + perturbation.depth * bled**2 * rough.astype(np.float32)
    step = cv2.morphologyEx(depth.astype(np.float32), cv2.MORPH_GRADIENT, np.ones((3, 3))) > 0.03
    return np.where(step & (rng.uniform(size=SIZE) < 0.4), 0, bled).astype(np.float32)


def _ragged(mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the mask as a segmenter finds it, with a border that is off by a pixel or two."""
    wobble = cv2.resize(rng.normal(0, 1, (SIZE[0] // 12, SIZE[1] // 12)), SIZE[::-1], interpolation=cv2.INTER_CUBIC)
    inside = cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, 5)
    outside = cv2.distanceTransform(1 - mask.astype(np.uint8), cv2.DIST_L2, 5)
    return inside - outside + 1.5 * wobble + rng.normal(0, 0.8) > 0.5
