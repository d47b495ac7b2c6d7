"""What a server can do, found by trying: the "Test connection" of the Models panel."""

import os
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel

from pipeline.models import connection
from pipeline.models.live import Flight, Live, enter, leave
from pipeline.models.model import ModelError, Question
from pipeline.models.openai_client import OpenAIModel
from pipeline.models.settings import ModelSettings

WHAT = ("reachable", "answers", "keeps a schema", "streams", "sees pictures", "context length")
"""What is tried, in this order."""
NEEDED = 16_000
"""Tokens of context that the longest questions want, which are those about programs."""
CONTEXT = ("max_model_len", "context_length", "max_context_length", "n_ctx", "context_window")
"""How servers call a model's context length in their list of models."""
LONGEST = 200
"""Tokens of a test's answer."""
COUNT = "Answer with the numbers from one to nine, in order, in `numbers`, and your own name in `who`."
LOOK = "The picture has two halves, each of one colour. Answer with the colours of its left and its right half."
Colour = Literal["red", "green", "blue", "yellow", "black", "white"]


class Counted(BaseModel):
    numbers: list[int]
    who: str


class Halves(BaseModel):
    left: Colour
    right: Colour


@dataclass(frozen=True)
class Finding:
    """One thing that was tried."""

    what: str
    """One of WHAT."""
    ok: bool | None
    """None: could not be told."""
    sentence: str
    """What was found, and what to do where it is wrong; never holds the key."""
    seconds: float = 0.0


def probe(settings: ModelSettings, key: str = "", model: str = "") -> Iterator[Finding]:
    """One finding after the other, as each is known; ends early where nothing more can be tried.

    `key` is the server's; empty takes OPENAI_API_KEY. `model` tries another than settings.model, as the code model.
    """
    if settings.service != "openai":
        yield Finding(WHAT[0], True, "Nothing to connect to: the answers come from this program itself.")
        return
    brief = replace(settings, model=model or settings.model, longest_answer=LONGEST, retries=0, ceiling_usd=None)
    try:
        tried = OpenAIModel(brief, key or os.environ.get("OPENAI_API_KEY", ""))
    except ModelError as error:
        yield Finding(WHAT[0], False, str(error))
        return
    with closing(tried):
        listed = _listed(tried)
        yield listed.finding
        if listed.finding.ok is False:
            return
        went = _ask(tried, Question("probe", {}, Counted, wording=COUNT))
        yield _answers(tried.name, went)
        if went.answer is None and not went.arrived:
            return
        yield _schema(tried, went)
        yield _streams(went)
        yield _sees(tried)
        yield _context(listed.entry)


@dataclass(frozen=True)
class Listed:
    finding: Finding
    entry: dict[str, Any]
    """What the server says of the model."""


@dataclass(frozen=True)
class Went:
    """How one question went."""

    answer: Any
    error: str
    pieces: int
    """In how many the answer came."""
    attempts: int
    arrived: str
    seconds: float


def _listed(model: OpenAIModel) -> Listed:
    began = time.monotonic()
    try:
        told = connection.run(model.listed(), Flight("", Question("probe", {}, Counted), Live()))
    except ModelError as error:
        return Listed(Finding(WHAT[0], False, str(error), time.monotonic() - began), {})
    took = time.monotonic() - began
    if told is None:
        return Listed(Finding(WHAT[0], True, "The server answers; it does not list its models.", took), {})
    if model.name in told:
        return Listed(Finding(WHAT[0], True, f"The server answers and has {model.name}.", took), told[model.name])
    there = ", ".join(list(told)[:6]) or "none"
    sentence = f"The server answers, but its list has no {model.name}; it has: {there}."
    return Listed(Finding(WHAT[0], None, sentence, took), next(iter(told.values()), {}) if len(told) == 1 else {})


def _ask(model: OpenAIModel, question: Question) -> Went:
    pieces: list[str] = []
    flight = Flight("", question, Live(watch=lambda flight: pieces.append(flight.text)))
    token, began, answer, error = enter(flight), time.monotonic(), None, ""
    try:
        answer = model.ask(question)
    except ModelError as failure:
        error = str(failure)
    finally:
        leave(token)
    attempts = 1 + len(flight.notes.get("attempts", ()))
    return Went(answer, error, len(set(pieces) - {""}), attempts, flight.text, time.monotonic() - began)


def _answers(name: str, went: Went) -> Finding:
    if went.answer is None and not went.arrived:
        return Finding(WHAT[1], False, went.error, went.seconds)
    return Finding(WHAT[1], True, f"{name} answers, in {went.seconds:.1f} s.", went.seconds)


def _schema(model: OpenAIModel, went: Went) -> Finding:
    if went.answer is None:
        return Finding(WHAT[2], False, f"Its answers do not fit what was asked for: {went.error}")
    how = {
        "schema": "The server holds answers to a JSON schema.",
        "tool": "Answers come as tool calls, for the server takes no JSON schema.",
        "object": "The server knows JSON, but no schema: answers are checked here, and asked again where they misfit.",
        "words": "The server knows no JSON: answers are asked for in words and checked here.",
    }[model.form]
    again = f" This one had to be asked for {went.attempts} times." if went.attempts > 1 else ""
    return Finding(WHAT[2], went.attempts == 1, how + again)


def _streams(went: Went) -> Finding:
    if went.pieces > 1:
        return Finding(WHAT[3], True, "Answers can be watched as they arrive.")
    return Finding(WHAT[3], False, "Answers come all at once; they cannot be watched as they arrive.")


def _sees(model: OpenAIModel) -> Finding:
    if not model.settings.pictures:
        return Finding(WHAT[4], None, "Pictures are switched off, so it was shown none.")
    picture = np.zeros((256, 256, 3), np.uint8)
    picture[:, :128], picture[:, 128:] = (30, 60, 220), (240, 220, 20)
    went = _ask(model, Question("probe", {}, Halves, (picture,), must_see=True, wording=LOOK))
    if went.answer is None:
        return Finding(WHAT[4], False, went.error, went.seconds)
    said = f"{went.answer.left} and {went.answer.right}"
    if said == "blue and yellow":
        return Finding(WHAT[4], True, "It sees pictures: it named the colours of one.", went.seconds)
    sentence = f"It takes pictures but does not see them: it called blue and yellow {said}."
    return Finding(WHAT[4], False, sentence, went.seconds)


def _context(entry: dict[str, Any]) -> Finding:
    told = {**entry, **(entry.get("meta") or {})} if isinstance(entry.get("meta"), dict) else entry
    known = [told[name] for name in CONTEXT if isinstance(told.get(name), int) and told[name] > 0]
    if not known:
        return Finding(
            WHAT[5], None, f"The server does not say how long a question may be; {NEEDED} tokens are wanted."
        )
    if known[0] < NEEDED:
        sentence = f"Its context of {known[0]} tokens is short: questions about programs want about {NEEDED}."
        return Finding(WHAT[5], False, sentence)
    return Finding(WHAT[5], True, f"Its context of {known[0]} tokens is enough.")
