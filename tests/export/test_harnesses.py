"""Exports for evaluation harnesses: their files and one step; vla-eval and lerobot-eval themselves (`make soak`)."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import twins
from twins import LEROBOT, VLA_EVAL

from pipeline.divergence.lerobot import read_lerobot
from pipeline.export import export_project, harness_packages
from pipeline.export.gym_env.dataset_control import CONTROL_SECONDS, FPS
from pipeline.export.gym_env.dataset_env import DatasetEnv
from pipeline.export.lerobot.dataset import OBJECTS, STATE

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
