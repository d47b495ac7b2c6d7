"""Print the photograph on what it shows of an object, so that a box wears its own label and not that of its asset.

What the camera did not see keeps the texture that it has. The shape stays as it is.
"""

import io
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import cv2
import numpy as np
import trimesh
from PIL import Image

from pipeline.assets.reconstruct import PROVENANCE_PREFIX
from pipeline.frame import Frame
from pipeline.geometry import PixelBox, Pose, bounding_box, transform
from pipeline.geometry.rays import cast_rays, triangle_scene
from pipeline.scene import registration
from pipeline.scene.appearance import recolour
from pipeline.scene.mjcf.builder import RoomLight, room_light
from pipeline.scene.mjcf.mesh_export import modified_ns, obj_file, textured_mesh
from pipeline.scene.observed_object import ObservedObject
from pipeline.scene.place_objects import SceneInputs
from pipeline.scene.placement import Look, Placement, Scene
from pipeline.scene.rotation_from_print import print_agreement
from pipeline.store import StoreError, digest, memoise, write_bytes

if TYPE_CHECKING:
    from open3d.t.geometry import RaycastingScene

PRINT_VERSION = 2
MAX_EDGE_M = 0.02
"""Longest edge of a triangle: each is printed as a whole or not, and perspective bends the picture on a large one."""
MAX_TRIANGLES = 100_000
"""A mesh of more keeps its look: a print of it takes seconds and tens of megabytes."""
KEPT_PRINTS = 4
"""Of one object in the cache: Undo and Redo find their former ones."""
GAP_PX = 4
"""Rows and columns between two pictures in one texture, so that neither bleeds into the other."""
MAX_BRIGHTNESS_PX = 96
"""Longer side of the picture in which the light on the surface is computed."""
MAX_OWN_PX = 1024
"""Longest side of the mesh's own texture beside the photograph's."""


class Photograph(NamedTuple):
    """What is printed."""

    frame: Frame
    world_from_camera: np.ndarray
    """Of shape (4, 4)."""
    light: RoomLight
    """The twin's, which the print takes out of the photograph."""


def with_prints(scene: Scene, before: Scene, inputs: SceneInputs) -> Scene:
    """Return a settled scene with the photograph printed on its objects.

    Printed are objects made from the view, and assets with another print than the photograph's. Raises SceneError for a
    bad mesh.

    Args:
        scene: with its light.
        before: the scene before it was settled.
    """
    observed = {o.segment.id: o for o in inputs.observed_objects()}
    measured = {p.name: p.world_from_object for p in before.placements}
    photograph = Photograph(inputs.observation.frame, inputs.observation.support.world_from_camera, room_light(scene))
    placements = []
    for p in scene.placements:
        seen, look = observed.get(p.segment_id), None
        if seen is not None and p.model is None:
            shown = _as_photographed(p, measured.get(p.name, p.world_from_object), seen)
            if needs_print(shown, seen, inputs):
                look = _memoised_print(inputs.cache, shown, photograph, seen.segment.mask)
        placements.append(replace(p, look=look, printed=look is not None))
    return replace(scene, placements=tuple(placements))


def needs_print(p: Placement, observed: ObservedObject, inputs: SceneInputs) -> bool:
    """Whether an object in its photographed pose was made from the view, or is an asset with another print."""
    if p.asset_id is None:
        return p.provenance.startswith(PROVENANCE_PREFIX)
    if (decided := inputs.override(p.segment_id).recolour) is not None:
        return decided
    asset, pose, cache = inputs.library[p.asset_id], p.world_from_object, inputs.cache
    support, mask = observed.observation.support, observed.segment.mask
    box = bounding_box(mask)
    key = digest(
        "agreement", PRINT_VERSION, box, mask[box.slices], observed.observation.frame.rgb[box.slices], asset.digest,
        pose.matrix.round(4), p.scale, support.world_from_camera.round(5),
    )  # fmt: skip
    measure = partial(print_agreement, asset, observed, pose, p.scale)
    agreement = memoise(cache, key, lambda: {"agreement": measure()})["agreement"] if cache else measure()
    # 0.5: 0.56 to 0.99 of 19 assets that are the photographed product, 0.04 to 0.48 of 10 that stand for another print
    return agreement is not None and agreement < 0.5


