"""A frame small enough to be written in every format, and a stand-in for a package that may not be there."""

import sys
import types
from pathlib import Path

import pytest

from pipeline.frame import Frame, Intrinsics, load

ROOT = Path(__file__).resolve().parents[2]


def small(frame: Frame, step: int = 4) -> Frame:
    """Every fourth pixel, and the camera that sees just those."""
    k = frame.intrinsics
    rgb, depth = frame.rgb[::step, ::step].copy(), frame.depth[::step, ::step].copy()
    own = Intrinsics(*depth.shape[::-1], k.fx / step, k.fy / step, k.cx / step, k.cy / step)
    return Frame(rgb, depth, own, frame.world_from_camera)


@pytest.fixture(scope="module")
def frame() -> Frame:
    return small(load(ROOT / "sample_scenes" / "blocks"))


@pytest.fixture(autouse=True)
def lzfse(monkeypatch):
    """The real package where it is installed, else one that undoes blocks kept as they are."""
    try:
        import lzfse  # noqa: F401
    except ImportError:
        stand_in = types.ModuleType("lzfse")
        stand_in.decompress = lambda raw: raw[8 : 8 + int.from_bytes(raw[4:8], "little")]  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "lzfse", stand_in)
