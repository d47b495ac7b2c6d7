"""Ask a model what new assets weigh, and whether their size is believable (Gen2Sim, Katara et al. 2023)."""

from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pipeline.assets.asset import Asset
from pipeline.assets.categories import GUESSED
from pipeline.assets.library import read_asset
from pipeline.assets.library_edits import SIZE_DOUBTED, update_facts
from pipeline.description.physical_properties import PhysicalEstimate, estimate_physical_properties
from pipeline.errors import without_folders
from pipeline.models import Model, ModelError, StageCancelled
from pipeline.models.in_flight import InFlightCalls, ask_concurrently

TOO_LONG = 1.5
"""How many times a model's range of lengths is left, or its inverse, before an asset's size is doubtful: the units of
meshes differ by 2.54 at least."""


@dataclass(frozen=True)
class WeighedAsset:
    """What became of one asset."""

    asset: Asset
    warning: str = ""
    """Why its size is doubtful; kept with the asset."""
    failure: str = ""
    """Why it has no estimate."""


def weigh_assets(own: Path, ids: Collection[str], model: Model, calls: InFlightCalls) -> Iterator[WeighedAsset]:
    """Write a model's mass and friction into the assets of a library folder, where theirs are but a guess.

    Assets with joints keep the masses of their model. Yields each asset that was asked about. Raises StageCancelled.
    """
    read = [read_asset(own / id) for id in ids]
    asked = [one for one in read if one.model is None and {one.mass_source, one.friction_source} & GUESSED]

    def ask(asset: Asset) -> PhysicalEstimate | str:
        about = {
            "name": asset.name, "caption": asset.caption, "kind": asset.category, "size": asset.size,
            "hollow": asset.container,
        }  # fmt: skip
        try:
            return estimate_physical_properties(model, about, f"asset {asset.id}")
        except StageCancelled:
            raise
        except ModelError as error:
            return without_folders(str(error))

    with closing(ask_concurrently(ask, asked, calls)) as answers:
        for index, answer in answers:
            yield _kept(asked[index], own, answer)


def _kept(asset: Asset, own: Path, answer: PhysicalEstimate | str) -> WeighedAsset:
    """Write the estimate into the asset's file and return the asset as it is now."""
    if isinstance(answer, str):
        return WeighedAsset(asset, failure=answer)
    facts: dict[str, object] = {}
    for name in ("mass", "friction"):
        if getattr(asset, f"{name}_source") in GUESSED:
            facts |= {
                name: getattr(answer, name), f"{name}_range": list(getattr(answer, f"{name}_range")),
                f"{name}_from": answer.source,
            }  # fmt: skip
    warning, times = "", answer.times_too_long(asset.size)
    if not 1 / TOO_LONG < times < TOO_LONG:
        low, high = (100 * end for end in answer.length_range)
        warning = (
            f"it is {100 * max(asset.size):.3g} cm long, but such objects are {low:.3g} to {high:.3g} cm, says "
            f"{answer.source}{SIZE_DOUBTED}"
        )
        facts["wrong"] = [*asset.warnings, warning]
    folder = own / asset.id
    update_facts(folder, facts)
    return WeighedAsset(read_asset(folder), warning)