def _as_photographed(p: Placement, measured: Pose, observed: ObservedObject) -> Placement:
    """Return the object in the pose that explains its measured points best: where it rests, was measured, or was found.

    It rests elsewhere if it slid, and was found elsewhere if a person moved or resized it since. Raises SceneError.
    """
    others = [replace(p, world_from_object=measured)]
    if (found := p.machine_pose) is not None:
        size = p.size * found.scale / p.scale
        others.append(replace(p, world_from_object=found.world_from_object, size=size, scale=found.scale))
    # 0.002: metres by which another pose has to be better, since settling moves everything a little
    costs = [_misfit(p, observed) - 0.002, *(_misfit(one, observed) for one in others)]
    return [p, *others][int(np.argmin(costs))]


def _misfit(p: Placement, observed: ObservedObject) -> float:
    """Return the registration cost in metres of an object where it is."""
    if len(observed.points) < 10:
        return 0.0
    surface = registration.load_surface(p.mesh, p.size)
    return registration.registration_cost(surface, observed.target, p.world_from_object)


def _memoised_print(cache: Path | None, p: Placement, photograph: Photograph, mask: np.ndarray) -> Look | None:
    """Return the print, kept in the folder `cache` while mesh, place, colour, photograph and light stay."""
    if cache is None:
        return photo_print(p, photograph, mask)
    (frame, camera, light), box = photograph, bounding_box(mask)
    key = digest(
        PRINT_VERSION, str(p.mesh), modified_ns(p.mesh), p.world_from_object.matrix.round(4), p.size.round(5),
        p.recolour, p.rgb, box, frame.rgb[box.slices], mask[box.slices], asdict(frame.intrinsics), camera.round(5),
        light.towards.round(3), light[1:],
    )  # fmt: skip
    obj, png = (cache / f"print-{p.segment_id}-{key}.{suffix}" for suffix in ("obj", "png"))
    with suppress(OSError):
        return Look(obj.read_bytes(), png.read_bytes())
    look = photo_print(p, photograph, mask)
    if look is not None:
        with suppress(OSError, StoreError):
            write_bytes(obj, look.obj)
            write_bytes(png, look.texture)
            former = sorted(cache.glob(f"print-{p.segment_id}-*"), key=lambda file: file.stat().st_mtime)
            for file in former[: -2 * KEPT_PRINTS]:
                file.unlink(missing_ok=True)
    return look


def photo_print(p: Placement, photograph: Photograph, mask: np.ndarray) -> Look | None:
    """Return an object's mesh with the photograph on what the mask (H, W) shows of it; None if that is nothing.

    The object stands where the photograph shows it. Raises SceneError for a bad mesh.
    """
    frame, world_from_camera, _ = photograph
    mesh, own_uv, _, _ = textured_mesh(p.mesh)
    if len(mesh.faces) > MAX_TRIANGLES:
        return None
    uv = np.zeros((len(mesh.vertices), 2)) if own_uv is None else own_uv
    scale, middle = p.size / np.maximum(mesh.extents, 1e-9), mesh.bounds.mean(0)
    corners = _split(np.concatenate([mesh.triangles, uv[mesh.faces]], -1), scale, max(MAX_EDGE_M, p.size.max() / 20))
    world = transform(p.world_from_object.matrix, (corners[..., :3] - middle) * scale)
    pixels = _pixels(frame, world_from_camera, world)
    surface = triangle_scene(world)
    printed = _is_seen(world, surface, world_from_camera[:3, 3]) & _is_inside(pixels, mask)
    unwrapped = _unwrapped(corners[..., 3:])
    if not printed.any() or unwrapped is None:
        return None
    box, own = bounding_box(mask), _own_texture(p)
    # the photograph's part above the own texture; between them rows that keep one's colours out of the other
    crop = _crop(frame.rgb, mask, box) / _brightness(photograph, surface, box)[..., None]
    crop = cv2.copyMakeBorder(crop.clip(0, 255).round(), 0, GAP_PX, 0, GAP_PX, cv2.BORDER_REPLICATE)
    own = cv2.copyMakeBorder(own, GAP_PX, 0, 0, GAP_PX, cv2.BORDER_REPLICATE)
    height, width = len(crop) + len(own), max(crop.shape[1], own.shape[1])
    picture = np.zeros((height, width, 3), np.uint8)
    picture[: len(crop), : crop.shape[1]], picture[len(crop) :, : own.shape[1]] = crop, own
    uv = unwrapped * [own.shape[1] - GAP_PX, len(own) - GAP_PX]
    uv[printed] = [0, height] + (pixels[printed] + 0.5 - [box.left, box.top]).clip(0, [box.width, box.height]) * [1, -1]
    png = cv2.imencode(".png", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR))[1].tobytes()
    return Look(_obj(corners[..., :3], uv / [width, height]), png)


