"""Load SAM 2's network from a checkpoint, and encode images with it."""

import copy
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.segmentation.sam2.weights import first_line
from pipeline.segmentation.segment import SegmentationError

ARCHITECTURES = {96: ("t", "s"), 112: ("b+",), 144: ("l",)}
"""Sizes by the width of the image encoder's first layer; tiny and small differ in depth."""
TRAINED_SIDE = 1024
"""Pixels along a side of the images that the network was trained on."""


class Sam2Network:
    """A loaded network, which makes a predictor for each image."""

    def __init__(self, path: Path, device: str, side: int = TRAINED_SIDE):
        """Load the checkpoint: 0.5 s for tiny, after the import of torch. Raises SegmentationError in one line."""
        self.model = load_network(path, device, side)
        from sam2.sam2_image_predictor import SAM2ImagePredictor

        warnings.filterwarnings("ignore", message=".*torch.jit.script.* is deprecated", category=FutureWarning)
        self._predictor: Any = SAM2ImagePredictor(self.model)
        self._predictor._bb_feat_sizes = feature_sizes(side)

    def encode(self, rgb: np.ndarray, on_progress: Callable[[float], None]) -> Any:
        """Return SAM2ImagePredictor with an image (H, W, 3), uint8, set. Takes 2 s for tiny on two cores.

        `on_progress` is called with the progress in [0, 1] before each block of the encoder, and may raise to stop it.
        """
        blocks, predictor = self.model.image_encoder.trunk.blocks, copy.copy(self._predictor)
        hooks = [
            block.register_forward_pre_hook(partial(_report, on_progress, i / len(blocks)))
            for i, block in enumerate(blocks)
        ]
        try:
            predictor.set_image(rgb)
        finally:
            for hook in hooks:
                hook.remove()
        return predictor


def feature_sizes(side: int) -> list[tuple[int, int]]:
    """Return the sizes of the encoder's feature maps; sam2 has them as constants for a side of 1024."""
    return [(side // step, side // step) for step in (4, 8, 16)]


def _report(on_progress: Callable[[float], None], progress: float, *_: Any) -> None:
    on_progress(progress)


def load_network(path: Path, device: str, side: int, is_video: bool = False) -> Any:
    """Return the network of a checkpoint, or the video predictor that it is. Raises SegmentationError in one line."""
    try:
        return _load(path, device, side, is_video)
    except SegmentationError:
        raise
    except Exception as error:  # torch, pickle and hydra raise errors of many kinds
        raise SegmentationError(
            f"SAM 2 cannot be loaded from {path.name} ({first_line(error)}); fetch the checkpoint again."
        ) from None


def _load(path: Path, device: str, side: int, is_video: bool) -> Any:
    import torch
    from sam2.build_sam import build_sam2, build_sam2_video_predictor

    state = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    weights = state.get("model") if isinstance(state, Mapping) else None
    if not isinstance(weights, Mapping):
        raise SegmentationError(f'{path.name} is not a SAM 2 checkpoint: it holds no "model" state.')
    overrides = [] if side == TRAINED_SIDE else [f"++model.image_size={side}"]
    build = build_sam2_video_predictor if is_video else build_sam2
    model = build(architecture(weights, path.name), None, device="cpu", hydra_overrides_extra=overrides)
    model.fill_hole_area = 0  # of the video predictor: filling holes needs what sam2 compiles for a graphics card only
    model.load_state_dict(weights)
    return model.to(device)


def architecture(weights: Mapping[str, Any], name: str) -> str:
    """Return the name of sam2's config for a state dict, from its shapes. Raises SegmentationError."""
    first, blocks = weights.get("image_encoder.trunk.patch_embed.proj.weight"), "image_encoder.trunk.blocks."
    sizes = ARCHITECTURES.get(int(first.shape[0])) if first is not None else None
    depths = [int(key[len(blocks) :].split(".")[0]) for key in weights if key.startswith(blocks)]
    if sizes is None or not depths:
        raise SegmentationError(f"{name} is not one of SAM 2's architectures (tiny, small, base plus, large).")
    size = sizes[-1] if max(depths) > 11 else sizes[0]
    newer = any(key.startswith("obj_ptr_tpos_proj") for key in weights) and "no_obj_embed_spatial" in weights
    return f"configs/sam2.1/sam2.1_hiera_{size}.yaml" if newer else f"configs/sam2/sam2_hiera_{size}.yaml"
