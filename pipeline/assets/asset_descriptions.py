"""Descriptions of assets, one for each asset and describer, kept in one file beside the user's libraries.

As in GRS (section III-B), a model describes every asset of a library once, from three views. What a person wrote comes
before every model's words. Offline the words are measured, and say so.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.assets.asset import Asset, AssetError
from pipeline.assets.asset_captions import AssetAnswer, caption_question, lacks_description
from pipeline.assets.asset_cards import CARD_VIEWS, render_card
from pipeline.assets.library import Library
from pipeline.description.colour import name_colour
from pipeline.errors import single_line
from pipeline.models import Model, ModelError, StageCancelled, has_vision
from pipeline.models.in_flight import InFlightCalls, ask_concurrently
from pipeline.store import read_json, write_json

SCHEMA = 1
FILE = "descriptions.json"
"""Name of the file in the folder of the user's libraries."""
MEASURED, HUMAN = "measured", "human"
"""Describers that are no model."""
MAX_LENGTH = 600
"""Characters of one description."""


class AssetDescriptions:
    """The kept descriptions. An asset is known by its id and the hash of its files: a changed asset has none."""

    def __init__(self, file: Path):
        """Raises StoreError for a file that cannot be read."""
        self._file = file
        self._texts: dict[str, dict[str, Any]] = (read_json(file, SCHEMA) or {}).get("descriptions", {})

    def find(self, asset: Asset, describer: str) -> tuple[str, str]:
        """Return the description and who wrote it: a person, else this describer; empty texts if there is none."""
        for source in (HUMAN, describer):
            kept = self._texts.get(source, {}).get(asset.id)
            if kept and kept.get("digest") == asset.digest:
                return str(kept["text"]), source
        return "", ""

    def keep(self, asset: Asset, describer: str, text: str) -> None:
        """Save a description; an empty one removes it. Raises AssetError if it is too long."""
        text = single_line(text)
        if len(text) > MAX_LENGTH:
            raise AssetError(f"The description has {len(text)} characters; at most {MAX_LENGTH} are possible.")
        texts = self._texts.setdefault(describer, {})
        texts.pop(asset.id, None)
        if text:
            texts[asset.id] = {"text": text, "digest": asset.digest}
        self._save()

    def entry(self, id: str, describer: str) -> dict[str, Any] | None:
        """Return what is kept of an asset by one describer, for `restore`; None if nothing is."""
        return self._texts.get(describer, {}).get(id)

    def restore(self, id: str, describer: str, entry: dict[str, Any] | None) -> None:
        """Save what `entry` returned earlier in place of the present description."""
        texts = self._texts.setdefault(describer, {})
        texts.pop(id, None)
        if entry:
            texts[id] = entry
        self._save()

    def _save(self) -> None:
        write_json(self._file, {"schema": SCHEMA, "descriptions": self._texts})


def kept_descriptions(library: Library, describer: str, file: Path | None) -> dict[str, str]:
    """Return the kept description of each asset that has one, by id; none without a file.

    Raises StoreError.
    """
    kept = AssetDescriptions(file) if file else None
    found = {asset.id: kept.find(asset, describer)[0] for asset in library} if kept else {}
    return {id: text for id, text in found.items() if text}


def describe_library(
    library: Library, model: Model, calls: InFlightCalls, kept: AssetDescriptions, cards: Path | None = None
) -> Iterator[tuple[int, int, Asset, str]]:
    """Describe every asset without a description by this model, and keep each answer at once.

    Yields the number of assets done, their total, the asset, and the reason of a failure or "". A model without vision
    is not asked: the words are measured. Raises StageCancelled.
    """
    source = model.name if has_vision(model) else MEASURED
    todo = [asset for asset in library if not kept.find(asset, source)[0]]

    def describe(asset: Asset) -> tuple[str, str]:
        try:
            if source == MEASURED:
                return _measured_description(asset, cards), ""
            answer = model.ask(caption_question(asset, cards))
            assert isinstance(answer, AssetAnswer)
            return answer.caption, ""
        except StageCancelled:
            raise
        except (ModelError, AssetError) as error:
            return "", str(error)

    with closing(ask_concurrently(describe, todo, calls)) as answers:
        for done, (index, (text, failure)) in enumerate(answers, 1):
            if text:
                kept.keep(todo[index], source, text)
            yield done, len(todo), todo[index], failure


def _measured_description(asset: Asset, cards: Path | None = None) -> str:
    """Return colour, category, size and the file's own caption if it has one. Raises AssetError for a broken mesh."""
    view = render_card(asset, CARD_VIEWS[:1], cache=cards)[0]
    background = view[0, 0].astype(int)
    # Difference of a pixel from the background, in sRGB, from which on it shows the asset
    shown = view[np.abs(view.astype(int) - background).max(axis=-1) > 12]
    colour = name_colour(shown)[0] if len(shown) else "grey"
    size = " x ".join(f"{100 * float(extent):.0f}" for extent in asset.size)
    words = f"{colour} {asset.category or 'object'}, {size} cm"
    return words if lacks_description(asset) else f"{asset.caption.rstrip('.')}; {words}"
