"""A confined child sends what it read, or one line, and reaches nothing else; zips are bounded; attacks on readers."""

import io
import os
import resource
import select
import signal
import struct
import subprocess
import sys
import threading
import tracemalloc
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from offline_studio import wait_until

from pipeline.assets import AssetError
from pipeline.assets.importers.confined_import import import_confined
from pipeline.confinement import platform_coverage
from pipeline.errors import StudioError
from pipeline.frame import load
from pipeline.untrusted import zips
from pipeline.untrusted.confined import Limits, Progress, call, call_with_network, errors_as, result_of
from pipeline.untrusted.fork_server import ROOT
from pipeline.untrusted.messages import MessageReader, write_message
from pipeline.untrusted.zips import ZipError, ZipLimits, extract_zip, list_members, read_member

ATTACKS = "tests.untrusted.attacks"


@pytest.mark.skipif(not {"files": True, "calls": True}.items() <= platform_coverage().items(), reason="no Landlock")
def test_a_taken_over_reader_reaches_no_file_network_process_or_key(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    reply = result_of(call(f"{ATTACKS}:try_everything", {"secret": str(secret), "parent": os.getpid()}, []))
    assert reply.value == [] and secret.read_text() == "secret"


def test_a_reader_that_fails_is_one_line():
    for attack, limits, message in (
        ("sleep", Limits(seconds=0.5), "longer than 0.5 s"),
        ("take_memory", Limits(memory_mb=256), "more than 256 MB"),
        ("crash", Limits(), "too much memory or time to read, or is damaged"),
        ("send_objects", Limits(), "an attack|cannot be read"),
        ("send_nonsense", Limits(), "may be an attack"),
        ("refuse", Limits(), "^no: two lines$"),
    ):
        with pytest.raises(AssetError, match=message) as caught, errors_as(AssetError, "a.obj"):
            result_of(call(f"{ATTACKS}:{attack}", {}, [], limits=limits))
        assert "\n" not in str(caught.value) and (attack == "refuse" or "a.obj" in str(caught.value))


def test_a_call_yields_its_progress_and_ends_when_it_is_stopped_with_what_its_child_wrote(tmp_path):
    stop, (seen, folder) = threading.Event(), (list[object](), tmp_path / "out")
    folder.mkdir()
    arguments = {"folder": str(folder), "beside": str(tmp_path)}
    for event in call(f"{ATTACKS}:write", arguments, [], stop, writable=[folder], limits=Limits(file_mb=1)):
        seen.append((type(event), event.value))
        stop.set()
    assert seen == [(Progress, ["wrote out", "wrote tmp"])]
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "written"]


STUDIO_THAT_DIES = f"""
import os, signal, threading, time
from pathlib import Path
from pipeline.untrusted.confined import call, result_of
server = result_of(call("{ATTACKS}:parent", {{}}, [])).value
threading.Thread(target=lambda: result_of(call("{ATTACKS}:sleep", {{}}, [])), daemon=True).start()
while not (children := Path(f"/proc/{{server}}/task/{{server}}/children").read_text().split()):
    time.sleep(0.01)
print(server, *children, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks in /proc")
def test_a_child_and_its_server_end_with_the_studio():
    process = subprocess.run([sys.executable, "-c", STUDIO_THAT_DIES], cwd=ROOT, capture_output=True, text=True)
    assert process.returncode == -signal.SIGKILL, process.stderr
    left = [Path("/proc", pid) for pid in process.stdout.split()]
    assert len(left) >= 2
    wait_until(lambda: not any(pid.exists() for pid in left), "the end of the child and its server")


@pytest.mark.skipif(sys.platform != "linux", reason="waits for a process by its descriptor")
def test_a_child_ends_with_its_connection_and_one_with_network_has_the_proxy_and_no_key(monkeypatch):
    """The kernel does not tell a child that its studio closed the connection."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("https_proxy", "http://proxy:1")
    monkeypatch.setattr(os, "killpg", lambda *_: None)
    for events, expected in (
        (call(f"{ATTACKS}:tell", {}, []), [None, []]),
        (call_with_network(f"{ATTACKS}:tell", {}, threading.Event(), memory_mb=1024), ["http://proxy:1", []]),
    ):
        pid, *seen = next(events).value
        child = os.pidfd_open(pid)
        assert seen == expected
        events.close()
        assert select.select([child], [], [], 60)[0], "the child outlives its connection"
        os.close(child)


def test_calls_from_many_threads_are_answered_each_with_its_own_values_and_arrays_unchanged():
    def ask(text: str) -> object:
        reply = result_of(call(f"{ATTACKS}:echo", {"text": text}, []))
        assert np.array_equal(reply.arrays[0], np.arange(6.0).reshape(2, 3))
        return reply.value

    texts = [f"\u00fc\n{number}" for number in range(6)]
    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(ask, texts)) == texts


def message(value: object, *arrays: np.ndarray) -> bytes:
    out = BytesIO()
    write_message(out, value, arrays)
    return out.getvalue()


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_messages_arrive_as_they_were_sent_in_whatever_pieces(size):
    arrays = [
        np.arange(6.0).reshape(2, 3), np.zeros((0, 3)), np.array(3.5), np.array([True]), np.arange(3, dtype=">i4"),
        np.asfortranarray(np.ones((3, 4), "f4"))[:, ::2],
    ]  # fmt: skip
    sent = message({"a": "\u00fc\n"}, *arrays) + message(1)
    reader, got = MessageReader(), []
    for start in range(0, len(sent), size):
        got += reader.feed(sent[start : start + size])
    assert [line for line, _ in got] == [b'{"a": "\\u00fc\\n"}', b"1"] and not reader.waiting_bytes
    for before, after in zip(arrays, got[0][1], strict=True):
        assert before.shape == after.shape and before.dtype.kind == after.dtype.kind and np.array_equal(before, after)


