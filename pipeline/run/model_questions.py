"""Questions about a project to a model with vision: what each object is, and which asset it is.

All objects are asked about concurrently. An object on which the model fails stays as measured and is marked so.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TypeVar

from pipeline.assets.asset_captions import KIND as DESCRIBE_ASSET
from pipeline.assets.asset_captions import caption_library
from pipeline.assets.asset_descriptions import kept_descriptions
from pipeline.description import Description
from pipeline.description.model_description import KIND as DESCRIBE
from pipeline.description.model_description import describe_with_model, object_label
from pipeline.description.physical_properties import KIND as WEIGH
from pipeline.description.physical_properties import PhysicalEstimate, estimate_physical_properties
from pipeline.errors import without_folders
from pipeline.matching import Match, ModelMatcherName, Query
from pipeline.matching.model import QUESTION_KIND as CHOOSE
from pipeline.matching.model import QUESTION_KINDS, choose_with_model, correspond
from pipeline.models import ModelError, StageCancelled, source_of
from pipeline.models.in_flight import InFlightCalls, ask_concurrently
from pipeline.models.model import can_answer, has_language
from pipeline.models.trace.recorder import TracingModel
from pipeline.project import Project, Stage
from pipeline.run.progress import Progress
from pipeline.run.services import Services, tracing_model
from pipeline.segmentation import Segment

T = TypeVar("T", Description, Match, "Estimated")


def describe_objects(
    project: Project, services: Services, segments: Sequence[Segment], measured: Sequence[Description]
) -> Generator[Progress, None, list[Description]]:
    """Return the model's descriptions of the segments, or the measured ones where it fails or the user wants those.

    `measured` has one description for each segment, in their order. Raises StageCancelled.
    """
    calls = services.live or InFlightCalls()
    model = tracing_model(project, services, calls)

    def ask(index: int) -> Description:
        return describe_with_model(project.frame, segments[index], measured[index], model, segments)

    indices = [
        index
        for index, segment in enumerate(segments)
        if not model.override_for(DESCRIBE, object_label(segment.id)).use_measured
    ]
    source = source_of(model, DESCRIBE)
    yield Progress("descriptions", f"asking {source} what {len(indices)} objects are", 0, len(indices))
    answers = yield from _ask_all("descriptions", ask, indices, calls, source, lambda _, one: one.caption)
    return [answers.get(index, one) for index, one in enumerate(measured)]


@dataclass(frozen=True)
class Estimated:
    """What a model says of an object's mass, friction and length; None, with the reason, if it gave no answer."""

    estimate: PhysicalEstimate | None
    failure: str = ""


def weigh_objects(
    project: Project, services: Services, described: Sequence[Description]
) -> Generator[Progress, None, list[Description]]:
    """Return the descriptions with what the model says of each object's mass, friction and length.

    Where it says nothing they have none, so that the twin has its own guess. Raises StageCancelled.
    """
    if not has_language(services.model):
        return list(described)
    source = source_of(services.model, WEIGH)
    if not can_answer(services.model, WEIGH):
        yield Progress("descriptions", f"masses and frictions are the twin's own guess: {source} was not asked then")
        return list(described)
    calls = services.live or InFlightCalls()
    model = tracing_model(project, services, calls)

    def ask(index: int) -> Estimated:
        one = described[index]
        shape = one.attributes.shape
        about = {
            "name": one.name, "caption": one.caption, "kind": shape, "size": one.attributes.size,
            "hollow": shape == "bowl",
        }  # fmt: skip
        try:
            return Estimated(estimate_physical_properties(model, about, object_label(one.segment_id)))
        except StageCancelled:
            raise
        except ModelError as error:
            return Estimated(None, without_folders(str(error)))

    indices = [
        index
        for index, one in enumerate(described)
        if one.is_object and not model.override_for(WEIGH, object_label(one.segment_id)).use_measured
    ]
    yield Progress("descriptions", f"asking {source} what {len(indices)} objects weigh", 0, len(indices))

    def text(index: int, one: Estimated) -> str:
        grams = [1000 * edge for edge in one.estimate.mass_range] if one.estimate else []
        return f"{described[index].name}: {grams[0]:.3g} to {grams[1]:.3g} g" if grams else described[index].name

    answers = yield from _ask_all("descriptions", ask, indices, calls, source, text)
    found = {index: one.estimate for index, one in answers.items()}
    return [replace(one, physical=found.get(index)) for index, one in enumerate(described)]


