"""`python -m bench.sam2_fit FRAMES`: fits the weights of `mask_evidence` on drawn frames.

FRAMES holds frames that `python -m scripts.training.varied_tables` drew; no photograph is used. Each kind of scene
(<ground>_<layout>) is one source; the printed accuracy is that of a fit without the scene's own kind.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from bench.mask_scores import read_labelled
from bench.sam2_like import draw_masks
from pipeline.frame import FrameError
from pipeline.segmentation.sam2.mask_evidence import SceneDepth, border_terms, object_terms
from pipeline.segmentation.sam2.mask_filter import scene_mask, splits

RIDGE = 0.01
"""Weight of the squares of the weights, against chance in small sources."""
KEPT_SHARE = 0.95
"""Share of objects and parts that the printed probability keeps."""
Examples = list[tuple[str, bool, list[float]]]
"""Source, label and terms of each example."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("frames", type=Path)
    folder = parser.parse_args().frames
    objects: Examples = []
    borders: Examples = []
    names: dict[str, list[str]] = {}
    for number, path in enumerate(sorted(p.parents[1] for p in folder.glob("*/truth/masks.png"))):
        try:
            labelled = read_labelled(path)
        except FrameError:  # drawn without any depth
            continue
        source = "_".join(path.name.split("_")[:2])
        scene = SceneDepth.from_frame(labelled.frame)
        truth = [scene_mask(scene, mask) for mask in labelled.truth.values()]
        if not truth:
            continue
        masks = draw_masks(labelled.frame.rgb, labelled.truth, path.name, number)
        drawn = [scene_mask(scene, mask) for mask, _ in masks]
        for terms, label in object_examples(scene, drawn, truth):
            names["object"] = list(terms)
            objects.append((source, label, list(terms.values())))
        for terms, label in border_examples(scene, drawn, truth):
            names["border"] = list(terms)
            borders.append((source, label, list(terms.values())))
    for kind, examples in (("object", objects), ("border", borders)):
        weights = fit(examples)
        print(f"{kind}: {len(examples)} examples of {len({e[0] for e in examples})} sources; {accuracy(examples)}")
        print({name: round(float(w), 2) for name, w in zip([*names[kind], "bias"], weights, strict=True)})
        if kind == "object":
            print(
                f"{KEPT_SHARE:.0%} of objects and parts have a probability of {kept_probability(examples):.2f} or more"
            )
    return 0


def object_examples(
    scene: SceneDepth, drawn: list[np.ndarray], truth: list[np.ndarray]
) -> Iterator[tuple[dict[str, float], bool]]:
    """Yield the terms of each mask and whether it shows an object, or a part of one."""
    every = np.logical_or.reduce(truth)
    for mask in drawn:
        share = (mask & every).sum() / max(1, mask.sum())
        if mask.sum() > 30 and not 0.3 < share < 0.7:
            yield object_terms(scene, mask), bool(share > 0.5)


def border_examples(
    scene: SceneDepth, drawn: list[np.ndarray], truth: list[np.ndarray]
) -> Iterator[tuple[dict[str, float], bool]]:
    """Yield the terms of each pair of masks inside another one, and whether they show two objects."""
    every = np.logical_or.reduce(truth)
    drawn = [mask for mask in drawn if (mask & every).sum() > 0.85 * mask.sum() > 30]
    for mask in drawn:
        shares = [(mask & one).sum() / mask.sum() for one in truth]
        for part, rest, rest_is_mask in splits(mask, drawn):
            owners = [int(np.argmax([(half & one).sum() for one in truth])) for half in (part, rest)]
            pure = [(half & truth[k]).sum() / max(1, half.sum()) for half, k in zip((part, rest), owners, strict=True)]
            whole = max(shares) > 0.93
            if min(pure) > 0.8 and (owners[0] != owners[1] or whole):
                yield border_terms(scene, part, rest, rest_is_mask), owners[0] != owners[1]


def fit(examples: Examples) -> np.ndarray:
    """Return the weights and the bias of a logistic regression in which every source and label weighs the same."""
    x = np.array([[*terms, 1.0] for *_, terms in examples])
    y = np.array([label for _, label, _ in examples], float)
    sources = [source for source, *_ in examples]
    weight = np.array([1 / sum(s == t for t in sources) for s in dict.fromkeys(sources)])
    weight = np.array([dict(zip(dict.fromkeys(sources), weight, strict=True))[s] for s in sources])
    weight = weight * np.where(y > 0.5, 0.5 / (weight * y).sum(), 0.5 / (weight * (1 - y)).sum())

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        z = x @ w
        p = 1 / (1 + np.exp(-np.clip(z, -50, 50)))
        value = -(weight * (y * np.log(p + 1e-12) + (1 - y) * np.log(1 - p + 1e-12))).sum()
        ridge = RIDGE * 0.05 * w * np.r_[np.ones(len(w) - 1), 0]
        return float(value + 0.5 * (ridge * w).sum()), x.T @ (weight * (p - y)) + ridge

    return minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B").x


def kept_probability(examples: Examples) -> float:
    """Return the probability that KEPT_SHARE of the examples labelled yes reach, by fits that lack the source."""
    odds = []
    for source in {e[0] for e in examples}:
        weights = fit([e for e in examples if e[0] != source])
        odds += [float(np.array([*terms, 1.0]) @ weights) for s, label, terms in examples if s == source and label]
    return float(1 / (1 + np.exp(-np.quantile(odds, 1 - KEPT_SHARE))))


def accuracy(examples: Examples) -> str:
    """Return the share that is right, by label, of fits that lack the source."""
    right: dict[bool, list[bool]] = {True: [], False: []}
    for source in {e[0] for e in examples}:
        weights = fit([e for e in examples if e[0] != source])
        for _, label, terms in (e for e in examples if e[0] == source):
            right[label].append(bool((np.array([*terms, 1.0]) @ weights > 0) == label))
    return f"right without the own source: {np.mean(right[True]):.3f} of yes, {np.mean(right[False]):.3f} of no"


if __name__ == "__main__":
    sys.exit(main())
