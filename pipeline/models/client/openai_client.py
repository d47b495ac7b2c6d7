"""Client for any server with the OpenAI API, with typed answers."""

import asyncio
import contextlib
import hashlib
import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import openai
from pydantic import BaseModel, ValidationError

from pipeline.errors import without_folders
from pipeline.models.budget import model_price
from pipeline.models.client import connection
from pipeline.models.client.connection import MAX_LINE_BYTES, BoundedTransport
from pipeline.models.client.failure_messages import (
    ConnectionLost,
    FailureMessages,
    ModelRefused,
    server_name,
    truncate_raw,
)
from pipeline.models.client.json_recovery import recover_json
from pipeline.models.client.redaction import Redactor, secrets_of
from pipeline.models.client.reply import Reply, ReplyReader, Usage, events_of
from pipeline.models.client.request import Request, RequestFormat
from pipeline.models.in_flight import InFlightCall, InFlightCalls, current_call
from pipeline.models.model import CODE_KINDS, CallCancelled, ModelError, Question
from pipeline.models.prompt_templates import load_prompt
from pipeline.models.settings import DEFAULT_MODEL, OPENAI_URL, ModelSettings
from pipeline.models.trace.recorder import annotate, fingerprint

MAX_CORRECTIONS = 2
"""How often a model is asked to correct an answer that does not fit."""
CORRECTION = (
    "That answer cannot be used: {error}\nAnswer again with one JSON object that fits the schema, nothing else."
)


class CircuitBreaker:
    """Count of one server's consecutive failures. Thread-safe."""

    def __init__(self, server: str, max_failures: int, pause: float):
        """Open after `max_failures` in a row, for `pause` seconds; then let one call through as a trial."""
        self._server, self._max_failures, self._pause = server, max_failures, pause
        self._failures, self._open_until, self._last_failure = 0, 0.0, ""
        self._lock = threading.Lock()

    def check(self) -> None:
        """Raise ModelError while the breaker is open."""
        with self._lock:
            remaining = self._open_until - time.monotonic()
            if self._failures < self._max_failures:
                return
            if remaining > 0:
                raise ModelError(
                    f"{self._server} failed {self._failures} times in a row and is not called for another "
                    f"{remaining:.0f} s; then try again. The last failure: {self._last_failure}"
                )
            self._open_until = time.monotonic() + self._pause  # one call is the trial; the others wait for its outcome

    def record_failure(self, message: str) -> None:
        """Count a failure and restart the pause."""
        with self._lock:
            self._failures, self._last_failure = self._failures + 1, message
            self._open_until = time.monotonic() + self._pause

    def record_success(self) -> None:
        """Reset the count."""
        with self._lock:
            self._failures = 0


