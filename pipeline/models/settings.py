"""Model settings: which model, on which server, with which limits. They never contain a key."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

from pipeline.errors import reason_of
from pipeline.models.model import PICTURED_KINDS, Effort, ModelError, Service
from pipeline.secret_environment import environment_value
from pipeline.store import StoreError, read_json, write_json

DEFAULT_MODEL = "gpt-4o"
"""The model of the GRS paper's results."""
OPENAI_URL = "https://api.openai.com/v1"
"""Address of the server unless another is set."""
SETTINGS_FILE = "model.json"
SCHEMA = 1
"""Version of the settings' file."""
"""File in the workspace with the settings chosen in the app."""
ENVIRONMENT_VARIABLES = {
    "GRS_MODEL": "model",
    "GRS_CODE_MODEL": "code_model",
    "GRS_BASE_URL": "base_url",
    "GRS_TIMEOUT": "timeout",
    "GRS_TEMPERATURE": "temperature",
    "GRS_REASONING_EFFORT": "reasoning_effort",
    "GRS_CEILING_USD": "ceiling_usd",
    "GRS_CONCURRENCY": "concurrency",
    "GRS_LONGEST_ANSWER": "longest_answer",
    "GRS_PICTURES_FOR": "pictures_for",
    "GRS_EXAMPLES": "examples",
}
"""Environment variables that set a field. OPENAI_API_KEY is read where it is used and never stored."""


@dataclass(frozen=True)
class ModelSettings:
    """All settings of models. Raises ModelError that names a wrong field and its range."""

    service: Service = "offline"
    """"offline" (rules), "openai" (any server with the OpenAI API), or "replay" (a recorded trace)."""
    model: str = ""
    """Name of the model on the server; empty for DEFAULT_MODEL."""
    code_model: str = ""
    """Name of the model that writes, routes and repairs programs; empty for the same model."""
    base_url: str = ""
    """Address of the server; empty for OpenAI."""
    trace: str = ""
    """Path of the trace.jsonl to replay."""
    temperature: float | None = None
    """None for the server's default."""
    reasoning_effort: Effort = ""
    """Empty for the server's default."""
    timeout: float = 60.0
    """Seconds for one call including network retries; each correction of an unusable answer is a new call."""
    retries: int = 2
    """Retries within that time if the server is busy, fails or cannot be reached."""
    concurrency: int = 4
    """Maximum number of simultaneous calls."""
    give_up_after: int = 3
    """Consecutive failures after which the server is not called for a while."""
    rest: float = 30.0
    """Seconds for which it is then not called."""
    ceiling_usd: float | None = None
    """Maximum cost of all calls of a project, in USD; None for no ceiling."""
    usd_per_million_in: float | None = None
    """Price of a million prompt tokens; None for the price list's."""
    usd_per_million_out: float | None = None
    """Price of a million answer tokens; None for the price list's."""
    longest_answer: int = 8192
    """Maximum tokens of one answer, reasoning included."""
    pictures: bool = True
    """Whether the model gets pictures; without them, objects are described and matched from measurements."""
    picture_side: int = 1024
    """Maximum longer side of a picture, in pixels."""
    pictures_for: str = "all"
    """Kinds of PICTURED_KINDS that get the photograph, separated by spaces or commas; "all" or "none"."""
    examples: int = 1
    """Number of solved programs that go along as examples when a program is written."""

    def __post_init__(self):
        for problem in _problems(self):
            raise ModelError(problem)

    @property
    def picture_kinds(self) -> frozenset[str]:
        """Kinds of questions that get the photograph with numbered objects."""
        named = self.pictures_for.replace(",", " ").split()
        return frozenset(PICTURED_KINDS if named == ["all"] else () if named == ["none"] else named)

    @property
    def paid(self) -> bool:
        """Whether calls go to a server."""
        return self.service == "openai"

    @staticmethod
    def from_environment(workspace: Path | None = None, **flags: Any) -> "ModelSettings":
        """Return the settings from flags, environment, workspace and defaults, in this order of precedence.

        GRS_MODEL alone implies the service "openai"; it may also be "offline" or "replay:TRACE". Raises ModelError.
        """
        saved = asdict(load_settings(workspace)) if workspace else {}
        environment = {
            field: value for name, field in ENVIRONMENT_VARIABLES.items() if (value := environment_value(name))
        }
        overrides = {name: value for name, value in flags.items() if value is not None}
        if "model" in environment and "service" not in overrides:
            environment |= service_from_name(environment["model"])
        return parse_settings(saved | environment | overrides)


