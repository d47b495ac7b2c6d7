"""Masks drawn to the colour's edges: GrabCut (Rother et al., 2004) in the mask's own crop."""

import cv2
import numpy as np
from scipy import ndimage

from pipeline.segmentation.standing import Heights, crop, doubtful, holes_filled

BAND = 6
"""Pixels at working size on either side of a depth edge within which colour decides."""
THICK = 2
"""Pixels at working size from edge to middle of what colour may not take from a thing: depth bleeds less far."""
LARGEST_CROP = 160
"""Pixels; a larger crop is cut at a coarser scale, for the time it takes."""


def refine(view: Heights, mask: np.ndarray, others: np.ndarray) -> np.ndarray:
    """A mask (h, w) of working size, with its edges where colour has them: at the frame's own size (H, W).

    `others` (H, W) are pixels that belong to other things.
    """
    window = crop(mask, BAND * 3)
    inner = mask[window]
    depth_in = cv2.distanceTransform(inner.astype(np.uint8), cv2.DIST_L2, 5)
    depth_out = cv2.distanceTransform((~inner).astype(np.uint8), cv2.DIST_L2, 5)
    trimap = np.where(inner, cv2.GC_PR_FGD, cv2.GC_PR_BGD).astype(np.uint8)
    trimap[depth_in >= min(BAND, 0.6 * depth_in.max())] = cv2.GC_FGD
    trimap[(depth_out > BAND) & ~doubtful(view, mask, window)] = cv2.GC_BGD
    fine = tuple(slice(one.start * view.step, one.stop * view.step) for one in window)
    picture, rival = view.picture[fine], others[fine]
    size = picture.shape[1::-1]
    trimap = cv2.resize(trimap, size, interpolation=cv2.INTER_NEAREST)
    near = enlarge(depth_in > 0, picture.shape[:2], view.step)
    trimap[rival] = cv2.GC_BGD
    cut = grab_cut(picture, trimap)
    opened = np.asarray(ndimage.binary_opening(cut | (trimap == cv2.GC_FGD), iterations=view.step), bool)
    cut = opened | (cut & near)
    cut = attached(holes_filled(cut) & ~rival if not _has_holes(inner) else cut & ~rival, near)
    cut |= _thick(near & ~cut & ~rival & _enlarged(view.above[window] & ~view.steep[window], size), THICK * view.step)
    told = _enlarged(view.known[window], size)
    both, either = np.count_nonzero(cut & near & told), np.count_nonzero((cut | near) & told)
    refined = np.zeros(others.shape, bool)
    refined[fine] = cut if both > 0.55 * either else near & ~rival
    return refined


def _enlarged(mask: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    """A mask at working size, of shape (h, w), at another (width, height)."""
    return cv2.resize(mask.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST) > 0


def _thick(mask: np.ndarray, radius: int) -> np.ndarray:
    """Where a mask is thicker than twice a radius in pixels."""
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1, 2 * radius + 1))
    return cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_OPEN, disc) > 0


def grab_cut(rgb: np.ndarray, trimap: np.ndarray, rounds: int = 2) -> np.ndarray:
    """Foreground of shape (h, w), bool, of colour (h, w, 3) and GrabCut's four-valued trimap (h, w)."""
    shape = trimap.shape
    scale = LARGEST_CROP / max(shape)
    if scale < 1:
        size = (max(1, round(shape[1] * scale)), max(1, round(shape[0] * scale)))
        rgb = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA)
        trimap = cv2.resize(trimap, size, interpolation=cv2.INTER_NEAREST)
    front = np.isin(trimap, (cv2.GC_FGD, cv2.GC_PR_FGD))
    if front.all() or not front.any():
        result = front
    else:
        cv2.setRNGSeed(0)
        model = np.zeros((1, 65)), np.zeros((1, 65))
        bgr = np.ascontiguousarray(rgb[..., ::-1])
        cut, *_ = cv2.grabCut(bgr, trimap.copy(), (0, 0, 1, 1), *model, rounds, cv2.GC_INIT_WITH_MASK)
        result = np.isin(cut, (cv2.GC_FGD, cv2.GC_PR_FGD))
    if scale < 1:
        large = cv2.resize(result.astype(np.float32), shape[::-1], interpolation=cv2.INTER_LINEAR)
        result = large > 0.5
    return result


def attached(mask: np.ndarray, core: np.ndarray) -> np.ndarray:
    """The parts of a mask that hold a fair share of a core: no specks."""
    count, labels = cv2.connectedComponents(mask.astype(np.uint8))
    held = np.bincount(labels[core & mask], minlength=count)
    held[0] = 0
    return mask & (held >= max(8, 0.05 * held.max()))[np.asarray(labels, int)]


def enlarge(mask: np.ndarray, shape: tuple[int, int], step: int) -> np.ndarray:
    """A mask at working size to the frame's (H, W), its edges smooth."""
    if step == 1:
        return mask
    h, w = mask.shape
    large = cv2.resize(mask.astype(np.float32), (w * step, h * step), interpolation=cv2.INTER_LINEAR)
    return large[: shape[0], : shape[1]] > 0.5


def _has_holes(mask: np.ndarray) -> bool:
    holes = holes_filled(mask) & ~mask
    return bool(ndimage.binary_erosion(holes, iterations=2).any())
