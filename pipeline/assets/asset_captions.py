"""Captions assets that have no description, by a vision model that sees them from three sides."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

from pydantic import BaseModel, Field

from pipeline.assets.asset import Asset, AssetError
from pipeline.assets.asset_cards import CARD_VIEWS, render_card
from pipeline.assets.library import Library
from pipeline.errors import single_line
from pipeline.models import Model, ModelError, Question, StageCancelled, has_vision
from pipeline.models.images import side_by_side
from pipeline.models.in_flight import InFlightCalls, ask_concurrently

KIND = "describe_asset"
VIEW_LABELS = ("1", "2", "3")


class AssetAnswer(BaseModel):
    caption: str = Field(min_length=1, max_length=300)
    category: str = Field(default="", max_length=40)
    confidence: float = Field(default=0.5, ge=0, le=1)


def lacks_description(asset: Asset) -> bool:
    """Return whether the caption repeats the asset's name or id."""
    plain = asset.caption.lower().replace("_", " ").strip()
    return plain in ("", asset.name.lower().replace("_", " ").strip(), asset.id.lower().replace("_", " ").strip())


def caption_asset(asset: Asset, model: Model, cache: Path | None = None) -> str:
    """Return the asset's caption, else the model's, else the name if the model fails. Raises StageCancelled."""
    if not lacks_description(asset):
        return asset.caption
    try:
        answer = model.ask(caption_question(asset, cache))
    except StageCancelled:
        raise
    except (ModelError, AssetError):
        return asset.name
    assert isinstance(answer, AssetAnswer)
    return single_line(answer.caption)


def caption_library(
    library: Library,
    model: Model,
    live: InFlightCalls,
    into: dict[str, str],
    cards: Path | None = None,
    kept: Mapping[str, str] | None = None,
) -> Iterator[tuple[int, int]]:
    """Put the caption of every asset into `into`: the kept one, else its own, else a vision model's, else its name.

    `kept` are descriptions by asset id. Yields the number of model calls done and their total. Raises StageCancelled.
    """
    into.update({asset.id: asset.caption or asset.name for asset in library})
    into.update(kept or {})
    asked = (asset for asset in library if lacks_description(asset) and asset.id not in (kept or {}))
    uncaptioned = list(asked) if has_vision(model) else []
    with closing(ask_concurrently(lambda asset: caption_asset(asset, model, cards), uncaptioned, live)) as answers:
        for done, (index, text) in enumerate(answers, 1):
            into[uncaptioned[index].id] = text
            yield done, len(uncaptioned)


def caption_question(asset: Asset, cache: Path | None = None) -> Question:
    """Return the question with three views side by side. Raises AssetError for a broken mesh."""
    data = {"name": asset.name, "category": asset.category, "size_cm": [round(100 * float(e), 1) for e in asset.size]}
    views = side_by_side(render_card(asset, CARD_VIEWS[:3], cache=cache), VIEW_LABELS)
    subject, key = f"asset {asset.id}", asset.digest
    return Question(KIND, {"asset": data}, AssetAnswer, (views,), needs_vision=True, subject=subject, picture_key=key)
