"""Asks a policy server by the real package of a protocol, in a Python that has it and nothing of this project.

    python real_policy_client.py openpi|vla-eval|lerobot PORT MESSAGE.npz

MESSAGE.npz holds a picture, the state and the text of an observation. Prints the actions as JSON; openpi
pads the picture into padded.npy.
"""

import json
import sys

import numpy as np

PROTOCOL, PORT = sys.argv[1], int(sys.argv[2])
with np.load(sys.argv[3]) as archive:
    PICTURE, STATE, TEXT = archive["picture"], archive["state"], str(archive["text"])


def openpi() -> list:
    from openpi_client import image_tools
    from openpi_client.websocket_client_policy import WebsocketClientPolicy

    np.save("padded.npy", image_tools.resize_with_pad(PICTURE, 224, 200))
    client = WebsocketClientPolicy("127.0.0.1", PORT)
    message = {"images": {"photo": PICTURE}, "states": STATE, "task_description": TEXT}
    return [client.infer(message)["actions"].tolist() for _ in range(2)][1]


def vla_eval() -> list:
    import anyio
    from vla_eval.connection import Connection

    async def ask() -> list:
        async with Connection(f"ws://127.0.0.1:{PORT}") as connection:
            await connection.start_episode({"task": {"name": TEXT}})
            message = {"images": {"photo": PICTURE}, "states": STATE, "task_description": TEXT}
            found = [(await connection.act(message))["actions"].tolist() for _ in range(24)]
            await connection.end_episode({"metrics": {"success": True}})
            return found[8:]

    return anyio.run(ask)


def lerobot() -> list:
    from dataclasses import dataclass

    from lerobot.async_inference import robot_client
    from lerobot.async_inference.configs import RobotClientConfig
    from lerobot.robots.config import RobotConfig
    from lerobot.transport import services_pb2

    names = [f"joint_{number}" for number in range(len(STATE))]

    @dataclass
    class Config(RobotConfig):
        type: str = "twin"

    class Robot:
        observation_features = dict.fromkeys(names, float) | {"photo": PICTURE.shape}
        action_features = dict.fromkeys(names, float)
        done: list = []  # noqa: RUF012

        def connect(self) -> None: ...

        def disconnect(self) -> None: ...

        def get_observation(self) -> dict:
            return dict(zip(names, STATE.astype(np.float32), strict=True)) | {"photo": PICTURE}

        def send_action(self, action: dict) -> dict:
            self.done.append(list(action.values()))
            return action

    robot_client.make_robot_from_config = lambda _: Robot()
    client = robot_client.RobotClient(
        RobotClientConfig("act", "none", Config(), 16, server_address=f"127.0.0.1:{PORT}", fps=15)
    )
    assert client.start()
    for _ in range(2):
        client.control_loop_observation(TEXT)
        received = robot_client.pickle.loads(client.stub.GetActions(services_pb2.Empty()).data)
        client._aggregate_action_queues(received)
        for _ in range(8):
            client.control_loop_action()
    client.stop()
    return Robot.done


print(json.dumps({"openpi": openpi, "vla-eval": vla_eval, "lerobot": lerobot}[PROTOCOL]()))
