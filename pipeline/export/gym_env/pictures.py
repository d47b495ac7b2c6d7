"""Pictures of an environment's cameras, as a camera's sensor and a lossy compression would make them."""

from collections.abc import Mapping, Sequence
from typing import Any

import mujoco
import numpy as np
from scipy.fft import dctn, idctn

PHOTO = "photo"
"""Name of the photograph's camera."""
SHADOW_SHARE, MAX_SHADOW_SIZE = 4, 4096
"""Width of the shadows' texture over the picture's, and at most. Without a GPU, 4096 take 150 ms, 1024 take 50."""
GAMMA = 2.2
"""Of displays: pixel values raised to it are proportional to light."""
LUMA, CHROMA = (
    np.array([
        [16, 11, 10, 16, 24, 40, 51, 61], [12, 12, 14, 19, 26, 58, 60, 55], [14, 13, 16, 24, 40, 57, 69, 56],
        [14, 17, 22, 29, 51, 87, 80, 62], [18, 22, 37, 56, 68, 109, 103, 77], [24, 35, 55, 64, 81, 104, 113, 92],
        [49, 64, 78, 87, 103, 121, 120, 101], [72, 92, 95, 98, 112, 100, 103, 99],
    ], float),
    np.array([
        [17, 18, 24, 47, 99, 99, 99, 99], [18, 21, 26, 66, 99, 99, 99, 99], [24, 26, 56, 99, 99, 99, 99, 99],
        [47, 66, 99, 99, 99, 99, 99, 99], *[[99] * 8] * 4,
    ], float),
)  # fmt: skip
"""Quantisation of JPEG at quality 50: ITU-T T.81, tables K.1 and K.2."""
YCC_FROM_RGB = np.array([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]], np.float32)
"""Of JFIF."""


def camera_names(model: mujoco.MjModel) -> tuple[str, ...]:
    """Return the names of a model's cameras, the photograph's first, the others in order."""
    names = [model.camera(number).name for number in range(model.ncam)]
    return tuple(sorted(names, key=lambda name: (name != PHOTO, name)))


class Pictures:
    """Draws a model, and changes the pictures as a condition says."""

    def __init__(self, condition: Mapping[str, Any]):
        """Args:
        condition: "exposure" (factor of the light), "noise" (standard deviation in levels of 255) and "jpeg" (quality
            from 1 to 100); each may be left out.
        """
        self._condition = condition
        self._renderers: dict[tuple[int, int], mujoco.Renderer] = {}
        """By the size of their pictures, all of one model: to make one takes as long as two pictures."""
        self._model: mujoco.MjModel | None = None

    def draw(
        self, model: mujoco.MjModel, data: mujoco.MjData, size: tuple[int, int], camera: str, shadows: bool,
        seed: Sequence[int],
    ) -> np.ndarray:  # fmt: skip
        """Return the picture (height, width, 3), uint8, of a camera; its noise follows from the seed."""
        if self._model is not model:
            self.close()
            self._model = model
        if size not in self._renderers:
            model.vis.global_.offwidth, model.vis.global_.offheight = size
            model.vis.quality.shadowsize = min(MAX_SHADOW_SIZE, SHADOW_SHARE * max(size))
            self._renderers[size] = mujoco.Renderer(model, size[1], size[0])
        renderer = self._renderers[size]
        renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = shadows
        renderer.update_scene(data, camera)
        return sensed(renderer.render(), self._condition, seed)

    def close(self) -> None:
        """Release the renderers."""
        while self._renderers:
            self._renderers.popitem()[1].close()


def sensed(picture: np.ndarray, condition: Mapping[str, Any], seed: Sequence[int]) -> np.ndarray:
    """Return a picture (H, W, 3), uint8, with the exposure, noise and compression of a condition (`Pictures`)."""
    exposure, noise, quality = (float(condition.get(key, usual)) for key, usual in _USUAL.items())
    if exposure != 1:
        picture = _levels(255 * ((np.arange(256) / 255) ** GAMMA * exposure) ** (1 / GAMMA))[picture]
    if noise > 0:
        values = np.random.default_rng([*seed]).normal(0, noise, picture.shape)
        values += picture
        picture = _levels(values)
    return _compressed(picture, quality) if quality < 100 else picture


_USUAL = {"exposure": 1.0, "noise": 0.0, "jpeg": 100.0}


def _levels(values: np.ndarray) -> np.ndarray:
    """Return values as levels of 255, uint8. Overwrites the values: a third of the time goes with each new array."""
    np.round(values, out=values)
    np.clip(values, 0, 255, out=values)
    return values.astype(np.uint8)


def _compressed(picture: np.ndarray, quality: float) -> np.ndarray:
    """Return a picture after JPEG of a quality as libjpeg counts it, without subsampling of colours."""
    height, width = picture.shape[:2]
    if height % 8 or width % 8:
        picture = np.pad(picture, ((0, -height % 8), (0, -width % 8), (0, 0)), "edge")
    values = picture.astype(np.float32) @ YCC_FROM_RGB.T  # single precision halves the time
    np.round(values, out=values)
    values[..., 0] -= 128
    blocks = values.reshape(values.shape[0] // 8, 8, -1, 8, 3)
    scale = 5000 / quality if quality < 50 else 200 - 2 * quality
    tables = np.stack([np.clip(np.floor((table * scale + 50) / 100), 1, 255) for table in (LUMA, CHROMA, CHROMA)], -1)
    tables = tables[:, None].astype(np.float32)  # over the axes 1 and 3 of the blocks
    steps = np.asarray(dctn(blocks, axes=(1, 3), norm="ortho", overwrite_x=True))
    steps /= tables
    np.round(steps, out=steps)
    steps *= tables
    values = np.asarray(idctn(steps, axes=(1, 3), norm="ortho", overwrite_x=True)).reshape(values.shape)
    values[..., 0] += 128
    np.round(values, out=values)
    return _levels(values @ np.linalg.inv(YCC_FROM_RGB).T)[:height, :width]
