"""Repair OBJ files in which some faces name normals and others do not. Neither MuJoCo nor trimesh reads them."""

import re

FACE = re.compile(rb"^[ \t]*f[ \t](.*)$", re.MULTILINE)
NORMAL = re.compile(rb"^[ \t]*vn[ \t].*$", re.MULTILINE)
TEXTURE_COORDINATE = re.compile(rb"^[ \t]*vt[ \t]", re.MULTILINE)
TEXTURED_CORNER = re.compile(rb"[ \t]-?\d+/-?\d")
CORNER_NORMAL = re.compile(rb"/-?\d*/-?(\d{1,12})(?=\s|$)")
PLAIN_FACE = re.compile(rb"^[ \t]*f(?:[ \t]+-?\d+)+[ \t]*\r?$", re.MULTILINE)
"""A face of vertices alone."""
BARE_FACE = re.compile(rb"^[ \t]*f(?:[ \t]+-?\d+(?:/-?\d*)?)+[ \t]*\r?$", re.MULTILINE)
"""A face without normals."""


def consistent_obj(content: bytes, name: str) -> tuple[bytes, list[str]]:
    """Return an OBJ file whose faces all have the same, and a sentence about what was changed.

    It is returned as it is, but where some faces have no normals or no texture coordinates that others have, or name
    normals that do not exist. Then all normals go, and the file's first texture coordinate stands for a missing one.
    """
    used = {int(corner[1]) for corner in CORNER_NORMAL.finditer(content)}
    count = sum(1 for _ in NORMAL.finditer(content))
    loses_normals = bool(used) and (max(used) > count or BARE_FACE.search(content) is not None)
    if not loses_normals and not (PLAIN_FACE.search(content) and TEXTURED_CORNER.search(content)):
        return content, []
    missing = b"/1" if TEXTURE_COORDINATE.search(content) else b""

    def corner(text: bytes) -> bytes:
        vertex, coordinate = (*text.split(b"/"), b"")[:2]
        return vertex + (b"/" + coordinate if coordinate else missing)

    def face(line: re.Match[bytes]) -> bytes:
        return b"f " + b" ".join(map(corner, line[1].split()))

    content = FACE.sub(face, NORMAL.sub(b"", content))
    return content, [f"only some faces of its {name} name normals; all normals were left out"]
