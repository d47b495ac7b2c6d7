"""The log of human decisions: append-only, one JSON line each.

Undo, redo, autosave and crash recovery all use it. An undo is a line of its own; no line is ever rewritten.
"""

import json
import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pipeline.errors import StudioError, single_line
from pipeline.store import append_lines, parse_json
from pipeline.store.values import json_default

SCHEMA = 2
"""Version of a line of the log, its key "schema"; a line without one is of version 1."""

DECISION_DATA = {
    "camera": ("fx", "fy", "cx", "cy"),
    "camera_pose": ("world_from_camera", "source"),
    "ground": ("pixel",),
    "robot_base": ("world_from_base",),
    "views": ("views",),
    "found": ("source", "masks"),
    "mask": ("id", "mask", "clicks"),
    "delete_segment": ("id",),
    "merge_segments": ("ids", "into"),
    "not_object": ("id", "value"),
    "rename": ("id", "name"),
    "display_name": ("id", "name"),
    "choose_asset": ("id", "asset_id"),
    "make": ("id", "way"),
    "move": ("id", "pos", "quat_wxyz"),
    "resize": ("id", "scale"),
    "refit": ("id",),
    "physics": ("id", "mass", "friction"),
    "recolour": ("id", "value"),
    "bring": ("asset_id", "name", "pos", "quat_wxyz"),
    "walls": ("value",),
    "vary": ("condition", "values"),
    "place_camera": ("name", "pos", "quat_wxyz", "field_of_view"),
    "remove_camera": ("name",),
    "splats": ("file", "name", "matrix", "source"),
    "task": ("name", "instruction", "objects", "goals", "kind", "source"),
    "fork": ("parent", "simulation", "checks"),
    "pin": ("round",),
    "accept": ("stage",),
    "ask_again": ("kind", "about", "wording"),
    "use_measured": ("kind", "about"),
    "robot": ("name",),
    "calibrate": ("parameters", "source"),
    "matcher": ("name",),
    "send": ("server", "allow"),
    "subtasks": ("task", "rows", "former", "change"),
    "review": ("verdict",),
    "undo": (),
    "redo": (),
}
"""Every kind of decision and the keys of its data. Masks are COCO run lengths; poses are in the world frame, in metres.

"camera" may have "depth_factor": distances are that many times those that were read.

"ground" is a pixel [x, y] of the frame on the surface that carries the objects; its optional "also" is a list of pixels
on further ones, of which the lowest is the table.

"views" replaces the further views of the table; each has the name of its folder in views/, its "main_from_camera" of
shape (4, 4) in metres, and its "source": "file" or "registered".

"camera_pose" and "robot_base" hold matrices of shape (4, 4). The world's tilt and height still follow the table.

"mask" and "merge_segments" have "source", a model's name, and "answer", a hash of what it said of the mask, if the edit
came from there (run/mask_answers.py); of an object that had none, also "added", what the model calls it.

"display_name" is what a person calls an object, as `clean_display_name` returns it; null clears it. The id of the
object, which programs and checks use, stays. "rename", of earlier versions and of imported masks, changes the id too.

"make" reconstructs the object from the view by the method "way", even if an asset matches.

"resize" has a factor of the asset's own size; optional "pos" and "quat_wxyz" are the pose after it. "refit" repeats the
pose search and discards earlier moves and sizes. It starts from optional "pos", "quat_wxyz" and "scale" in addition to
poses all around, and with "free" fits the size too; without them the automatic pose is restored. In "physics", null is
the asset's own value; optional "source", "mass_range" and "friction_range" come from a model.

"bring" adds an object of the library to the twin, in the asset's own size; pos is the centre of its box.

"vary" puts the twin under a condition of an evaluation, by its id and the values of its factors in SI units, which are
relative to the twin as it would be without. A later correction of an object replaces its own.

"place_camera" adds a camera to the twin, or moves the one of that name; it looks along its -z, with y up, and its
vertical field of view is in radians. "remove_camera" takes away one that was placed.

"splats" has the background drawn by Gaussian splats, or the object of the optional "id": by those of the file "file" in
splats/, called "name", at the pose "matrix" of shape (4, 4), with a scale, in the world or in the object. An empty
"file" removes them.

"walls" says whether the twin has the walls of the bin that the objects stand in, if there are any.

"recolour" says whether the asset is tinted and printed as in the photograph.

"calibrate" holds the identified parameters of the twin's robot, each with its kind, element, field, value, low and
high in SI units; masses and frictions of objects are decisions "physics" of their own.

"review" is a person's verdict, "accepted", "rejected" with a "reason", or "skipped", on the object of the optional "id"
or else on the frame; "person" is a login.

"subtasks" holds the rows of learning/subtasks.json after an edit and before it; "task" is the instruction that they are
of, and "change" says in words what was edited.

"send" says whether questions about the project may go to a model's server, given by scheme, host and port.

"fork" edits a round; its optional "round" is the number of the round that the edited program becomes.

"ask_again" and "use_measured" refer to a question to a model by its kind and subject, as in the trace. With an empty
"wording" the same question is repeated.
"""


