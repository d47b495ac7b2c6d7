"""What asking a model about a project takes, said before it begins: nothing dear is asked before a person agreed."""

import ipaddress
from urllib.parse import urlsplit

from pipeline.choosing import KINDS
from pipeline.matching import Matcher
from pipeline.models.budget import Estimate, estimate_questions, estimate_step
from pipeline.models.settings import ModelSettings

BY_ITSELF = ("descriptions", "matches", "task")
"""Stages that run as soon as a project is opened."""
LARGE = 0.05
"""US dollars from which a person is asked first."""


def first(settings: ModelSettings | None, objects: int, matcher: Matcher = "all") -> str:
    """What a project of so many objects would take, where a person shall agree to it first; else empty."""
    if settings is None or not settings.paid or not objects:
        return ""
    steps = {stage: estimate_step(settings, stage, objects) for stage in BY_ITSELF}
    if matcher == "embedding":
        del steps["matches"]
    elif matcher in KINDS:
        steps["matches"] = estimate_questions(settings, {KINDS[matcher]: objects})
    whole = together(list(steps.values()))
    if whole.usd is None:
        return "" if _own(settings.base_url) else whole.sentence
    return whole.sentence if whole.usd >= LARGE else ""


def together(steps: list[Estimate]) -> Estimate:
    """Several steps about the same things as one; what is unknown of one is unknown of all."""
    usd = None if any(one.usd is None for one in steps) else sum(one.usd or 0.0 for one in steps)
    prompt, completion = sum(one.prompt_tokens for one in steps), sum(one.completion_tokens for one in steps)
    return Estimate(steps[0].things, sum(one.calls for one in steps), prompt, completion, usd)


def generating(settings: ModelSettings | None, objects: int) -> str:
    """What writing and repairing a program usually takes; empty where nobody is asked for money."""
    if settings is None or not settings.paid:
        return ""
    calls, usd = (one := estimate_step(settings, "rounds", objects)).calls, one.usd
    return f"Generating takes about {calls} calls" + ("." if usd is None else f", {one.sentence.rpartition(', ')[2]}.")


def _own(address: str) -> bool:
    """Whether a server is on this machine or in this house, where nobody sends a bill."""
    name = urlsplit(address).hostname or "api.openai.com"
    try:
        return ipaddress.ip_address(name).is_private
    except ValueError:
        return name == "localhost" or "." not in name or name.endswith((".local", ".lan", ".internal"))
