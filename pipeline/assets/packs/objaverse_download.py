"""Process started by objaverse_import: looks up one object and downloads its model; it opens no model."""

import resource
from contextlib import suppress
from pathlib import Path

from pipeline.assets.asset import AssetError
from pipeline.assets.packs.objaverse import download_object, look_up_object
from pipeline.untrusted.worker_input import read_request, watch_parent

MEMORY_BYTES = 4 << 30
"""Address space: the table of 800,000 ids takes half a gigabyte."""


def main() -> None:
    """Read the request {objaverse, agreed, folder}, and print events: the offer, and the path once downloaded."""
    request, send = read_request()
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    watch_parent()

    def on_progress(message: str, share: float) -> None:
        send({"done": 0, "total": 1, "source": "Objaverse", "message": message, "share": share})

    try:
        on_progress("looking it up in Objaverse", 0)
        item = look_up_object(request["objaverse"], on_progress=on_progress)
        offer = {"name": item.name, "licence": item.licence, "terms": item.terms, "size": item.size}
        path = download_object(item, Path(request["folder"]), on_progress=on_progress) if request["agreed"] else ""
        send({"source": item.name, "offer": offer, "path": str(path)})
    except AssetError as error:
        send({"source": "Objaverse", "error": str(error)})
    except MemoryError:
        send({"source": "Objaverse", "error": "its table needs more memory than there is"})
