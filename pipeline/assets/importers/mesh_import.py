"""Converts a mesh file to the library's form: metric, upright, centred, one textured mesh; and lists its problems."""

import io
import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import trimesh
from PIL import Image
from trimesh.visual import TextureVisuals
from trimesh.visual.material import SimpleMaterial

from pipeline.assets.asset import AssetError, reader_errors
from pipeline.assets.importers.compiled_model import plain_visual
from pipeline.assets.importers.drop import Drop, NamedFiles
from pipeline.assets.importers.obj_repair import consistent_obj
from pipeline.store import parse_json

Units = Literal["m", "cm", "mm", "in"]
METRES_PER_UNIT: dict[Units, float] = {"m": 1.0, "cm": 0.01, "mm": 0.001, "in": 0.0254}
MAX_IMPLICIT_METRES, MAX_LENGTH_M, MIN_LENGTH_M = 1.0, 2.0, 0.005
"""Longest side in metres: files without units are metric up to the first; the others bound what fits on a table."""
MAX_TEXTURE_PIXELS = 1024
"""Longest side of a texture."""
MAX_FACES = 60_000
UP_AXIS_ROTATIONS = {
    "z": np.eye(3),
    "y": np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]),
    "x": np.array([[0.0, 0, -1], [0, 1, 0], [1, 0, 0]]),
}
"""World-from-file rotations that bring the named axis up."""

DECODED = {"KHR_draco_mesh_compression", "KHR_mesh_quantization", "KHR_materials_pbrSpecularGlossiness"}
LOOKS = ("KHR_materials_", "KHR_texture_", "EXT_texture_", "MSFT_texture_")
"""Beginnings of extensions that change only how a mesh looks."""
INTEGERS: dict[int, type[np.integer]] = {5120: np.int8, 5121: np.uint8, 5122: np.int16, 5123: np.uint16}
FLOAT = 5126
COLUMNS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}


class AmbiguousUnitsError(AssetError):
    """A file that does not state its units, with a size that fits several."""

    def __init__(self, message: str, longest: float):
        super().__init__(message)
        self.longest = longest
        """Longest side in units of the file."""
        self.mesh: trimesh.Trimesh | None = None
        """The cleaned mesh in the file's axes."""


@dataclass(frozen=True, eq=False)
class CleanMesh:
    """A mesh in the library's form."""

    mesh: trimesh.Trimesh
    """In metres, z up, the centre of its bounding box at the origin."""
    library_from_file: np.ndarray
    """The transform that was applied, shape (4, 4), for the other contents of the file."""
    warnings: tuple[str, ...]
    """Problems, repaired or not, one sentence each."""


def read_mesh(path: Path, root: Path | None = None) -> tuple[trimesh.Trimesh, list[str]]:
    """Return the contents of a mesh file as one mesh with a texture, and warnings about what was lost.

    `root` is the folder of all files that were given with it, by default its own. Raises AssetError.
    """
    scene, warnings = _scene(path, Drop(root or path.parent))
    with reader_errors(path):
        parts = [part for part in scene.dump() if isinstance(part, trimesh.Trimesh) and len(part.faces)]
        if not parts:
            raise AssetError(f"{path.name} {_empty_reason(path)}; export it again")
        if any(part.vertices.ndim != 2 or part.vertices.shape[1] != 3 for part in parts):
            raise AssetError(f"{path.name} has vertices that are no points in space; export it again")
        if any(part.faces.min() < 0 or part.faces.max() >= len(part.vertices) for part in parts):
            raise AssetError(f"{path.name} has faces of vertices that it does not hold; export it again")
        for part in parts:
            part.visual = _texture_from_colours(part)
        joined = trimesh.util.concatenate(parts) if len(parts) > 1 else parts[0]
        assert isinstance(joined, trimesh.Trimesh)
        return joined, warnings


