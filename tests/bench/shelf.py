"""Tables of a library's own assets, photographed by rays with the faults of real cameras: truth for matching.

Nothing of a real photograph is in them, so what is chosen here may be tried on real ones. Only how rough depth is was
measured on real tables: smoothed over nine pixels it is off by 0.0030 to 0.0044 of its square, in metres.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from pipeline.assets import Asset, load_mesh
from pipeline.assets.views import _texels, _texture
from pipeline.frame import Frame, Intrinsics, Support
from pipeline.geometry import Plane
from pipeline.segmentation import Segment

SIZE = (480, 640)
LIGHT = np.array([0.3, -0.5, 1.0]) / np.linalg.norm([0.3, -0.5, 1.0])
LYING = (np.eye(3), np.array([[0.0, 0, -1], [0, 1, 0], [1, 0, 0]]), np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]))


@dataclass(frozen=True)
class Faults:
    """How far a photograph is from its assets; standard deviations, of logarithms where they are factors."""

    light: float = 0.28
    """Factor on all colours, and """
    tint: float = 0.07
    """on each of them."""
    depth: float = 0.0022
    """Roughness of depth, of its square, in metres."""
    paint: float = 0.0
    """Each thing's own contrast, saturation and colours, which its asset does not have."""
    form: float = 0.0
    """Each thing's own size along each axis."""
    gloss: float = 0.0
    """The most that a highlight adds, of white."""
    grain: float = 0.0
    """What is painted on the table, of 255."""
    away: tuple[float, float] = (0.6, 1.1)
    """The camera's least and greatest distance, in metres."""


MILD = Faults()
HARSH = Faults(light=0.25, tint=0.08, depth=0.0035, paint=0.1, form=0.03, gloss=0.6, grain=14.0, away=(0.45, 0.9))


@dataclass(frozen=True, eq=False)
class Table:
    """A frame, and what stands in it."""

    frame: Frame
    support: Support
    segments: tuple[Segment, ...]
    ids: tuple[str, ...]
    """Of each segment's asset."""


def photograph(assets: Sequence[Asset], rng: np.random.Generator, lying: float = 0.15, faults: Faults = MILD) -> Table:
    """The assets on one table, turned, some lying, in a camera's own light, noise, blur and ragged depth."""
    import open3d as o3d

    scene, painted = o3d.t.geometry.RaycastingScene(), []
    for asset, (x, y) in zip(assets, _spots(assets, rng), strict=True):
        mesh = load_mesh(asset)
        vertices = mesh.vertices @ (_about_z(rng.uniform(0, 2 * np.pi)) @ LYING[_lies(asset, rng, lying)]).T
        vertices = vertices * rng.uniform(0.96, 1.04) * np.exp(rng.normal(0, 1, 3) * faults.form)
        vertices += [x, y, -vertices[:, 2].min()]
        scene.add_triangles(
            o3d.core.Tensor.from_numpy(vertices.astype(np.float32)),
            o3d.core.Tensor.from_numpy(mesh.faces.astype(np.uint32)),
        )
        texture, uv = _texture(mesh, 512)
        painted.append((uv[mesh.faces], _repainted(texture, faults, rng)))
    camera, intrinsics = _camera(rng, faults.away)
    rays = _rays(camera, intrinsics)
    hit = scene.cast_rays(o3d.core.Tensor.from_numpy(rays.reshape(-1, 6)))
    depth, number = hit["t_hit"].numpy().reshape(SIZE), hit["geometry_ids"].numpy().astype(int).reshape(SIZE)
    face, bary = hit["primitive_ids"].numpy().reshape(SIZE), hit["primitive_uvs"].numpy().reshape(*SIZE, 2)
    normals = hit["primitive_normals"].numpy().reshape(*SIZE, 3)
    table = -rays[..., 2] / rays[..., 5]
    rgb = np.full((*SIZE, 3), rng.uniform(60, 220, 3)) + rng.normal(0, 4, (*SIZE, 1))
    rgb += faults.grain * _grain(rays, table, rng)[..., None] if faults.grain else 0
    light = _light(rng) if faults.gloss else LIGHT
    for k, (corners, texture) in enumerate(painted):
        there = (number == k) & (depth < table)
        shade = 0.55 + 0.45 * np.abs(normals[there] @ light)
        rgb[there] = _texels(corners, texture, face[there], bary[there]) * shade[:, None]
        shine = rng.uniform(0, faults.gloss) if faults.gloss else 0.0
        rgb[there] += 255 * shine * _mirrored(rays[there, 3:], normals[there], light)[:, None]
    number = np.where(depth < table, number, -1)
    depth = np.minimum(depth, table)
    frame = Frame(_exposed(rgb, rng, faults), _sensed(depth, rng, faults), intrinsics)
    camera_from_world = np.linalg.inv(camera)
    plane = Plane(camera_from_world[:3, 2], -float(camera_from_world[:3, 2] @ camera_from_world[:3, 3]))
    outline = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    masks = {k: _ragged(number == k, rng) for k in range(len(assets)) if (number == k).sum() > 600}
    return Table(
        frame, Support(camera, plane, outline, number < 0),
        tuple(Segment(k + 1, mask) for k, mask in masks.items()), tuple(assets[k].id for k in masks),
    )  # fmt: skip


