"""Object correspondence as in GRS (Zook et al. 2024, section III-B): a model compares descriptions, pictures, or both.

The descriptions are those of the object and of each asset; the pictures are the crop and rendered views. If not all
assets fit into one question, the measured matcher makes a shortlist, and the match says so. Assets are listed by id, so
that their order does not reveal the measured ranking.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, Field, create_model

from pipeline.assets import Asset, AssetError, Library
from pipeline.assets.asset_cards import CARD_VIEWS, render_card
from pipeline.description.model_description import object_label
from pipeline.errors import single_line, without_folders
from pipeline.matching import MAX_CANDIDATES, Candidate, Match, ModelMatcherName, Query
from pipeline.models import Model, ModelError, Question, StageCancelled, source_of
from pipeline.models.images import masked_crop, outline_in_frame, side_by_side
from pipeline.store import digest

QUESTION_KINDS: Mapping[str, str] = {
    "text": "match_text",
    "image": "match_image",
    "image+text": "match_image_text",
    "paper": "match_paper",
}
"""Kind of question that each matcher asks."""
SHORTLIST_SIZE: Mapping[str, int] = {"text": 400, "image": 8, "image+text": 8, "paper": 400}
"""Most candidates that the measured matcher ranks for each; "paper" takes only their scales from it."""
CONTEXT_CHARACTERS = 48_000
"""Most characters of assets' descriptions in one question of "paper": about 14,000 tokens."""
MAX_DESCRIPTION_CHARACTERS = 12_000
"""Most characters of all assets' descriptions in one question: about 3,500 tokens."""
ASSETS_PER_ROW = 4
"""Assets in one row of the contact sheet."""


class Scored(BaseModel):
    number: int
    score: float
    """From 0 to 1. Clipped afterwards, because servers do not enforce bounds of numbers."""


class CorrespondenceAnswer(BaseModel):
    choice: int
    """Number of the candidate, from 1; 0 for none."""
    scores: list[Scored] = Field(max_length=5)
    """Scores of the best few candidates, from 0 to 1."""
    reason: str = Field(min_length=1, max_length=400)


class PaperAnswer(BaseModel):
    choice: int
    """Number of the asset, from 1; 0 for none."""
    reason: str = Field(min_length=1, max_length=400)


def correspond(
    matcher: ModelMatcherName,
    model: Model,
    query: Query,
    measured: Match,
    library: Library,
    captions: Mapping[str, str],
    cards_folder: Path | None = None,
) -> Match:
    """Return the asset that the model chooses, or none; the measured match if the model fails.

    `measured` ranks up to SHORTLIST_SIZE candidates. `captions` are the assets' descriptions by id. Rendered views are
    cached in `cards_folder`. Raises StageCancelled.
    """
    fallback = replace(measured, candidates=measured.candidates[:MAX_CANDIDATES])
    if not measured.candidates or not query.description.is_object:
        return fallback
    if matcher == "paper":
        return _choose_among_all(model, query, measured, library, captions)
    assets = _shortlist(matcher, measured.candidates, library, captions)
    try:
        answer = model.ask(question(matcher, query, assets, captions, cards_folder))
    except StageCancelled:
        raise
    except (ModelError, AssetError) as error:
        return replace(fallback, failure=without_folders(str(error)))
    assert isinstance(answer, CorrespondenceAnswer)
    scores = _scores(answer, assets)
    chosen = assets[answer.choice - 1].id if answer.choice else None
    candidates = _ranked_by_model(matcher, measured.candidates, scores, chosen)
    return Match(
        query.segment.id,
        chosen,
        next((one.scale for one in candidates if one.asset_id == chosen), 1.0),
        single_line(answer.reason) + _shortlist_note(len(assets), len(library)),
        candidates,
        source_of(model, QUESTION_KINDS[matcher]),
    )


