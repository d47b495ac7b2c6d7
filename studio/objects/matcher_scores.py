"""Scores of each matcher on a person's labelled frames, computed in the background, one table at a time."""

import base64
import json
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.assets.appearance.features import asset_features
from pipeline.assets.library import Library
from pipeline.evaluation.matcher_evaluation import (
    QUESTION_KIND_BY_MATCHER,
    TITLES,
    MatcherAccuracy,
    MatcherEvaluation,
    MatcherResult,
    MatcherTable,
    read_truth,
    score_matchers,
    table_matchers,
)
from pipeline.evaluation.matcher_table import calls_text, caption, to_csv, to_json
from pipeline.matching import MatcherName, all_matchers, why_unavailable
from pipeline.models import StageCancelled
from pipeline.models.budget import Estimate, estimate_questions
from pipeline.models.destination import destination_of
from pipeline.run import Services
from pipeline.simulation.sandbox.sandbox import RunCancelled
from pipeline.store import user_cache_folder
from studio.services.open_services import library_services
from studio.texts import t
from studio.web.errors import RequestError
from studio.web.jobs import Job, Listing

MAX_PATH_LENGTH = 4096


@dataclass(frozen=True, eq=False)
class ScoringRequest:
    """What a person wants to score."""

    frames: list[Path]
    """Folders of labelled frames."""
    truth: dict[str, Any]
    """The right asset of each object, by frame."""
    matchers: list[MatcherName]
    libraries: list[Path]
    """Searched instead of the library in use, unless empty."""
    use_given_masks: bool
    """Whether the masks come with the frames and are not segmented."""


