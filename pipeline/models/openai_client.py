"""Any server that speaks the OpenAI API, asked for an answer that fits a type."""

import asyncio
import hashlib
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import openai
from openai.types.chat import ChatCompletion
from pydantic import BaseModel, ValidationError

from pipeline.models import connection
from pipeline.models.breaker import Breaker
from pipeline.models.budget import price
from pipeline.models.connection import Bounded
from pipeline.models.failures import BrokenOff, Failures, Refused, host, kept
from pipeline.models.live import Flight, Live, current
from pipeline.models.model import CODE, CallCancelled, ModelError, Question
from pipeline.models.prompts import load
from pipeline.models.reading import recover, well_formed
from pipeline.models.request import Request, Shape
from pipeline.models.settings import DEFAULT, ModelSettings
from pipeline.models.trace import fingerprint, note
from pipeline.models.usage import Usage

AGAIN = 2
"""How often an answer that does not fit is asked for again."""
WRONG = "That answer cannot be used: {error}\nAnswer again with one JSON object that fits the schema, nothing else."


@dataclass(frozen=True)
class Reply:
    """One reply as it came."""

    text: str
    finish: str
    """The server's word for why it ended: "stop", "length" ...; empty where it did not say."""
    usage: Usage
    """Its cost included, once it is known."""