_TEXT_KEYS = frozenset(
    ("source", "name", "asset_id", "way", "instruction", "kind", "simulation", "checks", "stage", "about", "wording",
     "server", "verdict", "reason", "person", "task", "change", "condition")
)  # fmt: skip
_NUMBER_KEYS = frozenset(
    ("fx", "fy", "cx", "cy", "scale", "mass", "friction", "into", "parent", "round", "field_of_view")
)
_LIST_KEYS = frozenset(
    ("views", "masks", "ids", "clicks", "pos", "quat_wxyz", "objects", "goals", "parameters", "rows", "former", "also")
)


OBSERVED = ("image", "objects", "state")
"""Names in an environment's observation that no camera can have."""
UNNAMED = "human"
"""Who decided, in a studio without logins."""
MAX_DISPLAY_NAME = 60
"""Characters."""


class DecisionError(StudioError):
    """A decision is of an unknown kind, or lacks data."""


def clean_display_name(text: str) -> str | None:
    """Return a display name in Unicode's normal form C, without spaces around it; None for an empty text.

    Raises DecisionError for more than one line, control characters, nothing visible, and more than MAX_DISPLAY_NAME
    characters.
    """
    name = unicodedata.normalize("NFC", text).strip()
    kinds = [unicodedata.category(character) for character in name]
    if {"Cc", "Cs", "Zl", "Zp"} & set(kinds) or (name and all(kind[0] in "CZ" for kind in kinds)):
        raise DecisionError("A name is one line of visible characters; remove line breaks and control characters.")
    if len(name) > MAX_DISPLAY_NAME:
        raise DecisionError(f"A name has at most {MAX_DISPLAY_NAME} characters, not {len(name)}; shorten it.")
    return name or None


@dataclass(frozen=True)
class Decision:
    """One decision of the user."""

    kind: str
    data: Mapping[str, Any]
    at: float = field(default_factory=time.time)
    """Seconds since 1970."""
    by: str = UNNAMED
    """Login of the person who decided."""

    def __post_init__(self):
        if self.kind not in DECISION_DATA:
            raise DecisionError(f"there is no decision {self.kind!r:.60}; there are: {', '.join(DECISION_DATA)}")
        if missing := [name for name in DECISION_DATA[self.kind] if name not in self.data]:
            raise DecisionError(f"the decision '{self.kind}' lacks {', '.join(missing)}")


def read_log(path: Path) -> tuple[Decision, ...]:
    """Return all decisions of a log in order; none if there is no log.

    An incomplete last line from a crash is ignored: it was never confirmed. Raises DecisionError with the number of any
    other unreadable line, and of a line that a newer version wrote.
    """
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except FileNotFoundError:
        return ()
    decisions = []
    for number, line in enumerate(lines, 1):
        try:
            if line:
                decisions.append(_parse(line))
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            if number == len(lines):
                break
            reason = single_line(str(error))[:200]  # it may quote a key of the file
            raise DecisionError(
                f"{path.name} line {number} cannot be read ({reason}); repair or remove that line"
            ) from None
        except DecisionError as error:
            raise DecisionError(f"{path.name} line {number}: {error}") from None
    return tuple(decisions)


