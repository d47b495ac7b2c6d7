"""A person's own assets changed: their words and numbers, which way is up, how large; or taken out. Every step can be
taken back.

What is not their own, a pack's or the studio's, is never touched: a version of it is made among their own, which takes
its place until it is taken out again.
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import numpy as np

from pipeline.assets.asset import Asset, AssetError
from pipeline.assets.hollow import UPWARDS, quarter_turn, turned
from pipeline.assets.importing import moved
from pipeline.assets.importing_mesh import LARGEST, SMALLEST
from pipeline.assets.library import read_asset
from pipeline.store import write_json

KEPT, STEPS = ".kept", 20
"""Folder of what was there before, and how many steps back it goes."""
WORDS = {"name": 80, "caption": 300, "category": 40, "licence": 200, "provenance": 300}
"""What a person may say, with the most letters of it."""
NUMBERS = {"mass": (0.0005, 100.0), "friction": (0.01, 4.0)}
"""In kg; sliding friction."""
Axis = Literal["x", "y", "z"]


def change(asset: Asset, own: Path, said: Mapping[str, object]) -> None:
    """Other words or numbers for it; `own` is the library of one's own. Raises AssetError."""
    facts = {key: _fact(key, value) for key, value in said.items()}
    facts |= {f"{key}_from": "person" for key in NUMBERS if key in facts}

    def work(folder: Path) -> None:
        _rewrite(folder, facts)

    _step(asset, own, f"{', '.join(said)} of {asset.name} changed", work)


def turn(asset: Asset, own: Path, axis: Axis, quarters: int = 1) -> None:
    """Quarter turns about one of its axes, by the right hand. Raises AssetError."""
    if axis not in ("x", "y", "z") or quarters not in (1, 2, 3):
        raise AssetError(f"it turns about x, y or z, once to three times, not about {axis}")
    matrix = quarter_turn(axis, quarters)
    facts = _sized(asset, np.abs(matrix[:3, :3]) @ asset.size)
    if side := opens(asset):
        facts |= {"opens": (now := turned(side, axis, quarters)), "container": now == "z"}

    def work(folder: Path) -> None:
        _own_pieces(asset, folder)
        _transform(folder, matrix)
        _rewrite(folder, facts)

    _step(asset, own, f"{asset.name} turned about {axis}", work)


def opens(asset: Asset) -> str | None:
    """The side that its hollow opens to, of hollow.UPWARDS; None where it has none that is known."""
    if asset.container:
        return "z"
    side = _read(asset.folder).get("opens") if asset.folder and (asset.folder / "asset.json").exists() else None
    return side if side in UPWARDS else None


def _own_pieces(asset: Asset, folder: Path) -> None:
    """Pieces that its reader felt out from above, into its folder: they are found no more once it lies."""
    if asset.collision and asset.folder == asset.mesh.parent and not _read(folder).get("collision"):
        (folder / "collision").mkdir(exist_ok=True)
        names = [f"collision/{number:02d}.obj" for number in range(len(asset.collision))]
        for name, piece in zip(names, asset.collision, strict=True):
            shutil.copyfile(piece, folder / name)
        _rewrite(folder, {"collision": names})


def scale(asset: Asset, own: Path, longest: float) -> None:
    """As large that its longest side is so many metres; its weight goes with its volume, unless a person gave it.

    Raises AssetError.
    """
    if not SMALLEST <= longest <= LARGEST:
        raise AssetError(f"its longest side takes {100 * SMALLEST:.1f} to {100 * LARGEST:.0f} cm, for a table")
    if asset.model is not None:
        raise AssetError("a thing with joints keeps the size that its model has; change the model and bring it in anew")
    factor = longest / float(max(asset.size))
    facts = _sized(asset, factor * asset.size)
    if asset.mass_source != "person":
        facts |= {"mass": asset.mass * factor**3, "mass_range": [end * factor**3 for end in asset.mass_range],
                  "mass_from": asset.mass_source}  # fmt: skip

    def work(folder: Path) -> None:
        _transform(folder, np.diag([factor, factor, factor, 1.0]))
        _rewrite(folder, facts)

    _step(asset, own, f"{asset.name} made {100 * longest:.3g} cm long", work)


def remove(asset: Asset, own: Path) -> None:
    """Out of the library; what it took the place of is back. Raises AssetError for what is not one's own."""
    if not is_own(asset, own):
        raise AssetError(f"{asset.name} is not your own; a pack is taken out as a whole")
    _step(asset, own, f"{asset.name} taken out", None)


def is_own(asset: Asset, own: Path) -> bool:
    """Whether it lies in the person's own library."""
    return asset.folder is not None and asset.folder.resolve().parent == own.resolve()


def is_version(asset: Asset) -> bool:
    """Whether it takes the place of an asset that others made."""
    return asset.folder is not None and bool(_read(asset.folder).get("instead"))


def last_step(own: Path) -> str:
    """What `undo` would take back, in words; empty where nothing."""
    steps = _steps(own)
    return str(_about(steps[-1])["what"]) if steps else ""


