"""The questions that a model which sees is asked of a project: what each object is, and which asset.

All objects are asked about at once. One that the model fails on stays as measured, marked so; the others do not wait.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import numpy as np

from pipeline.assets import Library
from pipeline.assets.told import captions
from pipeline.choosing import KIND as CHOOSE
from pipeline.choosing import KINDS, choose_by, correspond
from pipeline.description import Description
from pipeline.description.told import KIND as DESCRIBE
from pipeline.description.told import about, tell
from pipeline.matching import Asking, Match
from pipeline.models import Model, sees, source_of
from pipeline.models.live import Live
from pipeline.models.pictures import marked
from pipeline.models.several import answers
from pipeline.models.trace import Traced
from pipeline.project import Project
from pipeline.segmentation import Segment
from pipeline.store import digest

T = TypeVar("T", Description, Match)
Told = tuple[str, int, int, T | None]
"""A message, how many are done of how many, and what was just answered."""


def describe_all(
    project: Project, model: Traced, live: Live, segments: Sequence[Segment], described: list[Description]
) -> Iterator[Told[Description]]:
    """Puts the model's answers into `described`, in the place of what was measured. Raises Stopped."""

    def ask(place: int) -> Description:
        return tell(project.frame, segments[place], described[place], model)

    asked = [p for p, one in enumerate(segments) if not model.wish(DESCRIBE, about(one.id)).measured]
    name = source_of(model, DESCRIBE)
    told: set[str] = set()
    yield f"asking {name} what {len(asked)} objects are", 0, len(asked), None
    for done, place in _each(ask, asked, described, live):
        one = described[place]
        yield _said(one.caption, one.failure, name, told), done, len(asked), one


def choose_all(
    project: Project,
    model: Traced,
    live: Live,
    objects: Sequence[Description],
    matches: list[Match],
    library: Library,
    cards: Path | None,
    matcher: Asking | None = None,
) -> Iterator[Told[Match]]:
    """Puts the model's choices into `matches`, but for what a person chose. Raises Stopped.

    Without a `matcher` it is asked for a verdict on the best measured candidates.
    """
    segments = {segment.id: segment for segment in project.segments() or ()}
    kind, words = KINDS[matcher] if matcher else CHOOSE, dict[str, str]()
    if matcher and matcher != "image":
        for done, of in captions(library, model, live, words, cards):
            yield f"asking {model.name} to describe {of} assets", done, of, None

    def ask(place: int) -> Match:
        segment, one, measured = segments[objects[place].segment_id], objects[place], matches[place]
        if matcher:
            return correspond(matcher, model, project.frame, segment, one, measured, library, words, cards)
        return choose_by(model, project.frame, segment, one, measured, library, cards)

    def free(place: int) -> bool:
        return matches[place].source != "human" and not model.wish(kind, about(objects[place].segment_id)).measured

    asked = [place for place in range(len(objects)) if free(place)]
    name = source_of(model, kind)
    told: set[str] = set()
    yield f"asking {name} which assets {len(asked)} objects are", 0, len(asked), None
    for done, place in _each(ask, asked, matches, live):
        one = matches[place]
        found = f"{objects[place].name}: {one.asset_id or 'made from the view'}"
        yield _said(found, one.failure, name, told), done, len(asked), one


def marks(project: Project, model: Model) -> tuple[tuple[np.ndarray, ...], str]:
    """The photograph (H, W, 3) with every object's number on it, for a model that sees, and a hash of what it shows."""
    if not sees(model):
        return (), ""
    real = {one.segment_id for one in project.descriptions() or () if one.is_object}
    masks = {one.id: one.mask for one in project.segments() or () if one.id in real}
    shows = digest(project.frame.rgb, [[id, int(mask.sum())] for id, mask in masks.items()])
    return (marked(project.frame.rgb, masks),), shows


def _each(ask: Callable[[int], T], asked: Sequence[int], into: list[T], live: Live) -> Iterator[tuple[int, int]]:
    """How many are done, and the place of the one that was just put in."""
    with closing(answers(ask, asked, live)) as told:
        for done, (turn, one) in enumerate(told, 1):
            into[asked[turn]] = one
            yield done, asked[turn]


def _said(text: str, failure: str, name: str, told: set[str]) -> str:
    """A message; the reason of a failure is told once, for a server that is away is away for all."""
    if not failure:
        return text
    why = "" if failure in told else f": {failure}"
    told.add(failure)
    return f"{text} (as measured; no answer from {name}{why})"
