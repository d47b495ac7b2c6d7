"""Evaluation of the matchers on labelled frames: table 1 of GRS (Zook et al. 2024)."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from PIL import Image

from pipeline.assets import Library
from pipeline.assets.appearance.encoder import Encoder
from pipeline.assets.asset_captions import KIND as DESCRIBE_ASSET
from pipeline.assets.asset_captions import caption_library
from pipeline.assets.asset_descriptions import kept_descriptions
from pipeline.description import Description, describe_all
from pipeline.description.model_description import describe_with_model
from pipeline.evaluation.match_scores import (
    Criterion,
    EvaluationError,
    F1Score,
    MatchOutcome,
    frame_outcomes,
    recall_at,
    score,
)
from pipeline.frame import Observation, find_support, load
from pipeline.matching import (
    MATCHERS,
    MAX_CANDIDATES,
    IndexedLibrary,
    LibraryFeatures,
    Match,
    MatcherName,
    ModelMatcherName,
    Query,
    match,
    why_unavailable,
)
from pipeline.matching.model import (
    QUESTION_KIND,
    QUESTION_KINDS,
    SHORTLIST_SIZE,
    choose_with_model,
    correspond,
    is_denied,
    keep_if_matched,
)
from pipeline.models import Model, has_language, has_vision, label_of, source_of
from pipeline.models.in_flight import InFlightCalls, StopFlag, ask_concurrently
from pipeline.models.trace.call_log import CallLog, totals
from pipeline.models.trace.recorder import TracingModel
from pipeline.segmentation import Segment, Segmenter
from pipeline.store import parse_json

VERDICT = "all+model"
"""All evidence, then the model's verdict on the best candidates: what the app does with a vision model."""
TITLES = {matcher.name: matcher.title for matcher in MATCHERS} | {VERDICT: "All evidence, then the model"}
QUESTION_KIND_BY_MATCHER = {**QUESTION_KINDS, VERDICT: QUESTION_KIND}


@dataclass(frozen=True, eq=False)
class MatcherEvaluation:
    """Frames, labels and services of an evaluation."""

    frames: Sequence[Path]
    """Folders of frames, each with truth/masks.png."""
    truth: Mapping[str, Sequence[Mapping[str, Any]]]
    """Labels of the objects by frame: {"id", "exact": [asset ids], "category": [...], "either": [...]}."""
    library: Library
    segmenter: Segmenter
    model: Model
    features: Callable[[], LibraryFeatures]
    encoder: Encoder | None
    folder: Path
    """Folder for the trace of the calls and for rendered views of assets."""
    true_masks: bool = False
    """Whether to use the labelled masks instead of the segmenter's."""
    stop: StopFlag | None = None
    asset_descriptions: Path | None = None
    """File of the kept descriptions of assets; None for the assets' own captions only."""


@dataclass(frozen=True)
class MatcherAccuracy:
    """How often a matcher was right, by one criterion."""

    f1: F1Score
    first: float
    """Share of the objects with a right asset whose first candidate is right."""
    five: float
    """The same with one of the first five candidates."""


@dataclass(frozen=True)
class MatcherResult:
    """One row of the table."""

    matcher: str
    title: str
    unavailable: str = ""
    """Why the matcher was not evaluated; empty if it was."""
    exact: MatcherAccuracy | None = None
    category: MatcherAccuracy | None = None
    seconds: float = 0.0
    """Mean time for an object, including the model's answers."""
    calls: int = 0
    failed: int = 0
    """Questions without a usable answer, which count as "no match"."""
    usd: float | None = None
    """None if unknown, or if no model was asked."""


@dataclass(frozen=True)
class MatcherTable:
    """Table 1: the results of all matchers, and what they were evaluated on."""

    frames: int
    objects: int
    assets: int
    encoder: str
    model: str
    masks: str
    """"true", or the name of the segmenter."""
    lines: tuple[MatcherResult, ...]
    rows: Mapping[str, tuple[MatchOutcome, ...]] = field(default_factory=dict)
    """Outcome of each object, by matcher."""


@dataclass(frozen=True)
class EvaluationProgress:
    """One step of an evaluation."""

    done: int
    total: int
    message: str
    table: MatcherTable | None = None
    """Results over the frames evaluated so far."""


