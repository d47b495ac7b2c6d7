"""What a confined import does in its child: imports assets into a staging folder and sends an event for each step."""

import tempfile
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import trimesh

from pipeline.assets.asset import AssetError
from pipeline.assets.importers.asset_import import (
    ImportOptions,
    find_sources,
    id_from_file,
    import_asset,
    make_identifier,
    unnamed_meshes,
    unpack,
    unused_id,
)
from pipeline.assets.importers.drop import Drop
from pipeline.assets.importers.mesh_import import UP_AXIS_ROTATIONS, AmbiguousUnitsError
from pipeline.assets.packs.pack import PACKS, pack_models, unpack_wheels
from pipeline.store import parse_json
from pipeline.untrusted.confined import Progress, Result

Event = dict[str, Any]
"""Fields of confined_import.ImportProgress."""

STAGE_START_FRACTIONS = {
    "reading": 0.02,
    "cleaning its mesh": 0.1,
    "finding its convex parts": 0.2,
    "describing it": 0.85,
}
"""Fraction of a typical import that is done when a stage begins."""

RASTER_PIXELS = 120
"""Length of the longest side in the raster that is traced."""


def import_assets(request: dict[str, Any], send: Callable[[Progress], None]) -> Result:
    """Import what a request names, see `events`, and send the events."""
    for event in events(request, lambda event: send(Progress(event))):
        send(Progress(event))
    return Result(None)


def events(request: dict[str, Any], send: Callable[[Event], None]) -> Iterator[Event]:
    """Import what a request names: a pack's wheels, models with their options, or files, folders and zips."""
    try:
        if "pack" in request:
            yield {"message": "unpacking"}
            top = unpack_wheels(Path(request["root"]), Path(tempfile.mkdtemp(), "files"))
            models = list(pack_models(PACKS[request["pack"]], top))
            if not models:
                raise AssetError(f"the wheels of {request['pack']} contain none of its models; install the pinned ones")
            yield from _import_models(models, request, top)
        elif "models" in request:
            models = [(Path(path), ImportOptions(**options)) for path, options in request["models"]]
            yield from _import_models(models, request, Path(request["root"]))
        else:
            yield from _import_sources(request, send)
    except AssetError as error:
        yield {"error": str(error)}


def _import_models(
    models: Collection[tuple[Path, ImportOptions]], request: dict[str, Any], top: Path
) -> Iterator[Event]:
    """Import each model under its id; one that is in the library is skipped, one that fails is reported."""
    for number, (model, options) in enumerate(models, 1):
        id = make_identifier(options.id or model.stem)
        step: Event = {"done": number, "total": len(models), "source": id}
        if id in request["existing"]:
            yield step | {"message": f"{id}: already there"}
            continue
        result = _result(
            model, lambda model=model, options=options: import_asset(model, Path(request["staging"]), options, top)
        )
        if "error" in result:
            yield step | {"message": f"{id} skipped: {result['error']}", "error": result["error"]}
        else:
            yield step | {"message": "; ".join([id, *result["warnings"]])} | result


def _import_sources(request: dict[str, Any], send: Callable[[Event], None]) -> Iterator[Event]:
    sources: list[tuple[Path, Path]] = []
    left_out: dict[Path, str] = {}
    root, unpacked = Path(request["root"]), Path(request.get("unpack") or tempfile.mkdtemp())
    for number, path in enumerate(map(Path, request["sources"])):
        try:
            is_zip = path.suffix.lower() == ".zip"
            yield {"message": f"unpacking {path.name}" if is_zip else f"reading {path.name}"}
            opened = unpack(path, _make_folder(unpacked / str(number) / path.stem)) if is_zip else path
            found = find_sources(opened)
            sources += [(source, opened if is_zip else root) for source in found]
            left_out[found[0]] = unnamed_meshes(opened, found)
        except AssetError as error:
            yield {"source": path.name, "error": str(error)}
        except OSError as error:
            yield {"source": path.name, "error": f"cannot read {path.name}: {error.strerror}"}
    if len(sources) > 1 and request["options"].get("id"):
        raise AssetError(f"--id names one asset and there are {len(sources)}; leave it out")
    for number, (source, top) in enumerate(sources):
        name = source.parent.name if source.stem == "mesh" else source.name
        report = partial(_report_stage, send, {"done": number, "total": len(sources), "source": name})
        event = {"done": number + 1, "total": len(sources), "source": name, "path": str(source)}
        result = _result(source, partial(_import_one, source, top, request, report))
        if "id" in result and left_out.get(source):
            result["warnings"].append(left_out[source])
        yield event | result


