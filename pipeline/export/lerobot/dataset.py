"""Writes a LeRobot dataset: https://huggingface.co/docs/lerobot/lerobot-dataset-v3."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from pipeline.divergence.lerobot import ACTION, STATE
from pipeline.divergence.lerobot_writer import (
    COUNTERS,
    FIRST,
    OBJECTS,
    PATHS,
    POSE,
    QUANTILES,
    VERSION,
    as_lists,
    statistics,
    write_episode_rows,
    write_frames,
    write_task,
)
from pipeline.export.export_folder import export_folder, write_marker
from pipeline.export.export_format import ExportFormat, describes, require_scene
from pipeline.export.lerobot import episodes
from pipeline.export.lerobot.camera_video import HEIGHT_PX, WIDTH_PX, CameraVideo
from pipeline.export.lerobot.episodes import FPS, EpisodeData
from pipeline.export.project_zip import licences
from pipeline.export.rollouts import SolvedRollout, meshes_of, solved_rollouts
from pipeline.project import Project
from pipeline.scene.placement import SceneError
from pipeline.solving import save_model
from pipeline.store import write_json

CAMERA = "observation.images.photo"
SCALARS = {"next.reward": "float32", "next.done": "bool", "next.success": "bool", **COUNTERS}
"""Columns of one value a frame."""


@describes(
    ExportFormat(
        "LeRobot dataset v3", "every solved seed: state, action, objects, camera video, task text, success",
        "the model itself; states between frames at 15 Hz", ".zip", needs_solution=True,
    )
)  # fmt: skip
def export_lerobot(project_dir: Path, out: Path) -> tuple[str, ...]:
    """Write the dataset to a folder, or to a zip if the name ends in .zip; return what was left out.

    Every solved seed is rolled out again. Raises ExportError if none is solved, SandboxError.
    """
    require_scene(project_dir)
    project = Project.open(project_dir)
    robot, rollouts = solved_rollouts(project)
    task = project.task()
    instruction = task.instruction if task else project.name
    with export_folder(project_dir, out, "lerobot") as folder, tempfile.TemporaryDirectory() as models:
        writer = DatasetWriter(folder, instruction, robot)
        left_out = writer.write(rollouts, _write_models(project_dir, rollouts, Path(models)))
        (folder / "LICENCES.md").write_text(licences(project_dir), encoding="utf-8")
        write_marker(folder, project_dir, "lerobot", left_out)
    return left_out


def _write_models(project_dir: Path, rollouts: Sequence[SolvedRollout], folder: Path) -> list[Path]:
    """Write the model of each rollout beside the twin's meshes; return the files."""
    (folder / "scene").mkdir()
    for file in meshes_of(project_dir):
        (folder / "scene" / file.name).write_bytes(file.read_bytes())
    return [save_model(one.record.xml, folder, f"layout_{one.seed:03d}") for one in rollouts]


