"""What the tests of the studio share: services without models, and waiting for background work."""

import time
from collections.abc import Callable

from pipeline.assets.library import Library
from pipeline.matching import LibraryFeatures
from pipeline.planner import PlannerModel
from pipeline.run import Services
from pipeline.segmentation import DepthSegmenter
from pipeline.simulation.sandbox.sandbox import Sandbox

TIMEOUT = 120.0
"""Seconds: nothing here is timed."""


def offline_services(library: Library) -> Services:
    return Services(
        DepthSegmenter(), PlannerModel(), library, Sandbox(), features=lambda: LibraryFeatures.compute(library)
    )


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Poll until the condition holds; fail with `what` after TIMEOUT."""
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, f"it never came: {what}"
        time.sleep(0.02)
