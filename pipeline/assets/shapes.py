"""Solids to make assets of: a textured mesh to be seen, and convex pieces to be touched.

All are centred where their box is, z up, in metres. The library of our own making and the assets made from a view
are built from them alike.
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

CIRCLE = 40
"""Sides of a round mesh."""
RING = 16
"""Convex wedges around a hollow thing."""
SHARP = np.cos(np.deg2rad(35))
"""A profile that turns more than this has an edge there, not a rounding."""

Profile = Sequence[tuple[float, float]] | np.ndarray
"""Radius and height in metres, of shape (N, 2), from the axis at the bottom to the axis at the top."""


@dataclass(frozen=True, eq=False)
class Solid:
    mesh: trimesh.Trimesh
    """What is seen, with texture coordinates."""
    corners: tuple[np.ndarray, ...]
    """Of convex pieces that fill it, each of shape (N, 3)."""

    @cached_property
    def pieces(self) -> tuple[trimesh.Trimesh, ...]:
        """Convex pieces that fill it."""
        return tuple(hull(points) for points in self.corners)

    def moved(self, matrix: np.ndarray) -> "Solid":
        """The same under a transform of shape (4, 4)."""
        return Solid(
            self.mesh.copy().apply_transform(matrix),
            tuple(trimesh.transform_points(points, matrix) for points in self.corners),
        )

    def at(self, x: float = 0, y: float = 0, z: float = 0) -> "Solid":
        return self.moved(trimesh.transformations.translation_matrix([x, y, z]))

    def turned(self, degrees: float, axis: Sequence[float]) -> "Solid":
        return self.moved(np.asarray(trimesh.transformations.rotation_matrix(np.deg2rad(degrees), axis)))

    def painted(self, image: Image.Image) -> "Solid":
        """The same with another texture."""
        return Solid(textured(self.mesh, skin(self.mesh).uv, image), self.corners)

    def centred(self) -> "Solid":
        return self.at(*-self.mesh.bounds.mean(axis=0))


def skin(mesh: trimesh.Trimesh) -> Any:
    """The mesh's texture coordinates and material: trimesh's types allow for visuals that have neither."""
    return mesh.visual


def textured(mesh: trimesh.Trimesh, uv: np.ndarray, image: Image.Image) -> trimesh.Trimesh:
    """The mesh with a texture; uv of shape (V, 2), (0, 0) the image's lower left."""
    material = SimpleMaterial(image=image, diffuse=[255, 255, 255, 255])
    visual = TextureVisuals(uv=uv, material=material)
    return trimesh.Trimesh(mesh.vertices, mesh.faces, visual=visual, process=False)


def plain(rgb: Sequence[int]) -> Image.Image:
    """A texture of one colour, sRGB from 0 to 255."""
    return Image.new("RGB", (8, 8), tuple(int(c) for c in rgb))


def join(*solids: Solid) -> Solid:
    """Several solids as one: their textures one above the other in one image."""
    images = [skin(solid.mesh).material.image for solid in solids]
    width, heights = max(i.width for i in images), [i.height + 2 for i in images]
    sheet, top, uvs = Image.new("RGB", (width, sum(heights))), 0, []
    for solid, image, height in zip(solids, images, heights, strict=True):
        sheet.paste(image.resize((image.width, height)), (0, top))  # a seam of two rows, so that colours do not mix
        sheet.paste(image, (0, top + 1))
        uv = skin(solid.mesh).uv
        low = 1 - (top + 1 + image.height) / sheet.height
        uvs.append(np.stack([uv[:, 0] * image.width / width, low + uv[:, 1] * image.height / sheet.height], 1))
        top += height
    mesh = _stack([solid.mesh for solid in solids])
    return Solid(textured(mesh, np.vstack(uvs), sheet), tuple(p for solid in solids for p in solid.corners))


def _stack(meshes: Sequence[trimesh.Trimesh]) -> trimesh.Trimesh:
    starts = np.cumsum([0] + [len(m.vertices) for m in meshes])
    faces = [m.faces + start for m, start in zip(meshes, starts, strict=False)]
    return trimesh.Trimesh(np.vstack([m.vertices for m in meshes]), np.vstack(faces), process=False)


