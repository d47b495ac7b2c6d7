"""Measure whether depth belongs to its colour: depth edges lie on colour edges, unless depth is turned or elsewhere."""

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np

from pipeline.frame.frame import Doubt

WORKING_WIDTH = 320
"""Pixels in a row of the images that are compared."""
MAX_SHIFT = 5
"""Pixels at working width by which registered depth may be off; depth_alignment corrects such shifts."""
MIN_JUMP = 0.04
"""Step of inverse depth at an edge, over its median: 3 cm at a table 0.8 m away."""
MIN_EDGE_PIXELS, MAX_EDGE_PIXELS = 60, 3000
"""Depth edges below which nothing can be said, and those that are used."""
CLEAR_RATIO = 1.25
"""Ratio of agreement to that of every other placement from which it is no chance. On 15 reference frames and six
samples it was 1.29 to 1.96 for depth in its place, and 0.9 to 1.2 for depth of a second camera, but for two frames of
one object."""
MIN_WINNER = 0.5
"""Agreement of a turn that is applied; depth in its place reached 0.56 to 0.88, every other placement at most 0.65."""
MIN_GAIN = 0.35
"""Agreement above chance, over the most possible, below which depth is doubted unless its ratio is clear. In its place
that was 0.42 to 0.82, or 0.26 with a clear ratio; of a second camera at most 0.36, but for two frames of one object."""
TURNS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "flipped top to bottom": np.flipud,
    "mirrored left to right": np.fliplr,
    "turned by 180 degrees": lambda image: np.rot90(image, 2),
    "turned by 90 degrees": np.rot90,
    "turned by 270 degrees": lambda image: np.rot90(image, 3),
}
"""What can be done to a depth image so that it fits; anticlockwise."""


@dataclass(frozen=True)
class Agreement:
    """How well depth edges lie on colour edges, beside other placements of the same depth."""

    score: float
    """Mean rank of the colour gradient across depth edges, from 0 (nowhere) to 1 (on the strongest edges)."""
    chance: float
    """The mean of the same over placements that are wrong."""
    best_chance: float
    """The best of these placements."""

    @property
    def ratio(self) -> float:
        """Score over that of the best wrong placement."""
        return self.score / max(self.best_chance, 1e-6)

    @property
    def gain(self) -> float:
        """Score above chance over the most possible, at most 1."""
        return (self.score - self.chance) / max(1 - self.chance, 1e-6)


@dataclass(frozen=True)
class Registration:
    """How depth fits its colour."""

    turn: str | None = None
    """The one of TURNS by which depth clearly fits; None if it fits as it is, or no turn is clearly better."""
    agreement: Agreement | None = None
    """Of colour and depth, so turned; None if depth shows too few edges, or fits in no turn by its size."""


def measure_agreement(rgb: np.ndarray, depth: np.ndarray) -> Agreement | None:
    """Return the agreement of colour (H, W, 3) with depth (H, W), in any unit; None if depth shows too few edges.

    Wrong placements are all turns of the depth, and shifts by a quarter of the image.
    """
    return _agreements(rgb, depth).get(None)


def find_registration(rgb: np.ndarray, depth: np.ndarray) -> Registration:
    """Return how depth (h, w), in any unit and 0 where unknown, fits colour (H, W, 3)."""
    found = _agreements(rgb, depth)
    best = max(found, key=lambda turn: found[turn].score, default=None)
    if best and found[best].ratio >= CLEAR_RATIO and found[best].score >= MIN_WINNER:
        return Registration(best, found[best])
    return Registration(None, found.get(None))


def doubt_registration(agreement: Agreement | None) -> Doubt | None:
    """Return a doubt if depth does not lie where its colour is; None if it does, or shows too little to tell."""
    if agreement is None or agreement.ratio >= CLEAR_RATIO or agreement.gain >= MIN_GAIN:
        return None
    return Doubt(
        "registration",
        f"Depth does not fit the colour: their edges agree to {agreement.score:.2f}, elsewhere to "
        f"{agreement.best_chance:.2f}.",
        'Register depth to colour when recording, or give "depth" and "color_from_depth" in camera.json.',
    )


