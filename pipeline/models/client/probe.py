"""Test what a server supports: the "Test connection" of the Models panel."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel

from pipeline.models.client import connection
from pipeline.models.client.openai_client import OpenAIModel
from pipeline.models.in_flight import InFlightCall, InFlightCalls, enter_call, leave_call
from pipeline.models.model import ModelError, Question
from pipeline.models.settings import ModelSettings
from pipeline.secret_environment import KEY_VARIABLE, environment_value

CHECKS = ("reachable", "answers", "structured output", "streaming", "vision", "context length")
"""Names of the checks, in order."""
MIN_CONTEXT_TOKENS = 16_000
"""Context length that the longest questions need, those about programs."""
CONTEXT_KEYS = ("max_model_len", "context_length", "max_context_length", "n_ctx", "context_window")
"""Names of a model's context length in servers' lists of models."""
COUNT_PROMPT = "Answer with the numbers from one to nine, in order, in `numbers`, and your own name in `who`."
COLOUR_PROMPT = (
    "The picture has two halves, each of one colour. Answer with the colours of its left and its right half."
)
ColourName = Literal["red", "green", "blue", "yellow", "black", "white"]


class NumbersAnswer(BaseModel):
    """Answer to COUNT_PROMPT."""

    numbers: list[int]
    who: str


class ColoursAnswer(BaseModel):
    """Answer to COLOUR_PROMPT."""

    left: ColourName
    right: ColourName


@dataclass(frozen=True)
class ProbeResult:
    """Result of one check."""

    check: str
    """One of WHAT."""
    ok: bool | None
    """None if it could not be determined."""
    message: str
    """What was found, and what to do about a failure; never contains the key."""
    seconds: float = 0.0


def probe(settings: ModelSettings, key: str = "", model: str = "") -> Iterator[ProbeResult]:
    """Yield the result of each check as it is known; end early if nothing more can be checked.

    `key` is the server's; empty takes OPENAI_API_KEY. `model` replaces settings.model, to test the code model.
    """
    if settings.service != "openai":
        yield ProbeResult(CHECKS[0], True, "No connection needed: this model runs inside the studio.")
        return
    tested = replace(settings, model=model or settings.model, retries=0, ceiling_usd=None)
    try:
        client = OpenAIModel(tested, key or environment_value(KEY_VARIABLE))
    except ModelError as error:
        yield ProbeResult(CHECKS[0], False, str(error))
        return
    with closing(client):
        listing = _list_models(client)
        yield listing.result
        if listing.result.ok is False:
            return
        outcome = _ask(client, Question("probe", {}, NumbersAnswer, prompt_text=COUNT_PROMPT))
        yield _answers(client.name, outcome)
        if outcome.answer is None and not outcome.received:
            return
        yield _structured_output(client, outcome)
        yield _streaming(outcome)
        yield _vision(client)
        yield _context(listing.entry)


@dataclass(frozen=True)
class ModelListing:
    """The server's list of models."""

    result: ProbeResult
    entry: dict[str, Any]
    """The server's entry for the model."""


@dataclass(frozen=True)
class AskOutcome:
    """Outcome of one question."""

    answer: Any
    error: str
    chunks: int
    """In how many chunks the answer arrived."""
    attempts: int
    received: str
    """Text of the reply."""
    seconds: float


def _list_models(model: OpenAIModel) -> ModelListing:
    start = time.monotonic()
    try:
        models = connection.run_call(
            model.list_models(), InFlightCall("", Question("probe", {}, NumbersAnswer), InFlightCalls())
        )
    except ModelError as error:
        return ModelListing(ProbeResult(CHECKS[0], False, str(error), time.monotonic() - start), {})
    seconds = time.monotonic() - start
    if models is None:
        return ModelListing(
            ProbeResult(CHECKS[0], True, "The server answers; it does not list its models.", seconds), {}
        )
    if model.name in models:
        return ModelListing(
            ProbeResult(CHECKS[0], True, f"The server answers and has {model.name}.", seconds), models[model.name]
        )
    available = ", ".join(list(models)[:6]) or "none"
    message = f"The server answers, but does not list {model.name}; it lists: {available}."
    return ModelListing(
        ProbeResult(CHECKS[0], None, message, seconds), next(iter(models.values()), {}) if len(models) == 1 else {}
    )