def test_what_is_no_plain_array_is_refused_before_it_is_read():
    plain = message(1, np.arange(3.0))
    shapes = [b"(0, " + b"9" * 21 + b")", b"(3e)", b"(-3)", b"(9**9)", b"(" + b"1," * 10 + b")"]
    for old, new in (
        (b"<f8", b"|O8"), (b"<f8", b"<U2"), (b"<f8", b"<f3"), (b"False", b"True "), (b"\x01", b"\x02"),
        (b"NUMPY", b"numpy"), *((b"(3,), }" + b" " * (len(shape) - 4), shape + b", }") for shape in shapes),
    ):  # fmt: skip
        assert old in plain and len(old) == len(new)
        with pytest.raises(ValueError):
            list(MessageReader().feed(plain.replace(old, new, 1)))
    reader = MessageReader()
    reader.takes_arrays = False
    with pytest.raises(ValueError):
        list(reader.feed(plain[:1]))


edits = st.lists(st.tuples(st.integers(0, 159), st.sampled_from(b"\n,()09<b8|\x93{}' \xff")), max_size=5)


@given(edits, st.integers(1, 160))
def test_any_bytes_are_messages_or_refused(changes, size):
    sent = bytearray(message({"a": 1}, np.arange(3.0)))
    for place, byte in changes:
        sent[place] = byte
    reader = MessageReader()
    with suppress(ValueError):
        for start in range(0, len(sent), size):
            for _, arrays in reader.feed(bytes(sent[start : start + size])):
                assert all(array.dtype.kind in "biuf" and array.size <= 24 for array in arrays)


MEGABYTE = 1 << 20


def lying_zip(path: Path, real: int, stated: int, name: str = "a.obj") -> Path:
    """Write a zip of one member that unpacks to `real` bytes and states fewer."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(name, "w") as member:
        for _ in range(real // MEGABYTE):
            member.write(bytes(MEGABYTE))
    raw = bytearray(path.read_bytes())
    central = raw.rindex(b"PK\x01\x02")
    raw[central + 24 : central + 28] = struct.pack("<I", stated)
    raw[22:26] = struct.pack("<I", stated)
    path.write_bytes(raw)
    return path


def peak(work) -> int:
    tracemalloc.start()
    try:
        with pytest.raises(ZipError):
            work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("stated", [100, 60 * MEGABYTE])
def test_a_member_produces_no_more_than_its_limit_whatever_it_states(tmp_path, stated):
    path = lying_zip(tmp_path / "bomb.zip", 64 * MEGABYTE, stated)
    (entry,) = list_members(path, ZipLimits()).values()
    assert peak(lambda: read_member(path, entry, 4 * MEGABYTE)) < 16 * MEGABYTE


def test_unpacking_stops_at_the_total_at_the_ratio_and_at_the_count(tmp_path, monkeypatch):
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(8):
            archive.writestr(f"{number}.obj", bytes(MEGABYTE))
    out = tmp_path / "out"
    out.mkdir()
    monkeypatch.setattr(zips, "RATIO_FREE_BYTES", 3 * MEGABYTE)
    for limits, message in (
        (ZipLimits(members=7), "8 files; at most 7"),
        (ZipLimits(member_bytes=MEGABYTE // 2), "too large"),
        (ZipLimits(total_bytes=2 * MEGABYTE), "more than"),
        (ZipLimits(), "hundreds of times"),
    ):
        with pytest.raises(ZipError, match=message):
            extract_zip(path, out, limits)
        assert sum(file.stat().st_size for file in out.iterdir()) <= 4 * MEGABYTE
    extract_zip(path, out, ZipLimits(ratio=100_000))
    assert len(list(out.iterdir())) == 8


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_than_deflate_are_refused(tmp_path, method):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("a.obj", bytes(MEGABYTE))
    (entry,) = list_members(path, ZipLimits()).values()
    with pytest.raises(ZipError, match="not packed with deflate"):
        read_member(path, entry, 2 * MEGABYTE)


@pytest.mark.parametrize("name", ["../a", "/etc/a", "a/../../b", "C:/a", "..\\a", "a/b\x01", ""])
def test_names_that_lead_out_or_that_no_folder_takes_are_refused(tmp_path, name):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive, archive.open(zipfile.ZipInfo(name), "w") as member:
        member.write(b"x")
    (tmp_path / "out").mkdir()
    with pytest.raises(ZipError, match=r"leads out|no folder takes"):
        extract_zip(path, tmp_path / "out", ZipLimits())
    assert not list((tmp_path / "out").iterdir())


def test_names_are_cleaned_and_a_zip_extracts_as_it_was_packed(tmp_path):
    path, out = tmp_path / "a.zip", tmp_path / "out"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("./a/b.txt", "a//c.txt", "d\\e.txt", "empty/"):
            archive.writestr(name, name)
    out.mkdir()
    extract_zip(path, out, ZipLimits())
    assert {file.relative_to(out).as_posix() for file in out.rglob("*.txt")} == {"a/b.txt", "a/c.txt", "d/e.txt"}


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
