"""What runs with the network in a child without keys: pip for one wheel, and Objaverse. It opens no model."""

import contextlib
import io
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

from pipeline.assets.asset import AssetError
from pipeline.assets.packs.objaverse import download_object, look_up_object
from pipeline.untrusted.confined import Progress, Result

MEMORY_MB = 4096
"""The table of Objaverse's 800,000 ids takes half a gigabyte."""


def fetch_object(uid: str, agreed: bool, folder: str, send: Callable[[Progress], None]) -> Result:
    """Send the fields of ImportProgress while an Objaverse object is looked up and, if `agreed`, downloaded.

    Return those of its offer, with the path of its model once downloaded. Raises AssetError.
    """

    def on_progress(message: str, share: float) -> None:
        send(Progress({"done": 0, "total": 1, "source": "Objaverse", "message": message, "share": share}))

    on_progress("looking it up in Objaverse", 0)
    item = look_up_object(uid, on_progress=on_progress)
    offer = {"name": item.name, "licence": item.licence, "terms": item.terms, "size": item.size}
    path = download_object(item, Path(folder), on_progress=on_progress) if agreed else ""
    return Result({"source": item.name, "offer": offer, "path": str(path)})


def fetch_wheel(wheel: str, folder: str) -> Result:
    """Download a wheel with pip, without dependencies and without building anything. Raises AssetError."""
    options = ["--quiet", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--dest", folder]
    sys.argv = ["pip", "download", *options, wheel]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        try:
            runpy.run_module("pip", run_name="__main__")
        except SystemExit as end:
            if end.code:
                lines = ["?", *filter(str.strip, out.getvalue().splitlines())]
                errors = [line for line in lines if "ERROR" in line]
                raise AssetError([*lines, *errors][-1].strip()) from None
    return Result(None)
