"""The segmenter that returns given masks."""

import numpy as np

from pipeline.segmentation import ScriptedSegmenter
from tests.frame.rendered import render


def test_the_scripted_segmenter_returns_its_masks():
    frame = render(width=160).frame
    labels = np.zeros(frame.depth.shape, int)
    labels[10:30, 10:30], labels[50:70, 50:70] = 1, 2
    view = ScriptedSegmenter.from_labels(labels).open(frame)
    assert [int(segment.mask.sum()) for segment in view.automatic()] == [400, 400]