class OpenAIModel:
    """One server and one or two models on it. The key goes to that server and nowhere else: nothing ever shows it."""

    def __init__(self, settings: ModelSettings, key: str = "", prompts: Path | None = None):
        """`prompts`: a folder whose prompts win over ours. Raises ModelError where there is neither key nor server."""
        if not key and not settings.base_url:
            raise ModelError("There is no OPENAI_API_KEY; set it, or GRS_BASE_URL for a server of your own.")
        self.settings = settings
        self.name = settings.model or DEFAULT
        self.sees = settings.pictures
        self.ceiling_usd = settings.ceiling_usd
        self._where = host(settings.base_url)
        self._prompts = prompts
        self._shapes: dict[str, Shape] = {}
        self._blind: dict[str, str] = {}
        self._failures = Failures(self._where, key, settings.timeout)
        self._breaker = Breaker(self._where, settings.give_up_after, settings.rest)
        self._gate = asyncio.Semaphore(settings.concurrency)
        self._client = openai.AsyncOpenAI(
            api_key=key or "none",
            base_url=settings.base_url or None,
            timeout=settings.timeout + 5,  # the whole call has its own limit, which comes first
            max_retries=settings.retries,
            http_client=openai.DefaultAsyncHttpxClient(transport=Bounded(4_000_000 + 1000 * settings.longest_answer)),
        )

    def source_of(self, kind: str) -> str:
        """Name of the model that answers this kind of question."""
        return (kind in CODE and self.settings.code_model) or self.name

    def memo_key(self, question: Question) -> str:
        """The same for requests that are the same: model, wording, pictures, settings."""
        try:
            text, _ = self._wording(question)
        except ModelError:
            return ""
        s = self.settings
        told = [self._where, self.source_of(question.kind), s.temperature, s.reasoning_effort, s.picture_side, text]
        told += [question.answer.model_json_schema(), fingerprint(question)]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:32]

    def shown(self, question: Question) -> dict[str, Any]:
        """What the trace says of a request before it is answered. Raises ModelError."""
        text, version = self._wording(question)
        request = self._request(question, text)
        cost = price(self.settings, request.model)
        told = {
            "may_cost_usd": cost and (1 + AGAIN) * cost.of(request.most_tokens, self.settings.longest_answer),
            "llm.provider": self._where,
            "llm.prompt_template.version": version,
            "llm.invocation_parameters": json.dumps(request.parameters),
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.contents.0.message_content.type": "text",
            "llm.input_messages.0.message.contents.0.message_content.text": text,
        }
        return told

    def ask(self, question: Question) -> BaseModel:
        """An instance of question.answer. Raises ModelError, with the reply as it came where there was one; Stopped."""
        flight = current() or Flight("", question, Live())
        text, _ = self._wording(question)
        request = self._request(question, text)
        fields = tuple(question.answer.model_fields)
        problem, reply, attempts = "", Reply("", "", Usage()), []
        total = Usage(0, 0, 0.0)
        for _ in range(1 + AGAIN):
            reply = self._seen(request, flight)
            total = total.plus(reply.usage)
            flight.notes |= _told(reply, total)
            try:
                return question.answer.model_validate(recover(reply.text, fields))
            except ValueError as error:  # a ValidationError is one too
                problem = _said(error) + (
                    " (the answer was cut off at its longest)" if reply.finish == "length" else ""
                )
            attempts.append({"output": kept(reply.text), "problem": problem})
            note(attempts=attempts)
            request = request.again(reply.text, WRONG.format(error=problem))
        first = " ".join(problem.split())[:200]
        raise ModelError(
            self._failures.hide(f"{request.model} answered {1 + AGAIN} times with what cannot be used: {first}"),
            self._failures.hide(kept(reply.text)),
        )

    @property
    def form(self) -> str:
        """How its answers are asked for, as far as is known: one of request.FORMS."""
        return self._shapes[self.name].form if self.name in self._shapes else Shape.first(self.settings).form

    async def listed(self) -> dict[str, dict[str, Any]] | None:
        """What the server says of each of its models, by name; None where it has no such list. Raises ModelError."""
        try:
            async with asyncio.timeout(self.settings.timeout):
                page = await self._client.models.list()
            return {one.id: one.model_dump() for one in page.data}
        except (openai.NotFoundError, TypeError, AttributeError):
            return None
        except Exception as error:
            raise self._failures.told(error, self.name) from None

    def close(self) -> None:
        """Closes its connections."""
        asyncio.run_coroutine_threadsafe(self._client.close(), connection.loop()).result(5)

    def _wording(self, question: Question) -> tuple[str, str]:
        """The prompt as it is sent, and its version."""
        if question.wording:
            return question.wording, f"own {hashlib.sha256(question.wording.encode()).hexdigest()[:12]}"
        prompt = load(question.kind, self._prompts)
        return prompt.fill(question.data), prompt.version

    def _request(self, question: Question, text: str) -> Request:
        model = self.source_of(question.kind)
        shape = self._shapes.setdefault(model, Shape.first(self.settings))
        return Request.of(model, question, text, self.settings, shape)

    def _seen(self, request: Request, flight: Flight) -> Reply:
        """One reply; pictures that can be done without are left out once the model turns out to see none."""
        try:
            return self._answered(request, flight)
        except ModelError:
            if request.must_see or not request.picture_tokens or request.model not in self._blind:
                raise
            return self._answered(request, flight)

    def _answered(self, request: Request, flight: Flight) -> Reply:
        """One reply; counted, paid, and its failures told. Raises ModelError, Stopped."""
        if request.picture_tokens and (why := self._blind.get(request.model)):
            if request.must_see:
                raise ModelError(why)
            request = request.blind()
        self._breaker.check()
        cost = price(self.settings, request.model)
        reserved = flight.purse.reserve(cost and cost.of(request.most_tokens, self.settings.longest_answer))
        paid: float | None = None
        try:
            reply = connection.run(self._call(request, flight), flight)
            usage = reply.usage.plausible(request.most_tokens, self.settings.longest_answer, reply.text).priced(cost)
            paid = usage.cost
            self._breaker.worked()
            return replace(reply, usage=usage)
        except CallCancelled:
            raise
        except Exception as error:
            # `from None`: the cause may carry the request, and with it the key
            failure = self._failures.told(error, request.model, flight.text)
            paid = 0.0 if isinstance(error, openai.APIStatusError) else None  # refused before any work
            failure = self._learn(error, failure, request)
            flight.notes = {name: v for name, v in flight.notes.items() if not name.startswith("llm.token_count")}
            raise failure from None
        finally:
            flight.notes["counted_usd"] = flight.notes.get("counted_usd", 0.0) + (reserved if paid is None else paid)
            flight.purse.settle(reserved, paid)

    def _learn(self, error: Exception, failure: ModelError, request: Request) -> ModelError:
        """What a failure says about the server, that it sees no pictures or is in trouble; the failure to tell."""
        status = getattr(error, "status_code", 0)
        said = str(getattr(error, "message", "")).lower()
        if request.picture_tokens and status and any(word in said for word in ("image", "vision", "multimodal")):
            self._blind[request.model] = (
                f"{request.model} sees no pictures ({self._where} said: {self._failures.short(error)}); choose a model "
                "that does, or go on as measured."
            )
            return ModelError(self._blind[request.model], failure.raw)
        if not isinstance(error, Refused) and status not in (400, 422):
            self._breaker.failed(str(failure))
        return failure

    async def _call(self, request: Request, flight: Flight) -> Reply:
        """One reply, whatever form of question the server turns out to understand."""
        async with self._gate, asyncio.timeout(self.settings.timeout):
            left = self.settings.retries
            while True:
                flight.anew()
                try:
                    return await self._streamed(request, flight)
                except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                    shape = request.shape.without(str(error))
                    if shape is None:
                        raise
                    self._shapes[request.model] = shape
                    request = request.shaped(shape)
                except BrokenOff:
                    if not left:
                        raise
                    left -= 1

    async def _streamed(self, request: Request, flight: Flight) -> Reply:
        create = self._client.chat.completions.with_streaming_response.create
        async with create(**request.body()) as response:
            if "event-stream" not in response.headers.get("content-type", ""):
                return _whole(await response.text(), flight, self._where)
            try:
                return await self._read(await response.parse(), request, flight)
            except openai.APIConnectionError:
                raise BrokenOff from None

    async def _read(self, stream: Any, request: Request, flight: Flight) -> Reply:
        text, refusal, finish, usage, began = "", "", "", Usage(), time.monotonic()
        async for chunk in stream:
            usage = Usage.of(chunk.usage) if chunk.usage else usage
            for choice in (chunk.choices or [])[:1]:
                if piece := request.piece(choice.delta):
                    if not text:
                        flight.notes["first_token_seconds"] = round(time.monotonic() - began, 3)
                    text += piece
                    flight.arrived(piece)
                refusal += getattr(choice.delta, "refusal", None) or ""
                finish = choice.finish_reason or finish
        if refusal:
            raise Refused(f"{request.model} refused to answer: {refusal[:200]}", refusal)
        return Reply(well_formed(text), finish, usage)


