"""Encodes pictures as vectors that compare appearance beyond colour and outline.

The embedded encoder runs anywhere; CLIP, SigLIP and DINOv2 need `transformers`, torch and their weights. Vectors of
different encoders cannot be compared: features carry the encoder's name.
"""

import importlib.util
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np

from pipeline.assets.asset import AssetError
from pipeline.store import digest

NETWORK = Path(__file__).with_name("lite0.onnx")
"""EfficientNet-Lite0 (Tan & Le 2019; ImageNet weights, Apache-2.0), written by scripts/training/export_lite0.py."""
TAPS: tuple[str, ...] = ("fine", "middle", "top")
"""Its outputs: strides 8 (40 channels), 16 (112) and 32 (1280)."""
BATCH_SIZE = 12
QUARTERS_SUFFIX = "_quarters"
POOLED_LAYERS = ("fine", "fine_quarters", "middle", "middle_quarters", "top")
"""Pooled layers of the embedded network that make up its vector."""
KNOWN_MODELS = ("openai/clip-vit-base-patch32", "google/siglip-base-patch16-224", "facebook/dinov2-small")
"""Models that are known to work with transformers."""


class Encoder(Protocol):
    """Turns pictures into vectors whose direction describes what they show."""

    name: str
    """Name of the network and of how its output is pooled."""
    pixels: int
    """Side of the square pictures that it takes."""
    centred: bool
    """Whether its vectors have zero mean; if not, a library's mean is subtracted first."""

    def encode(self, rgb: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """Return vectors (V, D), float32, of pictures (V, P, P, 3), uint8, within the masks (V, P, P), bool."""
        ...


class Lite0Encoder:
    """EfficientNet-Lite0 at three depths, averaged over the mask and, for the finer two, over its quarters.

    Channels are standardised, each layer is scaled to unit length, and the result is projected on linear discriminants:
    directions in which objects differ more than one object does under another light, sharpness and outline. They were
    learnt by scripts/training/train_appearance.py from views of the built-in library (lite0.npz).
    """

    name = "efficientnet-lite0-discriminants"
    pixels = 128
    centred = True

    def __init__(self) -> None:
        self._net = cv2.dnn.readNetFromONNX(str(NETWORK))
        self._lock = threading.Lock()  # cv2.dnn networks store their input
        with np.load(Path(__file__).with_name("lite0.npz")) as stored:
            self._statistics = {name: (stored[f"{name}_mean"], stored[f"{name}_spread"]) for name in POOLED_LAYERS}
            self._centre, self._axes = stored["centre"], stored["axes"].astype(np.float32)

    def encode(self, rgb: np.ndarray, masks: np.ndarray) -> np.ndarray:
        batches = [
            self._encode_batch(rgb[k : k + BATCH_SIZE], masks[k : k + BATCH_SIZE])
            for k in range(0, len(rgb), BATCH_SIZE)
        ]
        return np.concatenate(batches)

    def _encode_batch(self, rgb: np.ndarray, masks: np.ndarray) -> np.ndarray:
        pooled = self.pooled_features(rgb, masks)
        scaled = [unit_vectors((pooled[name] - mean) / spread) for name, (mean, spread) in self._statistics.items()]
        return unit_vectors((np.hstack(scaled) - self._centre) @ self._axes)

    def pooled_features(self, rgb: np.ndarray, masks: np.ndarray) -> dict[str, np.ndarray]:
        """Return each of POOLED_LAYERS (V, D) for a few pictures, before scaling."""
        white = np.where(masks[..., None], (rgb.astype(np.float32) - 127) / 128, np.float32(1))
        with self._lock:
            self._net.setInput(np.ascontiguousarray(white.transpose(0, 3, 1, 2)), "picture")
            layers = dict(zip(TAPS, self._net.forward(list(TAPS)), strict=True))
        return {
            name: _masked_means(layers[name.removesuffix(QUARTERS_SUFFIX)], masks, 2 if QUARTERS_SUFFIX in name else 1)
            for name in POOLED_LAYERS
        }


def _masked_means(layer: np.ndarray, masks: np.ndarray, cells: int) -> np.ndarray:
    """Return means of a layer (V, C, h, w) under masks (V, P, P) in each of cells x cells, (V, C * cells ** 2)."""
    count, channels, height, width = layer.shape
    step = masks.shape[1] // height
    share = masks.reshape(count, height, step, width, step).mean(axis=(2, 4)).astype(np.float32)
    area = share.reshape(count, cells, height // cells, cells, width // cells).sum(axis=(2, 4))
    grid = (count, channels, cells, height // cells, cells, width // cells)
    total = (layer * share[:, None]).reshape(grid).sum(axis=(3, 5))
    return (total / np.maximum(area, 1e-6)[:, None]).reshape(count, -1)


TRAINED_ENCODER = Lite0Encoder.name
"""The encoder that the matcher's weights were trained with; other encoders use the same weights."""


def unit_vectors(rows: np.ndarray) -> np.ndarray:
    """Return vectors (..., D) at unit length, float32."""
    rows = rows.astype(np.float32)
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9)


class TransformersEncoder:
    """An image model of Hugging Face's transformers, from the local cache or downloaded by the library."""

    pixels = 224
    centred = False

    def __init__(self, name: str) -> None:
        """Load the model. Raises AssetError if transformers, torch or the weights are missing."""
        is_folder = Path(name).is_dir()  # its place is not kept in projects; the digest tells equal names apart
        self.name = f"{Path(name).resolve().name} {digest(str(Path(name).resolve()))[:6]}" if is_folder else name
        missing = [module for module in ("torch", "transformers") if importlib.util.find_spec(module) is None]
        if missing:
            raise AssetError(f"the encoder {name} needs {' and '.join(missing)}; pip install {' '.join(missing)}")
        import transformers  # type: ignore[import-not-found]

        try:
            self._prepare: Any = transformers.AutoImageProcessor.from_pretrained(name)
            self._model: Any = transformers.AutoModel.from_pretrained(name).eval()
        except (OSError, ValueError) as error:
            raise AssetError(f"the weights of {name} cannot be loaded: {str(error).splitlines()[0]}") from None

    def encode(self, rgb: np.ndarray, masks: np.ndarray) -> np.ndarray:
        import torch

        white = np.where(masks[..., None], rgb, np.uint8(255))
        rows = []
        for start in range(0, len(white), BATCH_SIZE):
            ready = self._prepare(images=list(white[start : start + BATCH_SIZE]), return_tensors="pt")
            with torch.inference_mode():
                if hasattr(self._model, "get_image_features"):
                    output = self._model.get_image_features(**ready)
                    rows.append(getattr(output, "pooler_output", output).numpy())  # transformers 5: all layers
                else:
                    rows.append(self._model(**ready).last_hidden_state[:, 0].numpy())
        return unit_vectors(np.concatenate(rows)).astype(np.float32)


@lru_cache(maxsize=2)
def load_encoder(name: str = "embedded") -> Encoder | None:
    """Return an encoder: "embedded", "none", or the name of a model of transformers.

    None for "none": matching works without. Raises AssetError.
    """
    if name == "none":
        return None
    if name == "embedded":
        return Lite0Encoder()
    if "/" not in name:
        raise AssetError(f"there is no encoder {name}; available: embedded, none, {', '.join(KNOWN_MODELS)}")
    return TransformersEncoder(name)