def _scene(path: Path, drop: Drop) -> tuple[trimesh.Scene, list[str]]:
    """Load a file, with warnings. Raises AssetError: trimesh's own messages are about its chunks and buffers."""
    content, files, warnings = drop.read(path), NamedFiles(drop, path.parent), list[str]()
    if path.suffix.lower() == ".glb":
        content, warnings = _readable_glb(content, path.name)
    elif path.suffix.lower() == ".obj":
        content, warnings = consistent_obj(content, path.name)
    try:
        scene = trimesh.load_scene(io.BytesIO(content), file_type=path.suffix[1:].lower(), resolver=files)
        return scene, [*warnings, *(f"its {name} is missing; give it too" for name in dict.fromkeys(files.missing))]
    except (MemoryError, AssetError):
        raise
    except FileNotFoundError as error:
        lost = Path(str(error.filename or error)).name
        raise AssetError(f"{path.name} needs a file that is not there: {lost}; import the two together") from None
    except Exception:
        raise AssetError(f"{path.name} is cut short or damaged; export it again") from None


def _empty_reason(path: Path) -> str:
    """Return why a file that could be read has no triangles: trimesh drops vertices that are not numbers."""
    meshes = trimesh.load_scene(path, process=False).geometry.values()
    if any(len(mesh.vertices) and not np.isfinite(mesh.vertices).all() for mesh in meshes):
        return "has vertices that are not numbers"
    return "cannot be read: it holds no triangles, or is cut short"


def clean_mesh(mesh: trimesh.Trimesh, name: str, units: Units | None, up: str | None) -> CleanMesh:
    """Return the mesh scaled, rotated upright and centred, without degenerate faces.

    Raises AssetError, and AmbiguousUnitsError if the units are neither given nor clear from the size.
    """
    warnings: list[str] = []
    finite = np.atleast_1d(np.isfinite(mesh.vertices).all(axis=1))
    solid = finite[mesh.faces].all(axis=1) & mesh.nondegenerate_faces(height=0)
    if not finite.any():
        raise AssetError(f"{name} has vertices that are not numbers; export it again")
    if not solid.any():
        raise AssetError(f"{name} contains no surface; export it again")
    if not solid.all():
        warnings.append(f"{np.count_nonzero(~solid)} faces had no area and were removed")
    if (thin := float(np.ptp(mesh.vertices[finite], axis=0).min())) < 1e-6 * mesh.extents.max():
        raise AssetError(f"{name} is flat ({thin:.2g} thick); an object has a thickness")
    mesh = mesh.copy()
    mesh.update_faces(solid)
    mesh.merge_vertices(merge_norm=True)
    mesh, fewer = _decimated(mesh)
    warnings += fewer
    try:
        factor = metres_per_unit(float(mesh.extents.max()), name, units)
    except AmbiguousUnitsError as doubt:
        doubt.mesh = mesh
        raise
    turn = np.eye(4)
    turn[:3, :3] = factor * UP_AXIS_ROTATIONS[up or "z"]
    mesh.apply_transform(turn)
    middle = np.eye(4)
    middle[:3, 3] = -mesh.bounds.mean(axis=0)
    mesh.apply_transform(middle)
    longest = float(mesh.extents.max())
    if not MIN_LENGTH_M <= longest <= MAX_LENGTH_M:
        warnings.append(f"it is {_format_length(longest)} long, absurd for an object on a table: check its units")
    warnings += _repair_surface(mesh)
    return CleanMesh(mesh, middle @ turn, tuple(warnings))


def metres_per_unit(longest: float, name: str, units: Units | None) -> float:
    """Return the factor to metres. Without units, a file is metric if that is plausible; glTF should be.

    Raises AmbiguousUnitsError otherwise.
    """
    if units is not None:
        return METRES_PER_UNIT[units]
    if longest <= (MAX_LENGTH_M if name.lower().endswith((".glb", ".gltf")) else MAX_IMPLICIT_METRES):
        return 1.0
    plausible = [
        f"{unit} ({_format_length(longest * factor)})"
        for unit, factor in METRES_PER_UNIT.items()
        if MIN_LENGTH_M <= longest * factor <= MAX_LENGTH_M
    ]
    guess = f"it may be in {' or '.join(plausible)}" if plausible else "no common unit makes it fit on a table"
    message = f"{name} is {longest:.4g} units long and does not state its units: {guess}; give --units m, cm, mm or in"
    raise AmbiguousUnitsError(message, longest)


