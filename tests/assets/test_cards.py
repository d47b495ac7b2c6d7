"""What an asset looks like, rendered once from any thread, and in words, once for each model or a person's own."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from pipeline.assets import AssetError, Library
from pipeline.assets.appearance.ray_views import camera_rotations, render_views
from pipeline.assets.asset_captions import AssetAnswer, caption_question
from pipeline.assets.asset_cards import CARD_VIEWS, brightened_card, camera_rotation, card_file, render_card
from pipeline.assets.asset_descriptions import HUMAN, MEASURED, AssetDescriptions, describe_library, kept_descriptions
from pipeline.models import ModelError
from pipeline.models.in_flight import InFlightCalls
from pipeline.planner import PlannerModel

LIBRARY = Library.open()


def asset_mask(picture):
    return np.abs(picture.astype(int) - picture[0, 0].astype(int)).sum(axis=2) > 40


def test_each_view_shows_the_whole_asset_large_and_is_rendered_once_by_any_number_of_threads(tmp_path):
    pictures = render_card(LIBRARY["mustard_bottle"], size=96, cache=tmp_path)
    assert len(pictures) == len(CARD_VIEWS) and all(p.shape == (96, 96, 3) and p.dtype == np.uint8 for p in pictures)
    for picture in pictures:
        mask = asset_mask(picture)
        assert 0.08 < mask.mean() < 0.9 and np.ptp(np.flatnonzero(mask.any(axis=1))) > 48
        assert not mask[[0, -1]].any() and not mask[:, [0, -1]].any()
    asset = LIBRARY["red_cube"]
    file = card_file(asset, tmp_path, size=64)
    written = file.stat().st_mtime_ns
    cards = [render_card(asset, CARD_VIEWS[:1], 64, *cache)[0] for cache in ((tmp_path,), ())]
    np.testing.assert_array_equal(*cards)
    assert file.stat().st_mtime_ns == written
    with ThreadPoolExecutor(4) as threads:
        pictures = list(threads.map(lambda _: render_card(asset, CARD_VIEWS[:1], 64)[0], range(8)))
    assert all((p == pictures[0]).all() for p in pictures)


def test_dark_objects_show_their_shape_in_thumbnails_in_their_colours_and_rays_see_an_asset_in_its_true_extents():
    def tones(id: str, picture: np.ndarray) -> np.ndarray:
        return picture[asset_mask(render_card(LIBRARY[id], CARD_VIEWS[:1], 224)[0])].mean(axis=1)

    mug = LIBRARY["blue_mug"]
    before, now = (tones("blue_mug", one) for one in (*render_card(mug, CARD_VIEWS[:1]), brightened_card(mug)))
    assert now.mean() > 1.3 * before.mean() and np.percentile(now, 95) < 200
    assert np.ptp(np.percentile(now, [5, 95])) > np.ptp(np.percentile(before, [5, 95]))
    red = brightened_card(LIBRARY["red_cube"])
    assert red[asset_mask(red)].mean(axis=0).argmax() == 0 and np.ptp(red[0, 0]) < 12
    asset = LIBRARY["cracker_box"]
    views = render_views(asset, camera_rotations(np.array([-90.0, 0.0]), np.array([0.0])), 64)
    np.testing.assert_allclose(views.extents, [asset.size[[0, 2]], asset.size[[1, 2]]], atol=1e-4)
    assert np.linalg.det(camera_rotation(20, 30)) > 0.999


class DescribingModel:
    has_vision = True

    def __init__(self, name: str, silent: str = ""):
        self.name, self.silent, self.questions = name, silent, []

    def ask(self, question):
        self.questions.append(question)
        if question.subject == self.silent:
            raise ModelError("no words")
        return AssetAnswer(caption=f"{self.name} sees {question.data['asset']['name']}\n.", category="x")


@pytest.fixture(scope="module")
def library():
    return replace(LIBRARY, assets=LIBRARY.assets[:3])


def describe(library, model, file):
    return list(describe_library(library, model, InFlightCalls(), AssetDescriptions(file)))


def test_an_asset_is_described_once_for_each_model_from_three_views_and_a_failed_one_again(library, tmp_path):
    file, first, second = tmp_path / "descriptions.json", DescribingModel("one"), DescribingModel("two")
    silent = library.assets[0].id
    steps = describe(library, DescribingModel("one", f"asset {silent}"), file)
    assert [(asset.id, failure) for _, _, asset, failure in steps if failure] == [(silent, "no words")]
    (again,) = describe(library, first, file)
    assert again[2].id == silent and not again[3] and not describe(library, first, file)
    assert describe(library, second, file) and not describe(library, second, file)
    assert len(first.questions) == 1 and len(second.questions) == len(library)
    texts = kept_descriptions(library, "one", file)
    assert set(texts) == {asset.id for asset in library} and all(text.startswith("one sees") for text in texts.values())
    (picture,) = caption_question(library.assets[0]).pictures
    assert picture.shape[1] > 2.5 * picture.shape[0]


def test_a_persons_words_come_first_until_they_are_removed_and_offline_they_are_measured(library, tmp_path):
    file, asset = tmp_path / "descriptions.json", library.assets[0]
    describe(library, DescribingModel("one"), file)
    kept = AssetDescriptions(file)
    kept.keep(asset, HUMAN, "my own")
    assert AssetDescriptions(file).find(asset, "one") == ("my own", HUMAN)
    assert kept.find(replace(asset, digest="changed"), "one") == ("", "")
    kept.keep(asset, HUMAN, "")
    assert AssetDescriptions(file).find(asset, "one")[1] == "one"
    with pytest.raises(AssetError, match="601 characters"):
        kept.keep(asset, HUMAN, "x" * 601)
    file = tmp_path / "measured.json"
    describe(library, PlannerModel(), file)
    for asset in library:
        text, source = AssetDescriptions(file).find(asset, MEASURED)
        assert source == MEASURED and f"{100 * asset.size[2]:.0f} cm" in text and asset.category in text
    assert kept_descriptions(library, "one", file) == {}, "measured words never pass for a model's"
