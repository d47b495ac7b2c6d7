"""Serves recorded actions by the real packages of a protocol, in a Python that has them and nothing of this project.

    python real_policy_server.py openpi|vla-eval|lerobot ACTIONS.npz REPLAN

ACTIONS.npz holds the actions (T, A) of each layout under its number. Prints the port.
"""

import asyncio
import sys
import traceback
from concurrent import futures

import numpy as np

CHUNK = 16
PROTOCOL, FILE, REPLAN = sys.argv[1], sys.argv[2], int(sys.argv[3])
with np.load(FILE) as archive:
    ACTIONS = {int(name): archive[name].astype(np.float32) for name in archive.files}
ORDER = iter(sorted(ACTIONS))


def chunk(layout: int, step: int) -> np.ndarray:
    """Return the next actions after some steps; the last one stays."""
    rows = np.minimum(np.arange(step, step + CHUNK), len(ACTIONS[layout]) - 1)
    return ACTIONS[layout][rows]


def openpi() -> None:
    """As openpi's websocket_policy_server does, with the codec of openpi-client."""
    import websockets.asyncio.server as server
    from openpi_client import msgpack_numpy

    async def handle(connection: server.ServerConnection) -> None:
        packer, layout, asked = msgpack_numpy.Packer(), next(ORDER), 0
        await connection.send(packer.pack({"embodiment": "twin"}))
        async for data in connection:
            try:
                observation = msgpack_numpy.unpackb(data)
                assert observation["observation/image"].dtype == np.uint8 and isinstance(observation["prompt"], str)
                answer = {"actions": chunk(layout, REPLAN * asked), "server_timing": {"infer_ms": np.float64(0.1)}}
                await connection.send(packer.pack(answer))
            except Exception:
                await connection.send(traceback.format_exc())
                raise
            asked += 1

    async def serve() -> None:
        async with server.serve(handle, "127.0.0.1", 0, compression=None, max_size=None) as running:
            print(next(iter(running.sockets)).getsockname()[1], flush=True)
            await running.serve_forever()

    asyncio.run(serve())


def vla_eval() -> None:
    """A model server of vla-eval, whose buffer sends one action an observation."""
    import anyio
    from vla_eval.model_servers.predict import PredictModelServer
    from vla_eval.model_servers.serve import serve_async
    from vla_eval.specs import IMAGE_RGB, LANGUAGE, RAW

    layouts = {}  # of each session: several episodes run at a time

    class Recorded(PredictModelServer):
        async def on_episode_start(self, config, context) -> None:
            layouts[context.session_id] = config["task"]["layout"]
            await super().on_episode_start(config, context)

        def predict(self, obs, ctx):
            assert obs["images"]["photo"].dtype == np.uint8 and isinstance(obs["task_description"], str)
            return {"actions": chunk(layouts[ctx.session_id], ctx.step)}

        def get_action_spec(self):
            return {"actions": RAW}

        def get_observation_spec(self):
            return {"image": IMAGE_RGB, "language": LANGUAGE}

    async def serve() -> None:
        async with anyio.create_task_group() as tasks:
            port = await tasks.start(serve_async, Recorded(chunk_size=REPLAN), "127.0.0.1", 0)
            print(port, flush=True)

    anyio.run(serve)


def lerobot() -> None:
    """LeRobot's own policy server, whose policy is one that knows what was recorded."""
    from types import SimpleNamespace

    import grpc
    import torch
    from lerobot.async_inference import policy_server
    from lerobot.async_inference.configs import PolicyServerConfig
    from lerobot.configs.types import FeatureType, PolicyFeature
    from lerobot.transport import services_pb2_grpc

    class Recorded:
        config = SimpleNamespace(
            image_features={"observation.images.photo": PolicyFeature(FeatureType.VISUAL, (3, 48, 64))}
        )
        step = 0

        @classmethod
        def from_pretrained(cls, path):
            return cls()

        def to(self, device):
            return self

        def predict_action_chunk(self, batch):
            assert (
                batch["observation.images.photo"].shape == (1, 3, 48, 64) and batch["observation.state"].shape[0] == 1
            )
            assert isinstance(batch["task"], str)
            return torch.tensor(chunk(Server.layout, Recorded.step))[None]

    class Server(policy_server.PolicyServer):
        layout = 0

        def Ready(self, request, context):
            Server.layout = next(ORDER)
            return super().Ready(request, context)

        def _predict_action_chunk(self, observation):
            Recorded.step = observation.get_timestep()
            return super()._predict_action_chunk(observation)

    policy_server.get_policy_class = lambda _: Recorded
    policy_server.make_pre_post_processors = lambda *_, **__: (lambda batch: batch, lambda action: action)
    server = grpc.server(futures.ThreadPoolExecutor(4))
    config = PolicyServerConfig(host="127.0.0.1", port=8080, fps=15, inference_latency=0.0)
    services_pb2_grpc.add_AsyncInferenceServicer_to_server(Server(config), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    server.wait_for_termination()


{"openpi": openpi, "vla-eval": vla_eval, "lerobot": lerobot}[PROTOCOL]()
