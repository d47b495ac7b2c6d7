"""What shall hold, as a value and as a plain sentence: the sentences of a task's goals read back as the same values."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

PARTS = ("opened", "closed")
"""Verbs of what is done to a part of an object, which nobody carries."""


@dataclass(frozen=True)
class Aim:
    """One goal in the kit's verbs."""

    verb: str
    """"on", "stacked", "inside", "in_row", "in_zone", "outside", "where", "mirrored", "near", "away", "left_of",
    "right_of", "in_front_of", "behind", "upright", "on_table", "opened", "closed" (an object and a part of it) or
    "inside_part" (a thing, an object and a part of that); "where" is the kit's `at`, at the place another thing
    stood, "mirrored" the same at the image of its own, and "at" the same at the place `xy`."""
    names: tuple[str, ...]
    along: str = ""
    """Of a row: "right" or "away"."""
    new: bool = False
    """The container is not on the photograph: the program sets one out."""
    stage: int = 0
    xy: tuple[float, float] | None = None
    """Of "at": the place of the centre, world, in metres."""

    @property
    def objects(self) -> tuple[str, ...]:
        """The names that are objects of the photograph."""
        if self.verb == "inside_part":
            return self.names[:2]
        return self.names[:1] if self.verb in ("in_zone", "outside", *PARTS) or self.new else self.names

    @property
    def moving(self) -> tuple[str, ...]:
        """The names that the robot has to carry."""
        if self.verb == "stacked":
            return self.names[1:]
        if self.verb in PARTS:
            return ()
        return self.names if self.verb in ("in_row", "mirrored") else self.names[:1]


_PAIRS = {
    "on": "{} rests on {}",
    "where": "{} stands where {} stood",
    "near": "{} is next to {}",
    "away": "{} is well away from {}",
    "left_of": "{} is left of {}",
    "right_of": "{} is right of {}",
    "in_front_of": "{} is in front of {}",
    "behind": "{} is behind {}",
    "in_zone": "{} is in {}, marked on the table",
    "outside": "{} is outside {}, marked on the table",
    "upright": "{} is upright",
    "on_table": "{} is on the table",
    "opened": "{}'s {} is open",
    "closed": "{}'s {} is shut",
    "inside_part": "{} is in {}'s {}",
}
_ROWS = {"right": "from left to right", "away": "from near to far"}


def listed(names: Sequence[str]) -> str:
    """Names as a person lists them: "a, b and c"."""
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def sentence(aim: Aim) -> str:
    """The aim in plain words; `read` reads them back."""
    if aim.verb == "stacked":
        text = f"{listed(aim.names)} are stacked, bottom first"
    elif aim.verb == "at" and aim.xy:
        text = f"{aim.names[0]} stands at ({aim.xy[0]:.3f}, {aim.xy[1]:.3f})"
    elif aim.verb == "mirrored":
        text = f"{listed(aim.names)} are mirrored, left and right exchanged"
    elif aim.verb == "in_row":
        text = f"{listed(aim.names)} stand in a row {_ROWS[aim.along]}"
    elif aim.verb == "inside":
        text = f"{aim.names[0]} is inside {aim.names[1]}" + (", set out on the table" if aim.new else "")
    else:
        text = _PAIRS[aim.verb].format(*aim.names)
    return f"then {text}" if aim.stage else text


def sentences(aims: Sequence[Aim]) -> tuple[str, ...]:
    """In order; the first goal of each later stage begins with "then"."""
    first = {aim.stage: index for index, aim in reversed(list(enumerate(aims)))}
    return tuple(
        sentence(replace(aim, stage=int(bool(aim.stage) and first[aim.stage] == i))) for i, aim in enumerate(aims)
    )


def _reader(form: str, make: Callable[..., Aim]) -> tuple[re.Pattern[str], Callable[..., Aim]]:
    return re.compile(form.replace("{}", r"(\w+)").replace("{list}", r"(\w+(?:, \w+)* and \w+)") + r"\.?$"), make


def _split(text: str) -> tuple[str, ...]:
    return tuple(re.split(r", | and ", text))


_READERS = [
    _reader("{list} are stacked, bottom first", lambda names: Aim("stacked", _split(names))),
    _reader(
        r"{} stands at \((-?[0-9.]+), (-?[0-9.]+)\)",
        lambda name, x, y: Aim("at", (name,), xy=(round(float(x), 3), round(float(y), 3))),
    ),
    _reader("{list} are mirrored, left and right exchanged", lambda names: Aim("mirrored", _split(names))),
    *(
        _reader(f"{{list}} stand in a row {words}", lambda names, along=along: Aim("in_row", _split(names), along))
        for along, words in _ROWS.items()
    ),
    _reader("{} is inside {}, set out on the table", lambda a, b: Aim("inside", (a, b), new=True)),
    _reader("{} is inside {}", lambda a, b: Aim("inside", (a, b))),
    *(_reader(form, lambda *names, verb=verb: Aim(verb, names)) for verb, form in _PAIRS.items()),
]


def read(goals: Sequence[str]) -> tuple[Aim, ...] | None:
    """The aims of plain sentences, or None where one of them is in other words."""
    aims: list[Aim] = []
    stage = 0
    for goal in goals:
        text = goal.strip()
        if text.startswith("then "):
            stage, text = stage + 1, text[5:]
        found = next((make(*m.groups()) for pattern, make in _READERS if (m := pattern.match(text))), None)
        if found is None:
            return None
        aims.append(replace(found, stage=stage))
    return tuple(aims) or None


def objects_of(aims: Sequence[Aim]) -> tuple[str, ...]:
    """Every object of the photograph that an aim names, once, in order."""
    return tuple(dict.fromkeys(name for aim in aims for name in aim.objects))
