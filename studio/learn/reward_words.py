"""Reward terms and success conditions in plain words, in the language of the page."""

from pipeline.learning.reward_code import compiled
from pipeline.learning.terms import Code, RewardTerm
from pipeline.object_words import ObjectWords
from pipeline.simulation.goals.goal import Goal
from studio.texts import t, translated

TERM_NAMES = {
    "hand_distance": "Hand near {a}",
    "hand_distance part": "Hand near the {part} of {a}",
    "held": "Hand holds {a}",
    "held part": "Hand holds the {part} of {a}",
    "lifted": "{a} lifted by {height} cm",
    "approach": "Towards the place: {goal}",
    "goal_distance": "Goal is near: {goal}",
    "released": "Met and let go: {goal}",
    "joint_target": "{part} of {a} moved to {share} %",
    "upright": "{a} stays upright",
    "others_still": "Other objects stay where they are",
    "energy": "Little effort",
}
SUBTASK_TITLES = {
    "reach": "Reach {a}",
    "pick": "Pick {a}",
    "place": "Place {a}",
    "push": "Push {a}",
    "open": "Open {a}",
    "shut": "Shut {a}",
}
"""By the verb with which the name of a subtask begins."""


def term_words(term: RewardTerm, words: ObjectWords) -> str:
    """Return what a term rewards, in a few words; its own name for a kind that has no words here."""
    if isinstance(term, Code):
        summary = words.in_words(compiled(term.source).summary)
        return t("Code: {summary}", summary=summary) if summary else t("Reward written as code")
    part = getattr(term, "part", "")
    goals = term.goals
    template = TERM_NAMES.get(f"{term.term} part" if part and term.term in ("hand_distance", "held") else term.term)
    if template is None:
        return term.term
    a = getattr(term, "a", "")
    return t(
        template,
        a=words.of(a) if a else "",
        part=part.replace("_", " "),
        goal=goal_words(goals[0], words) if goals else "",
        height=f"{100 * getattr(term, 'height', 0.0):.0f}",
        share=f"{100 * getattr(term, 'share', 0.0):.0f}",
    )


def goal_words(goal: Goal, words: ObjectWords) -> str:
    """Return a success condition in words."""
    return translated(words.in_words(goal.name).replace("_", " "))


def subtask_title(name: str, words: ObjectWords) -> str:
    """Return the name of a subtask as a title: its verb first."""
    verb, _, rest = name.partition("_")
    a = words.in_words(rest).replace("_", " ")
    if rest and verb in SUBTASK_TITLES:
        return t(SUBTASK_TITLES[verb], a=a)
    return f"{verb.capitalize()} {a}".strip()
