"""Verdict of a model that is shown the object and the best measured candidates side by side."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, Field, create_model

from pipeline.assets import Asset, AssetError, Library
from pipeline.assets.asset_captions import caption_asset
from pipeline.assets.asset_cards import CARD_VIEWS, render_card
from pipeline.description.model_description import object_label
from pipeline.errors import single_line, without_folders
from pipeline.frame.occlusion import HIDDEN_SHARE, hidden_share
from pipeline.matching import Candidate, Match, Query
from pipeline.matching.named_candidates import with_named_candidates
from pipeline.models import Model, ModelError, Question, StageCancelled, source_of
from pipeline.models.images import masked_crop, outline_in_frame, side_by_side
from pipeline.store import digest

QUESTION_KIND = "choose_match"
MAX_SHOWN = 5
"""Most candidates that the model is shown."""
MODEL_RELIABILITY, MOST_RELIABLE = 0.75, 0.95
"""Share of a model's verdicts that is assumed to be right: the two models of GRS's table 1 have F1 of 0.89 and 0.62. A
model that says that it is surer is believed so far."""


class ChoiceAnswer(BaseModel):
    choice: int
    """Number of the candidate, from 1; 0 for none."""
    reason: str = Field(min_length=1, max_length=400)
    confidence: float = Field(default=0.5, ge=0, le=1)


def choose_with_model(
    model: Model, query: Query, measured: Match, library: Library, cards_folder: Path | None = None
) -> Match:
    """Return the measured match with the candidate that the model chooses, or none; unchanged if the model fails.

    A verdict that clear measurements contradict is not followed; the reason then says so. Rendered views are cached
    in `cards_folder`. Raises StageCancelled.
    """
    if not measured.candidates or not query.description.is_object:
        return measured
    described = query.description
    candidates = with_named_candidates(measured, described.name, library, MAX_SHOWN, described.caption)
    try:
        answer = model.ask(question(model, query, candidates, library, cards_folder))
    except StageCancelled:
        raise
    except (ModelError, AssetError) as error:
        return replace(measured, failure=without_folders(str(error)))
    assert isinstance(answer, ChoiceAnswer)
    # The confidence was fitted on objects that are seen whole
    is_hidden = hidden_share(query.observation.frame, query.segment.mask) > HIDDEN_SHARE
    known = _halved(measured) if is_hidden else measured
    if most_probable(known, candidates, answer.choice, answer.confidence) != answer.choice:
        verdict = candidates[answer.choice - 1].asset_id.replace("_", " ") if answer.choice else "none of them"
        return replace(
            measured,
            reason=f"{measured.reason}; clear enough to outweigh {model.name}, which chose {verdict}",
            dissent=f"{model.name} chose {verdict} ({answer.confidence:.0%} sure)",
        )
    chosen = candidates[answer.choice - 1] if answer.choice else None
    scored = [
        replace(one, scores={**one.scores, "model": answer.confidence}) if one is chosen else one for one in candidates
    ]
    return replace(
        measured,
        candidates=(*scored, *(one for one in measured.candidates[MAX_SHOWN:] if one not in candidates)),
        asset_id=chosen.asset_id if chosen else None,
        scale=chosen.scale if chosen else 1.0,
        reason=single_line(answer.reason),
        source=source_of(model, QUESTION_KIND),
        confidence=None,
    )


def _halved(measured: Match) -> Match:
    """Return the match with half its confidence."""
    return measured if measured.confidence is None else replace(measured, confidence=measured.confidence / 2)


def most_probable(
    measured: Match, candidates: Sequence[Candidate], choice: int, confidence: float = MODEL_RELIABILITY
) -> int:
    """Return the number of the most probable candidate, from 1, 0 for none, given measurements and a model's choice.

    By Bayes' rule: the first candidate has the measured confidence, the others and "none" share the rest by their odds;
    the model is right as often as it says, within MODEL_RELIABILITY and MOST_RELIABLE, and errs evenly. Without a
    measured confidence the choice itself.
    """
    if measured.confidence is None:
        return choice
    odds = np.array([1.0, 0.0, *(one.score / (1 - min(one.score, 1 - 1e-4)) for one in candidates[1:])])
    prior = (1 - measured.confidence) * odds / odds.sum()
    prior[1] = measured.confidence
    reliability = float(np.clip(confidence, MODEL_RELIABILITY, MOST_RELIABLE))
    likelihood = np.full(len(prior), (1 - reliability) / len(candidates))
    likelihood[choice] = reliability
    return int(np.argmax(prior * likelihood))


def question(
    model: Model, query: Query, candidates: Sequence[Candidate], library: Library, cards_folder: Path | None = None
) -> Question:
    """Return the question which of the candidates the object is; assets without a description are described first.

    Raises AssetError, ModelError, StageCancelled.
    """
    assets = [library[one.asset_id] for one in candidates]
    rgb, mask, described = query.observation.frame.rgb, query.segment.mask, query.description
    size = _centimetres(described.attributes.size)
    data = {
        "object": {"name": described.name, "caption": described.caption, "size_cm": size},
        "candidates": [
            _candidate_data(number, asset, one, caption_asset(asset, model, cards_folder))
            for number, (asset, one) in enumerate(zip(assets, candidates, strict=True), 1)
        ],
    }
    pictures = masked_crop(rgb, mask), outline_in_frame(rgb, mask), candidate_row(assets, cards_folder)
    key = digest(rgb, mask, [asset.digest or asset.id for asset in assets])
    numbers = Literal[tuple(range(len(assets) + 1))]  # type: ignore[valid-type]
    answer = create_model("ChoiceAnswer", __base__=ChoiceAnswer, choice=(numbers, ...))  # type: ignore[call-overload]
    return Question(QUESTION_KIND, data, answer, pictures, True, object_label(query.segment.id), key)


def candidate_row(assets: Sequence[Asset], cards_folder: Path | None = None) -> np.ndarray:
    """Render the assets under their numbers, each from two sides, as a picture (H, W, 3), uint8. Raises AssetError."""
    views = [np.concatenate(render_card(asset, CARD_VIEWS[:2], 224, cards_folder)) for asset in assets]
    return side_by_side(views, [str(number) for number in range(1, len(assets) + 1)], 448)


def _candidate_data(number: int, asset: Asset, candidate: Candidate, caption: str) -> dict:
    data = {"number": number, "name": asset.name, "caption": caption, "category": asset.category}
    return data | {"size_cm": _centimetres(asset.size), "measured": candidate.reason}


def _centimetres(size: np.ndarray) -> list[float]:
    return [round(100 * float(extent), 1) for extent in size]