def _choose_among_all(
    model: Model, query: Query, measured: Match, library: Library, captions: Mapping[str, str]
) -> Match:
    """Return the asset that the model chooses among all of the library, or none; the measured match if it fails.

    Where the descriptions do not fit into one question, the choices of several questions meet in a final one. Raises
    StageCancelled.
    """
    rounds, reasons = 0, list[str]()
    remaining = sorted(library, key=lambda asset: asset.id)
    try:
        while True:
            rounds += 1
            batches, chosen = batched_assets(remaining, captions), []
            for batch in batches:
                answer = model.ask(paper_question(query, batch, captions))
                assert isinstance(answer, PaperAnswer)
                reasons.append(single_line(answer.reason))
                chosen += [batch[answer.choice - 1]] if answer.choice else []
            if len(batches) == 1 or len(chosen) <= 1:
                break
            remaining = chosen
    except StageCancelled:
        raise
    except ModelError as error:
        short = replace(measured, candidates=measured.candidates[:MAX_CANDIDATES])
        return replace(short, failure=without_folders(str(error)))
    best = chosen[0].id if chosen else None
    ranked = next((one for one in measured.candidates if one.asset_id == best), None)
    scale = ranked.scale if ranked else 1.0
    scores = {**ranked.scores, "paper": 1.0} if ranked else {"paper": 1.0}
    found = Candidate(best, 1.0, scores, reasons[-1], scale) if best else None
    others = tuple(replace(one, score=0.0) for one in measured.candidates if one.asset_id != best)
    note = f" (Asked in {len(reasons)} questions about {len(library)} assets.)" if rounds > 1 else ""
    candidates = ((found, *others) if found else others)[:MAX_CANDIDATES]
    source = source_of(model, QUESTION_KINDS["paper"])
    return Match(query.segment.id, best, scale, reasons[-1] + note, candidates, source)


def batched_assets(assets: Sequence[Asset], captions: Mapping[str, str]) -> list[list[Asset]]:
    """Return the assets in batches, in order, whose descriptions fit into one question each."""
    batches, characters = list[list[Asset]](), 0
    for asset in assets:
        length = len(_asset_line(1000, asset, captions)) + 1
        # 2: fewest assets in one question, so that every round of questions leaves fewer assets
        if not batches or (len(batches[-1]) >= 2 and characters + length > CONTEXT_CHARACTERS):
            batches.append([])
            characters = 0
        batches[-1].append(asset)
        characters += length
    return batches


def paper_question(query: Query, assets: Sequence[Asset], captions: Mapping[str, str]) -> Question:
    """Return the question of GRS: the crop, its description and descriptions of assets, numbered from 1."""
    rgb, mask, described = query.observation.frame.rgb, query.segment.mask, query.description
    data = {
        "object": described.caption or described.name,
        "assets": "\n".join(_asset_line(k, asset, captions) for k, asset in enumerate(assets, 1)),
    }
    or_none = Literal[tuple(range(len(assets) + 1))]  # type: ignore[valid-type]
    answer = create_model("PaperAnswer", __base__=PaperAnswer, choice=(or_none, ...))  # type: ignore[call-overload]
    label, key = object_label(query.segment.id), digest(rgb, mask)
    return Question(QUESTION_KINDS["paper"], data, answer, (masked_crop(rgb, mask),), True, label, key)


def question(
    matcher: ModelMatcherName,
    query: Query,
    assets: Sequence[Asset],
    captions: Mapping[str, str],
    cards_folder: Path | None = None,
) -> Question:
    """Return the question which of these assets, numbered from 1, the object is.

    Raises AssetError if a mesh cannot be rendered.
    """
    rgb, mask, described = query.observation.frame.rgb, query.segment.mask, query.description
    data: dict[str, Any] = {}
    if matcher != "image":
        size = "" if " cm" in described.caption else f", {_centimetres(described.attributes.size)}"
        data["object"] = f"{described.caption or described.name}{size}"
        data["assets"] = "\n".join(_asset_line(k, asset, captions) for k, asset in enumerate(assets, 1))
    pictures, key = (), ""
    if matcher != "text":
        data["count"] = len(assets)
        pictures = masked_crop(rgb, mask), outline_in_frame(rgb, mask), contact_sheet(assets, cards_folder)
        key = digest(rgb, mask, [asset.digest or asset.id for asset in assets])
    label = object_label(query.segment.id)
    return Question(QUESTION_KINDS[matcher], data, _answer_type(len(assets)), pictures, bool(pictures), label, key)


