"""Things that depth and colour do not show as one or many: the clicks' network says what each of their parts is of."""

from collections.abc import Sequence

import cv2
import numpy as np

from pipeline.segmentation.learned import Learned, confirms, part_at
from pipeline.segmentation.parts import CRUMB, Parts

UNDIVIDED = 0.8
"""Share of a thing from which its largest part is the whole of it: nothing speaks for taking it apart."""
ASKED = 6
"""Parts of a thing that the network is asked about, largest first."""


def told_apart(learned: Learned, parts: Parts) -> list[np.ndarray]:
    """The things of a piece, masks of shape (h, w), bool, not overlapping; undivided ones as they are."""
    inner = [
        sorted((part for part in parts.fine if (part & thing).sum() > 0.5 * part.sum()), key=np.sum, reverse=True)
        for thing in parts.things
    ]
    whole = [undivided(thing, own) for thing, own in zip(parts.things, inner, strict=True)]
    found = [thing for thing, one in zip(parts.things, whole, strict=True) if one]
    taken = np.logical_or.reduce([np.zeros_like(parts.fine[0]), *found])
    for thing, own, one in zip(parts.things, inner, whole, strict=True):
        masks = [] if one else _asked(learned, thing, own[:ASKED], taken)
        taken = np.logical_or.reduce([taken, *masks])
        found += masks
    return found


def undivided(thing: np.ndarray, inner: Sequence[np.ndarray]) -> bool:
    """Whether a thing has no parts, or one that is nearly all of it; `inner` are its parts, largest first."""
    return not inner or bool(np.count_nonzero(inner[0] & thing) > UNDIVIDED * np.count_nonzero(thing))


def _asked(learned: Learned, thing: np.ndarray, inner: Sequence[np.ndarray], taken: np.ndarray) -> list[np.ndarray]:
    """What the network makes of a thing's parts, outside what is taken."""
    masks: list[np.ndarray] = []
    for part in inner:
        free = part & ~taken
        if np.count_nonzero(free) < max(CRUMB, 0.6 * np.count_nonzero(part)):
            continue
        x, y = _middle(free)
        odds = learned.guess([(x, y, 1)])
        guess = part_at(odds > 0, x, y)
        mask = (thing if confirms(odds, thing, guess) else guess) & ~taken
        if np.count_nonzero(mask) > CRUMB:
            masks.append(mask)
            taken = taken | mask
    rest = thing & ~taken
    return [*masks, rest] if np.count_nonzero(rest) > 0.5 * np.count_nonzero(thing) else masks


def _middle(mask: np.ndarray) -> tuple[int, int]:
    depth = cv2.distanceTransform(np.pad(mask, 1).astype(np.uint8), cv2.DIST_L2, 5)[1:-1, 1:-1]
    y, x = np.unravel_index(depth.argmax(), depth.shape)
    return int(x), int(y)
