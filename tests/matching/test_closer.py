"""Candidates drawn as the camera sees them, and colours in another light."""

from dataclasses import replace

import numpy as np
import pytest

from pipeline.assets import AssetError, Library
from pipeline.assets.features import Features, Look, colourless
from pipeline.description import describe_all
from pipeline.frame import find_support, load
from pipeline.matching import closer, match, sight
from pipeline.matching.evidence import pictured, same_places
from pipeline.matching.nearest import best_views
from pipeline.segmentation import DepthSegmenter
from tests.matching.test_modes import SAMPLE


class Plain:
    """An encoder that sees the mean colour."""

    name, pixels, centred = "plain", 16, True

    def encode(self, rgb, masks):
        share = masks[..., None] / np.maximum(masks.sum(axis=(1, 2)), 1)[:, None, None, None]
        return (rgb * share).sum(axis=(1, 2)).astype(np.float32) - 100


@pytest.fixture(scope="module")
def seen():
    """A segment of a sample as matching sees it, with a small library's features and what comes near."""
    frame, eyes = load(SAMPLE), Plain()
    support, segments = find_support(frame), DepthSegmenter().open(frame).automatic()
    (described,) = describe_all(frame, support, segments[:1])
    library = Library(tuple(a for a in Library.open() if a.id in {"red_cube", "blue_cube", "banana"}))
    features = Features.of(library, encoder=eyes)
    one = sight(frame, support, segments[0], described, eyes.pixels)
    both = np.stack([one.picture, colourless(one.picture)])
    picture = pictured(both, np.stack([one.mask, one.mask]), features, eyes)
    found = best_views(one, picture, features, library, described.attributes.shape, eyes, "all", 8)
    return one, picture, features, library, found, eyes, (frame, support, segments[0], described)


def test_the_first_few_are_judged_by_new_views_and_stay_in_order(seen, monkeypatch):
    *args, found, eyes, _ = seen
    monkeypatch.setattr(closer, "clear", lambda _: False)
    monkeypatch.setattr(closer, "OPEN_STILL", 0.0)
    again = closer.looked_closer(*args, found, eyes)
    assert {view for view, *_ in again} == {view for view, *_ in found}
    assert [score for _, score, _ in again] == sorted((score for _, score, _ in again), reverse=True)
    assert all(set(said) == set(found[0][2]) and 0 <= score <= 1 for _, score, said in again)
    assert {view: said for view, _, said in again} != {view: said for view, _, said in found}


def test_nothing_is_drawn_where_the_first_is_clear_or_nothing_comes_near(seen, monkeypatch):
    *args, found, eyes, _ = seen
    monkeypatch.setattr(closer, "look", lambda *_, **__: pytest.fail("it was drawn"))
    (view, _, said), *rest = found
    for first in (0.99, closer.OPEN_STILL / 2):
        given = [(view, first, said), *((other, 0.01, told) for other, _, told in rest)]
        assert closer.looked_closer(*args, given, eyes) == given


def test_what_cannot_be_drawn_keeps_what_was_said_of_it(seen, monkeypatch):
    *args, found, eyes, _ = seen

    def broken(*_, **__):
        raise AssetError("its mesh is gone")

    monkeypatch.setattr(closer, "look", broken)
    assert closer.looked_closer(*args, found, eyes) == sorted(found, key=lambda one: -one[1])


def test_another_encoders_features_are_refused_in_one_line(seen):
    *_, features, library, _, eyes, thing = seen
    other = replace(features, encoder="another")
    with pytest.raises(AssetError, match="made by another; compute them again"):
        match(*thing, library, other, eyes)


def test_a_light_of_another_colour_changes_nothing_place_by_place(seen):
    one, _, features, *_ = seen
    views = features.look.take(np.arange(20))
    tinted = Look(*(getattr(one.look, name) for name in Look.__dataclass_fields__))
    tinted = replace(tinted, thumb=one.look.thumb.astype(np.float32) + np.array([6.0, -9, 12], np.float32))
    np.testing.assert_allclose(same_places(tinted, views), same_places(one.look, views), atol=2e-3)
    assert np.ptp(same_places(one.look, views)) > 0.05, "it tells views apart"
