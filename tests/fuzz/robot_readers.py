"""Readers of what a robot's owner brings: episodes, clicks, interfaces and answers of policies, models of robots."""

import io
import json
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import mujoco
import numpy as np
from PIL import Image

from bench.planted_arms import arm_xml
from pipeline.alignment.camera import project
from pipeline.alignment.input_files import read_clicks, read_robot_base
from pipeline.calibration.model_files import read_model
from pipeline.calibration.parameters import read_parameters
from pipeline.closed_loop.interfaces import Translation, read_interface
from pipeline.closed_loop.interfaces.interface import FOLDER
from pipeline.closed_loop.policy import PolicyError
from pipeline.closed_loop.protocols.lerobot_data import HELPERS, field, read_actions, written, written_actions
from pipeline.closed_loop.protocols.messages import MessageError, Style, pack, unpack
from pipeline.closed_loop.protocols.plain_pickle import Call, Name, PickleError, dumps
from pipeline.closed_loop.protocols.zeromq import COMMAND, GREETING, MORE, RequestSocket, ZeroMQError
from pipeline.divergence import ArmJoints, load_robot, read_episode, write_episode
from pipeline.divergence.episode_files import selection_choices
from pipeline.divergence.robot_kinematics import MujocoRobot, compile_kinematics
from pipeline.frame import Intrinsics
from pipeline.scene import Scene
from pipeline.scene.scene_files import read_scene
from pipeline.scene.splats.read_splats import read
from pipeline.scene.splats.splat_cloud import make_splats, to_ply
from pipeline.simulation.robots.reading.elements import compiled, find_elements, read_spec
from tests.divergence import arm_episodes
from tests.fuzz.reader import Files, Reader, each_file, files_of
from tests.written_logs import log, nanoseconds
from tests.written_splats import to_spz

KEPT = Path(__file__).resolve().parents[1] / "reliability" / "kept_projects" / "schema_1"
TIMES = np.arange(0, 1, 0.1)
EPISODE = arm_episodes.episode(arm_episodes.course(TIMES), TIMES)
SPLATS = make_splats(*(np.random.default_rng(5).uniform(0.01, 0.9, (20, count)) for count in (3, 3, 4, 4)))
SPLAT_WRITERS: dict[str, Callable[[np.ndarray], bytes]] = {
    "ply": to_ply, "spz": to_spz, "splat": lambda splats: splats.tobytes(),
}  # fmt: skip
LOGS = ("one.bag", "sqlite", "mcap")
"""Of tests.written_logs.KINDS."""
UNREAD = ("stats.json", "tasks.parquet")
"""Files of a LeRobot dataset."""


def _splats(kind: str) -> Callable[[], Files]:
    return lambda: {f"f.{kind}": SPLAT_WRITERS[kind](SPLATS)}


def _read_splats(folder: Path) -> object:
    (file,) = folder.iterdir()
    return read(str(file))


def _read_episode(folder: Path) -> object:
    """Read the only file of a folder, or the folder, as an episode."""
    files = list(folder.rglob("*"))
    path = files[0] if len(files) == 1 else folder
    return selection_choices(path), read_episode(path)


def _log(kind: str) -> Callable[[], Files]:
    """Return a seed of joints, commands, and poses of objects by topic and by frame."""

    def write(folder: Path) -> None:
        with log(folder, kind) as made:
            for seconds, row in zip(TIMES, EPISODE.positions, strict=True):
                time, pose = nanoseconds(seconds), np.array([seconds, 0, 0, 1.0, 0, 0, 0])
                made.joints("/joint_states", time, EPISODE.names, row)
                made.pose("/objects/cup/pose", time, pose)
                if not made.ros1:  # whose store of types has no tf2
                    made.transform(time, "object_bowl", pose)
            made.trajectory("/plan", nanoseconds(0.2), "ab", {0.1: [0, 4], 0.5: [1, 2]}, stamp=nanoseconds(0.2))

    def seed() -> Files:
        return {name.rpartition("/")[2]: content for name, content in files_of(write)().items()}

    return seed


def _episode(name: str) -> Callable[[], Files]:
    def seed() -> Files:
        made = files_of(lambda folder: write_episode(EPISODE, folder / name))()
        read = {relative: content for relative, content in made.items() if not relative.endswith(UNREAD)}
        return {relative.removeprefix(f"{name}/"): content for relative, content in read.items()}

    return seed


# ---------------------------------------------------------------------- alignment and calibration

CAMERA = Intrinsics(640, 480, 500, 500, 319.5, 239.5)


@cache
def _scene() -> Scene:
    return read_scene(KEPT)


