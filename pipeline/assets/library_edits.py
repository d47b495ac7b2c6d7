"""Edits a person's assets: names, numbers, orientation, size, description; removes them; and undoes each edit.

Assets of packs and of the built-in library are never changed: an edit copies them into the person's library, where
the copy overrides them until it is removed.
"""

import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import numpy as np

from pipeline.assets.asset import Asset, AssetError
from pipeline.assets.asset_descriptions import FILE as DESCRIPTIONS_FILE
from pipeline.assets.asset_descriptions import HUMAN, AssetDescriptions
from pipeline.assets.collision import QUARTER_TURNS_UP, quarter_turn_matrix, rotated_side
from pipeline.assets.importers.asset_import import transform_model
from pipeline.assets.importers.mesh_import import MAX_LENGTH_M, MIN_LENGTH_M
from pipeline.assets.library import read_asset
from pipeline.store import parse_json, write_json

HISTORY_FOLDER, MAX_UNDO_STEPS = ".kept", 20
"""Folder of earlier versions, and how many edits are kept."""
MAX_TEXT_LENGTHS = {"name": 80, "caption": 300, "category": 40, "licence": 200, "provenance": 300}
"""Text fields that can be edited, with their largest lengths."""
SIZE_DOUBTED = ": its unit may be wrong"
"""Ends the warning of a size that no longer holds once the asset was scaled."""
NUMBER_RANGES = {"mass": (0.0005, 100.0), "friction": (0.01, 4.0)}
"""Number fields that can be edited: mass in kg, sliding friction."""
Axis = Literal["x", "y", "z"]


def update_fields(asset: Asset, own: Path, changes: Mapping[str, object]) -> None:
    """Change texts or numbers of an asset. `own` is the person's library. Raises AssetError."""
    facts = {key: _validated(key, value) for key, value in changes.items()}
    facts |= {f"{key}_from": "person" for key in NUMBER_RANGES if key in facts}

    def edit(folder: Path) -> None:
        update_facts(folder, facts)

    _apply_edit(asset, own, f"{', '.join(changes)} of {asset.name} changed", edit)


def rotate(asset: Asset, own: Path, axis: Axis, quarters: int = 1) -> None:
    """Rotate an asset by quarter turns about one of its axes, by the right-hand rule. Raises AssetError."""
    if axis not in ("x", "y", "z") or quarters not in (1, 2, 3):
        raise AssetError(f"an asset turns about x, y or z by one to three quarters, not {quarters} about {axis}")
    matrix = quarter_turn_matrix(axis, quarters)
    facts = _size_facts(asset, np.abs(matrix[:3, :3]) @ asset.size)
    if side := opening_side(asset):
        facts |= {"opens": (rotated := rotated_side(side, axis, quarters)), "container": rotated == "z"}

    def edit(folder: Path) -> None:
        _copy_convex_parts(asset, folder)
        _transform_files(folder, matrix)
        update_facts(folder, facts)

    _apply_edit(asset, own, f"{asset.name} rotated about {axis}", edit)


def opening_side(asset: Asset) -> str | None:
    """Return the side that its hollow opens to, a key of QUARTER_TURNS_UP; None if unknown or not hollow."""
    if asset.container:
        return "z"
    side = _read_facts(asset.folder).get("opens") if asset.folder and (asset.folder / "asset.json").exists() else None
    return side if side in QUARTER_TURNS_UP else None


def _copy_convex_parts(asset: Asset, folder: Path) -> None:
    """Copy convex parts that the reader found from above into the folder: they cannot be found when it lies."""
    if asset.collision and asset.folder == asset.mesh.parent and not _read_facts(folder).get("collision"):
        (folder / "collision").mkdir(exist_ok=True)
        names = [f"collision/{number:02d}.obj" for number in range(len(asset.collision))]
        for name, file in zip(names, asset.collision, strict=True):
            shutil.copyfile(file, folder / name)
        update_facts(folder, {"collision": names})