def _report_stage(send: Callable[[Event], None], base: Event, stage: str) -> None:
    send(base | {"message": f"{base['source']}: {stage}", "share": STAGE_START_FRACTIONS.get(stage, 0.0)})


def _import_one(source: Path, top: Path, request: dict[str, Any], report: Callable[[str], None]) -> Any:
    staging, options = Path(request["staging"]), {**_library_facts(source, top), **request["options"]}
    id = options.pop("id", None) or _free_id(source, top, staging, request)
    if id in request["existing"] and not options.get("replace"):
        raise AssetError(f'the library has an asset "{id}"; give another --id, or --replace')
    added = import_asset(source, staging, ImportOptions(id=id, **options), top, report)
    request["taken"].append(id)
    return added


def _free_id(source: Path, top: Path, staging: Path, request: dict[str, Any]) -> str:
    """Return an id for a file: that of an asset of one's own if it may be replaced, else one that nothing has."""
    taken, id = {*request["taken"], *request["existing"]}, id_from_file(source, top)
    if request["options"].get("replace") and id not in request["taken"]:
        return id
    return unused_id(source, top, staging, taken) if id in taken else id


def _result(source: Path, work: Callable[[], Any]) -> Event:
    """Return the fields of an event about what was imported, or about why nothing was."""
    try:
        added = work()
    except AmbiguousUnitsError as error:
        outlines = _outlines_by_up_axis(error.mesh) if error.mesh else None
        return {"error": str(error), "longest": error.longest, "outlines": outlines}
    except AssetError as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": f"{source.name} needs more memory than there is; reduce its mesh first"}
    except RecursionError:
        return {"error": f"{source.name} is nested too deeply; export it again"}
    return {"id": added.asset.id, "warnings": list(added.warnings)}


def _library_facts(source: Path, top: Path) -> dict[str, Any]:
    """Return import options from the asset.json beside a file that comes from another library; empty if none."""
    model = source.suffix.lower() in (".xml", ".urdf", ".mjcf")
    drop = Drop(top)
    file = drop.inside(source.parent / "asset.json")
    if file is None:
        return {}
    try:
        facts = parse_json(drop.read(file))
        if not (model or source.stem == "mesh"):
            return {}
        options = {
            key: facts[key] for key in ("name", "category", "caption", "licence") if isinstance(facts.get(key), str)
        }
        measured = [key for key in ("mass", "friction") if facts.get(f"{key}_from") == "person"]
        options |= {key: float(facts[key]) for key in measured if 0 < facts[key] < 1e3}
    except (ValueError, KeyError, TypeError, AttributeError, AssetError):
        return {}
    return options | ({} if model else {"units": "m", "up": "z"})


def _make_folder(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def _outlines_by_up_axis(mesh: trimesh.Trimesh) -> dict[str, dict[str, Any]]:
    """Return {path, wide, tall} by the axis that points up: an SVG path in a box of that size, the longest side 1.

    Fill the path by the even-odd rule; y points down.
    """
    return {up: _outline((mesh.vertices @ turn.T), mesh.faces) for up, turn in UP_AXIS_ROTATIONS.items()}


def _outline(vertices: np.ndarray, faces: np.ndarray) -> dict[str, Any]:
    extents = np.ptp(vertices, axis=0)
    across = 0 if extents[0] >= extents[1] else 1
    flat = vertices[:, [across, 2]] * [1, -1] / max(float(extents.max()), 1e-12)
    flat -= flat.min(axis=0)
    wide, tall = flat.max(axis=0)
    picture = np.zeros((int(np.ceil(tall * RASTER_PIXELS)) + 3, int(np.ceil(wide * RASTER_PIXELS)) + 3), np.uint8)
    for triangle in np.round(flat * RASTER_PIXELS + 1).astype(np.int32)[faces]:
        cv2.fillConvexPoly(picture, triangle, 255)
    lines, _ = cv2.findContours(picture, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    # 0.7: largest distance of the simplified outline from the traced one
    drawn = [(cv2.approxPolyDP(line, 0.7, True)[:, 0] - 1) / RASTER_PIXELS for line in lines]
    path = " ".join("M" + "L".join(f"{x:.3g},{y:.3g}" for x, y in line) + "Z" for line in drawn if len(line) > 2)
    return {"path": path, "wide": round(float(wide), 3), "tall": round(float(tall), 3)}
