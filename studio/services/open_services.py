"""The services that the settings select: everything that the pipeline needs."""

import contextlib
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pipeline import plugins
from pipeline.models.settings import service_from_name
from pipeline.store import user_cache_folder
from studio.services.settings import Settings

if TYPE_CHECKING:
    from pipeline.assets import Library
    from pipeline.assets.appearance.encoder import Encoder
    from pipeline.models import ModelSettings
    from pipeline.run import Services
    from pipeline.segmentation import Segmenter


T = TypeVar("T")


class Lazy(Generic[T]):
    """A value that is computed at the first call; other threads wait for it."""

    def __init__(self, compute: Callable[[], T]):
        self._compute, self._lock = compute, threading.Lock()
        self._value: list[T] = []

    @property
    def is_ready(self) -> bool:
        return bool(self._value)

    def __call__(self) -> T:
        with self._lock:
            if not self._value:
                self._value.append(self._compute())
            return self._value[0]


def open_services(settings: Settings, first_seed: int = 0) -> "Services":
    """Open everything the pipeline needs. Raises a StudioError that says which part is missing and what would work."""
    from pipeline.assets.appearance.encoder import load_encoder
    from pipeline.assets.asset_descriptions import FILE as DESCRIPTIONS_FILE
    from pipeline.assets.image_to_3d import service_from_environment as image_to_3d
    from pipeline.assets.library import BUILTIN_LIBRARY, Library, user_library_folder, user_library_folders
    from pipeline.models import open_model
    from pipeline.models.destination import policy_from_environment
    from pipeline.planner import PlannerModel
    from pipeline.run import Services
    from pipeline.run.placing_ahead import open_placing_ahead
    from pipeline.simulation.robots import robot_kind
    from pipeline.simulation.sandbox.sandbox import Sandbox

    library = Library.open(list(settings.library) or [BUILTIN_LIBRARY, *user_library_folders()])
    encoder = load_encoder(settings.encoder)
    plugins.load("matchers", settings.matcher)
    if settings.robot != Settings.robot:
        robot_kind(settings.robot)  # its model may not be installed
    return Services(
        segmenter=open_segmenter(settings),
        model=open_model(model_settings(settings), PlannerModel, prompts=settings.workspace / "prompts"),
        encoder=encoder,
        **library_services(library, encoder),
        matcher=settings.matcher,  # type: ignore[arg-type]
        sandbox=Sandbox(settings.unprotected),
        mode=settings.mode,
        seeds=tuple(range(first_seed, first_seed + settings.seeds)),
        robot=settings.robot,
        camera=settings.camera,
        send=policy_from_environment(),
        image_to_3d=image_to_3d(),
        workspace=settings.workspace,
        asset_descriptions=user_library_folder() / DESCRIPTIONS_FILE,
        cards_folder=user_cache_folder() / "cards",
        ahead=open_placing_ahead(),
    )


def announce_sending(services: "Services") -> "Services":
    """Say on stderr what goes to the model's server; a model named for a command may be sent to in this run."""
    from pipeline.models.destination import destination_of
    from pipeline.run import WHAT_IS_SENT

    if destination := destination_of(services.model):
        what = (
            WHAT_IS_SENT
            if services.model.settings.pictures
            else "no picture; names, sizes, the task, its programs and solved programs of other projects as examples"
        )  # type: ignore[attr-defined]
        place = f"{destination.address} ({', '.join(destination.models)})"
        print(f"model: {place} gets {what}. --model offline sends nothing", file=sys.stderr)
    return replace(services, send="always")


def library_services(library: "Library", encoder: "Encoder | None") -> dict[str, Any]:
    """Return the fields of Services that depend on the library; its features are computed when first needed."""
    from pipeline.assets.appearance.features import asset_features
    from pipeline.matching import LibraryFeatures

    folder = user_cache_folder()
    features = Lazy(lambda: LibraryFeatures.compute(library, folder, encoder=encoder))

    def compute_features() -> Iterable[object]:
        return iter(()) if features.is_ready else asset_features(library, folder, encoder)

    return {"library": library, "features": features, "compute_features": compute_features}


def model_settings(settings: Settings) -> "ModelSettings":
    """Return the settings of the model. Unusable ones of a workspace count as none; the Models panel reports them."""
    from pipeline.models import ModelError, ModelSettings, open_model
    from pipeline.planner import PlannerModel

    if settings.model == "kept":
        try:
            saved = ModelSettings.from_environment(settings.workspace)
            open_model(saved, PlannerModel)
            return saved
        except ModelError:
            return ModelSettings()
    chosen = service_from_name(settings.model)
    if settings.model == "openai":
        del chosen["model"]  # the environment names it
    return ModelSettings.from_environment(None, timeout=settings.timeout, **chosen)


def warm_up(services: "Services") -> None:
    """Compute what the first project would wait for.

    These are the process that opens files, the library's features, a slow import, the sandbox's confinement, and the
    process that places objects.
    Errors are ignored. They occur again, and are reported, where the result is needed.
    """
    from pipeline.frame.confined_reader import start_reader

    with contextlib.suppress(Exception):
        start_reader()
    with contextlib.suppress(Exception):
        services.features()
    with contextlib.suppress(Exception):
        import open3d  # noqa: F401
    with contextlib.suppress(Exception):
        _ = services.sandbox.protection
    if services.ahead:
        services.ahead.warm_up()


def open_segmenter(settings: Settings) -> "Segmenter":
    """Make the segmenter that the settings name. Raises SegmentationError if something is missing."""
    from studio.services.segmenter_catalogue import create_segmenter

    return create_segmenter(settings.segmenter, settings)
