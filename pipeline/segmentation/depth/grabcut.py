"""Refine masks to colour edges: GrabCut (Rother et al., 2004) in a crop around the mask."""

import cv2
import numpy as np
from scipy import ndimage

from pipeline.segmentation.depth.height_map import HeightMap
from pipeline.segmentation.depth.object_proposals import uncertain_pixels
from pipeline.segmentation.mask_operations import fill_holes, padded_window

BAND = 6
"""Pixels at working size on each side of a depth edge in which colour decides."""


def refine_mask(view: HeightMap, mask: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return a mask (h, w) at the frame's size (H, W), with its edges on colour edges.

    `others` (H, W) are pixels of other objects.
    """
    window = padded_window(mask, BAND * 3)
    inner = mask[window]
    depth_in = cv2.distanceTransform(inner.astype(np.uint8), cv2.DIST_L2, 5)
    depth_out = cv2.distanceTransform((~inner).astype(np.uint8), cv2.DIST_L2, 5)
    trimap = np.where(inner, cv2.GC_PR_FGD, cv2.GC_PR_BGD).astype(np.uint8)
    trimap[depth_in >= min(BAND, 0.6 * depth_in.max())] = cv2.GC_FGD
    trimap[(depth_out > BAND) & ~uncertain_pixels(view, mask, window)] = cv2.GC_BGD
    full_window = tuple(slice(axis.start * view.step, axis.stop * view.step) for axis in window)
    rgb, taken = view.full_rgb[full_window], others[full_window]
    size = rgb.shape[1::-1]
    trimap = cv2.resize(trimap, size, interpolation=cv2.INTER_NEAREST)
    near = upsample_mask(depth_in > 0, rgb.shape[:2], view.step)
    trimap[taken] = cv2.GC_BGD
    cut = grab_cut(rgb, trimap)
    opened = np.asarray(ndimage.binary_opening(cut | (trimap == cv2.GC_FGD), iterations=view.step), bool)
    cut = opened | (cut & near)
    cut = attached_parts(fill_holes(cut) & ~taken if not _has_holes(inner) else cut & ~taken, near)
    cut |= _thick_parts(
        # Pixels at working size; colour may not remove regions thicker than twice this, because depth bleeds less far
        near & ~cut & ~taken & _resize(view.above[window] & ~view.flying[window], size),
        2 * view.step,
    )
    measured = _resize(view.known[window], size)
    both, either = np.count_nonzero(cut & near & measured), np.count_nonzero((cut | near) & measured)
    refined = np.zeros(others.shape, bool)
    refined[full_window] = cut if both > 0.55 * either else near & ~taken
    return refined


def _resize(mask: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    """Resize a mask to (width, height)."""
    return cv2.resize(mask.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST) > 0


def _thick_parts(mask: np.ndarray, radius: int) -> np.ndarray:
    """Return the parts of a mask that hold a disc of this radius in pixels."""
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1, 2 * radius + 1))
    return cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_OPEN, disc) > 0


def grab_cut(rgb: np.ndarray, trimap: np.ndarray, iterations: int = 2) -> np.ndarray:
    """Return the foreground (h, w), bool, of colour (h, w, 3), from GrabCut's four-valued trimap (h, w)."""
    shape = trimap.shape
    # Largest crop pixels; larger crops are cut at a coarser scale to save time
    scale = 160 / max(shape)
    if scale < 1:
        size = (max(1, round(shape[1] * scale)), max(1, round(shape[0] * scale)))
        rgb = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA)
        trimap = cv2.resize(trimap, size, interpolation=cv2.INTER_NEAREST)
    foreground = np.isin(trimap, (cv2.GC_FGD, cv2.GC_PR_FGD))
    if foreground.all() or not foreground.any():
        result = foreground
    else:
        cv2.setRNGSeed(0)
        model = np.zeros((1, 65)), np.zeros((1, 65))
        bgr = np.ascontiguousarray(rgb[..., ::-1])
        cut, *_ = cv2.grabCut(bgr, trimap.copy(), (0, 0, 1, 1), *model, iterations, cv2.GC_INIT_WITH_MASK)
        result = np.isin(cut, (cv2.GC_FGD, cv2.GC_PR_FGD))
    if scale < 1:
        large = cv2.resize(result.astype(np.float32), shape[::-1], interpolation=cv2.INTER_LINEAR)
        result = large > 0.5
    return result


def attached_parts(mask: np.ndarray, core: np.ndarray) -> np.ndarray:
    """Return the parts of a mask that hold a fair share of a core, without specks."""
    count, labels = cv2.connectedComponents(mask.astype(np.uint8))
    shared = np.bincount(labels[core & mask], minlength=count)
    shared[0] = 0
    return mask & (shared >= max(8, 0.05 * shared.max()))[np.asarray(labels, int)]


def upsample_mask(mask: np.ndarray, shape: tuple[int, int], step: int) -> np.ndarray:
    """Return a mask at working size at the frame's (H, W), with smooth edges."""
    if step == 1:
        return mask
    h, w = mask.shape
    large = cv2.resize(mask.astype(np.float32), (w * step, h * step), interpolation=cv2.INTER_LINEAR)
    return large[: shape[0], : shape[1]] > 0.5


def _has_holes(mask: np.ndarray) -> bool:
    holes = fill_holes(mask) & ~mask
    return bool(ndimage.binary_erosion(holes, iterations=2).any())
