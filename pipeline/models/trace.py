"""Writes down every question a model is asked, and how it went: trace.jsonl, a start and an end line for each.

Attribute names are OpenInference's (https://github.com/Arize-ai/openinference/tree/main/spec), flattened, so that its
viewers can read the file (docs/models.md says how). Beside them: `event`, `stage`, `about`, `question` (what the record
is searched by), `asked` (the same with model and prompt: what the memo is searched by), `attempts` (every reply before
the last with what was wrong with it). Pictures lie beside the file in trace/, each once. A call in flight when the
studio dies leaves its start line. Keys and headers never get here.
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

from pipeline.models.budget import Purse, spent
from pipeline.models.live import Flight, Live, current, enter, leave
from pipeline.models.model import STAGE_OF, Model, ModelError, Question, Wish, label_of, reads, sees, source_of
from pipeline.models.pictures import jpeg

_writing = threading.Lock()
_purses: dict[Path, Purse] = {}


def note(**attributes: Any) -> None:
    """Called by a model while it answers: adds to the trace of that answer; "__" in a name stands for "."."""
    flight = current()
    if flight is not None:
        flight.notes.update({name.replace("__", "."): value for name, value in attributes.items()})


def fingerprint(question: Question) -> str:
    """The same for the same question, pictures included, whoever is asked."""
    told: list[Any] = [question.kind, dict(question.data)]
    if question.attempt or question.wording:
        told += [question.attempt, question.wording]
    digest = hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode())
    if question.shows:
        digest.update(question.shows.encode())
        return digest.hexdigest()[:32]
    for picture in question.pictures:
        digest.update(repr(picture.shape).encode() + picture.tobytes())
    return digest.hexdigest()[:32]


class Traced:
    """A model that writes down what it is asked and answers, and asks another nothing that is on record already."""

    def __init__(
        self,
        model: Model,
        path: Path,
        live: Live | None = None,
        wishes: Mapping[tuple[str, str], Wish] | None = None,
    ):
        """`live` tells of calls in flight and stops them; `wishes` are a person's, by the question's kind and about."""
        self.name = model.name
        self.sees, self.reads = sees(model), reads(model)
        self.label = label_of(model)
        self._model, self._path, self._live = model, path, live or Live()
        self._wishes = wishes or {}
        self._session = uuid.uuid4().hex
        self._known: dict[str, str] = {}
        self.purse = Purse()
        if hasattr(model, "memo_key"):  # answers from outside: dear, so nothing is asked twice
            lines = list(read(path))
            self._known = {end["asked"]: end["output.value"] for end in lines if _is_answer(end)}
            self.purse = _purse(path, getattr(model, "ceiling_usd", None), lines)

    def source_of(self, kind: str) -> str:
        return source_of(self._model, kind)

    def wish(self, kind: str, about: str) -> Wish:
        """What a person wants of that question."""
        return self._wishes.get((kind, about), Wish())

    def ask(self, question: Question) -> BaseModel:
        """What the model answers, or answered before to the very same question. Raises ModelError, Stopped."""
        wish = self.wish(question.kind, question.about)
        question = replace(question, attempt=wish.attempt, wording=wish.wording) if wish.attempt else question
        asked = self._model.memo_key(question) if hasattr(self._model, "memo_key") else ""  # type: ignore[attr-defined]
        if (known := self._recall(asked, question)) is not None:
            return known
        with self._span(question, asked) as (flight, end):
            answer = self._model.ask(question)
            end |= {"status_code": "OK", "output.value": answer.model_dump_json()}
            flight.notes.setdefault("output.mime_type", "application/json")
        if asked:
            self._known[asked] = answer.model_dump_json()
        return answer

    def _recall(self, asked: str, question: Question) -> BaseModel | None:
        try:
            return question.answer.model_validate_json(self._known[asked]) if asked in self._known else None
        except ValidationError:
            return None

    @contextlib.contextmanager
    def _span(self, question: Question, asked: str) -> Iterator[tuple[Flight, dict[str, Any]]]:
        """The start line, and the end line whatever happens in between."""
        span, end = uuid.uuid4().hex[:16], {}  # an OpenTelemetry span's id is as long
        self._write(span, "start", start_time=_now(), **self._start(question, asked))
        flight = self._live.begin(span, question)
        flight.purse = self.purse
        token = enter(flight)
        try:
            flight.check()
            yield flight, end
        except BaseException as error:
            end |= {"status_code": "ERROR", "status_message": f"{type(error).__name__}: {error}"}
            end |= {"output.value": error.raw if isinstance(error, ModelError) else ""}
            flight.notes["output.mime_type"] = "text/plain"
            raise
        finally:
            leave(token)
            self._live.end(flight)
            self._write(span, "end", end_time=_now(), asked=asked, **flight.notes, **end)

    def _start(self, question: Question, asked: str) -> dict[str, Any]:
        name = self.source_of(question.kind)
        return {
            "name": question.kind,
            "stage": STAGE_OF.get(question.kind, ""),
            "about": question.about,
            "question": fingerprint(question),
            "asked": asked,
            "openinference.span.kind": "CHAIN" if name == "rules" else "LLM",
            "llm.model_name": name,
            "input.value": json.dumps(dict(question.data), default=str, ensure_ascii=False),
            "input.mime_type": "application/json",
            "input.pictures": self._keep(question),
            **self._shown(question),
        }

    def _shown(self, question: Question) -> dict[str, Any]:
        """The request as the model will send it; nothing where it cannot be made, which asking will tell."""
        with contextlib.suppress(ModelError, AttributeError):
            return self._model.shown(question)  # type: ignore[attr-defined]
        return {}

    def _keep(self, question: Question) -> list[str]:
        """Writes the pictures beside the trace, each once; returns their names, relative to the trace."""
        names = []
        for picture in question.pictures:
            data = jpeg(picture)
            file = self._path.parent / "trace" / f"{hashlib.sha256(data).hexdigest()[:16]}.jpg"
            file.parent.mkdir(parents=True, exist_ok=True)
            if not file.exists():
                file.write_bytes(data)
            names.append(f"trace/{file.name}")
        return names

    def _write(self, span: str, event: str, **attributes: Any) -> None:
        line = {"event": event, "session.id": self._session, "trace_id": self._session, "span_id": span, **attributes}
        with _writing:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a trace that can be read; a crash may have cut the last one off."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            with contextlib.suppress(ValueError):
                said = json.loads(line)
                if isinstance(said, dict):
                    yield said


def _purse(path: Path, ceiling_usd: float | None, lines: list[dict[str, Any]]) -> Purse:
    """The one purse of a project in this process, so that whatever asks at the same time pays out of it."""
    with _writing:
        place = path.resolve()
        if place not in _purses:
            _purses[place] = Purse(spent_usd=spent(lines))
        _purses[place].ceiling_usd = ceiling_usd
        return _purses[place]


def _is_answer(line: dict[str, Any]) -> bool:
    return line.get("event") == "end" and line.get("status_code") == "OK" and bool(line.get("asked"))


def _now() -> str:
    return datetime.now(UTC).isoformat()
