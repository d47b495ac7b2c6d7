"""Datasets and packages for LeRobot and vla-eval: their files and a step; the programs themselves (`make soak`)."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import gymnasium
import imageio.v2 as imageio
import numpy as np
import pandas
import pyarrow.parquet as parquet
import pytest
import twins
from twins import DOCUMENTED, LEROBOT, SOAK, VLA_EVAL

from pipeline.divergence.lerobot import read_lerobot
from pipeline.export import export_project, harness_packages
from pipeline.export.gym_env.dataset_control import CONTROL_SECONDS, FPS
from pipeline.export.gym_env.dataset_env import DatasetEnv
from pipeline.export.lerobot.dataset import ACTION, CAMERA, HEIGHT_PX, IMAGES, OBJECTS, STATE, WIDTH_PX

STUBS = """
import os, sys, types
from dataclasses import dataclass, make_dataclass
from unittest.mock import MagicMock
class Recorder:
    def record_video(self, frame): assert frame.shape == (24, 32, 3)
    def record_step(self, **values): pass
class Benchmark:
    def __init__(self): self._recorder = Recorder()
class EnvConfig:
    register_subclass = staticmethod(lambda name: lambda kind: kind)
for name, values in {
    "vla_eval.benchmarks.base": {
        "StepBenchmark": Benchmark, "StepResult": make_dataclass("StepResult", ["obs", "reward", "done", "info"]),
    },
    "lerobot.envs.configs": {"EnvConfig": dataclass(EnvConfig)},
}.items():
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(values)
for name in ("vla_eval", "vla_eval.benchmarks", "vla_eval.render", "vla_eval.specs", "vla_eval.types", "lerobot",
             "lerobot.envs", "lerobot.configs", "lerobot.configs.types"):
    sys.modules.setdefault(name, MagicMock())
sys.path.insert(0, ".")
"""
STEP = {
    "vla-eval": """
from grs_benchmark import TwinBenchmark
benchmark = TwinBenchmark(cameras=["photo", "wrist"], width=32, height=24)
(task,) = benchmark.get_tasks()
seen = benchmark.make_obs(benchmark.reset(task | {"episode_idx": 1}), task)
assert {picture.shape for picture in seen["images"].values()} == {(24, 32, 3)}
assert list(seen["images"]) == ["photo", "wrist"]
assert seen["task_description"].startswith("Put the red cube") and seen["state"].shape == (5,)
done = benchmark.step({"actions": seen["state"]})
assert not done.done and benchmark.get_step_result(done) == {"success": False, "share": 0.0}
assert benchmark.get_metadata()["max_episodes_per_task"] == 2 and benchmark._env._env.layout == 3
try:
    benchmark.step({"actions": [0.0] * 7})
except ValueError as error:
    assert "shape (7,); expected are (5,)" in str(error)
benchmark.cleanup()
""",
    "envhub": """
