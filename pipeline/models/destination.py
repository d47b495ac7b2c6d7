"""Where a model's questions go: inside the studio, to a server on this machine, or to another machine."""

import ipaddress
import os
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from pipeline.models.model import Model, ModelError
from pipeline.models.settings import DEFAULT_MODEL, OPENAI_URL, ModelSettings

SendPolicy = Literal["ask", "allow", "never", "always"]
"""Whether projects may be sent to other machines: ask about each, yes unless declined, or no. "always" is for a command
that names the model: it counts for that run, whatever was decided in the app."""
POLICY_VARIABLE = "GRS_SEND"
POLICIES: tuple[SendPolicy, ...] = ("ask", "allow", "never")
"""Values that POLICY_VARIABLE takes."""


@dataclass(frozen=True)
class Destination:
    """The server that a model's questions are sent to."""

    address: str
    """Scheme, host and port: "https://api.openai.com"."""
    models: tuple[str, ...]
    """Names of the models that are asked there."""
    is_this_machine: bool
    """Whether the server runs here and passes nothing on, as far as its address and prices show."""


def destination_of(model: Model) -> Destination | None:
    """Return the server that a model sends its questions to; None if they are answered inside the studio."""
    settings = getattr(model, "settings", None)
    if not isinstance(settings, ModelSettings) or not settings.paid:
        return None
    names = dict.fromkeys((settings.model or DEFAULT_MODEL, settings.code_model or settings.model or DEFAULT_MODEL))
    has_price = bool(settings.usd_per_million_in or settings.usd_per_million_out)
    # a local server that costs money is a proxy: what it gets goes on to another machine
    is_this_machine = is_loopback(settings.base_url or OPENAI_URL) and not has_price
    return Destination(origin(settings.base_url or OPENAI_URL), tuple(names), is_this_machine)


def origin(address: str) -> str:
    """Return scheme, host and port of an address, without user and password."""
    parts = urlsplit(address)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port else "")


def is_loopback(address: str) -> bool:
    """Whether an address can only be this machine: localhost, 127.0.0.0/8 or ::1."""
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def policy_from_environment() -> SendPolicy:
    """Return the policy in GRS_SEND, "ask" if it is not set. Raises ModelError for any other value."""
    value = os.environ.get(POLICY_VARIABLE, "").strip().lower() or "ask"
    if value not in POLICIES:
        raise ModelError(f"{POLICY_VARIABLE} is '{value}'; it takes {', '.join(POLICIES)}.")
    return POLICIES[POLICIES.index(value)]


def check_policy(model: Model) -> None:
    """Raise ModelError if the policy forbids the model's server."""
    destination = destination_of(model)
    if destination and not destination.is_this_machine and policy_from_environment() == "never":
        raise ModelError(
            f"{POLICY_VARIABLE}=never: nothing may be sent to {destination.address}; choose a server on this machine, "
            "or the offline rules (--model offline)."
        )
