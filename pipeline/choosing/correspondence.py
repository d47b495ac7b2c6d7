"""GRS's object correspondence (Zook et al. 2024, section III-B): a model compares words, pictures, or both.

The words are the object's description and one of each asset; the pictures are the crop and drawn views. What does not
fit one question is shortlisted by the measured matcher, and the match says so. Candidates are listed by id, so that
their order tells nothing of what was measured.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, Field, create_model

from pipeline.assets import Asset, AssetError, Library
from pipeline.assets.cards import VIEWS, card
from pipeline.description import Description
from pipeline.description.told import about
from pipeline.frame import Frame
from pipeline.matching import KEPT, Asking, Candidate, Match
from pipeline.models import Model, ModelError, Question, Stopped, source_of
from pipeline.models.failures import readable
from pipeline.models.pictures import cut_out, highlighted, side_by_side
from pipeline.segmentation import Segment
from pipeline.store import digest

KINDS: Mapping[str, str] = {"text": "match_text", "image": "match_image", "image+text": "match_image_text"}
"""The kind of question that each matcher asks."""
SHORTLIST: Mapping[str, int] = {"text": 400, "image": 8, "image+text": 8}
"""Candidates that are measured for each, at most."""
LETTERS = 12_000
"""Of all assets' descriptions in one question: about 3,500 tokens."""
IN_A_ROW = 4
"""Candidates beside one another in a picture."""


class Scored(BaseModel):
    number: int
    score: float
    """From 0 to 1; servers do not hold models to it, so what lies beyond is taken for its nearer end."""


class CorrespondenceAnswer(BaseModel):
    choice: int
    """Number of the candidate, from 1; 0 for none."""
    scores: list[Scored] = Field(max_length=5)
    """The best few, from 0 to 1."""
    reason: str = Field(min_length=1, max_length=400)


def correspond(
    matcher: Asking,
    model: Model,
    frame: Frame,
    segment: Segment,
    described: Description,
    measured: Match,
    library: Library,
    captions: Mapping[str, str],
    cards: Path | None = None,
) -> Match:
    """The asset that the model says the object is, or none; the measured match where the model fails.

    `measured` ranks at least SHORTLIST candidates; `captions` are the assets' descriptions by id; `cards` is a folder
    where drawn views are kept. Raises Stopped.
    """
    few = replace(measured, candidates=measured.candidates[:KEPT])
    if not measured.candidates or not described.is_object:
        return few
    shown = _shown(matcher, measured.candidates, library, captions)
    try:
        answer = model.ask(question(matcher, frame, segment, described, shown, captions, cards))
    except Stopped:
        raise
    except (ModelError, AssetError) as error:
        return replace(few, failure=str(error))
    assert isinstance(answer, CorrespondenceAnswer)
    said = _said(answer, shown)
    taken = shown[answer.choice - 1].id if answer.choice else None
    candidates = _as_said(matcher, measured.candidates, said, taken)
    return Match(
        segment.id,
        taken,
        next((one.scale for one in candidates if one.asset_id == taken), 1.0),
        readable(answer.reason) + _left_out(len(shown), len(library)),
        candidates,
        source_of(model, KINDS[matcher]),
    )


def question(
    matcher: Asking,
    frame: Frame,
    segment: Segment,
    described: Description,
    assets: Sequence[Asset],
    captions: Mapping[str, str],
    cards: Path | None = None,
) -> Question:
    """Which of these assets it is, numbered from 1. Raises AssetError for a mesh that cannot be drawn."""
    data: dict[str, Any] = {}
    if matcher != "image":
        size = "" if " cm" in described.caption else f", {_cm(described.attributes.size)}"
        data["object"] = f"{described.caption or described.name}{size}"
        data["assets"] = "\n".join(_told(k, one, captions) for k, one in enumerate(assets, 1))
    pictures, shows = (), ""
    if matcher != "text":
        data["count"] = len(assets)
        pictures = cut_out(frame.rgb, segment.mask), highlighted(frame.rgb, segment.mask), sheet(assets, cards)
        shows = digest(frame.rgb, segment.mask, [asset.digest or asset.id for asset in assets])
    return Question(
        KINDS[matcher], data, _answer(len(assets)), pictures, bool(pictures), about(segment.id), shows
    )  # fmt: skip


