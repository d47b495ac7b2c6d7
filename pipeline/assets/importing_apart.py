"""Things brought into a library by a process of its own: what a hostile or broken file does to it harms nobody else.

It may be stopped at any instant, its memory and time are bounded, and nothing half made is left behind.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MEMORY = 8 << 30
"""Bytes of address space: a mesh of 60,000 faces with its pieces takes half a gigabyte, open3d's libraries three."""
SECONDS = 1800
"""Of one core."""


@dataclass(frozen=True)
class Happened:
    """One thing on the way."""

    message: str = ""
    done: int = 0
    of: int = 0
    source: str = ""
    """Name of the file it is about."""
    path: str = ""
    id: str = ""
    """Of the asset that was added; empty otherwise."""
    wrong: tuple[str, ...] = ()
    """What was wrong with it, one sentence each."""
    error: str = ""
    """Why there is no asset of it, in one line."""
    longest: float | None = None
    """Longest side in the file's units, where nothing says which these are."""
    shapes: dict[str, Any] | None = None
    """Its outline then, as it would stand with each axis up; see outline.py."""
    offer: dict[str, Any] | None = None
    """What a person shall agree to before it is fetched: {name, licence, terms, size} of a thing of Objaverse."""
    share: float = 0.0
    """How much of the present thing is done, from 0 to 1."""


def bring_apart(
    sources: Sequence[Path], root: Path, library: Path, told: Mapping[str, Any], stop: threading.Event,
    taken: Collection[str] = (),
) -> Iterator[Happened]:  # fmt: skip
    """Files, folders and zips below `root` into a library, each under an id that is free. Ends when `stop` is set.

    `told` holds fields of importing.Told; `taken` are ids that others gave away. A model may name no file outside
    `root`.
    """
    request = {"sources": [str(one) for one in sources], "root": str(root), "told": dict(told), "taken": [*taken]}
    yield from _run(request | {"library": str(library)}, library, stop)


def install_apart(pack: str, libraries: Path, stop: threading.Event) -> Iterator[Happened]:
    """A pack into the folder `libraries`/<pack>; begun again after a stop it goes on from there."""
    yield from _run({"pack": pack, "library": str(libraries)}, libraries / pack, stop)


def objaverse_apart(uid: str, agreed: bool, libraries: Path, stop: threading.Event) -> Iterator[Happened]:
    """What a thing of Objaverse is, as an offer; where that is agreed to, the thing into `libraries`/objaverse."""
    request = {"objaverse": uid, "agreed": agreed, "library": str(libraries / "objaverse")}
    yield from _run(request, libraries / "objaverse", stop)


def _run(request: dict[str, Any], library: Path, stop: threading.Event) -> Iterator[Happened]:
    with tempfile.TemporaryDirectory(prefix="grs-import-") as scratch:
        process = subprocess.Popen(
            [sys.executable, "-m", "pipeline.assets.importing_child"], cwd=ROOT, start_new_session=True, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=os.environ | {"TMPDIR": scratch, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        try:
            yield from _told(process, request | {"memory": MEMORY, "seconds": SECONDS}, stop)
        finally:
            _end(process)
            for part in library.glob(f".*.{process.pid}.part"):
                shutil.rmtree(part, ignore_errors=True)


def _told(process: subprocess.Popen, request: dict[str, Any], stop: threading.Event) -> Iterator[Happened]:
    lines: Queue[str | None] = Queue()

    def read() -> None:
        for line in process.stdout or ():
            lines.put(line)
        lines.put(None)

    assert process.stdin is not None
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
    threading.Thread(target=read, daemon=True, name="import").start()
    last = Happened()
    while not stop.is_set():
        try:
            line = lines.get(timeout=0.2)
        except Empty:
            continue
        if line is None:
            break
        said = json.loads(line)
        last = Happened(**said | {"wrong": tuple(said.get("wrong", ()))})
        yield last
    if not stop.is_set() and process.wait() != 0:
        about = last.source or last.message.partition(" ")[2] or "it"
        yield Happened(
            source=about, error=f"{about} took too much memory or time, or broke its reader; make it smaller"
        )


def _end(process: subprocess.Popen) -> None:
    """With all that it started, pip among it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
