"""The external services that the stages use, which of them produces each result, and what is sent to them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline import plugins
from pipeline.assets.appearance.encoder import Encoder
from pipeline.assets.image_to_3d import ImageTo3D
from pipeline.assets.library import Library
from pipeline.matching import MODEL_MATCHERS, LibraryFeatures, MatcherName, usable_matcher
from pipeline.models import AnswerOverride, Model, ModelError, has_vision, label_of
from pipeline.models.destination import SendPolicy, destination_of
from pipeline.models.in_flight import InFlightCalls
from pipeline.models.model import has_language
from pipeline.models.trace.recorder import TracingModel
from pipeline.planner import PlannerModel
from pipeline.project import Project, Stage
from pipeline.router import Mode, RunningRound
from pipeline.run.placing_ahead import PlacingAhead
from pipeline.segmentation import Segmenter
from pipeline.simulation.sandbox.sandbox import Sandbox

WHAT_IS_SENT = (
    "the photograph with its objects outlined and numbered, a crop of each object, pictures, names and descriptions of "
    "library assets, names, colours, sizes and places of the objects, the task and the programs, and solved "
    "programs of other projects in the workspace as examples"
)
"""Everything of a project that questions to a model contain. Depth, file names and the project's name are not sent."""


@dataclass(frozen=True)
class Services:
    """Everything external that the stages use, chosen at start-up."""

    segmenter: Segmenter
    model: Model
    library: Library
    sandbox: Sandbox
    features: Callable[[], LibraryFeatures]
    """Returns the features of the library. Called when first needed, because computing them takes a while."""
    encoder: Encoder | None = None
    """Image encoder of the matcher; None to match by shape, size and colours only."""
    matcher: MatcherName = "all"
    compute_features: Callable[[], Iterator[object]] | None = None
    """Computes `features` asset by asset, so that progress can be shown and the work stopped."""
    mode: Mode = "route"
    seeds: tuple[int, ...] = tuple(range(8))
    robot: str = "gripper"
    """Robot of the solution stage, unless the user decided on another for the project."""
    camera: str = ""
    """Name of the camera that films are drawn from; the photograph's, or one beside it, if empty."""
    send: SendPolicy = "ask"
    """Whether a project may be sent to a model's server on another machine."""
    on_rollout: Callable[[RunningRound], None] | None = None
    """Called as soon as a layout of a round has been rolled out, from another thread."""
    live: InFlightCalls | None = None
    """Model calls in flight, to show and to stop them."""
    image_to_3d: ImageTo3D | None = None
    """Image-to-3D service; None if none is configured."""
    workspace: Path | None = None
    """Folder of all projects; programs that solved their task are kept there as examples. None to keep none."""
    asset_descriptions: Path | None = None
    """File of the kept descriptions of assets; None for the assets' own captions only."""
    cards_folder: Path | None = None
    """Folder that caches rendered views of assets between projects."""
    ahead: PlacingAhead | None = None
    """Places objects on a second core while others are matched; None to place them one after the other."""


def project_robot(project: Project, services: Services) -> str:
    """Return the robot that the user decided on last for this project, else the one chosen at start-up."""
    decided = project.active_decisions("robot")
    return decided[-1].data["name"] if decided else services.robot


def project_matcher(project: Project, services: Services) -> MatcherName:
    """Return the matcher that the user decided on last for this project, else the one chosen at start-up.

    "all" if that matcher lacks its model or its encoder.
    """
    decided = project.active_decisions("matcher")
    wanted = decided[-1].data["name"] if decided else services.matcher
    return usable_matcher(wanted, services.model, services.encoder)[0]


def producer_name(stage: Stage, services: Services, robot: str = "gripper", matcher: MatcherName = "all") -> str:
    """Return the name of what produces the result of this stage, as project.json records it."""
    model = label_of(services.model)
    vision = f", {model}" if has_vision(services.model) else ""
    chooser = vision if matcher == "all" else f", {model}" * (matcher in MODEL_MATCHERS)
    return {
        "frame": "measured",
        "segments": services.segmenter.name,
        "descriptions": f"measured, {model}" if has_language(services.model) else "measured",
        "matches": f"library {services.library.digest}, {matcher_label(matcher, services)}{chooser}",
        "scene": "measured",
        "task": model,
        "rounds": f"{model}, {services.mode}",
        "solution": "oracle" if robot == "gripper" else f"oracle, {robot}",
    }[stage]


def without_model(stage: Stage, producer: str) -> str:
    """Return the name of what produces a stage's result, as `producer_name` returns it, without the model in it."""
    parts = producer.split(", ")
    kept = {"descriptions": parts[:1], "matches": parts[:2], "task": [], "rounds": parts[-1:]}
    return ", ".join(kept.get(stage, parts))


def matcher_label(matcher: MatcherName, services: Services) -> str:
    """Return the names of matcher and encoder, which are part of the key that matches are cached under."""
    entry = plugins.entries("matchers").get(matcher)
    if entry is not None and not plugins.is_built_in(entry) and entry.dist is not None:
        return f"{matcher} of {entry.dist.name} {entry.dist.version}"
    return f"{matcher} by {services.encoder.name if services.encoder else 'measures'}"


def allowed_services(project: Project, services: Services) -> Services:
    """Return the services, with the offline rules in place of a model that the project may not be sent to."""
    allowed = may_send(project, services.model, services.send)
    return services if allowed else replace(services, model=PlannerModel())


def tracing_model(
    project: Project,
    services: Services,
    live: InFlightCalls | None = None,
    overrides: Mapping[tuple[str, str], AnswerOverride] | None = None,
) -> TracingModel:
    """Return the model with every call recorded in the project's trace and the user's overrides applied.

    `overrides` replace those that the project has. Raises ModelError if the project may not be sent to the model.
    """
    if not may_send(project, services.model, services.send):
        destination = destination_of(services.model)
        raise ModelError(
            f"Nothing was sent to {destination and destination.address}: it is not allowed for this project."
        )
    if overrides is None:
        overrides = project.question_overrides()
    return TracingModel(services.model, project.folder / "trace.jsonl", live or services.live, overrides)


def may_send(project: Project, model: Model, policy: SendPolicy) -> bool | None:
    """Whether questions about a project may go to the model's server; None if that is undecided.

    A model inside the studio needs no decision.
    """
    destination = destination_of(model)
    return destination is None or may_send_to(project, destination.address, destination.is_this_machine, policy)


def may_send_to(project: Project, address: str, is_this_machine: bool, policy: SendPolicy) -> bool | None:
    """Whether a project may go to the server at an address (scheme, host and port); None if that is undecided.

    The user's decision about that server comes before the policy "allow". A server on this machine needs no decision.
    """
    if policy == "always":
        return True
    if policy == "never" and not is_this_machine:
        return False
    decided = [one.data["allow"] for one in project.active_decisions("send") if one.data["server"] == address]
    if decided:
        return bool(decided[-1])
    return True if policy == "allow" or is_this_machine else None
