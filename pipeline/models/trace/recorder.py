"""Record every question to a model in trace.jsonl: a start and an end line for each.

Attribute names are OpenInference's (https://github.com/Arize-ai/openinference/tree/main/spec), flattened, so that its
viewers can read the file (see docs/models.md). Added to them: `event`, `stage`, `about`, `question` (fingerprint, the
key for a replay), `asked` (the same with model and prompt, the key of the cache), and `attempts` (unusable replies with
the problem of each). Pictures are stored once each beside the file in trace/. A call that is in flight when the studio
stops has only a start line. Keys and headers are never recorded.
"""

import contextlib
import hashlib
import json
import threading
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from pipeline.errors import without_folders
from pipeline.models.budget import Budget, spent_usd
from pipeline.models.images import encode_jpeg
from pipeline.models.in_flight import InFlightCall, InFlightCalls, current_call, enter_call, leave_call
from pipeline.models.model import (
    STAGE_OF,
    AnswerOverride,
    Model,
    ModelError,
    Question,
    has_language,
    has_vision,
    label_of,
    source_of,
)
from pipeline.store import append_lines, parse_json, write_bytes

_guard = threading.Lock()
_budgets: dict[Path, Budget] = {}

SCHEMA = 1
"""Version of a line, its key "schema"."""
_BEGIN = '{"event": "'
_writing = threading.Lock()


def annotate(**attributes: Any) -> None:
    """Add attributes to the end line of the current call; "__" in a name stands for ".". Called by models."""
    call = current_call()
    if call is not None:
        call.notes.update({name.replace("__", "."): value for name, value in attributes.items()})


def fingerprint(question: Question) -> str:
    """Return a hash of the question, pictures included, that does not depend on the model."""
    key: list[Any] = [question.kind, dict(question.data)]
    if question.attempt or question.prompt_text:
        key += [question.attempt, question.prompt_text]
    digest = hashlib.sha256(json.dumps(key, sort_keys=True, default=str).encode())
    if question.picture_key:
        digest.update(question.picture_key.encode())
        return digest.hexdigest()[:32]
    for picture in question.pictures:
        digest.update(repr(picture.shape).encode() + picture.tobytes())
    return digest.hexdigest()[:32]


