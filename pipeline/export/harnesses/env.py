"""The task for lerobot.envs.factory.make_env("USER/REPOSITORY", trust_remote_code=True), which calls make_env below.

LeRobot downloads this file alone; the files beside it are then fetched from the same revision of the repository.
"""

import sys
from pathlib import Path

import gymnasium


def _folder() -> Path:
    """Return the folder with the environment's files."""
    folder = Path(__file__).parent  # not resolved: in the Hub's cache this file is a link
    if not (folder / "layouts.json").is_file():
        from huggingface_hub import snapshot_download

        repository = folder.parents[1].name.removeprefix("models--").replace("--", "/")
        folder = Path(snapshot_download(repository, revision=folder.name, cache_dir=folder.parents[2]))
    return folder


def make_env(n_envs: int = 1, use_async_envs: bool = False, cfg=None):
    """Return {suite: {task: vector environment}}, whose observations are named as lerobot expects them."""
    sys.path.insert(0, str(_folder()))
    from grs_env import DatasetEnv

    kind = gymnasium.vector.AsyncVectorEnv if use_async_envs else gymnasium.vector.SyncVectorEnv
    made = kind([DatasetEnv] * n_envs, autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP)
    return {"grs_twin": {0: made}}
