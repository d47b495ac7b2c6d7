"""The law of every reader: it returns a value or raises a StudioError of one line, within time and memory.

`python -m tests.fuzz.fuzz READER FOLDER` reads the files of a finding once more.
"""

import random
import re
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import imageio_ffmpeg
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from pipeline.errors import MAX_MESSAGE
from pipeline.frame.confined_reader import DEVICE_FOLDERS
from pipeline.untrusted.confined import ConfinedError, Limits, call, result_of
from tests.fuzz.mutations import edits, is_json, json_edits, mutate_bytes, mutate_json, replaced, replacements
from tests.fuzz.reader import Files, files_in, save
from tests.fuzz.readers import READERS

LIMITS = Limits(seconds=30, memory_mb=1024, file_mb=64)
"""Of one mutated seed of some kilobytes: generous, so that a slow machine is no finding."""
AT_ONCE = 25
"""Mutations that one child reads. To fork it, confine it and start it takes longer than most readings."""
CONTAINED = ("takes longer than", "too much memory", "MB of memory")
"""What the studio says when the confined child of a reader was ended."""


class Finding(Exception):
    pass


def examine(name: str, files: Files) -> str | None:
    """Read files with a reader; return its error, None if it returned a value. Raises Finding."""
    try:
        (message,) = _read_confined(name, [files])
    except ConfinedError as error:
        if READERS[name].is_contained and any(text in str(error) for text in CONTAINED):
            return str(error)
        raise Finding(f"{name}: {error}") from None
    if message is not None and not is_one_line(message):
        raise Finding(f"{name}: its message is not one line: {message!r:.200}")
    return message


def is_one_line(message: str) -> bool:
    return bool(message) and message == " ".join(re.split(r"[^\S ]+", message)) and len(message) <= MAX_MESSAGE


def _read_confined(name: str, readings: list[Files]) -> list[str | None]:
    """Return a reader's error for each of several folders' files, which one confined child reads.

    Raises ConfinedError if one of them broke the law or the child's limits.
    """
    with tempfile.TemporaryDirectory(prefix="grs-fuzz-") as folder:
        for number, files in enumerate(readings):
            save(files, Path(folder, f"{number:03d}"))
        is_bag = name == "frame bag"
        readable = [Path(folder), Path(__file__).resolve().parents[2], *(DEVICE_FOLDERS if is_bag else ())]
        reply = result_of(call(
            "tests.fuzz.readers:run", {"name": name, "folder": folder}, readable, limits=LIMITS,
            warm=["tests.fuzz.readers", *(["open3d"] if is_bag else [])], device_events=is_bag,
            programs=[] if is_bag else [Path(imageio_ffmpeg.get_ffmpeg_exe())],
        ))  # fmt: skip
    return reply.value["errors"]


def fuzz(name: str, examples: int, number: int, out: Path | None = None) -> int:
    """Read mutations of a reader's seed and return how many were read.

    Raises Finding for the first that breaks the law, and keeps it in `out`.
    """
    original = READERS[name].seed()
    if (error := examine(name, original)) is not None:
        raise Finding(f"{name}: its seed is not valid: {error}")
    count = 0
    for first in range(0, examples, AT_ONCE):
        several = mutations(original, min(AT_ONCE, examples - first), f"{number} {first}")
        count += len(several)
        _read_all(name, several, number, out)
    return count


def replace_values(name: str, most: int, number: int, out: Path | None = None) -> int:
    """Read a reader's seed with one value of its JSON replaced by a strange one, at most so many; as `fuzz`."""
    original = READERS[name].seed()
    places = [(file, n) for file, content in original.items() if is_json(content) for n in range(replacements(content))]
    chosen = random.Random(number).sample(places, min(most, len(places)))
    for first in range(0, len(chosen), AT_ONCE):
        several = [original | {file: replaced(original[file], n)} for file, n in chosen[first : first + AT_ONCE]]
        _read_all(name, several, number, out)
    return len(chosen)


def _read_all(name: str, several: list[Files], number: int, out: Path | None) -> None:
    """Read several folders' files in one child. Raises Finding for the first that breaks the law, kept in `out`."""
    with suppress(ConfinedError):
        if all(message is None or is_one_line(message) for message in _read_confined(name, several)):
            return
    for files in several:  # one of them broke the law, or all together the limits of one
        try:
            examine(name, files)
        except Finding as finding:
            if out is not None:
                folder = out / f"{name.replace(' ', '_')}_{number}"
                save(files, folder)
                finding.add_note(f"again: python -m tests.fuzz.fuzz '{name}' {folder}")
            raise


def mutations(original: Files, examples: int, number: str) -> list[Files]:
    """Return what up to so many examples of hypothesis make of some files."""
    made: list[Files] = []

    @seed(number)
    @settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=[*HealthCheck.__members__.values()],
        phases=(Phase.generate,),
    )  # fmt: skip
    @given(which=st.sampled_from(sorted(original)), changes=edits, structure=json_edits, use_structure=st.booleans())
    def mutate(which, changes, structure, use_structure):
        content = original[which]
        with suppress(ValueError, RecursionError, UnicodeError, ZeroDivisionError):  # the edits themselves do not fit
            content = (
                mutate_json(content, structure)
                if is_json(content) and use_structure
                else mutate_bytes(content, changes)
            )
            made.append(original | {which: content})

    mutate()
    return made


if __name__ == "__main__":
    print(examine(sys.argv[1], files_in(Path(sys.argv[2]))))
