"""Read files of Gaussian splats, .ply of 3DGS, .spz and .splat, in a confined child process."""

import re
import zlib
from pathlib import Path

import numpy as np

from pipeline.errors import StudioError
from pipeline.scene.splats.splat_cloud import SH_C0, SPLAT, make_splats, quaternions
from pipeline.untrusted import confined
from pipeline.untrusted.confined import Limits, Result

SUFFIXES = (".ply", ".spz", ".splat")
MAX_SPLATS = 1_000_000
"""Splats that are kept of a file, the most visible ones: 32 MB."""
MAX_FILE_SPLATS = 8_000_000
"""A photographed hall; of a .ply with all its spherical harmonics that is 2 GB, the limit of the reader's memory."""
LIMITS = Limits(seconds=60, memory_mb=6144)
SPZ_HEADER, SPZ_MAGIC = 16, 0x5053474E
SPZ_SH_COEFFICIENTS = (0, 3, 8, 15)
"""Coefficients a colour by the degree of the spherical harmonics."""
_FIELDS = ("x", "y", "z", "scale_0", "scale_1", "scale_2", "f_dc_0", "f_dc_1", "f_dc_2", "opacity",
           "rot_0", "rot_1", "rot_2", "rot_3")  # fmt: skip
_TYPES = {"float": "<f4", "float32": "<f4", "double": "<f8", "float64": "<f8", "uchar": "u1", "uint8": "u1",
          "char": "i1", "int8": "i1", "ushort": "<u2", "uint16": "<u2", "short": "<i2", "int16": "<i2",
          "uint": "<u4", "uint32": "<u4", "int": "<i4", "int32": "<i4"}  # fmt: skip


class SplatError(StudioError):
    """A file holds no splats that can be used."""


def read_splats(path: Path) -> np.ndarray:
    """Return the splats (N,) of a file, of dtype SPLAT, the most visible first, at most MAX_SPLATS. Raises SplatError.

    Axes are those of .ply files of 3DGS: x right, y down, z forward. Those of .spz, y up and z backward, are turned.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise SplatError(f"{path.name} is no file of Gaussian splats; choose one in {', '.join(SUFFIXES)}")
    if not path.is_file():
        raise SplatError(f"there is no file {path.name}")
    with confined.errors_as(SplatError, path.name):
        arguments = {"path": str(path.absolute())}
        events = confined.call(f"{__name__}:read", arguments, [path], limits=LIMITS, warm=[__name__])
        (numbers,) = confined.result_of(events).arrays
        splats = numbers.view(SPLAT)
        if numbers.dtype != np.uint8 or numbers.ndim != 1 or not 0 < len(splats) <= MAX_SPLATS:
            raise ValueError
        if not all(np.isfinite(splats[name]).all() for name in ("position", "scale")):
            raise ValueError
    return splats


# ---------------------------------------------------------------------- in the child


def read(path: str) -> Result:
    """Return the splats of a file as bytes. Raises SplatError."""
    data = Path(path).read_bytes()
    if not data:
        raise SplatError("it is empty; was it copied whole?")
    reader = {".ply": _from_ply, ".spz": _from_spz}.get(Path(path).suffix.lower(), _from_splat)
    splats = reader(data)[:MAX_SPLATS]
    if not len(splats):
        raise SplatError("it holds no visible splat")
    return Result(None, (np.frombuffer(splats.tobytes(), np.uint8),))


def _from_ply(data: bytes) -> np.ndarray:
    end = data.find(b"end_header\n", 0, 1 << 16)
    lines = data[:end].decode("ascii", "replace").split("\n") if data.startswith(b"ply") and end > 0 else [""]
    if "format binary_little_endian 1.0" not in (line.strip() for line in lines):
        raise SplatError("it is no binary .ply in little-endian order; save it as that")
    count, fields = _ply_fields(lines)
    table = np.dtype(fields)
    if missing := [name for name in _FIELDS if name not in (table.names or ())]:
        raise SplatError(f"it is no .ply of Gaussian splats, for it lacks {', '.join(missing)}; save it uncompressed")
    start = end + len(b"end_header\n")
    if len(data) - start < count * table.itemsize:
        raise SplatError(f"it ends before the last of its {count:,} splats; copy it again")
    rows = np.frombuffer(data, table, count, start)
    columns = np.stack([rows[name].astype(np.float32) for name in _FIELDS], 1)
    with np.errstate(over="ignore", invalid="ignore"):
        opacity = 1 / (1 + np.exp(-columns[:, 9:10]))
        scale = np.exp(columns[:, 3:6])
    return make_splats(columns[:, :3], scale, np.hstack([0.5 + SH_C0 * columns[:, 6:9], opacity]), columns[:, 10:])


def _ply_fields(lines: list[str]) -> tuple[int, list[tuple[str, str]]]:
    """Return the number of splats, and name and type of each of their fields. Raises SplatError."""
    count, fields = -1, []
    for line in lines:
        words = line.split()
        if words[:1] == ["element"]:
            if count >= 0:
                break  # what follows the vertices is not read
            if len(words) != 3 or words[1] != "vertex" or not re.fullmatch(r"\d{1,9}", words[2]):
                raise SplatError("its first element is no list of splats; save it uncompressed")
            count = _checked_count(int(words[2]))
        elif words[:1] == ["property"] and len(words) == 3 and words[1] in _TYPES and words[2] not in dict(fields):
            fields.append((words[2], _TYPES[words[1]]))
        elif words[:1] == ["property"]:
            raise SplatError(f"its header has a line that splats do not need: {line[:40]}")
    return max(count, 0), fields


def _from_spz(data: bytes) -> np.ndarray:
    """Read versions 2 and 3 of https://github.com/nianticlabs/spz: gzip, then each attribute of all splats in turn."""
    reader = zlib.decompressobj(wbits=31)
    try:
        header = np.frombuffer(_inflated(reader, data, SPZ_HEADER), "<u4", 4)
    except (zlib.error, ValueError):
        raise SplatError("it is no .spz compressed by gzip, as versions 2 and 3 are; save it as .ply") from None
    magic, version, count = header[:3].tolist()
    degree, bits = (int(header[3]) >> shift & 255 for shift in (0, 8))
    if magic != SPZ_MAGIC or version not in (2, 3) or degree > 3 or bits > 23:
        raise SplatError("it is no .spz of version 2 or 3; save it as .ply")
    turn = 3 if version == 2 else 4
    widths = (9, 1, 3, 3, turn)  # bytes of position, opacity, colour, scale and rotation; harmonics follow, unread
    try:
        body = _inflated(reader, reader.unconsumed_tail, _checked_count(count) * sum(widths))
    except (zlib.error, ValueError):
        raise SplatError(f"it ends before the last of its {count:,} splats; copy it again") from None
    ends = np.cumsum([0, *(count * width for width in widths)])
    position, opacity, colour, scale, rotation = (
        np.frombuffer(body, np.uint8, count * width, start).reshape(count, width)
        for width, start in zip(widths, ends, strict=False)
    )
    flip = np.array([1, -1, -1], np.float32)
    rgb = 0.5 + SH_C0 * (colour / 255 - 0.5) / 0.15  # the scale of colours in spz
    quats = _first_three(rotation) if version == 2 else _smallest_three(rotation)
    return make_splats(
        _fixed_point(position) / (1 << bits) * flip,
        np.exp(scale / np.float32(16) - 10),
        np.hstack([rgb, opacity / 255]),
        quats * np.array([1, 1, -1, -1]),
    )


