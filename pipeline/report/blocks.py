"""What a report is made of. Each block is drawn by the macro of its name in page.html; all texts are escaped there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal


@dataclass(frozen=True)
class Heading:
    name: ClassVar[str] = "heading"
    text: str


@dataclass(frozen=True)
class Text:
    name: ClassVar[str] = "text"
    text: str
    look: Literal["", "note", "fault", "result"] = ""


@dataclass(frozen=True)
class Table:
    """Numbers are shown with four digits, None as "missing"."""

    name: ClassVar[str] = "table"
    head: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Facts:
    """Names and texts; those without a text are left out."""

    name: ClassVar[str] = "facts"
    rows: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Plot:
    """Plotly figures beside each other, as many as fit."""

    name: ClassVar[str] = "plot"
    figures: Sequence[Any]


@dataclass(frozen=True)
class Picture:
    url: str | None
    """A data URL; None draws a box of the same size with the title."""
    title: str
    caption: str = ""


@dataclass(frozen=True)
class Pictures:
    """Columns of pictures beside each other."""

    name: ClassVar[str] = "pictures"
    columns: Sequence[Sequence[Picture]]
    heads: Sequence[str] = ()
    """Above each column."""


@dataclass(frozen=True)
class Video:
    name: ClassVar[str] = "video"
    url: str
    poster: str
    title: str


@dataclass(frozen=True)
class Diff:
    """Lines of a unified difference."""

    name: ClassVar[str] = "diff"
    lines: Sequence[str]


@dataclass(frozen=True)
class Section:
    name: ClassVar[str] = "section"
    title: str
    blocks: Sequence[Any]
    state: str = ""
    """A word beside the title; "done" is drawn as good, "failed" as bad."""


@dataclass(frozen=True)
class Folded:
    """Blocks that a click on the title shows."""

    name: ClassVar[str] = "folded"
    id: str
    title: str
    blocks: Sequence[Any]
    label: str = ""
    """Before the title."""
