"""What the studio works with, chosen once at start-up: flags first, then the environment, then what is at hand."""

import contextlib
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from pipeline.errors import StudioError
from pipeline.models.settings import named

if TYPE_CHECKING:
    from pipeline.models import ModelSettings
    from pipeline.run import Services
    from pipeline.segmentation import Segmenter


T = TypeVar("T")


class Once(Generic[T]):
    """What is made at the first call, from whichever thread; the others wait for it."""

    def __init__(self, make: Callable[[], T]):
        self._make, self._lock, self._made = make, threading.Lock(), []

    @property
    def made(self) -> bool:
        return bool(self._made)

    def __call__(self) -> T:
        with self._lock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]


@dataclass(frozen=True)
class Settings:
    """Every choice a user has at start-up. Keys are read where they are used and kept nowhere."""

    model: str = "offline"
    """"offline" (rules), "openai" (any server that speaks its API), "replay:TRACE", or "kept": what the panel chose."""
    segmenter: str = "depth"
    """"depth" or "sam2"."""
    library: tuple[Path, ...] = ()
    """Searched instead of the default library when not empty."""
    sam2: str = "facebook/sam2.1-hiera-tiny"
    """A checkpoint file, or a hub name."""
    device: str = "cpu"
    """Where SAM 2 computes: "cpu", "cuda", "cuda:1", "mps", or "auto" for the fastest there is."""
    encoder: str = "embedded"
    """What sees pictures for the matcher: "embedded", "none", or a model of transformers by its name."""
    matcher: str = "all"
    """One of pipeline.matching.MODES: "all" evidence, "embedding", "text", "image" or "image+text"."""
    timeout: float = 60.0
    """Seconds for one model call."""
    workspace: Path = Path("workspace")
    seeds: int = 8
    mode: Literal["route", "repair", "none"] = "route"
    robot: Literal["gripper", "arm"] = "gripper"
    """Who does the task in the solve check."""

    @staticmethod
    def from_environment(**flags: object) -> "Settings":
        """Flags that were given, over GRS_SAM2, GRS_SAM2_DEVICE, GRS_ENCODER, GRS_MATCHER, GRS_TIMEOUT and
        GRS_WORKSPACE, over the defaults. Raises StudioError."""
        read = {
            "sam2": os.environ.get("GRS_SAM2"),
            "encoder": os.environ.get("GRS_ENCODER"),
            "matcher": os.environ.get("GRS_MATCHER"),
            "device": os.environ.get("GRS_SAM2_DEVICE"),
            "timeout": os.environ.get("GRS_TIMEOUT"),
            "workspace": os.environ.get("GRS_WORKSPACE"),
        }
        chosen = {k: v for k, v in read.items() if v} | {k: v for k, v in flags.items() if v is not None}
        try:
            chosen["timeout"] = float(chosen.get("timeout", Settings.timeout))  # type: ignore[arg-type]
        except ValueError:
            raise StudioError(f"GRS_TIMEOUT is '{chosen['timeout']}'; it takes seconds, as in GRS_TIMEOUT=60") from None
        chosen["workspace"] = Path(str(chosen.get("workspace", Settings.workspace)))
        return Settings(**chosen)  # type: ignore[arg-type]


def open_services(settings: Settings, first_seed: int = 0) -> "Services":
    """Everything the pipeline needs. Raises a StudioError that says which part cannot be had and what would work."""
    from pipeline.assets.encoder import encoder
    from pipeline.assets.features import learnt
    from pipeline.assets.library import OWN, Library, user_libraries
    from pipeline.assets.provider import from_environment as image_to_3d
    from pipeline.matching import MODES, Features
    from pipeline.models import choose
    from pipeline.run import Services
    from pipeline.simulation.sandbox import Sandbox

    library = Library.open(list(settings.library) or [OWN, *user_libraries()])
    eyes = encoder(settings.encoder)
    names = [mode.name for mode in MODES]
    if settings.matcher not in names:
        raise StudioError(f"there is no matcher {settings.matcher}; there are: {', '.join(names)}")
    looks = Once(lambda: Features.of(library, cache_folder(), encoder=eyes))
    return Services(
        segmenter=open_segmenter(settings),
        model=choose(model_settings(settings), prompts=settings.workspace / "prompts"),
        library=library,
        features=looks,
        encoder=eyes,
        matcher=settings.matcher,  # type: ignore[arg-type]
        learn=lambda: iter(()) if looks.made else learnt(library, cache_folder(), eyes),
        sandbox=Sandbox(),
        mode=settings.mode,
        seeds=tuple(range(first_seed, first_seed + settings.seeds)),
        robot=settings.robot,
        image_to_3d=image_to_3d(),
        cards=cache_folder() / "cards",
    )


def model_settings(settings: Settings) -> "ModelSettings":
    """What the models are asked with. What a workspace keeps never keeps the studio from starting: the panel tells."""
    from pipeline.models import ModelError, ModelSettings, choose

    if settings.model == "kept":
        try:
            kept = ModelSettings.from_environment(settings.workspace)
            choose(kept)
            return kept
        except ModelError:
            return ModelSettings()
    chosen = named(settings.model)
    if settings.model == "openai":
        del chosen["model"]  # the environment names it
    return ModelSettings.from_environment(None, timeout=settings.timeout, **chosen)


def warm(services: "Services") -> None:
    """Does now, in the background, what the first project would wait for: the library's looks and the sandbox.

    What goes wrong here goes wrong again where it is needed, and is said there.
    """

    def work() -> None:
        with contextlib.suppress(Exception):
            services.features()
        with contextlib.suppress(Exception):
            _ = services.sandbox.covered

    threading.Thread(target=work, daemon=True, name="warm").start()


def open_segmenter(settings: Settings) -> "Segmenter":
    if settings.segmenter == "sam2":
        from pipeline.segmentation.sam2 import Sam2Segmenter

        return Sam2Segmenter(settings.sam2, settings.device)
    from pipeline.segmentation import DepthSegmenter

    return DepthSegmenter()


def cache_folder() -> Path:
    """Where renderings and features of libraries are kept between runs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "grs-studio"
