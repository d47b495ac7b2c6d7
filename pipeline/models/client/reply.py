"""A model's raw reply, streamed or as one body, read from wherever servers put an answer."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pipeline.models.budget import Price
from pipeline.models.client.failure_messages import ModelRefused, server_words, truncate_raw
from pipeline.models.client.json_recovery import replace_surrogates
from pipeline.store import parse_json

THOUGHT_FIELDS = ("reasoning_content", "reasoning")
"""Fields of a message for a model's thoughts: vLLM and SGLang use the first, Ollama and OpenRouter the second."""
THOUGHT_PARTS = ("thinking", "reasoning", "redacted_thinking")
"""Types of a message's parts that are thoughts."""


@dataclass(frozen=True)
class Usage:
    """Token counts and cost of one or more replies; None for what is unknown."""

    prompt: int | None = None
    """Prompt tokens."""
    completion: int | None = None
    """Answer tokens."""
    cost: float | None = None
    """USD."""

    @staticmethod
    def from_server(usage: Mapping[str, Any]) -> "Usage":
        """Return the counts of a server's usage object; implausible values are None."""
        return Usage(_count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")))

    def plausible(self, max_prompt: int, max_completion: int, text: str) -> "Usage":
        """Return the usage without impossible counts: more than sent or allowed, or 0 for a non-empty text."""
        prompt = self.prompt if self.prompt is not None and 0 < self.prompt <= max_prompt else None
        minimum = 1 if text else 0
        known = self.completion is not None and minimum <= self.completion <= max(max_completion, len(text.encode()))
        return Usage(prompt, self.completion if known else None)

    def with_cost(self, price: Price | None) -> "Usage":
        """Return the usage with its cost; unchanged if price or counts are unknown."""
        if price is None or self.prompt is None or self.completion is None:
            return self
        return replace(self, cost=price.cost(self.prompt, self.completion))

    def plus(self, other: "Usage") -> "Usage":
        """Return the sum; what is unknown in either is unknown in the sum."""
        mine, others = (self.prompt, self.completion, self.cost), (other.prompt, other.completion, other.cost)
        return Usage(*map(_sum, mine, others))

    @property
    def attributes(self) -> dict[str, Any]:
        """The trace attributes of the known values."""
        values = {
            "llm.token_count.prompt": self.prompt,
            "llm.token_count.completion": self.completion,
            "llm.token_count.total": _sum(self.prompt, self.completion),
            "llm.cost.total": None if self.cost is None else round(self.cost, 8),
        }
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class Reply:
    """One raw reply."""

    text: str
    finish: str
    """The server's finish reason: "stop", "length" ...; empty if it gave none."""
    usage: Usage
    """Token counts, and the cost once it is known."""

    def attributes(self, total: Usage) -> dict[str, Any]:
        """Return the trace attributes of a reply, with the usage of all replies so far."""
        attributes = {
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": truncate_raw(self.text),
            "llm.finish_reason": self.finish,
        }
        return attributes | total.attributes


@dataclass
class ReplyReader:
    """Collects one reply from a stream's events, or from a body, which has the form of a single event."""

    on_text: Callable[[str], None]
    """Called with each piece of the answer as it arrives."""
    is_completion: bool = False
    """Whether any event was one of a completion."""
    complaint: str = ""
    """What the server said in an event that is none, such as an error with status 200."""
    text: str = ""
    finish: str = ""
    usage: Usage = field(default_factory=Usage)
    _thoughts: str = ""
    _refusal: str = ""

    def add(self, event: Any) -> None:
        """Read one event; whatever has an unknown form in it is skipped."""
        event = _mapping(event)
        if usage := _mapping(event.get("usage")):
            self.usage = Usage.from_server(usage)
        choices = event.get("choices")
        if not isinstance(choices, list) or not choices:
            self.complaint = self.complaint or server_words(event)
            return
        self.is_completion = True
        choice = _mapping(choices[0])
        self.finish = _string(choice.get("finish_reason")) or self.finish
        message = _mapping(choice.get("delta")) or _mapping(choice.get("message"))
        self._refusal += _string(message.get("refusal"))
        self._thoughts += next(filter(None, (_content(message.get(name))[0] for name in THOUGHT_FIELDS)), "")
        text, thoughts = _content(message.get("content"))
        self._thoughts += thoughts
        if text := text + _arguments(message):
            self.text += text
            self.on_text(replace_surrogates(text))

    def reply(self, model: str) -> Reply:
        """Return the reply. Raises ModelRefused.

        The thoughts are the answer if there is none beside them: servers that expect a model to think take an answer
        without thoughts for one. Thoughts that end at the token limit are no answer.
        """
        if self._refusal:
            raise ModelRefused(f"{model} refused to answer: {self._refusal[:200]}", self._refusal)
        if self.finish == "content_filter":
            raise ModelRefused(f"{model} did not answer: the server's content filter stopped it.", self.text)
        if not self.text.strip() and self._thoughts and self.finish != "length":
            self.text = self._thoughts
            self.on_text(replace_surrogates(self._thoughts))
        return Reply(replace_surrogates(self.text), self.finish, self.usage)


def events_of(body: str) -> list[Any]:
    """Return the events in a body that was not sent as a stream: one completion, or a stream of another content type.

    Raises ValueError if it is no JSON.
    """
    lines = [line.removeprefix("data:").strip() for line in body.split("\n") if line.startswith("data:")]
    texts = [line for line in lines if line != "[DONE]"] or [body]
    return [parse_json(text, finite=False) for text in texts]


def _content(content: Any) -> tuple[str, str]:
    """Return the answer and the thoughts in a message's content: a string, a list of parts, or the answer itself."""
    if isinstance(content, Mapping) and content:
        if not isinstance(content.get("type"), str) or not {"text", "thinking"} & set(content):
            return json.dumps(content), ""
        text = "".join(_content(content.get("text")))
        thoughts = "".join(_content(content.get("thinking")))
        return ("", text + thoughts) if content["type"] in THOUGHT_PARTS else (text, thoughts)
    if isinstance(content, list):
        pieces = [_content(part) for part in content]
        return "".join(text for text, _ in pieces), "".join(thoughts for _, thoughts in pieces)
    return _string(content), ""


def _arguments(message: Mapping[str, Any]) -> str:
    """Return the arguments of a message's calls, which may be JSON text or the object itself."""
    tools = message.get("tool_calls")
    calls = [_mapping(tool).get("function") for tool in tools] if isinstance(tools, list) else []
    functions = [_mapping(call) for call in (*calls, message.get("function_call"))]
    return "".join(_content(function.get("arguments"))[0] for function in functions)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9 else None


def _sum(a: Any, b: Any) -> Any:
    return None if a is None or b is None else a + b
