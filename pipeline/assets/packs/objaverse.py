"""Looks up and downloads one Objaverse object by its id (Deitke et al., CVPR 2023): its terms first, then its GLB.

GRS_OBJAVERSE names another base URL with the same layout: a mirror, or a folder as a file:// URL.
"""

import gzip
import hashlib
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pipeline.assets.asset import AssetError
from pipeline.assets.importers.asset_import import ImportOptions
from pipeline.store import parse_json, user_cache_folder

BASE_URL = "https://huggingface.co/datasets/allenai/objaverse/resolve/main"
TIMEOUT_S = 30
"""Seconds without data after which a download fails."""
MAX_DOWNLOAD_BYTES = 400 << 20
"""Largest file that is downloaded."""
CHUNK_BYTES = 1 << 18
LICENCE_TERMS = {
    "by": "its author must be named",
    "nc": "not for commercial use",
    "sa": "changes are shared under the same terms",
    "nd": "changes may not be shared",
    "cc0": "no conditions",
}
OnProgress = Callable[[str, float], object]
"""Called with a message and the fraction downloaded, in [0, 1]."""


@dataclass(frozen=True)
class ObjaverseObject:
    """The metadata of one Objaverse object."""

    uid: str
    name: str
    licence: str
    """Common name of the licence, and the author."""
    terms: str
    """The licence's terms in plain words; empty for an unknown licence."""
    path: str
    """Path of the GLB below the base URL."""
    size: int
    """Bytes of the GLB; 0 if unknown."""

    @property
    def import_options(self) -> ImportOptions:
        """The options to import it with."""
        return import_options(self.uid, self.name, self.licence)


def import_options(uid: str, name: str, licence: str) -> ImportOptions:
    """Return the options to import an object with."""
    return ImportOptions(id=f"objaverse_{uid[:8]}", name=name, licence=licence, provenance=f"Objaverse {uid}")


def parse_uid(text: str) -> str:
    """Return the id in a text that a person typed, or in the URL of the object's page. Raises AssetError."""
    match = re.search(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])", text.lower())
    if not match:
        raise AssetError(f'"{text.strip()[:60]}" is not an Objaverse id; an id has 32 digits and letters a to f')
    return match[0]


def look_up_object(
    text: str, base: str | None = None, on_progress: OnProgress = lambda message, share: None
) -> ObjaverseObject:
    """Return an object's metadata without downloading its model. The id tables are cached. Raises AssetError."""
    uid, base = parse_uid(text), base or os.environ.get("GRS_OBJAVERSE") or BASE_URL
    path = _load_table(base, "object-paths.json.gz", on_progress).get(uid)
    if not isinstance(path, str) or not re.fullmatch(rf"glbs/[\w-]+/{uid}\.glb", path):
        raise AssetError(f"Objaverse has no object with the id {uid}; copy the id again from its page")
    metadata = _load_table(base, f"metadata/{path.split('/')[1]}.json.gz", on_progress).get(uid)
    metadata = metadata if isinstance(metadata, dict) else {}
    author, size = _nested_value(metadata, "user", "displayName"), _nested_value(metadata, "archives", "glb", "size")
    author = str(author or _nested_value(metadata, "user", "username") or "")[:60]
    name = " ".join(str(metadata.get("name") or uid[:8]).split())[:60]
    licence, terms = _licence_and_terms(str(metadata.get("license") or ""), author)
    return ObjaverseObject(uid, name, licence, terms, path, size if isinstance(size, int) else 0)


def download_object(
    item: ObjaverseObject, folder: Path, base: str | None = None, on_progress: OnProgress = lambda message, share: None
) -> Path:
    """Download the object's GLB into `folder` and return its path. Raises AssetError."""
    base = base or os.environ.get("GRS_OBJAVERSE") or BASE_URL
    return _download(f"{base}/{item.path}", folder / f"{item.uid}.glb", "its model", on_progress)


def _licence_and_terms(short: str, author: str) -> tuple[str, str]:
    """Return the common name and the terms of a licence as Objaverse writes it ("by-nc-sa")."""
    words = short.lower().split("-")
    credit = f" ({author}, by way of Objaverse)" if author else " (by way of Objaverse)"
    if not short or any(word not in LICENCE_TERMS for word in words):
        return (short or "unknown: as Objaverse distributes it") + credit, ""
    name = "CC0 1.0" if short.lower() == "cc0" else f"CC {short.upper()} 4.0"
    return name + credit, "; ".join(LICENCE_TERMS[word] for word in words)


def _nested_value(facts: Any, *keys: str) -> Any:
    for key in keys:
        facts = facts.get(key) if isinstance(facts, dict) else None
    return facts


def _load_table(base: str, name: str, on_progress: OnProgress) -> dict[str, Any]:
    """Return a JSON table of Objaverse, downloaded once. Raises AssetError."""
    cached = user_cache_folder() / "objaverse" / hashlib.sha256(base.encode()).hexdigest()[:12] / name.replace("/", "_")
    if not cached.exists():
        cached.parent.mkdir(parents=True, exist_ok=True)
        part = cached.with_suffix(".part")
        try:
            content = "the table of ids" if "/" not in name else "its metadata"
            _download(f"{base}/{name}", part, content, on_progress).replace(cached)
        finally:
            part.unlink(missing_ok=True)
    try:
        with gzip.open(cached, "rb") as file:
            return dict(parse_json(file.read(MAX_DOWNLOAD_BYTES)))
    except (OSError, EOFError, ValueError, TypeError):
        cached.unlink(missing_ok=True)
        raise AssetError(f"what {_host(base)} sent for {name} is not an Objaverse table; try again later") from None


def _download(url: str, file: Path, content: str, on_progress: OnProgress) -> Path:
    """Download a file in chunks, so that progress is shown and it can be stopped. Raises AssetError."""
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as reply, file.open("wb") as out:
            total, received = int(reply.headers.get("Content-Length") or 0), 0
            while max(received, total) <= MAX_DOWNLOAD_BYTES and (chunk := reply.read(CHUNK_BYTES)):
                received += len(chunk)
                out.write(chunk)
                of_total = f" of {total / 1e6:.1f}" if total else ""
                amount = f", {received / 1e6:.1f}{of_total} MB" if received > CHUNK_BYTES else ""
                on_progress(f"downloading {content}{amount}", received / total if total else 0.0)
            if max(received, total) > MAX_DOWNLOAD_BYTES:
                raise AssetError(f"{content} has more than {MAX_DOWNLOAD_BYTES >> 20} MB; choose a smaller object")
            if received < total:
                raise AssetError(f"the download from {_host(url)} was cut off; try again")
    except urllib.error.HTTPError as error:
        raise AssetError(f"{_host(url)} no longer has this file, or refuses it ({error.code})") from None
    except (OSError, ValueError) as error:
        late = isinstance(getattr(error, "reason", error), TimeoutError)
        why = (
            f"did not answer within {TIMEOUT_S} s; try again" if late else "cannot be reached; is this machine online?"
        )
        raise AssetError(f"{_host(url)} {why}") from None
    return file


def _host(url: str) -> str:
    return f"Objaverse's server ({urlsplit(url).netloc or urlsplit(url).path})"