def _clicks() -> Files:
    rows = [{"pixel": [9, 9 + n], "world": [0, 0.1, 0.01 * n]} for n in range(3)]
    of_object = {"pixel": [50, 60], "object": _scene().placements[0].name, "point": [0, 0, 0.01]}
    return {"clicks.json": json.dumps({"points": [*rows, of_object], "pixel_std": 2}).encode()}


def _robot_base() -> Files:
    """Return clicks on the tool of a model, and poses; the camera stands in the world's origin and looks along z."""
    model, turned = arm_episodes.mjcf(), np.diag([1.0, -1.0, -1.0, 1.0])
    angles = np.random.default_rng(0).uniform(-1, 1, (4, len(arm_episodes.JOINTS)))
    points, _ = _kinematics(model).pose("arm", ArmJoints(arm_episodes.JOINTS, tool="tool"), angles)
    seen = points + np.array([0, 0, 2])
    rows = [
        {"q": dict(zip(arm_episodes.JOINTS, q, strict=True)), "pixel": pixel, "depth": depth}
        for q, pixel, depth in zip(
            angles.tolist(), project(np.eye(4), seen, CAMERA).tolist(), seen[:, 2].tolist(), strict=True
        )
    ]
    files = {
        "clicks.json": {"model": "arm.xml", "tool": "tool", "clicks": rows, "upright": True},
        "hand_eye.json": {"base_from_camera": turned.tolist()},
        "pose.json": {"world_from_base": {"pos": [0, 0, 0.1], "quat_wxyz": [1, 0, 0, 0]}},
    }
    return {"arm.xml": model.encode(), **{name: json.dumps(value).encode() for name, value in files.items()}}


def _kinematics(mjcf: str) -> MujocoRobot:
    return MujocoRobot(compile_kinematics(mujoco.MjSpec.from_string(mjcf), "arm.xml"))


def _read_robot_base(folder: Path) -> object:
    return [read_robot_base(file, np.eye(4), CAMERA) for file in sorted(folder.glob("*.json"))]


def _dh_table() -> Files:
    table = {"dh": arm_episodes.DH, "tool": np.eye(4).tolist()}
    return {"arm.json": json.dumps({"arms": {"arm": table}, "ranges": {"joint_1": 6.0}}).encode()}


def _read_robot_model(folder: Path) -> object:
    """Read a robot's model for a comparison, and its tool's pose."""
    (file,) = folder.iterdir()
    robot = load_robot(file)
    return robot.range_of("joint_1"), robot.pose("arm", ArmJoints(arm_episodes.JOINTS), np.zeros((2, 6)))


PARAMETERS = [
    {"joint": "turn", "field": "damping"}, {"body": "payload", "field": "com"}, {"actuator": "*", "field": "kp"},
]  # fmt: skip


def _calibration() -> Files:
    model = arm_xml().replace('name="payload"', 'name="payload" simple="false"')
    return {"model.xml": model.encode(), "parameters.json": json.dumps({"parameters": PARAMETERS}).encode()}


def _read_calibration(folder: Path) -> object:
    _, model = read_model(folder / "model.xml")
    return read_parameters(folder / "parameters.json", model)


# ---------------------------------------------------------------------- robots of one's own


def _own_robot(kind: str) -> Callable[[], Files]:
    def seed() -> Files:
        from tests.simulation.arm.test_added_robots import urdf

        text = urdf()
        if kind == "xml":
            spec = mujoco.MjSpec.from_string(text)
            spec.compile()
            text = spec.to_xml()
        return {f"arm.{kind}": text.encode()}

    return seed


def _read_own_robot(folder: Path) -> object:
    (file,) = folder.iterdir()
    spec, repairs = read_spec(file)
    return find_elements(compiled(spec, file.name), file.name), repairs


# ---------------------------------------------------------------------- policies


def _read_interface(folder: Path) -> object:
    return read_interface(str(folder / "own.toml"))


def _answer(style: Style, answer: object) -> Callable[[], Files]:
    return lambda: {"answer": pack(answer, style)}


def _vla_eval_answer() -> Files:
    """Return an answer, and one with a picture, which only observations have."""
    picture = io.BytesIO()
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(picture, "PNG")
    image = {"__image__": True, "format": "png", "data": picture.getvalue()}
    return {"answer": pack({"actions": np.zeros((3, 7)), "image": image}, "vla-eval")}


def _read_answer(style: Style, interface: str) -> Callable[[Path], object]:
    """Return a reader of an answer: the message, then its actions of a robot with six joints and a gripper."""

    def read(data: bytes) -> object:
        try:
            answer = unpack(data, style)
        except MessageError as error:  # as the clients do
            raise PolicyError(f"groot://127.0.0.1:1 sent no message of {style}: {error}") from None
        return _rows(interface, answer[0] if isinstance(answer, list) and answer else answer)

    return each_file(read)