import importlib.util
spec = importlib.util.spec_from_file_location("hub_env", "./env.py")
hub = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hub)
(vector,) = hub.make_env(n_envs=1)["grs_twin"].values()
observation, _ = vector.reset(seed=[0])
assert set(observation["pixels"]) == {"photo", "wrist"} and observation["pixels"]["wrist"].shape == (1, 240, 320, 3)
_, _, ended, _, info = vector.step(observation["agent_pos"])
assert not ended.any() and not info["is_success"].any() and vector.call("task")[0].startswith("Put the red cube")
import grs_lerobot
config = grs_lerobot.TwinConfig()
assert config.features_map["pixels/wrist"] == "observation.images.wrist" and config.fps == 15
import gymnasium
assert type(gymnasium.make(config.gym_id)).__name__ == "DatasetEnv", "bare: lerobot asks it for its task"
""",
}


@pytest.mark.parametrize("name", STEP)
def test_the_files_of_a_harness_are_there_and_one_step_gives_what_it_expects(name, environment, tmp_path, monkeypatch):
    def package(project: Path, folder: Path, file_format: str) -> tuple[str, ...]:
        shutil.copytree(environment, folder, dirs_exist_ok=True)  # the rollouts are made once
        return ()

    monkeypatch.setattr(harness_packages, "write_environment_package", package)
    exporter = {"vla-eval": harness_packages.export_vla_eval, "envhub": harness_packages.export_envhub}[name]
    assert exporter(environment, tmp_path / "out") == ()
    site = str(Path(gymnasium.__file__).parents[1])  # -I leaves PYTHONPATH and the project out
    code = STUBS + f"sys.path.append({site!r}); sys.modules['pipeline'] = None\n" + STEP[name]
    done = subprocess.run([sys.executable, "-I", "-c", code], cwd=tmp_path / "out", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_actions_of_the_dataset_solve_the_environment_in_its_units_and_at_its_rate(environment, dataset):
    recorded, env = read_lerobot(dataset, len(twins.SEEDS) - 1), DatasetEnv(cameras=(), folder=environment)
    features = json.loads((dataset / "meta" / "info.json").read_text())["features"]
    assert isinstance(env.observation_space, gymnasium.spaces.Dict)
    sizes = [gymnasium.spaces.flatdim(env.observation_space[name]) for name in ("agent_pos", "environment_state")]
    assert sizes == [features[name]["shape"][0] for name in (STATE, OBJECTS)] and recorded.actions is not None
    assert list(recorded.names)[:3] == ["x", "y", "z"] and set(np.unique(recorded.actions[:, -1])) == {0.0, 1.0}
    observation, _ = env.reset(options={"layout": twins.SEEDS[-1]})
    states, info = [observation["agent_pos"]], {}
    for number, action in enumerate([*recorded.actions, *recorded.actions[-1:] * np.ones((FPS, 1))], 1):
        observation, _, ended, _, info = env.step(action)
        assert ended or -1e-6 < env.seconds - number / FPS < CONTROL_SECONDS + 1e-6
        states.append(observation["agent_pos"])
        if ended:
            break
    assert info["is_success"] and info["share"] == 1
    count = min(len(states), len(recorded.positions))
    assert np.median(np.abs(np.array(states)[:count, :3] - recorded.positions[:count, :3])) < 0.01


SERVER = """
import sys
from pathlib import Path
import numpy as np
from vla_eval.model_servers.predict import PredictModelServer
from vla_eval.model_servers.serve import run_server
from vla_eval.specs import IMAGE_RGB, LANGUAGE, DimSpec

class Replay(PredictModelServer):
    def __init__(self, folder: str, **settings):
        super().__init__(**settings)
        self.folder = Path(folder)
    async def on_episode_start(self, config, ctx):
        self.actions = np.load(self.folder / f"{config['task']['episode_idx']}.npy")
        await super().on_episode_start(config, ctx)
    def predict(self, obs, ctx):
        assert {picture.shape for picture in obs["images"].values()} == {(24, 32, 3)}
        return {"actions": self.actions[min(ctx.step, len(self.actions) - 1)]}
    def get_action_spec(self):
        return {"actions": DimSpec("actions", 5, "actuator_commands")}
    def get_observation_spec(self):
        return {"photo": IMAGE_RGB, "wrist": IMAGE_RGB, "language": LANGUAGE}

