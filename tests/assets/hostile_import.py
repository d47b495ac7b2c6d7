"""A confined import whose reader a file has taken over: it reports what it could do instead of importing."""

import shutil
from pathlib import Path

from pipeline.assets.importers import import_child
from pipeline.untrusted.confined import Result
from tests.untrusted.attacks import powers


def import_assets(request, send) -> Result:
    import_child.events = events  # type: ignore[assignment]
    return import_child.import_assets(request, send)


def events(request, send):
    secret, studio = Path(request["sources"][0]).read_text().split("\n")
    yield {"warnings": powers(secret, int(studio))}
    library = Path(request["staging"]).parent
    for attack in (
        lambda: shutil.rmtree(library / "kept"),
        lambda: (library / "kept" / "asset.json").write_text("{}"),
        lambda: (Path(request["root"]) / "written").write_text("x"),
        lambda: (Path(request["staging"]) / "leak").symlink_to(secret),
    ):
        try:
            attack()
            yield {"warnings": ["wrote outside its folder"]}
        except OSError:
            pass
    yield {"id": "../../escaped"}
    yield {"id": "kept"}
    yield {"id": "nothing_there"}
    yield {"no such field": 1}