def _whole(body: str, flight: Flight, where: str) -> Reply:
    """The reply of a server that does not stream. Raises ModelError for what is none."""
    try:
        completion = ChatCompletion.model_validate_json(body)
        message = completion.choices[0].message
    except (ValidationError, IndexError):
        raise ModelError(f"{where} does not speak the OpenAI API; check GRS_BASE_URL.", kept(body)) from None
    if message.refusal:
        raise Refused(f"The model refused to answer: {message.refusal[:200]}", message.refusal)
    calls = message.tool_calls or []
    text = message.content or next((c.function.arguments for c in calls if c.type == "function"), "")
    text = well_formed(text)
    flight.arrived(text)
    usage = Usage.of(completion.usage) if completion.usage else Usage()
    return Reply(text, completion.choices[0].finish_reason or "", usage)


def _told(reply: Reply, total: Usage) -> dict[str, Any]:
    """What the trace says of a reply, and of all so far together."""
    told = {
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": kept(reply.text),
        "llm.finish_reason": reply.finish,
    }
    return told | total.attributes


def _said(error: ValueError) -> str:
    """Why an answer does not fit, for the model that has to answer again."""
    if not isinstance(error, ValidationError):
        return str(error)
    told = [f"{'.'.join(map(str, one['loc'])) or 'the answer'}: {one['msg']}" for one in error.errors()]
    return "; ".join(told)[:1000]
