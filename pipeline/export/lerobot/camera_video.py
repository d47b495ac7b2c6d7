"""The video of all episodes of a dataset, drawn from the photograph's camera."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import imageio.v2 as imageio
import mujoco
import numpy as np

from pipeline.export.lerobot.episodes import FPS
from pipeline.scene.rendering import open_renderer, run_in_render_thread

WIDTH_PX, HEIGHT_PX = 320, 240
STATISTICS_EVERY = 20
"""Every which frame counts for the statistics."""


@dataclass(eq=False)
class PixelStatistics:
    """Statistics of the pixels of some frames, in [0, 1]."""

    samples: list[np.ndarray] = field(default_factory=list)
    """Frames of shape (H, W, 3), thinned out."""

    def add(self, frame: np.ndarray) -> None:
        self.samples.append(frame[::4, ::4] / 255.0)

    def summary(self) -> dict[str, np.ndarray]:
        """Return min, max, mean and std of shape (3, 1, 1), and the count of frames (1,)."""
        pixels = np.concatenate([sample.reshape(-1, 3) for sample in self.samples])
        values = {"min": pixels.min(0), "max": pixels.max(0), "mean": pixels.mean(0), "std": pixels.std(0)}
        shaped = {name: value.reshape(3, 1, 1) for name, value in values.items()}
        return shaped | {"count": np.array([len(self.samples)])}


class CameraVideo:
    """A video file that grows by one episode after the other."""

    def __init__(self, path: Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self._video = imageio.get_writer(
            str(path), format="FFMPEG", fps=FPS, codec="libx264", macro_block_size=2,  # type: ignore[arg-type]
            output_params=["-g", "2", "-crf", "23", "-threads", "1", "-fflags", "+bitexact"],
        )  # fmt: skip
        self.frames = 0

    def append(self, xml: Path, qpos: np.ndarray) -> PixelStatistics:
        """Draw an episode with coordinates qpos (T, nq). Raises SceneError if rendering is not possible."""
        drawn, statistics = _draw(xml, qpos), PixelStatistics()
        number = 0
        while (frame := run_in_render_thread(next, drawn, None)) is not None:
            self._video.append_data(frame)  # type: ignore[attr-defined]
            if number % STATISTICS_EVERY == 0:
                statistics.add(frame)
            number += 1
        self.frames += number
        return statistics

    def close(self) -> None:
        self._video.close()


def _draw(xml: Path, qpos: np.ndarray) -> Iterator[np.ndarray]:
    """Yield a picture (H, W, 3), uint8, of each row of qpos (T, nq)."""
    model = mujoco.MjModel.from_xml_path(str(xml))
    camera = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, "photo")
    data = mujoco.MjData(model)
    with open_renderer(model, (WIDTH_PX, HEIGHT_PX)) as renderer:
        renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = False
        for row in qpos:
            data.qpos[:] = row
            mujoco.mj_kinematics(model, data)
            mujoco.mj_camlight(model, data)
            renderer.update_scene(data, camera)
            yield renderer.render()