class MatcherScoring:
    """The table of scores that is being computed, or the last one. May be used from any thread."""

    def __init__(self, services: Callable[[], Services]):
        self._services = services
        self._job: Job[MatcherTable] | None = None
        """Its result is as much of the table as is finished."""

    def plan(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return {plan}, a sentence on what will be scored and what a model will be asked. Raises StudioError."""
        request, services = _parse_request(message), self._services()
        objects = sum(len(request.truth[folder.name]) for folder in request.frames)
        kinds = {
            QUESTION_KIND_BY_MATCHER[matcher]: objects
            for matcher in table_matchers(services.model, request.matchers)
            if matcher in QUESTION_KIND_BY_MATCHER
        }
        count = len(request.frames)
        plan = t(
            "{n} labelled frame, {objects} objects.|{n} labelled frames, {objects} objects.", n=count, objects=objects
        )
        if kinds:
            kinds |= {"describe_segment": objects} if getattr(services.model, "has_vision", False) else {}
            settings = getattr(services.model, "settings", None)
            estimate = estimate_questions(settings, kinds) if settings else None
            plan += f" {_cost_sentence(services.model.name, sum(kinds.values()), estimate)}"
            if destination := destination_of(services.model):
                plan += t(" Pictures and names of these objects are sent to {address}.", address=destination.address)
        return {"plan": plan}

    def start(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Start to score in place of what runs, and return the state. Raises StudioError."""
        request, services = _parse_request(message), self._services()
        for matcher in request.matchers:
            if reason := why_unavailable(matcher, services.model, services.encoder):
                raise RequestError(f"{TITLES[matcher]} {reason}.")
        self.stop()
        score, listing = (
            lambda job: _score(job, services, request),
            Listing("scoring", lambda: t("Evaluation of matchers")),
        )
        self._job = Job[MatcherTable]("scoring", score, message="opening the library", listing=listing).start()
        return self.state()

    def state(self) -> dict[str, Any]:
        job = self._job
        if job is None:
            return {"running": False, "table": None}
        message, error = ("", job.message) if job.state == "failed" else (job.message, "")
        table = None if job.result is None else _table(job.result)
        progress = {"job": job.id, "running": job.is_active, "done": job.done, "of": job.of}
        return progress | {"message": message, "error": error, "table": table}

    def stop(self) -> None:
        """Stop the run; the finished part of its table stays."""
        if self._job:
            self._job.stop()

    def download(self, form: object) -> dict[str, Any]:
        """Return the table as a file {name, data}, data in base64. Raises RequestError if there is none."""
        table = self._job.result if self._job else None
        if table is None:
            raise RequestError("There is no table yet; score the matchers first.")
        text = to_csv(table) if form == "csv" else json.dumps(to_json(table), indent=1)
        name = f"matchers.{'csv' if form == 'csv' else 'json'}"
        return {"name": name, "data": base64.b64encode(text.encode()).decode()}


def _score(job: Job[MatcherTable], services: Services, request: ScoringRequest) -> None:
    try:
        with tempfile.TemporaryDirectory(prefix="grs-") as folder:
            _fill_table(job, services, request, Path(folder))
        job.message = "done"
    except (StageCancelled, RunCancelled):
        done = job.result.frames if job.result else 0
        rest = "; the table is of those" if done else ""
        job.message = f"stopped after {done} of {len(request.frames)} frames{rest}"


def _fill_table(job: Job[MatcherTable], services: Services, request: ScoringRequest, folder: Path) -> None:
    library, features = services.library, services.features
    if request.libraries:
        library = Library.open(request.libraries)
        features = library_services(library, services.encoder)["features"]
    for done, _ in enumerate(asset_features(library, user_cache_folder(), services.encoder), 1):
        _report(job, done, len(library), "rendering views of the library's assets")
    evaluation = MatcherEvaluation(
        request.frames, request.truth, library, services.segmenter, services.model, features, services.encoder,
        folder, request.use_given_masks, job.stop_event, services.asset_descriptions,
    )  # fmt: skip
    with closing(score_matchers(evaluation, request.matchers)) as steps:  # type: ignore[type-var]
        for step in steps:
            job.result = step.table or job.result
            _report(job, step.done, step.total, step.message)


def _report(job: Job[MatcherTable], done: int, total: int, message: str) -> None:
    """Note the progress. Raises RunCancelled if a person stopped the run."""
    job.done, job.of, job.message = done, total, message
    if job.stopping:
        raise RunCancelled("stopped by a person")


def _parse_request(message: Mapping[str, Any]) -> ScoringRequest:
    """Read {frames, truth, matchers, libraries, masks}; paths are lines of text. Raises StudioError."""
    frames, truth = _paths(message.get("frames")), _paths(message.get("truth"))
    if not frames:
        raise RequestError("Name the folder of your labelled frames.")
    if not frames[0].is_dir():
        raise RequestError(f"{frames[0]} is not a folder on the machine that the studio runs on.")
    folders, assets = read_truth(frames[0], truth[0] if truth else frames[0] / "assets.json")
    names = message.get("matchers")
    matchers: list[MatcherName] = [one.name for one in all_matchers() if isinstance(names, list) and one.name in names]
    if not matchers:
        raise RequestError("Choose at least one matcher.")
    return ScoringRequest(folders, assets, matchers, _paths(message.get("libraries")), message.get("masks") == "true")


def _paths(text: object) -> list[Path]:
    lines = [line.strip() for line in text.splitlines()] if isinstance(text, str) else []
    return [Path(line).expanduser() for line in lines if line and len(line) < MAX_PATH_LENGTH and "\0" not in line]


def _cost_sentence(model: str, calls: int, estimate: Estimate | None) -> str:
    if estimate is None:
        return t("About {calls} questions to {model}.", calls=calls, model=model)
    return f"{estimate.sentence.partition(', ')[2].capitalize()} ({model})."


HANDLERS: dict[str, Callable[[MatcherScoring, dict], dict[str, Any]]] = {
    "plan": lambda scoring, request: scoring.plan(request),
    "start": lambda scoring, request: scoring.start(request),
    "state": lambda scoring, request: scoring.state(),
    "download": lambda scoring, request: scoring.download(request.get("form")),
}


def _table(table: MatcherTable) -> dict[str, Any]:
    return {"head": caption(table), "lines": [_line(one) for one in table.lines]}


def _line(one: MatcherResult) -> dict[str, Any]:
    no_match_kept = one.exact.f1.null_kept if one.exact else None
    return {
        "matcher": one.matcher, "title": one.title, "unavailable": one.unavailable, "exact": _figures(one.exact),
        "category": _figures(one.category), "no_match_kept": _number(no_match_kept), "seconds": round(one.seconds, 2),
        "model": "" if one.matcher not in QUESTION_KIND_BY_MATCHER else calls_text(one),
    }  # fmt: skip


def _figures(one: MatcherAccuracy | None) -> dict[str, float | None] | None:
    if one is None:
        return None
    numbers = {"f1": one.f1.f1, "low": one.f1.low, "high": one.f1.high, "first": one.first, "five": one.five}
    return {name: _number(value) for name, value in numbers.items()}


def _number(value: float | None) -> float | None:
    return None if value is None or value != value else round(value, 4)