def _spots(assets: Sequence[Asset], rng: np.random.Generator) -> list[np.ndarray]:
    """Places on the ground, near enough that things hide one another a little."""
    spots: list[np.ndarray] = []
    for asset in assets:
        reach = float(np.linalg.norm(asset.size[:2])) / 2
        best = np.zeros(2)
        for _ in range(60):
            best = rng.uniform(-0.22, 0.22, 2)
            if all(np.linalg.norm(best - s) > 0.55 * (reach + float(np.linalg.norm(a.size[:2])) / 2) + 0.01
                   for s, a in zip(spots, assets, strict=False)):  # fmt: skip
                break
        spots.append(best)
    return spots


def _lies(asset: Asset, rng: np.random.Generator, share: float) -> int:
    return int(rng.integers(1, 3)) if rng.uniform() < share and not asset.container else 0


def _about_z(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])


def _camera(rng: np.random.Generator, distance: tuple[float, float]) -> tuple[np.ndarray, Intrinsics]:
    elevation, azimuth = np.deg2rad(rng.uniform(24, 62)), rng.uniform(0, 2 * np.pi)
    away = np.array([np.cos(azimuth) * np.cos(elevation), np.sin(azimuth) * np.cos(elevation), np.sin(elevation)])
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    roll = rng.normal(0, 0.03)
    down = np.cross(-away, right)
    pose = np.eye(4)
    pose[:3, 0] = np.cos(roll) * right + np.sin(roll) * down
    pose[:3, 1] = np.cos(roll) * down - np.sin(roll) * right
    pose[:3, 2], pose[:3, 3] = -away, away * rng.uniform(*distance)
    height, width = SIZE
    return pose, Intrinsics(width, height, 590.0, 590.0, width / 2, height / 2)


def _rays(camera: np.ndarray, k: Intrinsics) -> np.ndarray:
    """Origin and direction of each pixel's ray, (H, W, 6) float32; a ray's length is its depth."""
    v, u = np.mgrid[: k.height, : k.width]
    along = np.stack([(u - k.cx) / k.fx, (v - k.cy) / k.fy, np.ones_like(u)], -1) @ camera[:3, :3].T
    return np.concatenate([np.broadcast_to(camera[:3, 3], along.shape), along], -1).astype(np.float32)


def _repainted(texture: np.ndarray, faults: Faults, rng: np.random.Generator) -> np.ndarray:
    """A texture (H, W, 3) uint8 as another print of it: its contrast, its saturation, its colours."""
    if not faults.paint:
        return texture
    contrast, saturation = np.exp(rng.normal(0, faults.paint, 2))
    part = (texture / 255.0) ** contrast
    grey = part.mean(axis=-1, keepdims=True)
    part = (grey + saturation * (part - grey)) * np.exp(rng.normal(0, faults.paint / 2, 3))
    return np.clip(255 * part, 0, 255).astype(np.uint8)


