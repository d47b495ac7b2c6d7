"""Starts of generated tasks: the twin as photographed, or with objects of the library brought, and distractors."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.assets import Asset, Library
from pipeline.scene import Scene
from pipeline.task_generation.bring import bring, kinds_of
from pipeline.variation.varied_scene import write_start

DISTRACTORS = {1: (0, 0), 2: (0, 2), 3: (2, 4)}
"""Fewest and most distractors of a start, by the level that it is made for."""
MAX_BROUGHT = 2
"""Most objects that are brought to be used."""


@dataclass(frozen=True)
class Start:
    """A twin that tasks are proposed on."""

    id: str
    """"<level>-<number>"."""
    folder: Path
    """With scene.json and scene/, as programs read them."""
    brought: tuple[str, ...] = ()
    """Names of the objects that were brought for the tasks."""
    distractors: tuple[str, ...] = ()
    """Names of the objects that were brought and that no task is about."""


class StartMaker:
    """Makes the starts of one project; the same level, number and seed give the same start."""

    def __init__(self, project_dir: Path, scene: Scene, library: Library | None, seed: int, folder: Path):
        self._project_dir, self._scene, self._seed, self._folder = Path(project_dir), scene, seed, Path(folder)
        self._assets = [asset for asset in library or () if _is_handy(asset)]

    def make(self, level: int, number: int) -> Start:
        """Write a start; number 0 brings nothing but distractors. Raises SceneError, StoreError."""
        random = np.random.default_rng((self._seed, level, number))
        id, order = f"{level}-{number}", self._order(random)
        used = bring(self._scene, order[: int(random.integers(1, MAX_BROUGHT + 1))] if number else [])
        low, high = DISTRACTORS[level]
        count = int(random.integers(low, high + 1))
        categories = {p.category for p in used.scene.placements}
        others = [asset for asset in order[MAX_BROUGHT:] if asset.category not in categories]
        cluttered = bring(used.scene, others[:count])
        folder = self._folder / id
        write_start(self._project_dir, cluttered.scene, folder)
        return Start(id, folder, used.names, cluttered.names)

    def _order(self, random: np.random.Generator) -> list[Asset]:
        """Return the assets in the order in which they are brought: mostly related ones, no two of a category."""
        shown = frozenset().union(*(kinds_of(p.category, p.name) for p in self._scene.placements))
        there = {p.asset_id for p in self._scene.placements}
        shuffled = [self._assets[i] for i in random.permutation(len(self._assets))]
        shuffled = [asset for asset in shuffled if asset.id not in there]
        related = [asset for asset in shuffled if kinds_of(asset.category, asset.name) & shown]
        others = [asset for asset in shuffled if asset not in related]
        found: list[Asset] = []
        while related or others:
            # Share of the brought objects that are of a kind that the photograph shows
            source = related if related and (not others or random.uniform() < 0.6) else others
            asset = source.pop()
            if asset.category not in {one.category for one in found}:
                found.append(asset)
        return found


def _is_handy(asset: Asset) -> bool:
    """Whether a gripper can carry an asset, or put something into it."""
    # Largest and smallest extents of an object that is brought
    return not asset.joints and max(asset.size) <= 0.24 and min(asset.size) >= 0.015
