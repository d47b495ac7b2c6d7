"""One question as a server is sent it: messages, pictures, and the form in which its answer is asked for."""

import base64
import copy
import json
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import openai

from pipeline.models.model import Question
from pipeline.models.pictures import fitted, jpeg, tokens
from pipeline.models.settings import ModelSettings

ANSWER = "\n\nAnswer with one JSON object and nothing else. It must fit this JSON schema:\n```json\n{schema}\n```"
FORMS = ("schema", "tool", "object", "words")
"""How an answer's shape is asked for, best first: the server's structured output, a tool call, any JSON, in words."""
FORM_WORDS = {
    "schema": ("response_format", "json_schema", "schema", "grammar", "strict", "structured"),
    "tool": ("tool", "function"),
    "object": ("response_format", "json_object", "json"),
}
"""What a server names when it refuses a form."""
OVERHEAD = 64
"""Tokens around the messages, at most."""


@dataclass(frozen=True)
class Shape:
    """What a server understands, learnt from what it refused."""

    form: str
    limit: str
    """Its name for the longest answer; empty where it has none."""
    dropped: frozenset[str] = frozenset()

    @staticmethod
    def first(settings: ModelSettings) -> "Shape":
        name = urlsplit(settings.base_url).hostname or "api.openai.com"
        newer = name.endswith(("openai.com", "azure.com"))
        return Shape("schema", "max_completion_tokens" if newer else "max_tokens")

    def without(self, refusal: str) -> "Shape | None":
        """The same without what the server refused; None where it refused something else."""
        said = refusal.lower()
        if self.limit and self.limit in said:
            other = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}[self.limit]
            return replace(self, limit=other if other in said else "")
        for name in ("stream_options", "temperature", "reasoning_effort"):
            if name in said and name not in self.dropped:
                return replace(self, dropped=self.dropped | {name})
        if any(word in said for word in FORM_WORDS.get(self.form, ())):
            return replace(self, form=FORMS[FORMS.index(self.form) + 1])
        return None


@dataclass(frozen=True, eq=False)
class Request:
    model: str
    kind: str
    schema: dict[str, Any]
    messages: tuple[Any, ...]
    settings: ModelSettings
    shape: Shape
    picture_tokens: int = 0
    """About what its pictures weigh; 0: there are none."""
    must_see: bool = False

    @staticmethod
    def of(model: str, question: Question, text: str, settings: ModelSettings, shape: Shape) -> "Request":
        schema = strict(question.answer)
        said: list[Any] = [{"type": "text", "text": text + ANSWER.format(schema=json.dumps(schema))}]
        pictures = (
            [fitted(picture, settings.picture_side) for picture in question.pictures] if settings.pictures else []
        )
        said += [_picture(jpeg(picture)) for picture in pictures]
        content = said if pictures else said[0]["text"]
        weight = sum(tokens(picture) for picture in pictures)
        return Request(
            model,
            question.kind,
            schema,
            ({"role": "user", "content": content},),
            settings,
            shape,
            weight,
            question.must_see,
        )

    def again(self, reply: str, wrong: str) -> "Request":
        """The same, with an unusable reply and what was wrong with it."""
        more = ({"role": "assistant", "content": reply[:20_000]}, {"role": "user", "content": wrong})
        return replace(self, messages=(*self.messages, *more))

    def blind(self) -> "Request":
        """The same without its pictures."""
        first = self.messages[0]
        text = first["content"] if isinstance(first["content"], str) else first["content"][0]["text"]
        return replace(self, messages=({"role": "user", "content": text}, *self.messages[1:]), picture_tokens=0)

    def shaped(self, shape: Shape) -> "Request":
        return replace(self, shape=shape)

    @property
    def parameters(self) -> dict[str, Any]:
        """All that is sent beside the messages and the schema."""
        s, dropped = self.settings, self.shape.dropped
        optional = {"temperature": s.temperature, "reasoning_effort": s.reasoning_effort or None}
        told = {name: value for name, value in optional.items() if value is not None and name not in dropped}
        if self.shape.limit:
            told[self.shape.limit] = s.longest_answer
        return {"model": self.model, **told}

    def body(self) -> dict[str, Any]:
        usage = {} if "stream_options" in self.shape.dropped else {"stream_options": {"include_usage": True}}
        return {"messages": list(self.messages), "stream": True, **self.parameters, **usage, **self._form()}

    def piece(self, delta: Any) -> str:
        """What a chunk of the stream adds to the answer."""
        said = delta.content or ""
        for call in delta.tool_calls or ():
            said += (call.function.arguments or "") if call.function else ""
        return said

    @property
    def most_tokens(self) -> int:
        """Tokens asked, at most: no token is shorter than a byte; pictures as OpenAI's dearest family counts them."""
        texts = [m["content"] if isinstance(m["content"], str) else m["content"][0]["text"] for m in self.messages]
        return sum(len(text.encode()) for text in texts) + 4 * self.picture_tokens + OVERHEAD + len(str(self.schema))

    def _form(self) -> dict[str, Any]:
        if self.shape.form == "schema":
            named = {"name": self.kind, "schema": self.schema, "strict": True}
            return {"response_format": {"type": "json_schema", "json_schema": named}}
        if self.shape.form == "tool":
            function = {"name": self.kind, "description": "Gives the answer.", "parameters": self.schema}
            choice = {"type": "function", "function": {"name": self.kind}}
            return {"tools": [{"type": "function", "function": function}], "tool_choice": choice}
        return {"response_format": {"type": "json_object"}} if self.shape.form == "object" else {}


def strict(answer: type) -> dict[str, Any]:
    """The JSON schema of a type as structured output wants it: every property required, no defaults, no others."""
    return _bare(copy.deepcopy(openai.pydantic_function_tool(answer)["function"].get("parameters", {})))


def _bare(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_bare(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: value for name, value in schema.items() if name not in ("default", "title")}
    if isinstance(properties := schema.get("properties"), dict):
        return {n: _bare(v) for n, v in kept.items()} | {"properties": {n: _bare(v) for n, v in properties.items()}}
    return {name: _bare(value) for name, value in kept.items()}


def _picture(data: bytes) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"}}
