"""Pictures as models are shown them."""

import io

import numpy as np
import pytest
from PIL import Image

from pipeline.models.pictures import NEUTRAL, cut_out, fitted, highlighted, jpeg, marked, side_by_side, tokens

RGB = np.random.default_rng(0).integers(60, 255, (120, 200, 3)).astype(np.uint8)
MASK = np.zeros((120, 200), bool)
MASK[40:80, 50:120] = True


def test_a_cut_out_shows_the_thing_alone_on_grey_and_large_enough():
    shown = cut_out(RGB, MASK)
    assert max(shown.shape) == 224 and (shown[0, 0] == NEUTRAL).all()
    assert np.abs(shown.astype(float) - NEUTRAL).mean() > 5


def test_the_whole_frame_keeps_the_thing_and_dims_the_rest():
    shown = highlighted(RGB, MASK)
    assert shown.shape == RGB.shape
    assert (shown[50:70, 60:110] == RGB[50:70, 60:110]).all()
    assert shown[:30].mean() < 0.95 * RGB[:30].mean()


def test_every_mask_gets_a_mark_inside_it():
    shown = marked(RGB, {3: MASK, 12: ~MASK & (np.arange(200) > 150), 4: np.zeros_like(MASK)})
    changed = (shown != RGB).any(axis=-1)
    assert changed[40:80, 50:120].any() and changed[:, 150:].any() and not changed[:30, :140].any()


@pytest.mark.parametrize("edge", [np.s_[:1, :1], np.s_[-1:, :], np.s_[:, :]])
def test_masks_at_the_edges_are_shown_too(edge):
    mask = np.zeros_like(MASK)
    mask[edge] = True
    for picture in (cut_out(RGB, mask), highlighted(RGB, mask), marked(RGB, {1: mask})):
        assert picture.dtype == np.uint8 and min(picture.shape[:2]) >= 1


def test_candidates_stand_side_by_side_under_their_numbers():
    row = side_by_side([RGB, RGB[:, :60]], ["1", "2"], 100)
    assert row.shape[0] == 126 and (row[:26] == 0).any()


def test_a_picture_is_made_no_larger_than_asked():
    assert fitted(RGB, 100).shape == (60, 100, 3)
    assert fitted(RGB, 1000).shape == RGB.shape


def test_tokens_are_counted_by_tiles():
    sizes = {(512, 512): 255, (1024, 1024): 765, (4096, 2048): 1105, (100, 100): 255}
    assert {size: tokens(np.zeros((*size, 3), np.uint8)) for size in sizes} == sizes


def test_a_picture_travels_as_jpeg():
    assert Image.open(io.BytesIO(jpeg(RGB))).size == (200, 120)
