"""What people decided: an append-only log, one JSON line each.

Undo, redo, autosave and crash recovery all come from it: an undo is a line of its own, nothing is ever rewritten.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pipeline.errors import StudioError
from pipeline.store import append_line

KINDS = {
    "camera": ("fx", "fy", "cx", "cy"),
    "found": ("source", "masks"),
    "mask": ("id", "mask", "clicks"),
    "delete_segment": ("id",),
    "merge_segments": ("ids", "into"),
    "not_object": ("id", "value"),
    "rename": ("id", "name"),
    "choose_asset": ("id", "asset_id"),
    "make": ("id", "way"),
    "move": ("id", "pos", "quat_wxyz"),
    "resize": ("id", "scale"),
    "refit": ("id",),
    "physics": ("id", "mass", "friction"),
    "task": ("name", "instruction", "objects", "goals", "kind", "source"),
    "fork": ("parent", "simulation", "checks"),
    "pin": ("round",),
    "accept": ("stage",),
    "ask_again": ("kind", "about", "wording"),
    "use_measured": ("kind", "about"),
    "robot": ("name",),
    "matcher": ("name",),
    "undo": (),
    "redo": (),
}
"""Every kind of decision and the data it carries. Masks are COCO run lengths, poses in world axes and metres.

"make" wants the object made from the view, in that way, whatever the library holds.

"resize" is times the asset's own size, "pos" and "quat_wxyz" beside it where it stands then. "refit" looks for the
object anew and ends earlier moves and sizes: from all around, and from "pos", "quat_wxyz" and "scale" where they are
there, with "free" in other sizes, too; without them the machine's own pose stands again. In "physics" null is the
asset's own; "source", "mass_range" and "friction_range" beside them are a model's.

"ask_again" and "use_measured" are about the question to a model of that kind and about that object, as the trace names
them; an empty wording asks the same again.
"""


class DecisionError(StudioError):
    """A decision that is none of the known kinds, or lacks its data."""


@dataclass(frozen=True)
class Decision:
    """One thing a person decided."""

    kind: str
    data: Mapping[str, Any]
    at: float = field(default_factory=time.time)
    """Seconds since 1970."""
    by: str = "human"

    def __post_init__(self):
        if self.kind not in KINDS:
            raise DecisionError(f"there is no decision '{self.kind}'; known are {', '.join(KINDS)}")
        if missing := [name for name in KINDS[self.kind] if name not in self.data]:
            raise DecisionError(f"the decision '{self.kind}' lacks {', '.join(missing)}")


def read_log(path: Path) -> tuple[Decision, ...]:
    """All decisions of a log in order. A last line cut off by a crash is left out; it was never confirmed.

    Raises DecisionError that names another line that cannot be read.
    """
    if not path.exists():
        return ()
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    decisions = []
    for number, line in enumerate(lines, 1):
        try:
            if line:
                decisions.append(Decision(**json.loads(line)))
        except (ValueError, TypeError) as error:
            if number == len(lines):
                break
            raise DecisionError(
                f"{path.name} line {number} cannot be read ({error}); mend or remove that line"
            ) from None
    return tuple(decisions)


def append(path: Path, decision: Decision) -> None:
    """Adds one line and waits until it is on the disk."""
    append_line(path, asdict(decision))


def in_force(decisions: tuple[Decision, ...]) -> tuple[Decision, ...]:
    """What holds after every undo and redo. A new decision ends what could be redone."""
    return _replay(decisions)[0]


def undone(decisions: tuple[Decision, ...]) -> tuple[Decision, ...]:
    """What a redo would bring back, the next one last."""
    return _replay(decisions)[1]


def _replay(decisions: tuple[Decision, ...]) -> tuple[tuple[Decision, ...], tuple[Decision, ...]]:
    done: list[Decision] = []
    redoable: list[Decision] = []
    for decision in decisions:
        if decision.kind == "undo":
            if done:
                redoable.append(done.pop())
        elif decision.kind == "redo":
            if redoable:
                done.append(redoable.pop())
        else:
            done.append(decision)
            redoable.clear()
    return tuple(done), tuple(redoable)