class DatasetWriter:
    """Writes the files of one dataset."""

    def __init__(self, folder: Path, instruction: str, robot: str):
        self.folder, self.instruction, self.robot = folder, instruction, robot

    def write(self, rollouts: Sequence[SolvedRollout], models: Sequence[Path]) -> tuple[str, ...]:
        """Write everything; return one sentence if there is no video."""
        first = mujoco.MjModel.from_xml_path(str(models[0]))
        objects = self._common_objects(models)
        runs = [episodes.episode(one, xml, objects) for one, xml in zip(rollouts, models, strict=True)]
        pixels, left_out = self._video(runs, models)
        features = self._features(episodes.actuator_names(first), objects, has_video=bool(pixels))
        write_frames(self.folder, _frames(runs))
        statistics = [self._statistics(run, pixels[n] if pixels else None) for n, run in enumerate(runs)]
        self._episodes(runs, statistics, has_video=bool(pixels))
        write_task(self.folder, self.instruction)
        write_json(self.folder / "meta" / "info.json", self._info(runs, features))
        write_json(self.folder / "meta" / "stats.json", as_lists(_aggregate(statistics)))
        return left_out

    def _common_objects(self, models: Sequence[Path]) -> list[str]:
        """Return the movable objects that all layouts have, in the order of the first."""
        names = [episodes.movable_objects(mujoco.MjModel.from_xml_path(str(xml))) for xml in models]
        return [name for name in names[0] if all(name in others for others in names)]

    def _video(self, runs: Sequence[EpisodeData], models: Sequence[Path]) -> tuple[list[dict], tuple[str, ...]]:
        """Draw all episodes; return the statistics of each one's pixels, none where nothing can be drawn."""
        video = CameraVideo(self.folder / "videos" / CAMERA / f"{FIRST}.mp4")
        try:
            pixels = [video.append(xml, run.qpos).summary() for run, xml in zip(runs, models, strict=True)]
        except SceneError as error:
            video.close()
            for file in sorted((self.folder / "videos").rglob("*"), reverse=True):
                file.rmdir() if file.is_dir() else file.unlink()
            return [], (f"the camera's video: {error}",)
        video.close()
        return pixels, ()

    def _features(self, actuators: Sequence[str], objects: Sequence[str], has_video: bool) -> dict[str, dict]:
        poses = [f"{name}.{part}" for name in objects for part in POSE]
        features: dict[str, dict] = {
            key: {"dtype": "float32", "shape": [len(names)], "names": list(names)}
            for key, names in ((STATE, actuators), (ACTION, actuators), (OBJECTS, poses)) if names
        }  # fmt: skip
        if has_video:
            info = {
                "video.height": HEIGHT_PX, "video.width": WIDTH_PX, "video.codec": "h264", "video.pix_fmt": "yuv420p",
                "video.is_depth_map": False, "video.fps": FPS, "video.channels": 3, "has_audio": False,
            }  # fmt: skip
            shape = [HEIGHT_PX, WIDTH_PX, 3]
            names = ["height", "width", "channels"]
            features[CAMERA] = {"dtype": "video", "shape": shape, "names": names, "info": info}
        for key, dtype in SCALARS.items():
            features[key] = {"dtype": dtype, "shape": [1], "names": None}
        return features

    def _episodes(self, runs: Sequence[EpisodeData], statistics: Sequence[dict], has_video: bool) -> None:
        rows, start = [], 0
        for number, (run, summary) in enumerate(zip(runs, statistics, strict=True)):
            end = start + len(run.times)
            row: dict[str, Any] = {
                "episode_index": number, "tasks": [self.instruction], "length": len(run.times), "seed": run.seed,
                "success": True, "data/chunk_index": 0, "data/file_index": 0, "dataset_from_index": start,
                "dataset_to_index": end, "meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0,
            }  # fmt: skip
            if has_video:
                row |= {
                    f"videos/{CAMERA}/chunk_index": 0, f"videos/{CAMERA}/file_index": 0,
                    f"videos/{CAMERA}/from_timestamp": start / FPS, f"videos/{CAMERA}/to_timestamp": end / FPS,
                }  # fmt: skip
            row |= {f"stats/{key}/{name}": v.tolist() for key, each in summary.items() for name, v in each.items()}
            rows.append(row)
            start = end
        write_episode_rows(self.folder, rows)

    def _info(self, runs: Sequence[EpisodeData], features: dict) -> dict[str, Any]:
        return {
            "codebase_version": VERSION, "robot_type": f"grs_{self.robot}", "total_episodes": len(runs),
            "total_frames": sum(len(run.times) for run in runs), "total_tasks": 1, "chunks_size": 1000,
            "data_files_size_in_mb": 100, "video_files_size_in_mb": 200, "fps": FPS,
            "splits": {"train": f"0:{len(runs)}"}, **PATHS, "features": features,
        }  # fmt: skip

    def _statistics(self, run: EpisodeData, pixels: dict[str, np.ndarray] | None) -> dict[str, dict[str, np.ndarray]]:
        summary = {key: statistics(values) for key, values in _frames([run]).items()}
        return summary | ({CAMERA: pixels} if pixels else {})


def _frames(runs: Sequence[EpisodeData]) -> dict[str, np.ndarray]:
    """Return the columns of the data file: (T, N) or (T,), over all episodes."""
    counts = [len(run.times) for run in runs]
    total = sum(counts)
    vectors = {STATE: "state", ACTION: "action", OBJECTS: "objects"}
    columns = {
        key: np.concatenate([getattr(run, name) for run in runs]).astype(np.float32) for key, name in vectors.items()
    }
    reward = np.concatenate([run.reward for run in runs])
    return {key: values for key, values in columns.items() if values.shape[1]} | {
        "next.reward": reward.astype(np.float32),
        "next.done": reward > 0,
        "next.success": reward > 0,
        "timestamp": np.concatenate([run.times for run in runs]).astype(np.float32),
        "frame_index": np.concatenate([np.arange(count) for count in counts]),
        "episode_index": np.repeat(np.arange(len(runs)), counts),
        "index": np.arange(total),
        "task_index": np.zeros(total, np.int64),
    }


def _aggregate(statistics: Sequence[dict[str, dict[str, np.ndarray]]]) -> dict[str, dict[str, np.ndarray]]:
    """Return the statistics of all episodes together; quantiles are means weighted by the counts, as in LeRobot."""
    result = {}
    for key in statistics[0]:
        each = [one[key] for one in statistics]
        counts = np.array([float(one["count"][0]) for one in each])
        weights = (counts / counts.sum()).reshape(-1, *[1] * each[0]["mean"].ndim)
        stacked = {name: np.stack([one[name] for one in each]) for name in each[0]}
        mean = (weights * stacked["mean"]).sum(0)
        spread = (weights * (stacked["std"] ** 2 + (stacked["mean"] - mean) ** 2)).sum(0)
        result[key] = {
            "min": stacked["min"].min(0), "max": stacked["max"].max(0), "mean": mean, "std": np.sqrt(spread),
            **{name: (weights * stacked[name]).sum(0) for name in QUANTILES if name in stacked},
            "count": np.array([int(counts.sum())]),
        }  # fmt: skip
    return result
