"""What asking a model about a project usually costs, in a sentence."""

from pipeline.matching import MatcherName
from pipeline.matching.model import QUESTION_KINDS
from pipeline.models.costs.budget import Estimate, estimate_questions, estimate_step
from pipeline.models.settings import ModelSettings
from studio.texts import t

AUTOMATIC_STAGES = ("descriptions", "matches", "task")
"""Stages that run as soon as a project is opened."""


def automatic_estimate(settings: ModelSettings, objects: int, matcher: MatcherName = "all") -> str:
    """Return what the questions cost that are asked as soon as a project of so many objects is opened."""
    steps = {stage: estimate_step(settings, stage, objects) for stage in AUTOMATIC_STAGES}
    if matcher == "embedding":
        del steps["matches"]
    elif matcher in QUESTION_KINDS:
        steps["matches"] = estimate_questions(settings, {QUESTION_KINDS[matcher]: objects})
    return add_estimates(list(steps.values())).sentence


def add_estimates(steps: list[Estimate]) -> Estimate:
    """Return the sum of estimates about the same objects; its cost is None if one of theirs is."""
    usd = None if any(step.usd is None for step in steps) else sum(step.usd or 0.0 for step in steps)
    prompt, completion = sum(step.prompt_tokens for step in steps), sum(step.completion_tokens for step in steps)
    return Estimate(steps[0].items, sum(step.calls for step in steps), prompt, completion, usd)


def generation_estimate(settings: ModelSettings | None, objects: int) -> str:
    """Return what writing and repairing a program usually costs; "" for a model that is free."""
    if settings is None or not settings.paid:
        return ""
    estimate = estimate_step(settings, "rounds", objects)
    cost = "." if estimate.usd is None else f", {estimate.sentence.rpartition(', ')[2]}."
    return t("Generating takes about {calls} calls{cost}", calls=estimate.calls, cost=cost)
