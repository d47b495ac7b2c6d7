"""Variations of a twin within plausible ranges, and what a robot's success depends on."""

from pipeline.variation.condition import Condition, VariationError, condition_id, draw, parse_id
from pipeline.variation.sensitivity import Effect, Share, effects, wilson
from pipeline.variation.study import Outcome, Perform, VariationStudy, VariedStart, by_oracle

__all__ = [
    "Condition",
    "Effect",
    "Outcome",
    "Perform",
    "Share",
    "VariationError",
    "VariationStudy",
    "VariedStart",
    "by_oracle",
    "condition_id",
    "draw",
    "effects",
    "parse_id",
    "wilson",
]
