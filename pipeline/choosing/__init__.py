"""Which asset an object is, as a model says: a verdict on measured candidates, or GRS's object correspondence."""

from pipeline.choosing.correspondence import KINDS, SHORTLIST, correspond
from pipeline.choosing.verdict import KIND, SHOWN, ChoiceAnswer, choose_by, question

__all__ = ["KIND", "KINDS", "SHORTLIST", "SHOWN", "ChoiceAnswer", "choose_by", "correspond", "question"]
