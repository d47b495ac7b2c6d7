"""An encoder of the transformers library, with a stand-in for that library."""

import contextlib
import sys
from dataclasses import replace
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from pipeline.assets import AssetError, Library
from pipeline.assets.appearance.encoder import TRAINED_ENCODER, load_encoder
from pipeline.matching import IndexedLibrary, calibration_warning, match


class Clip:
    """Answers with the mean colour of each picture."""

    def eval(self):
        return self

    def get_image_features(self, pixel_values):
        return SimpleNamespace(numpy=lambda: pixel_values.mean(axis=(1, 2)))


@pytest.fixture
def loaded(tmp_path, monkeypatch):
    """An encoder whose weights lie in a folder."""
    processor = SimpleNamespace(from_pretrained=lambda _: lambda images, **_: {"pixel_values": np.stack(images)})
    parts = {"AutoImageProcessor": processor, "AutoModel": SimpleNamespace(from_pretrained=lambda _: Clip())}
    for name, content in (("transformers", parts), ("torch", {"inference_mode": contextlib.nullcontext})):
        module = ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    (tmp_path / "hub" / "clip").mkdir(parents=True)
    return load_encoder(str(tmp_path / "hub" / "clip"))


def test_a_model_from_a_folder_encodes_pictures_under_their_masks(loaded):
    assert loaded.name.startswith("clip ") and "/" not in loaded.name, "a project does not keep its place"
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 255, (13, loaded.pixels, loaded.pixels, 3)).astype(np.uint8)
    vectors = loaded.encode(pictures, np.ones(pictures.shape[:3], bool))
    assert vectors.shape == (13, 3) and vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    half = np.zeros(pictures.shape[:3], bool)
    half[:, :100] = True
    other = pictures.copy()
    other[:, 100:] = 7  # outside the mask nothing counts
    np.testing.assert_allclose(loaded.encode(pictures, half), loaded.encode(other, half), atol=1e-6)


def test_a_segment_is_matched_with_it_and_a_warning_says_that_scores_are_uncalibrated(loaded, query):
    default = Library.open()
    indexed = IndexedLibrary.build(replace(default, assets=default.assets[:2]), loaded)
    for matcher in ("all", "embedding"):
        found = match(query, indexed, matcher)
        assert all(0 <= one.scores["picture"] <= 1 for one in found.candidates) and found.candidates
    assert loaded.name in calibration_warning(loaded) and "uncalibrated" in calibration_warning(loaded)


def test_the_embedded_encoder_and_none_give_no_warning():
    assert calibration_warning(None) == "" and calibration_warning(SimpleNamespace(name=TRAINED_ENCODER)) == ""  # type: ignore[arg-type]


def test_missing_weights_give_one_clear_line(tmp_path):
    with pytest.raises(AssetError, match=r"cannot be loaded|needs"):
        load_encoder(str(tmp_path / "nowhere"))
    with pytest.raises(AssetError, match="there is no encoder odd; available: embedded, none"):
        load_encoder("odd")
