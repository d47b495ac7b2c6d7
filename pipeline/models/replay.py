"""Answers from a recorded trace: demonstrations without a key, regression tests without a network."""

import json
from collections import defaultdict
from pathlib import Path

from pydantic import BaseModel, ValidationError

from pipeline.models.model import ModelError, Question
from pipeline.models.trace import fingerprint


class ReplayModel:
    """Gives the very same question its recorded answer; asked again, the next one recorded, and at last the last."""

    def __init__(self, trace: Path):
        """Raises ModelError where the trace cannot be read or holds no answer."""
        questions: dict[str, str] = {}
        models: dict[str, None] = {}
        self._answers: dict[str, list[str]] = defaultdict(list)
        try:
            for line in map(json.loads, filter(str.strip, trace.read_text("utf-8").splitlines())):
                if line["event"] == "start":
                    questions[line["span_id"]] = line["question"]
                    models[line["llm.model_name"]] = None
                elif line["status_code"] == "OK":
                    self._answers[questions[line["span_id"]]].append(line["output.value"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{trace} is no trace ({type(error).__name__}); give a trace.jsonl of a run.") from error
        if not self._answers:
            raise ModelError(f"{trace.name} holds no answer; record one by running with another model first.")
        self.name = f"replay of {', '.join(models)}"

    def ask(self, question: Question) -> BaseModel:
        answers = self._answers.get(fingerprint(question))
        if not answers:
            about = f" about {question.about}" if question.about else ""
            raise ModelError(f"The question {question.kind}{about} is not in the record; ask another model.")
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        try:
            return question.answer.model_validate_json(answer)
        except ValidationError as error:
            raise ModelError(
                f"The recorded answer to {question.kind} no longer fits; record it again.", answer
            ) from error