def read_truth(frames: Path, truth: Path) -> tuple[list[Path], dict[str, list[dict[str, Any]]]]:
    """Return the labelled frames of a folder, and the labels by frame. Raises EvaluationError."""
    try:
        labels = dict(parse_json(truth.read_text(encoding="utf-8"))["frames"])
        labels = {str(name): [dict(one) | {"id": int(one["id"])} for one in rows] for name, rows in labels.items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = error.strerror if isinstance(error, OSError) else type(error).__name__
        raise EvaluationError(
            f"{truth} cannot be read as truth ({reason}); "
            'it takes {"frames": {name: [{"id", "exact", "category"}]}}'
        ) from None
    folders = [f for f in sorted(frames.glob("*")) if f.name in labels and (f / "truth" / "masks.png").is_file()]
    if not folders:
        raise EvaluationError(f"{frames} holds no frame with truth/masks.png that {truth.name} names")
    return folders, labels


def table_matchers(model: Model, matchers: Sequence[MatcherName] = ()) -> list[str]:
    """Return the rows of the table: these matchers or all, and with a vision model its verdict."""
    rows: list[str] = list(matchers or [matcher.name for matcher in MATCHERS])
    return [*rows, VERDICT] if "all" in rows and has_vision(model) else rows


def score_matchers(evaluation: MatcherEvaluation, matchers: Sequence[MatcherName] = ()) -> Iterator[EvaluationProgress]:
    """Evaluate frame by frame, with the table so far. Closing the generator cancels every call.

    Raises the StudioErrors of frames and labels that cannot be read.
    """
    names = table_matchers(evaluation.model, matchers)
    reasons = {m: why_unavailable(m, evaluation.model, evaluation.encoder) for m in names if m != VERDICT}  # type: ignore[arg-type]
    usable = [name for name in names if not reasons.get(name)]
    calls, captions = InFlightCalls(evaluation.stop), dict[str, str]()
    model = TracingModel(evaluation.model, evaluation.folder / "trace.jsonl", calls)
    asker = _Asker(model, calls, captions)
    outcomes: dict[str, list[MatchOutcome]] = {name: [] for name in usable}
    seconds = dict.fromkeys(usable, 0.0)
    count, total = 0, len(evaluation.frames) * len(usable)
    if {"text", "image+text", "paper"} & set(usable):
        describer = source_of(evaluation.model, DESCRIBE_ASSET)
        kept = kept_descriptions(evaluation.library, describer, evaluation.asset_descriptions)
        cards = evaluation.folder / "cards"
        for done, missing in caption_library(evaluation.library, model, calls, captions, cards, kept):
            yield EvaluationProgress(done, missing, f"asking {model.name} to describe the assets")
    for number, folder in enumerate(evaluation.frames):
        frame = _read_frame(evaluation, folder)
        if has_vision(evaluation.model):
            message = f"{folder.name}: asking {model.name} what the objects are"
            yield EvaluationProgress(number * len(usable), total, message)
            frame = _described_by_model(evaluation, frame, asker)
        for column, matcher in enumerate(usable):
            message = f"{folder.name}: {TITLES[matcher].lower()}"
            yield EvaluationProgress(number * len(usable) + column, total, message)
            start = time.perf_counter()
            matches = _matches(evaluation, frame, matcher, asker)
            seconds[matcher] += time.perf_counter() - start
            masks = {id: segment.mask for id, segment in frame.segments.items()}
            labels = evaluation.truth[frame.name]
            outcomes[matcher] += frame_outcomes(frame.name, matches, masks, frame.labels, labels, frame.complete)
        count += len(frame.described)
        means = {matcher: spent / max(count, 1) for matcher, spent in seconds.items()}
        table = _table(evaluation, number + 1, names, reasons, outcomes, means)
        yield EvaluationProgress((number + 1) * len(usable), total, f"{folder.name} is done", table)


@dataclass(frozen=True, eq=False)
class _Asker:
    """The model, its calls in flight, and the assets' captions by id."""

    model: TracingModel
    calls: InFlightCalls
    captions: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class _EvaluatedFrame:
    """A labelled frame with its segments and their descriptions."""

    name: str
    observation: Observation
    labels: np.ndarray
    """Number of the object at each pixel, of shape (H, W), int; 0 for none."""
    complete: bool
    """Whether every object is labelled."""
    segments: Mapping[int, Segment]
    described: tuple[Description, ...]


def _read_frame(evaluation: MatcherEvaluation, folder: Path) -> _EvaluatedFrame:
    """Read a frame and its labels, segment it, and measure its objects. Raises EvaluationError."""
    frame = load(folder)
    observation = Observation(frame, find_support(frame))
    try:
        with Image.open(folder / "truth" / "masks.png") as image:
            labels = np.array(image).astype(int)
        complete = bool(parse_json((folder / "truth" / "truth.json").read_text(encoding="utf-8"))["complete"])
    except (OSError, ValueError, KeyError, TypeError):
        raise EvaluationError(f"the truth of {folder} cannot be read; it takes masks.png and truth.json") from None
    if labels.shape != frame.depth.shape:
        raise EvaluationError(f"the truth of {folder} differs in size from its picture; label this picture again")
    if evaluation.true_masks:
        segments = tuple(Segment(int(k), labels == k) for k in np.unique(labels[labels > 0]))
    else:
        segments = evaluation.segmenter.open(frame).automatic()
    described = tuple(one for one in describe_all(frame, observation.support, segments) if one.is_object)
    by_id = {segment.id: segment for segment in segments}
    return _EvaluatedFrame(folder.name, observation, labels, complete, by_id, described)


def _described_by_model(evaluation: MatcherEvaluation, frame: _EvaluatedFrame, asker: _Asker) -> _EvaluatedFrame:
    """Return the frame with its objects as the model describes them."""

    def ask(one: Description) -> Description:
        return describe_with_model(frame.observation.frame, frame.segments[one.segment_id], one, asker.model)

    described = list(frame.described)
    with closing(ask_concurrently(ask, frame.described, asker.calls)) as answers:
        for index, answer in answers:
            described[index] = answer
    for index, measured in enumerate(frame.described):
        if is_denied(measured, described[index]):
            query = Query(frame.observation, frame.segments[measured.segment_id], measured)
            described[index] = keep_if_matched(described[index], _measured_match(evaluation, query, "all"))
    return replace(frame, described=tuple(described))


def _matches(evaluation: MatcherEvaluation, frame: _EvaluatedFrame, matcher: str, asker: _Asker) -> list[Match]:
    """Return the matches of all objects. An object on which the model fails has no match."""
    queries = [
        Query(frame.observation, frame.segments[one.segment_id], one) for one in frame.described if one.is_object
    ]
    measured = [_measured_match(evaluation, query, matcher) for query in queries]
    if matcher not in QUESTION_KIND_BY_MATCHER:
        return measured
    library, cards_folder = evaluation.library, evaluation.folder / "cards"

    def ask(index: int) -> Match:
        if matcher == VERDICT:
            return choose_with_model(asker.model, queries[index], measured[index], library, cards_folder)
        name = cast(ModelMatcherName, matcher)
        return correspond(name, asker.model, queries[index], measured[index], library, asker.captions, cards_folder)

    matches = list(measured)
    with closing(ask_concurrently(ask, range(len(queries)), asker.calls)) as answers:
        for index, answer in answers:
            matches[index] = replace(answer, asset_id=None, candidates=()) if answer.failure else answer
    return matches


def _measured_match(evaluation: MatcherEvaluation, query: Query, matcher: str) -> Match:
    measured: MatcherName = "embedding" if matcher == "embedding" else "all"
    indexed = IndexedLibrary(evaluation.library, evaluation.features(), evaluation.encoder)
    return match(query, indexed, measured, SHORTLIST_SIZE.get(matcher, MAX_CANDIDATES))


def _table(
    evaluation: MatcherEvaluation,
    frames: int,
    names: Sequence[str],
    reasons: Mapping[str, str],
    outcomes: Mapping[str, list[MatchOutcome]],
    seconds: Mapping[str, float],
) -> MatcherTable:
    """Return the table over the first so many frames. `seconds` is the mean time for an object, by matcher."""
    calls = CallLog(evaluation.folder / "trace.jsonl").read()
    results = []
    for matcher in names:
        if matcher not in outcomes:
            results.append(MatcherResult(matcher, TITLES[matcher], reasons[matcher]))
            continue
        asked = totals(call for call in calls if call.kind == QUESTION_KIND_BY_MATCHER.get(matcher))
        usd = asked.cost.sum if asked.cost.reported and not asked.cost.missing else None
        exact, category = _accuracy(outcomes[matcher], "exact"), _accuracy(outcomes[matcher], "category")
        results.append(
            MatcherResult(
                matcher, TITLES[matcher], "", exact, category, seconds[matcher], asked.calls, asked.failed, usd
            )
        )
    return MatcherTable(
        frames,
        sum(len(evaluation.truth[folder.name]) for folder in evaluation.frames[:frames]),
        len(evaluation.library),
        evaluation.encoder.name if evaluation.encoder else "none",
        label_of(evaluation.model) if has_language(evaluation.model) else "",
        "true" if evaluation.true_masks else evaluation.segmenter.name,
        tuple(results),
        {matcher: tuple(found) for matcher, found in outcomes.items()},
    )


def _accuracy(outcomes: Sequence[MatchOutcome], criterion: Criterion) -> MatcherAccuracy:
    return MatcherAccuracy(
        score(outcomes, criterion), recall_at(outcomes, criterion, 1), recall_at(outcomes, criterion, 5)
    )
