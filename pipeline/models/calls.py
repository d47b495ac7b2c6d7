"""What models were asked and what they answered: trace.jsonl read back, one Call for its two lines.

A call with a start line only is in flight, or was when the studio died. Attribute names are OpenInference's
(https://arize-ai.github.io/openinference/spec/attributes/semantic-conventions.html).
"""

import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pipeline.models.model import STAGE_OF

MESSAGES = "llm.input_messages."


@dataclass(frozen=True)
class Message:
    """One message of a prompt."""

    role: str
    text: str
    pictures: tuple[str, ...] = ()
    """Addresses: data URLs, or files beside the trace."""


@dataclass(frozen=True, eq=False)
class Call:
    """One question and how it went."""

    id: str
    attributes: Mapping[str, Any]
    """All that its lines say, by OpenInference's names."""
    ended: bool
    """False while it is in flight, and for ever where the studio died meanwhile."""

    @property
    def kind(self) -> str:
        """Names the prompt: "describe_segment", "route" ..."""
        return self._text("name")

    @property
    def about(self) -> str:
        """The object or round it is about; empty where it is about the scene."""
        return self._text("about")

    @property
    def stage(self) -> str:
        return self._text("stage") or STAGE_OF.get(self.kind, "other")

    @property
    def model(self) -> str:
        return self._text("llm.model_name")

    @property
    def question(self) -> str:
        """The question's fingerprint: the same for the same question."""
        return self._text("question")

    @property
    def offline(self) -> bool:
        """Answered without a language model: it has no tokens and no cost."""
        return self._text("openinference.span.kind") != "LLM"

    @property
    def failed(self) -> bool:
        return self.ended and self._text("status_code") != "OK"

    @property
    def error(self) -> str:
        """Why it failed, in one line; empty where it did not."""
        told = " ".join(self._text("status_message").split()) if self.failed else ""
        return told.removeprefix("ModelError: ")

    @property
    def began(self) -> float | None:
        """In seconds since 1970; None where the trace does not tell."""
        return _seconds(self.attributes.get("start_time"))

    @property
    def seconds(self) -> float | None:
        """How long it took; None while it has not ended."""
        start, end = self.began, _seconds(self.attributes.get("end_time"))
        return None if start is None or end is None else max(0.0, end - start)

    @property
    def messages(self) -> tuple[Message, ...]:
        """What was sent, in order; empty where the model was not asked in words."""
        numbers = {int(n) for n in self._numbers(MESSAGES)}
        return tuple(self._message(f"{MESSAGES}{n}.message.") for n in sorted(numbers))

    @property
    def pictures(self) -> tuple[str, ...]:
        """What was shown with the question: data URLs, or files beside the trace, which the record may not hold."""
        kept = self.attributes.get("input.pictures")
        beside = [one for one in kept if isinstance(one, str)] if isinstance(kept, list) else []
        return tuple(beside or (one for message in self.messages for one in message.pictures))

    @property
    def attempts(self) -> tuple[Mapping[str, Any], ...]:
        """Replies that could not be used: each {"output", "problem"}, what was said and what was wrong with it."""
        kept = self.attributes.get("attempts")
        return tuple(one for one in kept if isinstance(one, dict)) if isinstance(kept, list) else ()

    @property
    def asked(self) -> str:
        """The data the question was asked with, as JSON."""
        return self._text("input.value")

    @property
    def parsed(self) -> str:
        """The answer that fitted, as JSON; empty where none did."""
        return self._text("output.value") if self.ended and not self.failed else ""

    @property
    def raw(self) -> str:
        """The last reply as it came."""
        said, value = self._text("llm.output_messages.0.message.content"), self._text("output.value")
        return (value or said) if self.failed else (said or value)

    @property
    def prompt_version(self) -> str:
        return self._text("llm.prompt_template.version")

    @property
    def tokens(self) -> tuple[int | None, int | None]:
        """Of the prompt and of the answer, as the server counted; None where it did not say."""
        return self._count("llm.token_count.prompt"), self._count("llm.token_count.completion")

    @property
    def cost(self) -> float | None:
        """In US dollars; None where the price is not known."""
        value = self.attributes.get("llm.cost.total")
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def _text(self, name: str) -> str:
        value = self.attributes.get(name)
        return value if isinstance(value, str) else ""

    def _count(self, name: str) -> int | None:
        value = self.attributes.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def _numbers(self, start: str) -> Iterator[str]:
        """The indices that follow `start` in the names of attributes."""
        for name in self.attributes:
            if name.startswith(start) and (number := name[len(start) :].partition(".")[0]).isdecimal():
                yield number

    def _message(self, start: str) -> Message:
        texts, pictures = [self._text(f"{start}content")], []
        inner = f"{start}contents."
        for number in sorted({int(n) for n in self._numbers(inner)}):
            texts.append(self._text(f"{inner}{number}.message_content.text"))
            pictures.append(self._text(f"{inner}{number}.message_content.image.image.url"))
        return Message(
            self._text(f"{start}role") or "user", "\n".join(filter(None, texts)), tuple(filter(None, pictures))
        )