def hull(points: np.ndarray) -> trimesh.Trimesh:
    """The convex hull of points of shape (N, 3)."""
    return trimesh.convex.convex_hull(np.asarray(points, float))


def box(size: Sequence[float] | np.ndarray, image: Image.Image, cells: int = 1) -> Solid:
    """A box whose image is a strip of its faces: front (-y), right, back, left, then top and bottom.

    Each takes a sixth of the image's width. `cells` squares along each edge.
    """
    steps = np.linspace(0, 1, cells + 1)
    s, t = (grid.ravel() for grid in np.meshgrid(steps, steps))
    corner = np.arange(cells * (cells + 1)).reshape(cells, cells + 1)[:, :-1].ravel()
    square = np.stack([corner, corner + 1, corner + cells + 2, corner, corner + cells + 2, corner + cells + 1], 1)
    vertices, faces, uvs = [], [], []
    for place, (right, up) in enumerate(_BOX_FACES):
        right, up = np.array(right), np.array(up)
        vertices.append(np.outer(s - 0.5, right) + np.outer(t - 0.5, up) + np.cross(right, up) / 2)
        faces.append(square.reshape(-1, 3) + place * len(s))
        uvs.append(np.stack([(place + s) / 6, t], 1))
    mesh = trimesh.Trimesh(np.vstack(vertices) * np.asarray(size, float), np.vstack(faces), process=False)
    return Solid(textured(mesh, np.vstack(uvs), image), (trimesh.creation.box(size).vertices,))


_BOX_FACES = [((1, 0, 0), (0, 0, 1)), ((0, 1, 0), (0, 0, 1)), ((-1, 0, 0), (0, 0, 1)), ((0, -1, 0), (0, 0, 1)),
              ((1, 0, 0), (0, 1, 0)), ((1, 0, 0), (0, -1, 0))]  # fmt: skip
"""Right and up as seen from outside, in the order of the strip."""


def circle(sides: int = CIRCLE) -> np.ndarray:
    """Corners of a polygon in the unit circle, anticlockwise, of shape (sides, 2)."""
    angle = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    return np.stack([np.cos(angle), np.sin(angle)], 1)


def rounded_square(corner: float = 0.15, steps: int = 4) -> np.ndarray:
    """Half-width 1, anticlockwise, of shape (N, 2)."""
    angle = np.linspace(0, np.pi / 2, steps)
    arc = 1 - corner + corner * np.stack([np.cos(angle), np.sin(angle)], 1)
    quarter = np.array([[0, -1], [1, 0]])
    return np.vstack([arc @ np.linalg.matrix_power(quarter, k).T for k in range(4)])


