"""The masks of a project as files."""

import json

import numpy as np
from PIL import Image

from pipeline.segmentation import Segment, read_segments, write_segments


def test_written_segments_are_read_unchanged(tmp_path):
    labels = np.zeros((20, 30), int)
    labels[2:9, 3:12], labels[10:15, 20:29] = 1, 2
    segments = [Segment(i, labels == i, 0.5, "human") for i in (1, 2)]
    write_segments(segments, labels.shape, tmp_path)
    loaded = read_segments(tmp_path)
    assert [(s.id, s.score, s.source) for s in loaded] == [(1, 0.5, "human"), (2, 0.5, "human")]
    assert all(np.array_equal(a.mask, b.mask) for a, b in zip(segments, loaded, strict=True))
    image = np.array(Image.open(tmp_path / "masks.png"))
    assert image.dtype == np.uint16 and np.array_equal(image, labels)
    note = json.loads((tmp_path / "coco.json").read_text())["annotations"][0]
    assert note["bbox"] == [3, 2, 9, 7] and note["area"] == 63
