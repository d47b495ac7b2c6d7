"""SAM 2 with random weights in a real checkpoint file: what must hold for any mask. Images are 256 pixels wide.

Also the depth filter of its automatic masks, and local corrections by a click, on masks of known content.
"""

import importlib.util
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from bench.sam2_like import draw_masks
from pipeline.frame import Frame, Intrinsics
from pipeline.geometry import transform
from pipeline.segmentation import Prompt, Sam2Segmenter, SegmentationError
from pipeline.segmentation.mask_operations import iou
from pipeline.segmentation.sam2 import HUB_FILES, AutomaticSettings, Sam2View, clean_masks
from pipeline.segmentation.sam2.automatic_masks import without_duplicates
from pipeline.segmentation.sam2.network import TRAINED_SIDE, feature_sizes
from pipeline.segmentation.sam2.prompting import correct_locally
from tests.frame.rendered import Rendered, render
from tests.segmentation.test_mask_operations import drain

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


def test_masks_are_carried_to_pictures_of_any_size_and_a_checkpoint_that_is_none_is_named(segmenter, frame, tmp_path):
    masks = [np.zeros(frame.depth.shape, bool) for _ in range(2)]
    masks[0][20:60, 20:60], masks[1][100:160, 150:260] = True, True
    pictures = [frame.rgb, cv2.resize(frame.rgb, (200, 150))]
    (carried,) = segmenter.carry(pictures, masks)
    assert [(mask.shape, mask.dtype) for mask in carried] == [((150, 200), bool)] * 2
    broken = tmp_path / "broken.pt"
    broken.write_bytes(b"PK")
    with pytest.raises(SegmentationError, match=r"broken\.pt") as refused:
        Sam2Segmenter(str(broken), side=256).carry(pictures, masks)
    assert "\n" not in str(refused.value)


def test_each_mask_keeps_its_place_whatever_the_order_in_which_the_network_answers(segmenter, frame, monkeypatch):
    torch = pytest.importorskip("torch", reason=NOT_INSTALLED)
    given: dict[int, np.ndarray] = {}

    class Predictor:
        def init_state(self, folder, **_):
            return len(list(Path(folder).glob("*.jpg")))

        def add_new_mask(self, state, frame_idx, obj_id, mask):
            given[obj_id] = mask

        def propagate_in_video(self, state):
            for index in range(state):
                numbers = sorted(given, reverse=True)
                shown = np.stack([np.roll(given[number], index, 1) for number in numbers])
                yield index, numbers, torch.from_numpy(shown[:, None] - 0.5)

    monkeypatch.setattr("pipeline.segmentation.sam2.video.load_network", lambda *_, **__: Predictor())
    masks = [np.zeros(frame.depth.shape, bool) for _ in range(3)]
    for number, mask in enumerate(masks):
        mask[20:60, 40 * number : 40 * number + 20] = True
    carried = segmenter.carry([frame.rgb] * 3, masks)
    assert len(carried) == 2
    for by, shown in enumerate(carried, 1):
        assert all((np.roll(mask, by, 1) == one).all() for mask, one in zip(masks, shown, strict=True))


@pytest.mark.parametrize("keep_all", [True, False])
def test_automatic_masks_come_in_steps_and_do_not_overlap(view, small_batches, keep_all):
    again = Sam2View(view._encodings, view.frame, replace(ACCEPT_ALL, keep_all=keep_all))
    progress, segments = drain(again.automatic_steps())
    assert progress == [0.5, 1.0]
    assert not segments or np.sum([segment.mask for segment in segments], axis=0).max() == 1


def test_automatic_segmentation_follows_its_settings_and_can_be_stopped(view, small_batches):
    for name, value in (("points_per_side", 0), ("pred_iou_thresh", 2.0), ("box_nms_thresh", -1.0)):
        with pytest.raises(SegmentationError, match=name):
            AutomaticSettings(**{name: value})  # type: ignore[arg-type]
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
with mujoco.Renderer(model, 64, 64) as renderer:
    renderer.update_scene(mujoco.MjData(model))
    renderer.render()