def _parse(line: str) -> Decision:
    values = parse_json(line)
    schema = values.pop("schema", 1)
    if values["kind"] not in DECISION_DATA or schema > SCHEMA:
        raise DecisionError(
            f"the decision {values['kind']!r:.60} of schema {schema!r:.20} is of a newer GRS Studio (this one reads "
            f"up to {SCHEMA}); open the project with that version. Nothing was changed"
        )
    decision = Decision(**values)
    _check_types(decision)
    return decision


def _check_types(decision: Decision) -> None:
    """Raise ValueError for a value of another type than the studio writes: a file that was damaged or made up."""
    if not isinstance(decision.at, (int, float)) or not isinstance(decision.by, str):
        raise ValueError("its time or author is of another type")
    for key, value in decision.data.items():
        expected = (
            str if key in _TEXT_KEYS else (int, float) if key in _NUMBER_KEYS else list if key in _LIST_KEYS
            else int if key == "id" else dict if key == "mask" else object
        )  # fmt: skip
        if not isinstance(value, expected) and (value is not None or key in _LIST_KEYS or key in ("id", "mask")):
            raise ValueError(f"its {key} is {str(value)[:40]!r}")
    for name in ("world_from_camera", "world_from_base", "matrix"):
        if name in decision.data and not _is_matrix(decision.data[name]):
            raise ValueError(f"its {name} is no matrix of four rows of four numbers")
    if decision.kind == "ground" and not all(map(_is_pixel, ground_pixels(decision))):
        raise ValueError("one of its pixels is not two whole numbers")
    if decision.kind == "views" and not all(map(_is_view, decision.data["views"])):
        raise ValueError("one of its views lacks a folder or a pose")
    if decision.kind == "splats" and not re.fullmatch("([0-9a-f]{16})?", str(decision.data["file"])):
        raise ValueError("its file is no name of splats")
    if decision.kind == "display_name" and not _is_display_name(decision.data["name"]):
        raise ValueError(f"its name is {decision.data['name']!r}")
    if decision.kind == "place_camera" and (fault := _camera_fault(decision.data)):
        raise ValueError(fault)
    if decision.kind == "walls" and not isinstance(decision.data["value"], bool):
        raise ValueError("its value is not true or false")
    if decision.kind == "vary" and not _are_factors(decision.data["values"]):
        raise ValueError("its values are not numbers and texts by name")
    for mask in decision.data.get("masks", ()):
        if not isinstance(mask, dict) or not isinstance(mask.get("id"), int) or not {"mask", "score"} <= set(mask):
            raise ValueError("one of its masks lacks an id, a mask or a score")
    for name in ("objects", "goals", "ids"):
        if not all(isinstance(item, int if name == "ids" else str) for item in decision.data.get(name, ())):
            raise ValueError(f"its {name} are of another type")


def _camera_fault(data: Mapping[str, Any]) -> str:
    """Return what is wrong with a camera that is placed; empty if nothing is."""
    numbers = [*data["pos"], *data["quat_wxyz"], data["field_of_view"]]
    if (len(data["pos"]), len(data["quat_wxyz"])) != (3, 4) or not all(map(_is_number, numbers)):
        return "its camera has not 3, 4 and 1 finite numbers"
    if not any(data["quat_wxyz"]) or not 0.05 <= data["field_of_view"] <= 2.8:
        return "its camera has no direction, or a field of view that is not within 0.05 and 2.8 rad"
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", data["name"]) or data["name"] in OBSERVED:
        return (
            f"its camera is called {data['name'][:40]!r}; letters, digits and _ are possible, not {', '.join(OBSERVED)}"
        )
    return ""


def _are_factors(values: Any) -> bool:
    return isinstance(values, dict) and all(isinstance(one, str) or _is_number(one) for one in values.values())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9


