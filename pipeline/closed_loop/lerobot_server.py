"""Serves a LeRobot policy over HTTP, in the Python of `lerobot`: needs lerobot and torch, and nothing of GRS Studio.

    python lerobot_server.py CHECKPOINT --port 8000

CHECKPOINT is a folder that `lerobot-train` wrote (`pretrained_model`). The policy is asked once a frame of the dataset
that `grs-studio export --format lerobot` writes. It gets a POST of JSON with "begins", "instruction" and "observation":
{"state": (A,), "objects": (N, 7), "image": PNG in base64, and such a picture of each other camera under its name}. It
answers {"action": (A,)}, or 400 and {"error": text}.
"""

import argparse
import base64
import contextlib
import io
import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from pipeline.store import parse_json

STATE, OBJECTS, PICTURE = "observation.state", "observation.environment_state", "observation.images."
PHOTO = "photo"


class PolicyServer:
    """A loaded policy, which keeps one episode in mind."""

    def __init__(self, checkpoint: Path, device: str):
        from lerobot.configs.policies import PreTrainedConfig
        from lerobot.policies.factory import get_policy_class, make_pre_post_processors

        config = PreTrainedConfig.from_pretrained(str(checkpoint))
        config.device = device
        self._features, self._device = config.input_features, device
        self._policy = get_policy_class(config.type).from_pretrained(str(checkpoint), config=config).to(device).eval()
        self._prepare, self._finish = make_pre_post_processors(
            config, pretrained_path=str(checkpoint), preprocessor_overrides={"device_processor": {"device": device}}
        )
        self.name = config.type

    def answer(self, question: dict) -> dict:
        """Return {"action": [A numbers]}. Raises ValueError if the policy needs what the twin does not have."""
        import torch

        if question["begins"]:
            self._policy.reset()
        batch = {name: self._input(name, question["observation"]) for name in self._features}
        batch = {name: value[None].to(self._device) for name, value in batch.items()}
        with torch.inference_mode():
            action = self._policy.select_action(self._prepare(batch | {"task": question["instruction"]}))
            return {"action": self._finish(action)[0].float().cpu().tolist()}

    def _input(self, name: str, observation: dict):
        """Return the tensor of one feature of the policy."""
        import torch

        shape = tuple(self._features[name].shape)
        if name.startswith(PICTURE):
            camera = name.removeprefix(PICTURE)
            sent = observation.get("image" if camera == PHOTO else camera)
            if not isinstance(sent, str):
                raise ValueError(f"the policy needs {name}; the twin has no camera {camera}")
            value = _picture(sent, shape[-1], shape[-2])
        elif name in (STATE, OBJECTS):
            value = torch.tensor(observation["state" if name == STATE else "objects"], dtype=torch.float32).flatten()
        else:
            raise ValueError(f"the policy needs {name}; the twin has {STATE}, {OBJECTS} and pictures")
        if tuple(value.shape) != shape:
            raise ValueError(f"the policy needs {name} of shape {shape}; the twin's has {tuple(value.shape)}")
        return value


def _picture(png: str, width: int, height: int):
    """Return a picture as a tensor (3, height, width) in [0, 1]."""
    import numpy as np
    import torch
    from PIL import Image

    picture = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")
    if picture.size != (width, height):
        picture = picture.resize((width, height), Image.Resampling.BILINEAR)
    return torch.from_numpy(np.array(picture)).permute(2, 0, 1).float() / 255


def serve(policy: PolicyServer, port: int) -> None:
    """Answer on 127.0.0.1, one question at a time, until Ctrl-C."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            try:
                question = parse_json(self.rfile.read(int(self.headers.get("content-length", 0))))
                status, answer = 200, policy.answer(question)
            except (ValueError, KeyError, TypeError, RuntimeError) as error:
                status, answer = 400, {"error": " ".join(str(error).split())[:300]}
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_) -> None:
            pass

    with HTTPServer(("127.0.0.1", port), Handler) as server:
        address = f"http://127.0.0.1:{server.server_port}/act"
        print(f"{policy.name}: grs-studio evaluate-policy PROJECT --policy lerobot:{address} --out DIR", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


def main() -> int:
    """Load the checkpoint and serve it; a fault is one line and exit code 2."""
    parser = argparse.ArgumentParser(description="serve a LeRobot policy over HTTP")
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT", help="folder with config.json of a policy")
    parser.add_argument("--port", type=int, default=8000, help="of 127.0.0.1; 0 takes a free one (default %(default)s)")
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default %(default)s)")
    arguments = parser.parse_args()
    if not (arguments.checkpoint / "config.json").is_file():
        print(f"{arguments.checkpoint} is no policy: it has no config.json; give pretrained_model", file=sys.stderr)
        return 2
    try:
        policy = PolicyServer(arguments.checkpoint, arguments.device)
    except ImportError as error:
        print(f"lerobot is not installed in {sys.executable} ({error}); pip install lerobot there", file=sys.stderr)
        return 2
    except Exception as error:  # whatever lerobot finds wrong with a checkpoint
        print(f"{arguments.checkpoint} cannot be loaded: {' '.join(str(error).split())[:300]}", file=sys.stderr)
        return 2
    serve(policy, arguments.port)
    return 0


if __name__ == "__main__":
    sys.exit(main())
