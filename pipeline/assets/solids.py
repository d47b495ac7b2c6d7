"""Builds solids for assets: a textured mesh to render, and convex parts for collision.

All are in metres with z up. The built-in library and the assets reconstructed from a view are both made of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import mapbox_earcut
import numpy as np
import trimesh
from PIL import Image
from trimesh.visual import TextureVisuals
from trimesh.visual.material import SimpleMaterial

CIRCLE_SIDES = 40
"""Sides of the polygon that stands for a circle."""
RING_SECTORS = 16
"""Convex wedges around the wall of a hollow solid."""
SHARP_EDGE_COSINE = np.cos(np.deg2rad(35))
"""Cosine of the angle between two segments of a profile beyond which shading shows an edge, not a rounding."""

Profile = Sequence[tuple[float, float]] | np.ndarray
"""Radius and height in metres, shape (N, 2), from the axis at the bottom to the axis at the top."""


@dataclass(frozen=True, eq=False)
class Solid:
    """A mesh to render and the convex parts that stand for it in collision."""

    mesh: trimesh.Trimesh
    """The visible surface, with texture coordinates."""
    part_vertices: tuple[np.ndarray, ...]
    """Points of each convex part, each of shape (N, 3); a part is their hull."""

    @cached_property
    def convex_parts(self) -> tuple[trimesh.Trimesh, ...]:
        """The convex parts that fill it."""
        return tuple(convex_hull(points) for points in self.part_vertices)

    def transformed(self, matrix: np.ndarray) -> "Solid":
        """Return the solid under a transform of shape (4, 4)."""
        return Solid(
            self.mesh.copy().apply_transform(matrix),
            tuple(trimesh.transform_points(points, matrix) for points in self.part_vertices),
        )

    def translated(self, x: float = 0, y: float = 0, z: float = 0) -> "Solid":
        """Return the solid moved by metres along each axis."""
        return self.transformed(trimesh.transformations.translation_matrix([x, y, z]))

    def rotated(self, degrees: float, axis: Sequence[float]) -> "Solid":
        """Return the solid rotated about an axis through the origin."""
        return self.transformed(np.asarray(trimesh.transformations.rotation_matrix(np.deg2rad(degrees), axis)))

    def with_texture(self, image: Image.Image) -> "Solid":
        """Return the solid with another texture."""
        return Solid(textured_mesh(self.mesh, texture_visual(self.mesh).uv, image), self.part_vertices)

    def centred(self) -> "Solid":
        """Return the solid with the centre of its bounding box at the origin."""
        return self.translated(*-self.mesh.bounds.mean(axis=0))


def texture_visual(mesh: trimesh.Trimesh) -> Any:
    """Return the mesh's visual, which has `uv` and `material`. Untyped: trimesh allows visuals that have neither."""
    return mesh.visual


def textured_mesh(mesh: trimesh.Trimesh, uv: np.ndarray, image: Image.Image) -> trimesh.Trimesh:
    """Return the mesh with a texture. `uv` has shape (V, 2); (0, 0) is the lower left of the image."""
    material = SimpleMaterial(image=image, diffuse=[255, 255, 255, 255])
    visual = TextureVisuals(uv=uv, material=material)
    return trimesh.Trimesh(mesh.vertices, mesh.faces, visual=visual, process=False)


def plain_texture(rgb: Sequence[int]) -> Image.Image:
    """Return a texture of one colour, sRGB from 0 to 255."""
    return Image.new("RGB", (8, 8), tuple(int(c) for c in rgb))