run_server(Replay)
"""


@pytest.mark.soak
def test_vla_eval_itself_scores_the_demonstration_as_solved(solved, dataset, tmp_path):
    assert len(export_project(solved, "vla-eval", tmp_path / "task")) == 1
    for number in range(len(twins.SEEDS)):
        np.save(tmp_path / f"{number}.npy", np.asarray(read_lerobot(dataset, number).actions))
    (tmp_path / "server.py").write_text(SERVER)
    serve = [VLA_EVAL, "server.py", "--args.folder", ".", "--address", "127.0.0.1:8765"]
    with subprocess.Popen(serve, cwd=tmp_path) as server:
        try:
            options = ["--config", "vla_eval.yaml", "--server-url", "ws://127.0.0.1:8765", "--output-dir", "results"]
            options += ["--param", "width=32", "--param", "height=24"]
            command = [VLA_EVAL.with_name("vla-eval"), "run", *options]
            done = subprocess.run(
                command, cwd=tmp_path / "task", env=os.environ | {"PYTHONPATH": "."}, capture_output=True, text=True
            )
        finally:
            server.terminate()
    assert done.returncode == 0 and "Spec validation passed" in done.stderr + done.stdout, done.stderr
    (report,) = (tmp_path / "task" / "results").glob("*_aggregate.json")
    (task,) = json.loads(report.read_text())["tasks"]
    assert (task["num_episodes"], task["mean_success"], task["mean_share"]) == (len(twins.SEEDS), 1, 1)


HUB = """
from lerobot.envs.factory import make_env
from lerobot.envs.utils import add_envs_task, preprocess_observation
(vector,) = make_env("local/twin", n_envs=2, trust_remote_code=True)["grs_twin"].values()
seen = add_envs_task(vector, preprocess_observation(vector.reset(seed=[0, 3])[0]))
assert tuple(seen["observation.images.wrist"].shape) == (2, 3, 240, 320) and len(seen["task"]) == 2
"""
ACT = {"type": "act", "device": "cpu", "push_to_hub": "false", "pretrained_backbone_weights": "null", "dim_model": 32}
ACT |= {"n_heads": 2, "dim_feedforward": 32, "chunk_size": 50, "n_action_steps": 50}


@pytest.mark.soak
def test_lerobot_eval_runs_to_its_report_and_make_env_finds_it_as_a_repository(solved, tmp_path):
    task, revision = tmp_path / "task", "a" * 40
    assert len(export_project(solved, "envhub", task)) == 1
    settings = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(tmp_path / "hub")}
    repository = tmp_path / "hub" / "models--local--twin"
    shutil.copytree(task, repository / "snapshots" / revision)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(revision)
    subprocess.run([LEROBOT, "-c", HUB], cwd=tmp_path, env=settings, check=True)
    layouts = json.loads((task / "layouts.json").read_text())
    (task / "layouts.json").write_text(json.dumps(layouts | {"max_steps": 40}))
    options = [f"--policy.{name}={value}" for name, value in ACT.items()]
    options += ["--eval.n_episodes=2", "--eval.batch_size=2", "--output_dir=../eval"]
    options += ["--env.discover_packages_path=grs_lerobot", "--env.type=grs_twin"]
    command = [LEROBOT.with_name("lerobot-eval"), *options]
    subprocess.run(command, cwd=task, env=settings | {"PYTHONPATH": "."}, check=True)
    report = json.loads((tmp_path / "eval" / "eval_info.json").read_text())
    assert report["overall"]["n_episodes"] == 2 and report["overall"]["pc_success"] == 0, "random weights"


KEYS = {"timestamp", "frame_index", "episode_index", "index", "task_index", "next.reward", "next.done", "next.success"}
CAMERAS = CAMERA, f"{IMAGES}wrist"
TYPES = {"float32": "float", "int64": "int64", "bool": "bool"}


@pytest.fixture(scope="module")
def info(dataset):
    return json.loads((dataset / "meta" / "info.json").read_text())


def test_the_data_have_the_types_shapes_and_statistics_that_info_gives_and_objects_end_where_wanted(dataset, info):
    assert info["codebase_version"] == "v3.0" and info["total_episodes"] == len(twins.SEEDS)
    assert set(info["features"]) == KEYS | {STATE, ACTION, OBJECTS, *CAMERAS}
    table = parquet.read_table(dataset / info["data_path"].format(chunk_index=0, file_index=0))
    assert table.num_rows == info["total_frames"] and set(table.column_names) == set(info["features"]) - {*CAMERAS}
    for key in table.column_names:
        feature, kind = info["features"][key], table.schema.field(key).type
        if feature["shape"] == [1]:
            assert str(kind) == TYPES[feature["dtype"]], key
        else:
            assert kind.list_size == feature["shape"][0] == len(feature["names"]) and str(kind.value_type) == "float"
    assert table["index"].to_pylist() == list(range(table.num_rows))
    seconds = np.array(table["frame_index"].to_pylist()) / FPS
    assert np.abs(np.array(table["timestamp"].to_pylist()) - seconds).max() < 1e-4
    names = info["features"][OBJECTS]["names"]
    last = np.flatnonzero(table["next.success"].to_numpy(zero_copy_only=False))
    poses = np.stack(table[OBJECTS].to_pylist())[last]
    red, blue = (poses[:, names.index(f"{name}.x") :][:, :3] for name in ("red_cube", "blue_cube"))
    assert len(last) == len(twins.SEEDS) and np.abs(red[:, 2] - blue[:, 2] - 0.05).max() < 0.005
    assert np.linalg.norm(red[:, :2] - blue[:, :2], axis=1).max() < 0.04
    statistics = json.loads((dataset / "meta" / "stats.json").read_text())
    assert set(statistics) == set(info["features"]) and np.shape(statistics[CAMERA]["mean"]) == (3, 1, 1)
    assert statistics["index"]["max"] == [table.num_rows - 1], "of the whole dataset"
    states = np.stack(table[STATE].to_pylist())
    assert np.array(statistics[STATE]["mean"]) == pytest.approx(states.mean(0), abs=1e-5)
    assert np.array(statistics[STATE]["std"]) == pytest.approx(states.std(0), abs=1e-5)


def test_each_episode_is_a_solved_seed_with_its_task_and_its_part_of_each_cameras_video(dataset, info):
    rows = parquet.read_table(dataset / "meta" / "episodes" / "chunk-000" / "file-000.parquet").to_pylist()
    assert [row["seed"] for row in rows] == list(twins.SEEDS) and all(row["success"] for row in rows)
    assert [row["dataset_from_index"] for row in rows[1:]] == [row["dataset_to_index"] for row in rows[:-1]]
    assert rows[-1]["dataset_to_index"] == info["total_frames"]
    assert rows[1][f"videos/{CAMERA}/from_timestamp"] == pytest.approx(rows[0]["length"] / FPS)
    tasks = pandas.read_parquet(dataset / "meta" / "tasks.parquet")
    assert rows[0]["tasks"] == list(tasks.index) and tasks.index[0].startswith("Put the red cube")
    for key in CAMERAS:
        file = dataset / info["video_path"].format(video_key=key, chunk_index=0, file_index=0)
        with imageio.get_reader(file) as video:
            frames = list(video.iter_data())
        assert len(frames) == info["total_frames"] and frames[0].shape == (HEIGHT_PX, WIDTH_PX, 3)
        middle = rows[0]["length"] // 2
        assert np.abs(frames[0].astype(int) - frames[middle]).max() > 60


@pytest.mark.soak
def test_lerobot_itself_loads_it_with_the_documented_lines(dataset, info, tmp_path):
    out, code = DOCUMENTED["lerobot"]
    (tmp_path / out).symlink_to(dataset)
    code += f"""