def choose_assets(
    project: Project,
    services: Services,
    objects: Sequence[Description],
    measured: Sequence[Match],
    matcher: ModelMatcherName | None = None,
) -> Generator[Progress, None, list[Match]]:
    """Return the model's match of each object, or the measured one where it fails or a person chose.

    `measured` has one match for each object, in their order. Without a `matcher` the model is asked for a verdict on
    the best measured candidates. Raises StageCancelled.
    """
    observation, segments = project.observation, {segment.id: segment for segment in project.segments() or ()}
    library, cards_folder = services.library, services.cards_folder
    calls = services.live or InFlightCalls()
    model = tracing_model(project, services, calls)
    kind = QUESTION_KINDS[matcher] if matcher else CHOOSE
    captions: dict[str, str] = {}
    if matcher and matcher != "image":
        captions = yield from _asset_captions(services, model, calls)

    def ask(index: int) -> Match:
        described = objects[index]
        query = Query(observation, segments[described.segment_id], described)
        if matcher:
            return correspond(matcher, model, query, measured[index], library, captions, cards_folder)
        return choose_with_model(model, query, measured[index], library, cards_folder)

    def is_asked(index: int) -> bool:
        override = model.override_for(kind, object_label(objects[index].segment_id))
        return measured[index].source != "human" and not override.use_measured

    indices = [index for index in range(len(objects)) if is_asked(index)]
    source = source_of(model, kind)
    yield Progress("matches", f"asking {source} which assets {len(indices)} objects are", 0, len(indices))

    def text(index: int, one: Match) -> str:
        return f"{objects[index].name}: {one.asset_id or 'reconstructed'}"

    answers = yield from _ask_all("matches", ask, indices, calls, source, text)
    return [answers.get(index, one) for index, one in enumerate(measured)]


def _asset_captions(
    services: Services, model: TracingModel, calls: InFlightCalls
) -> Generator[Progress, None, dict[str, str]]:
    """Return the caption of each asset by id; the model describes assets without one."""
    captions: dict[str, str] = {}
    kept = kept_descriptions(services.library, source_of(model, DESCRIBE_ASSET), services.asset_descriptions)
    for done, total in caption_library(services.library, model, calls, captions, services.cards_folder, kept):
        yield Progress("matches", f"asking {model.name} to describe {total} assets", done, total)
    return captions


def _ask_all(
    stage: Stage,
    ask: Callable[[int], T],
    indices: Sequence[int],
    calls: InFlightCalls,
    source: str,
    text: Callable[[int, T], str],
) -> Generator[Progress, None, dict[int, T]]:
    """Ask about all indices concurrently and return the answers by index.

    The reason of a failure is reported once only: an unreachable server fails for all objects.
    """
    answers: dict[int, T] = {}
    reported: set[str] = set()
    with closing(ask_concurrently(ask, indices, calls)) as completed:
        for done, (position, answer) in enumerate(completed, 1):
            index = indices[position]
            answers[index] = answer
            message = text(index, answer)
            if answer.failure:
                reason = "" if answer.failure in reported else f": {answer.failure}"
                reported.add(answer.failure)
                stays = "a guess" if isinstance(answer, Estimated) else "as measured"
                message = f"{message} ({stays}; no answer from {source}{reason})"
            shown = None if isinstance(answer, Estimated) else answer
            yield Progress(stage, message, done, len(indices), shown)
    return answers