def _format_length(value: float) -> str:
    return f"{value:.2f} m" if value >= 1 else f"{100 * value:.3g} cm" if value >= 0.01 else f"{1000 * value:.2g} mm"


def _decimated(mesh: trimesh.Trimesh) -> tuple[trimesh.Trimesh, list[str]]:
    """Return the mesh with at most MAX_FACES, and a warning if it changed. Textured meshes stay as they are:
    decimation would break their texture coordinates."""
    if len(mesh.faces) <= MAX_FACES or has_texture(mesh):
        return mesh, []
    import open3d as o3d  # takes a second: not at start-up

    dense = o3d.geometry.TriangleMesh(o3d.utility.Vector3dVector(mesh.vertices), o3d.utility.Vector3iVector(mesh.faces))
    coarse = dense.simplify_quadric_decimation(MAX_FACES)
    made = trimesh.Trimesh(np.asarray(coarse.vertices), np.asarray(coarse.triangles), process=False)
    colour = np.asarray(getattr(mesh.visual, "main_color", (180, 180, 180, 255)))[:3]
    made.visual = plain_visual(len(made.vertices), colour)
    return made, [f"its {len(mesh.faces):,} faces were reduced to {len(made.faces):,}"]


def has_texture(mesh: trimesh.Trimesh) -> bool:
    """Whether a mesh has a picture, not just one colour."""
    image = getattr(getattr(mesh.visual, "material", None), "image", None)
    return image is not None and max(image.size) > 4


def _repair_surface(mesh: trimesh.Trimesh) -> list[str]:
    """Turn an inside-out mesh, and return warnings about holes and orientation."""
    welded = trimesh.Trimesh(np.round(mesh.vertices, 6), mesh.faces)
    welded.merge_vertices(merge_tex=True, merge_norm=True)
    warnings, nearly_closed = [], True
    if not welded.is_watertight:
        open_edges = len(trimesh.grouping.group_rows(welded.edges_sorted, require_count=1))
        holes = f"has holes ({open_edges} open edges)" if open_edges else "has sheets that meet in one edge"
        warnings.append(f"its surface {holes}; its convex hull is used for its volume")
        # Open edges over all edges, up to which the sign of the volume tells whether the mesh is inside out
        nearly_closed = open_edges < 0.02 * len(welded.edges_unique)
    if not welded.is_winding_consistent:
        warnings.append("some of its faces point inwards")
    elif nearly_closed and welded.volume < 0:
        mesh.invert()
        warnings.append("it was inside out and was turned")
    return warnings


def _texture_from_colours(mesh: trimesh.Trimesh) -> TextureVisuals:
    """Return a mesh's colours of any kind as a texture, the only kind that a library stores."""
    visual = mesh.visual
    if isinstance(visual, TextureVisuals) and visual.uv is not None:
        material = visual.material
        if not isinstance(material, SimpleMaterial):
            material = material.to_simple()
        image = getattr(material, "image", None)
        if image is not None:
            return TextureVisuals(uv=visual.uv, material=SimpleMaterial(image=limit_texture_size(image)))
        return plain_visual(len(mesh.vertices), np.asarray(material.main_color)[:3])
    painted = visual.to_color() if isinstance(visual, TextureVisuals) else visual
    colours = np.asarray(getattr(painted, "face_colors", ()))
    if len(colours) != len(mesh.faces) or (np.ptp(colours[:, :3], axis=0) < 8).all():
        return plain_visual(len(mesh.vertices), np.median(colours, axis=0)[:3])
    return _texel_per_face(mesh, colours[:, :3])


def _texel_per_face(mesh: trimesh.Trimesh, colours: np.ndarray) -> TextureVisuals:
    """Return a texture with one texel per face. Changes the mesh so that no vertex is shared."""
    side = int(np.ceil(np.sqrt(len(colours))))
    picture = np.zeros((side * side, 3), np.uint8)
    picture[: len(colours)] = colours
    row, column = np.divmod(np.arange(len(colours)), side)
    uv = np.stack([(column + 0.5) / side, 1 - (row + 0.5) / side], 1)
    mesh.unmerge_vertices()
    image = Image.fromarray(picture.reshape(side, side, 3))
    return TextureVisuals(uv=np.repeat(uv, 3, axis=0), material=SimpleMaterial(image=image))


