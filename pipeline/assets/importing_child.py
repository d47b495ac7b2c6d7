"""Run as a process of its own by importing_apart: brings things into a library, a line of JSON for each that happened.

The request is a line of JSON on standard input; when that is closed, its parent is gone, and it ends with all that it
started. Whatever readers print goes to standard error.
"""

import json
import os
import resource
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

SHARES = {"reading": 0.02, "cleaning its mesh": 0.1, "finding its convex parts": 0.2, "describing it": 0.85}
"""How much of a usual import is behind when something begins."""


def main() -> None:
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    said = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for limit, value in ((resource.RLIMIT_AS, request["memory"]), (resource.RLIMIT_CPU, request["seconds"])):
        with suppress(ValueError, OSError):
            resource.setrlimit(limit, (value, value))

    def tell(line: dict[str, Any]) -> None:
        said.write(json.dumps(line) + "\n")
        said.flush()

    for line in _happening(request, tell):
        tell(line)


def _happening(request: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> Iterator[dict[str, Any]]:
    if "pack" in request:
        return _installed(request)
    return _of_objaverse(request, tell) if "objaverse" in request else _brought(request, tell)


def _end_with_parent() -> None:
    sys.stdin.read()
    os.killpg(0, signal.SIGKILL)


def _installed(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    from pipeline.assets.asset import AssetError
    from pipeline.assets.packs import install

    try:
        for step in install(request["pack"], Path(request["library"])):
            said = {"done": step.done, "of": step.of, "message": step.message, "error": step.error}
            yield said | ({"id": step.added.asset.id, "wrong": list(step.added.wrong)} if step.added else {})
    except AssetError as error:
        yield {"error": str(error)}


def _of_objaverse(request: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> Iterator[dict[str, Any]]:
    from pipeline.assets.asset import AssetError
    from pipeline.assets.importing import bring_in
    from pipeline.assets.objaverse import fetch, look_up

    library = Path(request["library"])
    where = {"done": 0, "of": 1, "source": "Objaverse"}

    def doing(what: str, share: float) -> None:
        tell(where | {"message": what, "share": share})

    try:
        doing("asking Objaverse", 0)
        thing = look_up(request["objaverse"], doing=doing)
        if (library / str(thing.told.id) / "asset.json").exists():
            raise AssetError(f"{thing.name} is in the library already, as {thing.told.id}")
        if not request["agreed"]:
            offer = {"name": thing.name, "licence": thing.licence, "terms": thing.terms, "size": thing.size}
            yield {"source": thing.name, "offer": offer}
            return
        with tempfile.TemporaryDirectory() as folder:
            source = fetch(thing, Path(folder), doing=doing)
            added = bring_in(source, library, thing.told, doing=partial(_doing, tell, where | {"source": thing.name}))
        true = "its size is its file's, which is rarely the true one: correct the longest side"
        yield {"done": 1, "of": 1, "id": added.asset.id, "wrong": [*added.wrong, true]}
    except AssetError as error:
        yield {"source": "Objaverse", "error": str(error)}
    except MemoryError:
        yield {"source": "Objaverse", "error": "it takes more memory than there is; a smaller thing would do"}


def _brought(request: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> Iterator[dict[str, Any]]:
    from pipeline.assets.asset import AssetError
    from pipeline.assets.importing import sources, unpacked

    found: list[Path] = []
    for number, given in enumerate(map(Path, request["sources"])):
        try:
            is_zip = given.suffix.lower() == ".zip"
            yield {"message": f"unpacking {given.name}" if is_zip else f"reading {given.name}"}
            found += sources(unpacked(given, _new(given.parent / f"{number}_{given.stem}")) if is_zip else given)
        except AssetError as error:
            yield {"source": given.name, "error": str(error)}
        except OSError as error:
            yield {"source": given.name, "error": f"{given.name} cannot be read: {error.strerror}"}
    for number, one in enumerate(found):
        name = one.parent.name if one.stem == "mesh" else one.name

        doing = partial(_doing, tell, {"done": number, "of": len(found), "source": name})
        yield {"done": number + 1, "of": len(found), "source": name, "path": str(one), **_one(one, request, doing)}


def _doing(tell: Callable[[dict[str, Any]], None], where: dict[str, Any], what: str) -> None:
    tell(where | {"message": f"{where['source']}: {what}", "share": SHARES.get(what, 0.0)})


def _one(source: Path, request: dict[str, Any], doing: Callable[[str], None]) -> dict[str, Any]:
    from pipeline.assets.asset import AssetError
    from pipeline.assets.importing import Told, bring_in, free_id
    from pipeline.assets.importing_mesh import UnitsInDoubt
    from pipeline.assets.outline import outlines

    library = Path(request["library"])
    try:
        told = Told(**{"id": free_id(source, library, request["taken"]), **_written(source), **request["told"]})
        added = bring_in(source, library, told, Path(request["root"]), doing)
    except UnitsInDoubt as error:
        return {"error": str(error), "longest": error.longest, "shapes": outlines(error.mesh) if error.mesh else None}
    except AssetError as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": f"{source.name} takes more memory than there is; thin its mesh first"}
    return {"id": added.asset.id, "wrong": list(added.wrong)}


def _written(source: Path) -> dict[str, Any]:
    """What an asset.json beside it says, where it is an asset of another library: its words hold here too."""
    model = source.suffix.lower() in (".xml", ".urdf", ".mjcf")
    try:
        facts = json.loads((source.parent / "asset.json").read_text(encoding="utf-8"))
        if not (model or source.stem == "mesh"):
            return {}
        told = {
            key: facts[key] for key in ("name", "category", "caption", "licence") if isinstance(facts.get(key), str)
        }
        said = [key for key in ("mass", "friction") if facts.get(f"{key}_from") == "person"]
        told |= {key: float(facts[key]) for key in said if 0 < facts[key] < 1e3}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
    return told | ({} if model else {"units": "m", "up": "z"})


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder


if __name__ == "__main__":
    main()
