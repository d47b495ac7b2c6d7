"""An encoder of the transformers library, loaded from a checkpoint folder with random weights (`make soak`)."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from pipeline.assets import AssetError, Library
from pipeline.assets.appearance.encoder import TRAINED_ENCODER, load_encoder
from pipeline.matching import IndexedLibrary, calibration_warning, match


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    import torch
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel

    thin = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = CLIPConfig(text_config=dict(thin), vision_config=thin | {"patch_size": 32}, projection_dim=24)
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("hub") / "clip"
    CLIPModel(config).save_pretrained(folder)
    CLIPImageProcessor().save_pretrained(folder)
    return folder


@pytest.mark.soak
def test_a_clip_from_a_folder_encodes_pictures_under_their_masks(checkpoint):
    loaded = load_encoder(str(checkpoint))
    assert loaded is not None and loaded.name.startswith("clip ") and str(checkpoint) not in loaded.name
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 255, (13, loaded.pixels, loaded.pixels, 3)).astype(np.uint8)
    vectors = loaded.encode(pictures, np.ones(pictures.shape[:3], bool))
    assert vectors.shape == (13, 24) and vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    half = np.zeros(pictures.shape[:3], bool)
    half[:, :100] = True
    other = pictures.copy()
    other[:, 100:] = 7  # outside the mask nothing counts
    np.testing.assert_allclose(loaded.encode(pictures, half), loaded.encode(other, half), atol=1e-6)


@pytest.mark.soak
def test_a_segment_is_matched_with_it_and_a_warning_says_that_scores_are_uncalibrated(checkpoint, query):
    loaded, default = load_encoder(str(checkpoint)), Library.open()
    assert loaded is not None
    indexed = IndexedLibrary.build(replace(default, assets=default.assets[:2]), loaded)
    for matcher in ("all", "embedding"):
        found = match(query, indexed, matcher)
        assert all(0 <= one.scores["picture"] <= 1 for one in found.candidates) and found.candidates
    uncalibrated = f"uncalibrated: the weights and thresholds were fitted for {TRAINED_ENCODER}, not for {loaded.name}."
    assert uncalibrated in calibration_warning(loaded)


def test_the_embedded_encoder_and_none_give_no_warning_and_missing_weights_one_line(tmp_path):
    assert calibration_warning(None) == "" and calibration_warning(SimpleNamespace(name=TRAINED_ENCODER)) == ""  # type: ignore[arg-type]
    with pytest.raises(AssetError, match=r"cannot be loaded|needs torch and transformers|needs transformers"):
        load_encoder(str(tmp_path / "nowhere"))
    with pytest.raises(AssetError, match="there is no encoder odd; available: embedded, none"):
        load_encoder("odd")
