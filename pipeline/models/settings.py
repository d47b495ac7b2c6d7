"""Which model answers, where it is, and how far it may go. Never holds a key, never prints one."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, get_args

from pipeline.models.model import Effort, ModelError, Service
from pipeline.store import StoreError, read_json, write_json

DEFAULT = "gpt-4o"
"""The model GRS reports its numbers with."""
FILE = "model.json"
"""In the workspace: what was chosen in the app."""
ENVIRONMENT = {
    "GRS_MODEL": "model",
    "GRS_CODE_MODEL": "code_model",
    "GRS_BASE_URL": "base_url",
    "GRS_TIMEOUT": "timeout",
    "GRS_TEMPERATURE": "temperature",
    "GRS_REASONING_EFFORT": "reasoning_effort",
    "GRS_CEILING_USD": "ceiling_usd",
    "GRS_CONCURRENCY": "concurrency",
    "GRS_LONGEST_ANSWER": "longest_answer",
}
"""Variables that set a field; OPENAI_API_KEY is read where it is used and kept nowhere."""


@dataclass(frozen=True)
class ModelSettings:
    """Every choice about models. Raises ModelError that names the field and what it takes."""

    service: Service = "offline"
    """"offline" (rules), "openai" (any server that speaks its API), or "replay" (a recorded trace)."""
    model: str = ""
    """Its name on the server; empty for the one GRS reports its numbers with."""
    code_model: str = ""
    """Writes, routes and repairs programs; empty for the same model."""
    base_url: str = ""
    """Empty for OpenAI's own service."""
    trace: str = ""
    """The trace.jsonl that is replayed."""
    temperature: float | None = None
    """None leaves it to the server."""
    reasoning_effort: Effort = ""
    """Empty leaves it to the server."""
    timeout: float = 60.0
    """Seconds for one call, with what the network makes it repeat; an unusable answer is asked again in a new call."""
    retries: int = 2
    """How often a busy, broken or unreachable server is asked again within that time."""
    concurrency: int = 4
    """Calls at the same time, at most."""
    give_up_after: int = 3
    """Questions in a row that a server may fail before it is left alone for a while."""
    rest: float = 30.0
    """Seconds for which it is left alone."""
    ceiling_usd: float | None = None
    """What a project's calls may cost together; None for no ceiling."""
    usd_per_million_in: float | None = None
    """Price of a million tokens asked; None for what the price list knows."""
    usd_per_million_out: float | None = None
    """Price of a million tokens answered."""
    longest_answer: int = 8192
    """Tokens of one answer, at most, thoughts included."""
    pictures: bool = True
    """Whether it is shown pictures: without, objects stay described and matched as measured."""
    picture_side: int = 1024
    """Pixels of a picture's longer side, at most."""

    def __post_init__(self):
        for problem in _problems(self):
            raise ModelError(problem)

    @property
    def paid(self) -> bool:
        """Whether calls leave this program at all."""
        return self.service == "openai"

    @staticmethod
    def from_environment(workspace: Path | None = None, **flags: Any) -> "ModelSettings":
        """Flags that were given, over the environment, over what the workspace keeps, over the defaults.

        GRS_MODEL alone means the service "openai"; "offline" and "replay:TRACE" are taken too. Raises ModelError.
        """
        kept = asdict(load(workspace)) if workspace else {}
        told = {field: os.environ[name] for name, field in ENVIRONMENT.items() if os.environ.get(name)}
        given = {name: value for name, value in flags.items() if value is not None}
        if "model" in told and "service" not in given:
            told |= named(told["model"])
        return from_words(kept | told | given)


def named(name: str) -> dict[str, str]:
    """Service and model of "offline", "replay:TRACE", "openai", or a model's own name."""
    if name in ("offline", "openai"):
        return {"service": name, "model": ""}
    if name.startswith("replay:"):
        return {"service": "replay", "trace": name.removeprefix("replay:"), "model": ""}
    return {"service": "openai", "model": name}


