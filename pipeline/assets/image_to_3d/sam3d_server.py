"""Serves SAM 3D Objects over HTTP, in the Python of its repository: needs it and its weights, nothing of GRS Studio.

    cd sam-3d-objects && python .../sam3d_server.py --config checkpoints/hf/pipeline.yaml --port 8082

It gets a POST of an .npz with rgb (H, W, 3) uint8, mask (H, W) bool and points (H, W, 3) float32, metres, camera axes
(x right, y down, z forward). It answers JSON: mesh (GLB in base64), pose (camera-from-mesh, 4 x 4), scale (metres per
unit of the mesh), splats (.ply in base64). Written after the repository's demo.py and inference.py; its own frames are
PyTorch3D's (x left, y up), and its mesh has y up where its splats have z up.
"""

import argparse
import base64
import contextlib
import io
import json
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np

FROM_PYTORCH3D = np.diag([-1.0, -1.0, 1.0])
Z_UP_FROM_GLB = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
"""Axes in which the pose is told, from those of the GLB."""
MAX_BYTES = 500_000_000


def answer(inference, question: bytes) -> dict:
    """Return the fields of the answer to one question. Raises ValueError for what is no question."""
    import torch

    with np.load(io.BytesIO(question), allow_pickle=False) as sent:
        rgb, mask, points = sent["rgb"], sent["mask"], sent["points"]
    shown = torch.from_numpy(points @ FROM_PYTORCH3D.astype(np.float32))
    made = inference(rgb, mask, seed=1, pointmap=shown)
    rotation = _matrix(made["rotation"].reshape(-1)[:4].float().cpu().numpy()).T  # PyTorch3D multiplies rows
    pose = np.eye(4)
    pose[:3, :3] = FROM_PYTORCH3D @ rotation @ Z_UP_FROM_GLB
    pose[:3, 3] = FROM_PYTORCH3D @ made["translation"].reshape(-1)[:3].float().cpu().numpy()
    with tempfile.TemporaryDirectory() as folder:
        made["gs"].save_ply(f"{folder}/splats.ply")
        splats = Path(folder, "splats.ply").read_bytes()
    glb = made["glb"].export(file_type="glb")
    return {
        "mesh": base64.b64encode(glb).decode(),
        "pose": pose.tolist(),
        "splats": base64.b64encode(splats).decode(),
        "scale": float(made["scale"].reshape(-1)[0]),
    }


def _matrix(quaternion: np.ndarray) -> np.ndarray:
    """Return the rotation (3, 3) of a quaternion (4,), real part first."""
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def serve(inference, port: int) -> None:
    """Answer on 127.0.0.1, one question at a time, until Ctrl-C."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            try:
                length = min(int(self.headers.get("content-length", 0)), MAX_BYTES)
                status, told = 200, answer(inference, self.rfile.read(length))
            except (ValueError, KeyError, TypeError, RuntimeError, OSError) as error:
                status, told = 400, {"error": " ".join(str(error).split())[:300]}
            body = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_) -> None:
            pass

    with HTTPServer(("127.0.0.1", port), Handler) as server:
        print(f"GRS_IMAGE_TO_3D=sam3d:http://127.0.0.1:{server.server_port}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


def main() -> int:
    """Load the model and serve it; a fault is one line and exit code 2."""
    parser = argparse.ArgumentParser(description="serve SAM 3D Objects over HTTP")
    parser.add_argument("--config", default="checkpoints/hf/pipeline.yaml", help="default %(default)s")
    parser.add_argument("--port", type=int, default=8082, help="of 127.0.0.1; 0 takes a free one (default %(default)s)")
    arguments = parser.parse_args()
    if not Path(arguments.config).is_file():
        print(f"{arguments.config} does not exist; run in the folder of sam-3d-objects", file=sys.stderr)
        return 2
    sys.path.insert(0, "notebook")
    try:
        from inference import Inference  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        print(f"SAM 3D Objects is not installed in {sys.executable} ({error})", file=sys.stderr)
        return 2
    serve(Inference(arguments.config, compile=False), arguments.port)
    return 0


if __name__ == "__main__":
    sys.exit(main())
