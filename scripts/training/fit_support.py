"""Fits WEIGHTS of pipeline/frame/support_candidates.py on frames of varied_tables; no photograph is used.

`python -m scripts.training.fit_support FOLDER [COUNT]` prints the weights of a conditional logit (McFadden, 1974) over
the candidates of each frame, and the share of right choices on scenes that were not fitted, beside the old rule's.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.optimize import minimize

from pipeline.frame import SupportError, find_support, load
from pipeline.frame.frame import subsampling_step
from pipeline.frame.plane_extraction import SEARCH_WIDTH
from pipeline.frame.support_candidates import FEATURES, find_candidates

GROUND = 1
MIN_PURITY = 0.7
"""Share of a plane's pixels that must be ground for the plane to be right."""
PENALTY = 0.02
"""Weight of the squared weights."""


@dataclass(frozen=True, eq=False)
class JudgedFrame:
    """The candidates of one frame."""

    scene: int
    features: np.ndarray
    """Of shape (N, len(FEATURES))."""
    purity: np.ndarray
    """Share of each plane's pixels that are ground, of shape (N,)."""
    chosen_purity: float
    """Share of ground among the pixels of the support that is found now; 0 without one."""


def judge(folder: Path) -> JudgedFrame:
    """Return the candidates of a frame with their truth."""
    frame = load(folder)
    surfaces = np.asarray(Image.open(folder / "truth" / "surfaces.png"))
    step = subsampling_step(frame, SEARCH_WIDTH)
    small = surfaces[::step, ::step] == GROUND
    candidates = find_candidates(frame)
    try:
        chosen = float((surfaces[find_support(frame).inliers] == GROUND).mean())
    except SupportError:
        chosen = 0.0
    return JudgedFrame(
        int(folder.name.split("_")[2]),
        np.array([one.features for one in candidates]).reshape(-1, len(FEATURES)),
        np.array([small[one.inliers].mean() for one in candidates]),
        chosen,
    )


def fit(frames: list[JudgedFrame]) -> np.ndarray:
    """Return the weights (len(FEATURES),) that make the right candidates most likely."""
    usable = [one for one in frames if (one.purity > MIN_PURITY).any() and not (one.purity > MIN_PURITY).all()]

    def loss(weights: np.ndarray) -> float:
        total = PENALTY * len(usable) * float(weights @ weights) / 10
        for one in usable:
            scores = one.features @ weights
            total += np.logaddexp.reduce(scores) - np.logaddexp.reduce(scores[one.purity > MIN_PURITY])
        return float(total)

    return minimize(loss, np.zeros(len(FEATURES)), method="BFGS").x


def share_right(frames: list[JudgedFrame], weights: np.ndarray) -> float:
    """Return the share of frames in which the candidate with the highest score is ground."""
    best = [one.purity[(one.features @ weights).argmax()] if len(one.purity) else 0.0 for one in frames]
    return float(np.mean(np.array(best) > MIN_PURITY))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("count", type=int, nargs="?", default=1000)
    arguments = parser.parse_args()
    folders = sorted(path.parent for path in arguments.folder.glob("*/camera.json"))
    picks = np.random.default_rng(0).permutation(len(folders))[: arguments.count]
    frames = [judge(folders[i]) for i in picks]
    tests = [one for one in frames if one.scene % 4 == 0]
    weights = fit([one for one in frames if one.scene % 4])
    print(dict(zip(FEATURES, weights.round(2).tolist(), strict=True)))
    possible = np.mean([(one.purity > MIN_PURITY).any() for one in tests])
    now = np.mean([one.chosen_purity > MIN_PURITY for one in tests])
    print(f"{len(tests)} frames not fitted: a candidate is right in {possible:.3f}")
    print(f"chosen by these weights: {share_right(tests, weights):.3f}; by find_support now: {now:.3f}")


if __name__ == "__main__":
    main()