import sam2.sam2_image_predictor
"""


@pytest.mark.soak
@pytest.mark.skipif(importlib.util.find_spec("sam2") is None, reason="sam2 is not installed (the light set-up)")
def test_sam2_can_be_imported_after_rendering():
    headless = os.environ | {"MUJOCO_GL": "egl", "PYOPENGL_PLATFORM": "egl"}
    done = subprocess.run([sys.executable, "-c", BOTH], env=headless, timeout=300, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


CARTON = '<geom name="red_box" type="box" size=".05 .04 .07" pos="0 0 .07" euler="0 0 30"/>'
TWO = """<geom name="red_box" type="box" size=".03 .03 .03" pos="-.031 0 .03"/>
<geom name="blue_cylinder" type="box" size=".03 .03 .03" pos=".031 0 .03"/>"""


@pytest.fixture(scope="module")
def scene() -> Rendered:
    return render()


def matches(a: np.ndarray, b: np.ndarray) -> bool:
    return (a & b).sum() > 0.9 * (a | b).sum()


@pytest.mark.parametrize("include_parts", [True, False])
def test_table_floor_and_wall_are_dropped(scene, include_parts):
    truth = list(scene.labels.values())
    background, columns = ~np.logical_or.reduce(truth), np.arange(320) // 80
    strips = [background & (columns == i) for i in range(4)]
    masks = [(mask, 0.95) for mask in strips] + [(mask, 0.9) for mask in truth]
    segments = clean_masks(scene.frame, masks, include_parts)
    assert len(segments) == len(truth) and all(segment.source == "sam2" for segment in segments)
    assert all(any(matches(segment.mask, mask) for mask in truth) for segment in segments)
    assert [segment.id for segment in segments] == list(range(1, len(truth) + 1))


@pytest.mark.parametrize("side", [-1, 1])
def test_a_soft_shadow_beside_an_object_is_dropped_and_the_objects_stay(scene, side):
    truth = scene.labels
    free, rgb, masks = ~np.logical_or.reduce(list(truth.values())), scene.frame.rgb, list(truth.values())
    for name in ("red_box", "blue_cylinder"):
        shift = side * int(0.8 * np.ptp(np.nonzero(truth[name])[1]))
        shadow = np.roll(truth[name], (4, shift), (0, 1)) & free
        light = 1 - 0.45 * cv2.GaussianBlur(shadow.astype(np.float32), (0, 0), 3)[..., None]
        rgb = np.where(free[..., None], rgb * light, rgb).astype(np.uint8)
        masks.append(shadow)
    segments = clean_masks(replace(scene.frame, rgb=rgb), [(mask, 0.9) for mask in masks])
    assert len(segments) == len(truth)
    assert all(any(matches(segment.mask, mask) for mask in truth.values()) for segment in segments)


def test_a_robot_arm_is_dropped_and_a_mask_without_depth_kept_if_the_table_surrounds_it(scene):
    table = render(CARTON + '<geom name="arm" type="capsule" size=".03" fromto="0 .1 .2 0 -.1 .9"/>')
    segments = clean_masks(table.frame, [(mask, 0.9) for mask in table.labels.values()])
    assert len(segments) == 1 and matches(segments[0].mask, table.labels["red_box"])
    depth = scene.frame.depth.copy()
    depth[scene.labels["green_sphere"]] = 0
    glass = Frame(scene.frame.rgb, depth, scene.frame.intrinsics)
    assert len(clean_masks(glass, [(scene.labels["green_sphere"], 0.8)])) == 1


@pytest.mark.parametrize(("z", "stays"), [(0.17, True), (0.26, False)])
def test_an_object_on_a_tall_carton_stays_and_one_in_the_air_is_dropped(z, stays):
    scene = render(CARTON + f'<geom name="blue_cylinder" type="cylinder" size=".025 .03" pos="0 0 {z}"/>')
    segments = clean_masks(scene.frame, [(mask, 0.9) for mask in scene.labels.values()])
    assert len(segments) == (2 if stays else 1)


@pytest.mark.parametrize("turn", [15, 45])
def test_faces_of_one_carton_are_joined_unless_parts_are_included(turn):
    scene = render(CARTON.replace("0 0 30", f"0 0 {turn}"))
    carton, rotation = scene.labels["red_box"], Rotation.from_euler("z", turn, degrees=True).as_matrix()
    own = np.nan_to_num(transform(scene.world_from_camera, scene.frame.points) - [0, 0, 0.07]) @ rotation
    nearest = np.argmin(abs(abs(own) - [0.05, 0.04, 0.07]), axis=-1)
    faces = [(carton & (nearest == axis), 0.8 + axis / 20) for axis in range(3)]
    faces = [(mask, score) for mask, score in faces if mask.sum() > 100]
    joined = clean_masks(scene.frame, faces)
    assert len(joined) == 1 and matches(joined[0].mask, carton) and joined[0].score == min(score for _, score in faces)
    assert len(clean_masks(scene.frame, faces, include_parts=True)) == len(faces) >= 2


def test_touching_objects_stay_separate_drawn_answers_hold_each_and_without_a_table_masks_are_only_separated(scene):
    two = render(TWO)
    assert len(clean_masks(two.frame, [(mask, 0.9) for mask in two.labels.values()])) == 2
    left, right = two.labels.values()
    segments = clean_masks(two.frame, [(left | right, 0.95), (left, 0.8), (right, 0.8)])
    assert len(segments) == 2 and matches(segments[0].mask, left) and matches(segments[1].mask, right)
    grown = cv2.dilate(right.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    segments = clean_masks(two.frame, [(left | right, 0.95), (left, 0.8), (grown, 0.7)])
    assert len(segments) == 2 and matches(segments[0].mask, left)
    segments = clean_masks(scene.frame, draw_masks(scene.frame.rgb, scene.labels, "blocks", 3))
    assert min([max(iou(one.mask, mask) for one in segments) for mask in scene.labels.values()]) > 0.5
    empty = Frame(np.zeros((60, 80, 3), np.uint8), np.zeros((60, 80), np.float32), Intrinsics(80, 60, 80, 80, 40, 30))
    left = np.arange(80) < 15
    masks = [(np.tile(left, (60, 1)), 0.9), (np.tile(~left & (np.arange(80) < 30), (60, 1)), 0.8)]
    assert len(clean_masks(empty, masks)) == 2


def test_a_label_is_joined_to_its_object_unless_parts_are_included_and_is_no_duplicate_of_it(scene):
    cylinder = scene.labels["blue_cylinder"]
    rows = np.indices(cylinder.shape)[0]
    label = cylinder & (abs(rows - rows[cylinder].mean()) < 6)
    both = [(label, 0.95), (cylinder, 0.8)]
    assert [matches(segment.mask, cylinder) for segment in clean_masks(scene.frame, both)] == [True]
    segments = clean_masks(scene.frame, both, include_parts=True)
    assert len(segments) == 2 and any(matches(segment.mask, label) for segment in segments)
    can = scene.labels["blue_cylinder"]
    ring = can & ~(cv2.erode(can.astype(np.uint8), np.ones((9, 9), np.uint8)) > 0)
    assert len(without_duplicates([(ring, 0.9), (can, 0.8)], 0.7)) == 2
    assert [score for _, score in without_duplicates([(can, 0.8), (can, 0.9)], 0.7)] == [0.9]


@pytest.mark.parametrize("label", [0, 1])
def test_a_click_changes_only_connected_pixels_near_it_and_none_on_a_pixel_with_its_label(label):
    before = np.zeros((120, 160), bool)
    before[40:80, 40:80] = True
    after = np.zeros_like(before)
    after[40:80, 60:100] = True  # an answer that moves the whole mask
    click = (82.0, 60.0, 1) if label else (57.0, 60.0, 0)
    mask = correct_locally(before, after, click)
    changed = mask != before
    assert mask[60, int(click[0])] == bool(label) and changed.any()
    assert not (changed & (before == bool(label))).any(), "a plus click takes nothing away, a minus click adds nothing"
    rows, cols = np.nonzero(changed)
    assert np.hypot(rows - click[1], cols - click[0]).max() <= 0.1 * 160 + 1
    assert correct_locally(before, ~before, (60, 60, 1) if label else (20, 20, 0)) is before
