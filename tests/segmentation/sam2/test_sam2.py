"""SAM 2 with random weights in a real checkpoint file: what must hold for any mask. Images are 256 pixels wide."""

import importlib.util
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.frame import Frame
from pipeline.segmentation import Prompt, Sam2Segmenter, SegmentationError
from pipeline.segmentation.sam2 import HUB_FILES, AutomaticSettings, Sam2View
from pipeline.segmentation.sam2.network import TRAINED_SIDE, feature_sizes
from tests.frame.rendered import render

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script")
NOT_INSTALLED = "LIGHT set-up: torch and sam2 are not installed"
TIMEOUT_S = 120.0
ACCEPT_ALL = AutomaticSettings(points_per_side=2, pred_iou_thresh=0, stability_score_thresh=0, box_nms_thresh=1)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch = pytest.importorskip("torch", reason=NOT_INSTALLED)
    build = pytest.importorskip("sam2.build_sam", reason=NOT_INSTALLED)
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("sam2") / "sam2.1_hiera_tiny.pt"
    model = build.build_sam2("configs/sam2.1/sam2.1_hiera_t.yaml", None, device="cpu")
    torch.save({"model": model.state_dict()}, path)
    return path


@pytest.fixture(scope="module")
def segmenter(checkpoint: Path) -> Sam2Segmenter:
    return Sam2Segmenter(str(checkpoint), side=256)


@pytest.fixture(scope="module")
def frame() -> Frame:
    return render().frame


@pytest.fixture(scope="module")
def view(segmenter: Sam2Segmenter, frame: Frame) -> Sam2View:
    view = segmenter.open(frame)
    assert view.state.status in ("queued", "loading"), "opening does not wait"
    assert view.wait(TIMEOUT_S).status == "ready", view.state.message
    assert segmenter.state.status == "ready" and "cpu" in segmenter.state.message
    return view


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch, frame: Frame) -> None:
    from pipeline.segmentation.sam2 import automatic_masks

    monkeypatch.setattr(automatic_masks, "BATCH_PIXELS", 2 * 3 * frame.depth.size)


def clicks(*points: tuple[float, float, int], mask: np.ndarray | None = None) -> Prompt:
    array = np.array(points, float).reshape(-1, 3)
    return Prompt(array[:, :2], array[:, 2].astype(int), mask=mask)


def test_a_click_has_three_readings_best_first_those_of_the_package_with_the_same_weights(view, frame, checkpoint):
    readings = view.segment(clicks((160, 120, 1)))
    scores = [reading.score for reading in readings]
    assert len(readings) == 3 and scores == sorted(scores, reverse=True) and all(0 <= score <= 1 for score in scores)
    for reading in readings:
        assert reading.mask.shape == frame.depth.shape and reading.mask.dtype == bool and reading.source == "sam2"
    import torch
    from sam2.sam2_image_predictor import SAM2ImagePredictor

    model = view._encoding.predictor.model
    stored, loaded = torch.load(checkpoint, weights_only=True)["model"], model.state_dict()
    assert stored.keys() == loaded.keys() and all(torch.equal(stored[key], loaded[key]) for key in stored)
    bare = SAM2ImagePredictor(model)
    assert bare._bb_feat_sizes == feature_sizes(TRAINED_SIDE), "at full size the package is not changed"
    bare._bb_feat_sizes = feature_sizes(256)
    bare.set_image(frame.rgb)
    masks, scores, _ = bare.predict(np.array([[160.0, 120]]), np.array([1]), multimask_output=True)
    for reading, i in zip(view.segment(clicks((160, 120, 1))), np.argsort(-scores), strict=True):
        assert (reading.mask == (masks[i] > 0)).all() and reading.score == pytest.approx(float(scores[i]))


def test_hub_names_and_files_are_those_of_the_package():
    build = pytest.importorskip("sam2.build_sam", reason=NOT_INSTALLED)
    assert {name: file for name, (_, file) in build.HF_MODEL_ID_TO_FILENAMES.items()} == HUB_FILES


