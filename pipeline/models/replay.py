"""Answers from a recorded trace: demonstrations without a key, regression tests without a network."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from pipeline.models.model import ModelError, Question
from pipeline.models.trace import fingerprint, note, read

LOOKING = {"describe_segment", "describe_asset", "choose_match", "match_image", "match_image_text"}
"""Kinds that only a model which sees pictures is asked."""


@dataclass(frozen=True)
class Recorded:
    """How one question went."""

    ok: bool
    text: str
    """The answer as JSON, or the raw reply of a failure."""
    failure: str = ""


class ReplayModel:
    """Gives the very same question its recorded answer; asked again, the next one recorded, and at last the last.

    A question that only failed fails again, with the same words, so that what came after it is the same too.
    """

    def __init__(self, trace: Path):
        """Raises ModelError where the trace cannot be read or holds no question that came to an end."""
        starts: dict[str, dict[str, Any]] = {}
        self._went: dict[str, list[Recorded]] = defaultdict(list)
        self._names: dict[str, str] = {}
        try:
            for line in read(trace):
                if line["event"] == "start":
                    starts[line["span_id"]] = line
                elif line["event"] == "end":
                    start, went = starts[line["span_id"]], _recorded(line)
                    self._names[start["name"]] = start["llm.model_name"]
                    if went:
                        self._went[start["question"]].append(went)
        except (OSError, KeyError, TypeError) as error:
            raise ModelError(f"{trace} is no trace ({type(error).__name__}); give a trace.jsonl of a run.") from error
        if not self._went:
            raise ModelError(f"{trace} holds no answer; give a trace.jsonl of a run with another model.")
        self.name = ", ".join(dict.fromkeys(self._names.values()))
        self.label = f"replay of {self.name}"
        """What the app calls it: the answers are that model's, the replay is ours."""
        self.sees = bool(LOOKING & set(self._names))

    def source_of(self, kind: str) -> str:
        """Whose recorded answer it is."""
        return self._names.get(kind, self.name)

    def ask(self, question: Question) -> BaseModel:
        note(replayed=True)
        went = self._went.get(fingerprint(question))
        if not went:
            about = f" about {question.about}" if question.about else ""
            raise ModelError(f"The question {question.kind}{about} is not in the record; ask another model.")
        answers = [one for one in went if one.ok]
        one = answers[0] if answers else went[0]
        if len(answers or went) > 1:
            went.remove(one)
        if not one.ok:
            raise ModelError(one.failure, one.text)
        try:
            return question.answer.model_validate_json(one.text)
        except ValidationError as error:
            text = f"The recorded answer to {question.kind} no longer fits; record it again."
            raise ModelError(text, one.text) from error


def _recorded(end: dict[str, Any]) -> Recorded | None:
    """None for what a person stopped: it tells nothing."""
    said = str(end.get("output.value") or "")
    if end["status_code"] == "OK":
        return Recorded(True, said)
    kind, _, why = str(end.get("status_message") or "").partition(": ")
    return Recorded(False, said, why) if kind in ("ModelError", "CallCancelled") else None
