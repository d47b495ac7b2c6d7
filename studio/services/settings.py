"""Settings of the studio: flags first, then the environment, then the defaults."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pipeline.errors import StudioError


@dataclass(frozen=True)
class Settings:
    """Every choice a user has at start-up. API keys are not among them; they are read where they are used."""

    model: str = "offline"
    """"offline" (the planner's rules), "openai" (any server with that API), "replay:TRACE", or "kept": the choice made
    in the app."""
    segmenter: str = "depth"
    """Name of an installed segmenter: "depth", "sam2" or a plug-in's."""
    library: tuple[Path, ...] = ()
    """Folders to search instead of the default library, unless empty."""
    sam2: str = "facebook/sam2.1-hiera-tiny"
    """A checkpoint file, or a hub name."""
    keep_all: bool = False
    """Whether SAM 2's automatic masks of parts stay, as in GRS."""
    device: str = "cpu"
    """Where SAM 2 runs: "cpu", "cuda", "cuda:1", "mps", or "auto" for the fastest available."""
    encoder: str = "embedded"
    """Image encoder of the matcher: "embedded", "none", or the name of a transformers model."""
    matcher: str = "all"
    """One of pipeline.matching.MODES: "all" evidence, "embedding", "text", "image" or "image+text"."""
    timeout: float = 60.0
    """Seconds for one model call."""
    workspace: Path = Path("workspace")
    """Folder that holds the projects."""
    seeds: int = 8
    """Number of seeds that a task is solved on."""
    mode: Literal["route", "repair", "none"] = "route"
    """What is repaired after a failed round: what the router says, the simulation only, or nothing."""
    robot: str = "gripper"
    """Name of one of pipeline.simulation.robots.ROBOTS: it performs the proposed tasks and the solve check."""
    camera: str = ""
    """Name of the camera that films are drawn from; the photograph's, or one beside it, if empty."""
    unprotected: bool = False
    """Whether a person agreed to run programs where this machine cannot confine them."""

    @staticmethod
    def from_environment(**flags: object) -> "Settings":
        """Return the settings: flags that are not None, then GRS_SAM2, GRS_SAM2_DEVICE, GRS_ENCODER, GRS_MATCHER,
        GRS_TIMEOUT and GRS_WORKSPACE, then the defaults. Raises StudioError."""
        environment = {
            "sam2": os.environ.get("GRS_SAM2"),
            "encoder": os.environ.get("GRS_ENCODER"),
            "matcher": os.environ.get("GRS_MATCHER"),
            "device": os.environ.get("GRS_SAM2_DEVICE"),
            "timeout": os.environ.get("GRS_TIMEOUT"),
            "workspace": os.environ.get("GRS_WORKSPACE"),
        }
        chosen = {k: v for k, v in environment.items() if v} | {k: v for k, v in flags.items() if v is not None}
        try:
            chosen["timeout"] = float(chosen.get("timeout", Settings.timeout))  # type: ignore[arg-type]
        except ValueError:
            raise StudioError(f"GRS_TIMEOUT is '{chosen['timeout']}'; it takes seconds, as in GRS_TIMEOUT=60") from None
        chosen["workspace"] = Path(str(chosen.get("workspace", Settings.workspace)))
        return Settings(**chosen)  # type: ignore[arg-type]
