"""Read trace.jsonl back: one Call for the start and end lines of each question.

A call with only a start line is in flight, or was when the studio stopped. Attribute names are OpenInference's
(https://arize-ai.github.io/openinference/spec/attributes/semantic-conventions.html).
"""

import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pipeline.models.model import STAGE_OF
from pipeline.models.settings import strip_credentials
from pipeline.models.trace.recorder import parse_trace_line
from pipeline.store import parse_json

MESSAGE_PREFIX = "llm.input_messages."
ERROR_TYPE = re.compile(r"^(ModelError|CallCancelled|StageCancelled): ")
"""Names of expected errors at the start of a status message."""

PROGRAM = '''\
# pip install openai, and set OPENAI_API_KEY ("none" for a server without keys)
import json
import os

from openai import OpenAI

client = OpenAI({server}api_key=os.environ.get("OPENAI_API_KEY", "none"))
request = json.loads(r"""
{request}
""")
for choice in client.chat.completions.create(**request).choices:
    print(choice.message.content)
'''


@dataclass(frozen=True)
class Message:
    """One message of a prompt."""

    role: str
    text: str
    pictures: tuple[str, ...] = ()
    """Data URLs, or files beside the trace."""


@dataclass(frozen=True, eq=False)
class Call:
    """One question and its outcome."""

    id: str
    attributes: Mapping[str, Any]
    """Attributes of its lines, by OpenInference name."""
    ended: bool
    """False while it is in flight, or if the studio stopped before it ended."""

    @property
    def kind(self) -> str:
        """Kind of question: "describe_segment", "route" ..."""
        return self._text("name")

    @property
    def subject(self) -> str:
        """Object or round that it is about; empty if it is about the scene."""
        return self._text("about")

    @property
    def stage(self) -> str:
        """Stage that asked, or "other"."""
        return self._text("stage") or STAGE_OF.get(self.kind, "other")

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._text("llm.model_name")

    @property
    def question(self) -> str:
        """Fingerprint of the question."""
        return self._text("question")

    @property
    def offline(self) -> bool:
        """Whether it was answered without a language model, so that it has no tokens and no cost."""
        return self._text("openinference.span.kind") != "LLM"

    @property
    def failed(self) -> bool:
        """Whether it ended with an error."""
        return self.ended and self._text("status_code") != "OK"

    @property
    def error(self) -> str:
        """Error message as one line; empty if it did not fail."""
        message = " ".join(self._text("status_message").split()) if self.failed else ""
        return ERROR_TYPE.sub("", message)

    @property
    def started_at(self) -> float | None:
        """Start time in seconds since 1970; None if the trace has none."""
        return _seconds(self.attributes.get("start_time"))

    @property
    def seconds(self) -> float | None:
        """Duration; None while it has not ended."""
        start, end = self.started_at, _seconds(self.attributes.get("end_time"))
        return None if start is None or end is None else max(0.0, end - start)

    @property
    def messages(self) -> tuple[Message, ...]:
        """Messages that were sent, in order; empty for a model without prompts."""
        numbers = {int(n) for n in self._numbers(MESSAGE_PREFIX)}
        return tuple(self._message(f"{MESSAGE_PREFIX}{n}.message.") for n in sorted(numbers))

    @property
    def pictures(self) -> tuple[str, ...]:
        """Pictures of the question: data URLs, or files beside the trace, which may be missing."""
        value = self.attributes.get("input.pictures")
        files = [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
        return tuple(files or (address for message in self.messages for address in message.pictures))

    @property
    def attempts(self) -> tuple[Mapping[str, Any], ...]:
        """Unusable replies: each {"output", "problem"}, the raw text and what was wrong with it."""
        value = self.attributes.get("attempts")
        return tuple(attempt for attempt in value if isinstance(attempt, dict)) if isinstance(value, list) else ()

    @property
    def input_json(self) -> str:
        """The question's data as JSON."""
        return self._text("input.value")

    @property
    def output_json(self) -> str:
        """The valid answer as JSON; empty if there is none."""
        return self._text("output.value") if self.ended and not self.failed else ""

    @property
    def raw_reply(self) -> str:
        """The last raw reply."""
        reply, value = self._text("llm.output_messages.0.message.content"), self._text("output.value")
        return (value or reply) if self.failed else (reply or value)

    @property
    def prompt_version(self) -> str:
        """Version of the prompt template."""
        return self._text("llm.prompt_template.version")

    @property
    def tokens(self) -> tuple[int | None, int | None]:
        """Prompt and answer tokens as reported by the server; None if not reported."""
        return self._count("llm.token_count.prompt"), self._count("llm.token_count.completion")

    @property
    def cost(self) -> float | None:
        """Cost in USD; None if the price is unknown."""
        value = self.attributes.get("llm.cost.total")
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def _text(self, name: str) -> str:
        value = self.attributes.get(name)
        return value if isinstance(value, str) else ""

    def _count(self, name: str) -> int | None:
        value = self.attributes.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def _numbers(self, start: str) -> Iterator[str]:
        """Yield the indices after `start` in the attribute names."""
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
    """The calls of one trace, read incrementally. Thread-safe."""

    def __init__(self, path: Path):
        self.path = path
        self._lock = threading.Lock()
        self._reset()

    def read(self) -> tuple[Call, ...]:
        """Return all calls so far, in order of their start. Unreadable lines are skipped."""
        with self._lock:
            for line in self._lines():
                self._add(line)
            return tuple(self._calls.values())

    def _lines(self) -> Iterator[dict[str, Any]]:
        size = self.path.stat().st_size if self.path.exists() else 0
        if size < self._offset:
            self._reset()
        if size == self._offset:
            return
        with self.path.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):  # still being written, or cut off by a crash
                    return
                self._offset += len(line)
                span = parse_trace_line(line.decode(errors="replace"))
                if span is not None and isinstance(span.get("span_id"), str):
                    yield span

    def _add(self, line: dict[str, Any]) -> None:
        id = line["span_id"]
        start = self._calls.get(id)
        if start is None and line.get("event") == "end":
            return
        attributes = start.attributes if start else {}
        self._calls[id] = Call(id, {**attributes, **line}, line.get("event") == "end")

    def _reset(self) -> None:
        self._offset, self._calls = 0, dict[str, Call]()


