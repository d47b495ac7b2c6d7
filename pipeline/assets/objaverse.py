"""One thing of Objaverse by its id, when online (Deitke et al., CVPR 2023): what it is under which terms, then its GLB.

GRS_OBJAVERSE names another place that is laid out in the same way: a mirror, or a folder by its file address.
"""

import gzip
import hashlib
import json
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
from pipeline.assets.importing import Told
from pipeline.assets.mesh import user_cache

BASE = "https://huggingface.co/datasets/allenai/objaverse/resolve/main"
SECONDS = 30
"""Of silence, after which a server is given up."""
LARGEST = 400 << 20
"""Bytes of a file that is fetched."""
CHUNK = 1 << 18
TERMS = {
    "by": "its author must be named",
    "nc": "not for commercial use",
    "sa": "changes are shared under the same terms",
    "nd": "changes may not be shared",
    "cc0": "no conditions",
}
Telling = Callable[[str, float], object]
"""Is told what is fetched, in words, and how much of it is there, from 0 to 1."""


@dataclass(frozen=True)
class Thing:
    """What Objaverse says of one of its things."""

    uid: str
    name: str
    licence: str
    """By its usual name, and whose it is."""
    terms: str
    """What that means, in plain words; empty where it is no licence that is known here."""
    place: str
    """Of its model, below the base."""
    size: int
    """Bytes of its model; 0 where that is not known."""

    @property
    def told(self) -> Told:
        """For its import."""
        return Told(
            id=f"objaverse_{self.uid[:8]}", name=self.name, licence=self.licence, provenance=f"Objaverse {self.uid}"
        )


def uid_in(text: str) -> str:
    """The id in what a person typed or pasted, an address of the thing's page too. Raises AssetError."""
    found = re.search(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])", text.lower())
    if not found:
        raise AssetError(f'"{text.strip()[:60]}" is no id of Objaverse; it takes 32 digits and letters a to f')
    return found[0]


def look_up(text: str, base: str | None = None, doing: Telling = lambda what, share: None) -> Thing:
    """What the thing of an id is; its model is not fetched. The tables of ids are kept. Raises AssetError."""
    uid, base = uid_in(text), base or os.environ.get("GRS_OBJAVERSE") or BASE
    place = _table(base, "object-paths.json.gz", doing).get(uid)
    if not isinstance(place, str) or not re.fullmatch(rf"glbs/[\w-]+/{uid}\.glb", place):
        raise AssetError(f"Objaverse has nothing with the id {uid}; copy it again from its page")
    about = _table(base, f"metadata/{place.split('/')[1]}.json.gz", doing).get(uid)
    about = about if isinstance(about, dict) else {}
    author, size = _of(about, "user", "displayName"), _of(about, "archives", "glb", "size")
    author = str(author or _of(about, "user", "username") or "")[:60]
    name = " ".join(str(about.get("name") or uid[:8]).split())[:60]
    licence, terms = _terms(str(about.get("license") or ""), author)
    return Thing(uid, name, licence, terms, place, size if isinstance(size, int) else 0)


def fetch(thing: Thing, folder: Path, base: str | None = None, doing: Telling = lambda what, share: None) -> Path:
    """Its model as a file in `folder`. Raises AssetError."""
    base = base or os.environ.get("GRS_OBJAVERSE") or BASE
    return _got(f"{base}/{thing.place}", folder / f"{thing.uid}.glb", "its model", doing)


def _terms(short: str, author: str) -> tuple[str, str]:
    """A licence as Objaverse writes it ("by-nc-sa") by its usual name, and what it means."""
    words = short.lower().split("-")
    whose = f" ({author}, by way of Objaverse)" if author else " (by way of Objaverse)"
    if not short or any(word not in TERMS for word in words):
        return (short or "unknown: as Objaverse distributes it") + whose, ""
    name = "CC0 1.0" if short.lower() == "cc0" else f"CC {short.upper()} 4.0"
    return name + whose, "; ".join(TERMS[word] for word in words)


def _of(facts: Any, *keys: str) -> Any:
    for key in keys:
        facts = facts.get(key) if isinstance(facts, dict) else None
    return facts


def _table(base: str, name: str, doing: Telling) -> dict[str, Any]:
    kept = user_cache() / "objaverse" / hashlib.sha256(base.encode()).hexdigest()[:12] / name.replace("/", "_")
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(".part")
        try:
            _got(f"{base}/{name}", part, "the table of ids" if "/" not in name else "what it is", doing).replace(kept)
        finally:
            part.unlink(missing_ok=True)
    try:
        with gzip.open(kept, "rb") as file:
            return dict(json.loads(file.read(LARGEST)))
    except (OSError, EOFError, ValueError, TypeError):
        kept.unlink(missing_ok=True)
        raise AssetError(f"what {_host(base)} gave for {name} is no table of Objaverse; try again later") from None


def _got(address: str, file: Path, what: str, doing: Telling) -> Path:
    """A file fetched part by part, so that it may be told and stopped. Raises AssetError."""
    try:
        with urllib.request.urlopen(address, timeout=SECONDS) as reply, file.open("wb") as kept:
            whole, there = int(reply.headers.get("Content-Length") or 0), 0
            while max(there, whole) <= LARGEST and (part := reply.read(CHUNK)):
                there += len(part)
                kept.write(part)
                much = f", {there / 1e6:.1f}{f' of {whole / 1e6:.1f}' if whole else ''} MB" if there > CHUNK else ""
                doing(f"fetching {what}{much}", there / whole if whole else 0.0)
            if max(there, whole) > LARGEST:
                raise AssetError(f"{what} has more than {LARGEST >> 20} MB, which is more than is fetched")
            if there < whole:
                raise AssetError(f"{_host(address)} broke off in the middle; try again")
    except urllib.error.HTTPError as error:
        raise AssetError(f"{_host(address)} has no such file any more, or will not give it ({error.code})") from None
    except (OSError, ValueError) as error:
        late = isinstance(getattr(error, "reason", error), TimeoutError)
        why = f"did not answer within {SECONDS} s; try again" if late else "cannot be reached; is this machine online?"
        raise AssetError(f"{_host(address)} {why}") from None
    return file


def _host(address: str) -> str:
    return f"Objaverse's server ({urlsplit(address).netloc or urlsplit(address).path})"