def limit_texture_size(image: Image.Image) -> Image.Image:
    """Return the image without transparency, its longest side at most MAX_TEXTURE_PIXELS."""
    image = image.convert("RGB")
    if max(image.size) > MAX_TEXTURE_PIXELS:
        image.thumbnail((MAX_TEXTURE_PIXELS, MAX_TEXTURE_PIXELS))
    return image


def _readable_glb(content: bytes, name: str) -> tuple[bytes, list[str]]:
    """Return the file with its quantised numbers as floats, and warnings about what is lost.

    Raises AssetError if it needs an extension that is not decoded. Anything that is no GLB is returned unchanged.
    """
    try:
        magic, _, _, length, kind = struct.unpack_from("<4sIIII", content)
        document = parse_json(content[20 : 20 + length]) if magic == b"glTF" and kind == 0x4E4F534A else None
    except (struct.error, ValueError):
        document = None
    if not isinstance(document, dict):
        return content, []
    needed = [one for one in document.get("extensionsRequired", ()) if one not in DECODED]
    unread = [one for one in needed if not str(one).startswith(LOOKS)]
    if unread:
        raise AssetError(f"{name} needs {unread[0]}, which is not read here; export it without compression")
    pictures = {image.get("mimeType") for image in document.get("images", ())} - {"image/png", "image/jpeg", None}
    warnings = [f"its texture is {kind} and was left out; export it with PNG or JPEG" for kind in sorted(pictures)]
    binary = bytearray(content[28 + length :])
    try:
        quantised = _quantised_accessors(document)
        for accessor in quantised:
            _as_floats(document, accessor, binary)
    except (LookupError, TypeError, ValueError):
        raise AssetError(f"{name} is cut short or damaged; export it again") from None
    return _packed(document, binary) if quantised else content, warnings


def _quantised_accessors(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the accessors of positions, normals and texture coordinates that are stored as integers."""
    numbers = {
        number
        for mesh in document.get("meshes", ())
        for primitive in mesh["primitives"]
        if "KHR_draco_mesh_compression" not in primitive.get("extensions", {})
        for name, number in primitive["attributes"].items()
        if name.startswith(("POSITION", "NORMAL", "TEXCOORD"))
    }
    accessors = (document["accessors"][number] for number in sorted(numbers))
    return [one for one in accessors if one["componentType"] in INTEGERS and "bufferView" in one]


def _as_floats(document: dict[str, Any], accessor: dict[str, Any], binary: bytearray) -> None:
    """Let an accessor read floats from the end of the file: integers over their largest, if it is normalised."""
    view, kind = document["bufferViews"][accessor["bufferView"]], np.dtype(INTEGERS[accessor["componentType"]])
    shape = accessor["count"], COLUMNS[accessor["type"]]
    stride = view.get("byteStride", shape[1] * kind.itemsize)
    start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
    stored = np.ndarray(shape, kind, bytes(binary), start, (stride, kind.itemsize))
    values = stored.astype(np.float32)
    if accessor.pop("normalized", False):
        values = np.maximum(values / np.iinfo(kind).max, -1)
    binary.extend(bytes(-len(binary) % 4))
    document["bufferViews"].append({"buffer": 0, "byteOffset": len(binary), "byteLength": values.nbytes})
    binary.extend(values.tobytes())
    accessor |= {"componentType": FLOAT, "byteOffset": 0, "bufferView": len(document["bufferViews"]) - 1}
    for end in ("min", "max"):
        accessor.pop(end, None)


def _packed(document: dict[str, Any], binary: bytearray) -> bytes:
    document["buffers"][0]["byteLength"] = len(binary)
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    body = bytes(binary) + bytes(-len(binary) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(body), 0x004E4942) + body
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks
