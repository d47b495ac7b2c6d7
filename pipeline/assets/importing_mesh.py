"""A mesh from anywhere made fit for a library: metric, upright, centred, in one textured piece; and what is wrong with
it said."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import trimesh
from PIL import Image
from trimesh.visual import TextureVisuals
from trimesh.visual.material import SimpleMaterial

from pipeline.assets.asset import AssetError
from pipeline.assets.mesh import readable

Units = Literal["m", "cm", "mm", "in"]
METRES: dict[Units, float] = {"m": 1.0, "cm": 0.01, "mm": 0.001, "in": 0.0254}
SURE, LARGEST, SMALLEST = 1.0, 2.0, 0.005
"""Longest side in metres: up to the first a file without units is metric; beyond the others it is absurd."""
FINEST = 1024
"""Longest side of a texture, in pixels."""
MOST_FACES = 60_000
MEND = 0.02
"""Share of open edges up to which a surface still has an inside."""
UP = {
    "z": np.eye(3),
    "y": np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]),
    "x": np.array([[0.0, 0, -1], [0, 1, 0], [1, 0, 0]]),
}
"""World-from-file rotations that bring the named axis up."""


class UnitsInDoubt(AssetError):
    """A file that does not say its units, and whose size does not either."""

    def __init__(self, sentence: str, longest: float):
        super().__init__(sentence)
        self.longest = longest
        """Its longest side, in units of the file."""
        self.mesh: trimesh.Trimesh | None = None
        """What it is about, cleaned, as it lies in its file."""


@dataclass(frozen=True, eq=False)
class Clean:
    """A mesh fit for a library."""

    mesh: trimesh.Trimesh
    """In metres, z up, the middle of its box at the origin."""
    library_from_file: np.ndarray
    """Of shape (4, 4): what else the file holds is brought along by it."""
    wrong: tuple[str, ...]
    """What is wrong with it, or was, one sentence each."""


def read_mesh(path: Path) -> trimesh.Trimesh:
    """Any mesh file in one piece, with a texture. Raises AssetError."""
    scene = _scene(path)
    with readable(path):
        parts = [part for part in scene.dump() if isinstance(part, trimesh.Trimesh) and len(part.faces)]
        if not parts:
            raise AssetError(f"{path.name} {_nothing(path)}; export it again")
        for part in parts:
            part.visual = _textured(part)
        joined = trimesh.util.concatenate(parts) if len(parts) > 1 else parts[0]
        assert isinstance(joined, trimesh.Trimesh)
        return joined


def _scene(path: Path) -> trimesh.Scene:
    """Raises AssetError in words of the person's, not of the reader's, which are of its own chunks and buffers."""
    try:
        return trimesh.load_scene(path)
    except MemoryError:
        raise
    except FileNotFoundError as error:
        lost = Path(str(error.filename or error)).name
        raise AssetError(f"{path.name} names a file that is not there: {lost}; bring in the two together") from None
    except Exception:
        raise AssetError(f"{path.name} is cut short or damaged; export it again") from None


def _nothing(path: Path) -> str:
    """Why a file that was read has no triangles: the reader drops vertices that are not numbers."""
    kept = trimesh.load_scene(path, process=False).geometry.values()
    if any(len(one.vertices) and not np.isfinite(one.vertices).all() for one in kept):
        return "has vertices that are not numbers"
    return "cannot be read: it holds no triangles, or is cut short"


def clean(mesh: trimesh.Trimesh, name: str, units: Units | None, up: str | None) -> Clean:
    """Scaled, turned, centred, without what is no surface. Raises AssetError, UnitsInDoubt where these are."""
    wrong: list[str] = []
    finite = np.atleast_1d(np.isfinite(mesh.vertices).all(axis=1))
    solid = finite[mesh.faces].all(axis=1) & mesh.nondegenerate_faces(height=0)
    if not finite.any():
        raise AssetError(f"{name} has vertices that are not numbers; export it again")
    if not solid.any():
        raise AssetError(f"{name} holds no surface")
    if not solid.all():
        wrong.append(f"{np.count_nonzero(~solid)} faces had no area and were left out")
    mesh = mesh.copy()
    mesh.update_faces(solid)
    mesh.merge_vertices(merge_norm=True)
    mesh, fewer = _thinned(mesh)
    wrong += fewer
    try:
        factor = metres(float(mesh.extents.max()), name, units)
    except UnitsInDoubt as doubt:
        doubt.mesh = mesh
        raise
    turn = np.eye(4)
    turn[:3, :3] = factor * UP[up or "z"]
    mesh.apply_transform(turn)
    middle = np.eye(4)
    middle[:3, 3] = -mesh.bounds.mean(axis=0)
    mesh.apply_transform(middle)
    longest = float(mesh.extents.max())
    if not SMALLEST <= longest <= LARGEST:
        wrong.append(f"it is {_length(longest)} long: absurd for a thing on a table; its units may be others")
    wrong += _surface_faults(mesh)
    return Clean(mesh, middle @ turn, tuple(wrong))


def metres(longest: float, name: str, units: Units | None) -> float:
    """The factor to metres. Without units a file is metric where that is plausible. Raises UnitsInDoubt elsewhere."""
    if units is not None:
        return METRES[units]
    if longest <= SURE:
        return 1.0
    plausible = [f"{unit} ({_length(longest * factor)})" for unit, factor in METRES.items()
                 if SMALLEST <= longest * factor <= LARGEST]  # fmt: skip
    told = f"it may be in {' or '.join(plausible)}" if plausible else "no usual unit makes it fit on a table"
    said = f"{name} is {longest:.4g} units long and does not say which: {told}; give --units m, cm, mm or in"
    raise UnitsInDoubt(said, longest)


def _length(value: float) -> str:
    return f"{value:.2f} m" if value >= 1 else f"{100 * value:.3g} cm" if value >= 0.01 else f"{1000 * value:.2g} mm"


def _thinned(mesh: trimesh.Trimesh) -> tuple[trimesh.Trimesh, list[str]]:
    """Scans of a million faces say no more in a picture than some ten thousand; textures must stay, so only bare ones
    are thinned."""
    if len(mesh.faces) <= MOST_FACES or _has_picture(mesh):
        return mesh, []
    import open3d as o3d  # takes a second: not at start-up

    dense = o3d.geometry.TriangleMesh(o3d.utility.Vector3dVector(mesh.vertices), o3d.utility.Vector3iVector(mesh.faces))
    thin = dense.simplify_quadric_decimation(MOST_FACES)
    made = trimesh.Trimesh(np.asarray(thin.vertices), np.asarray(thin.triangles), process=False)
    colour = np.asarray(getattr(mesh.visual, "main_color", (180, 180, 180, 255)))[:3]
    made.visual = plain(len(made.vertices), colour)
    return made, [f"its {len(mesh.faces):,} faces were thinned to {len(made.faces):,}"]


def _has_picture(mesh: trimesh.Trimesh) -> bool:
    image = getattr(getattr(mesh.visual, "material", None), "image", None)
    return image is not None and max(image.size) > 4


def _surface_faults(mesh: trimesh.Trimesh) -> list[str]:
    """Holes and inside-out surfaces; what is inside out is turned."""
    welded = trimesh.Trimesh(np.round(mesh.vertices, 6), mesh.faces)
    welded.merge_vertices(merge_tex=True, merge_norm=True)
    found, nearly = [], True
    if not welded.is_watertight:
        open_edges = len(trimesh.grouping.group_rows(welded.edges_sorted, require_count=1))
        holes = f"has holes ({open_edges} open edges)" if open_edges else "has sheets that meet in one edge"
        found.append(f"its surface {holes}; its hull stands in for its volume")
        nearly = open_edges < MEND * len(welded.edges_unique)
    if not welded.is_winding_consistent:
        found.append("some of its faces look inwards")
    elif nearly and welded.volume < 0:
        mesh.invert()
        found.append("it was inside out and was turned")
    return found


def _textured(mesh: trimesh.Trimesh) -> TextureVisuals:
    """Every kind of colour as a texture, since libraries know no other."""
    visual = mesh.visual
    if isinstance(visual, TextureVisuals) and visual.uv is not None:
        material = visual.material
        if not isinstance(material, SimpleMaterial):
            material = material.to_simple()
        image = getattr(material, "image", None)
        if image is not None:
            return TextureVisuals(uv=visual.uv, material=SimpleMaterial(image=small(image)))
        return plain(len(mesh.vertices), np.asarray(material.main_color)[:3])
    painted = visual.to_color() if isinstance(visual, TextureVisuals) else visual
    colours = np.asarray(getattr(painted, "face_colors", ()))
    if len(colours) != len(mesh.faces) or (np.ptp(colours[:, :3], axis=0) < 8).all():
        return plain(len(mesh.vertices), np.median(colours, axis=0)[:3])
    return _painted(mesh, colours[:, :3])


def _painted(mesh: trimesh.Trimesh, colours: np.ndarray) -> TextureVisuals:
    """A texel for each face: changes the mesh so that no vertex is shared."""
    side = int(np.ceil(np.sqrt(len(colours))))
    picture = np.zeros((side * side, 3), np.uint8)
    picture[: len(colours)] = colours
    row, column = np.divmod(np.arange(len(colours)), side)
    uv = np.stack([(column + 0.5) / side, 1 - (row + 0.5) / side], 1)
    mesh.unmerge_vertices()
    image = Image.fromarray(picture.reshape(side, side, 3))
    return TextureVisuals(uv=np.repeat(uv, 3, axis=0), material=SimpleMaterial(image=image))


def plain(count: int, colour: np.ndarray) -> TextureVisuals:
    """One colour (3,), 0-255, as a tiny texture."""
    image = Image.new("RGB", (4, 4), tuple(int(c) for c in colour))
    return TextureVisuals(uv=np.full((count, 2), 0.5), material=SimpleMaterial(image=image))


def small(image: Image.Image) -> Image.Image:
    """No larger than FINEST, without transparency."""
    image = image.convert("RGB")
    if max(image.size) > FINEST:
        image.thumbnail((FINEST, FINEST))
    return image
