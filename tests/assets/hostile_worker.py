"""An import worker whose reader a file has taken over: it reports what it could do instead of importing."""

import shutil
from pathlib import Path

from pipeline.assets.importers import import_worker
from tests.untrusted.attacks import powers


def main() -> None:
    import_worker.events = events  # type: ignore[assignment]
    import_worker.main()


def events(request, send):
    secret = Path(request["sources"][0]).read_text()
    yield {"warnings": powers(secret, request["parent"])}
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
