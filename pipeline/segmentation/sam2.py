"""SAM 2 (Ravi et al., 2024) as a segmenter: the `sam2` package's predictor, its automatic masks cleaned by depth."""

from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

import cv2
import numpy as np

from pipeline.frame import Frame, SupportError, find_support
from pipeline.segmentation.prompted import check_prompt
from pipeline.segmentation.segment import Prompt, Segment, SegmentationError

WIDTHS = {96: ("t", "s"), 112: ("b+",), 144: ("l",)}
"""The architectures by the width of the image encoder's first layer; tiny and small differ in depth."""
SURE = 0.7
"""Predicted quality above which an automatic mask is kept."""
LEAST, MOST = 0.0004, 0.25
"""An automatic mask's share of the image: less is a speck, more is a table or a wall."""
HOW = "pip install of torch and the sam2 package (make setup), then --segmenter sam2 with a checkpoint or a hub name"

_locks: dict[str, Lock] = {}


class Sam2Segmenter:
    """Loads its checkpoint once: a hub name such as facebook/sam2.1-hiera-tiny, or a local .pt file."""

    name = "sam2"

    def __init__(self, checkpoint: str, device: str = "cpu"):
        self.checkpoint, self.device = checkpoint, device
        self._model = load_model(checkpoint, device)
        self._lock = _locks.setdefault(device, Lock())

    def open(self, frame: Frame) -> "Sam2View":
        """Encode the frame, once (about 2 s for tiny on two cores); prompts then take some 50 ms."""
        return Sam2View(self._model, self._lock, frame)


class Sam2View:
    """One frame encoded."""

    def __init__(self, model: Any, lock: Lock, frame: Frame):
        from sam2.sam2_image_predictor import SAM2ImagePredictor

        self._frame, self._model, self._lock = frame, model, lock
        self._predictor = SAM2ImagePredictor(model)
        with self._lock:
            self._predictor.set_image(frame.rgb)

    def automatic(self) -> tuple[Segment, ...]:
        """Everything mode without what depth says is table, wall or floor; masks do not overlap."""
        from sam2.automatic_mask_generator import SAM2AutomaticMaskGenerator

        generator = SAM2AutomaticMaskGenerator(self._model, points_per_side=24, pred_iou_thresh=SURE)
        with self._lock:
            found = generator.generate(self._frame.rgb)
        found.sort(key=lambda entry: -entry["predicted_iou"])
        return cleaned(self._frame, [(entry["segmentation"], float(entry["predicted_iou"])) for entry in found])

    def segment(self, prompt: Prompt) -> tuple[Segment, ...]:
        """The model's readings, best first: three of a single click, else one."""
        check_prompt(prompt, self._frame.depth.shape)
        several = len(prompt.points) == 1 and prompt.box is None and prompt.mask is None
        with self._lock:
            masks, scores, _ = self._predictor.predict(
                point_coords=np.asarray(prompt.points, np.float32) if len(prompt.points) else None,
                point_labels=np.asarray(prompt.labels, np.int32) if len(prompt.points) else None,
                box=None if prompt.box is None else np.asarray(prompt.box, np.float32),
                mask_input=None if prompt.mask is None else _logits(prompt.mask, self._predictor),
                multimask_output=several,
            )
        order = np.argsort(-scores)
        return tuple(Segment(0, masks[i] > 0, float(np.clip(scores[i], 0, 1)), "sam2") for i in order)


def cleaned(frame: Frame, found: list[tuple[np.ndarray, float]]) -> tuple[Segment, ...]:
    """Masks (H, W) with scores, best first, as segments: no table, no overlaps, left to right."""
    try:
        support = find_support(frame)
        height = support.plane.height(frame.points)
        foreign = support.inliers | (height < -0.02) | (height > 0.6)
    except SupportError:
        foreign = np.zeros(frame.depth.shape, bool)
    taken, kept = np.zeros(frame.depth.shape, bool), []
    for mask, score in found:
        own = mask.astype(bool) & ~taken
        seen = own & (frame.depth > 0)
        share = own.mean()
        if LEAST < share < MOST and own.sum() > 0.5 * mask.sum() and (foreign & seen).sum() <= 0.5 * seen.sum():
            kept.append((own, score))
            taken |= own
    kept.sort(key=lambda entry: float(np.flatnonzero(entry[0].any(0)).mean()))
    return tuple(Segment(i, mask, float(np.clip(score, 0, 1)), "sam2") for i, (mask, score) in enumerate(kept, 1))


def load_model(checkpoint: str, device: str) -> Any:
    """The network, ready to answer. Raises SegmentationError in one line."""
    try:
        import torch
        from sam2.build_sam import build_sam2, build_sam2_hf
    except ImportError as error:
        raise SegmentationError(f"SAM 2 is not installed ({error}): it takes {HOW}.") from None
    if not checkpoint:
        raise SegmentationError("No SAM 2 checkpoint named: set GRS_SAM2 to a .pt file or facebook/sam2.1-hiera-tiny.")
    path = Path(checkpoint).expanduser()
    try:
        if not path.exists() and checkpoint.startswith("facebook/"):
            return build_sam2_hf(checkpoint, device=device)
        if not path.is_file():
            raise SegmentationError(
                f"There is no SAM 2 checkpoint at {checkpoint}: give a .pt file or facebook/sam2.1-hiera-tiny."
            )
        state = torch.load(path, map_location="cpu", weights_only=True)
        weights = state["model"] if isinstance(state, Mapping) and "model" in state else None
        if weights is None:
            raise SegmentationError(f'{path.name} is no SAM 2 checkpoint: it holds no "model" state.')
        model = build_sam2(architecture(weights, path.name), None, device=device)
        model.load_state_dict(weights)
        return model
    except SegmentationError:
        raise
    except Exception as error:  # torch, pickle, hydra and the hub each raise their own
        told = (str(error).strip() or type(error).__name__).split("\n")[0].split(". ")[0][:120]
        raise SegmentationError(
            f"SAM 2 cannot be loaded from {checkpoint} ({told}); fetch the checkpoint again, or name another."
        ) from None


def architecture(weights: Mapping[str, Any], name: str) -> str:
    """The config of the package that a state dict's shapes belong to. Raises SegmentationError."""
    first, blocks = weights.get("image_encoder.trunk.patch_embed.proj.weight"), "image_encoder.trunk.blocks."
    sizes = WIDTHS.get(int(first.shape[0])) if first is not None else None
    if sizes is None:
        raise SegmentationError(f"{name} is not one of SAM 2's architectures (tiny, small, base plus, large).")
    depth = 1 + max(int(key[len(blocks) :].split(".")[0]) for key in weights if key.startswith(blocks))
    size = sizes[-1] if depth > 12 else sizes[0]
    newer = any(key.startswith("obj_ptr_tpos_proj") for key in weights) and "no_obj_embed_spatial" in weights
    return f"configs/sam2.1/sam2.1_hiera_{size}.yaml" if newer else f"configs/sam2/sam2_hiera_{size}.yaml"


def _logits(mask: np.ndarray, predictor: Any) -> np.ndarray:
    """A mask as the decoder's low-resolution input, of shape (1, 256, 256): confident on both sides of its edge."""
    side = 4 * predictor.model.sam_image_embedding_size
    small = cv2.resize(mask.astype(np.float32), (side, side), interpolation=cv2.INTER_AREA)
    return (20 * small - 10)[None].astype(np.float32)