class TracingModel:
    """Wrapper around a model that records its calls and answers repeated questions from the trace."""

    def __init__(
        self,
        model: Model,
        path: Path,
        calls: InFlightCalls | None = None,
        overrides: Mapping[tuple[str, str], AnswerOverride] | None = None,
    ):
        """`calls` are for watching and cancelling; `overrides` are the user's, by kind and subject of the question."""
        self.name = model.name
        self.has_vision, self.has_language = has_vision(model), has_language(model)
        self.picture_kinds = getattr(model, "picture_kinds", None)
        self.kinds = getattr(model, "kinds", None)
        self.label = label_of(model)
        self._model, self._path, self._calls = model, path, calls or InFlightCalls()
        self._overrides = overrides or {}
        self._session = uuid.uuid4().hex
        self._answers: dict[str, str] = {}
        self.budget = Budget()
        if hasattr(model, "cache_key"):  # such answers cost money or time, so none is asked for twice
            lines = list(read_trace(path))
            self._answers = {end["asked"]: end["output.value"] for end in lines if _is_answer(end)}
            self.budget = _budget(path, getattr(model, "ceiling_usd", None), lines)

    def source_of(self, kind: str) -> str:
        """Return the name of the model that answers this kind of question."""
        return source_of(self._model, kind)

    def override_for(self, kind: str, subject: str) -> AnswerOverride:
        """Return the user's override for a question."""
        return self._overrides.get((kind, subject), AnswerOverride())

    def ask(self, question: Question) -> BaseModel:
        """Return the model's answer, or its recorded answer to the same question. Raises ModelError, StageCancelled."""
        override = self.override_for(question.kind, question.subject)
        if override.attempt:
            question = replace(question, attempt=override.attempt, prompt_text=override.prompt_text)
        key = self._model.cache_key(question) if hasattr(self._model, "cache_key") else ""  # type: ignore[attr-defined]
        if (cached := self._cached(key, question)) is not None:
            return cached
        with self._span(question, key) as (call, end):
            answer = self._model.ask(question)
            end |= {"status_code": "OK", "output.value": answer.model_dump_json()}
            call.notes.setdefault("output.mime_type", "application/json")
        if key:
            self._answers[key] = answer.model_dump_json()
        return answer

    def _cached(self, key: str, question: Question) -> BaseModel | None:
        try:
            return question.answer_type.model_validate_json(self._answers[key]) if key in self._answers else None
        except ValidationError:
            return None

    @contextlib.contextmanager
    def _span(self, question: Question, key: str) -> Iterator[tuple[InFlightCall, dict[str, Any]]]:
        """Write the start line, and the end line whatever happens in between."""
        span_id, end = uuid.uuid4().hex[:16], {}  # the length of an OpenTelemetry span id
        self._write(span_id, "start", start_time=_now(), **self._start(question, key))
        call = self._calls.begin(span_id, question)
        call.budget = self.budget
        token = enter_call(call)
        try:
            call.check()
            yield call, end
        except BaseException as error:
            message = without_folders(str(error), self._path.parent)
            end |= {"status_code": "ERROR", "status_message": f"{type(error).__name__}: {message}"}
            end |= {"output.value": without_folders(error.raw) if isinstance(error, ModelError) else ""}
            call.notes["output.mime_type"] = "text/plain"
            raise
        finally:
            leave_call(token)
            self._calls.end(call)
            self._write(span_id, "end", end_time=_now(), asked=key, **call.notes, **end)

    def _start(self, question: Question, key: str) -> dict[str, Any]:
        name = self.source_of(question.kind)
        return {
            "name": question.kind,
            "stage": STAGE_OF.get(question.kind, ""),
            "about": question.subject,
            "question": fingerprint(question),
            "asked": key,
            "openinference.span.kind": "CHAIN" if name == "rules" else "LLM",
            "llm.model_name": name,
            "input.value": json.dumps(dict(question.data), default=str, ensure_ascii=False),
            "input.mime_type": "application/json",
            "input.pictures": self._save_pictures(question),
            **self._request_attributes(question),
        }

    def _request_attributes(self, question: Question) -> dict[str, Any]:
        """Return the model's attributes of the request; empty if it cannot be made, which `ask` will report."""
        with contextlib.suppress(ModelError, AttributeError):
            return self._model.trace_attributes(question)  # type: ignore[attr-defined]
        return {}

    def _save_pictures(self, question: Question) -> list[str]:
        """Save the pictures beside the trace, each once; return their paths relative to the trace."""
        names = []
        for picture in question.pictures:
            data = encode_jpeg(picture)
            file = self._path.parent / "trace" / f"{hashlib.sha256(data).hexdigest()[:16]}.jpg"
            if not file.exists():
                write_bytes(file, data)
            names.append(f"trace/{file.name}")
        return names

    def _write(self, span_id: str, event: str, **attributes: Any) -> None:
        ids = {"session.id": self._session, "trace_id": self._session, "span_id": span_id}
        _append_trace_line(self._path, event, ids | attributes)


def read_trace(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the readable lines of a trace; a crash may have truncated the last one."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if (span := parse_trace_line(line)) is not None:
                yield span


def _budget(path: Path, ceiling_usd: float | None, lines: list[dict[str, Any]]) -> Budget:
    """Return the budget of a project, shared by all models that trace to the same file in this process."""
    with _guard:
        key = path.resolve()
        if key not in _budgets:
            _budgets[key] = Budget(spent_usd=spent_usd(lines))
        _budgets[key].ceiling_usd = ceiling_usd
        return _budgets[key]


def _is_answer(line: dict[str, Any]) -> bool:
    return line.get("event") == "end" and line.get("status_code") == "OK" and bool(line.get("asked"))


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _append_trace_line(path: Path, event: str, attributes: Mapping[str, Any]) -> None:
    """Append one line; an incomplete last line is removed first. Raises StoreError."""
    with _writing:
        path.parent.mkdir(parents=True, exist_ok=True)
        line = {"event": event, "schema": SCHEMA, **attributes}
        append_lines(path, [line], "The record of a question to the model", default=str)


def parse_trace_line(line: str) -> dict[str, Any] | None:
    """Return the attributes of a line; None if there are none.

    Versions before 0.2 appended to a line that a crash had cut off: what follows the cut is complete.
    """
    for start in dict.fromkeys((0, max(0, line.rfind(_BEGIN)))):
        try:
            value = parse_json(line[start:])
        except ValueError:
            continue
        return value if isinstance(value, dict) else None
    return None
