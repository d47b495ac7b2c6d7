"""LeRobot: solved seeds as a dataset, policies that are served, and lerobot itself with both (`make soak`)."""

import base64
import json
import os
import socketserver
import subprocess
import sys
import threading
from types import ModuleType, SimpleNamespace
from unittest.mock import Mock

import cv2
import imageio.v2 as imageio
import numpy as np
import pandas
import pyarrow.parquet as parquet
import pytest
import twins
import websockets.sync.server
from twins import DOCUMENTED, LEROBOT

from pipeline.closed_loop import lerobot_server
from pipeline.closed_loop.lerobot_server import PolicyServer
from pipeline.closed_loop.policies import HttpPolicy, PolicyError
from pipeline.divergence.lerobot import read_lerobot
from pipeline.export.gym_env.dataset_control import FPS
from pipeline.export.lerobot.dataset import ACTION, CAMERA, HEIGHT_PX, IMAGES, OBJECTS, STATE, WIDTH_PX

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


def test_our_reader_sees_the_gripper_follow_its_commands(dataset, info):
    for number in range(info["total_episodes"]):
        episode = read_lerobot(dataset, number)
        assert list(episode.names)[:3] == ["x", "y", "z"] and list(episode.names)[-1] == "suction"
        assert episode.actions is not None
        positions, actions = episode.positions, episode.actions
        assert np.abs(positions[1:, :3] - actions[:-1, :3]).max() < 0.12 and np.ptp(positions[:, 2]) > 0.05
        assert set(np.unique(actions[:, -1])) == {0.0, 1.0}


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


SHAPES = {STATE: (5,), OBJECTS: (14,), CAMERA: (3, 24, 32)}


def serve(monkeypatch: pytest.MonkeyPatch, shapes: dict[str, tuple[int, ...]]) -> tuple[PolicyServer, Mock]:
    torch, policy = pytest.importorskip("torch"), Mock()
    policy.to.return_value = policy.eval.return_value = policy
    policy.select_action.side_effect = lambda batch: torch.full((1, 5), float(batch[STATE].sum()))
    features = {name: SimpleNamespace(shape=shape) for name, shape in shapes.items()}
    config = SimpleNamespace(type="fake", input_features=features)
    loader = SimpleNamespace(from_pretrained=lambda *_, **__: policy)
    configs, factory = ModuleType("lerobot.configs.policies"), ModuleType("lerobot.policies.factory")
    vars(configs)["PreTrainedConfig"] = SimpleNamespace(from_pretrained=lambda _: config)
    vars(factory)["get_policy_class"] = lambda _: loader
    vars(factory)["make_pre_post_processors"] = lambda *_, **__: (lambda batch: batch, lambda action: 2 * action)
    for name in ("lerobot", "lerobot.configs", "lerobot.policies"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, configs.__name__, configs)
    monkeypatch.setitem(sys.modules, factory.__name__, factory)
    return PolicyServer(lerobot_server.Path("checkpoint"), "cpu"), policy


def question(begins: bool = False) -> dict:
    picture = np.zeros((48, 64, 3), np.uint8)
    picture[..., 2] = 255  # red, in OpenCV's order
    png = base64.b64encode(cv2.imencode(".png", picture)[1].tobytes()).decode()
    observation = {"state": [0.0, 1, 2, 3, 4], "objects": np.arange(14.0).reshape(2, 7).tolist(), "image": png}
    return {"begins": begins, "instruction": "Stack the cubes.", "observation": observation}


def test_a_policy_gets_what_it_was_trained_on_and_one_that_needs_something_else_is_refused(monkeypatch):
    server, policy = serve(monkeypatch, SHAPES)
    assert server.answer(question(begins=True)) == {"action": [20.0] * 5}
    (seen,) = policy.select_action.call_args.args
    assert {name: tuple(seen[name].shape) for name in SHAPES} == {n: (1, *s) for n, s in SHAPES.items()}
    assert seen[CAMERA][0].mean(dim=(1, 2)).tolist() == [1.0, 0.0, 0.0], "RGB in [0, 1]"
    assert seen[OBJECTS][0].tolist() == list(range(14)) and seen["task"] == "Stack the cubes."
    server.answer(question())
    assert policy.reset.call_count == 1
    force = {"observation.force": (3,)}
    top = {f"{IMAGES}top": (3, 24, 32)}
    for shapes, words in (({STATE: (7,)}, "shape"), (force, "needs observation.force"), (top, "no camera top")):
        server, _ = serve(monkeypatch, shapes)
        with pytest.raises(ValueError, match=words):
            server.answer(question())


