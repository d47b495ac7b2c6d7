"""Any server that speaks the OpenAI API, asked for an answer that fits a type."""

import base64
import io
import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import openai
from openai.types.chat import ChatCompletion
from PIL import Image
from pydantic import BaseModel, ValidationError

from pipeline.models.model import ModelError, Question
from pipeline.models.prompts import load
from pipeline.models.trace import note

AGAIN = 2
"""How often an answer that does not fit is asked for again."""
DEFAULT = "gpt-4o"
"""The model GRS reports its numbers with."""
SHAPE = "\n\nAnswer with one JSON object and nothing else. It must fit this JSON schema:\n```json\n{schema}\n```"
WRONG = "That answer cannot be used: {error}\nAnswer again with one JSON object that fits the schema, nothing else."


class OpenAIModel:
    """One model on one server. The key goes to that server and nowhere else: no message or trace ever shows it."""

    def __init__(
        self,
        model: str = "",
        base_url: str = "",
        api_key: str = "",
        timeout: float = 60.0,
        prompts: Path | None = None,
    ):
        """`timeout`: seconds for one question with all its repetitions. `prompts`: a folder that wins over ours."""
        if not api_key and not base_url:
            raise ModelError("There is no OPENAI_API_KEY; set it, or GRS_BASE_URL for a server of your own.")
        self.name = model or DEFAULT
        self._where = _host(base_url)
        self._key = api_key
        self._timeout = timeout
        self._prompts = prompts
        self._schemas = True
        self._client = openai.OpenAI(
            api_key=api_key or "none", base_url=base_url or None, timeout=timeout, max_retries=0
        )

    def ask(self, question: Question) -> BaseModel:
        """An instance of question.answer. Raises ModelError, with the reply as it came where there was one."""
        prompt = load(question.kind, self._prompts)
        schema = question.answer.model_json_schema()
        text = prompt.fill(question.data) + SHAPE.format(schema=json.dumps(schema))
        note(llm__prompt_template__version=prompt.version, llm__input_messages__0__message__content=text)
        messages: list[Any] = [{"role": "user", "content": [_words(text), *map(_picture, question.pictures)]}]
        until = time.monotonic() + self._timeout
        problem, reply = "", ""
        for _ in range(1 + AGAIN):
            reply = self._complete(messages, question, schema, until)
            try:
                return question.answer.model_validate(_json(reply))
            except (ValidationError, ValueError) as error:
                problem = str(error)[:1000]
                wrong = WRONG.format(error=problem)
                messages += [{"role": "assistant", "content": reply}, {"role": "user", "content": wrong}]
        first = " ".join(problem.split())[:200]
        raise ModelError(f"{self.name} answered {1 + AGAIN} times with what cannot be used: {first}", reply)

    def _complete(self, messages: list[Any], question: Question, schema: dict, until: float) -> str:
        """One reply's text; a busy server is asked again while there is time."""
        wait = 1.0
        while True:
            try:
                return self._once(messages, question, schema, until)
            except (openai.RateLimitError, openai.InternalServerError) as error:
                if time.monotonic() + wait >= until or getattr(error, "code", "") == "insufficient_quota":
                    raise self._error(error) from None
                time.sleep(wait)
                wait *= 2
            except openai.BadRequestError as error:
                schemas_are_at_fault = "response_format" in str(error) or "json_schema" in str(error)
                if not (self._schemas and schemas_are_at_fault):
                    raise self._error(error) from None
                self._schemas = False  # an older server: the prompt asks for JSON in words
            except (openai.OpenAIError, json.JSONDecodeError) as error:
                # `from None`: the cause may carry the request, and with it the key
                raise self._error(error) from None

    def _once(self, messages: list[Any], question: Question, schema: dict, until: float) -> str:
        form = {"type": "json_schema", "json_schema": {"name": question.kind, "schema": schema}}
        wanted: dict[str, Any] = {"response_format": form} if self._schemas else {}
        left = max(until - time.monotonic(), 0.01)
        completion = self._client.chat.completions.create(
            model=self.name,
            messages=messages,
            timeout=left,
            **wanted,
        )
        if not isinstance(completion, ChatCompletion) or not completion.choices:
            raise ModelError(
                f"{self._where} does not speak the OpenAI API; check GRS_BASE_URL.", self._hide(completion)
            )
        if usage := completion.usage:
            note(
                llm__token_count__prompt=usage.prompt_tokens,
                llm__token_count__completion=usage.completion_tokens,
                llm__token_count__total=usage.total_tokens,
            )
        message = completion.choices[0].message
        if message.refusal:
            raise ModelError(f"{self.name} refused to answer: {message.refusal[:200]}", message.refusal)
        return message.content or ""

    def _error(self, error: Exception) -> ModelError:
        match error:
            case openai.AuthenticationError() | openai.PermissionDeniedError():
                text = f"{self._where} refused the key ({error.status_code}); check OPENAI_API_KEY."
            case openai.NotFoundError():
                text = f"{self._where} has no model {self.name} (404); check GRS_MODEL and GRS_BASE_URL."
            case openai.APITimeoutError():
                text = f"{self.name} did not answer within {self._timeout:g} s; raise GRS_TIMEOUT or try again."
            case openai.APIStatusError():
                said = " ".join(str(error).split())[:200]
                text = f"{self._where} answered {error.status_code}: {said}"
            case openai.APIConnectionError():
                text = f"{self._where} cannot be reached; check GRS_BASE_URL and the network, or use --model offline."
            case _:
                text = f"{self._where} answered with what cannot be read; check GRS_BASE_URL."
        raw = error.response.text if isinstance(error, openai.APIStatusError) else ""
        return ModelError(self._hide(text), self._hide(raw))

    def _hide(self, said: object) -> str:
        text = str(said)[:20_000]
        return text.replace(self._key, "***") if self._key else text


def _words(text: str) -> dict:
    return {"type": "text", "text": text}


def _picture(rgb: np.ndarray) -> dict:
    """A PNG as a data URL, of a picture of shape (H, W, 3), uint8."""
    file = io.BytesIO()
    Image.fromarray(rgb).save(file, "PNG")
    data = base64.b64encode(file.getvalue()).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def _json(reply: str) -> Any:
    """The first JSON object in a reply that may have words or a fence around it. Raises ValueError."""
    start = reply.find("{")
    if start < 0:
        raise ValueError("there is no JSON object in it")
    return json.JSONDecoder().raw_decode(reply, start)[0]


def _host(base_url: str) -> str:
    """The server's name and port; never the user and password an address may carry."""
    parts = urlsplit(base_url or "https://api.openai.com")
    return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname or base_url
