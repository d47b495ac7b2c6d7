"""The task as an environment of lerobot-eval (tried with lerobot 0.4.4), found by --env.discover_packages_path."""

from dataclasses import dataclass, field

import gymnasium
from grs_env import DatasetEnv
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.envs.configs import EnvConfig

GYM_ID = "GRS/TwinDataset-v0"
KEYS = {"action": "action", "agent_pos": "observation.state", "environment_state": "observation.environment_state"}
KINDS = {"action": FeatureType.ACTION, "agent_pos": FeatureType.STATE, "environment_state": FeatureType.ENV}

# bare, as lerobot asks the environment itself for its task and its number of steps
gymnasium.register(GYM_ID, entry_point=DatasetEnv, order_enforce=False, disable_env_checker=True)


def _spaces() -> dict[str, tuple[int, ...]]:
    """Return the shapes of the action and of all that is observed."""
    env = DatasetEnv()
    spaces = dict(env.observation_space.items())
    pixels = {f"pixels/{name}": space.shape for name, space in spaces.pop("pixels").items()}
    return {"action": env.action_space.shape} | {name: space.shape for name, space in spaces.items()} | pixels


SPACES = _spaces()


def _features() -> dict[str, PolicyFeature]:
    return {name: PolicyFeature(KINDS.get(name, FeatureType.VISUAL), shape) for name, shape in SPACES.items()}


def _names() -> dict[str, str]:
    return {name: KEYS.get(name, name.replace("pixels/", "observation.images.")) for name in SPACES}


@EnvConfig.register_subclass("grs_twin")
@dataclass
class TwinConfig(EnvConfig):
    """Features and names are those of the LeRobot dataset of the same project."""

    fps: int = DatasetEnv.metadata["render_fps"]
    features: dict[str, PolicyFeature] = field(default_factory=_features)
    features_map: dict[str, str] = field(default_factory=_names)

    @property
    def package_name(self) -> str:
        return "grs_lerobot"

    @property
    def gym_id(self) -> str:
        return GYM_ID

    @property
    def gym_kwargs(self) -> dict:
        return {}
