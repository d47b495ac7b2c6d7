"""Rewrites binary glTF files that trimesh would misread: quantised numbers, and what nothing here decodes."""

import json
import struct
from typing import Any

import numpy as np

from pipeline.assets.asset import AssetError
from pipeline.store import parse_json

DECODED = {"KHR_draco_mesh_compression", "KHR_mesh_quantization", "KHR_materials_pbrSpecularGlossiness"}
LOOKS = ("KHR_materials_", "KHR_texture_", "EXT_texture_", "MSFT_texture_")
"""Beginnings of extensions that change only how a mesh looks."""
INTEGERS: dict[int, type[np.integer]] = {5120: np.int8, 5121: np.uint8, 5122: np.int16, 5123: np.uint16}
FLOAT = 5126
COLUMNS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}


def readable_glb(content: bytes, name: str) -> tuple[bytes, list[str]]:
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