def join(*solids: Solid) -> Solid:
    """Return several solids as one, their textures stacked in one image."""
    images = [texture_visual(solid.mesh).material.image for solid in solids]
    width, heights = max(i.width for i in images), [i.height + 2 for i in images]
    sheet, top, uvs = Image.new("RGB", (width, sum(heights))), 0, []
    for solid, image, height in zip(solids, images, heights, strict=True):
        sheet.paste(image.resize((image.width, height)), (0, top))  # two spare rows, so that colours do not bleed
        sheet.paste(image, (0, top + 1))
        uv = texture_visual(solid.mesh).uv
        low = 1 - (top + 1 + image.height) / sheet.height
        uvs.append(np.stack([uv[:, 0] * image.width / width, low + uv[:, 1] * image.height / sheet.height], 1))
        top += height
    mesh = _stack([solid.mesh for solid in solids])
    return Solid(textured_mesh(mesh, np.vstack(uvs), sheet), tuple(p for solid in solids for p in solid.part_vertices))


def _stack(meshes: Sequence[trimesh.Trimesh]) -> trimesh.Trimesh:
    starts = np.cumsum([0] + [len(m.vertices) for m in meshes])
    faces = [m.faces + start for m, start in zip(meshes, starts, strict=False)]
    return trimesh.Trimesh(np.vstack([m.vertices for m in meshes]), np.vstack(faces), process=False)


def convex_hull(points: np.ndarray) -> trimesh.Trimesh:
    """Return the convex hull of points of shape (N, 3)."""
    return trimesh.convex.convex_hull(np.asarray(points, float))


def box(size: Sequence[float] | np.ndarray, image: Image.Image, cells: int = 1) -> Solid:
    """Return a box whose image is a strip of six faces: front (-y), right, back, left, then top and bottom.

    Each takes a sixth of the image's width. Each edge is divided into `cells`.
    """
    steps = np.linspace(0, 1, cells + 1)
    s, t = (grid.ravel() for grid in np.meshgrid(steps, steps))
    corner = np.arange(cells * (cells + 1)).reshape(cells, cells + 1)[:, :-1].ravel()
    square = np.stack([corner, corner + 1, corner + cells + 2, corner, corner + cells + 2, corner + cells + 1], 1)
    vertices, faces, uvs = [], [], []
    for index, (right, up) in enumerate(_BOX_FACES):
        right, up = np.array(right), np.array(up)
        vertices.append(np.outer(s - 0.5, right) + np.outer(t - 0.5, up) + np.cross(right, up) / 2)
        faces.append(square.reshape(-1, 3) + index * len(s))
        uvs.append(np.stack([(index + s) / 6, t], 1))
    mesh = trimesh.Trimesh(np.vstack(vertices) * np.asarray(size, float), np.vstack(faces), process=False)
    return Solid(textured_mesh(mesh, np.vstack(uvs), image), (trimesh.creation.box(size).vertices,))


_BOX_FACES = [((1, 0, 0), (0, 0, 1)), ((0, 1, 0), (0, 0, 1)), ((-1, 0, 0), (0, 0, 1)), ((0, -1, 0), (0, 0, 1)),
              ((1, 0, 0), (0, 1, 0)), ((1, 0, 0), (0, -1, 0))]  # fmt: skip
"""Directions to the right and up on each face seen from outside, in the order of the strip."""


def circle(sides: int = CIRCLE_SIDES) -> np.ndarray:
    """Return the corners of a regular polygon in the unit circle, anticlockwise, shape (sides, 2)."""
    angle = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    return np.stack([np.cos(angle), np.sin(angle)], 1)


def rounded_square(corner: float = 0.15, steps: int = 4) -> np.ndarray:
    """Return a square of half-width 1 with rounded corners, anticlockwise, shape (N, 2)."""
    angle = np.linspace(0, np.pi / 2, steps)
    arc = 1 - corner + corner * np.stack([np.cos(angle), np.sin(angle)], 1)
    quarter = np.array([[0, -1], [1, 0]])
    return np.vstack([arc @ np.linalg.matrix_power(quarter, k).T for k in range(4)])


