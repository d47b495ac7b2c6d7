"""What the tests of the studio share: a frame, services without models, and waiting for background work."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.assets.library import Library
from pipeline.frame import Frame, Intrinsics
from pipeline.matching import LibraryFeatures
from pipeline.planner import PlannerModel
from pipeline.run import Services
from pipeline.segmentation import DepthSegmenter
from pipeline.simulation.sandbox.sandbox import Sandbox

TIMEOUT = 120.0
"""Seconds: nothing here is timed."""
FRAME = Frame(np.zeros((40, 60, 3), np.uint8), np.ones((40, 60), np.float32), Intrinsics(60, 40, 50, 50, 30, 20))


def offline_services(library: Library | None = None, segmenter: Any = None) -> Services:
    """Return services of the rules, with an empty library and the segmenter by depth where none are given."""
    library = library or Library(())
    return Services(
        segmenter or DepthSegmenter(), PlannerModel(), library, Sandbox(),
        features=lambda: LibraryFeatures.compute(library),
    )  # fmt: skip


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Poll until the condition holds; fail with `what` after TIMEOUT."""
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, f"it never came: {what}"
        time.sleep(0.02)