def _ask(model: OpenAIModel, question: Question) -> AskOutcome:
    texts: list[str] = []
    call = InFlightCall("", question, InFlightCalls(on_change=lambda call: texts.append(call.text)))
    token, start, answer, error = enter_call(call), time.monotonic(), None, ""
    try:
        answer = model.ask(question)
    except ModelError as failure:
        error = str(failure)
    finally:
        leave_call(token)
    attempts = 1 + len(call.notes.get("attempts", ()))
    return AskOutcome(answer, error, len(set(texts) - {""}), attempts, call.text, time.monotonic() - start)


def _answers(name: str, outcome: AskOutcome) -> ProbeResult:
    if outcome.answer is None and not outcome.received:
        return ProbeResult(CHECKS[1], False, outcome.error, outcome.seconds)
    return ProbeResult(CHECKS[1], True, f"{name} answers, in {outcome.seconds:.1f} s.", outcome.seconds)


def _structured_output(model: OpenAIModel, outcome: AskOutcome) -> ProbeResult:
    if outcome.answer is None:
        return ProbeResult(CHECKS[2], False, f"Its answers do not fit the requested format: {outcome.error}")
    support = {
        "schema": "The server enforces the JSON schema.",
        "tool": "Answers come as tool calls: the server does not support JSON schemas.",
        "object": "The server supports JSON but no schema: answers are checked and repeated if they do not fit.",
        "words": "The server does not support JSON: the prompt asks for it, and answers are checked here.",
    }[model.answer_format]
    attempts = f" The test took {outcome.attempts} attempts." if outcome.attempts > 1 else ""
    return ProbeResult(CHECKS[2], outcome.attempts == 1, support + attempts)


def _streaming(outcome: AskOutcome) -> ProbeResult:
    if outcome.chunks > 1:
        return ProbeResult(CHECKS[3], True, "Answers are shown as they arrive.")
    return ProbeResult(CHECKS[3], False, "Answers arrive all at once.")


def _vision(model: OpenAIModel) -> ProbeResult:
    if not model.settings.pictures:
        return ProbeResult(CHECKS[4], None, "Not tested: pictures are switched off.")
    picture = np.zeros((256, 256, 3), np.uint8)
    picture[:, :128], picture[:, 128:] = (30, 60, 220), (240, 220, 20)
    outcome = _ask(
        model, Question("probe", {}, ColoursAnswer, (picture,), needs_vision=True, prompt_text=COLOUR_PROMPT)
    )
    if outcome.answer is None:
        return ProbeResult(CHECKS[4], False, outcome.error, outcome.seconds)
    colours = f"{outcome.answer.left} and {outcome.answer.right}"
    if colours == "blue and yellow":
        return ProbeResult(CHECKS[4], True, "It named the colours of a test picture.", outcome.seconds)
    message = f"It accepts pictures but does not see them: it called blue and yellow {colours}."
    return ProbeResult(CHECKS[4], False, message, outcome.seconds)


def _context(entry: dict[str, Any]) -> ProbeResult:
    facts = {**entry, **(entry.get("meta") or {})} if isinstance(entry.get("meta"), dict) else entry
    lengths = [facts[name] for name in CONTEXT_KEYS if isinstance(facts.get(name), int) and facts[name] > 0]
    if not lengths:
        return ProbeResult(
            CHECKS[5], None, f"The server does not report its context length; {MIN_CONTEXT_TOKENS} tokens are needed."
        )
    if lengths[0] < MIN_CONTEXT_TOKENS:
        message = (
            f"Its context of {lengths[0]} tokens is short: questions about programs need about {MIN_CONTEXT_TOKENS}."
        )
        return ProbeResult(CHECKS[5], False, message)
    return ProbeResult(CHECKS[5], True, f"Its context of {lengths[0]} tokens is enough.")
