"""Pictures for vision models."""

import io

import numpy as np
import pytest
from PIL import Image

from pipeline.models import images

RGB = np.random.default_rng(0).integers(60, 255, (120, 200, 3)).astype(np.uint8)
MASK = np.zeros((120, 200), bool)
MASK[40:80, 50:120] = True


def test_an_object_is_shown_alone_within_a_dimmed_frame_or_under_a_mark_inside_it():
    picture = images.masked_crop(RGB, MASK)
    assert max(picture.shape) == 224 and (picture[0, 0] == images.BACKGROUND_GREY).all()
    assert np.abs(picture.astype(float) - images.BACKGROUND_GREY).mean() > 5
    picture = images.outline_in_frame(RGB, MASK)
    assert picture.shape == RGB.shape and (picture[50:70, 60:110] == RGB[50:70, 60:110]).all()
    assert picture[:30].mean() < 0.95 * RGB[:30].mean()
    picture = images.set_of_marks(RGB, {3: MASK, 12: ~MASK & (np.arange(200) > 150), 4: np.zeros_like(MASK)})
    changed = (picture != RGB).any(axis=-1)
    assert changed[40:80, 50:120].any() and changed[:, 150:].any() and not changed[:30, :140].any()


@pytest.mark.parametrize("edge", [np.s_[:1, :1], np.s_[-1:, :], np.s_[:, :]])
def test_masks_at_the_image_border_are_drawn(edge):
    mask = np.zeros_like(MASK)
    mask[edge] = True
    marked = images.set_of_marks(RGB, {1: mask})
    for picture in (images.masked_crop(RGB, mask), images.outline_in_frame(RGB, mask), marked):
        assert picture.dtype == np.uint8 and min(picture.shape[:2]) >= 1


def test_pictures_stand_side_by_side_are_never_enlarged_and_count_as_tiles():
    row = images.side_by_side([RGB, RGB[:, :60]], ["1", "2"], 100)
    assert row.shape[0] == 126 and (row[:26] == 0).any()
    assert images.fit_to_side(RGB, 100).shape == (60, 100, 3) and images.fit_to_side(RGB, 1000).shape == RGB.shape
    sizes = {(512, 512): 255, (1024, 1024): 765, (4096, 2048): 1105, (100, 100): 255}
    assert {size: images.picture_tokens(np.zeros((*size, 3), np.uint8)) for size in sizes} == sizes
    assert Image.open(io.BytesIO(images.encode_jpeg(RGB))).size == (200, 120)