def _agreements(rgb: np.ndarray, depth: np.ndarray) -> dict[str | None, Agreement]:
    """Return the agreement of depth as it is (None) and in each of TURNS, where sizes fit and edges are enough."""
    turned = {None: depth} | {name: turn(depth) for name, turn in TURNS.items()}
    depth_edges = {name: _depth_edges(image) for name, image in turned.items() if image.shape == rgb.shape[:2]}
    depth_edges = {name: edges for name, edges in depth_edges.items() if len(edges[0]) >= MIN_EDGE_PIXELS}
    if not depth_edges:
        return {}
    edges = _colour_edges(rgb)
    h, w = edges.shape[:2]
    scores = {name: _score(edges, *found) for name, found in depth_edges.items()}
    best = max(scores, key=lambda name: scores[name])
    moved = [(y, x) for y in (-h // 4, 0, h // 4) for x in (-w // 4, 0, w // 4) if x or y]
    agreements = {}
    for name in {best, None} & set(scores):
        wrong = [_score(np.roll(edges, shift, (0, 1)), *depth_edges[name]) for shift in moved]
        wrong += [score for other, score in scores.items() if other != name]
        agreements[name] = Agreement(scores[name], float(np.mean(wrong)), max(wrong))
    return agreements


def _score(edges: np.ndarray, points: np.ndarray, normals: np.ndarray) -> float:
    """Return the best mean of the edges' strength along the normals (N, 2) at points (N, 2) within MAX_SHIFT."""
    h, w = edges.shape[:2]
    shifts = np.arange(-MAX_SHIFT, MAX_SHIFT + 1)
    cols, rows = np.clip(points[:, :1] + shifts, 0, w - 1), np.clip(points[:, 1:] + shifts, 0, h - 1)
    flat = rows[:, :, None] * w + cols[:, None, :]
    along = sum(edges[..., i].ravel().take(flat) * normals[:, i, None, None] for i in (0, 1))
    return float(np.abs(along).mean(0).max())


def _depth_edges(depth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return pixels (N, 2), x and y at working width, on the near side of depth edges, and unit normals (N, 2)."""
    step = max(1, round(depth.shape[1] / WORKING_WIDTH))
    depth = cv2.medianBlur(depth[::step, ::step].astype(np.float32), 3)  # stereo leaves speckles without an edge
    known = depth > 0
    if not known.any():
        return np.zeros((0, 2), int), np.zeros((0, 2))
    inverse = np.where(known, float(np.median(depth[known])) / np.where(known, depth, 1), 0).astype(np.float32)
    kernel = np.ones((3, 3), np.uint8)
    nearest, farthest = cv2.dilate(inverse, kernel), cv2.erode(np.where(known, inverse, np.float32(1e9)), kernel)
    near = known & (nearest - farthest > MIN_JUMP) & (inverse >= (nearest + farthest) / 2)
    near[:4] = near[-4:] = near[:, :4] = near[:, -4:] = False
    rows, cols = np.nonzero(near)
    picked = slice(None, None, max(1, len(rows) // MAX_EDGE_PIXELS))
    rows, cols = rows[picked], cols[picked]
    smooth = cv2.GaussianBlur(inverse, (0, 0), 1.0)
    normals = np.stack([cv2.Sobel(smooth, cv2.CV_32F, *order)[rows, cols] for order in ((1, 0), (0, 1))], -1)
    return np.stack([cols, rows], -1), normals / (np.linalg.norm(normals, axis=1, keepdims=True) + 1e-9)


def _colour_edges(rgb: np.ndarray) -> np.ndarray:
    """Return the gradient of the Lab channel that changes most, its length replaced by its rank from 0 to 1."""
    height, width = rgb.shape[:2]
    step = max(1, round(width / WORKING_WIDTH))
    size = -(-width // step), -(-height // step)
    lab = cv2.cvtColor(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), cv2.COLOR_RGB2LAB)
    lab = cv2.GaussianBlur(lab.astype(np.float32), (0, 0), 1.0)
    gradient = np.stack([cv2.Sobel(lab, cv2.CV_32F, *order) for order in ((1, 0), (0, 1))], -1)
    channel = (gradient**2).sum(-1).argmax(-1)[..., None, None]
    gradient = np.take_along_axis(gradient, channel, 2)[:, :, 0]
    length = np.linalg.norm(gradient, axis=-1)
    rank = np.empty(length.size, np.float32)
    rank[length.ravel().argsort()] = np.linspace(0, 1, length.size, dtype=np.float32)
    return gradient * (rank.reshape(length.shape) / (length + 1e-6))[..., None]
