"""A model's raw reply, streamed or as one body."""

from dataclasses import dataclass
from typing import Any

from openai.types.chat import ChatCompletion
from pydantic import ValidationError

from pipeline.models.client.failure_messages import ModelRefused, truncate_raw
from pipeline.models.client.json_recovery import replace_surrogates
from pipeline.models.costs.usage import Usage
from pipeline.models.in_flight import InFlightCall
from pipeline.models.model import ModelError


@dataclass(frozen=True)
class Reply:
    """One raw reply."""

    text: str
    finish: str
    """The server's finish reason: "stop", "length" ...; empty if it gave none."""
    usage: Usage
    """Token counts, and the cost once it is known."""

    @staticmethod
    def from_body(body: str, call: InFlightCall, server: str) -> "Reply":
        """Return the reply of a server that does not stream. Raises ModelError if the body is not a completion."""
        try:
            completion = ChatCompletion.model_validate_json(body)
            message = completion.choices[0].message
        except (ValidationError, IndexError):
            raise ModelError(
                f"{server} does not speak the OpenAI API; check GRS_BASE_URL.", truncate_raw(body)
            ) from None
        if message.refusal:
            raise ModelRefused(f"The model refused to answer: {message.refusal[:200]}", message.refusal)
        tool_calls = message.tool_calls or []
        text = message.content or next((c.function.arguments for c in tool_calls if c.type == "function"), "")
        text = replace_surrogates(text)
        call.append(text)
        usage = Usage.from_server(completion.usage) if completion.usage else Usage()
        return Reply(text, completion.choices[0].finish_reason or "", usage)

    def attributes(self, total: Usage) -> dict[str, Any]:
        """Return the trace attributes of a reply, with the usage of all replies so far."""
        attributes = {
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": truncate_raw(self.text),
            "llm.finish_reason": self.finish,
        }
        return attributes | total.attributes
