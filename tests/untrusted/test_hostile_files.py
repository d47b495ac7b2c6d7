"""One attack each on every reader of files from outside: one line, in bounded time and memory, and nothing touched."""

import io
import resource
import struct
import threading
import zipfile
import zlib
from pathlib import Path

import pytest
import trimesh

from pipeline.assets.importers.confined_import import import_confined
from pipeline.errors import StudioError
from pipeline.frame import load

HUGE = 1 << 31
NPY_HEAD = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }"
CAMERA = b'{"width": 64, "height": 48, "fx": 60, "fy": 60, "cx": 32, "cy": 24, "depth_scale": 0.001}'
TRIPLED = "".join(f'<!ENTITY x{n} "{f"&x{n - 1};" * 10}">' for n in range(1, 10))


def png(width: int, height: int) -> bytes:
    """Return a PNG that states a size and holds a few bytes."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def tiff(width: int, height: int) -> bytes:
    """Return a TIFF of 16 bits that states a size and holds none of it."""
    tags = ((256, width), (257, height), (258, 16), (259, 1), (262, 1), (273, 8), (277, 1), (278, height), (279, 8))
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
    return b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + bytes(4)


def packed(name: str, data: bytes) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        archive.writestr(name, data)
    return raw.getvalue()


FRAMES: dict[str, dict[str, bytes]] = {
    "a depth of 3.6 gigapixels": {"rgb.png": png(64, 48), "depth.tiff": tiff(60_000, 60_000), "camera.json": CAMERA},
    "a camera in a million brackets": {"rgb.png": png(64, 48), "depth.png": png(64, 48), "camera.json": b"[" * 10**6},
    "a bag whose chunk is an exabyte": {"f.bag": b"#ROSBAG V2.0\n" + struct.pack("<I", HUGE) * 40},
    "an MCAP whose record is an exabyte": {"f.mcap": b"\x89MCAP0\r\n\1" + struct.pack("<Q", 1 << 60) + bytes(64)},
    "a cloud of a million million points": {
        "f.ply": b"ply\nformat binary_little_endian 1.0\nelement vertex 1000000000000\nproperty float x\n"
        b"property float y\nproperty float z\nend_header\n" + bytes(120),
    },
    "a PCD of a million million points": {
        "f.pcd": b"VERSION .7\nFIELDS x y z rgb\nSIZE 4 4 4 4\nTYPE F F F F\nCOUNT 1 1 1 1\nWIDTH 1000000\n"
        b"HEIGHT 1000000\nPOINTS 1000000000000\nDATA binary\n" + bytes(160),
    },
    "an NPY of a million million numbers": {
        "rgb.npy": b"\x93NUMPY\x01\x00v\x00" + NPY_HEAD.ljust(118) + bytes(64), "depth.npy": b"",
    },
}  # fmt: skip


def mjcf(body: str, head: str = "") -> bytes:
    geom = '<geom type="box" size=".05 .05 .05"/>'
    return f"<mujoco>{head}<worldbody>{body.replace('GEOM', geom)}</worldbody></mujoco>".encode()


ASSETS: dict[str, dict[str, bytes]] = {
    "a file in an entity": {
        "x.urdf": b'<!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/passwd">]><robot name="r"><link name="&e;"/></robot>'
    },
    "a thousand million laughs": {
        "x.urdf": f'<!DOCTYPE r [<!ENTITY x0 "ha">{TRIPLED}]><robot name="r"><link name="&x9;"/></robot>'.encode()
    },
    "an engine plugin": {
        "x.xml": mjcf("<body>GEOM</body>", '<extension><plugin plugin="mujoco.elasticity.cable"/></extension>')
    },
    "a million million copies": {
        "x.xml": mjcf('<replicate count="1000000"><replicate count="1000000"><body>GEOM</body></replicate></replicate>')
    },
    "a texture of 10 gigapixels": {
        "x.xml": mjcf(
            "<body>GEOM</body>", '<asset><texture name="t" builtin="flat" width="99999" height="99999"/></asset>'
        )
    },
    "a million bodies in each other": {"x.xml": mjcf("<body>" * 10**6 + "</body>" * 10**6)},
    "an STL of 4 milliard faces": {"x.stl": bytes(80) + struct.pack("<I", 2**32 - 1) + bytes(500)},
    "an OBJ whose faces name no vertices": {"x.obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 999999999 2 3\n"},
    "a zip in a zip in a zip": {"x.zip": packed("y.zip", packed("z.zip", packed("a.obj", b"v 0 0 0")))},
}  # fmt: skip


def written(files: dict[str, bytes], folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder if len(files) > 1 else folder / next(iter(files))


def is_plain(error: str) -> bool:
    return 0 < len(error) < 500 and "\n" not in error and "Traceback" not in error and "internal" not in error


@pytest.mark.parametrize("name", FRAMES)
def test_a_hostile_frame_is_refused_in_one_line_and_without_memory_of_this_process(tmp_path, name):
    path = written(FRAMES[name], tmp_path / "given")
    before, memory = {*tmp_path.rglob("*")}, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(StudioError) as refused:
        load(path)
    assert is_plain(str(refused.value)), refused.value
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 500_000 and {*tmp_path.rglob("*")} == before


def test_every_hostile_model_of_a_drop_is_refused_in_one_line_and_the_good_one_is_imported(tmp_path):
    given, library = tmp_path / "given", tmp_path / "library"
    attacks = [written(files, given / str(number)) for number, files in enumerate(ASSETS.values())]
    good = written({"good.stl": trimesh.creation.box([0.1, 0.1, 0.1]).export(file_type="stl")}, given / "good")
    before = {*given.rglob("*")}
    steps = list(import_confined([*attacks, good], given, library, {}, threading.Event()))
    errors = [step.error for step in steps if step.error]
    assert len(errors) == len(ASSETS) and all(map(is_plain, errors)), errors
    assert [step.id for step in steps if step.id] == ["good"] and {*given.rglob("*")} == before
    assert [path.name for path in library.iterdir() if not path.name.startswith((".", "_"))] == ["good"]