def _is_matrix(value: Any) -> bool:
    """Return whether a value is four rows of four finite numbers."""
    rows = value if isinstance(value, list) and len(value) == 4 else [()]
    numbers = [entry for row in rows for entry in (row if isinstance(row, list) and len(row) == 4 else [None])]
    return all(map(_is_number, numbers))


def _is_view(value: Any) -> bool:
    """Return whether a value is a further view: a folder named by a hash, and a pose."""
    return (
        isinstance(value, dict)
        and re.fullmatch("[0-9a-f]{16}", str(value.get("folder"))) is not None
        and _is_matrix(value.get("main_from_camera"))
    )


def ground_pixels(decision: Decision) -> list[list[int]]:
    """Return the pixels [x, y] of a decision "ground", one for each surface that carries objects."""
    return [decision.data["pixel"], *decision.data.get("also", ())]


def _is_pixel(value: Any) -> bool:
    """Return whether a value is two whole numbers, x and y."""
    return isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(at, int) for at in value)


def _is_display_name(value: str | None) -> bool:
    try:
        return value is None or value == clean_display_name(value)
    except DecisionError:
        return False


def append(path: Path, *decisions: Decision) -> None:
    """Append decisions and flush them to the disk: all, or none if that fails. Raises StoreError.

    Raises DecisionError for one that could not be read again, which would close the project for good.
    """
    lines = [asdict(decision) | {"schema": SCHEMA} for decision in decisions]
    for line in lines:
        try:
            _parse(json.dumps(line, default=json_default))
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise DecisionError(f"the decision '{line['kind']}' cannot be saved: {error}") from None
    append_lines(path, lines, "The decision")


class History:
    """A log in memory with what every undo and redo left. Each new decision takes the same time, however many are."""

    def __init__(self, decisions: Iterable[Decision] = ()):
        self.all: list[Decision] = []
        """In order, including those undone and the undos. Only `add` changes it."""
        self.active: list[Decision] = []
        """Those that hold after every undo and redo. Only `add` changes it."""
        self.undone: list[Decision] = []
        """Those that can be redone, the next one last. Only `add` changes it."""
        self._views: dict[object, tuple[Callable[[Decision], bool], list[Decision]]] = {}
        for decision in decisions:
            self.add(decision)

    def add(self, decision: Decision) -> None:
        """Append a decision. A new one discards those that could be redone."""
        self.all.append(decision)
        if decision.kind == "undo":
            if self.active:
                self.undone.append(self._pop())
        elif decision.kind == "redo":
            if self.undone:
                self._push(self.undone.pop())
        else:
            self.undone.clear()
            self._push(decision)

    def view(self, key: object, belongs: Callable[[Decision], bool]) -> Sequence[Decision]:
        """Return the active decisions for which `belongs` is true, in order. The list stays up to date.

        Args:
            key: the same for every call with this condition.
        """
        if key not in self._views:
            self._views[key] = belongs, [decision for decision in self.active if belongs(decision)]
        return self._views[key][1]

    def of_kinds(self, *kinds: str) -> Sequence[Decision]:
        """Return the active decisions of these kinds, in order. The list stays up to date."""
        chosen = frozenset(kinds)
        return self.view(chosen, lambda decision: decision.kind in chosen)

    def _push(self, decision: Decision) -> None:
        self.active.append(decision)
        for belongs, view in self._views.values():
            if belongs(decision):
                view.append(decision)

    def _pop(self) -> Decision:
        decision = self.active.pop()
        for _, view in self._views.values():
            if view and view[-1] is decision:
                view.pop()
        return decision


def active(decisions: Iterable[Decision]) -> tuple[Decision, ...]:
    """Return the decisions that hold after every undo and redo. A new decision discards those that could be redone."""
    return tuple(History(decisions).active)


def undone(decisions: Iterable[Decision]) -> tuple[Decision, ...]:
    """Return the decisions that can be redone, the next one last."""
    return tuple(History(decisions).undone)