class OpenAIModel:
    """One server and one or two models on it. The key goes to that server only and is never shown."""

    def __init__(self, settings: ModelSettings, key: str = "", prompts: Path | None = None):
        """`prompts` is a folder whose files override the built-in prompts. Raises ModelError without key and server."""
        if not key and not settings.base_url:
            raise ModelError("There is no OPENAI_API_KEY; set it, or set GRS_BASE_URL to your own server.")
        if not key.isprintable() or not key.isascii() or " " in key:
            raise ModelError(
                "The key contains a character that no key has, such as a space or a line break; copy it again."
            )
        self.settings = settings
        self.name = without_folders(settings.model or DEFAULT_MODEL)  # llama.cpp's name of a model is its file's path
        self.has_vision = settings.pictures
        self.picture_kinds = settings.picture_kinds
        self.ceiling_usd = settings.ceiling_usd
        self._server = server_name(settings.base_url)
        self._prompts = prompts
        self._formats: dict[str, RequestFormat] = {}
        self._blind: dict[str, str] = {}
        self._redact = Redactor(secrets_of(key, settings.base_url))
        self._failures = FailureMessages(self._server, self._redact, settings.timeout)
        self._breaker = CircuitBreaker(self._server, settings.give_up_after, settings.rest)
        self._gate = asyncio.Semaphore(settings.concurrency)
        self._client = openai.AsyncOpenAI(
            api_key=key or "none",
            base_url=settings.base_url or OPENAI_URL,  # given, or else the client would take OPENAI_BASE_URL
            timeout=settings.timeout + 5,  # the whole call has its own limit, which comes first
            max_retries=settings.retries,
            http_client=openai.DefaultAsyncHttpxClient(
                transport=BoundedTransport(4_000_000 + 1000 * settings.longest_answer, MAX_LINE_BYTES),
                follow_redirects=False,  # the pictures, and to the same host the key, would go along
            ),
        )

    def source_of(self, kind: str) -> str:
        """Return the name of the model that answers this kind of question."""
        return without_folders(self._asked(kind))

    def cache_key(self, question: Question) -> str:
        """Return a hash of model, prompt, pictures and settings; empty if the prompt cannot be filled."""
        try:
            text, _ = self._prompt(question)
        except ModelError:
            return ""
        s = self.settings
        key = [self._server, self.source_of(question.kind), s.temperature, s.reasoning_effort, s.picture_side, text]
        key += [question.answer_type.model_json_schema(), fingerprint(question)]
        return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:32]

    def prompt_text(self, question: Question) -> str:
        """Return the text that is sent for a question. Raises ModelError."""
        return self._prompt(question)[0]

    def trace_attributes(self, question: Question) -> dict[str, Any]:
        """Return the attributes that the trace records when a request starts. Raises ModelError."""
        text, version = self._prompt(question)
        request = self._request(question, text)
        price = model_price(self.settings, request.model)
        return {
            "may_cost_usd": price
            and (1 + MAX_CORRECTIONS) * price.cost(request.max_prompt_tokens, self.settings.longest_answer),
            "llm.provider": self._server,
            "llm.prompt_template.version": version,
            "llm.invocation_parameters": json.dumps(request.parameters | {"model": self.source_of(question.kind)}),
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.contents.0.message_content.type": "text",
            "llm.input_messages.0.message.contents.0.message_content.text": text,
        }

    def ask(self, question: Question) -> BaseModel:
        """Return an instance of question.answer_type. Raises ModelError, with the raw reply if any; StageCancelled."""
        call = current_call() or InFlightCall("", question, InFlightCalls())
        text, _ = self._prompt(question)
        request = self._request(question, text)
        fields = tuple(question.answer_type.model_fields)
        problem, reply, attempts = "", Reply("", "", Usage()), []
        total = Usage(0, 0, 0.0)
        for _ in range(1 + MAX_CORRECTIONS):
            reply = self._reply(request, call)
            total = total.plus(reply.usage)
            call.notes |= reply.attributes(total)
            try:
                return question.answer_type.model_validate(recover_json(reply.text, fields))
            except ValueError as error:  # a ValidationError is one too
                problem = _mismatch(error) + (
                    " (the answer was cut off at the token limit)" if reply.finish == "length" else ""
                )
            attempts.append({"output": truncate_raw(reply.text), "problem": problem})
            annotate(attempts=attempts)
            request = request.with_retry(reply.text, CORRECTION.format(error=problem))
        first = " ".join(problem.split())[:200] + ("; raise GRS_LONGEST_ANSWER" if reply.finish == "length" else "")
        raise ModelError(
            f"{request.model} answered {1 + MAX_CORRECTIONS} times with an answer that cannot be used: {first}",
            truncate_raw(reply.text),
        )

    @property
    def answer_format(self) -> str:
        """How answers are requested, as far as known: one of request.ANSWER_FORMATS."""
        return self._formats.get(self._asked(""), RequestFormat.first(self.settings)).form

    async def list_models(self) -> dict[str, dict[str, Any]] | None:
        """Return the server's entry for each of its models by name; None if it lists none. Raises ModelError."""
        try:
            async with asyncio.timeout(self.settings.timeout):
                page = await self._client.models.list()
            return {without_folders(self._redact(model.id)): model.model_dump() for model in page.data}
        except (openai.NotFoundError, TypeError, AttributeError):
            return None
        except Exception as error:
            raise self._failures.to_model_error(error, self.name) from None

    def close(self) -> None:
        """Close all connections."""
        asyncio.run_coroutine_threadsafe(self._client.close(), connection.event_loop()).result(5)

    def _asked(self, kind: str) -> str:
        """Return the server's own name of the model for this kind of question."""
        return (kind in CODE_KINDS and self.settings.code_model) or self.settings.model or DEFAULT_MODEL

    def _prompt(self, question: Question) -> tuple[str, str]:
        """Return the prompt text and its version."""
        if question.prompt_text:
            return question.prompt_text, f"own {hashlib.sha256(question.prompt_text.encode()).hexdigest()[:12]}"
        prompt = load_prompt(question.kind, self._prompts)
        return prompt.fill(question.data), prompt.version

    def _request(self, question: Question, text: str) -> Request:
        model = self._asked(question.kind)
        format = self._formats.setdefault(model, RequestFormat.first(self.settings))
        return Request.create(model, question, text, self.settings, format)

    def _reply(self, request: Request, call: InFlightCall) -> Reply:
        """Return one reply; optional pictures are left out if the model turns out to lack vision."""
        try:
            return self._attempt(request, call)
        except ModelError:
            if request.needs_vision or not request.picture_tokens or request.model not in self._blind:
                raise
            return self._attempt(request, call)

    def _attempt(self, request: Request, call: InFlightCall) -> Reply:
        """Return one reply and account for its cost. Raises ModelError, StageCancelled."""
        if request.picture_tokens and (no_vision := self._blind.get(request.model)):
            if request.needs_vision:
                raise ModelError(no_vision)
            request = request.without_pictures()
        self._breaker.check()
        price = model_price(self.settings, request.model)
        reserved = call.budget.reserve(price and price.cost(request.max_prompt_tokens, self.settings.longest_answer))
        paid: float | None = None
        try:
            reply = connection.run_call(self._call(request, call), call)
            usage = reply.usage.plausible(
                request.max_prompt_tokens, self.settings.longest_answer, reply.text
            ).with_cost(price)
            paid = usage.cost
            self._breaker.record_success()
            return replace(reply, text=self._redact(reply.text), finish=self._redact(reply.finish)[:40], usage=usage)
        except CallCancelled:
            raise
        except Exception as error:
            # `from None`: the cause may carry the request, and with it the key
            failure = self._failures.to_model_error(error, request.model, call.text)
            paid = 0.0 if isinstance(error, openai.APIStatusError) else None  # refused before any work
            failure = self._learn(error, failure, request)
            call.notes = {name: v for name, v in call.notes.items() if not name.startswith("llm.token_count")}
            raise failure from None
        finally:
            call.notes["counted_usd"] = call.notes.get("counted_usd", 0.0) + (reserved if paid is None else paid)
            call.budget.settle(reserved, paid)

    def _learn(self, error: Exception, failure: ModelError, request: Request) -> ModelError:
        """Remember what a failure shows about the server: no vision, or an outage. Returns the error to raise."""
        status = getattr(error, "status_code", 0)
        message = self._failures.server_message(error).lower()
        if request.picture_tokens and any(word in message for word in ("image", "vision", "multimodal")):
            self._blind[request.model] = (
                f"{request.model} does not accept pictures ({self._server}: {self._failures.server_message(error)}); "
                "choose a model that does, or use the measured results."
            )
            return ModelError(self._blind[request.model], failure.raw)
        if not isinstance(error, ModelRefused) and status not in (400, 422):
            self._breaker.record_failure(str(failure))
        return failure

    async def _call(self, request: Request, call: InFlightCall) -> Reply:
        """Return one reply, after adapting the request to what the server accepts."""
        async with self._gate, asyncio.timeout(self.settings.timeout):
            retries = self.settings.retries
            call.redact = self._redact.unfinished
            while True:
                call.restart()
                try:
                    return await self._streamed(request, call)
                except openai.APIError as error:
                    accepted = request.format.without(self._failures.server_message(error))
                    # (400, 422, 500, 501): statuses with which servers reject an option of a request that they do not
                    # know
                    if accepted is None or getattr(error, "status_code", 400) not in (400, 422, 500, 501):
                        raise
                    self._formats[request.model] = accepted
                    request = request.with_format(accepted)
                except ConnectionLost:
                    if not retries:
                        raise
                    retries -= 1

    async def _streamed(self, request: Request, call: InFlightCall) -> Reply:
        create, start = self._client.chat.completions.with_streaming_response.create, time.monotonic()

        def show(text: str) -> None:
            if reader.text == text:
                call.notes["first_token_seconds"] = round(time.monotonic() - start, 3)
            call.append(text)

        reader, body = ReplyReader(show), ""
        async with create(**request.body()) as response:
            if "event-stream" in response.headers.get("content-type", ""):
                try:
                    async for event in await response.parse(to=openai.AsyncStream[dict[str, Any]]):
                        reader.add(event)
                except openai.APIConnectionError:
                    raise ConnectionLost from None
            else:
                body = self._redact(await response.text())
                with contextlib.suppress(ValueError):
                    for event in events_of(body):
                        reader.add(event)
            if reader.complaint and not reader.finish:
                raise openai.APIError(reader.complaint, response.http_request, body=None)
        if not reader.is_completion:
            message = f"{self._server} does not speak the OpenAI API; check GRS_BASE_URL."
            raise ModelError(message, truncate_raw(body))
        return reader.reply(request.model)


def _mismatch(error: ValueError) -> str:
    """Return why an answer does not fit, for the model that has to correct it."""
    if not isinstance(error, ValidationError):
        return str(error)
    problems = [f"{'.'.join(map(str, e['loc'])) or 'the answer'}: {e['msg']}" for e in error.errors()]
    return "; ".join(problems)[:1000]
