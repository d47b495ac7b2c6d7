"""Phrases about parts that open: "open the top drawer of the cabinet", "shut the microwave", "turn the knob"."""

import re
from collections.abc import Sequence

from pipeline.planner.language.errors import UnclearPhrase
from pipeline.planner.language.phrases.noun_phrases import NounPhrases
from pipeline.planner.scene_objects import SceneObject, ScenePart

PartReference = tuple[SceneObject, ScenePart]
OPEN_VERBS = r"open up|open|pull open|slide open|swing open|pull out|turn on|switch on|turn"
SHUT_VERBS = r"close up|close|shut|push shut|slide shut|push in|turn off|turn back|switch off"
NOUNS = {
    "drawer": "drawer", "door": "door", "flap": "door", "lid": "lid", "cover": "lid", "knob": "knob", "button": "knob",
    "tap": "knob", "handle": "knob",
}  # fmt: skip
"""Words for parts, and the word that the part's name contains."""
POSITIONS = {
    "top": "top", "upper": "top", "uppermost": "top", "topmost": "top", "highest": "top", "middle": "middle",
    "centre": "middle", "center": "middle", "bottom": "bottom", "lower": "bottom", "lowest": "bottom",
    "left": "left", "right": "right", "first": "1", "second": "2", "third": "3",
}  # fmt: skip
FILLER_WORDS = {"the", "a", "an", "of", "in", "on", "at", "its", "all", "every", "both", "and", "one", "that", "which"}
PLURAL = re.compile(r"\b(?:all|every|both|drawers|doors|lids|knobs)\b")


def parse_opening(text: str) -> tuple[str, str] | None:
    """Return the kind of goal, "opened" or "closed", and the phrase for the part; None for other text."""
    text = text.split(", which")[0]
    noun = "|".join(NOUNS)
    if m := re.match(rf"(?:pull|slide|swing|push)\b(.*\b(?:{noun})s?\b.*?)\b(open|out|shut|closed|in|back)$", text):
        return ("opened" if m[2] in ("open", "out") else "closed"), m[1]
    if m := re.match(r"(?:turn|switch)\b(.*)\b(on|off|back)$", text):
        return ("opened" if m[2] == "on" else "closed"), m[1]
    for verb, words in (("closed", SHUT_VERBS), ("opened", OPEN_VERBS)):
        if m := re.match(rf"(?:{words})\b(?: again\b)?(.*)", text):
            return verb, m[1]
    return None


def names_part(phrase: str) -> bool:
    """Return whether a phrase names a drawer, a door, a lid or a knob."""
    return bool(re.search(rf"\b(?:{'|'.join(NOUNS)})s?\b", phrase.replace("_", " ")))


def resolve_parts(phrase: str, reader: NounPhrases, last: Sequence[PartReference] = ()) -> tuple[PartReference, ...]:
    """Return the parts that a phrase refers to, at least one; of several, those named `last`. Raises UnclearPhrase."""
    candidates = [(o, part) for o in reader.objects for part in o.parts]
    if not candidates:
        raise UnclearPhrase("nothing here opens: no object has a drawer, a door, a lid or a knob")
    named = {part.name for _, part in candidates}
    text = re.sub(r"\b\w+_\w+\b", lambda m: m[0].replace("_", " ") if m[0] in named else m[0], phrase)
    words = re.findall(r"\w+", text.replace("'s", " ").lower())
    nouns = {NOUNS[w] for w in map(_bare, words) if w in NOUNS}
    positions = {POSITIONS[w] for w in words if w in POSITIONS}
    owner = " ".join(w for w in words if _bare(w) not in NOUNS and w not in POSITIONS and w not in FILLER_WORDS)
    pool = [(t, p) for t, p in candidates if t in _owners(owner, reader)] if owner else candidates
    pool = [one for one in pool if not nouns or nouns & set(one[1].name.split("_"))]
    pool = [one for one in pool if not positions or positions & set(one[1].name.split("_"))]
    if not pool:
        raise UnclearPhrase(f'there is no "{" ".join(phrase.split())}" here; there are: {_listed(candidates)}')
    if len(pool) > 1 and not PLURAL.search(text):
        if named_before := [one for one in pool if one in last]:
            return tuple(named_before)
        raise UnclearPhrase(f'"{" ".join(phrase.split())}" may mean {_listed(pool, " or ")}: say which')
    return tuple(pool)


def _owners(words: str, reader: NounPhrases) -> tuple[SceneObject, ...]:
    found = reader.read(words)
    if not any(o.parts for o in found):
        able = [o.name for o in reader.objects if o.parts]
        raise UnclearPhrase(f"{found[0].name} has nothing that opens; these have: {', '.join(able)}")
    return found


def _bare(word: str) -> str:
    return word.removesuffix("s") if word.removesuffix("s") in NOUNS else word


def _listed(openings: Sequence[PartReference], joint: str = ", ") -> str:
    return joint.join(f"{part.name} of {o.name}" for o, part in openings)
