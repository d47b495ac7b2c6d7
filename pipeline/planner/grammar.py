"""Words of instructions: polite phrases, verbs, relations and places; clauses and their stages."""

import re

from pipeline.planner.plans import by_colour
from pipeline.planner.references import UnclearPhrase
from pipeline.planner.scene_objects import SceneObject

PLEASE = re.compile(
    r"^(?:(?:hey|hi|hello|ok|okay|now|please|robot|just|and|first|finally|lastly|next|also|then|let's|lets|try to"
    r"|kindly"
    r"|(?:can|could|would|will) you|(?:i|we) (?:want|need|would like|'d like)(?: you| the robot)?(?: to)?"
    r"|i'd like(?: you)?(?: to)?|you should|the robot (?:should|must|shall)|your task is to)\b[, ]*)+"
)
VERBS = (
    r"put|place|move|set|drop|lay|bring|push|slide|shift|carry|take|insert|throw|toss|pop|transfer|"
    r"position|keep|stack|pile|build|make|form|sort|order|arrange|rank|organise|organize|align|line|"
    r"gather|collect|group|cluster|assemble|select|pick|choose|give|hand|fetch|get|pass|discard|trash|"
    r"bin|remove|clear|clean|tidy|dispose|eliminate|swap|switch|exchange|trade|interchange|separate|"
    r"spread|stand|pack|store|return|pull|empty|open|close|shut|turn|switch"
)
PUT = (
    r"(?:put|place|move|set|drop|lay|bring|push|slide|shift|carry|take|insert|throw|toss|pop|transfer|position|keep"
    r"|stand|stack|pile|pack|store|return|pull|get|pick up|pick|sort)"
)
RELATIONS = (
    ("out", r"out of|off of|off"),
    ("inside", r"inside of|inside|into|in to"),
    ("in_front_of", r"in front of|before"),
    ("left_of", r"(?:on |to )?(?:the )?left(?: hand)?(?: side)? of"),
    ("right_of", r"(?:on |to )?(?:the )?right(?: hand)?(?: side)? of"),
    ("behind", r"in back of|behind"),
    ("on", r"on the top of|on top of|onto|on to|upon|atop|over|on"),
    (
        "near",
        r"right next to|next to|close to|close by|beside|besides|near to|near|nearby|adjacent to|alongside|towards?|by",
    ),
    ("away", r"(?:far )?away from|far from|apart from"),
    ("inside", r"in"),
)
SIZES = (
    r"size|volume|height|width|small|smallest|smaller|little|big|bigger|biggest|large|largest|tall|taller|tallest"
    r"|short|shortest|low|lowest|wide|narrow|ascending|descending|increasing|decreasing"
)
COLOUR_ORDER = r"rainbow|colou?rs?|hue|spectrum"
ORDER = re.compile(
    r"(?:,? ?(?:by|in|from|according to|in order of|in an?|into|with|using)? (?:the |their |an? |order of )*"
    rf"(?:{SIZES}|{COLOUR_ORDER})\b.*)$"
)
NEW_CONTAINERS = {
    "tray": "tray",
    "bin": "bin",
    "trash": "bin",
    "rubbish": "bin",
    "basket": "bin",
    "box": "bin",
    "container": "tray",
}
PLACES = {
    "left": "left", "right": "right", "far": "far", "back": "far", "rear": "far", "near": "near",
    "front": "near", "close": "near",
    "middle": "middle", "centre": "middle", "center": "middle", "other": "other", "opposite": "other",
}  # fmt: skip
ZONE = re.compile(
    r"\b(zone|area|region|marked|marker|spot|square|circle|side|half|corner|edge|end|middle|centre|center)\b"
    r"|^(the )?(left|right|front|back)$"
)

SIDE = re.compile(
    r"(the )?(far |very )?(left|right|front|back|rear|middle|centre|center|other|opposite)"
    r"( (hand )?(side|half|end|edge|part))?$"
)


def clauses(text: str) -> list[tuple[int, str]]:
    """Return the clauses of a text, each with its stage: "then" begins a new one."""
    parts = re.split(
        rf"(;|,? ?\b(?:and )?(?:then|after that|afterwards|finally|lastly)\b,?|,? \band\b (?=(?:{VERBS})\b)"
        r"|, (?=(?:put|place|drop|take|open|close|shut)\b))",
        text,
    )
    found: list[tuple[int, str]] = []
    stage = 0
    for index in range(0, len(parts), 2):
        clause = PLEASE.sub("", parts[index].strip(" ,;:")).strip(" ,;:")
        clause = re.sub(r"\b(?:please|for me|thanks|thank you)\b", "", clause).strip(" ,")
        if not clause:
            if index and re.search(r"then|after|finally|lastly", parts[index - 1] if index else ""):
                stage += 1
            continue
        if index and found and re.search(r"then|after|finally|lastly", parts[index - 1]):
            stage += 1
        found.append((stage, " ".join(clause.split())))
    return found


def sorting_order(objects: tuple[SceneObject, ...], words: str) -> tuple[str, list[SceneObject]]:
    """Return the kind of task for an order in words, and the objects in that order."""
    if re.search(COLOUR_ORDER, words):
        if len({t.colour for t in objects}) < 2:
            raise UnclearPhrase(f"all of them are {objects[0].colour}: there is no colour order")
        return "sort_by_colour", by_colour(objects)
    measure = (
        "height"
        if re.search(r"height|tall|short|low", words)
        else "width"
        if re.search(r"wide|width|narrow", words)
        else "volume"
    )
    falling = re.search(
        r"^\W*(?:by|in|from|with)?.*?\b(big|biggest|large|largest|tall|tallest|wide|descending|decreasing)\b.*?(?:\bto\b|first|$|order)",
        words,
    )
    rising = re.search(
        r"\b(small|smallest|little|short|shortest|low|narrow)\w*\b.*\bto\b|\b(?:small|short|low)\w* first", words
    )
    ordered = sorted(objects, key=lambda t: getattr(t, measure), reverse=bool(falling and not rising))
    return "sort_by_height" if measure == "height" else "sort_by_size", ordered
