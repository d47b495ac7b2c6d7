"""The library that all open projects share: its assets, previews, edits, imports and packs."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.assets import Asset, AssetError, Library, library_edits
from pipeline.assets.asset_captions import KIND as DESCRIBE_ASSET
from pipeline.assets.asset_descriptions import FILE as DESCRIPTIONS_FILE
from pipeline.assets.asset_descriptions import MEASURED, AssetDescriptions
from pipeline.assets.collision import QUARTER_TURNS_UP
from pipeline.assets.library import BUILTIN_LIBRARY, user_library_folder, user_library_folders
from pipeline.assets.packs.pack import MENAGERIE, PACKS, find_menagerie
from pipeline.assets.weigh_assets import weigh_assets
from pipeline.description.physical_properties import KIND as WEIGH
from pipeline.errors import StudioError
from pipeline.models import has_vision, label_of, source_of
from pipeline.models.destination import destination_of
from pipeline.models.in_flight import InFlightCalls
from pipeline.models.model import can_answer
from pipeline.models.trace.recorder import TracingModel
from pipeline.run import Services
from pipeline.scene.preview.pose_preview import BODY_NAME, asset_model, mass_properties
from studio import viewer
from studio.library.import_jobs import ImportJobs
from studio.library.thumbnails import Thumbnails
from studio.services.library_search import collection_of
from studio.services.open_services import library_services
from studio.sessions.session_registry import SessionRegistry
from studio.web import background
from studio.web.endpoints import PageToken
from studio.web.jobs import Job


class SharedLibrary:
    """The library in use, and the user's changes to it. May be used from any thread."""

    def __init__(self, sessions: SessionRegistry, views: viewer.ViewRegistry):
        self.page_token = PageToken()
        self.thumbnails = Thumbnails()
        self.jobs = ImportJobs(
            user_library_folder, lambda: [asset.id for asset in self.library], self._take_up, self._weigh
        )
        self.sessions = sessions
        self._views = views
        self._chosen_paths = () if _is_default(self.library) else self.library.paths
        """Folders that were chosen at start-up instead of the default library."""
        self._previews: dict[str, str] = {}
        """Token of a view by the asset's digest."""
        self._lock = threading.RLock()

    @property
    def library(self) -> Library:
        return self.sessions.services.library

    @property
    def own(self) -> Path:
        """Folder of the user's own assets."""
        return user_library_folder() / "own"

    def reload(self) -> str:
        """Read the library again and give it to every project; return what that means for the open ones, "" if nothing.

        Open projects recompute at once unless that could cost money.
        """
        with self._lock:
            library = Library.open(self._paths())
            if library.digest == self.library.digest and library.skipped == self.library.skipped:
                return ""
            services = self.sessions.services
            services = replace(services, **library_services(library, services.encoder))
            waiting, started = self.sessions.use_library(services, recompute=not rematching_costs_money(services))
        if not started:
            background.start("library features", lambda _: services.features(), background.ignore_error)
        if not waiting + started:
            return ""
        if not started:
            return "Open projects use it at their next change."
        return "Open projects match their objects again."

    def _paths(self) -> list[Path]:
        if not self._chosen_paths:
            return [BUILTIN_LIBRARY, *user_library_folders()]
        is_extra = self.own.is_dir() and self.own not in self._chosen_paths
        return [*self._chosen_paths, *([self.own] if is_extra else [])]

    def _take_up(self, new: list[str]) -> str:
        """Reload after an import of assets with these ids; return a message."""
        message = self.reload()
        skipped = [reason for folder, reason in self.library.skipped if folder.name in new]
        return " ".join([*skipped, message]).strip()

    def _weigh(self, new: list[str], job: Job[None]) -> str:
        """Ask the model in use what new assets of the user's own weigh; return a message, "" if it was not asked.

        A model on another machine is asked only if projects may be sent to it without a question each.
        """
        services = self.sessions.services
        destination, mine = destination_of(services.model), [id for id in new if (self.own / id).is_dir()]
        may_send = destination is None or destination.is_this_machine or services.send in ("allow", "always")
        if not (mine and can_answer(services.model, WEIGH) and may_send):
            return ""
        job.message = f"asking {label_of(services.model)} what they weigh"
        calls = InFlightCalls(job.stop_event)
        model = TracingModel(services.model, self.own.parent / "trace" / "trace.jsonl", calls)
        try:
            found = list(weigh_assets(self.own, mine, model, calls))
        except (StudioError, OSError) as error:
            if job.stop_event.is_set():
                return ""
            return f"Their masses are a guess by size: {error}"
        failed = [one for one in found if one.failure]
        lines = [f"{one.asset.name}: {one.warning}." for one in found if one.warning]
        lines += [f"{len(failed)} masses are a guess by size: {failed[0].failure}"] if failed else []
        return " ".join(lines)

    # ------------------------------------------------------------------ one asset

    def details(self, asset: Asset) -> dict[str, Any]:
        """Return everything known of an asset without compiling its model, in SI units."""
        return asset_record(asset) | {
            "caption": asset.caption,
            "description": self._description(asset),
            "mass": asset.mass,
            "mass_range": list(asset.mass_range),
            "mass_source": asset.mass_source,
            "friction": asset.friction,
            "friction_range": list(asset.friction_range),
            "friction_source": asset.friction_source,
            "container": asset.container,
            "tipped_over": tipped_over(asset),
            "convex_parts": len(asset.collision) or 1,
            "provenance": asset.provenance,
            "warnings": list(asset.warnings),
            "own": library_edits.is_own(asset, self.own),
            "version": library_edits.is_override(asset),
            "joints": [
                {"name": joint.name, "kind": joint.kind, "part": joint.part,
                 "range": [limit if np.isfinite(limit) else None for limit in joint.range]}
                for joint in asset.joints
            ],
        }  # fmt: skip

    def _description(self, asset: Asset) -> dict[str, str]:
        """Return {text, source} of what models read about an asset: a person's, the model's in use, or measured words.

        `source` is "human", a model's name or "measured"; both are empty if it was never described. Raises StoreError.
        """
        model = self.sessions.services.model
        describers = ([source_of(model, DESCRIBE_ASSET)] if has_vision(model) else []) + [MEASURED]
        kept = AssetDescriptions(self.own.parent / DESCRIPTIONS_FILE)
        found = [kept.find(asset, describer) for describer in describers]
        text, source = next((one for one in found if one[0]), ("", ""))
        return {"text": text, "source": source}

    def preview(self, asset: Asset) -> dict[str, Any]:
        """Return the view of an asset alone, and the mass properties that MuJoCo computes. Raises SceneError."""
        with self._lock:
            model = asset_model(asset)
            computed = mass_properties(model)
            token = self._previews.get(asset.digest)
            try:
                self._views.get(token or "")
            except viewer.ViewerError:
                token = self._previews[asset.digest] = self._views.open(model, names=[BODY_NAME])
        inertia = np.linalg.eigvalsh(computed.inertia)
        # Inertia over mass times the square of the longest side. No body inside its box can exceed it.
        is_impossible = inertia[-1] > 1.0 * computed.mass * float(max(asset.size)) ** 2
        return {
            "view": token,
            "mass": computed.mass,
            "inertia": inertia.tolist(),
            "centre": computed.centre.tolist(),
            "doubt": "its model's inertia is more than its size and mass allow" if is_impossible else "",
        }

    # ------------------------------------------------------------------ changing

    def edit(self, edit: Callable[[Asset, Path], None], id: str) -> str:
        """Apply one of pipeline.assets.library_edits to an asset; return what that means for open projects."""
        with self._lock:
            edit(self.library[id], self.own)
            return self.reload()

    def undo(self) -> tuple[str, str]:
        """Undo the last edit; return its name, "" if there is none, and what that means for open projects."""
        with self._lock:
            undone = library_edits.undo(self.own)
            return undone, self.reload() if undone else ""

    def packs(self) -> list[dict[str, Any]]:
        """Return the packs that can be installed, each with the number of its assets that are."""
        downloads = [
            {"name": pack.name, "about": pack.description, "download": pack.download_bytes, "count": pack.model_count,
             "licences": list(dict.fromkeys(licence for _, licence, _ in pack.folders))}
            for pack in PACKS.values()
        ]  # fmt: skip
        local = [
            {"name": MENAGERIE, "about": "MuJoCo Menagerie's robots, arms and grippers, as found here", "download": 0,
             "count": len(found.models), "licences": ["each has its own, in its folder"]}
            for found in [find_menagerie()] if found
        ]  # fmt: skip
        return [
            pack | {"installed": len(list((user_library_folder() / str(pack["name"])).glob("*/asset.json")))}
            for pack in downloads + local
        ]

    def install(self, name: str) -> str:
        """Start to install a pack and return the job's name. Raises StudioError."""
        if name not in {pack["name"] for pack in self.packs()}:
            raise AssetError(f"there is no pack {name}; there are: {', '.join(pack['name'] for pack in self.packs())}")
        return self.jobs.install(name, f"Pack {name}")


def asset_record(asset: Asset) -> dict[str, Any]:
    """Return what the grid shows of an asset."""
    return {
        "id": asset.id,
        "name": asset.name,
        "category": asset.category,
        "size": [float(extent) for extent in asset.size],
        "licence": asset.licence,
        "collection": collection_of(asset),
        "articulated": bool(asset.joints),
        "digest": asset.digest,
    }


def tipped_over(asset: Asset) -> dict[str, Any] | None:
    """Return where the opening of a hollow asset faces and the rotation that turns it up; None if it faces up."""
    side = library_edits.opening_side(asset)
    if side in (None, "z"):
        return None
    axis, quarters = QUARTER_TURNS_UP[side]
    return {"faces": "down" if side == "-z" else "sideways", "axis": axis, "quarters": quarters}


def rematching_costs_money(services: Services) -> bool:
    """Whether matching again asks a model that may cost money."""
    return label_of(services.model) != "rules"


def _is_default(library: Library) -> bool:
    return not library.paths or library.paths[0] == BUILTIN_LIBRARY