def service_from_name(name: str) -> dict[str, str]:
    """Return the fields service, model and trace for "offline", "openai", "replay:TRACE" or a model's name."""
    if name in ("offline", "openai"):
        return {"service": name, "model": ""}
    if name.startswith("replay:"):
        return {"service": "replay", "trace": name.removeprefix("replay:"), "model": ""}
    return {"service": "openai", "model": name}


def parse_settings(values: Mapping[str, Any]) -> ModelSettings:
    """Return settings from values that may be strings, as from a form or the environment. Raises ModelError."""
    kinds = {field.name: field.type for field in fields(ModelSettings)}
    if unknown := set(values) - set(kinds):
        raise ModelError(f"There is no model setting {', '.join(sorted(unknown))}; settings are: {', '.join(kinds)}.")
    return ModelSettings(**{name: _value(name, kinds[name], value) for name, value in values.items()})


def load_settings(workspace: Path) -> ModelSettings:
    """Return the workspace's saved settings, or the defaults. Raises ModelError for a file that cannot be read."""
    file = workspace / SETTINGS_FILE
    try:
        saved = read_json(file, SCHEMA) or {}
        known = {field.name for field in fields(ModelSettings)}
        return parse_settings({name: value for name, value in saved.items() if name in known})
    except (StoreError, ValueError, AttributeError) as error:
        raise ModelError(
            f"{file.name} in the workspace cannot be read ({reason_of(error)}); repair or delete it."
        ) from None


def save_settings(settings: ModelSettings, workspace: Path) -> Path:
    """Save the settings in the workspace and return the file."""
    values = asdict(replace(settings, base_url=strip_credentials(settings.base_url)))
    write_json(workspace / SETTINGS_FILE, {"schema": SCHEMA, **values})
    return workspace / SETTINGS_FILE


def strip_credentials(url: str) -> str:
    """Return an address without user and password."""
    scheme, mark, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}" if mark else url


def _value(name: str, kind: Any, value: Any) -> Any:
    if kind is str and not isinstance(value, str):
        raise ModelError(f"The model's {name} is {value!r:.60}; it takes a text.")
    if not isinstance(value, str) or kind is str or name in ("service", "reasoning_effort"):
        return value.strip() if isinstance(value, str) else value
    if not value.strip():
        return None
    if kind is bool:
        return value.strip().lower() in ("1", "true", "yes", "on")
    try:
        return int(value) if kind is int else float(value)
    except ValueError:
        variable = next((v for v, field in ENVIRONMENT_VARIABLES.items() if field == name), name)
        expected = {"timeout": "seconds, as in GRS_TIMEOUT=60"}.get(name, "a number")
        raise ModelError(f"{variable} is {value!r:.60}; it takes {expected}.") from None


def _problems(s: ModelSettings) -> list[str]:
    """Return one sentence for each invalid setting."""
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
        ("examples", s.examples, 0, 10),
    ]
    optional = {"temperature", "ceiling_usd", "usd_per_million_in", "usd_per_million_out"}
    problems = [
        f"The model's {name} is {value!r:.60}; it takes a number from {low:g} to {high:g}."
        for name, value, low, high in numbers
        if not (value is None and name in optional) and not (isinstance(value, int | float) and low <= value <= high)
    ]
    if unknown := sorted(s.picture_kinds - set(PICTURED_KINDS)):
        problems.append(
            f"No picture can go along with {', '.join(unknown)[:60]} (GRS_PICTURES_FOR); it takes all, none, or some "
            f"of: {', '.join(PICTURED_KINDS)}."
        )
    if s.service not in get_args(Service):
        problems.append(f"There is no model service {s.service!r:.60}; there are: {', '.join(get_args(Service))}.")
    if s.reasoning_effort not in get_args(Effort):
        efforts = ", ".join(filter(None, get_args(Effort)))
        problems.append(f"The reasoning effort is {s.reasoning_effort!r:.60}; it takes {efforts}, or nothing.")
    if s.base_url and not is_web_address(s.base_url):
        problems.append(
            "The model's address (GRS_BASE_URL) must begin with http:// or https:// and usually ends in /v1; "
            "it takes no '?' or '#', and a key belongs in OPENAI_API_KEY."
        )
    return problems


def is_web_address(address: str) -> bool:
    """Whether an address names a server and a path, and nothing after them."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not (set("?#") & set(address))
