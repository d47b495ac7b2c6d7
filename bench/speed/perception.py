"""Speed of segmentation: the embedded segmenter and SAM 2's network, without a browser."""

import tempfile
import warnings
from functools import cache
from pathlib import Path

import cv2
import numpy as np
import open3d

from bench import ROOT
from bench.mask_scores import LabelledFrame, MaskPredictor, read_labelled, simulate_clicks
from bench.measurement import Measurement, NotMeasured, clock, ms
from pipeline.frame import Frame
from pipeline.segmentation import DepthSegmenter, Sam2Segmenter, View, encode_rle

SCENE = ROOT / "sample_scenes" / "workshop"
"""Nine objects at 1280x720."""
TINY = "configs/sam2.1/sam2.1_hiera_t.yaml"


@cache
def workshop() -> LabelledFrame:
    return read_labelled(SCENE)


def click_server() -> list[Measurement]:
    """Time the click protocol for each object, with masks and run lengths as the canvas gets them."""
    view = DepthSegmenter().open(workshop().frame)
    view.prepare()  # as the studio does in the background after opening a frame
    scores = [simulate_clicks(click_predictor(view), truth) for truth in workshop().truth.values()]
    times = [seconds for score in scores for seconds in score.seconds]
    return [
        Measurement(
            "click to mask, server side, embedded, 1280x720 (95th percentile)",
            ms(times, 95),
            budget=100,
            baseline=ms(clock(grab_cut_one_object, 9)),
            baseline_is="one round of cv2.grabCut in one object's box",
            note=f"median {ms(times):.0f} ms of {len(times)} clicks",
        )
    ]


def click_predictor(view: View) -> MaskPredictor:
    """Return a predictor that does all that the server does for one click on the canvas."""

    def predict(prompt, _):
        best = view.segment(prompt)
        [encode_rle(reading.mask) for reading in best]
        return best[0].mask

    return predict


def grab_cut_one_object() -> None:
    mask = next(iter(workshop().truth.values()))
    x, y, w, h = cv2.boundingRect(mask.astype(np.uint8))
    window = np.s_[max(0, y - 12) : y + h + 12, max(0, x - 12) : x + w + 12]
    trimap = np.where(mask[window], cv2.GC_PR_FGD, cv2.GC_PR_BGD).astype(np.uint8, order="C")
    models = np.zeros((1, 65)), np.zeros((1, 65))
    cv2.grabCut(np.ascontiguousarray(workshop().frame.rgb[window]), trimap, None, *models, 1, cv2.GC_INIT_WITH_MASK)


def automatic() -> list[Measurement]:
    """Time all automatic masks of a frame; opening the frame includes finding the table."""
    opened = clock(lambda: DepthSegmenter().open(uncached_frame()), 3)
    total = clock(lambda: DepthSegmenter().open(uncached_frame()).automatic(), 3)
    return [
        Measurement(
            "frame to automatic masks, embedded, 1280x720",
            ms(total),
            budget=800,
            baseline=ms(clock(ransac_for_table, 3)),
            baseline_is="open3d's RANSAC of the table alone",
            note=f"opening the frame takes {ms(opened):.0f} ms of it",
        )
    ]


def uncached_frame() -> Frame:
    """Return the frame without cached values."""
    frame = workshop().frame
    return Frame(frame.rgb, frame.depth, frame.intrinsics, frame.world_from_camera)


def ransac_for_table() -> None:
    points = uncached_frame().points.reshape(-1, 3)
    cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points[np.isfinite(points[:, 2])].astype(float)))
    cloud.segment_plane(0.01, 3, 200)


def sam2() -> list[Measurement]:
    """Time the tiny network with random weights, which are as fast as trained ones."""
    try:
        import torch
        from sam2.build_sam import build_sam2
        from sam2.sam2_image_predictor import SAM2ImagePredictor
    except ImportError:
        raise NotMeasured("torch and sam2 are not installed (a light set-up)") from None
    warnings.filterwarnings("ignore", category=FutureWarning)  # torch warns about its own code
    with tempfile.TemporaryDirectory() as folder:
        torch.save({"model": build_sam2(TINY, None, device="cpu").state_dict()}, Path(folder) / "tiny.pt")
        segmenter = Sam2Segmenter(str(Path(folder) / "tiny.pt"))
        frame, truth = workshop().frame, list(workshop().truth.values())
        segmenter.open(frame).wait()  # loads the network
    bare = SAM2ImagePredictor(build_sam2(TINY, None, device="cpu"))
    bare.set_image(frame.rgb)
    encoded_bare = clock(lambda: bare.set_image(frame.rgb), 2)
    encoded = clock(lambda: (segmenter.forget(), segmenter.open(frame).wait()), 2)
    view, times, bare_times = segmenter.open(frame), [], []
    for mask in truth:
        score = simulate_clicks(click_predictor(view), mask, 3)
        times += score.seconds
        for i in range(1, len(score.clicks) + 1):
            places = np.array(score.clicks[:i], np.float32)
            ask = dict(point_coords=places[:, :2], point_labels=places[:, 2].astype(np.int32), multimask_output=i == 1)
            bare_times += clock(lambda ask=ask: bare.predict(**ask))
    return [
        Measurement(
            "SAM 2.1 tiny: encode a frame, 1280x720", ms(encoded),
            baseline=ms(encoded_bare), baseline_is="the package's predictor", note="random weights",
        ),
        Measurement(
            "SAM 2.1 tiny: click to mask once encoded (95th percentile)", ms(times, 95), budget=150,
            baseline=ms(bare_times, 95), baseline_is="the package's predictor, the same clicks",
            note=f"random weights; median {ms(times):.0f} ms, bare {ms(bare_times):.0f} ms",
        ),
    ]  # fmt: skip
