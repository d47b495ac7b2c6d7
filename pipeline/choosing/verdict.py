"""The match as a model chooses it, shown the object and the measured candidates side by side."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, Field, create_model

from pipeline.assets import Asset, AssetError, Library
from pipeline.assets.cards import VIEWS, card
from pipeline.assets.told import caption
from pipeline.description import Description
from pipeline.description.told import about
from pipeline.frame import Frame
from pipeline.matching import Candidate, Match
from pipeline.models import Model, ModelError, Question, Stopped, source_of
from pipeline.models.failures import readable
from pipeline.models.pictures import cut_out, highlighted, side_by_side
from pipeline.segmentation import Segment
from pipeline.store import digest

KIND = "choose_match"
SHOWN = 5
"""Candidates that the model is shown."""


class ChoiceAnswer(BaseModel):
    choice: int
    """Number of the candidate, from 1; 0 for none."""
    reason: str = Field(min_length=1, max_length=400)
    confidence: float = Field(default=0.5, ge=0, le=1)


def choose_by(
    model: Model,
    frame: Frame,
    segment: Segment,
    described: Description,
    measured: Match,
    library: Library,
    cards: Path | None = None,
) -> Match:
    """The candidate that the model says the object is, or none; the measured match where the model fails.

    `cards` is a folder where drawn views are kept. Raises Stopped.
    """
    candidates = measured.candidates[:SHOWN]
    if not candidates or not described.is_object:
        return measured
    try:
        answer = model.ask(question(model, frame, segment, described, candidates, library, cards))
    except Stopped:
        raise
    except (ModelError, AssetError) as error:
        return replace(measured, failure=str(error))
    assert isinstance(answer, ChoiceAnswer)
    taken = candidates[answer.choice - 1] if answer.choice else None
    said = [
        replace(one, scores={**one.scores, "model": answer.confidence}) if one is taken else one for one in candidates
    ]
    return replace(
        measured,
        candidates=(*said, *measured.candidates[SHOWN:]),
        asset_id=taken.asset_id if taken else None,
        scale=taken.scale if taken else 1.0,
        reason=readable(answer.reason),
        source=source_of(model, KIND),
    )


def question(
    model: Model,
    frame: Frame,
    segment: Segment,
    described: Description,
    candidates: Sequence[Candidate],
    library: Library,
    cards: Path | None = None,
) -> Question:
    """Assets that nobody has described are described first. Raises AssetError, ModelError, Stopped."""
    assets = [library[one.asset_id] for one in candidates]
    data = {
        "object": {"name": described.name, "caption": described.caption, "size_cm": _cm(described.attributes.size)},
        "candidates": [
            _told(number, asset, one, caption(asset, model, cards))
            for number, (asset, one) in enumerate(zip(assets, candidates, strict=True), 1)
        ],
    }
    pictures = cut_out(frame.rgb, segment.mask), highlighted(frame.rgb, segment.mask), lined_up(assets, cards)
    shows = digest(frame.rgb, segment.mask, [asset.digest or asset.id for asset in assets])
    numbers = Literal[tuple(range(len(assets) + 1))]  # type: ignore[valid-type]
    answer = create_model("ChoiceAnswer", __base__=ChoiceAnswer, choice=(numbers, ...))  # type: ignore[call-overload]
    return Question(KIND, data, answer, pictures, must_see=True, about=about(segment.id), shows=shows)


def lined_up(assets: Sequence[Asset], cards: Path | None = None) -> np.ndarray:
    """The assets under their numbers, each from two sides, of shape (H, W, 3), uint8. Raises AssetError."""
    views = [np.concatenate(card(asset, VIEWS[:2], 224, cards)) for asset in assets]
    return side_by_side(views, [str(number) for number in range(1, len(assets) + 1)], 448)


def _told(number: int, asset: Asset, candidate: Candidate, words: str) -> dict:
    told = {"number": number, "name": asset.name, "caption": words, "category": asset.category}
    return told | {"size_cm": _cm(asset.size), "measured": candidate.reason}


def _cm(size: np.ndarray) -> list[float]:
    return [round(100 * float(extent), 1) for extent in size]