@pytest.mark.parametrize("label", [0, 1])
def test_a_later_click_sets_its_pixel_also_in_a_mask_that_was_chosen(view, label):
    start = view.segment(clicks((160, 120, 1)))[0].mask
    wrong = np.argwhere(start != bool(label))
    y, x = wrong[len(wrong) // 3]
    (after,) = view.segment(clicks((160, 120, 1), (x, y, label)))
    assert after.mask[y, x] == bool(label)
    (on_chosen,) = view.segment(clicks((x, y, label), mask=view.segment(clicks((160, 120, 1)))[1].mask))
    assert on_chosen.mask[y, x] == bool(label)


def test_the_same_clicks_give_the_same_mask_and_other_prompts_one_reading_or_a_reason(view, segmenter, frame):
    row = clicks((100, 100, 1), (200, 150, 0), (90, 110, 1), (30, 30, 0))
    fresh = segmenter.open(frame)
    for count in (1, 2, 3):
        view.segment(Prompt(row.points[:count], row.labels[:count]))
    assert (view.segment(row)[0].mask == fresh.segment(row)[0].mask).all()
    box = np.array([50.0, 40, 250, 200])
    both = Prompt(np.array([[100.0, 100], [60, 60]]), np.array([1, 0]), box)
    for prompt in (Prompt(box=box), both, Prompt(mask=view.segment(clicks((160, 120, 1)))[2].mask)):
        assert len(view.segment(prompt)) == 1
    for prompt, message in ((clicks((900, 1, 1)), "outside"), (clicks((10, 10, 0)), "must add"), (Prompt(), "empty")):
        with pytest.raises(SegmentationError, match=message):
            view.segment(prompt)


@pytest.mark.parametrize("keep_all", [True, False])
def test_automatic_masks_come_in_steps_and_do_not_overlap(view, small_batches, keep_all):
    again = Sam2View(view._encodings, view.frame, replace(ACCEPT_ALL, keep_all=keep_all))
    steps, progress = again.automatic_steps(), []
    while True:
        try:
            progress.append(next(steps))
        except StopIteration as end:
            segments = end.value
            break
    assert progress == [0.5, 1.0]
    assert not segments or np.sum([segment.mask for segment in segments], axis=0).max() == 1


def test_automatic_segmentation_follows_its_settings_and_can_be_stopped(view, small_batches):
    assert view.automatic(AutomaticSettings(points_per_side=1, pred_iou_thresh=1.0)) == ()
    steps = view.automatic_steps(ACCEPT_ALL)
    assert next(steps) == 0.5
    steps.close()
    steps = view.automatic_steps(ACCEPT_ALL)
    next(steps)
    view.cancel()
    with pytest.raises(SegmentationError, match="stopped"):
        next(steps)
    assert view.segment(clicks((160, 120, 1))), "a click still works"


@pytest.mark.parametrize("wrong", [{"points_per_side": 0}, {"pred_iou_thresh": 2.0}, {"box_nms_thresh": -1.0}])
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(SegmentationError, match=next(iter(wrong))):
        AutomaticSettings(**wrong)


def test_a_cancelled_frame_is_encoded_again_by_the_next_click(segmenter):
    view = segmenter.open(render(seed=1).frame)
    view.cancel()
    assert view.wait(TIMEOUT_S).status in ("stopped", "ready")
    assert len(view.segment(clicks((160, 120, 1)))) == 3 and view.state.status == "ready"


@pytest.mark.parametrize("kind", ["unknown width", "layers missing", "no model"])
def test_a_checkpoint_of_another_network_fails_in_one_line_on_the_first_prompt(tmp_path, frame, kind):
    torch = pytest.importorskip("torch", reason=NOT_INSTALLED)
    pytest.importorskip("sam2", reason=NOT_INSTALLED)
    width = 50 if kind == "unknown width" else 96
    layers = {"image_encoder.trunk.patch_embed.proj.weight": torch.zeros(width, 3, 7, 7)}
    layers["image_encoder.trunk.blocks.11.norm1.weight"] = torch.zeros(96)
    torch.save(layers if kind == "no model" else {"model": layers}, tmp_path / "sam2.pt")
    segmenter = Sam2Segmenter(str(tmp_path / "sam2.pt"))
    with pytest.raises(SegmentationError, match=r"sam2\.pt") as caught:
        segmenter.open(frame).segment(clicks((160, 120, 1)))
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300
    assert segmenter.state.status == "failed" and segmenter.state.message == str(caught.value)


BOTH = """
import mujoco
import pipeline.segmentation
model = mujoco.MjModel.from_xml_string('<mujoco><worldbody><geom size="1"/></worldbody></mujoco>')
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
with mujoco.Renderer(model, 64, 64) as renderer:
    renderer.update_scene(data)
    assert renderer.render().shape == (64, 64, 3)
from sam2.sam2_image_predictor import SAM2ImagePredictor
print(SAM2ImagePredictor.__name__)
"""


@pytest.mark.soak
@pytest.mark.skipif(importlib.util.find_spec("sam2") is None, reason="sam2 is not installed (the light set-up)")
def test_sam2_can_be_imported_after_rendering():
    result = subprocess.run(
        [sys.executable, "-c", BOTH],
        capture_output=True, text=True, env=os.environ | {"MUJOCO_GL": "egl", "PYOPENGL_PLATFORM": "egl"}, timeout=300,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr[-500:] or f"the process died with {result.returncode}"
    assert result.stdout.strip() == "SAM2ImagePredictor"
