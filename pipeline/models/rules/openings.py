"""Words about what opens: "open the top drawer of the cabinet", "shut the microwave", "turn the knob"."""

import re
from collections.abc import Sequence

from pipeline.models.rules.references import Reader, Unclear
from pipeline.models.rules.things import PartThere, Thing

Opening = tuple[Thing, PartThere]
OPEN = r"open up|open|pull open|slide open|swing open|pull out|turn on|switch on|turn"
SHUT = r"close up|close|shut|push shut|slide shut|push in|turn off|turn back|switch off"
NOUNS = {
    "drawer": "drawer", "door": "door", "flap": "door", "lid": "lid", "cover": "lid", "knob": "knob", "button": "knob",
    "tap": "knob", "handle": "knob",
}  # fmt: skip
"""Words for parts, and the word in the name of the part that is meant."""
WHICH = {
    "top": "top", "upper": "top", "uppermost": "top", "topmost": "top", "highest": "top", "middle": "middle",
    "centre": "middle", "center": "middle", "bottom": "bottom", "lower": "bottom", "lowest": "bottom",
    "left": "left", "right": "right", "first": "1", "second": "2", "third": "3",
}  # fmt: skip
LIGHT = {"the", "a", "an", "of", "in", "on", "at", "its", "all", "every", "both", "and", "one", "that", "which"}
PLURAL = re.compile(r"\b(?:all|every|both|drawers|doors|lids|knobs)\b")


def turned(text: str) -> tuple[str, str] | None:
    """The verb, "opened" or "closed", and the phrase of what it is done to; None where the words say neither."""
    text = text.split(", which")[0]
    noun = "|".join(NOUNS)
    if m := re.match(rf"(?:pull|slide|swing|push)\b(.*\b(?:{noun})s?\b.*?)\b(open|out|shut|closed|in|back)$", text):
        return ("opened" if m[2] in ("open", "out") else "closed"), m[1]
    if m := re.match(r"(?:turn|switch)\b(.*)\b(on|off|back)$", text):
        return ("opened" if m[2] == "on" else "closed"), m[1]
    for verb, words in (("closed", SHUT), ("opened", OPEN)):
        if m := re.match(rf"(?:{words})\b(?: again\b)?(.*)", text):
            return verb, m[1]
    return None


def names_part(phrase: str) -> bool:
    """Whether the words name a drawer, a door, a lid or a knob."""
    return bool(re.search(rf"\b(?:{'|'.join(NOUNS)})s?\b", phrase.replace("_", " ")))


def meant(phrase: str, reader: Reader, last: Sequence[Opening] = ()) -> tuple[Opening, ...]:
    """The parts meant, at least one; of several those named `last`. Raises Unclear with those there are."""
    every = [(thing, part) for thing in reader.things for part in thing.parts]
    if not every:
        raise Unclear("nothing here opens: no object has a drawer, a door, a lid or a knob")
    named = {part.name for _, part in every}
    text = re.sub(r"\b\w+_\w+\b", lambda m: m[0].replace("_", " ") if m[0] in named else m[0], phrase)
    words = re.findall(r"\w+", text.replace("'s", " ").lower())
    nouns = {NOUNS[w] for w in map(_bare, words) if w in NOUNS}
    which = {WHICH[w] for w in words if w in WHICH}
    owner = " ".join(w for w in words if _bare(w) not in NOUNS and w not in WHICH and w not in LIGHT)
    pool = [(t, p) for t, p in every if t in _owners(owner, reader)] if owner else every
    pool = [one for one in pool if not nouns or nouns & set(one[1].name.split("_"))]
    pool = [one for one in pool if not which or which & set(one[1].name.split("_"))]
    if not pool:
        raise Unclear(f'there is no "{" ".join(phrase.split())}" here; there are: {_listed(every)}')
    if len(pool) > 1 and not PLURAL.search(text):
        if again := [one for one in pool if one in last]:
            return tuple(again)
        raise Unclear(f'"{" ".join(phrase.split())}" may mean {_listed(pool, " or ")}: say which')
    return tuple(pool)


def _owners(words: str, reader: Reader) -> tuple[Thing, ...]:
    found = reader.read(words)
    if not any(thing.parts for thing in found):
        able = [thing.name for thing in reader.things if thing.parts]
        raise Unclear(f"{found[0].name} has nothing that opens; these have: {', '.join(able)}")
    return found


def _bare(word: str) -> str:
    return word.removesuffix("s") if word.removesuffix("s") in NOUNS else word


def _listed(openings: Sequence[Opening], joint: str = ", ") -> str:
    return joint.join(f"{part.name} of {thing.name}" for thing, part in openings)