def contact_sheet(assets: Sequence[Asset], cards_folder: Path | None = None) -> np.ndarray:
    """Render the assets under their numbers in rows, each from two sides, as a picture (H, W, 3), uint8.

    Raises AssetError.
    """
    views = [np.concatenate(render_card(asset, CARD_VIEWS[:2], 224, cards_folder)) for asset in assets]
    views += [np.full_like(views[0], 255)] * (-len(views) % min(ASSETS_PER_ROW, len(views)))
    labels = [str(k) if k <= len(assets) else "" for k in range(1, len(views) + 1)]
    rows = [slice(k, k + ASSETS_PER_ROW) for k in range(0, len(views), ASSETS_PER_ROW)]
    return np.concatenate([side_by_side(views[row], labels[row], 448) for row in rows])


def _answer_type(count: int) -> type[CorrespondenceAnswer]:
    """Return the answer type whose schema allows the numbers of the listed assets only."""
    listed, or_none = Literal[tuple(range(1, count + 1))], Literal[tuple(range(count + 1))]  # type: ignore[valid-type]
    scored: Any = create_model("Scored", __base__=Scored, number=(listed, ...))  # type: ignore[call-overload]
    scores = (list[scored], Field(max_length=5))
    return create_model("CorrespondenceAnswer", __base__=CorrespondenceAnswer, choice=(or_none, ...), scores=scores)  # type: ignore[call-overload]


def _shortlist(
    matcher: ModelMatcherName, ranked: Sequence[Candidate], library: Library, captions: Mapping[str, str]
) -> tuple[Asset, ...]:
    """Return as many of the best ranked assets as fit into one question, sorted by id."""
    chosen, characters = [], 0
    for candidate in ranked[: SHORTLIST_SIZE[matcher]]:
        asset = library[candidate.asset_id]
        characters += len(_asset_line(0, asset, captions))
        if characters > MAX_DESCRIPTION_CHARACTERS and chosen:
            break
        chosen.append(asset)
    return tuple(sorted(chosen, key=lambda asset: asset.id))


def _asset_line(number: int, asset: Asset, captions: Mapping[str, str]) -> str:
    words = " ".join(captions.get(asset.id, asset.caption).split())
    category = f"{asset.category}, " if asset.category.lower() not in f"{asset.name} {words}".lower() else ""
    name = "" if asset.name.lower() in words.lower() else f"{asset.name}: "
    return f"{number}. {name}{words} ({category}{_centimetres(asset.size)})"


def _scores(answer: CorrespondenceAnswer, assets: Sequence[Asset]) -> dict[str, float]:
    """Return the model's scores by asset id. The chosen asset gets at least the highest score."""
    scores = {assets[one.number - 1].id: min(max(one.score, 0.0), 1.0) for one in reversed(answer.scores)}
    if answer.choice:
        scores[assets[answer.choice - 1].id] = max([*scores.values(), 0.5])
    return scores


def _ranked_by_model(
    matcher: ModelMatcherName, ranked: Sequence[Candidate], scores: Mapping[str, float], chosen: str | None
) -> tuple[Candidate, ...]:
    """Return the candidates that the model scored, best first, then the others in their measured order with score 0."""
    rounded = {asset_id: round(score, 4) for asset_id, score in scores.items()}
    scored = [
        replace(one, score=rounded[one.asset_id], scores={**one.scores, matcher: rounded[one.asset_id]})
        for one in ranked
        if one.asset_id in rounded
    ]
    others = [replace(one, score=0.0) for one in ranked if one.asset_id not in rounded]
    scored.sort(key=lambda one: (-one.score, one.asset_id != chosen))
    return tuple([*scored, *others][:MAX_CANDIDATES])


def _shortlist_note(shown: int, total: int) -> str:
    return "" if shown >= total else f" (It was shown the {shown} of {total} assets that measure nearest.)"


def _centimetres(size: np.ndarray) -> str:
    return " x ".join(f"{100 * float(extent):.0f}" for extent in size) + " cm"