def test_what_cannot_be_served_is_said_in_one_line(tmp_path):
    checkpoint = tmp_path / "policy"
    checkpoint.mkdir()

    def said(*options: str) -> str:
        command = [sys.executable, "-m", "studio", "serve-policy", str(checkpoint), *options]
        ran = subprocess.run(command, capture_output=True, text=True)
        assert ran.returncode == 2 and ran.stderr.count("\n") == 1 and "Traceback" not in ran.stderr
        return ran.stderr

    assert "no config.json" in said()
    (checkpoint / "config.json").write_text("{}")
    assert "no-such-python is no Python" in said("--python", "no-such-python")
    assert "lerobot" in said()


GREETINGS = {
    "a gRPC server": b"\0\0\x06\x04\0\0\0\0\0\0\x04\0\x3f\xff\xff",  # of grpcio 1.80: a SETTINGS frame
    "a ZeroMQ server": b"\xff\0\0\0\0\0\0\0\x01\x7f",  # of pyzmq 27
    "a server with TLS": b"\x15\x03\x03\0\x02\x02\x46",
}


@pytest.mark.parametrize("name", ["a websocket server", *GREETINGS])
def test_what_answers_at_the_address_of_another_server_is_named(name):
    if name in GREETINGS:

        class Greeting(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                self.request.sendall(GREETINGS[name])
                self.request.recv(1 << 16)

        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Greeting)
        port = server.server_address[1]
    else:
        server = websockets.sync.server.serve(lambda _: None, "127.0.0.1", 0)
        port = server.socket.getsockname()[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    policy = HttpPolicy(f"http://127.0.0.1:{port}/act")
    policy.begin(0, "Stack the cubes.")
    try:
        with pytest.raises(PolicyError, match=name):
            policy.act({"state": np.zeros(5)}, 0.0)
    finally:
        server.shutdown()


def test_the_server_ends_with_the_command_that_is_asked_to_end(tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho serves\nexec sleep 600\n")
    python.chmod(0o755)
    command = [sys.executable, "-m", "studio", "serve-policy", str(tmp_path), "--python", str(python)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout and served.stdout.readline() == "serves\n"
        served.terminate()
        assert served.communicate(timeout=60)[0] == "", "its output ends when both have ended"


@pytest.mark.soak
def test_lerobot_itself_is_served(tmp_path):
    checkpoint = tmp_path / "policy"
    script = f"""
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.policies.act.configuration_act import ACTConfig
from lerobot.policies.act.modeling_act import ACTPolicy
from lerobot.policies.factory import make_pre_post_processors
kinds = {{"{STATE}": FeatureType.STATE, "{OBJECTS}": FeatureType.ENV, "{CAMERA}": FeatureType.VISUAL}}
shapes = {SHAPES!r} | {{"{CAMERA}": (3, 64, 96)}}
inputs = {{name: PolicyFeature(type=kinds[name], shape=shapes[name]) for name in kinds}}
outputs = {{"action": PolicyFeature(type=FeatureType.ACTION, shape=(5,))}}
config = ACTConfig(input_features=inputs, output_features=outputs, pretrained_backbone_weights=None, device="cpu",
                   dim_model=32, n_heads=2, dim_feedforward=32, chunk_size=8, n_action_steps=8, push_to_hub=False)
for part in (ACTPolicy(config), *make_pre_post_processors(config)):
    part.save_pretrained("{checkpoint}")
"""  # draccus 0.11 leaves the type out, which lerobot-train's checkpoints have
    subprocess.run([LEROBOT, "-c", script], check=True)
    config = checkpoint / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"type": "act"}))
    command = [sys.executable, "-m", "studio", "serve-policy", str(checkpoint), "--python", str(LEROBOT), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        words = next(line for line in server.stdout if "--policy" in line).split()
        try:
            policy = HttpPolicy(words[words.index("--policy") + 1].removeprefix("lerobot:"))
            policy.begin(0, "Stack the cubes.")
            observation = {"state": np.zeros(5), "objects": np.zeros((2, 7))}
            observation["image"] = np.zeros((240, 320, 3), np.uint8)
            assert np.isfinite(policy.act(observation, 0.0)).all()
        finally:
            server.terminate()
