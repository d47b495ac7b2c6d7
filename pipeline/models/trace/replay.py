"""Answer from a recorded trace: demonstrations without a key, regression tests without a network."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from pipeline.models.model import ModelError, Question
from pipeline.models.trace.recorder import annotate, fingerprint, read_trace

VISION_KINDS = {
    "describe_segment", "find_missed", "describe_asset", "choose_match", "match_image", "match_image_text",
    "match_paper",
}  # fmt: skip
"""Kinds that only a model with vision is asked."""


@dataclass(frozen=True)
class RecordedAnswer:
    """Recorded outcome of one question."""

    ok: bool
    text: str
    """The answer as JSON, or the raw reply of a failure."""
    failure: str = ""
    """Error message of a failure."""


class ReplayModel:
    """Model that gives each question its recorded answers in order, repeating the last one.

    A question that only failed fails again with the same message, so that the run takes the same course.
    """

    def __init__(self, trace: Path):
        """Raises ModelError if the trace cannot be read or contains no finished question."""
        starts: dict[str, dict[str, Any]] = {}
        self._answers: dict[str, list[RecordedAnswer]] = defaultdict(list)
        self._names: dict[str, str] = {}
        try:
            for line in read_trace(trace):
                if line["event"] == "start":
                    starts[line["span_id"]] = line
                elif line["event"] == "end":
                    start, recorded = starts[line["span_id"]], _recorded(line)
                    self._names[start["name"]] = str(start["llm.model_name"])
                    if recorded:
                        self._answers[start["question"]].append(recorded)
        except (OSError, KeyError, TypeError) as error:
            raise ModelError(
                f"{trace} is not a trace ({type(error).__name__}); choose the trace.jsonl of a run."
            ) from error
        if not self._answers:
            raise ModelError(f"{trace} contains no answer; choose the trace.jsonl of a run with a model.")
        self.name = ", ".join(dict.fromkeys(self._names.values()))
        self.label = f"replay of {self.name}"
        """Name in the app."""
        self.kinds = frozenset(self._names)
        """Kinds of questions that were asked."""
        self.has_vision = bool(VISION_KINDS & self.kinds)

    def source_of(self, kind: str) -> str:
        """Return the name of the model that gave the recorded answer."""
        return self._names.get(kind, self.name)

    def ask(self, question: Question) -> BaseModel:
        """Return the recorded answer. Raises ModelError if there is none or it failed."""
        annotate(replayed=True)
        recorded = self._answers.get(fingerprint(question))
        if not recorded:
            subject = f" about {question.subject}" if question.subject else ""
            raise ModelError(f"The question {question.kind}{subject} is not in the trace; choose another model.")
        successes = [answer for answer in recorded if answer.ok]
        answer = successes[0] if successes else recorded[0]
        if len(successes or recorded) > 1:
            recorded.remove(answer)
        if not answer.ok:
            raise ModelError(answer.failure, answer.text)
        try:
            return question.answer_type.model_validate_json(answer.text)
        except ValidationError as error:
            message = f"The recorded answer to {question.kind} no longer fits its schema; record the trace again."
            raise ModelError(message, answer.text) from error


def _recorded(end: dict[str, Any]) -> RecordedAnswer | None:
    """Return the outcome of an end line; None if the user cancelled the stage."""
    output = str(end.get("output.value") or "")
    if end["status_code"] == "OK":
        return RecordedAnswer(True, output)
    error_type, _, message = str(end.get("status_message") or "").partition(": ")
    return RecordedAnswer(False, output, message) if error_type in ("ModelError", "CallCancelled") else None
