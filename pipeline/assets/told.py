"""What a model that sees pictures says of an asset, shown from four sides: for assets that nobody has described."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from pydantic import BaseModel, Field

from pipeline.assets.asset import Asset, AssetError
from pipeline.assets.cards import card
from pipeline.assets.library import Library
from pipeline.models import Model, ModelError, Question, Stopped, sees
from pipeline.models.failures import readable
from pipeline.models.live import Live
from pipeline.models.pictures import side_by_side
from pipeline.models.several import answers

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


def captions(
    library: Library, model: Model, live: Live, into: dict[str, str], cards: Path | None = None
) -> Iterator[tuple[int, int]]:
    """Puts every asset's caption into `into`: its own, else the model's where it sees, else its name.

    Tells how many were asked for, of how many. Raises Stopped.
    """
    into.update({asset.id: asset.caption or asset.name for asset in library})
    bare = [asset for asset in library if undescribed(asset)] if sees(model) else []
    with closing(answers(lambda asset: caption(asset, model, cards), bare, live)) as told:
        for done, (place, words) in enumerate(told, 1):
            into[bare[place].id] = words
            yield done, len(bare)


def question(asset: Asset, cache: Path | None = None) -> Question:
    """Four views of it in a row. Raises AssetError for a mesh that cannot be drawn."""
    data = {"name": asset.name, "category": asset.category, "size_cm": [round(100 * float(e), 1) for e in asset.size]}
    views = side_by_side(card(asset, cache=cache), SIDES)
    about = f"asset {asset.id}"
    return Question(KIND, {"asset": data}, AssetAnswer, (views,), must_see=True, about=about, shows=asset.digest)