def _split(corners: np.ndarray, scale: np.ndarray, max_edge: float) -> np.ndarray:
    """Return triangles (F, 3, 5) of position and texture coordinates with no edge above `max_edge`, in metres.

    `scale` (3,) is metres over the units of the positions. The longest edge is halved first, up to MAX_TRIANGLES.
    """
    done = []
    while len(corners) and len(corners) + sum(map(len, done)) < MAX_TRIANGLES:
        points = corners[..., :3] * scale
        edges = np.linalg.norm(np.roll(points, -1, 1) - points, axis=-1)
        long = edges.max(1) > max_edge
        done.append(corners[~long])
        order = (edges[long].argmax(1)[:, None] + np.arange(3)) % 3
        a, b, c = np.moveaxis(np.take_along_axis(corners[long], order[..., None], 1), 1, 0)
        middle = (a + b) / 2
        corners = np.concatenate([np.stack([a, middle, c], 1), np.stack([middle, b, c], 1)])
    return np.concatenate([*done, corners])


def _pixels(frame: Frame, world_from_camera: np.ndarray, world: np.ndarray) -> np.ndarray:
    """Return the columns and rows of world points (..., 3) in the photograph, of shape (..., 2); NaN behind it."""
    k = frame.intrinsics
    x, y, z = np.moveaxis(transform(np.linalg.inv(world_from_camera), world), -1, 0)
    z = np.where(z > 0.02, z, np.nan)
    return np.stack([k.fx * x / z + k.cx, k.fy * y / z + k.cy], -1)


def _is_seen(world: np.ndarray, surface: "RaycastingScene", camera: np.ndarray) -> np.ndarray:
    """Return which triangles (F, 3, 3) of a surface face a camera at (3,) and are hidden by no other, of shape (F,)."""
    rays = world.mean(1) - camera
    normals = np.cross(world[:, 1] - world[:, 0], world[:, 2] - world[:, 0])
    # 0.12: cosine between ray and normal below which one pixel would cover much of the surface
    cosine = 0.12 * np.linalg.norm(normals, axis=1) * np.linalg.norm(rays, axis=1)
    return (np.einsum("fk,fk->f", normals, rays) < -cosine) & (cast_rays(surface, camera, rays).distance > 0.985)