class CallLog:
    """The calls of one trace, each reading going on where the last one ended. May be used from any thread."""

    def __init__(self, path: Path):
        self.path = path
        self._lock = threading.Lock()
        self._forget()

    def read(self) -> tuple[Call, ...]:
        """All calls so far, in the order they were asked. Lines that cannot be read are left out."""
        with self._lock:
            for line in self._lines():
                self._add(line)
            return tuple(self._calls.values())

    def _lines(self) -> Iterator[dict[str, Any]]:
        size = self.path.stat().st_size if self.path.exists() else 0
        if size < self._at:
            self._forget()
        if size == self._at:
            return
        with self.path.open("rb") as file:
            file.seek(self._at)
            for line in file:
                if not line.endswith(b"\n"):  # still being written, or cut off by a crash
                    return
                self._at += len(line)
                try:
                    said = json.loads(line)
                except ValueError:
                    continue
                if isinstance(said, dict) and isinstance(said.get("span_id"), str):
                    yield said

    def _add(self, said: dict[str, Any]) -> None:
        id = said["span_id"]
        before = self._calls.get(id)
        if before is None and said.get("event") == "end":
            return
        known = before.attributes if before else {}
        self._calls[id] = Call(id, {**known, **said}, said.get("event") == "end")

    def _forget(self) -> None:
        self._at, self._calls = 0, dict[str, Call]()


@dataclass(frozen=True)
class Total:
    """A sum over those who told; how many did not. Nobody told: unknown, which is not zero."""

    sum: float = 0.0
    told: int = 0
    untold: int = 0


@dataclass(frozen=True)
class Totals:
    """What some calls came to. Calls that needed no language model have no tokens and no cost to be told."""

    calls: int
    failed: int
    tokens: Total
    cost: Total
    """US dollars."""
    seconds: Total


def totals(calls: Iterable[Call]) -> Totals:
    """All calls together; tokens and cost of those to models only."""
    calls = tuple(calls)
    asked = [call for call in calls if not call.offline]
    return Totals(
        calls=len(calls),
        failed=sum(call.failed for call in calls),
        tokens=_total(None if None in call.tokens else sum(filter(None, call.tokens)) for call in asked),
        cost=_total(call.cost for call in asked),
        seconds=_total(call.seconds for call in calls),
    )


def grouped(calls: Iterable[Call]) -> dict[str, dict[str, list[Call]]]:
    """Calls by stage, then by the object or round they are about, each in the order they were asked."""
    stages: dict[str, dict[str, list[Call]]] = {stage: {} for stage in dict.fromkeys(STAGE_OF.values())}
    for call in calls:
        stages.setdefault(call.stage, {}).setdefault(call.about, []).append(call)
    return {stage: groups for stage, groups in stages.items() if groups}


def _total(values: Iterable[float | None]) -> Total:
    values = tuple(values)
    told = [value for value in values if value is not None]
    return Total(float(sum(told)), len(told), len(values) - len(told))


def _seconds(text: object) -> float | None:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return None
