"""A subsampled frame to be written in every format."""

import sys
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
