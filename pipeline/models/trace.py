"""Writes down every question a model is asked, and how it went: trace.jsonl, two lines a call.

Attribute names are OpenInference's (https://github.com/Arize-ai/openinference/tree/main/spec), so that its viewers
can read the file. A call in flight when the studio dies leaves its start line. Keys and headers never get here.
"""

import contextvars
import hashlib
import json
import threading
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from pipeline.models.model import Model, ModelError, Question

_notes: contextvars.ContextVar[dict[str, Any] | None] = contextvars.ContextVar("notes", default=None)
_writing = threading.Lock()


def note(**attributes: Any) -> None:
    """Called by a model while it answers: adds to the trace of that answer; "__" in a name stands for "."."""
    notes = _notes.get()
    if notes is not None:
        notes.update({name.replace("__", "."): value for name, value in attributes.items()})


def fingerprint(question: Question) -> str:
    """The same for the same question, pictures included."""
    told = json.dumps([question.kind, dict(question.data)], sort_keys=True, default=str)
    digest = hashlib.sha256(told.encode())
    for picture in question.pictures:
        digest.update(repr(picture.shape).encode() + picture.tobytes())
    return digest.hexdigest()[:32]


class Traced:
    """A model that writes down what it is asked and answers."""

    def __init__(self, model: Model, path: Path):
        self.name = model.name
        self._model = model
        self._path = path
        self._session = uuid.uuid4().hex

    def ask(self, question: Question) -> BaseModel:
        span = uuid.uuid4().hex[:16]
        self._write(
            span,
            "start",
            start_time=_now(),
            name=question.kind,
            about=question.about,
            question=fingerprint(question),
            **{
                "openinference.span.kind": "CHAIN" if self.name == "rules" else "LLM",
                "llm.model_name": self.name,
                "input.value": json.dumps(dict(question.data), default=str, ensure_ascii=False),
                "input.mime_type": "application/json",
                "input.pictures": len(question.pictures),
            },
        )
        notes: dict[str, Any] = {}
        token = _notes.set(notes)
        try:
            answer = self._model.ask(question)
        except BaseException as error:
            raw = error.raw if isinstance(error, ModelError) else ""
            told = f"{type(error).__name__}: {error}"
            end = {
                "status_code": "ERROR",
                "status_message": told,
                "output.value": raw,
                "output.mime_type": "text/plain",
            }
            self._write(span, "end", end_time=_now(), **notes, **end)
            raise
        finally:
            _notes.reset(token)
        end = {"status_code": "OK", "output.value": answer.model_dump_json(), "output.mime_type": "application/json"}
        self._write(span, "end", end_time=_now(), **notes, **end)
        return answer

    def _write(self, span: str, event: str, **attributes: Any) -> None:
        line = {"event": event, "session.id": self._session, "span_id": span, **attributes}
        with _writing:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")


def _now() -> str:
    return datetime.now(UTC).isoformat()
