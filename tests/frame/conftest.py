"""A subsampled frame to be written in every format, and a replacement for the optional lzfse package."""

import sys
import types
from pathlib import Path

import pytest

from pipeline.frame import Frame, Intrinsics, load

ROOT = Path(__file__).resolve().parents[2]


def subsampled(frame: Frame, step: int = 4) -> Frame:
    k = frame.intrinsics
    rgb, depth = frame.rgb[::step, ::step].copy(), frame.depth[::step, ::step].copy()
    intrinsics = Intrinsics(*depth.shape[::-1], k.fx / step, k.fy / step, k.cx / step, k.cy / step)
    return Frame(rgb, depth, intrinsics, frame.world_from_camera)


@pytest.fixture(scope="module")
def frame() -> Frame:
    return subsampled(load(ROOT / "sample_scenes" / "blocks"))


@pytest.fixture(autouse=True)
def in_process(request, monkeypatch):
    """Read every format in this process, where the tests can replace its parts; marked tests use the real way."""
    if "confined" not in request.keywords:
        monkeypatch.setattr(sys.modules["pipeline.frame.load"], "is_read_in_process", lambda path: True)


@pytest.fixture(autouse=True)
def lzfse(monkeypatch):
    """Use the real package if it is installed, else one that decodes uncompressed blocks."""
    try:
        import lzfse  # noqa: F401
    except ImportError:
        replacement = types.ModuleType("lzfse")
        replacement.decompress = lambda raw: raw[8 : 8 + int.from_bytes(raw[4:8], "little")]  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "lzfse", replacement)
