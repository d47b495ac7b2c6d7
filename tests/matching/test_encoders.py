"""An encoder of transformers, from a real checkpoint folder with random weights: the real path, whatever it sees."""

import importlib.util
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from pipeline.assets import AssetError, Library
from pipeline.assets.encoder import LEARNT, encoder
from pipeline.assets.features import Features
from pipeline.description import describe_all
from pipeline.frame import find_support, load
from pipeline.matching import match, unlearnt
from pipeline.segmentation import DepthSegmenter
from tests.matching.test_modes import SAMPLE

HERE = importlib.util.find_spec("transformers") is not None and importlib.util.find_spec("torch") is not None


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A CLIP of two thin layers, saved as its own library saves one."""
    if not HERE:
        pytest.skip("transformers is not installed: pip install transformers")
    import torch
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel  # type: ignore[import-not-found]

    thin = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = CLIPConfig(text_config=dict(thin), vision_config=thin | {"patch_size": 32}, projection_dim=24)
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("hub") / "clip"
    CLIPModel(config).save_pretrained(folder)
    CLIPImageProcessor().save_pretrained(folder)
    return folder


def test_a_clip_from_a_folder_sees_through_the_real_path(checkpoint):
    eyes = encoder(str(checkpoint))
    assert eyes is not None and eyes.name == str(checkpoint)
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 255, (13, eyes.pixels, eyes.pixels, 3)).astype(np.uint8)
    seen = eyes.encode(pictures, np.ones(pictures.shape[:3], bool))
    assert seen.shape == (13, 24) and seen.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(seen, axis=1), 1, atol=1e-5)
    half = np.zeros(pictures.shape[:3], bool)
    half[:, :100] = True
    other = pictures.copy()
    other[:, 100:] = 7  # outside the mask nothing counts
    np.testing.assert_allclose(eyes.encode(pictures, half), eyes.encode(other, half), atol=1e-6)


def test_a_segment_is_matched_by_it_and_it_is_said_that_its_weights_were_not_learnt(checkpoint):
    eyes, whole = encoder(str(checkpoint)), Library.open()
    assert eyes is not None
    library = replace(whole, assets=whole.assets[:2])
    frame = load(SAMPLE)
    support, segment = find_support(frame), DepthSegmenter().open(frame).automatic()[0]
    (described,) = describe_all(frame, support, [segment])
    features = Features.of(library, encoder=eyes)
    for matcher in ("all", "embedding"):
        found = match(frame, support, segment, described, library, features, eyes, matcher)
        assert all(0 <= one.scores["picture"] <= 1 for one in found.candidates) and found.candidates
    assert str(checkpoint) in unlearnt(eyes) and "uncalibrated" in unlearnt(eyes)


def test_the_embedded_one_and_none_need_no_warning():
    assert unlearnt(None) == "" and unlearnt(SimpleNamespace(name=LEARNT)) == ""  # type: ignore[arg-type]


def test_weights_that_cannot_be_had_are_one_clear_line(tmp_path):
    with pytest.raises(AssetError, match=r"cannot be had|needs"):
        encoder(str(tmp_path / "nowhere"))
    with pytest.raises(AssetError, match="there is no encoder odd; there are: embedded, none"):
        encoder("odd")
