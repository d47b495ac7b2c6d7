"""A model whose every question has one answer, recorded in one trace: what a resumable, replayable evaluation asks."""

import threading
import time
from collections import defaultdict
from pathlib import Path

from pydantic import BaseModel

from pipeline.models import Model, ModelError, Question, StageCancelled, has_language, has_vision, label_of, source_of
from pipeline.models.budget import CeilingReached
from pipeline.models.trace.recorder import TracingModel, fingerprint, read_trace

MAX_SILENT = 3
"""Questions in a row that get no reply at all, after which the server counts as one that cannot be reached."""


class OneAnswer:
    """Wrapper around a model. The same question gets the same answer, or the same failure, also after a kill.

    Once `stopped` says why, every further question fails: at the ceiling, when the time is over, or when the server
    cannot be reached.
    """

    def __init__(self, model: Model, trace: Path, seconds: float):
        self.name, self.label = model.name, label_of(model)
        self.has_vision, self.has_language = has_vision(model), has_language(model)
        self.picture_kinds = getattr(model, "picture_kinds", None)
        self.stopped = ""
        self._model, self._end, self._silent = TracingModel(model, trace), time.monotonic() + seconds, 0
        self._minutes, self._guard = round(seconds / 60), threading.Lock()
        self._locks: dict[str, threading.Lock] = defaultdict(threading.Lock)
        self._failures = _unusable_answers(trace)
        self._answers: dict[str, str] = {}

    def source_of(self, kind: str) -> str:
        """Return the name of the model that answers this kind of question."""
        return source_of(self._model, kind)

    def ask(self, question: Question) -> BaseModel:
        """Return the model's answer, the first one to this question. Raises ModelError."""
        key = fingerprint(question)
        with self._guard:
            lock = self._locks[key]
        with lock:
            if key in self._answers:
                return question.answer_type.model_validate_json(self._answers[key])
            if key in self._failures:
                raise ModelError(*self._failures[key])
            if not self.stopped and time.monotonic() > self._end:
                self.stopped = f"{self._minutes} minutes are over"
            if self.stopped:
                raise ModelError(self.stopped)
            answer = self._asked(question, key)
            self._answers[key] = answer.model_dump_json()
            return answer

    def _asked(self, question: Question, key: str) -> BaseModel:
        try:
            answer = self._model.ask(question)
        except StageCancelled:
            raise
        except CeilingReached as error:
            self.stopped = str(error)
            raise
        except ModelError as error:
            self._failures[key] = str(error), error.raw
            self._silent = 0 if error.raw else self._silent + 1
            if self._silent >= MAX_SILENT:
                self.stopped = str(error)
            raise
        self._silent = 0
        return answer


def _unusable_answers(trace: Path) -> dict[str, tuple[str, str]]:
    """Return message and reply of each question whose every answer could not be used, by its fingerprint."""
    asked: dict[str, str] = {}
    failures: dict[str, tuple[str, str]] = {}
    for line in read_trace(trace):
        if line.get("event") == "start":
            asked[str(line.get("span_id"))] = str(line.get("question"))
        elif (key := asked.get(str(line.get("span_id")))) is not None:
            kind, _, message = str(line.get("status_message") or "").partition(": ")
            failures.pop(key, None)
            if kind == "ModelError" and line.get("output.value"):
                failures[key] = message, str(line["output.value"])
    return failures