item = dataset[len(dataset) - 1]
assert len(dataset) == {info["total_frames"]} and item["task"].startswith("Put the red cube")
assert bool(item["next.success"]) and tuple(item["{CAMERA}"].shape) == (3, {HEIGHT_PX}, {WIDTH_PX})
"""
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_CACHE": str(tmp_path / "cache")}
    done = subprocess.run([LEROBOT, "-c", code], cwd=tmp_path, env=os.environ | offline, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.soak
def test_lerobots_own_viewer_shows_every_frame_of_an_episode(dataset, tmp_path):
    from rerun.chunk import RrdReader

    libraries = [SOAK / "lerobot" / "ffmpeg", *SOAK.glob("lerobot/lib/python3*/site-packages/av.libs")]
    settings = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_CACHE": str(tmp_path / "cache")}
    settings["LD_LIBRARY_PATH"] = ":".join(map(str, libraries))
    command = [LEROBOT.with_name("lerobot-dataset-viz"), "--repo-id=local/twin", f"--root={dataset}"]
    command += ["--episode-index=0", "--save=1", f"--output-dir={tmp_path}", "--num-workers=0"]
    subprocess.run(command, env=os.environ | settings, check=True)
    shown: Counter[str] = Counter()
    for chunk in RrdReader(next(tmp_path.glob("*.rrd"))).stream():
        shown[chunk.entity_path.replace("\\", "")] += chunk.num_rows
    first = parquet.read_table(dataset / "meta" / "episodes" / "chunk-000" / "file-000.parquet").to_pylist()[0]
    assert [shown[f"/{name}"] for name in (*CAMERAS, f"{ACTION}/0", "state/0")] == [first["length"]] * 4
