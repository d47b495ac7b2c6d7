"""Every asset is described once for each model, from three views; a person's words come first and are kept."""

from dataclasses import replace

import pytest

from pipeline.assets import AssetError, Library
from pipeline.assets.asset_captions import AssetAnswer, caption_question
from pipeline.assets.asset_descriptions import HUMAN, MEASURED, AssetDescriptions, describe_library, kept_descriptions
from pipeline.models import ModelError
from pipeline.models.in_flight import InFlightCalls
from pipeline.planner import PlannerModel


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
    default = Library.open()
    return replace(default, assets=default.assets[:3])


def describe(library, model, file):
    return list(describe_library(library, model, InFlightCalls(), AssetDescriptions(file)))


def test_an_asset_is_described_once_for_each_model_from_three_views(library, tmp_path):
    file, first, second = tmp_path / "descriptions.json", DescribingModel("one"), DescribingModel("two")
    for model in (first, first, second):
        describe(library, model, file)
    assert len(first.questions) == len(second.questions) == len(library)
    texts = kept_descriptions(library, "one", file)
    assert set(texts) == {asset.id for asset in library} and all(text.startswith("one sees") for text in texts.values())
    (picture,) = caption_question(library.assets[0]).pictures
    assert picture.shape[1] > 2.5 * picture.shape[0]


def test_a_failed_asset_is_named_and_asked_again_next_time(library, tmp_path):
    file, silent = tmp_path / "descriptions.json", library.assets[0].id
    steps = describe(library, DescribingModel("one", f"asset {silent}"), file)
    assert [(asset.id, failure) for _, _, asset, failure in steps if failure] == [(silent, "no words")]
    (again,) = describe(library, DescribingModel("one"), file)
    assert again[2].id == silent and not again[3]


def test_a_persons_words_come_first_until_they_are_removed_or_the_asset_changes(library, tmp_path):
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


def test_offline_the_words_are_measured_and_labelled(library, tmp_path):
    file = tmp_path / "descriptions.json"
    describe(library, PlannerModel(), file)
    for asset in library:
        text, source = AssetDescriptions(file).find(asset, MEASURED)
        assert source == MEASURED and f"{100 * asset.size[2]:.0f} cm" in text and asset.category in text
    assert kept_descriptions(library, "one", file) == {}, "measured words never pass for a model's"
