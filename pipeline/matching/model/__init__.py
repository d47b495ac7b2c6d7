"""Matchers that ask a model: a verdict on the measured candidates, or a choice by words and pictures as in GRS."""

from pipeline.matching.model.correspondence import QUESTION_KINDS, SHORTLIST_SIZE, correspond
from pipeline.matching.model.denied_objects import is_denied, keep_if_matched
from pipeline.matching.model.verdict import MAX_SHOWN, QUESTION_KIND, ChoiceAnswer, choose_with_model, question

__all__ = [
    "MAX_SHOWN",
    "QUESTION_KIND",
    "QUESTION_KINDS",
    "SHORTLIST_SIZE",
    "ChoiceAnswer",
    "choose_with_model",
    "correspond",
    "is_denied",
    "keep_if_matched",
    "question",
]