@dataclass(frozen=True)
class Total:
    """Sum over the calls that reported a value; unknown, not 0, if none did."""

    sum: float = 0.0
    reported: int = 0
    """Number of calls that reported a value."""
    missing: int = 0
    """Number of calls that did not."""


@dataclass(frozen=True)
class Totals:
    """Totals of some calls. Tokens and cost count calls to language models only."""

    calls: int
    failed: int
    tokens: Total
    cost: Total
    """US dollars."""
    seconds: Total


def totals(calls: Iterable[Call]) -> Totals:
    """Return the totals of some calls."""
    calls = tuple(calls)
    online = [call for call in calls if not call.offline]
    return Totals(
        calls=len(calls),
        failed=sum(call.failed for call in calls),
        tokens=_total(None if None in call.tokens else sum(filter(None, call.tokens)) for call in online),
        cost=_total(call.cost for call in online),
        seconds=_total(call.seconds for call in calls),
    )


def group_calls(calls: Iterable[Call]) -> dict[str, dict[str, list[Call]]]:
    """Group calls by stage, then by object or round, each in order of their start."""
    stages: dict[str, dict[str, list[Call]]] = {stage: {} for stage in dict.fromkeys(STAGE_OF.values())}
    for call in calls:
        stages.setdefault(call.stage, {}).setdefault(call.subject, []).append(call)
    return {stage: groups for stage, groups in stages.items() if groups}


def _total(values: Iterable[float | None]) -> Total:
    values = tuple(values)
    reported = [value for value in values if value is not None]
    return Total(float(sum(reported)), len(reported), len(values) - len(reported))


def _seconds(text: object) -> float | None:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return None


def python_snippet(call: Call, base_url: str = "", pictures: Sequence[str] = ()) -> str:
    """Return a Python program that repeats the call.

    Args:
        base_url: The server's address; empty for OpenAI.
        pictures: Data URLs for the first message.
    """
    server = f"base_url={strip_credentials(base_url)!r}, " if base_url else ""
    messages: list[dict[str, Any]] = [{"role": message.role, "content": message.text} for message in call.messages]
    if messages and pictures:
        images = [{"type": "image_url", "image_url": {"url": address}} for address in pictures]
        messages[0]["content"] = [{"type": "text", "text": messages[0]["content"]}, *images]
    request = {"model": call.model, "messages": messages, **_options(call)}
    # JSON never contains three quotes in a row, so the text cannot end its literal.
    return PROGRAM.format(server=server, request=json.dumps(request, indent=1))


def _options(call: Call) -> dict[str, Any]:
    """Return the request's options, such as temperature and schema."""
    try:
        options = parse_json(str(call.attributes.get("llm.invocation_parameters") or "{}"))
    except ValueError:
        return {}
    excluded = ("model", "messages", "stream", "stream_options", "timeout", "extra_headers", "headers", "api_key")
    return {k: v for k, v in options.items() if k not in excluded} if isinstance(options, dict) else {}