def _rows(name: str, answer: object) -> object:
    """Return the actions of an answer to an interface, by a robot that only has widths."""
    interface = read_interface(name)
    widths = {part.key: 1 if part.key == ("gripper",) else 7 for part in interface.action}
    translation = Translation.__new__(Translation)
    translation.interface, translation.widths = interface, widths
    return translation.rows(answer)


def _lerobot_answer() -> Files:
    """Return the actions that our server sends, and those of torch's tensors."""
    actions = np.linspace(0, 1, 14).reshape(2, 7)
    return {"answer": written(1, written_actions(actions, 0.5, 3, 30.0)), "tensor": written(1, _tensor_actions())}


def _tensor_actions() -> bytes:
    """Return a pickled TimedAction whose tensor has a storage, as torch.save writes one."""
    numbers = np.arange(7, dtype="<f4")
    kind = ("storage", Name("torch.FloatStorage"), "0", "cpu", 7)
    storage = dumps(1) + dumps(2) + dumps({"little_endian": True}) + _persistent(kind) + dumps(["0"])
    storage += struct.pack("<q", 7) + numbers.tobytes()
    tensor = Call("torch._utils._rebuild_tensor_v2", (
        Call("torch.storage._load_from_bytes", (storage,)), 0, (7,), (1,), False, {},
    ))  # fmt: skip
    return dumps([Call(f"{HELPERS}.TimedAction", (), {"timestamp": 0.5, "timestep": 3, "action": tensor})])


def _persistent(value: tuple) -> bytes:
    return dumps(value)[:-1] + b"Q."


def _read_lerobot_answer(data: bytes) -> object:
    try:
        return _rows("lerobot", {"action": read_actions(field(data, 1))})
    except PickleError as error:  # as the client does
        raise PolicyError(f"lerobot://127.0.0.1:1 sent no actions of LeRobot: {error}") from None


def _frames() -> Files:
    """Return what a REP socket sends: its greeting, that it is ready, and an answer of two frames."""
    ready = b"\x05READY\x0bSocket-Type" + struct.pack(">I", 3) + b"REP"
    return {"sent": GREETING + bytes([COMMAND, len(ready)]) + ready + bytes([MORE, 0, 0, 5]) + b"hello"}


def _read_frames(data: bytes) -> object:
    sent = io.BytesIO(data)
    connection = SimpleNamespace(
        sendall=lambda _: None, settimeout=lambda _: None, close=lambda: None, recv=sent.read,
    )  # fmt: skip
    try:
        with patch("socket.create_connection", return_value=connection):
            return RequestSocket("127.0.0.1", 1, 5.0, 1_000_000).ask(b"question", 5.0)
    except (ZeroMQError, OSError) as error:  # as the client does
        raise PolicyError(f"groot://127.0.0.1:1 {error}") from None


JOINTS_AND_GRIPPER = {"joints": np.zeros((1, 2, 7)), "gripper": np.zeros((1, 2, 1))}

ROBOT_READERS: dict[str, Reader] = {
    **{f"splats {kind}": Reader(_read_splats, _splats(kind), True) for kind in SPLAT_WRITERS},
    **{f"episode {name}": Reader(_read_episode, _episode(name)) for name in ("one.npz", "one.csv", "lerobot")},
    **{f"log {kind}": Reader(_read_episode, _log(kind)) for kind in LOGS},
    "clicks": Reader(lambda folder: read_clicks(folder / "clicks.json", _scene()), _clicks),
    "robot base": Reader(_read_robot_base, _robot_base, True),
    "robot model xml": Reader(_read_robot_model, lambda: {"arm.xml": arm_episodes.mjcf().encode()}),
    "robot model urdf": Reader(_read_robot_model, lambda: {"arm.urdf": arm_episodes.urdf().encode()}),
    "robot model json": Reader(_read_robot_model, _dh_table),
    "calibration": Reader(_read_calibration, _calibration),
    **{f"own robot {kind}": Reader(_read_own_robot, _own_robot(kind), True) for kind in ("urdf", "xml")},
    "policy interface": Reader(_read_interface, lambda: {"own.toml": (FOLDER / "groot.toml").read_bytes()}),
    "answer openpi": Reader(_read_answer("openpi", "droid"), _answer("openpi", {"actions": np.zeros((3, 7))})),
    "answer groot": Reader(_read_answer("groot", "groot"), _answer("groot", [JOINTS_AND_GRIPPER, {}])),
    "answer vla-eval": Reader(_read_answer("vla-eval", "vla_eval"), _vla_eval_answer),
    "answer lerobot": Reader(each_file(_read_lerobot_answer), _lerobot_answer),
    "frames of ZeroMQ": Reader(each_file(_read_frames), _frames),
}