def undo(own: Path) -> str:
    """Takes the last step back and says which it was; empty where there is none."""
    steps = _steps(own)
    if not steps:
        return ""
    about, before = _about(steps[-1]), steps[-1] / "before"
    target = own / str(about["id"])
    shutil.rmtree(target, ignore_errors=True)
    if before.exists():
        before.rename(target)
    shutil.rmtree(steps[-1], ignore_errors=True)
    return str(about["what"])


# ---------------------------------------------------------------------- one step


def _step(asset: Asset, own: Path, what: str, work: Callable[[Path], None] | None) -> None:
    """Keeps what is there, then puts what `work` makes of a copy in its place; nothing where `work` is None."""
    if asset.folder is None or not (asset.folder / "asset.json").exists():
        raise AssetError(f"{asset.name} has no folder of its own that could be changed")
    mine = is_own(asset, own)
    target = own / (asset.folder.name if mine else asset.id)
    if not mine and target.exists():
        raise AssetError(f"there is a folder {target.name} among your own assets already; rename it first")
    part = own / f".{target.name}.{os.getpid()}.part"
    shutil.rmtree(part, ignore_errors=True)
    try:
        if work is not None:
            shutil.copytree(asset.folder, part)
            if not mine:
                _rewrite(part, {"instead": True})
            work(part)
            read_asset(part)
        _keep(own, target, what)
        shutil.rmtree(target, ignore_errors=True)
        if work is not None:
            part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _keep(own: Path, target: Path, what: str) -> None:
    steps = _steps(own)
    number = int(steps[-1].name) + 1 if steps else 1
    part = own / KEPT / f".{number}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    if target.exists():
        shutil.copytree(target, part / "before")
    write_json(part / "step.json", {"id": target.name, "what": what})
    part.rename(own / KEPT / f"{number:06d}")
    for old in steps[: max(0, len(steps) + 1 - STEPS)]:
        shutil.rmtree(old, ignore_errors=True)


def _steps(own: Path) -> list[Path]:
    return sorted(step.parent for step in (own / KEPT).glob("[0-9]*/step.json"))


def _about(step: Path) -> dict[str, Any]:
    return json.loads((step / "step.json").read_text(encoding="utf-8"))


# ---------------------------------------------------------------------- files


def _fact(key: str, value: object) -> object:
    if key in WORDS and isinstance(value, str):
        text = " ".join(value.split())[: WORDS[key]]
        if not text and key in ("name", "category"):
            raise AssetError(f"its {key} cannot be empty")
        return text.lower() if key == "category" else text
    if key in NUMBERS and isinstance(value, int | float):
        low, high = NUMBERS[key]
        if low <= value <= high:
            return float(value)
        raise AssetError(f"its {key} takes a number from {low:g} to {high:g}, not {value:g}")
    raise AssetError(f"its {key} cannot be {value!r}")


def _sized(asset: Asset, size: np.ndarray) -> dict[str, Any]:
    """What its file says of its size (3,) in metres, its caption too where an import wrote it there."""
    centimetres = " x ".join(f"{100 * extent:.0f}" for extent in size)
    caption = re.sub(r", \d+ x \d+ x \d+ cm$", f", {centimetres} cm", asset.caption)
    told = {"caption": caption} if caption != asset.caption else {}
    return told | {"size": [round(float(extent), 5) for extent in size]}


def _rewrite(folder: Path, facts: Mapping[str, object]) -> None:
    write_json(folder / "asset.json", _read(folder) | dict(facts))


def _read(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "asset.json").read_text(encoding="utf-8"))


def _transform(folder: Path, matrix: np.ndarray) -> None:
    """Its mesh, its convex pieces and its model. Raises AssetError where the mesh is no .obj."""
    if not (folder / "mesh.obj").exists():
        raise AssetError("only what was brought in here can be turned or scaled; drop its file here first")
    for file in (folder / "mesh.obj", *(folder / str(name) for name in _read(folder).get("collision") or ())):
        file.write_text(_transformed(file.read_text(encoding="utf-8"), matrix), encoding="utf-8")
    model = folder / "model" / "model.xml"
    if model.exists():
        tree = ElementTree.fromstring(model.read_text(encoding="utf-8"))
        model.write_text(ElementTree.tostring(moved(tree, matrix), "unicode"), encoding="utf-8")


def _transformed(obj: str, matrix: np.ndarray) -> str:
    """An .obj's text with its vertices and normals transformed; all else stays as it is."""
    turn = matrix[:3, :3] / np.cbrt(np.linalg.det(matrix[:3, :3]))

    def line(found: re.Match) -> str:
        kind, *values = found[0].split()
        told = np.array(values[:3], float)
        new = matrix[:3, :3] @ told + matrix[:3, 3] if kind == "v" else turn @ told
        return " ".join([kind, *(f"{x:.7g}" for x in new), *values[3:]])

    return re.sub(r"^vn? .*$", line, obj, flags=re.MULTILINE)