def sheet(assets: Sequence[Asset], cards: Path | None = None) -> np.ndarray:
    """The assets under their numbers in rows, each from two sides, of shape (H, W, 3), uint8. Raises AssetError."""
    views = [np.concatenate(card(asset, VIEWS[:2], 224, cards)) for asset in assets]
    views += [np.full_like(views[0], 255)] * (-len(views) % min(IN_A_ROW, len(views)))
    labels = [str(k) if k <= len(assets) else "" for k in range(1, len(views) + 1)]
    starts = range(0, len(views), IN_A_ROW)
    return np.concatenate([side_by_side(views[k : k + IN_A_ROW], labels[k : k + IN_A_ROW], 448) for k in starts])


def _answer(count: int) -> type[CorrespondenceAnswer]:
    """Only these numbers can be said."""
    some, none = Literal[tuple(range(1, count + 1))], Literal[tuple(range(count + 1))]  # type: ignore[valid-type]
    scored: Any = create_model("Scored", __base__=Scored, number=(some, ...))  # type: ignore[call-overload]
    scores = (list[scored], Field(max_length=5))
    return create_model("CorrespondenceAnswer", __base__=CorrespondenceAnswer, choice=(none, ...), scores=scores)  # type: ignore[call-overload]


def _shown(
    matcher: Asking, ranked: Sequence[Candidate], library: Library, captions: Mapping[str, str]
) -> tuple[Asset, ...]:
    """As many as fit one question, best measured first to come in, listed by id."""
    chosen, letters = [], 0
    for one in ranked[: SHORTLIST[matcher]]:
        asset = library[one.asset_id]
        letters += len(_told(0, asset, captions))
        if letters > LETTERS and chosen:
            break
        chosen.append(asset)
    return tuple(sorted(chosen, key=lambda asset: asset.id))


def _told(number: int, asset: Asset, captions: Mapping[str, str]) -> str:
    words = " ".join(captions.get(asset.id, asset.caption).split())
    kind = f"{asset.category}, " if asset.category.lower() not in f"{asset.name} {words}".lower() else ""
    name = "" if asset.name.lower() in words.lower() else f"{asset.name}: "
    return f"{number}. {name}{words} ({kind}{_cm(asset.size)})"


def _said(answer: CorrespondenceAnswer, shown: Sequence[Asset]) -> dict[str, float]:
    """The model's scores by asset; what it chose is never below another."""
    said = {shown[one.number - 1].id: min(max(one.score, 0.0), 1.0) for one in reversed(answer.scores)}
    if answer.choice:
        said[shown[answer.choice - 1].id] = max([*said.values(), 0.5])
    return said


def _as_said(
    matcher: Asking, ranked: Sequence[Candidate], said: Mapping[str, float], taken: str | None
) -> tuple[Candidate, ...]:
    """What the model scored first, then what is measured nearest, to which it gave nothing."""
    spoken = [
        replace(one, score=round(said[one.asset_id], 4), scores={**one.scores, matcher: round(said[one.asset_id], 4)})
        for one in ranked
        if one.asset_id in said
    ]
    silent = [replace(one, score=0.0) for one in ranked if one.asset_id not in said]
    return tuple([*sorted(spoken, key=lambda one: (-one.score, one.asset_id != taken)), *silent][:KEPT])


def _left_out(shown: int, whole: int) -> str:
    return "" if shown >= whole else f" (It was shown the {shown} of {whole} assets that measure nearest.)"


def _cm(size: np.ndarray) -> str:
    return " x ".join(f"{100 * float(extent):.0f}" for extent in size) + " cm"
