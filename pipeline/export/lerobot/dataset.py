"""Writes solved rollouts as a LeRobot dataset: https://huggingface.co/docs/lerobot/lerobot-dataset-v3."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import imageio.v2 as imageio
import mujoco
import numpy as np

from pipeline.divergence.lerobot import ACTION, STATE
from pipeline.divergence.lerobot_writer import FIRST, OBJECTS, POSE, Camera, write_dataset
from pipeline.export.export_folder import export_folder, write_marker
from pipeline.export.export_format import ExportFormat, describes, require_scene
from pipeline.export.gym_env.dataset_control import FPS, movable_objects
from pipeline.export.gym_env.pictures import PHOTO, camera_names
from pipeline.export.lerobot import episodes
from pipeline.export.lerobot.episodes import EpisodeData
from pipeline.export.project_zip import licences
from pipeline.export.rollouts import SolvedRollout, copy_meshes, solved_rollouts
from pipeline.motion_pictures import drawn
from pipeline.project import Project
from pipeline.scene.mjcf.background import load_model
from pipeline.scene.placement import SceneError
from pipeline.solving import save_model

WIDTH_PX, HEIGHT_PX = 320, 240
IMAGES = "observation.images."
CAMERA = f"{IMAGES}{PHOTO}"
"""Column of the photograph's camera; the others' are named in the same way."""
CAMERA_FEATURE = {
    "dtype": "video", "shape": [HEIGHT_PX, WIDTH_PX, 3], "names": ["height", "width", "channels"],
    "info": {
        "video.height": HEIGHT_PX, "video.width": WIDTH_PX, "video.codec": "h264", "video.pix_fmt": "yuv420p",
        "video.is_depth_map": False, "video.fps": FPS, "video.channels": 3, "has_audio": False,
    },
}  # fmt: skip


@describes(
    ExportFormat(
        "LeRobot dataset v3",
        "every solved seed: state, action, objects, each camera's video, task text, success",
        "the model itself; states between frames at 15 Hz",
        ".zip",
        needs_solution=True,
    )
)
def export_lerobot(project_dir: Path, out: Path) -> tuple[str, ...]:
    """Write the dataset to a folder, or to a zip if the name ends in .zip; return what was left out.

    Every solved seed is rolled out again. Raises ExportError if none is solved, SandboxError.
    """
    require_scene(project_dir)
    project = Project.open(project_dir)
    robot, rollouts = solved_rollouts(project)
    task = project.task()
    with export_folder(project_dir, out, "lerobot") as folder, tempfile.TemporaryDirectory() as models:
        files = _write_models(project_dir, rollouts, Path(models))
        left_out = _write(folder, task.instruction if task else project.name, robot, rollouts, files)
        (folder / "LICENCES.md").write_text(licences(project_dir), encoding="utf-8")
        write_marker(folder, project_dir, "lerobot", left_out)
    return left_out


def _write_models(project_dir: Path, rollouts: Sequence[SolvedRollout], folder: Path) -> list[Path]:
    """Write the model of each rollout beside the twin's meshes; return the files."""
    copy_meshes(project_dir, folder)
    return [save_model(one.record.xml, folder, f"layout_{one.seed:03d}") for one in rollouts]


def _write(
    folder: Path, instruction: str, robot: str, rollouts: Sequence[SolvedRollout], files: Sequence[Path]
) -> tuple[str, ...]:
    """Write the dataset; return one sentence if there is no video."""
    models = [mujoco.MjModel.from_xml_path(str(file)) for file in files]
    movable = [movable_objects(model) for model in models]
    objects = [name for name in movable[0] if all(name in others for others in movable)]
    runs = [episodes.episode(one, model, objects) for one, model in zip(rollouts, models, strict=True)]
    actuators = episodes.actuator_names(models[0])
    names = {STATE: actuators, ACTION: actuators, OBJECTS: [f"{name}.{part}" for name in objects for part in POSE]}
    cameras, left_out = _videos(folder, runs, files, camera_names(models[0]))
    write_dataset(
        folder, instruction, FPS, [_columns(run) for run in runs], {key: each for key, each in names.items() if each},
        cameras, f"grs_{robot}",
        [{"seed": run.seed, "success": True} for run in runs],
    )  # fmt: skip
    return left_out


def _videos(
    folder: Path, runs: Sequence[EpisodeData], files: Sequence[Path], names: Sequence[str]
) -> tuple[list[Camera], tuple[str, ...]]:
    """Draw all episodes from each camera; where nothing can be drawn, return a sentence about that instead."""
    cameras = []
    for name in names:
        video = CameraVideo(folder / "videos" / f"{IMAGES}{name}" / f"{FIRST}.mp4", name)
        try:
            pixels = [video.append(xml, run.qpos) for run, xml in zip(runs, files, strict=True)]
            cameras.append(Camera(f"{IMAGES}{name}", CAMERA_FEATURE, pixels))
        except SceneError as error:
            video.close()
            shutil.rmtree(folder / "videos")
            return [], (f"the cameras' videos: {error}",)
        finally:
            video.close()
    return cameras, ()


def _columns(run: EpisodeData) -> dict[str, np.ndarray]:
    vectors = {STATE: run.state, ACTION: run.action, OBJECTS: run.objects}
    return {key: values for key, values in vectors.items() if values.shape[1]} | {
        "next.reward": run.reward.astype(np.float32),
        "next.done": run.reward > 0,
        "next.success": run.reward > 0,
    }


class CameraVideo:
    """A video file that grows by one episode after the other."""

    def __init__(self, path: Path, camera: str):
        self._camera = camera
        path.parent.mkdir(parents=True, exist_ok=True)
        self._video = imageio.get_writer(
            str(path), format="FFMPEG", fps=FPS, codec="libx264", macro_block_size=2,  # type: ignore[arg-type]
            output_params=["-g", "2", "-crf", "23", "-threads", "1", "-fflags", "+bitexact"],
        )  # fmt: skip

    def append(self, xml: Path, qpos: np.ndarray) -> dict[str, np.ndarray]:
        """Draw an episode with coordinates qpos (T, nq); return the statistics of its pixels.

        They are min, max, mean and std of shape (3, 1, 1), in [0, 1], of some pixels of some frames, and the count (1,)
        of those frames. Raises SceneError if rendering is not possible.
        """
        model, samples = load_model(xml), []
        frames = drawn(model, (WIDTH_PX, HEIGHT_PX), len(qpos), lambda number: (qpos[number], self._camera))
        for number, frame in enumerate(frames):
            self._video.append_data(frame)  # type: ignore[attr-defined]
            # Every which frame counts for the statistics
            if number % 20 == 0:
                samples.append(frame[::4, ::4].reshape(-1, 3) / 255.0)
        pixels = np.concatenate(samples)
        values = {"min": pixels.min(0), "max": pixels.max(0), "mean": pixels.mean(0), "std": pixels.std(0)}
        shaped = {name: value.reshape(3, 1, 1) for name, value in values.items()}
        return shaped | {"count": np.array([len(samples)])}

    def close(self) -> None:
        self._video.close()