def scale(asset: Asset, own: Path, longest: float) -> None:
    """Scale an asset to a longest side in metres. Its mass scales with its volume unless a person set it.

    Raises AssetError.
    """
    if not MIN_LENGTH_M <= longest <= MAX_LENGTH_M:
        raise AssetError(
            f"its longest side must be {100 * MIN_LENGTH_M:.1f} to {100 * MAX_LENGTH_M:.0f} cm, for a table"
        )
    if asset.model is not None:
        raise AssetError("an asset with joints keeps the size of its model; change the model and import it again")
    factor = longest / float(max(asset.size))
    facts = _size_facts(asset, factor * asset.size)
    facts["wrong"] = [line for line in asset.warnings if SIZE_DOUBTED not in line]
    if asset.mass_source != "person" and not asset.mass_source.startswith("model "):  # which is of the real object
        facts |= {
            "mass": asset.mass * factor**3,
            "mass_range": [end * factor**3 for end in asset.mass_range],
            "mass_from": asset.mass_source,
        }

    def edit(folder: Path) -> None:
        _transform_files(folder, np.diag([factor, factor, factor, 1.0]))
        update_facts(folder, facts)

    _apply_edit(asset, own, f"{asset.name} scaled to {100 * longest:.3g} cm", edit)


def remove(asset: Asset, own: Path) -> None:
    """Remove an asset from the person's library; what it overrode is back. Raises AssetError for other assets."""
    if not is_own(asset, own):
        raise AssetError(f"{asset.name} is not your own; remove its whole pack instead")
    _apply_edit(asset, own, f"{asset.name} removed", None)


def describe(asset: Asset, own: Path, text: str) -> None:
    """Keep a person's description of an asset, which comes before a model's; an empty one removes it.

    Raises AssetError if it is too long.
    """
    kept = AssetDescriptions(own.parent / DESCRIPTIONS_FILE)
    before = kept.entry(asset.id, HUMAN)
    kept.keep(asset, HUMAN, text)
    _save_history(own, None, {"id": asset.id, "what": f"description of {asset.name} changed", "description": before})


def is_own(asset: Asset, own: Path) -> bool:
    """Return whether the asset is in the person's library."""
    return asset.folder is not None and asset.folder.resolve().parent == own.resolve()


def is_override(asset: Asset) -> bool:
    """Return whether the asset overrides one of a pack or of the built-in library."""
    return asset.folder is not None and bool(_read_facts(asset.folder).get("instead"))


def last_edit(own: Path) -> str:
    """Return a description of the edit that `undo` would revert; empty if there is none."""
    steps = _steps(own)
    return str(_read_step(steps[-1])["what"]) if steps else ""


def undo(own: Path) -> str:
    """Revert the last edit and return its description; empty if there is none."""
    steps = _steps(own)
    if not steps:
        return ""
    about, before = _read_step(steps[-1]), steps[-1] / "before"
    if "description" in about:
        AssetDescriptions(own.parent / DESCRIPTIONS_FILE).restore(str(about["id"]), HUMAN, about["description"])
    else:
        target = own / str(about["id"])
        shutil.rmtree(target, ignore_errors=True)
        if before.exists():
            before.rename(target)
    shutil.rmtree(steps[-1], ignore_errors=True)
    return str(about["what"])


# ---------------------------------------------------------------------- history


def _apply_edit(asset: Asset, own: Path, what: str, edit: Callable[[Path], None] | None) -> None:
    """Save the present version, then replace it by an edited copy; remove it if `edit` is None."""
    if asset.folder is None or not (asset.folder / "asset.json").exists():
        raise AssetError(f"{asset.name} has no asset folder and cannot be edited")
    mine = is_own(asset, own)
    target = own / (asset.folder.name if mine else asset.id)
    if not mine and target.exists():
        raise AssetError(f"your library has another folder {target.name}; rename it first")
    copy = own / f".{target.name}.{os.getpid()}.part"
    shutil.rmtree(copy, ignore_errors=True)
    try:
        if edit is not None:
            shutil.copytree(asset.folder, copy)
            if not mine:
                update_facts(copy, {"instead": True})
            edit(copy)
            read_asset(copy)
        _save_history(own, target, {"id": target.name, "what": what})
        shutil.rmtree(target, ignore_errors=True)
        if edit is not None:
            copy.rename(target)
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _save_history(own: Path, target: Path | None, about: Mapping[str, object]) -> None:
    """Keep what `undo` needs: the folder that is about to change, if one is, and what is known about the edit."""
    steps = _steps(own)
    number = int(steps[-1].name) + 1 if steps else 1
    copy = own / HISTORY_FOLDER / f".{number}.part"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    if target and target.exists():
        shutil.copytree(target, copy / "before")
    write_json(copy / "step.json", dict(about))
    copy.rename(own / HISTORY_FOLDER / f"{number:06d}")
    for old in steps[: max(0, len(steps) + 1 - MAX_UNDO_STEPS)]:
        shutil.rmtree(old, ignore_errors=True)