def lathe(profile: Profile, image: Image.Image, outline: np.ndarray | None = None, cuts: Sequence[float] = ()) -> Solid:
    """A profile turned about z. `outline` (M, 2) replaces the unit circle; between `cuts` it is convex.

    The image is wrapped around once, its lower edge at the profile's start, its upper at the profile's end.
    """
    profile = np.asarray(profile, float)
    outline = circle() if outline is None else outline
    low, high = profile[:, 1].min(), profile[:, 1].max()
    heights = [low, *cuts, high]
    pieces = []
    for a, b in pairwise(heights):
        inside = profile[(profile[:, 1] >= a - 1e-9) & (profile[:, 1] <= b + 1e-9)]
        edges = [(np.interp(z, profile[:, 1], profile[:, 0]), z) for z in (a, b) if z not in (low, high)]
        pieces.append(revolve(np.vstack([inside, *edges]), outline[:: max(1, len(outline) // 24)]))
    return Solid(_turned(profile, image, outline), tuple(pieces))


def revolve(profile: np.ndarray, outline: np.ndarray) -> np.ndarray:
    """All points of a turned profile, of shape (N * M, 3)."""
    ring = np.einsum("n,mk->nmk", profile[:, 0], outline)
    height = np.broadcast_to(profile[:, 1][:, None, None], (*ring.shape[:2], 1))
    return np.concatenate([ring, height], -1).reshape(-1, 3)


def _turned(profile: np.ndarray, image: Image.Image, outline: np.ndarray) -> trimesh.Trimesh:
    """The surface of a turned profile; sharp edges keep two sets of vertices, so that they look sharp."""
    around = np.vstack([outline, outline[:1]])
    wrap = np.linspace(0, 1, len(around))
    step = np.linalg.norm(np.diff(profile, axis=0), axis=1)
    along = np.concatenate([[0], np.cumsum(step)]) / step.sum()
    direction = np.diff(profile, axis=0) / step[:, None]
    sharp = [k + 1 for k in range(len(direction) - 1) if direction[k] @ direction[k + 1] < SHARP]
    vertices, faces, uvs, start = [], [], [], 0
    for first, last in zip([0, *sharp], [*sharp, len(profile) - 1], strict=True):
        rows, count = last - first + 1, len(around)
        vertices.append(revolve(profile[first : last + 1], around))
        uvs.append(np.stack([np.tile(wrap, rows), np.repeat(along[first : last + 1], count)], 1))
        for row in range(rows - 1):
            a = start + row * count + np.arange(count - 1)
            if profile[first + row, 0] > 0:
                faces.append(np.stack([a, a + 1, a + count + 1], 1))
            if profile[first + row + 1, 0] > 0:
                faces.append(np.stack([a, a + count + 1, a + count], 1))
        start += rows * count
    mesh = trimesh.Trimesh(np.vstack(vertices), np.vstack(faces), process=False)
    return textured(mesh, np.vstack(uvs), image)


def hollow(
    outer: Profile, inner: Profile, image: Image.Image, outline: np.ndarray | None = None, bands: int = 3
) -> Solid:
    """Something to put things in: `outer` from the axis up to the rim, `inner` from the axis up to the same height."""
    outer, inner = np.asarray(outer, float), np.asarray(inner, float)
    outline = circle() if outline is None else outline
    surface = _turned(np.vstack([outer, inner[::-1]]), image, outline)
    return Solid(surface, hollow_corners(outer, inner, outline, bands))


def hollow_corners(outer: np.ndarray, inner: np.ndarray, outline: np.ndarray, bands: int = 3) -> tuple[np.ndarray, ...]:
    """Vertices (V, 3) of convex pieces: the floor, and the wall as a ring of wedges in `bands` heights.

    `outer` and `inner` are profiles (N, 2) of radius and height, `outline` (M, 2) the unit circle or what replaces it.
    """
    floor, top = inner[:, 1].min(), outer[:, 1].max()

    def outside(z: float) -> float:
        return float(np.interp(z, *_rising(outer)))

    def inside(z: float) -> float:
        return float(np.interp(z, *_rising(inner)))

    disc = [(r, z) for r, z in outer if z <= floor] + [(outside(floor), floor)]
    pieces = [revolve(np.array(disc), outline)]
    heights = np.linspace(floor, top, bands + 1)
    count = max(RING, len(outline)) if len(outline) < 2 * RING else RING
    ring = outline[np.round(np.linspace(0, len(outline), count + 1)).astype(int) % len(outline)]
    for a, b in pairwise(heights):
        section = np.array([(inside(a), a), (outside(a), a), (outside(b), b), (inside(b), b)])
        pieces += [revolve(section, ring[k : k + 2]) for k in range(count)]
    return tuple(pieces)


def _rising(profile: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Heights and radii of a profile, with one radius, the widest, at each height: what np.interp takes."""
    heights = np.unique(profile[:, 1])
    return heights, np.array([profile[profile[:, 1] == z, 0].max() for z in heights])


def ball(radius: float, image: Image.Image) -> Solid:
    """A sphere, flattened underneath by 1 % of its radius, so that it stays where it is put."""
    angle = np.linspace(-np.arccos(0.14), np.pi / 2, 25)
    profile = np.vstack([[0, np.sin(angle[0])], np.c_[np.cos(angle), np.sin(angle)]]) * radius
    profile[-1, 0] = 0
    return lathe(profile, image)


def bowl(radius: float, height: float, image: Image.Image, outline: np.ndarray | None = None) -> Solid:
    """A round bowl, or a cup where it is taller than wide; the image's lower half lies outside."""
    t = np.linspace(0, 1, 9)
    foot, wall = radius * np.clip(0.3 + 0.27 * height / radius, 0.45, 0.8), min(0.0045, 0.2 * radius, 0.2 * height)
    curve = foot + (radius - foot) * np.sin(t * np.pi / 2) ** 0.9
    outer = np.vstack([[0, 0], np.c_[curve, t * height]])
    inner = np.vstack([[0, wall], np.c_[curve - wall, wall + t * (height - wall)]])
    return hollow(outer, inner, image, outline, bands=3)


def layers(rings: np.ndarray, image: Image.Image) -> Solid:
    """A solid between convex outlines, one above the other: of shape (K, M, 3), lowest first, anticlockwise.

    Each two neighbours make a convex piece.
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
    pieces = tuple(np.vstack(pair) for pair in pairwise(rings))
    return Solid(textured(mesh, np.full((len(vertices), 2), 0.5), image), pieces)


def tube(
    path: np.ndarray, radii: Sequence[float] | np.ndarray | float, image: Image.Image, sides: int = 14, cuts: int = 6
) -> Solid:
    """A round bar along a path of shape (N, 3), closed at both ends, its radius given at each point."""
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
    mesh = layers(np.array(rings), image).mesh
    k, n = np.arange(sides), len(path)
    along = np.concatenate([[0], np.repeat(np.linspace(0, 1, n), sides), [1]])
    uv = np.stack([np.concatenate([[0.5], np.tile(k / sides, n), [0.5]]), along], 1)
    stops = np.unique(np.round(np.linspace(0, n - 1, cuts + 1)).astype(int))
    pieces = [np.vstack(rings[a : b + 1]) for a, b in pairwise(stops)]
    return Solid(textured(mesh, uv, image), tuple(pieces))


def extrude(outline: np.ndarray, height: float, image: Image.Image) -> Solid:
    """A flat outline (N, 2), anticlockwise, raised along z; the image lies on it as seen from above.

    Its one convex piece is its hull: join several for an outline that is not convex.
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
    return Solid(textured(mesh, uv, image), (np.vstack([low, high]),))


def write(solid: Solid, folder: Path) -> tuple[Path, tuple[Path, ...]]:
    """mesh.obj, mesh.mtl, texture.png and collision/*.obj under `folder`: the files of the mesh and of its pieces."""
    (folder / "collision").mkdir(parents=True, exist_ok=True)
    mesh, uv = solid.mesh, skin(solid.mesh).uv
    skin(solid.mesh).material.image.save(folder / "texture.png", optimize=True)
    (folder / "mesh.mtl").write_text("newmtl skin\nKa 1 1 1\nKd 1 1 1\nKs 0 0 0\nmap_Kd texture.png\n")
    lines = ["mtllib mesh.mtl", "usemtl skin"]
    lines += ["v {:.6f} {:.6f} {:.6f}".format(*v) for v in mesh.vertices]
    lines += ["vt {:.5f} {:.5f}".format(*t) for t in uv]
    lines += ["vn {:.4f} {:.4f} {:.4f}".format(*n) for n in mesh.vertex_normals]
    lines += ["f {0}/{0}/{0} {1}/{1}/{1} {2}/{2}/{2}".format(*f) for f in mesh.faces + 1]
    (folder / "mesh.obj").write_text("\n".join(lines) + "\n")
    files = []
    for number, piece in enumerate(solid.pieces):
        files.append(folder / "collision" / f"{number:02d}.obj")
        lines = ["v {:.6f} {:.6f} {:.6f}".format(*v) for v in piece.vertices]
        lines += ["f {} {} {}".format(*f) for f in piece.faces + 1]
        files[-1].write_text("\n".join(lines) + "\n")
    return folder / "mesh.obj", tuple(files)
