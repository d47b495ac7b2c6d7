"""The library as the app sees it: what is in it, one asset alone on its stand, and everything a person changes."""

import secrets
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.assets import Asset, AssetError, Library, own
from pipeline.assets.features import learnt
from pipeline.assets.found import found
from pipeline.assets.hollow import UPWARDS
from pipeline.assets.library import OWN, user_libraries, user_library
from pipeline.assets.packs import PACKS
from pipeline.matching import Features
from pipeline.models import label_of
from pipeline.run import Services
from pipeline.scene.stand import NAME, body, stand
from studio import viewing
from studio.library_jobs import Jobs
from studio.library_search import place_of
from studio.services import Once, cache_folder
from studio.sessions import Sessions
from studio.thumbnails import Thumbnails

ABSURD = 1.0
"""Inertia over mass times the square of its longest side: nothing that is inside its box has so much."""


class Shelf:
    """May be called from any thread."""

    def __init__(self, sessions: Sessions, views: viewing.Sessions):
        self.door = secrets.token_urlsafe(24)
        """Given to the page when it loads; what asks without it is not our page."""
        self.thumbnails = Thumbnails()
        self.jobs = Jobs(user_library, lambda: [asset.id for asset in self.library], self._brought)
        self._sessions, self._views = sessions, views
        self._given = () if _is_usual(self.library) else self.library.paths
        self._stands: dict[str, str] = {}
        self._lock = threading.RLock()

    @property
    def library(self) -> Library:
        return self._sessions.services.library

    @property
    def own(self) -> Path:
        """The library of a person's own."""
        return user_library() / "own"

    def renew(self) -> str:
        """Reads the library anew and gives it to every project, open or not; says what that means for the open ones."""
        with self._lock:
            library = Library.open(self._paths())
            if library.digest == self.library.digest and library.skipped == self.library.skipped:
                return ""
            services = stocked(self._sessions.services, library)
            waiting, begun = self._sessions.stock(services, begin=not spends(services))
        if not begun:
            threading.Thread(target=_look, args=(services,), daemon=True, name="looks").start()
        if not waiting + begun:
            return ""
        if not begun:
            return "Open projects compare their objects with it at the next change of theirs."
        return "Open projects compare their objects with the library anew."

    def _paths(self) -> list[Path]:
        if not self._given:
            return [OWN, *user_libraries()]
        return [*self._given, *([self.own] if self.own.is_dir() and self.own not in self._given else [])]

    def _brought(self, new: list[str]) -> str:
        said = self.renew()
        left_out = [why for folder, why in self.library.skipped if folder.name in new]
        return " ".join([*left_out, said]).strip()

    # ------------------------------------------------------------------ one asset

    def facts(self, asset: Asset) -> dict[str, Any]:
        """All that is known of one without compiling it, as the page wants it: SI units."""
        return entry(asset) | {
            "caption": asset.caption,
            "mass": asset.mass,
            "mass_range": list(asset.mass_range),
            "mass_source": asset.mass_source,
            "friction": asset.friction,
            "friction_range": list(asset.friction_range),
            "friction_source": asset.friction_source,
            "container": asset.container,
            "lies": lying(asset),
            "pieces": len(asset.collision) or 1,
            "provenance": asset.provenance,
            "wrong": list(asset.wrong),
            "own": own.is_own(asset, self.own),
            "version": own.is_version(asset),
            "joints": [
                {"name": one.name, "kind": one.kind, "part": one.part,
                 "range": [end if np.isfinite(end) else None for end in one.range]}
                for one in asset.joints
            ],
        }  # fmt: skip

    def stand(self, asset: Asset) -> dict[str, Any]:
        """A view of it alone on its stand, and what MuJoCo makes of it. Raises SceneError."""
        with self._lock:
            model = stand(asset)
            made = body(model)
            token = self._stands.get(asset.digest)
            try:
                self._views.get(token or "")
            except viewing.ViewerError:
                token = self._stands[asset.digest] = self._views.open(model, names=[NAME])
        inertia = np.linalg.eigvalsh(made.inertia)
        absurd = inertia[-1] > ABSURD * made.mass * float(max(asset.size)) ** 2
        return {
            "view": token,
            "weighs": made.mass,
            "inertia": inertia.tolist(),
            "centre": made.centre.tolist(),
            "doubt": "its model's inertia is more than its size and mass allow" if absurd else "",
        }

    # ------------------------------------------------------------------ changing

    def change(self, work: Callable[[Asset, Path], None], id: str) -> str:
        """Does one step of pipeline.assets.own to an asset; says what that means for open projects."""
        with self._lock:
            work(self.library[id], self.own)
            return self.renew()

    def undo(self) -> tuple[str, str]:
        """Takes the last step back: which it was, and what that means for open projects; empty where there is none."""
        with self._lock:
            what = own.undo(self.own)
            return what, self.renew() if what else ""

    def packs(self) -> list[dict[str, Any]]:
        """The packs that can be had, each with how much of it is there."""
        fetched = [
            {"name": pack.name, "about": pack.about, "download": pack.download, "things": pack.things,
             "licences": list(dict.fromkeys(licence for _, licence, _ in pack.folders))}
            for pack in PACKS.values()
        ]  # fmt: skip
        here = [
            {"name": pack.name, "about": pack.about, "download": 0, "things": len(pack.models),
             "licences": [pack.licence or "each has its own, in its folder"]}
            for pack in found()
        ]  # fmt: skip
        return [
            pack | {"there": len(list((user_library() / str(pack["name"])).glob("*/asset.json")))}
            for pack in fetched + here
        ]

    def install(self, name: object) -> str:
        """Begins to install a pack; returns the job's name. Raises StudioError."""
        if name not in {pack["name"] for pack in self.packs()}:
            raise AssetError(f"there is no pack {name}; there are: {', '.join(pack['name'] for pack in self.packs())}")
        return self.jobs.install(str(name), f"Pack {name}")


def entry(asset: Asset) -> dict[str, Any]:
    """What the grid shows of an asset."""
    return {
        "id": asset.id,
        "name": asset.name,
        "category": asset.category,
        "size": [float(extent) for extent in asset.size],
        "licence": asset.licence,
        "place": place_of(asset),
        "articulated": bool(asset.joints),
        "digest": asset.digest,
    }


def lying(asset: Asset) -> dict[str, Any] | None:
    """Where a hollow thing's opening does not face up: where it faces, and the turn that brings it up."""
    side = own.opens(asset)
    if side in (None, "z"):
        return None
    axis, quarters = UPWARDS[side]
    return {"faces": "down" if side == "-z" else "sideways", "axis": axis, "quarters": quarters}


def stocked(services: Services, library: Library) -> Services:
    """The same services with another library; its looks are computed when first needed."""
    folder, eyes = cache_folder(), services.encoder
    looks = Once(lambda: Features.of(library, folder, encoder=eyes))

    def learn() -> Iterable[object]:
        return iter(()) if looks.made else learnt(library, folder, eyes)

    return replace(services, library=library, features=looks, learn=learn)  # type: ignore[arg-type]


def spends(services: Services) -> bool:
    """Whether matching anew asks a model that may cost money."""
    return label_of(services.model) != "rules"


def _look(services: Services) -> None:
    """Now, so that nobody waits for it; what goes wrong goes wrong again where it is needed."""
    with suppress(Exception):
        services.features()


def _is_usual(library: Library) -> bool:
    return not library.paths or library.paths[0] == OWN