def _inflated(reader: "zlib._Decompress", data: bytes, length: int) -> bytes:
    """Return exactly so many bytes. Raises ValueError if there are fewer, zlib.error for damaged data."""
    content = reader.decompress(data, length) if length else b""
    if len(content) < length:
        raise ValueError
    return content


def _fixed_point(position: np.ndarray) -> np.ndarray:
    """Return signed numbers of 24 bits, little-endian in (N, 9), of shape (N, 3), float64."""
    low, middle, high = (position.reshape(-1, 3, 3)[:, :, i].astype(np.int64) for i in range(3))
    value = low | middle << 8 | high << 16
    return np.where(value & 0x800000, value - (1 << 24), value).astype(float)


def _first_three(rotation: np.ndarray) -> np.ndarray:
    """Return quaternions (N, 4), wxyz, of their x, y and z in a byte each."""
    xyz = rotation / 127.5 - 1
    return np.hstack([np.sqrt(np.maximum(0, 1 - (xyz**2).sum(1, keepdims=True))), xyz])


def _smallest_three(rotation: np.ndarray) -> np.ndarray:
    """Return quaternions (N, 4), wxyz, of the index of the largest of x, y, z, w and the others in 10 bits each."""
    packed = np.ascontiguousarray(rotation).view("<u4")[:, 0].copy()
    largest, quats = packed >> 30, np.zeros((len(packed), 4))
    for index in (3, 2, 1, 0):
        stored = largest != index
        value = np.sqrt(0.5) * (packed & 511) / 511 * np.where(packed >> 9 & 1, -1, 1)
        quats[stored, index] = value[stored]
        packed = np.where(stored, packed >> 10, packed)
    quats[np.arange(len(packed)), largest] = np.sqrt(np.maximum(0, 1 - (quats**2).sum(1)))
    return quats[:, [3, 0, 1, 2]]


def _from_splat(data: bytes) -> np.ndarray:
    if len(data) % SPLAT.itemsize:
        raise SplatError("it is no .splat, whose splats have 32 bytes each")
    _checked_count(len(data) // SPLAT.itemsize)
    rows = np.frombuffer(data, SPLAT)
    return make_splats(rows["position"], rows["scale"], rows["rgba"] / 255, quaternions(rows))


def _checked_count(count: int) -> int:
    if count > MAX_FILE_SPLATS:
        raise SplatError(f"it has {count:,} splats, more than {MAX_FILE_SPLATS:,}; thin it first")
    return count
