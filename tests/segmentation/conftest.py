"""A rendered table with known masks, opened once by the embedded segmenter."""

import pytest

from pipeline.segmentation import DepthSegmenter
from tests.frame.rendered import Rendered, render


@pytest.fixture(scope="session")
def scene() -> Rendered:
    return render(width=640)


@pytest.fixture(scope="session")
def view(scene):
    return DepthSegmenter().open(scene.frame)
