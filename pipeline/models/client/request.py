"""One question as a request to the server: messages, pictures, and the answer format."""

import base64
import copy
import json
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import openai

from pipeline.models.images import encode_jpeg, fit_to_side, picture_tokens
from pipeline.models.model import Question
from pipeline.models.settings import ModelSettings

ANSWER_INSTRUCTION = (
    "\n\nAnswer with one JSON object and nothing else. It must fit this JSON schema:\n```json\n{schema}\n```"
)
ANSWER_FORMATS = ("schema", "tool", "object", "words")
"""Ways to request an answer's format, best first: structured output, a tool call, any JSON, instructions only."""
FORMAT_KEYWORDS = {
    "schema": ("response_format", "json_schema", "schema", "grammar", "strict", "structured"),
    "tool": ("tool", "function"),
    "object": ("response_format", "json_object", "json"),
}
"""Words in a server's error message when it rejects a format."""


@dataclass(frozen=True)
class RequestFormat:
    """Request options that a server accepts, learned from what it rejected."""

    form: str
    """One of ANSWER_FORMATS."""
    limit: str
    """The server's name for the maximum answer length; empty if it has none."""
    dropped: frozenset[str] = frozenset()
    """Optional parameters that are not sent."""

    @staticmethod
    def first(settings: ModelSettings) -> "RequestFormat":
        """Return the format to try first: structured output."""
        name = urlsplit(settings.base_url).hostname or "api.openai.com"
        newer = name.endswith(("openai.com", "azure.com"))
        return RequestFormat("schema", "max_completion_tokens" if newer else "max_tokens")

    def without(self, refusal: str) -> "RequestFormat | None":
        """Return the format without what the server rejected; None if it rejected something else."""
        message = refusal.lower()
        if self.limit and self.limit in message:
            other = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}[self.limit]
            return replace(self, limit=other if other in message else "")
        for name in ("stream_options", "temperature", "reasoning_effort", "stream"):
            if name in message and name not in self.dropped:
                return replace(self, dropped=self.dropped | {name})
        if any(word in message for word in FORMAT_KEYWORDS.get(self.form, ())):
            return replace(self, form=ANSWER_FORMATS[ANSWER_FORMATS.index(self.form) + 1])
        return None


@dataclass(frozen=True, eq=False)
class Request:
    """One request; what is sent is `body()`."""

    model: str
    kind: str
    schema: dict[str, Any]
    messages: tuple[Any, ...]
    settings: ModelSettings
    format: RequestFormat
    picture_tokens: int = 0
    """Estimated tokens of the pictures; 0 without pictures."""
    needs_vision: bool = False
    """Whether an answer without the pictures is useless."""

    @staticmethod
    def create(model: str, question: Question, text: str, settings: ModelSettings, format: RequestFormat) -> "Request":
        """Return the request for a question whose prompt is `text`."""
        schema = strict_schema(question.answer_type)
        parts: list[Any] = [{"type": "text", "text": text + ANSWER_INSTRUCTION.format(schema=json.dumps(schema))}]
        pictures = (
            [fit_to_side(picture, settings.picture_side) for picture in question.pictures] if settings.pictures else []
        )
        parts += [_picture(encode_jpeg(picture)) for picture in pictures]
        content = parts if pictures else parts[0]["text"]
        token_count = sum(picture_tokens(picture) for picture in pictures)
        return Request(
            model,
            question.kind,
            schema,
            ({"role": "user", "content": content},),
            settings,
            format,
            token_count,
            question.needs_vision,
        )

    def with_retry(self, reply: str, correction: str) -> "Request":
        """Return the request extended by an unusable reply and the correction."""
        added = ({"role": "assistant", "content": reply[:20_000]}, {"role": "user", "content": correction})
        return replace(self, messages=(*self.messages, *added))

    def without_pictures(self) -> "Request":
        """Return the request without its pictures."""
        first = self.messages[0]
        text = first["content"] if isinstance(first["content"], str) else first["content"][0]["text"]
        return replace(self, messages=({"role": "user", "content": text}, *self.messages[1:]), picture_tokens=0)

    def with_format(self, format: RequestFormat) -> "Request":
        """Return the request in another format."""
        return replace(self, format=format)

    @property
    def parameters(self) -> dict[str, Any]:
        """Everything that is sent besides the messages and the schema."""
        s, dropped = self.settings, self.format.dropped
        optional = {"temperature": s.temperature, "reasoning_effort": s.reasoning_effort or None}
        parameters = {name: value for name, value in optional.items() if value is not None and name not in dropped}
        if self.format.limit:
            parameters[self.format.limit] = s.longest_answer
        return {"model": self.model, **parameters}

    def body(self) -> dict[str, Any]:
        """Return the arguments of the chat completion call."""
        dropped, streaming = self.format.dropped, {}
        if "stream" not in dropped:
            usage = {} if "stream_options" in dropped else {"stream_options": {"include_usage": True}}
            streaming = {"stream": True, **usage}
        return {"messages": list(self.messages), **streaming, **self.parameters, **self._form()}

    @property
    def max_prompt_tokens(self) -> int:
        """Upper bound of the prompt tokens: one per byte of text, and 4 times the estimate for pictures."""
        texts = [m["content"] if isinstance(m["content"], str) else m["content"][0]["text"] for m in self.messages]
        return (
            sum(len(text.encode()) for text in texts)
            + 4 * self.picture_tokens
            # Upper bound of the tokens around the messages
            + 64
            + len(str(self.schema))
        )

    def _form(self) -> dict[str, Any]:
        if self.format.form == "schema":
            json_schema = {"name": self.kind, "schema": self.schema, "strict": True}
            return {"response_format": {"type": "json_schema", "json_schema": json_schema}}
        if self.format.form == "tool":
            function = {"name": self.kind, "description": "Gives the answer.", "parameters": self.schema}
            choice = {"type": "function", "function": {"name": self.kind}}
            return {"tools": [{"type": "function", "function": function}], "tool_choice": choice}
        return {"response_format": {"type": "json_object"}} if self.format.form == "object" else {}


def strict_schema(answer: type) -> dict[str, Any]:
    """Return a type's JSON schema for structured output: every property required, no defaults, no extra properties."""
    return _without_defaults(copy.deepcopy(openai.pydantic_function_tool(answer)["function"].get("parameters", {})))


def _without_defaults(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_defaults(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    cleaned = {name: value for name, value in schema.items() if name not in ("default", "title")}
    if isinstance(properties := schema.get("properties"), dict):
        return {n: _without_defaults(v) for n, v in cleaned.items()} | {
            "properties": {n: _without_defaults(v) for n, v in properties.items()}
        }
    return {name: _without_defaults(value) for name, value in cleaned.items()}


def _picture(data: bytes) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"}}
