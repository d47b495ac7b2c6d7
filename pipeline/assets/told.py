"""What a model that sees pictures says of an asset, shown from four sides: for assets that nobody has described."""

from pathlib import Path

from pydantic import BaseModel, Field

from pipeline.assets.asset import Asset, AssetError
from pipeline.assets.cards import card
from pipeline.models import Model, ModelError, Question, Stopped
from pipeline.models.failures import readable
from pipeline.models.pictures import side_by_side

KIND = "describe_asset"
SIDES = ("1", "2", "3", "4")


class AssetAnswer(BaseModel):
    caption: str = Field(min_length=1, max_length=300)
    category: str = Field(default="", max_length=40)
    confidence: float = Field(default=0.5, ge=0, le=1)


def undescribed(asset: Asset) -> bool:
    """Whether its caption says no more than its name or id does."""
    plain = asset.caption.lower().replace("_", " ").strip()
    return plain in ("", asset.name.lower().replace("_", " ").strip(), asset.id.lower().replace("_", " ").strip())


def caption(asset: Asset, model: Model, cache: Path | None = None) -> str:
    """The asset's own caption, else the model's; its name where the model fails too. Raises Stopped."""
    if not undescribed(asset):
        return asset.caption
    try:
        answer = model.ask(question(asset, cache))
    except Stopped:
        raise
    except (ModelError, AssetError):
        return asset.name
    assert isinstance(answer, AssetAnswer)
    return readable(answer.caption)


def question(asset: Asset, cache: Path | None = None) -> Question:
    """Four views of it in a row. Raises AssetError for a mesh that cannot be drawn."""
    data = {"name": asset.name, "category": asset.category, "size_cm": [round(100 * float(e), 1) for e in asset.size]}
    views = side_by_side(card(asset, cache=cache), SIDES)
    about = f"asset {asset.id}"
    return Question(KIND, {"asset": data}, AssetAnswer, (views,), must_see=True, about=about, shows=asset.digest)