def from_words(said: Mapping[str, Any]) -> ModelSettings:
    """Settings of values that may be words, as a form or the environment gives them. Raises ModelError."""
    kinds = {field.name: field.type for field in fields(ModelSettings)}
    if unknown := set(said) - set(kinds):
        raise ModelError(f"There is no model setting {', '.join(sorted(unknown))}; there are: {', '.join(kinds)}.")
    return ModelSettings(**{name: _value(name, kinds[name], value) for name, value in said.items()})


def load(workspace: Path) -> ModelSettings:
    """What the workspace keeps, else the defaults. Raises ModelError for a file that cannot be read."""
    file = workspace / FILE
    try:
        said = read_json(file) or {}
        known = {field.name for field in fields(ModelSettings)}
        return from_words({name: value for name, value in said.items() if name in known})
    except (StoreError, ValueError, AttributeError) as error:
        raise ModelError(f"{file.name} in the workspace cannot be read ({error}); mend or remove it.") from None


def save(settings: ModelSettings, workspace: Path) -> Path:
    """Keeps the settings, which hold no key, in the workspace; returns the file."""
    write_json(workspace / FILE, asdict(replace(settings, base_url=without_login(settings.base_url))))
    return workspace / FILE


def without_login(url: str) -> str:
    """An address without the user and password it may carry."""
    scheme, mark, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}" if mark else url


def _value(name: str, kind: Any, said: Any) -> Any:
    if not isinstance(said, str) or kind is str or name in ("service", "reasoning_effort"):
        return said.strip() if isinstance(said, str) else said
    if not said.strip():
        return None
    if kind is bool:
        return said.strip().lower() in ("1", "true", "yes", "on")
    try:
        return int(said) if kind is int else float(said)
    except ValueError:
        variable = next((v for v, field in ENVIRONMENT.items() if field == name), name)
        takes = {"timeout": "seconds, as in GRS_TIMEOUT=60"}.get(name, "a number")
        raise ModelError(f"{variable} is '{said}'; it takes {takes}.") from None


def _problems(s: ModelSettings) -> list[str]:
    """What is wrong with the settings, one sentence each."""
    numbers: list[tuple[str, Any, float, float]] = [
        ("timeout", s.timeout, 0.05, 86_400),
        ("temperature", s.temperature, 0, 2),
        ("retries", s.retries, 0, 20),
        ("concurrency", s.concurrency, 1, 64),
        ("give_up_after", s.give_up_after, 1, 1000),
        ("rest", s.rest, 0, 3600),
        ("ceiling_usd", s.ceiling_usd, 0, 1e6),
        ("usd_per_million_in", s.usd_per_million_in, 0, 1e6),
        ("usd_per_million_out", s.usd_per_million_out, 0, 1e6),
        ("longest_answer", s.longest_answer, 16, 1_000_000),
        ("picture_side", s.picture_side, 64, 4096),
    ]
    may_be_none = {"temperature", "ceiling_usd", "usd_per_million_in", "usd_per_million_out"}
    wrong = [
        f"The model's {name} is {value}; it takes a number from {low:g} to {high:g}."
        for name, value, low, high in numbers
        if not (value is None and name in may_be_none) and not (isinstance(value, int | float) and low <= value <= high)
    ]
    if s.service not in get_args(Service):
        wrong.append(f"There is no model service '{s.service}'; there are: {', '.join(get_args(Service))}.")
    if s.reasoning_effort not in get_args(Effort):
        efforts = ", ".join(filter(None, get_args(Effort)))
        wrong.append(f"The reasoning effort is '{s.reasoning_effort}'; it takes {efforts}, or nothing.")
    if s.base_url and not s.base_url.startswith(("http://", "https://")):
        wrong.append("The model's address (GRS_BASE_URL) must begin with http:// or https://, and usually end in /v1.")
    return wrong
