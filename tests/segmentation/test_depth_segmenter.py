"""The embedded segmenter: objects, clicks, parts and fragments of known frames; superpixels and networks."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import cv2
import numpy as np
import pytest
from PIL import Image
from reference_frames import reference_frame

from pipeline.frame import find_support, load
from pipeline.geometry import transform
from pipeline.segmentation import DepthSegmenter, Prompt, Segment, SegmentationError, split
from pipeline.segmentation.depth import affinity
from pipeline.segmentation.depth.agglomeration import PairAffinities, absorb_small_regions, agglomerate
from pipeline.segmentation.depth.click_choice import SOURCES, choose, predicted_gains
from pipeline.segmentation.depth.click_crops import CELLS, ClickCrop, click_maps
from pipeline.segmentation.depth.click_network import OUTSIDE, FrameNetworks, expected_iou, network_agrees
from pipeline.segmentation.depth.instance_split import classify_boundaries
from pipeline.segmentation.depth.object_proposals import join_fragments, uncertain_pixels
from pipeline.segmentation.depth.superpixels import SurfaceMap, superpixels
from pipeline.segmentation.mask_operations import iou
from pipeline.segmentation.mask_review import find_fragments, review_reasons
from tests.frame.rendered import Rendered, render


@pytest.fixture(scope="module")
def scene() -> Rendered:
    return render(width=640)


@pytest.fixture(scope="module")
def view(scene):
    return DepthSegmenter().open(scene.frame)


def at(x, y, label=1):
    return Prompt(np.array([[x, y]], float), np.array([label]))


def middle(mask):
    y, x = np.median(np.nonzero(mask), axis=1).astype(int)
    return x, y


def test_each_object_on_the_table_is_one_segment_disjoint_numbered_and_reproducible_also_if_prepared(scene, view):
    segments = view.automatic()
    assert len(segments) == len(scene.labels)
    for name, truth in scene.labels.items():
        assert max(iou(segment.mask, truth) for segment in segments) > 0.9, name
    segments, repeated = view.automatic(), DepthSegmenter().open(scene.frame).automatic()
    assert [segment.id for segment in segments] == list(range(1, len(segments) + 1))
    assert sum(segment.mask.astype(int) for segment in segments).max() == 1
    assert all(np.array_equal(a.mask, b.mask) for a, b in zip(segments, repeated, strict=True))
    assert all(segment.mask.dtype == bool and segment.mask.shape == scene.frame.depth.shape for segment in segments)
    assert DepthSegmenter().open(render("").frame).automatic() == ()
    ready, prompt = DepthSegmenter().open(scene.frame), at(*middle(scene.labels["red_box"]))
    with ThreadPoolExecutor(2) as threads:
        for method in (ready.prepare, ready.automatic):
            threads.submit(method)
        answers = [opened.segment(prompt)[0].mask for opened in (ready, view)]
    assert np.array_equal(*answers)


def test_a_click_or_a_box_selects_its_object_and_a_later_click_does_not_undo_the_first(scene, view):
    for name, truth in scene.labels.items():
        assert iou(view.segment(at(*middle(truth)))[0].mask, truth) > 0.9, name
        rows, cols = np.nonzero(truth)
        box = np.array([cols.min(), rows.min(), cols.max() + 1, rows.max() + 1])
        assert iou(view.segment(Prompt(box=box))[0].mask, truth) > 0.9, name
        x, y = middle(truth)
        for offset in (4, 8, 12):
            prompt = Prompt(np.array([[x, y], [x + offset, y]], float), np.array([1, 0]))
            mask = view.segment(prompt)[0].mask
            assert mask[y, x] and not mask[y, x + offset]
    for x, y in ((3, 3), (320, 470), (600, 240), (320, 200)):
        readings = view.segment(at(x, y))
        assert 1 <= len(readings) <= 3 and readings[0].mask[y, x]


def test_clicks_give_one_mask_together_nothing_new_on_their_own_pixel_and_invalid_ones_are_refused(scene, view):
    truth = scene.labels["blue_cylinder"]
    for mask in (truth, view.automatic()[0].mask):
        inside, outside = middle(mask), (5, 5)
        prompt = Prompt(np.array([inside, outside], float), np.array([1, 0]), mask=mask)
        assert np.array_equal(view.segment(prompt)[0].mask, mask)
    x, y = middle(scene.labels["red_box"])
    points, labels = np.array([[x, y], [x + 30, y + 40], [x - 10, y - 5]], float), np.array([1, 1, 0])
    step = DepthSegmenter().open(scene.frame)
    for n in (1, 2, 3):
        one_by_one = step.segment(Prompt(points[:n], labels[:n]))[0].mask
    together = DepthSegmenter().open(scene.frame).segment(Prompt(points, labels))[0].mask
    assert np.array_equal(one_by_one, together)
    small = Prompt(mask=np.zeros((4, 4), bool))
    for prompt, message in ((at(5, 5, 0), "first click must add"), (small, "mask to start from")):
        with pytest.raises(SegmentationError, match=message):
            view.segment(prompt)


@pytest.mark.frames
@pytest.mark.parametrize("name", ["grasp6dof_white_bowl", "posecnn_0", "m2t2_02"])
def test_masks_agree_with_the_ground_truth_of_real_frames(name):
    folder = reference_frame(name)
    truth = np.array(Image.open(folder / "truth" / "masks.png"))
    known = {entry["id"]: entry["name"] for entry in json.loads((folder / "truth/truth.json").read_text())["objects"]}
    view = DepthSegmenter().open(load(folder))
    segments = view.automatic()
    for i, label in known.items():
        assert max(iou(segment.mask, truth == i) for segment in segments) > 0.75, label
        mask = truth == i
        assert iou(view.segment(at(*middle(mask)))[0].mask, mask) > 0.5, label


@pytest.mark.parametrize("name", ["red_box", "green_sphere"])
def test_an_object_with_most_of_its_depth_missing_is_segmented(scene, name):
    truth = scene.labels[name]
    rough = cv2.GaussianBlur(np.random.default_rng(3).random(truth.shape), (0, 0), 4)
    holes = truth & (rough < np.quantile(rough[truth], 0.7))
    frame = replace(scene.frame, depth=np.where(holes, 0, scene.frame.depth).astype(np.float32))
    assert max(iou(segment.mask, truth) for segment in DepthSegmenter().open(frame).automatic()) > 0.8


BOXES = """
<geom name="red_box" type="box" size=".04 .04 .03" pos="-.05 -.02 .03"/>
<geom name="blue_cylinder" type="box" size=".022 .022 .02" pos="-.05 -.02 .08"/>
<geom name="green_sphere" type="box" size=".03 .03 .04" pos=".16 .06 .04"/>"""


def test_stacked_boxes_are_two_segments_by_themselves_by_a_split_and_by_a_click_and_without_depth():
    rendered = render(BOXES, width=640)
    view = DepthSegmenter().open(rendered.frame)
    truth = {name.partition("_")[0]: mask for name, mask in rendered.labels.items()}
    for name in ("red", "blue"):
        assert max(iou(segment.mask, truth[name]) for segment in view.automatic()) > 0.8
    both = truth["red"] | truth["blue"]
    parts = split(Segment(3, both), 9, proposals=view.propose_parts(both))
    assert {part.id for part in parts} == {3, 9} and (parts[0].mask ^ parts[1].mask == both).all()
    for name in ("red", "blue"):
        assert max(iou(part.mask, truth[name]) for part in parts) > 0.8
    (part,) = view.propose_parts(truth["green"])
    assert (part == truth["green"]).all()
    x, y = middle(truth["blue"])
    readings = view.segment(at(x, y))
    assert max(iou(reading.mask, truth["blue"]) for reading in readings[:2]) > 0.8
    after = view.segment(replace(at(x, y, 0), mask=both))[0].mask
    assert iou(after, truth["red"]) > 0.85
    heights = view._height_map
    unknown = replace(heights, depth=np.where(truth["blue"], 0, heights.depth))
    assert len(join_fragments(unknown, [truth["red"], truth["blue"]])) == 2
    window = (slice(0, 480), slice(0, 640))
    assert not uncertain_pixels(unknown, truth["blue"], window)[truth["blue"]].any()
    assert len(DepthSegmenter().open(replace(view.frame, depth=unknown.depth)).automatic()) >= 2


OBJECTS = """
<geom name="carton" type="box" size=".06 .05 .07" pos="0 0 .07"/>
<geom name="beside" type="box" size=".008 .008 .008" pos="-.075 -.05 .008"/>
<geom name="on_top" type="box" size=".008 .008 .008" pos=".03 .02 .148"/>
"""


def test_a_piece_of_a_lid_apart_from_its_carton_is_a_fragment_of_it_and_a_small_object_is_not():
    view = render(OBJECTS)
    support, carton = find_support(view.frame), view.labels["carton"]
    x, y, z = np.moveaxis(transform(view.world_from_camera, view.frame.points.astype(float)), -1, 0)
    lid = carton & (z > 0.136)
    fragment = lid & (np.abs(x) < 0.012) & (np.abs(y + 0.026) < 0.008)
    both = [Segment(1, carton & ~lid, 1.0, "depth"), Segment(2, fragment, 1.0, "depth")]
    assert fragment.sum() > 10 and find_fragments(view.frame, support, both) == {2: 1}
    for name in ("beside", "on_top"):
        both = [Segment(1, carton, 1.0, "depth"), Segment(2, view.labels[name], 1.0, "depth")]
        assert both[1].mask.sum() > 20 and find_fragments(view.frame, support, both) == {}


def test_superpixels_stop_at_a_gap_log_odds_are_bounded_small_regions_absorbed_and_masks_of_several_objects_reviewed():
    h, w = 60, 80
    mask = np.zeros((h, w), bool)
    mask[10:50, 10:38], mask[10:50, 42:70] = True, True
    flat = np.zeros((h, w, 3), np.float32)
    up = flat + np.float32([0, 0, 1])
    surface = SurfaceMap(flat, flat, up, np.ones((h, w), np.float32), np.ones((h, w), bool))
    labels = superpixels(surface, mask)
    assert ((labels > 0) == mask).all() and not set(labels[:, :40].ravel()) & set(labels[:, 40:].ravel()) - {0}
    labels = np.ones((64, 64), int)
    labels[:, 32:] = 2
    pairs = affinity.label_affinities(labels, np.full((3 + len(affinity.OFFSETS), 16, 16), 99.0, np.float32))
    assert pairs.pairs.tolist() == [[1, 2]] and pairs.total[0] == pytest.approx(affinity.MAX_LOG_ODDS * pairs.weight[0])
    pairs = affinity.label_affinities(np.ones((64, 64), int), np.zeros((3 + len(affinity.OFFSETS), 16, 16), np.float32))
    assert len(pairs.pairs) == len(pairs.total) == len(pairs.weight) == 0
    labels = np.zeros((40, 90), int)
    labels[:, :40], labels[:, 40:44], labels[:, 44:] = 1, 2, 3
    for log_odds, absorbed_by in (([-1.0, -3.0], 1), ([-3.0, -1.0], 3)):
        affinities = pair_affinities([[1, 2], [2, 3]], log_odds, 40)
        assert absorb_small_regions(np.arange(4), labels, [affinities]).tolist() == [0, 1, absorbed_by, 3]
    mask = np.ones((20, 20), bool)
    assert "several" in " ".join(review_reasons(Segment(1, mask, 0.5, "depth")))
    assert not review_reasons(Segment(1, mask, 1.0, "depth")) and not review_reasons(Segment(1, mask, 0.5, "human"))
    assert (np.abs(classify_boundaries(np.random.default_rng(0).normal(0, 50, (200, 14)))) <= 8).all()


CHAIN = np.array([[1, 2], [2, 3], [3, 4], [4, 5]])


def pair_affinities(pairs, odds, weight=1.0, near=True):
    odds, weight = np.asarray(odds, float), np.full(len(pairs), float(weight))
    return PairAffinities(np.asarray(pairs), odds * weight, weight, weight * near)


def test_labels_merge_only_over_likely_boundaries_and_a_higher_threshold_only_divides_further():
    log_odds = np.array([5.0, -5.0, 5.0, 5.0])
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        mapping = agglomerate(6, [pair_affinities(CHAIN[order], log_odds[order])], 0.0)
        assert mapping[1] == mapping[2] != mapping[3] and mapping[3] == mapping[4] == mapping[5]
    near = pair_affinities(CHAIN, [5, 1, 5, 5])
    assert len(set(agglomerate(6, [near], 0.0)[1:])) == 1
    far = pair_affinities([[1, 4], [1, 5], [2, 4], [2, 5]], [-4, -4, -4, -4], near=False)
    mapping = agglomerate(6, [near, far], 0.0)
    assert mapping[1] == mapping[2] != mapping[3] and mapping[3] == mapping[4] == mapping[5]
    far = pair_affinities([[1, 3]], [9], near=False)
    assert len(set(agglomerate(4, [far, pair_affinities([[1, 2]], [-3])], 0.0)[1:])) == 3
    assert len(set(agglomerate(4, [far, pair_affinities([[1, 2], [2, 3]], [3, 3])], 0.0)[1:])) == 1
    assert len(set(agglomerate(3, [], 0.0)[1:])) == 2
    random = np.random.default_rng(0)
    pairs = np.array([(a, b) for a in range(1, 30) for b in range(a + 1, 30)])
    affinities = pair_affinities(pairs, random.normal(0, 3, len(pairs)))
    mappings = [agglomerate(30, [affinities], threshold) for threshold in (-2.0, 0.0, 2.0)]
    for coarse, fine in pairwise(mappings):
        assert all(len(set(coarse[fine == label])) == 1 for label in set(fine))


def test_a_crop_is_pasted_back_where_it_was_cut_and_plus_and_minus_clicks_have_separate_maps():
    rows, cols = np.mgrid[0:480, 0:640].astype(np.float32)
    for x, y, width in ((320, 240, 300), (5, 470, 200), (600, 40, 400), (100, 100, 30)):
        crop = ClickCrop.around(x, y, width)
        for values, at in ((cols, x), (rows, y)):
            pasted = crop.paste(crop.cut(values[..., None], 1)[..., 0], (480, 640), np.nan)
            assert abs(pasted[min(y, 479), min(x, 639)] - at) <= 2 * crop.cell
    crop = ClickCrop.around(200, 100, 160)
    assert crop.cells(200, 100) == pytest.approx((CELLS / 2, CELLS / 2), abs=CELLS / crop.side)
    maps = click_maps([(10, 20, 1), (30, 40, 0)], None)
    assert maps[0, 20, 10] == 1 and maps[1, 40, 30] == 1 and maps[4, 40, 30] == -1
    assert maps[0, 40, 30] < 0.01 and maps[1, 20, 10] < 0.01 and not maps[5].any()


def test_predictions_are_there_for_every_cell_hold_the_clicked_object_stay_near_it_and_are_the_frames_own(scene, view):
    networks = FrameNetworks(view._height_map)
    for name, truth in scene.labels.items():
        x, y = middle(truth)
        odds = networks.predict([(x, y, 1)])
        assert odds.shape == truth.shape and odds[y, x] > 0, name
        assert (odds[:, :1] == OUTSIDE).all() or x < 200
    other, click = FrameNetworks(view._height_map), [(320.0, 240.0, 1)]
    first = networks.predict(click)
    other.predict([(100.0, 300.0, 1)])
    assert np.array_equal(networks.predict(click), first)
    probability = affinity.objectness(view._networks.affinities, scene.frame.depth.shape)
    objects = np.logical_or.reduce(list(scene.labels.values()))
    assert probability[objects].mean() > 0.5 > probability[~objects].mean()
    for h, w in ((120, 160), (98, 151)):
        maps = np.zeros((affinity.INPUT_CHANNELS, h // 2, w // 2), np.float32)
        predicted = affinity.predict_affinities(maps, np.zeros((h, w, 3), np.uint8))
        assert predicted.shape == (3 + len(affinity.OFFSETS), -(-h // affinity.CELL), -(-w // affinity.CELL))


def test_a_later_click_reaches_part_of_the_way_and_the_network_overrules_depth_only_where_it_is_sure(scene, view):
    truth = scene.labels["red_box"]
    x, y = middle(truth)
    points = np.array([[x, y], [x + 20, y]], float)
    less = view.segment(Prompt(points, np.array([1, 0]), mask=truth))[0].mask
    assert less[y, x] and not less[y, x + 20]
    assert np.hypot(*(np.argwhere(less != truth) - [y, x + 20]).T).max() < 40
    found, guess = np.zeros((40, 40), bool), np.zeros((40, 40), bool)
    found[:20], guess[:5] = True, True
    sure, unsure = np.where(guess, 6.0, -6.0), np.where(guess, 0.2, -1.0)
    assert not network_agrees(sure, found, guess) and network_agrees(unsure, found, guess)
    assert network_agrees(np.where(found, 6.0, -6.0), found, found)
    assert expected_iou(sure, guess) > 0.95 > 0.3 > expected_iou(sure, found)


def test_the_networks_run_without_torch():
    code = "import sys, pipeline.segmentation.depth.click_network as c, numpy as n; "
    code += "from pipeline.segmentation.depth.affinity import predict_affinities; "
    code += "predict_affinities(n.zeros((12, 32, 32), n.float32), n.zeros((64, 64, 3), n.uint8)); "
    code += "print(c.encode(n.zeros((100, 150, 3), n.uint8)).shape, 'torch' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.split() == ["(28,", "40,", "24)", "False"]


def corrections(scene):
    """Yield a mask and clicks: half of an object with a plus click on the rest, and two objects with a minus click."""
    first, second = list(scene.labels.values())[:2]
    x, y = middle(first)
    yield first & (np.arange(first.shape[1]) < x), [(x - 6, y, 1), (x + 6, y, 1)]
    yield first | second, [(x, y, 1), (*middle(second), 0)]


def test_proposals_obey_all_clicks_and_the_one_of_highest_gain_brings_the_mask_closer(scene, view):
    correction, (first, second) = view._interactive.correction, list(scene.labels.values())[:2]
    for mask, clicks in corrections(scene):
        proposals, terms = correction.propose(mask, clicks)
        assert set(proposals) == set(terms) <= set(SOURCES) and "colour" in proposals
        for source, one in proposals.items():
            assert all(one[y, x] == bool(label) for x, y, label in clicks), source
            assert not (one & ~mask).any() if clicks[-1][2] == 0 else not (mask & ~one).any(), source
        best = max(terms, key=lambda source: predicted_gains(terms[source][None])[0])
        after = correction.correct(mask, clicks)
        assert choose(terms) == best and np.array_equal(after, proposals[best])
        assert np.count_nonzero(after ^ first) < 0.5 * np.count_nonzero(mask ^ first)
    assert not (correction.correct(first | second, clicks) & second).sum() > 0.5 * second.sum()