def _grain(rays: np.ndarray, table: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """What is painted on the table, (H, W), about from -1 to 1: long in one direction, as wood is."""
    at = rays[..., :2] + rays[..., 3:5] * table[..., None]
    waves = rng.uniform(5, 60, 6)[:, None] * np.stack([np.full(6, 1.0), rng.uniform(-0.25, 0.25, 6)], 1)
    return np.sin(at @ (waves @ _about_z(rng.uniform(0, np.pi))[:2, :2]).T + rng.uniform(0, 6, 6)).mean(axis=-1)


def _light(rng: np.random.Generator) -> np.ndarray:
    """Towards the light: from above, anywhere."""
    towards = np.array([*rng.normal(0, 0.5, 2), 1.0])
    return towards / np.linalg.norm(towards)


def _mirrored(along: np.ndarray, normals: np.ndarray, light: np.ndarray) -> np.ndarray:
    """How much of the light rays (N, 3) see mirrored (Phong 1975), (N,)."""
    along = along / np.linalg.norm(along, axis=1, keepdims=True)
    normals = normals * -np.sign((normals * along).sum(axis=1, keepdims=True))
    mirrored = along - 2 * (along * normals).sum(axis=1, keepdims=True) * normals
    return np.clip(mirrored @ light, 0, 1) ** 25


def _exposed(rgb: np.ndarray, rng: np.random.Generator, faults: Faults) -> np.ndarray:
    """Light of another strength and colour, a little haze, blur, noise, and JPEG."""
    gain = np.exp(rng.normal(0, faults.light)) * np.exp(rng.normal(0, faults.tint, 3))
    linear = np.clip(rgb, 0, 255) / 255
    seen = 255 * np.clip(linear ** np.exp(rng.normal(0, 0.15)) * gain, 0, 1) + rng.uniform(0, 14)
    seen = cv2.GaussianBlur(seen.astype(np.float32), (0, 0), rng.uniform(0.5, 1.4))
    seen = np.clip(seen + rng.normal(0, rng.uniform(1, 6), seen.shape), 0, 255).astype(np.uint8)
    _, packed = cv2.imencode(".jpg", seen, [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(60, 96))])
    return np.asarray(cv2.imdecode(packed, cv2.IMREAD_COLOR))


def _sensed(depth: np.ndarray, rng: np.random.Generator, faults: Faults) -> np.ndarray:
    """Depth noise that grows with distance, edges that bleed and lie beside their colour, holes."""
    bled = depth.astype(np.float32)
    shift = rng.normal(0, 1.2, 2)
    bled = cv2.warpAffine(bled, np.array([[1, 0, shift[0]], [0, 1, shift[1]]]), SIZE[::-1], flags=cv2.INTER_NEAREST,
                          borderMode=cv2.BORDER_REPLICATE)  # fmt: skip
    bled = cv2.medianBlur(bled, 5)
    rough = cv2.resize(rng.normal(0, 1, (SIZE[0] // 4, SIZE[1] // 4)), SIZE[::-1], interpolation=cv2.INTER_CUBIC)
    bled = bled + faults.depth * bled**2 * rough.astype(np.float32)
    step = cv2.morphologyEx(depth.astype(np.float32), cv2.MORPH_GRADIENT, np.ones((3, 3))) > 0.03
    return np.where(step & (rng.uniform(size=SIZE) < 0.4), 0, bled).astype(np.float32)


def _ragged(mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """As a segmenter finds it: its border off by a pixel or two, a bite missing now and then."""
    wobble = cv2.resize(rng.normal(0, 1, (SIZE[0] // 12, SIZE[1] // 12)), SIZE[::-1], interpolation=cv2.INTER_CUBIC)
    inside = cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, 5)
    outside = cv2.distanceTransform(1 - mask.astype(np.uint8), cv2.DIST_L2, 5)
    return inside - outside + 1.5 * wobble + rng.normal(0, 0.8) > 0.5
