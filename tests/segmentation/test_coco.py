"""Run lengths of COCO, plain and compressed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from pipeline.segmentation import SegmentationError, decode_rle, encode_rle
from pipeline.segmentation.coco import decompress_counts


@given(arrays(bool, array_shapes(min_dims=2, max_dims=2, max_side=9)))
@settings(deadline=None)
def test_run_lengths_are_decoded_to_the_same_mask(mask):
    runs = encode_rle(mask)
    assert (
        np.array_equal(decode_rle(runs), mask) and sum(runs["counts"]) == mask.size and runs["size"] == list(mask.shape)
    )


def test_run_lengths_follow_the_columns_and_start_with_background():
    assert encode_rle(np.array([[1, 0], [1, 1]], bool))["counts"] == [0, 2, 1, 1]


def test_run_lengths_that_do_not_fit_are_refused():
    with pytest.raises(SegmentationError, match="do not fill"):
        decode_rle({"size": [2, 2], "counts": [1, 2]})


def compressed(counts: list[int]) -> str:
    """Compress counts as rleToString of COCO's maskApi.c does."""
    text = ""
    for i, count in enumerate(counts):
        x = count - (counts[i - 2] if i > 2 else 0)
        while True:
            bits, x = x & 31, x >> 5
            more = x != (-1 if bits & 16 else 0)
            text += chr((bits | 32 if more else bits) + 48)
            if not more:
                break
    return text


@given(st.lists(st.integers(0, 2_000_000), max_size=12))
def test_compressed_run_lengths_are_decoded(counts: list[int]):
    assert compressed([2, 3, 1, 1]) == "231N" and decompress_counts(compressed(counts)) == counts