def _brightness(photograph: Photograph, surface: "RaycastingScene", box: PixelBox) -> np.ndarray:
    """Return how bright the twin's light makes a surface at each pixel of a box, of shape (h, w); 1 changes no colour.

    The photograph is divided by it, so that the twin is not lit twice. Cast shadows are left out.
    """
    frame, world_from_camera, light = photograph
    scale = min(1.0, MAX_BRIGHTNESS_PX / max(box.width, box.height))
    width, height = max(1, round(box.width * scale)), max(1, round(box.height * scale))
    columns = box.left + (np.arange(width) + 0.5) * box.width / width - 0.5
    rows = box.top + (np.arange(height) + 0.5) * box.height / height - 0.5
    rays = frame.intrinsics.ray_directions(*np.meshgrid(columns, rows)).reshape(-1, 3) @ world_from_camera[:3, :3].T
    hits = cast_rays(surface, world_from_camera[:3, 3], rays)
    ahead = -np.einsum("nk,nk->n", hits.normal, rays) / np.linalg.norm(rays, axis=1)
    side = np.where(ahead < 0, -1, 1)  # some meshes are inside out
    lamp = np.maximum(side * (hits.normal @ light.towards), 0)
    bright = light.ambient + light.ahead * np.abs(ahead) + light.main * lamp
    seen = np.isfinite(hits.distance)
    bright[~seen] = bright[seen].mean() if seen.any() else 1
    return cv2.resize(bright.reshape(height, width), (box.width, box.height), interpolation=cv2.INTER_LINEAR)


def _is_inside(pixels: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return which triangles, given by the pixels of their corners (F, 3, 2), lie in a mask (H, W), of shape (F,)."""
    wide = cv2.dilate(mask.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    height, width = mask.shape
    known = np.nan_to_num(pixels, nan=-1e6)
    inside = ((known > -0.5) & (known < [width - 0.5, height - 0.5])).all(-1)
    columns, rows = np.moveaxis(known.clip(0, [width - 1, height - 1]).round().astype(int), -1, 0)
    return np.all(inside & wide[rows, columns], axis=1)


def _own_texture(p: Placement) -> np.ndarray:
    """Return the texture that the object has without the photograph, of shape (H, W, 3), uint8."""
    visual = recolour.visual_mesh(p.mesh, p.recolour)
    if visual.texture is None:
        return np.full((4, 4, 3), np.round(np.multiply(visual.rgb or np.divide(p.rgb, 255), 255)), np.uint8)
    picture = np.asarray(Image.open(io.BytesIO(visual.texture)).convert("RGB"))
    factor = MAX_OWN_PX / max(picture.shape[:2])
    return picture if factor >= 1 else cv2.resize(picture, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA)


def _unwrapped(uv: np.ndarray) -> np.ndarray | None:
    """Return texture coordinates (F, 3, 2) in [0, 1]; None if a triangle shows a texture more than once."""
    inside = uv - np.floor(uv.mean(1, keepdims=True))
    return inside.clip(0, 1) if (inside > -0.5).all() and (inside < 1.5).all() else None


def _crop(rgb: np.ndarray, mask: np.ndarray, box: PixelBox) -> np.ndarray:
    """Return the mask's part of the photograph (h, w, 3), its rim and what surrounds it filled from inside."""
    part = mask[box.slices].astype(np.uint8)
    inner = cv2.erode(part, np.ones((3, 3), np.uint8), borderValue=0)
    inner = inner if inner.any() else part
    _, found = cv2.distanceTransformWithLabels(1 - inner, cv2.DIST_L2, 5, labelType=cv2.DIST_LABEL_PIXEL)
    labels, crop = np.asarray(found, np.int64), rgb[box.slices]
    colours = np.zeros((int(labels.max()) + 1, 3), np.uint8)
    colours[labels[inner > 0]] = crop[inner > 0]
    return colours[labels]


def _obj(corners: np.ndarray, uv: np.ndarray) -> bytes:
    """Return the OBJ file of triangles (F, 3, 3) with texture coordinates (F, 3, 2), equal corners joined."""
    rows = np.concatenate([corners, uv], -1).reshape(-1, 5).astype(np.float32)
    _, first, number = np.unique(rows.view("V20").ravel(), return_index=True, return_inverse=True)
    mesh = trimesh.Trimesh(rows[first, :3], number.reshape(-1, 3), process=False)
    return obj_file(mesh, rows[first, 3:])
