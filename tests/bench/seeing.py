"""How fast masks come: the embedded segmenter and SAM 2's own network, without a browser."""

import tempfile
import warnings
from functools import cache
from pathlib import Path

import cv2
import numpy as np
import open3d

from pipeline.evaluation import Labelled, Predict, click, read_labelled
from pipeline.frame import Frame
from pipeline.segmentation import DepthSegmenter, Sam2Segmenter, View, rle
from tests.bench.reading import Reading, Skipped, clock, ms

SCENE = Path(__file__).parents[2] / "sample_scenes" / "workshop"
"""Nine objects at 1280x720."""
TINY = "configs/sam2.1/sam2.1_hiera_t.yaml"


@cache
def seen() -> Labelled:
    return read_labelled(SCENE)


def click_server() -> list[Reading]:
    """Each object by the click protocol, mask and run lengths as the canvas gets them."""
    view = DepthSegmenter().open(seen().frame)
    view.prepare()  # as the studio does in the background once a frame is open
    scores = [click(painted(view), truth) for truth in seen().truth.values()]
    times = [one for score in scores for one in score.seconds]
    return [
        Reading(
            "click to mask, server side, embedded, 1280x720 (95th percentile)",
            ms(times, 95), budget=100, bare=ms(clock(grab_cut_of_one_object, 9)),
            bare_is="one round of cv2.grabCut in one object's box",
            note=f"median {ms(times):.0f} ms of {len(times)} clicks",
        )
    ]  # fmt: skip


def painted(view: View) -> Predict:
    """All that the server does for one click of the canvas."""

    def predict(prompt, _):
        best = view.segment(prompt)
        [rle(reading.mask) for reading in best]
        return best[0].mask

    return predict


def grab_cut_of_one_object() -> None:
    mask = next(iter(seen().truth.values()))
    x, y, w, h = cv2.boundingRect(mask.astype(np.uint8))
    window = np.s_[max(0, y - 12) : y + h + 12, max(0, x - 12) : x + w + 12]
    trimap = np.where(mask[window], cv2.GC_PR_FGD, cv2.GC_PR_BGD).astype(np.uint8, order="C")
    models = np.zeros((1, 65)), np.zeros((1, 65))
    cv2.grabCut(np.ascontiguousarray(seen().frame.rgb[window]), trimap, None, *models, 1, cv2.GC_INIT_WITH_MASK)


def automatic() -> list[Reading]:
    """From the frame to all its masks; opening finds the table."""
    opened = clock(lambda: DepthSegmenter().open(fresh()), 3)
    whole = clock(lambda: DepthSegmenter().open(fresh()).automatic(), 3)
    return [
        Reading(
            "frame to automatic masks, embedded, 1280x720",
            ms(whole), budget=800, bare=ms(clock(ransac_of_the_table, 3)),
            bare_is="open3d's RANSAC of the table alone", note=f"opening the frame takes {ms(opened):.0f} ms of it",
        )
    ]  # fmt: skip


def fresh() -> Frame:
    """The frame without anything that was kept of it."""
    frame = seen().frame
    return Frame(frame.rgb, frame.depth, frame.intrinsics, frame.world_from_camera)


def ransac_of_the_table() -> None:
    points = fresh().points.reshape(-1, 3)
    cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points[np.isfinite(points[:, 2])].astype(float)))
    cloud.segment_plane(0.01, 3, 200)


def sam2() -> list[Reading]:
    """The tiny network with random weights: its time is the real one's, its masks mean nothing."""
    try:
        import torch
        from sam2.build_sam import build_sam2
        from sam2.sam2_image_predictor import SAM2ImagePredictor
    except ImportError:
        raise Skipped("torch and sam2 are not installed (a light set-up)") from None
    warnings.filterwarnings("ignore", category=FutureWarning)  # torch's own, about its own
    with tempfile.TemporaryDirectory() as folder:
        torch.save({"model": build_sam2(TINY, None, device="cpu").state_dict()}, Path(folder) / "tiny.pt")
        segmenter = Sam2Segmenter(str(Path(folder) / "tiny.pt"))
        frame, truth = seen().frame, list(seen().truth.values())
        segmenter.open(frame).wait()  # loads the network
    bare = SAM2ImagePredictor(build_sam2(TINY, None, device="cpu"))
    bare.set_image(frame.rgb)
    encoded_bare = clock(lambda: bare.set_image(frame.rgb), 2)
    encoded = clock(lambda: (segmenter.forget(), segmenter.open(frame).wait()), 2)
    view, times, bare_times = segmenter.open(frame), [], []
    for mask in truth:
        score = click(painted(view), mask, 3)
        times += score.seconds
        for i in range(1, len(score.clicks) + 1):
            places = np.array(score.clicks[:i], np.float32)
            ask = dict(point_coords=places[:, :2], point_labels=places[:, 2].astype(np.int32), multimask_output=i == 1)
            bare_times += clock(lambda ask=ask: bare.predict(**ask))
    return [
        Reading(
            "SAM 2.1 tiny: encode a frame, 1280x720", ms(encoded),
            bare=ms(encoded_bare), bare_is="the package's predictor", note="random weights",
        ),
        Reading(
            "SAM 2.1 tiny: click to mask once encoded (95th percentile)", ms(times, 95), budget=150,
            bare=ms(bare_times, 95), bare_is="the package's predictor, the same clicks",
            note=f"random weights; median {ms(times):.0f} ms, bare {ms(bare_times):.0f} ms",
        ),
    ]  # fmt: skip
