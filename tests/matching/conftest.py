"""A segment to be matched."""

import pytest

from pipeline.description import describe_all
from pipeline.frame import Observation, find_support, load
from pipeline.matching import Query
from pipeline.resources import SAMPLE_SCENES
from pipeline.segmentation import DepthSegmenter


@pytest.fixture(scope="session")
def query() -> Query:
    """The first segment of the sample scene "blocks", measured."""
    frame = load(SAMPLE_SCENES / "blocks")
    support, segment = find_support(frame), DepthSegmenter().open(frame).automatic()[0]
    (described,) = describe_all(frame, support, [segment])
    return Query(Observation(frame, support), segment, described)
