"""Recording of a person's decisions, with undo and redo, and what follows from each of them."""

import secrets
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pipeline.decisions import Decision, clean_display_name
from pipeline.object_words import object_words, segment_words
from pipeline.project import Project, safe_name
from studio.accounts.roles import Role, require
from studio.sessions.editor import Editor
from studio.sessions.event_log import EventLog
from studio.sessions.wording import describe_decision
from studio.web.errors import RequestError

T = TypeVar("T")

RESERVED_NAMES = ("world", "table", "floor", "gripper")
"""Names of bodies that every scene has; no object can take one."""


class DecisionRecorder:
    """Records decisions of one project and logs them. May be used from any thread."""

    def __init__(self, project: Project, log: EventLog, on_change: Callable[[], object], editor: Editor | None = None):
        """`on_change` is called after every change, while the log is locked. Nobody but the `editor` decides."""
        self._project, self._log, self._on_change, self._editor = project, log, on_change, editor or Editor()

    def record(self, kind: str, /, **data: Any) -> None:
        """Record one decision. Raises RequestError if it gives an object a name that is taken."""
        if kind == "rename":
            self._check_name(data["id"], safe_name(data["name"]))
        if kind == "display_name":
            data["name"] = clean_display_name(data["name"] or "")
            self._check_display_name(data["id"], data["name"])
        names = segment_words(self._project)
        self._change(lambda: self._project.decide(kind, **data))
        self._log.add(describe_decision(Decision(kind, data), names), "person")

    def record_all(self, decisions: Sequence[tuple[str, dict[str, Any]]], message: str) -> None:
        """Record several decisions, kind and data, that undo and redo treat as one; `message` goes to the log."""
        group = {"together": secrets.token_hex(4)}
        self._change(lambda: self._project.decide_together([(kind, data | group) for kind, data in decisions]))
        self._log.add(message, "person")

    def undo(self) -> None:
        project = self._project
        if decision := self._change(lambda: _step(project.undo, lambda: project.next_undo)):
            self._log.add(f"undone: {describe_decision(decision, segment_words(project))}", "person")

    def redo(self) -> None:
        project = self._project
        if decision := self._change(lambda: _step(project.redo, lambda: project.next_redo)):
            self._log.add(f"redone: {describe_decision(decision, segment_words(project))}", "person")

    def _change(self, act: Callable[[], T]) -> T:
        require(Role.WORK)
        self._editor.require()
        with self._log.changed:
            before = len(self._project.decisions)
            try:
                return act()
            finally:  # a decision may be saved, and then a file that follows from it not
                if len(self._project.decisions) != before:
                    self._on_change()

    def _check_name(self, id: int, name: str) -> None:
        """Raise RequestError if the object must not take that name."""
        if name in RESERVED_NAMES:
            raise RequestError(f'"{name}" is a body of every scene; choose another name.')
        project = self._project
        scene = project.scene()
        names = {d.segment_id: d.name for d in project.descriptions() or ()}
        names |= {p.segment_id: p.name for p in scene.placements} if scene else {}
        names |= {d.data["id"]: safe_name(d.data["name"]) for d in project.active_decisions("rename")}
        other = next((n for n, known in names.items() if known == name and n != id), None)
        if other is not None:
            raise RequestError(f'Object {other} is called "{name}" already; choose another name.')

    def _check_display_name(self, id: int, name: str | None) -> None:
        """Raise RequestError if another object is called so."""
        project = self._project
        words, scene, segments = object_words(project), project.scene(), project.segments()
        known = {p.segment_id: words.of(p.name) for p in scene.placements} if scene else {}
        known |= project.display_names()
        present = known if segments is None else {segment.id for segment in segments}
        for other, taken in known.items():
            if name and other != id and other in present and taken.casefold() == name.casefold():
                raise RequestError(f'Object {other} is called "{taken}" already; choose another name.')


def next_segment_id(project: Project) -> int:
    """Return a segment id that no object of the project has had."""
    used = [segment.id for segment in (*(project.segments() or ()), *(project.automatic_segments() or ()))]
    return max(*used, project.largest_decided_id, 0) + 1


def _step(step: Callable[[], Decision | None], following: Callable[[], Decision | None]) -> Decision | None:
    """Undo or redo one decision and those recorded together with it; return the first."""
    first = step()
    group = first.data.get("together") if first else None
    while group and (left := following()) and left.data.get("together") == group:
        step()
    return first
