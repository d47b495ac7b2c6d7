"""The outside world, chosen once, and who makes a project's results with it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.assets.encoder import Encoder
from pipeline.assets.library import Library
from pipeline.assets.provider import Provider
from pipeline.matching import ASKING, Features, Matcher, usable
from pipeline.models import Model, label_of, sees
from pipeline.models.live import Live
from pipeline.models.trace import Traced
from pipeline.project import Project, Stage
from pipeline.router import Mode
from pipeline.segmentation import Segmenter
from pipeline.simulation.sandbox import Sandbox
from pipeline.solving import Robot


@dataclass(frozen=True)
class Services:
    """The outside world, chosen once at start-up."""

    segmenter: Segmenter
    model: Model
    library: Library
    sandbox: Sandbox
    features: Callable[[], Features]
    """What the matcher knows of the library's looks; called when first needed, since a new library takes a while."""
    encoder: Encoder | None = None
    """What sees pictures for the matcher; None: form, size and colours decide alone."""
    matcher: Matcher = "all"
    learn: Callable[[], Iterator[object]] | None = None
    """Computes `features` asset by asset, so that it can be shown and stopped."""
    mode: Mode = "route"
    seeds: tuple[int, ...] = tuple(range(8))
    robot: Robot = "gripper"
    """Who does the task in the solve check, where a person decided nothing else for the project."""
    live: Live | None = None
    """Where calls in flight can be watched and stopped."""
    image_to_3d: Provider | None = None
    """A service that makes a model of a thing's picture, where one is set up."""
    cards: Path | None = None
    """Folder where drawn views of assets are kept between projects."""


def robot_of(project: Project, services: Services) -> Robot:
    """Who does this project's task: what a person decided last, else what was chosen at start-up."""
    decided = project.decided("robot")
    return decided[-1].data["name"] if decided else services.robot


def matcher_of(project: Project, services: Services) -> Matcher:
    """Which matcher decides: what a person decided last, else what was chosen at start-up; all evidence where that one
    lacks its model or its encoder."""
    decided = project.decided("matcher")
    wanted = decided[-1].data["name"] if decided else services.matcher
    return usable(wanted, services.model, services.encoder)[0]


def maker(stage: Stage, services: Services, robot: Robot = "gripper", matcher: Matcher = "all") -> str:
    """Name of what makes this stage's result."""
    model = label_of(services.model)
    looks = f", {model}" if sees(services.model) else ""
    asked = looks if matcher == "all" else f", {model}" * (matcher in ASKING)
    return {
        "frame": "measured",
        "segments": services.segmenter.name,
        "descriptions": f"measured{looks}",
        "matches": f"library {services.library.digest}, {matcher_label(matcher, services)}{asked}",
        "scene": "measured",
        "task": model,
        "rounds": f"{model}, {services.mode}",
        "solution": "oracle" if robot == "gripper" else f"oracle, {robot}",
    }[stage]


def matcher_label(matcher: Matcher, services: Services) -> str:
    """The matcher with what it sees by: part of the key under which matches are kept."""
    return f"{matcher} by {services.encoder.name if services.encoder else 'measures'}"


def traced(project: Project, services: Services, live: Live | None = None) -> Traced:
    """The model, every call of which is written to the project's trace."""
    return Traced(services.model, project.folder / "trace.jsonl", live or services.live, project.wishes())
