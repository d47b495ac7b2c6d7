"""Matchers that ask a model: a verdict on the measured candidates, or a choice by words and pictures as in GRS."""

from dataclasses import replace

from pipeline.description import Description
from pipeline.matching import Match
from pipeline.matching.model.correspondence import QUESTION_KINDS, SHORTLIST_SIZE, correspond
from pipeline.matching.model.verdict import MAX_SHOWN, QUESTION_KIND, ChoiceAnswer, choose_with_model, question

__all__ = [
    "MAX_SHOWN",
    "QUESTION_KIND",
    "QUESTION_KINDS",
    "SHORTLIST_SIZE",
    "ChoiceAnswer",
    "choose_with_model",
    "correspond",
    "is_clear_match",
    "is_denied",
    "keep_if_matched",
    "question",
]


def is_denied(measured: Description, described: Description) -> bool:
    """Whether a model says that what was measured as an object is none. A person's verdict is never a denial."""
    is_models = described.source not in ("measured", "human") and not described.mask_answer.get("held")
    return measured.is_object and not described.is_object and is_models


def is_clear_match(found: Match) -> bool:
    """Whether a measured match is so clear that what was taken for no object is one."""
    return found.asset_id is not None and (found.confidence or 0.0) >= 0.9


def keep_if_matched(described: Description, found: Match) -> Description:
    """Return a denied object as an object, with a warning, if its measured match is clear; else as it is described."""
    if not is_clear_match(found):
        return described
    warning = f"{described.source} says that this is not an object, but it clearly matches an asset"
    return replace(described, is_object=True, warnings=(*described.warnings, warning))
