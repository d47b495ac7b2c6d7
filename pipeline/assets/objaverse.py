"""One thing of Objaverse by its id, when online (Deitke et al., CVPR 2023): its GLB, name and licence."""

import gzip
import json
import re
import shutil
import urllib.request
from pathlib import Path
from typing import Any

from pipeline.assets.asset import AssetError
from pipeline.assets.importing import Told

BASE = "https://huggingface.co/datasets/allenai/objaverse/resolve/main"
SECONDS = 60
LARGEST = 400 << 20
"""Bytes of a file that is fetched."""


def fetch(uid: str, folder: Path, base: str = BASE) -> tuple[Path, Told]:
    """The model as a file in `folder`, and what Objaverse says of it. Raises AssetError."""
    if not re.fullmatch(r"[0-9a-f]{32}", uid):
        raise AssetError(f'"{uid}" is no id of Objaverse; it takes 32 digits and letters a to f')
    place = _table(f"{base}/object-paths.json.gz", folder).get(uid)
    if not isinstance(place, str) or not re.fullmatch(rf"glbs/[\w-]+/{uid}\.glb", place):
        raise AssetError(f"Objaverse has nothing with the id {uid}; copy it again from its page")
    about = _table(f"{base}/metadata/{place.split('/')[1]}.json.gz", folder).get(uid)
    about = about if isinstance(about, dict) else {}
    name, licence = str(about.get("name") or uid[:8])[:60], str(about.get("license") or "as Objaverse distributes it")
    told = Told(id=f"objaverse_{uid[:8]}", name=name, licence=licence, provenance=f"Objaverse {uid}")
    return _got(f"{base}/{place}", folder / f"{uid}.glb"), told


def _table(address: str, folder: Path) -> dict[str, Any]:
    packed = _got(address, folder / "table.json.gz")
    try:
        with gzip.open(packed, "rb") as file:
            return dict(json.loads(file.read(LARGEST)))
    except (OSError, EOFError, ValueError, TypeError):
        raise AssetError(f"{address} holds no table of Objaverse; try again later") from None


def _got(address: str, file: Path) -> Path:
    try:
        with urllib.request.urlopen(address, timeout=SECONDS) as reply, file.open("wb") as kept:
            shutil.copyfileobj(_Bounded(reply), kept)
    except OSError as error:
        raise AssetError(f"{address} cannot be fetched ({error}); is this machine online?") from None
    return file


class _Bounded:
    """A reply that may not go on for ever."""

    def __init__(self, reply: Any):
        self._reply, self._left = reply, LARGEST

    def read(self, size: int = 1 << 16) -> bytes:
        part = self._reply.read(size)
        self._left -= len(part)
        if self._left < 0:
            raise OSError(f"more than {LARGEST >> 20} MB")
        return part