def _steps(own: Path) -> list[Path]:
    return sorted(step.parent for step in (own / HISTORY_FOLDER).glob("[0-9]*/step.json"))


def _read_step(step: Path) -> dict[str, Any]:
    return parse_json((step / "step.json").read_text(encoding="utf-8"))


# ---------------------------------------------------------------------- files


def _validated(key: str, value: object) -> object:
    """Return the value of a field as it is stored. Raises AssetError."""
    if key in MAX_TEXT_LENGTHS and isinstance(value, str):
        text = " ".join(value.split())[: MAX_TEXT_LENGTHS[key]]
        if not text and key in ("name", "category"):
            raise AssetError(f"its {key} cannot be empty")
        return text.lower() if key == "category" else text
    if key in NUMBER_RANGES and isinstance(value, int | float):
        low, high = NUMBER_RANGES[key]
        if low <= value <= high:
            return float(value)
        raise AssetError(f"its {key} takes a number from {low:g} to {high:g}, not {value:g}")
    raise AssetError(f"its {key} cannot be {value!r}")


def _size_facts(asset: Asset, size: np.ndarray) -> dict[str, Any]:
    """Return the facts about a size (3,) in metres, with the caption if an import wrote the size there."""
    centimetres = " x ".join(f"{100 * extent:.0f}" for extent in size)
    caption = re.sub(r", \d+ x \d+ x \d+ cm$", f", {centimetres} cm", asset.caption)
    facts: dict[str, Any] = {"caption": caption} if caption != asset.caption else {}
    return facts | {"size": [round(float(extent), 5) for extent in size]}


def update_facts(folder: Path, facts: Mapping[str, object]) -> None:
    """Write facts into a folder's asset.json, beside or in place of those that it has. Raises StoreError."""
    write_json(folder / "asset.json", _read_facts(folder) | dict(facts))


def _read_facts(folder: Path) -> dict[str, Any]:
    return parse_json((folder / "asset.json").read_text(encoding="utf-8"))


def _transform_files(folder: Path, matrix: np.ndarray) -> None:
    """Transform the mesh, its convex parts and its model. Raises AssetError unless the mesh is an .obj."""
    if not (folder / "mesh.obj").exists():
        raise AssetError("only imported assets can be rotated or scaled; import its file first")
    for file in (folder / "mesh.obj", *(folder / str(name) for name in _read_facts(folder).get("collision") or ())):
        file.write_text(_transform_obj(file.read_text(encoding="utf-8"), matrix), encoding="utf-8")
    model = folder / "model" / "model.xml"
    if model.exists():
        tree = ElementTree.fromstring(model.read_text(encoding="utf-8"))
        model.write_text(ElementTree.tostring(transform_model(tree, matrix), "unicode"), encoding="utf-8")


def _transform_obj(obj: str, matrix: np.ndarray) -> str:
    """Return the text of an .obj with its vertices and normals transformed."""
    rotation = matrix[:3, :3] / np.cbrt(np.linalg.det(matrix[:3, :3]))

    def transform_line(match: re.Match) -> str:
        kind, *values = match[0].split()
        vector = np.array(values[:3], float)
        new = matrix[:3, :3] @ vector + matrix[:3, 3] if kind == "v" else rotation @ vector
        return " ".join([kind, *(f"{x:.7g}" for x in new), *values[3:]])

    return re.sub(r"^vn? .*$", transform_line, obj, flags=re.MULTILINE)
