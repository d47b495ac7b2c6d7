"""Recolour an asset whose shape fits and whose colour differs: its texture is tinted to the colour in the photograph.

Only assets of mostly one colour are recoloured by default. The colour in the photograph contains its light, so a white
mug in a dark corner is left white: it takes a matcher that found other colours, another colour name, and a clear
difference in hue or lightness.
"""

import io
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from PIL import Image

from pipeline.description import Attributes
from pipeline.description.colour import name_colour
from pipeline.scene.mjcf import mesh_export

SAME_COLOUR = 25.0
"""Distance in CIELAB's a and b up to which a point of the surface has the main colour."""
SAMPLES = 1500
"""Points of the surface that are looked at."""
Rgb = tuple[int, int, int]


def seen_colour(mesh: Path, attributes: Attributes, agreement: float, decided: bool | None) -> Rgb | None:
    """Return the colour that the asset of a mesh file is tinted to, None to leave it as it is. Raises SceneError.

    Args:
        agreement: the matcher's colour term in [0, 1], 0 if it gave none.
        decided: what a person decided; None to recolour if the asset has one colour and the object clearly another.
    """
    if decided is not None:
        return attributes.rgb if decided else None
    # Colour term from which the matcher says that the colours are alike
    if agreement >= 0.4:
        return None
    colours = surface_colours(mesh)
    name, main = name_colour(colours)
    lab, seen = _lab(np.array([main, attributes.rgb], np.uint8))
    # 0.7: least share of the surface that has the asset's main colour
    is_plain = np.mean(np.linalg.norm(_lab(colours)[:, 1:] - lab[1:], axis=1) < SAME_COLOUR) >= 0.7
    # 20.0: least distance in CIELAB's a and b to the colour in the photograph
    # 35.0: least distance in lightness, without one in a and b
    differs = np.linalg.norm(lab[1:] - seen[1:]) > 20.0 or abs(lab[0] - seen[0]) > 35.0
    return attributes.rgb if is_plain and differs and name != attributes.colour else None


def surface_colours(path: Path) -> np.ndarray:
    """Return the sRGB colours (SAMPLES, 3), uint8, of points spread evenly over the surface of a mesh file.

    Cached for each version of the file. Raises SceneError.
    """
    return _surface_colours(path, mesh_export.modified_ns(path))


@lru_cache(maxsize=256)
def _surface_colours(path: Path, _: int) -> np.ndarray:
    mesh = mesh_export.read_mesh(path)
    random = np.random.default_rng(0)
    area = mesh.area_faces
    faces = random.choice(len(area), SAMPLES, p=area / area.sum()) if area.sum() > 0 else np.zeros(SAMPLES, int)
    visual: Any = mesh.visual
    material, uv = getattr(visual, "material", None), getattr(visual, "uv", None)
    image = getattr(material, "image", None) or getattr(material, "baseColorTexture", None)
    if image is not None and uv is not None:
        weights = random.dirichlet(np.ones(3), SAMPLES)
        at = (np.asarray(uv)[mesh.faces[faces], :2] * weights[..., None]).sum(axis=1) % 1.0
        pixels = np.asarray(image.convert("RGB"))
        rows = np.minimum(((1 - at[:, 1]) * pixels.shape[0]).astype(int), pixels.shape[0] - 1)
        return pixels[rows, np.minimum((at[:, 0] * pixels.shape[1]).astype(int), pixels.shape[1] - 1)]
    if material is not None:
        return np.repeat(np.asarray(material.main_color)[None, :3], SAMPLES, axis=0).astype(np.uint8)
    return np.asarray(visual.face_colors)[faces, :3].astype(np.uint8)


def visual_mesh(path: Path, rgb: Rgb | None) -> mesh_export.VisualMesh:
    """Return a mesh file converted for rendering, its main colour moved to `rgb` if given. Raises SceneError.

    A mesh that was tinted to that colour before stays as it is, so that a twin can be written again from its own files.
    """
    visual = mesh_export.visual_mesh(path)
    if rgb is None:
        return visual
    if visual.texture is None:
        red, green, blue = (channel / 255 for channel in rgb)
        return replace(visual, rgb=(red, green, blue))
    _, main = name_colour(surface_colours(path))
    picture = np.asarray(Image.open(io.BytesIO(visual.texture)).convert("RGB"))
    png = io.BytesIO()
    Image.fromarray(tinted(picture, main, rgb)).save(png, "PNG")
    return replace(visual, texture=png.getvalue())


def tinted(picture: np.ndarray, before: Rgb, after: Rgb) -> np.ndarray:
    """Return an sRGB picture (H, W, 3), uint8, whose pixels near the colour `before` are moved towards `after`."""
    lab = _lab(picture.reshape(-1, 3))
    start, end = _lab(np.array([before, after], np.uint8))
    weight = np.exp(-0.5 * (np.linalg.norm(lab[:, 1:] - start[1:], axis=1) / SAME_COLOUR) ** 2)[:, None]
    moved = lab + weight * (end - start)
    moved[:, 0] = np.clip(moved[:, 0], 0, 100)
    rgb = cv2.cvtColor(moved[None].astype(np.float32), cv2.COLOR_LAB2RGB)[0]
    return (np.clip(rgb, 0, 1) * 255).round().astype(np.uint8).reshape(picture.shape)


def _lab(rgb: np.ndarray) -> np.ndarray:
    """Return the CIELAB colours (N, 3), float32, of sRGB ones (N, 3), uint8."""
    return cv2.cvtColor((rgb[None] / 255).astype(np.float32), cv2.COLOR_RGB2LAB)[0]