def lathe(profile: Profile, image: Image.Image, outline: np.ndarray | None = None, cuts: Sequence[float] = ()) -> Solid:
    """Return the solid of revolution of a profile about z.

    `outline` (M, 2) replaces the unit circle. The solid is convex between the heights `cuts`. The image is wrapped
    around once, its lower edge at the profile's start and its upper edge at the profile's end.
    """
    profile = np.asarray(profile, float)
    outline = circle() if outline is None else outline
    low, high = profile[:, 1].min(), profile[:, 1].max()
    heights = [low, *cuts, high]
    parts = []
    for a, b in pairwise(heights):
        inside = profile[(profile[:, 1] >= a - 1e-9) & (profile[:, 1] <= b + 1e-9)]
        edges = [(np.interp(z, profile[:, 1], profile[:, 0]), z) for z in (a, b) if z not in (low, high)]
        parts.append(revolution_points(np.vstack([inside, *edges]), outline[:: max(1, len(outline) // 24)]))
    return Solid(_revolution_mesh(profile, image, outline), tuple(parts))


def revolution_points(profile: np.ndarray, outline: np.ndarray) -> np.ndarray:
    """Return a profile's points at every corner of the outline, shape (N * M, 3)."""
    ring = np.einsum("n,mk->nmk", profile[:, 0], outline)
    height = np.broadcast_to(profile[:, 1][:, None, None], (*ring.shape[:2], 1))
    return np.concatenate([ring, height], -1).reshape(-1, 3)


def _revolution_mesh(profile: np.ndarray, image: Image.Image, outline: np.ndarray) -> trimesh.Trimesh:
    """Return the surface of revolution. Sharp edges keep two sets of vertices, so that shading shows them."""
    around = np.vstack([outline, outline[:1]])
    wrap = np.linspace(0, 1, len(around))
    step = np.linalg.norm(np.diff(profile, axis=0), axis=1)
    along = np.concatenate([[0], np.cumsum(step)]) / step.sum()
    direction = np.diff(profile, axis=0) / step[:, None]
    sharp = [k + 1 for k in range(len(direction) - 1) if direction[k] @ direction[k + 1] < SHARP_EDGE_COSINE]
    vertices, faces, uvs, start = [], [], [], 0
    for first, last in zip([0, *sharp], [*sharp, len(profile) - 1], strict=True):
        rows, count = last - first + 1, len(around)
        vertices.append(revolution_points(profile[first : last + 1], around))
        uvs.append(np.stack([np.tile(wrap, rows), np.repeat(along[first : last + 1], count)], 1))
        for row in range(rows - 1):
            a = start + row * count + np.arange(count - 1)
            if profile[first + row, 0] > 0:
                faces.append(np.stack([a, a + 1, a + count + 1], 1))
            if profile[first + row + 1, 0] > 0:
                faces.append(np.stack([a, a + count + 1, a + count], 1))
        start += rows * count
    mesh = trimesh.Trimesh(np.vstack(vertices), np.vstack(faces), process=False)
    return textured_mesh(mesh, np.vstack(uvs), image)


def hollow_lathe(
    outer: Profile, inner: Profile, image: Image.Image, outline: np.ndarray | None = None, bands: int = 3
) -> Solid:
    """Return a container. `outer` runs from the axis up to the rim, `inner` from the axis up to the same height."""
    outer, inner = np.asarray(outer, float), np.asarray(inner, float)
    outline = circle() if outline is None else outline
    surface = _revolution_mesh(np.vstack([outer, inner[::-1]]), image, outline)
    return Solid(surface, hollow_part_vertices(outer, inner, outline, bands))


def hollow_part_vertices(
    outer: np.ndarray, inner: np.ndarray, outline: np.ndarray, bands: int = 3
) -> tuple[np.ndarray, ...]:
    """Return points (V, 3) of convex parts: the floor, and the wall as a ring of wedges in `bands` heights.

    `outer` and `inner` are profiles (N, 2) of radius and height. `outline` (M, 2) is the unit circle or replaces it.
    """
    floor, top = inner[:, 1].min(), outer[:, 1].max()

    def outside(z: float) -> float:
        return float(np.interp(z, *_radius_by_height(outer)))

    def inside(z: float) -> float:
        return float(np.interp(z, *_radius_by_height(inner)))

    disc = [(r, z) for r, z in outer if z <= floor] + [(outside(floor), floor)]
    parts = [revolution_points(np.array(disc), outline)]
    heights = np.linspace(floor, top, bands + 1)
    count = max(RING_SECTORS, len(outline)) if len(outline) < 2 * RING_SECTORS else RING_SECTORS
    ring = outline[np.round(np.linspace(0, len(outline), count + 1)).astype(int) % len(outline)]
    for a, b in pairwise(heights):
        section = np.array([(inside(a), a), (outside(a), a), (outside(b), b), (inside(b), b)])
        parts += [revolution_points(section, ring[k : k + 2]) for k in range(count)]
    return tuple(parts)


def _radius_by_height(profile: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return increasing heights and the largest radius at each, as np.interp takes them."""
    heights = np.unique(profile[:, 1])
    return heights, np.array([profile[profile[:, 1] == z, 0].max() for z in heights])


def ball(radius: float, image: Image.Image) -> Solid:
    """Return a sphere, flattened underneath by 1 % of its radius so that it does not roll."""
    angle = np.linspace(-np.arccos(0.14), np.pi / 2, 25)
    profile = np.vstack([[0, np.sin(angle[0])], np.c_[np.cos(angle), np.sin(angle)]]) * radius
    profile[-1, 0] = 0
    return lathe(profile, image)


def bowl(radius: float, height: float, image: Image.Image, outline: np.ndarray | None = None) -> Solid:
    """Return a round bowl, or a cup if taller than wide. The lower half of the image is the outside."""
    t = np.linspace(0, 1, 9)
    foot, wall = radius * np.clip(0.3 + 0.27 * height / radius, 0.45, 0.8), min(0.0045, 0.2 * radius, 0.2 * height)
    curve = foot + (radius - foot) * np.sin(t * np.pi / 2) ** 0.9
    outer = np.vstack([[0, 0], np.c_[curve, t * height]])
    inner = np.vstack([[0, wall], np.c_[curve - wall, wall + t * (height - wall)]])
    return hollow_lathe(outer, inner, image, outline, bands=3)


def loft(rings: np.ndarray, image: Image.Image) -> Solid:
    """Return a solid through convex outlines, shape (K, M, 3), lowest first, each anticlockwise.

    Each pair of neighbouring outlines makes a convex part.
    """
    count, sides = rings.shape[:2]
    ends = rings[[0, -1]].mean(axis=1)
    vertices = np.vstack([ends[:1], rings.reshape(-1, 3), ends[1:]])
    k = np.arange(sides)
    after = (k + 1) % sides
    last = 1 + (count - 1) * sides
    faces = [np.stack([np.zeros(sides, int), 1 + after, 1 + k], 1)]
    for row in range(count - 1):
        a, b = 1 + row * sides, 1 + (row + 1) * sides
        faces += [np.stack([a + k, a + after, b + after], 1), np.stack([a + k, b + after, b + k], 1)]
    faces.append(np.stack([last + k, last + after, np.full(sides, len(vertices) - 1)], 1))
    mesh = trimesh.Trimesh(vertices, np.vstack(faces), process=False)
    parts = tuple(np.vstack(pair) for pair in pairwise(rings))
    return Solid(textured_mesh(mesh, np.full((len(vertices), 2), 0.5), image), parts)


def tube(
    path: np.ndarray, radii: Sequence[float] | np.ndarray | float, image: Image.Image, sides: int = 14, cuts: int = 6
) -> Solid:
    """Return a round bar along a path of shape (N, 3), closed at both ends, with a radius at each point."""
    path = np.asarray(path, float)
    widths = np.broadcast_to(np.asarray(radii, float), len(path))
    ahead = np.gradient(path, axis=0)
    ahead /= np.linalg.norm(ahead, axis=1, keepdims=True)
    side = np.cross(ahead[0], np.eye(3)[np.argmin(np.abs(ahead[0]))])
    rings = []
    for point, radius, forward in zip(path, widths, ahead, strict=True):
        side = side - forward * (side @ forward)
        side /= np.linalg.norm(side)
        rings.append(point + radius * (circle(sides) @ np.stack([side, np.cross(forward, side)])))
    mesh = loft(np.array(rings), image).mesh
    k, n = np.arange(sides), len(path)
    along = np.concatenate([[0], np.repeat(np.linspace(0, 1, n), sides), [1]])
    uv = np.stack([np.concatenate([[0.5], np.tile(k / sides, n), [0.5]]), along], 1)
    stops = np.unique(np.round(np.linspace(0, n - 1, cuts + 1)).astype(int))
    parts = [np.vstack(rings[a : b + 1]) for a, b in pairwise(stops)]
    return Solid(textured_mesh(mesh, uv, image), tuple(parts))


def extrude(outline: np.ndarray, height: float, image: Image.Image) -> Solid:
    """Return a flat outline (N, 2), anticlockwise, extruded along z. The image covers it as seen from above.

    Its one convex part is its hull: join several solids for an outline that is not convex.
    """
    outline = np.asarray(outline, float)
    n = len(outline)
    top = mapbox_earcut.triangulate_float64(outline, np.array([n], np.uint32)).reshape(-1, 3).astype(int)
    a, b, c = (outline[top[:, k]] for k in range(3))
    turn = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    top[turn < 0] = top[turn < 0][:, ::-1]
    k = np.arange(n)
    after = (k + 1) % n
    faces = [top + n, top[:, ::-1]]
    faces += [np.stack([k, after, after + n], 1) + 2 * n, np.stack([k, after + n, k + n], 1) + 2 * n]
    low, high = np.c_[outline, np.full(n, -height / 2)], np.c_[outline, np.full(n, height / 2)]
    span = np.maximum(np.ptp(outline, axis=0), 1e-9)
    uv = np.tile((outline - outline.min(axis=0)) / span, (4, 1))
    mesh = trimesh.Trimesh(np.vstack([low, high, low, high]), np.vstack(faces), process=False)
    return Solid(textured_mesh(mesh, uv, image), (np.vstack([low, high]),))


def write_solid(solid: Solid, folder: Path) -> tuple[Path, tuple[Path, ...]]:
    """Write mesh.obj, mesh.mtl, texture.png and collision/*.obj to `folder`; return the files of mesh and parts."""
    (folder / "collision").mkdir(parents=True, exist_ok=True)
    mesh, uv = solid.mesh, texture_visual(solid.mesh).uv
    texture_visual(solid.mesh).material.image.save(folder / "texture.png", optimize=True)
    (folder / "mesh.mtl").write_text("newmtl skin\nKa 1 1 1\nKd 1 1 1\nKs 0 0 0\nmap_Kd texture.png\n")
    lines = ["mtllib mesh.mtl", "usemtl skin"]
    lines += ["v {:.6f} {:.6f} {:.6f}".format(*v) for v in mesh.vertices]
    lines += ["vt {:.5f} {:.5f}".format(*t) for t in uv]
    lines += ["vn {:.4f} {:.4f} {:.4f}".format(*n) for n in mesh.vertex_normals]
    lines += ["f {0}/{0}/{0} {1}/{1}/{1} {2}/{2}/{2}".format(*f) for f in mesh.faces + 1]
    (folder / "mesh.obj").write_text("\n".join(lines) + "\n")
    files = []
    for number, part in enumerate(solid.convex_parts):
        files.append(folder / "collision" / f"{number:02d}.obj")
        lines = ["v {:.6f} {:.6f} {:.6f}".format(*v) for v in part.vertices]
        lines += ["f {} {} {}".format(*f) for f in part.faces + 1]
        files[-1].write_text("\n".join(lines) + "\n")
    return folder / "mesh.obj", tuple(files)
